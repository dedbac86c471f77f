use std::path::Path;

use super::*;
use crate::fixtures::layer;
use crate::parse;

/// What the schema of a user's file says of a key.
fn of(key: Key) -> Value {
    of_owner(key, Owner::User)
}

fn of_owner(key: Key, owner: Owner) -> Value {
    let mut at = schema(owner);
    for segment in key.segments() {
        at = if segment == "*" { at["additionalProperties"].take() } else { at["properties"][segment].take() };
    }
    at
}

fn allows(kind: &Value, value: &toml::Value) -> bool {
    if let Some(several) = kind["anyOf"].as_array() {
        return several.iter().any(|kind| allows(kind, value));
    }
    if let Some(names) = kind["enum"].as_array() {
        return names.iter().any(|name| name.as_str() == value.as_str());
    }
    match kind["type"].as_str() {
        Some("string") => value.is_str(),
        Some("integer") => value.is_integer(),
        Some("number") => value.is_integer() || value.is_float(),
        Some("boolean") => value.is_bool(),
        Some("array") => value.as_array().is_some_and(|list| list.iter().all(|one| allows(&kind["items"], one))),
        _ => false,
    }
}

#[test]
fn every_key_is_described_and_its_example_allowed() {
    for key in Key::ALL {
        let kind = of(*key);
        assert!(kind["description"].as_str().is_some_and(|text| text.len() > 10), "{key:?}: {kind}");
        let (_, value) = key.example().split_once(" = ").unwrap();
        let value: toml::Table = format!("x = {value}").parse().unwrap();
        assert!(allows(&kind, &value["x"]), "{key:?}: {kind} does not allow {value}");
    }
}

#[test]
fn a_repository_is_allowed_what_it_may_set_and_nothing_else() {
    for key in Key::ALL {
        let kind = of_owner(*key, Owner::Repository);
        let file = key.example();
        let parsed = crate::RepositoryFile::from_bytes("ralph.toml".into(), file.as_bytes().to_vec());
        let is_refused = kind["not"].is_object();
        assert_eq!(is_refused, parsed.is_err(), "{key:?}: {kind}");
        let says_so = kind["description"].as_str().unwrap().contains("Only in your own configuration");
        assert_eq!(is_refused, says_so, "{key:?}: {kind}");
    }
    let prohibited = of_owner(Key::ProhibitedPaths, Owner::Repository);
    assert_eq!(prohibited["items"]["pattern"], "^[^!]");
}

#[test]
fn every_name_that_the_schema_offers_is_understood() {
    let plain = Key::ALL.iter().filter(|key| !key.name().contains('.'));
    for key in plain {
        let kind = of(*key);
        for name in kind["enum"].as_array().into_iter().flatten() {
            layer(&format!("{} = {name}", key.name()));
        }
        if kind["enum"].is_array() {
            let wrong = format!("{} = \"nonsense\"", key.name());
            assert!(parse(Path::new("ralph.toml"), &wrong).is_err(), "{key:?}");
        }
    }
}

#[test]
fn the_schema_in_the_documentation_is_this_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/ralph.schema.json");
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let now = format!("{:#}\n", schema(Owner::Repository));
    assert!(
        written == now,
        "docs/schema/ralph.schema.json is stale: run `cargo run -- init --schema > docs/schema/ralph.schema.json`"
    );
}
