//! A real Claude Code that uses Ralph's tools, over standard input and output and over HTTP.

use std::path::Path;
use std::process::{Command, Stdio};

use ralph_testkit::model::{Reply, Script, ScriptedModel, Tool};
use serde_json::{Value, json};

use crate::client::Client;
use crate::harness::{Ended, program};
use crate::place::{Place, RIGHT, mend, script};
use crate::server::Server;

/// How Claude Code reaches the tools.
#[derive(Clone, Copy)]
enum Over {
    Stdio,
    Http,
}

/// Claude Code as a person starts it, with Ralph as its only server of tools.
fn claude(place: &Place, model: &ScriptedModel, server: &Server, over: Over, token: &str, task: Option<&str>) -> Ended {
    let config = match over {
        Over::Stdio => {
            let mut variables = json!({
                "RALPH_HOME": place.user.state(),
                "RALPH_SERVER": server.url,
                "RALPH_TOKEN": token,
            });
            if let Some(task) = task {
                variables["RALPH_TASK_ID"] = json!(task);
            }
            json!({ "command": program(), "args": ["mcp"], "env": variables })
        }
        Over::Http => {
            let headers = json!({ "Authorization": "Bearer ${RALPH_TOKEN}" });
            json!({ "type": "http", "url": format!("{}/mcp", server.url), "headers": headers })
        }
    };
    let file = place.user.home().join("mcp.json");
    std::fs::write(&file, json!({ "mcpServers": { "ralph": config } }).to_string()).unwrap();
    let programs = std::env::var_os("RALPH_TEST_CLIENTS").expect("scripts/test --clients says where the programs are");
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(std::iter::once(programs.clone().into()).chain(std::env::split_paths(&path)));
    let mut command = Command::new(Path::new(&programs).join("claude"));
    command
        .args(["--print", "--model", "claude-sonnet-4-5", "--output-format", "stream-json", "--verbose"])
        .args(["--dangerously-skip-permissions", "--mcp-config"])
        .arg(file)
        // After the files, of which there may be several.
        .args(["--strict-mcp-config", "Use Ralph"])
        .current_dir(place.workspace())
        .env_clear()
        .env("PATH", path.unwrap())
        .env("HOME", place.user.home())
        .env("RALPH_TOKEN", token)
        .env("TMPDIR", place.user.temporary())
        .env("IS_SANDBOX", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "sk-test-0123456789")
        .stdin(Stdio::null());
    Ended::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).ok()
}

/// What the tool answered, as Claude Code gives it to its model.
fn tool_result(ended: &Ended) -> Value {
    let lines = ended.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut results = lines.filter(|event| event["type"] == "user").map(|event| event["message"]["content"][0].clone());
    results.next().unwrap_or_else(|| panic!("no result in {}", ended.stdout))
}

/// One call of a tool, and a last word.
fn calls(tool: &str, arguments: Value) -> Script {
    script([Reply::tool(Tool::call(format!("mcp__ralph__{tool}"), arguments)), Reply::say("That was it.")])
}

fn runs_a_loop(over: Over) {
    let arguments = json!({
        "objective": "Mend sum",
        "verification_command": "node --test",
        "max_iterations": 2,
        "max_cost_usd": 1,
        "agent": "mender",
    });
    let place = Place::new(Client::Claude, calls("ralph_loop", arguments));
    let mender = "sed -i 's/a - b/a + b/' sum.js";
    place.user.configure(&format!("pause_ms = 0\n[agents.mender]\ncommand = {mender:?}\nunmetered = true\n"));
    let server = Server::start(&place.user, &place.workspace());
    let ended = claude(&place, &place.model, &server, over, &server.token, None);
    let result = tool_result(&ended);
    let data: Value = serde_json::from_str(result["content"].as_str().unwrap()).unwrap();
    assert_eq!((&data["status"], &data["verified"]), (&json!("COMPLETED"), &json!(true)), "{result:#}");
    let shown = place.show();
    assert_eq!(shown["verified"], true, "{shown:#}");
}

#[test]
fn a_loop_over_standard_input_and_output() {
    runs_a_loop(Over::Stdio);
}

#[test]
fn a_loop_over_http() {
    runs_a_loop(Over::Http);
}

fn claims_completion(over: Over) {
    // The task has its id only once it exists, so that the script with it is another one.
    let place = Place::new(Client::Claude, calls("ralph-status", json!({})));
    let server = Server::start(&place.user, &place.workspace());
    let new = json!({"task": "Mend sum", "ralphPromise": "the tests pass"});
    server.api(&server.token, "POST", "/api/tasks", &new);
    let (task, token) = server.claim(&server.token, "worker");
    let arguments = json!({"taskId": task, "summary": "sum adds now", "promiseEvidence": "node --test passes"});
    let model = ScriptedModel::start(calls("ralph-complete", arguments));
    let ended = claude(&place, &model, &server, over, &token, Some(&task));
    let result = tool_result(&ended);
    assert!(result["content"].as_str().unwrap().contains("\"accepted\":true"), "{result:#}");
    let shown = server.api(&server.token, "GET", &format!("/api/tasks/{task}"), &Value::Null);
    assert_eq!(shown["status"], "pending", "the worker decides: {shown:#}");
}

#[test]
fn a_claim_over_standard_input_and_output() {
    claims_completion(Over::Stdio);
}

#[test]
fn a_claim_over_http() {
    claims_completion(Over::Http);
}

/// What a program calls a tool of the server that its settings for the run name.
const fn tool_name(client: Client) -> &'static str {
    match client {
        Client::Claude | Client::ClaudeAcp => "mcp__ralph__ralph-complete",
        Client::Codex | Client::CodexAcp => "ralph_complete",
        Client::Opencode | Client::OpencodeAcp => "ralph_ralph-complete",
        Client::Gemini | Client::GeminiAcp => "mcp_ralph_ralph-complete",
    }
}

/// The tools are not configured: the worker gives them to its agent. Without the claim the task would fail.
fn worker_completes(client: Client) {
    let place = Place::new(client, script([Reply::say("Nothing is asked here.")]));
    let server = Server::start(&place.user, &place.workspace());
    let new = json!({"task": "Mend sum", "ralphPromise": "the tests pass", "ralphMaxIterations": 1, "maxCostUsd": 1});
    let id = server.api(&server.token, "POST", "/api/tasks", &new)["id"].as_str().unwrap().to_owned();
    let claim = json!({"taskId": id, "summary": "sum adds now", "promiseEvidence": "node --test passes"});
    let replies = [
        Reply::tool(mend(RIGHT)).usage(client.usage()),
        Reply::tool(Tool::call(tool_name(client), claim)).usage(client.usage()),
        Reply::say("I am through.").usage(client.usage()),
    ];
    let model = ScriptedModel::start(script(replies).directory(place.workspace()));
    let programs = std::env::var_os("RALPH_TEST_CLIENTS").expect("scripts/test --clients says where the programs are");
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(std::iter::once(programs.into()).chain(std::env::split_paths(&path))).unwrap();
    let workspace = place.workspace();
    let [_, name, _, model_name] = client.words() else { panic!("no model in {:?}", client.words()) };
    let agent = format!("{name}:{model_name}");
    let words = ["worker", "--drain", "--server", &server.url, "--token", &server.token, "--agent", &agent];
    let words = words.into_iter().chain(["--workspace", workspace.to_str().unwrap()]);
    let mut command = place.user.command(&workspace, words);
    command.env("PATH", path).envs(client.set_up(&place.user, &model.url()));
    let ended = Ended::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).ok();
    let task = server.api(&server.token, "GET", &format!("/api/tasks/{id}"), &Value::Null);
    assert_eq!(task["status"], "completed", "{task:#}\n{}\n{:#?}", ended.stderr, model.requests());
    let output: Value = serde_json::from_str(task["output"].as_str().unwrap()).unwrap();
    assert_eq!(output["promiseEvidence"], "node --test passes", "{output}");
}

crate::for_each_client! {
    the_agent_of_a_worker_is_given_the_tools: worker_completes;
}
