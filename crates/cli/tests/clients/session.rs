//! A loop that lives in a real Claude Code session: its hooks run `ralph hook`.

use std::process::{Command, Stdio};

use ralph_testkit::model::{Reply, Tool};
use serde_json::{Value, json};

use crate::client::Client;
use crate::harness::{Ended, program};
use crate::place::{Place, RIGHT, WRONG, mend, script};

/// Claude Code as a person starts it, with the hooks of `docs/session.md`.
fn claude(place: &Place, words: &[&str]) -> Ended {
    let settings = place.user.home().join("hooks.json");
    let hook = json!([{ "hooks": [{ "type": "command", "command": "ralph hook", "timeout": 600 }] }]);
    let hooks = json!({ "Stop": hook, "PreCompact": hook, "SessionStart": hook, "PreToolUse": hook });
    std::fs::write(&settings, json!({ "hooks": hooks }).to_string()).unwrap();
    let programs = std::env::var_os("RALPH_TEST_CLIENTS").expect("scripts/test --clients says where the programs are");
    let path = std::env::var_os("PATH").unwrap();
    let first = [programs.clone().into(), program().parent().unwrap().to_owned()];
    let path = std::env::join_paths(first.into_iter().chain(std::env::split_paths(&path))).unwrap();
    let mut command = Command::new(std::path::Path::new(&programs).join("claude"));
    command
        .args(["--print", "--model", "claude-sonnet-4-5", "--output-format", "stream-json", "--verbose"])
        .args(["--dangerously-skip-permissions", "--settings"])
        .arg(settings)
        .args(words)
        .current_dir(place.workspace())
        .env_clear()
        .env("PATH", path)
        .env("HOME", place.user.home())
        .env("RALPH_HOME", place.user.state())
        .env("TMPDIR", place.user.temporary())
        .env("IS_SANDBOX", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", "2")
        .envs(place.variables())
        .stdin(Stdio::null());
    Ended::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// What Claude Code says in its stream, of one type.
fn events(ended: &Ended, kind: &str) -> Vec<Value> {
    let lines = ended.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|event| event["type"] == kind).collect()
}

#[test]
fn a_loop_in_a_session_is_blocked_twice_and_ends_verified() {
    let client = Client::Claude;
    let replies = [
        Reply::tool(Tool::shell("ralph session start 'Mend sum' --max 5 --criteria 'node --test'")),
        // Refused before it happens.
        Reply::tool(Tool::write(".env", "KEY=1\n")),
        Reply::tool(mend(WRONG)),
        Reply::say("All done. <promise>COMPLETE</promise>"),
        Reply::tool(mend("exports.sum = (a, b) => 3;")),
        Reply::say("I am not sure."),
        Reply::tool(mend(RIGHT)),
        Reply::say("Now it is."),
    ];
    let place = Place::new(client, script(replies.into_iter().map(|reply| reply.usage(client.usage()))));
    let ended = claude(&place, &["Use Ralph to mend sum"]).ok();
    let result = events(&ended, "result").pop().unwrap();
    assert_eq!((&result["is_error"], &result["result"]), (&json!(false), &json!("Now it is.")), "{result:#}");

    let run = place.show();
    assert_eq!((&run["status"], &run["verified"]), (&json!("COMPLETED"), &json!(true)), "{run:#}");
    assert_eq!((&run["counted"], &run["falseClaims"]), (&json!(3), &json!(1)), "{run:#}");
    // The request that began the loop is not part of it; every other one is, to the micro-dollar.
    let price = 7 * client.price(&client.usage());
    assert_eq!((run["costUSD"].as_f64().unwrap() * 1e6).round(), price as f64, "{run:#}");
    let calls = run["iterations"][0]["run"]["evidence"].as_array().unwrap();
    assert_eq!(calls.iter().filter(|call| call["success"] == true).count(), 1, "{calls:#?}");
    assert!(!place.workspace().join(".env").exists());
    assert!(ended.stdout.contains("is prohibited in this loop"));
    let told = place.model.main_requests();
    let blocked = told.iter().filter(|request| request.user.contains("[Ralph Loop Context - Iteration"));
    assert!(blocked.count() >= 2, "{told:#?}");
    assert!(ended.stdout.contains("COMPLETED (verified)"), "the user is told");
    assert_eq!(place.user.ralph(&place.workspace(), ["session", "status", "--json"]).ok().json()["active"], false);
}

#[test]
fn a_compaction_keeps_the_loop() {
    let place = Place::new(Client::Claude, script([Reply::say("Hello.").usage(Client::Claude.usage())]));
    let first = claude(&place, &["Hello"]).ok();
    let session = events(&first, "result").pop().unwrap()["session_id"].as_str().unwrap().to_owned();
    let words =
        ["session", "start", "Mend sum", "--max", "5", "--criteria", "node --test", "--session", &session, "--json"];
    let started = place.user.ralph(&place.workspace(), words).ok().json();
    claude(&place, &["--resume", &session, "/compact"]).ok();
    // The hook's words went to the model that wrote the summary.
    let asked = place.model.requests();
    assert!(asked.iter().any(|request| request.user.contains("A Ralph loop runs in this session")), "{asked:#?}");
    let id = started["loopId"].as_str().unwrap();
    let checkpoint = place.user.state().join("checkpoints").join(format!("{id}.checkpoint.json"));
    let checkpoint: Value = serde_json::from_str(&std::fs::read_to_string(checkpoint).unwrap()).unwrap();
    assert_eq!(checkpoint["contextFull"], true, "{checkpoint:#}");
    // And the session got the objective again.
    let projects = place.user.home().join(".claude/projects");
    let folder = std::fs::read_dir(projects).unwrap().flatten().next().unwrap().path();
    let transcript = std::fs::read_to_string(folder.join(format!("{session}.jsonl"))).unwrap();
    let is_context = |line: &&str| line.contains("SessionStart:compact") && line.contains("Mend sum");
    assert!(transcript.lines().any(|line| is_context(&line)), "no context in {transcript}");
    place.user.ralph(&place.workspace(), ["session", "cancel"]).ok();
}
