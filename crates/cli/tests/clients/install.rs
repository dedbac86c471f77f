//! Real clients after `ralph install`: `/ralph …` expands, and a loop comes to a verified end.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::model::{Reply, Tool};
use serde_json::{Value, json};

use crate::client::Client;
use crate::harness::{Ended, program};
use crate::place::{Place, RIGHT, WRONG, mend, script};

/// Longer than a loop takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const REQUEST: &str = "/ralph \"Mend sum\" --max 5 --criteria \"node --test\"";

/// The agent of loops that a client starts: it needs no model.
const MENDER: &str = "[agents.mender]\ncommand = \"sed -i 's/a - b/a + b/' sum.js\"\nunmetered = true\n";

/// A client with Ralph installed for its user.
fn installed(client: Client, name: &str, replies: impl IntoIterator<Item = Reply>) -> Place {
    let place = Place::new(client, script(replies.into_iter().map(|reply| reply.usage(client.usage()))));
    if client == Client::Gemini {
        let settings = place.user.home().join(".gemini/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        let auth = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
        std::fs::write(settings, auth.to_string()).unwrap();
    }
    place.user.configure(&format!("pause_ms = 0\nagent = \"mender\"\n{MENDER}"));
    let mut command = place.user.command(&place.workspace(), ["install", name, "--yes"]);
    Ended::from(command.env("PATH", path()).output().unwrap()).ok();
    place
}

/// The clients and the program under test come first.
fn path() -> std::ffi::OsString {
    let programs = std::env::var_os("RALPH_TEST_CLIENTS").expect("scripts/test --clients says where the programs are");
    let path = std::env::var_os("PATH").unwrap();
    let first = [programs.into(), program().parent().unwrap().to_owned()];
    std::env::join_paths(first.into_iter().chain(std::env::split_paths(&path))).unwrap()
}

fn start(place: &Place, folder: &Path, name: &str, words: &[&str]) -> Child {
    let programs = std::env::var_os("RALPH_TEST_CLIENTS").expect("scripts/test --clients says where the programs are");
    let mut command = Command::new(Path::new(&programs).join(name));
    command
        .args(words)
        .current_dir(folder)
        .env_clear()
        .env("PATH", path())
        .env("HOME", place.user.home())
        .env("RALPH_HOME", place.user.state())
        .env("TMPDIR", place.user.temporary())
        .env("IS_SANDBOX", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", "2")
        .env("GEMINI_CLI_NO_RELAUNCH", "true")
        .env("npm_config_registry", "http://127.0.0.1:9/")
        .envs(place.variables())
        .stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Claude Code as a person starts it, with nothing but its own settings.
fn claude(place: &Place, folder: &Path, prompt: &str) -> Child {
    let words = [
        "--print",
        "--model",
        "claude-sonnet-4-5",
        "--output-format",
        "stream-json",
        "--verbose",
        "--dangerously-skip-permissions",
        prompt,
    ];
    start(place, folder, "claude", &words)
}

/// Claude Code with the plugin of this repository and without anything installed.
fn with_plugin(place: &Place, prompt: &str) -> Ended {
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/claude-code");
    let words = [
        "--print",
        "--model",
        "claude-sonnet-4-5",
        "--output-format",
        "stream-json",
        "--verbose",
        "--dangerously-skip-permissions",
        "--plugin-dir",
        plugin.to_str().unwrap(),
        prompt,
    ];
    Ended::of(start(place, &place.workspace(), "claude", &words)).ok()
}

/// What the client has to call.
fn loop_arguments() -> Value {
    json!({ "objective": "Mend sum", "verification_command": "node --test", "max_iterations": 5, "max_cost_usd": 5.0 })
}

#[track_caller]
fn is_verified(place: &Place, iterations: u64) {
    let run = place.show();
    assert_eq!((&run["status"], &run["verified"]), (&json!("COMPLETED"), &json!(true)), "{run:#}");
    assert_eq!(run["counted"], iterations, "{run:#}");
}

/// The first prompt of the model.
fn first_prompt(place: &Place) -> String {
    place.model.main_requests().first().map(|request| request.user.clone()).unwrap_or_default()
}

#[test]
fn claude_expands_the_command_and_loops_in_its_session() {
    let replies =
        [Reply::tool(mend(WRONG)), Reply::say("All done."), Reply::tool(mend(RIGHT)), Reply::say("Now it is.")];
    let place = installed(Client::Claude, "claude", replies);
    let ended = Ended::of(claude(&place, &place.workspace(), REQUEST)).ok();
    let prompt = first_prompt(&place);
    assert!(prompt.contains("runs in this session now, for at most 5 iterations"), "{prompt}\n{}", ended.stdout);
    is_verified(&place, 2);
    assert!(ended.stdout.contains("COMPLETED (verified)"), "the user is told: {}", ended.stdout);
}

#[test]
fn claude_expands_the_command_and_loops_with_fresh_contexts() {
    let call = Tool::call("mcp__ralph__ralph_loop", loop_arguments());
    let place = installed(Client::Claude, "claude", [Reply::tool(call), Reply::say("Verified.")]);
    let ended = Ended::of(claude(&place, &place.workspace(), &format!("{REQUEST} --fresh"))).ok();
    let prompt = first_prompt(&place);
    assert!(
        prompt.contains("Call the tool `ralph_loop`") && prompt.contains("\"node --test\""),
        "{prompt}\n{}",
        ended.stdout
    );
    is_verified(&place, 1);
}

#[test]
fn the_plugin_loops_in_its_session_and_with_fresh_contexts() {
    let replies =
        [Reply::tool(mend(WRONG)), Reply::say("All done."), Reply::tool(mend(RIGHT)), Reply::say("Now it is.")];
    let place = Place::new(Client::Claude, script(replies));
    let ended = with_plugin(&place, &REQUEST.replace("/ralph", "/ralph:ralph"));
    assert!(first_prompt(&place).contains("runs in this session now"), "{}", ended.stdout);
    is_verified(&place, 2);
    let call = Tool::call("mcp__plugin_ralph_ralph__ralph_loop", loop_arguments());
    let place = Place::new(Client::Claude, script([Reply::tool(call), Reply::say("Verified.")]));
    place.user.configure(&format!("pause_ms = 0\nagent = \"mender\"\n{MENDER}"));
    with_plugin(&place, &format!("{} --fresh", REQUEST.replace("/ralph", "/ralph:ralph")));
    is_verified(&place, 1);
}

#[test]
fn a_loop_in_a_session_can_be_cancelled() {
    let replies = [Reply::tool(mend(WRONG)), Reply::tool(Tool::shell("ralph session cancel")), Reply::say("Stopped.")];
    let place = installed(Client::Claude, "claude", replies);
    Ended::of(claude(&place, &place.workspace(), REQUEST)).ok();
    let run = place.show();
    assert_eq!((&run["status"], &run["reason"]), (&json!("ABORTED"), &json!("CANCELLED")), "{run:#}");
}

#[test]
fn a_loop_with_fresh_contexts_ends_with_its_client() {
    let call = Tool::call("mcp__ralph__ralph_loop", loop_arguments());
    let place = installed(Client::Claude, "claude", [Reply::tool(call), Reply::say("Verified.")]);
    place.user.configure("agent = \"slow\"\n[agents.slow]\ncommand = \"touch began; sleep 600\"\nunmetered = true\n");
    let mut child = claude(&place, &place.workspace(), &format!("{REQUEST} --fresh"));
    wait_until("the agent began", || place.workspace().join("began").exists());
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    wait_until("the loop ended", || place.user.newest_loop()["status"] != "RUNNING");
    let run = place.show();
    assert_eq!((&run["status"], &run["reason"]), (&json!("ABORTED"), &json!("CANCELLED")), "{run:#}");
    place.nothing_survives();
}

#[test]
fn a_session_in_another_folder_is_not_touched() {
    let place = installed(Client::Claude, "claude", [Reply::say("Hello.")]);
    let words = ["session", "start", "Mend sum", "--max", "5", "--criteria", "node --test"];
    place.user.ralph(&place.workspace(), words).ok();
    let elsewhere = place.user.home().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let ended = Ended::of(claude(&place, &elsewhere, "Hello")).ok();
    assert_eq!(place.model.main_requests().len(), 1, "{}", ended.stdout);
    let status = place.user.ralph(&place.workspace(), ["session", "status", "--json"]).ok().json();
    assert_eq!(
        (&status["active"], &status["iteration"], &status["session"]),
        (&json!(true), &json!(1), &Value::Null),
        "{status:#}"
    );
    place.user.ralph(&place.workspace(), ["session", "cancel"]).ok();
}

#[test]
fn opencode_expands_the_command_and_calls_the_tool() {
    let call = Tool::call("ralph_ralph_loop", loop_arguments());
    let place = installed(Client::Opencode, "opencode", [Reply::tool(call), Reply::say("Verified.")]);
    let words = [
        "run",
        "--command",
        "ralph",
        "--format",
        "json",
        "--auto",
        "--",
        "Mend sum",
        // It fails on an argument that is a number.
        "--max=5",
        "--criteria",
        "node --test",
    ];
    let ended = Ended::of(start(&place, &place.workspace(), "opencode", &words)).ok();
    let prompt = first_prompt(&place);
    assert!(
        prompt.contains("Call the tool `ralph_loop`") && prompt.contains("\"node --test\""),
        "{prompt}\n{}",
        ended.stdout
    );
    is_verified(&place, 1);
}

#[test]
fn codex_calls_the_tool() {
    let call = Tool::call("ralph_loop", loop_arguments());
    let place = installed(Client::Codex, "codex", [Reply::tool(call), Reply::say("Verified.")]);
    let url = format!("model_providers.s.base_url=\"{}/v1\"", place.model.url());
    let words = [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--disable",
        "plugins",
        "--disable",
        "unbounded_connection_retries",
        "-c",
        "analytics.enabled=false",
        "-m",
        "scripted-1",
        "-c",
        "model_provider=s",
        "-c",
        "model_providers.s.name=s",
        "-c",
        &url,
        "-c",
        "model_providers.s.wire_api=responses",
        "-c",
        "model_providers.s.env_key=OPENAI_API_KEY",
        "--dangerously-bypass-approvals-and-sandbox",
        "Use Ralph",
    ];
    let ended = Ended::of(start(&place, &place.workspace(), "codex", &words)).ok();
    assert!(ended.stdout.contains("Verified."), "{}", ended.stdout);
    is_verified_of_client(&place);
}

#[test]
fn gemini_calls_the_tool() {
    let call = Tool::call("mcp_ralph_ralph_loop", loop_arguments());
    let place = installed(Client::Gemini, "gemini", [Reply::tool(call), Reply::say("Verified.")]);
    let words = ["-p", REQUEST, "--yolo", "--skip-trust", "-m", "gemini-2.5-flash", "--output-format", "stream-json"];
    let ended = Ended::of(start(&place, &place.workspace(), "gemini", &words)).ok();
    let prompt = first_prompt(&place);
    assert!(prompt.contains("Call the tool `ralph_loop`"), "{prompt}\n{}", ended.stdout);
    is_verified_of_client(&place);
}

/// Some clients start servers of tools with an environment of their own, so that the state is where it usually is.
#[track_caller]
fn is_verified_of_client(place: &Place) {
    let usual = place.user.home().join(".local/state/ralph");
    let mut command = place.user.command(&place.workspace(), ["list", "--all", "--json"]);
    if usual.exists() {
        command.env("RALPH_HOME", &usual);
    }
    let listed = Ended::from(command.output().unwrap()).ok().json();
    let run = &listed[0];
    let asked = place.model.requests();
    let told: Vec<_> = asked.iter().map(|request| (&request.tools, &request.results)).collect();
    assert_eq!((&run["status"], &run["verified"]), (&json!("COMPLETED"), &json!(true)), "{listed:#}\n{told:#?}");
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
