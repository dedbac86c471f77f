//! Scripts read what `--json` prints: a key that was there stays there, with the same type.
//!
//! `json_keys.txt` lists the keys that were there. Keys may be added to it and never removed.

use std::collections::BTreeSet;

use ralph_testkit::{Repo, Script, Step};
use serde_json::Value;

use crate::harness::{User, run_words_with};

/// One line for each key: the document, the path, the type.
fn keys(document: &str, value: &Value, found: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(values) => {
            values.iter().for_each(|value| keys(&format!("{document}[]"), value, found));
            "array"
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| keys(&format!("{document}.{key}"), value, found));
            "object"
        }
    };
    found.insert(format!("{document} {kind}"));
}

#[test]
fn keys_of_json_outputs_stay() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("check.sh", "test -e done.txt\n");
    repo.write("package.json", "{ \"scripts\": { \"test\": \"true\" } }");
    repo.commit("check");
    let mut found = BTreeSet::new();
    let mut look = |document: &str, value: &Value| keys(document, value, &mut found);

    let script = Script::new()
        .run([Step::say("<promise>COMPLETE</promise>"), Step::write("one.txt", "1\n"), Step::cost(10_000)])
        .run([Step::say("done"), Step::write("done.txt", "2\n"), Step::cost(20_000)]);
    let words = ["--criteria", "sh check.sh", "--expect", "file:done.txt", "--commit"];
    let completed = user.ralph(repo.path(), run_words_with(&user.agent(script), 5, &words)).ok().json();
    let id = completed["loopId"].as_str().unwrap().to_owned();
    look("run", &completed);
    look("show", &user.show(&id));
    look("verify-run", &user.ralph(repo.path(), ["verify-run", &id, "--json"]).ok().json());

    let idle = user.agent(Script::new().otherwise([Step::say("I tried."), Step::append("log", "x"), Step::cost(10)]));
    let words = ["--criteria", "false", "--race", "2"];
    let aborted = user.ralph(repo.path(), run_words_with(&idle, 1, &words)).with_code(10).json();
    look("run", &aborted);
    look("show", &user.show(aborted["loopId"].as_str().unwrap()));
    look("list", &user.ralph(repo.path(), ["list", "--json"]).ok().json());
    look("agents", &user.ralph(repo.path(), ["agents", "--json"]).ok().json());
    look("report", &user.ralph(repo.path(), ["report", "--json"]).ok().json());
    let metrics = std::fs::read_to_string(repo.path().join(".ralph/metrics/ralph-loops.jsonl")).unwrap();
    look("metrics", &serde_json::from_str(metrics.lines().next().unwrap()).unwrap());
    for (document, words) in [
        ("do", &["do", "fix the failing tests", "--dry-run", "--json"][..]),
        ("skills", &["skills", "list", "--json"]),
        ("skill", &["skills", "show", "tdd", "--json"]),
        ("install", &["install", "claude", "--dry-run", "--json"]),
        ("uninstall", &["uninstall", "claude", "--dry-run", "--json"]),
    ] {
        look(document, &user.ralph(repo.path(), words).ok().json());
    }

    // What may be nothing may be something elsewhere.
    let is_there = |line: &&str| match line.strip_suffix(" null") {
        Some(path) => found.iter().any(|found| found.rsplit_once(' ').is_some_and(|(known, _)| known == path)),
        None => found.contains(*line),
    };
    let missing: Vec<&str> = include_str!("json_keys.txt").lines().filter(|line| !is_there(line)).collect();
    let all = found.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(missing.is_empty(), "gone, or of another type: {missing:#?}\nwhat is there:\n{all}");
}
