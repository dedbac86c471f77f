//! Agents that tell their words in pieces only, with a secret in two of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ralph_testkit::{Repo, shell_quoted};
use serde_json::{Value, json};

use crate::fake::words;
use crate::harness::{Ended, User};

const HALVES: [&str; 2] = ["hunter2-very-", "long-secret-value"];

#[test]
fn a_secret_that_an_acp_server_tells_in_pieces_is_nowhere() {
    let update = |update: Value| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}});
    let chunk =
        |kind: &str, text: &str| update(json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}}));
    let models = json!({"currentModelId": "a", "availableModels": [{"modelId": "a"}, {"modelId": "b"}]});
    let answer = |id: u32, result: Value| [json!({"jsonrpc": "2.0", "id": id, "result": result})];
    let said = [
        chunk("agent_thought_chunk", &format!("I think of {}", HALVES[0])),
        chunk("agent_message_chunk", &format!("The key is {}", HALVES[0])),
        chunk("agent_thought_chunk", HALVES[1]),
        update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2})),
        chunk("agent_message_chunk", &format!("{}.\nThat is all.", HALVES[1])),
    ];
    let script = format!(
        "#!/bin/sh\nwhile read -r line; do case $line in\n*'\"initialize\"'*) {} ;;\n*'\"session/new\"'*) {} ;;\n\
         *'\"session/set_model\"'*) {} ;;\n*'\"session/prompt\"'*) touch done; {} {} ;;\nesac; done\n",
        printed(&answer(1, json!({"protocolVersion": 1}))),
        printed(&answer(2, json!({"sessionId": "s", "models": models, "_meta": "x".repeat(20_000)}))),
        printed(&answer(3, json!({}))),
        printed(&said),
        printed(&answer(4, json!({"stopReason": "end_turn"}))),
    );
    // With a model of its own, so that the prompt is not the third request, and more before it than `--follow` goes back.
    nowhere(&script, |program| {
        format!("agents.fake.kind = \"acp\"\nagents.fake.command = {program}\nagents.fake.model = \"b\"\n")
    });
}

#[test]
fn a_secret_that_gemini_tells_in_pieces_is_nowhere() {
    let message = |text: &str| json!({"type": "message", "role": "assistant", "content": text, "delta": true});
    let lines = [
        json!({"type": "init", "timestamp": "2026-11-15T15:25:43.319Z", "session_id": "s", "model": "gemini-2.5-flash"}),
        message(&format!("The key is {}", HALVES[0])),
        message(&format!("{}.\nThat is all.", HALVES[1])),
        json!({"type": "result", "status": "success", "stats": {}}),
    ];
    let script = format!("#!/bin/sh\ncat > /dev/null\ntouch done\n{}\n", printed(&lines));
    nowhere(&script, |program| format!("agents.fake.kind = \"gemini\"\nagents.fake.program = {program}\n"));
}

/// Runs a program that says the secret, and looks for it wherever something was written or shown.
#[track_caller]
fn nowhere(script: &str, configured: impl Fn(&Value) -> String) {
    let (user, repo) = (User::new(), Repo::init());
    let program = user.home().join("fake");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    user.configure(&configured(&json!(program.to_string_lossy())));
    let ralph = |words: &[&str]| {
        let mut command = user.command(repo.path(), words);
        let ended = Ended::from(command.env("MY_API_KEY", HALVES.concat()).output().unwrap());
        for text in [&ended.stdout, &ended.stderr] {
            assert!(HALVES.iter().all(|half| !text.contains(half)), "{words:?}: {text}");
        }
        ended.ok().stdout
    };
    let more = ["--criteria", "test -e done", "--plain", "--unmetered"];
    let run: Vec<String> = words(&["fake"], 1, &more).into_iter().filter(|word| word != "--json").collect();
    ralph(&run.iter().map(String::as_str).collect::<Vec<_>>());
    look(&user.state());

    let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    freshen(&user.state().join("loops").join(&id).join("logs"));
    let whole = "The key is [redacted:MY_API_KEY].\nThat is all.\n";
    for words in [&["logs", &id][..], &["logs", &id, "1"], &["logs", &id, "--follow"]] {
        let told = ralph(words);
        assert!(told.contains(whole), "{words:?}: {told}");
    }
    assert!(ralph(&["logs", &id, "1", "--raw"]).contains("[redacted:MY_API_KEY]"));
    assert!(ralph(&["show", &id, "--json"]).contains("[redacted:MY_API_KEY]"), "the final message is kept");
    look(&user.state());
}

/// Makes the agent's output the newest one, which is what `--follow` shows.
fn freshen(logs: &Path) {
    let files = fs::read_dir(logs).unwrap().map(|entry| entry.unwrap().path());
    let agents = files.filter(|path| path.to_string_lossy().contains("-agent-")).collect::<Vec<_>>();
    let [agent] = &agents[..] else { panic!("{agents:?}") };
    let later = SystemTime::now() + Duration::from_secs(60);
    fs::File::options().append(true).open(agent).unwrap().set_modified(later).unwrap();
}

/// Fails when a file holds the secret or half of it.
#[track_caller]
fn look(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            look(&path);
        } else if let Ok(bytes) = fs::read(&path) {
            let found = HALVES.iter().find(|half| bytes.windows(half.len()).any(|window| window == half.as_bytes()));
            assert_eq!(found, None, "{}", path.display());
        }
    }
}

/// A line of shell that prints lines as they are, each by itself.
fn printed(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("printf '%s\\n' {}; ", shell_quoted(&line.to_string()))).collect()
}
