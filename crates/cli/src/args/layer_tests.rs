use std::path::Path;

use clap::Parser as _;

use super::*;
use crate::args::{Cli, Command};
use ralph_config::{Key, parse};

fn typed(words: &[&str]) -> Result<Layer, String> {
    let words = ["ralph", "run", "Fix it"].iter().chain(words);
    match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
        Command::Run(run) => Ok(Layer::from(&*run)),
        other => panic!("parsed as {other:?}"),
    }
}

fn written(text: &str) -> Layer {
    parse(Path::new("config.toml"), text).unwrap_or_else(|error| panic!("{error}")).layer
}

/// The value of a key's example in the words of its flag; a flag without a value can say one thing only.
fn words(key: Key) -> Vec<String> {
    let flag = key.flag().unwrap().to_owned();
    let (_, value) = key.example().split_once(" = ").unwrap();
    match value {
        "true" | "false" | "\"worktree\"" => vec![flag],
        list if list.starts_with('[') => vec![flag, list[2..list.len() - 2].to_owned()],
        value => vec![flag, value.trim_matches('"').to_owned()],
    }
}

#[test]
fn every_flag_says_what_the_key_of_the_same_meaning_says() {
    let flagged = Key::ALL.iter().filter(|key| key.flag().is_some());
    for key in flagged {
        let words = words(*key);
        let layer = typed(&words.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_ne!(layer, Layer::default(), "{words:?}");
        assert_eq!(layer, written(key.example()), "{words:?}");
    }
    assert_eq!(typed(&[]).unwrap(), Layer::default());
}

#[test]
fn arguments_for_the_agent_are_split_as_a_shell_does() {
    let words = ["--agent-args", "--max-turns 30", "--agent-args", "--append 'two words'"];
    let layer = typed(&words).unwrap();
    assert_eq!(layer.agent_args.unwrap(), ["--max-turns", "30", "--append", "two words"]);
    assert!(typed(&["--agent-args", "'open"]).unwrap_err().contains("unclosed quote"));
}

/// A key of a file is a flag under its own name, and the name of a flag is a key.
#[test]
fn flags_and_keys_have_the_same_names() {
    for key in Key::ALL.iter().filter(|key| key.flag().is_some() && **key != Key::Isolation) {
        let mut words = words(*key);
        let no = if words[0].starts_with("--no-") { "no-" } else { "" };
        words[0] = format!("--{no}{}", key.name().replace('_', "-"));
        let layer =
            typed(&words.iter().map(String::as_str).collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(layer, written(key.example()), "{words:?}");
        if let Some(alias) = key.alias() {
            assert_eq!(written(&key.example().replacen(key.name(), &alias, 1)), layer, "{alias}");
        }
    }
}
