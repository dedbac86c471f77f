//! The price list against what the real programs know: names that they resolve themselves, what they say that a model costs, and
//! the models that they offer.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ralph_model::{Money, PriceList, Tokens};
use ralph_testkit::model::{Reply, Usage};

use crate::client::Client;
use crate::harness::Ended;
use crate::place::{Place, script};

/// Models that Codex offers and that have no list price. A user who asks for one is told before the start.
const UNPRICED: [&str; 5] =
    ["codex-auto-review", "gpt-6.1-sol", "gpt-6.1-terra", "gpt-daybreak-blue-latest", "gpt-daybreak-red-latest"];

#[test]
fn names_that_claude_resolves_itself_have_the_price_that_it_names() {
    let list = PriceList::default();
    for alias in ["haiku", "sonnet", "opus", "fable", "best", "opusplan"] {
        let usage = Usage { input: 1000, cache_read: 2000, cache_write: 0, output: 100, reasoning: 0 };
        let place = Place::new(Client::Claude, script([Reply::say("done").usage(usage)]));
        let agent = ["--agent", "claude", "--model", alias];
        Ended::of(place.spawn_as(&agent, &["--max", "1"]));
        let shown = place.show();
        let run = &shown["iterations"][0]["run"];
        let model = run["usage"]["model"].as_str().unwrap_or_else(|| panic!("{alias}: {run:#}"));
        let price = list.of(model).unwrap_or_else(|| panic!("{alias} is {model}, which has no price"));
        let tokens = Tokens { input: 1000, cache_read: 2000, output: 100, ..Tokens::default() };
        let told = Money::from_micros(run["cost"]["amount"].as_i64().unwrap());
        assert_eq!(price.request(tokens), told, "{alias} is {model}");
        // One of them changes the model as it goes: then the dearer one counts.
        let of_alias = list.of(alias).unwrap();
        assert!(of_alias.request(tokens) >= told && (alias == "opusplan" || of_alias == price), "{alias} is {model}");
    }
}

#[test]
fn the_models_that_codex_and_gemini_offer_have_a_price_or_are_known_to_have_none() {
    let list = PriceList::default();
    let codex = names(&find("@openai/codex-linux-x64/vendor", "codex"), &["\"slug\": \"", "\"slug\":\""]);
    assert!(codex.len() > 3, "{codex:?}");
    let unpriced: Vec<&str> = codex.iter().map(String::as_str).filter(|name| list.of(name).is_none()).collect();
    assert!(unpriced.iter().all(|name| UNPRICED.contains(name)), "{unpriced:?}");
    assert!(UNPRICED.iter().all(|name| list.of(name).is_none()));
    let bundle = fs::read_dir(modules().join("@google/gemini-cli/bundle")).unwrap();
    let scripts =
        bundle.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|ext| ext == "js"));
    let marks = ["PREVIEW_GEMINI_MODEL = \"", "DEFAULT_GEMINI_MODEL = \"", "FLASH_MODEL = \"", "FLASH_LITE_MODEL = \""];
    let gemini: BTreeSet<String> =
        scripts.flat_map(|path| names(&path, &marks)).filter(|name| name != "none").collect();
    assert!(gemini.len() > 2, "{gemini:?}");
    for name in gemini {
        assert!(list.of(&name).is_some(), "{name}");
    }
}

/// The folder of the packages.
fn modules() -> PathBuf {
    let programs = std::env::var_os("RALPH_TEST_CLIENTS").expect("scripts/test --clients says where the programs are");
    Path::new(&programs).parent().unwrap().to_owned()
}

/// The largest file of this name below a folder of a package.
fn find(folder: &str, name: &str) -> PathBuf {
    let mut folders = vec![modules().join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false if entry.file_name() == name => found.push((entry.metadata().unwrap().len(), entry.path())),
                false => {}
            }
        }
    }
    found.into_iter().max().unwrap().1
}

/// The texts behind marks in a file that may be large, up to the next quote.
fn names(path: &Path, marks: &[&str]) -> BTreeSet<String> {
    const MOST: usize = 200;
    let mut file = File::open(path).unwrap();
    let (mut found, mut rest) = (BTreeSet::new(), Vec::new());
    let mut piece = vec![0; 8 << 20];
    loop {
        let read = file.read(&mut piece).unwrap();
        rest.extend_from_slice(&piece[..read]);
        for mark in marks {
            let mark = mark.as_bytes();
            for at in memchr::memmem::find_iter(&rest, mark) {
                let text = &rest[at + mark.len()..rest.len().min(at + mark.len() + MOST)];
                let name = text.split(|byte| *byte == b'"').next().unwrap_or_default();
                if name.len() < text.len() && !name.is_empty() {
                    found.insert(String::from_utf8_lossy(name).into_owned());
                }
            }
        }
        if read == 0 {
            return found;
        }
        rest.drain(..rest.len().saturating_sub(2 * MOST));
    }
}
