use std::path::Path;

use super::*;
use crate::parse;

fn document(path: &str, text: &str) -> Document {
    parse(Path::new(path), text).unwrap_or_else(|error| panic!("{error}"))
}

fn rows(all: &[Effective], name: &str) -> Vec<(String, String)> {
    let rows = all.iter().filter(|one| one.name == name);
    rows.map(|one| (one.value.to_string(), one.place.clone().unwrap_or_else(|| one.origin.to_string()))).collect()
}

/// The file that counts more sets the value, lists that narrow add up, and what is set nowhere has its default.
#[test]
fn each_key_has_its_value_and_its_source() {
    let user = document(
        "config.toml",
        "max_iterations = 10\nmodel = 'a'\nprotected_paths = ['x/**']\n[agents.one]\ncommand = 'one'\n[caps]\niterations = 60\n",
    );
    let repository = document("ralph.toml", "max = 7\nprotected_paths = ['tests/**']\n[agents.one]\ncommand = 'two'\n");
    let pair = |value: &str, place: &str| (value.to_owned(), place.to_owned());
    let all = effective(Some(&user), Some((&repository, true)));
    assert_eq!(rows(&all, "max"), [pair("7", "ralph.toml:1:7")], "by the name of its flag");
    assert_eq!(rows(&all, "model"), [pair("\"a\"", "config.toml:2:9")]);
    assert_eq!(rows(&all, "agents.one.command"), [pair("\"two\"", "ralph.toml:4:11")]);
    assert_eq!(rows(&all, "caps.iterations"), [pair("60", "config.toml:7:14")]);
    let both = [pair("[\"x/**\"]", "config.toml:3:19"), pair("[\"tests/**\"]", "ralph.toml:2:19")];
    assert_eq!(rows(&all, "protected_paths"), both);
    assert_eq!(rows(&all, "iteration_timeout"), [pair("\"30m\"", "default")]);
    assert_eq!(rows(&all, "max_cost_usd"), [pair("null", "default")]);

    let unapproved = effective(Some(&user), Some((&repository, false)));
    assert_eq!(rows(&unapproved, "max_iterations"), [pair("10", "config.toml:1:18")]);
    assert_eq!(rows(&unapproved, "protected_paths"), both, "what narrows counts without approval");
    assert!(
        Key::ALL
            .iter()
            .filter(|key| !key.name().contains('*'))
            .all(|key| { effective(None, None).iter().any(|one| one.key == *key) })
    );
}
