//! The tools for tasks, against a real server: over standard input and output, and over `/mcp`.

use ralph_testkit::{Repo, Script, Step};
use serde_json::{Value, json};

use super::server::{Answer, Server, messages, read};
use super::{Client, loop_arguments, scene};
use crate::aid::{SOON, wait_for_file, wait_until};
use crate::harness::User;

const SUMMARY: &str = "made the file that was missing";
const EVIDENCE: &str = "`test -e done` exits with 0 now";

fn task(criteria: Option<&str>) -> Value {
    let mut task = json!({"task": "Make the check pass", "ralphPromise": "done exists"});
    if let Some(criteria) = criteria {
        task["verificationCommand"] = json!(criteria);
    }
    task
}

fn completion(id: &str) -> Value {
    json!({"taskId": id, "summary": SUMMARY, "promiseEvidence": EVIDENCE, "artifactPaths": ["done"]})
}

/// A user, a repository and a server that works there.
fn served() -> (User, Repo, Server) {
    let (user, repo, _) = scene(Script::new().otherwise([Step::write("done", ""), Step::cost(1000)]));
    let server = Server::start(&user, repo.path());
    (user, repo, server)
}

fn connected(user: &User, repo: &Repo, server: &Server, token: &str) -> Client {
    Client::initialized(user, repo, &[("RALPH_SERVER", &server.url), ("RALPH_TOKEN", token)])
}

#[test]
fn without_a_server_the_tools_say_what_to_set() {
    let (user, repo) = (User::new(), Repo::init());
    let mut client = Client::initialized(&user, &repo, &[]);
    for (id, tool) in
        (1..).zip(["send-task", "get-tasks", "get-task", "cancel-task", "store-progress", "ralph-complete"])
    {
        let text = client.refused(id, tool, json!({}));
        assert!(text.contains("RALPH_SERVER") && text.contains("ralph serve"), "{tool}: {text}");
    }
    let gone = [("RALPH_SERVER", "http://127.0.0.1:9"), ("RALPH_TOKEN", "x")];
    let mut client = Client::initialized(&user, &repo, &gone);
    let text = client.refused(1, "get-tasks", json!({}));
    assert!(text.contains("no answer from http://127.0.0.1:9"), "{text}");
}

#[test]
fn tasks_are_queued_listed_shown_and_cancelled() {
    let (user, repo, server) = served();
    let mut client = connected(&user, &repo, &server, &server.token);
    let text = client.refused(1, "send-task", json!({"task": "x"}));
    assert!(text.contains("ralphPromise"), "{text}");
    let sent = client.call(2, "send-task", task(Some("test -e done")));
    let id = sent["structuredContent"]["id"].as_str().unwrap().to_owned();
    let listed = client.call(3, "get-tasks", json!({"status": ["unassigned"]}));
    assert_eq!(listed["structuredContent"]["tasks"][0]["id"], id, "{listed}");
    let shown = client.call(4, "get-task", json!({"taskId": id}));
    assert_eq!(shown["structuredContent"]["verificationCommand"], "test -e done", "{shown}");
    let text = client.refused(5, "ralph-complete", completion(&id));
    assert!(text.contains("is not assigned to you"), "{text}");
    let cancelled = client.call(6, "cancel-task", json!({"taskId": id}));
    assert_eq!(cancelled["structuredContent"]["status"], "cancelled", "{cancelled}");
    let text = client.refused(7, "get-task", json!({"taskId": "../../etc/passwd"}));
    assert!(text.contains("taskId"), "{text}");
}

/// What the agent inside a worker says is recorded, and the task stays the worker's to end.
#[test]
fn inside_a_worker_completion_is_a_claim() {
    let (user, repo, server) = served();
    server.api(&server.token, "POST", "/api/tasks", &task(None));
    let (id, token) = server.claim(&server.token, "worker");
    let state = user.home().join("state-of-task");
    std::fs::create_dir(&state).unwrap();
    let variables = [
        ("RALPH_SERVER", server.url.as_str()),
        ("RALPH_TOKEN", &token),
        ("RALPH_TASK_ID", &id),
        ("RALPH_STATE_DIR", state.to_str().unwrap()),
    ];
    let mut client = Client::initialized(&user, &repo, &variables);
    for (number, (name, wanted)) in
        (1..).zip([("summary", "summary has fewer than 10"), ("promiseEvidence", "promiseEvidence")])
    {
        let mut short = completion(&id);
        short[name] = json!("done");
        let text = client.refused(number, "ralph-complete", short);
        assert!(text.contains(wanted), "{text}");
    }
    // A loop would spend what the task does not count.
    let names = client.tool_names(9);
    assert_eq!(names, ["ralph-complete", "get-task", "store-progress"], "tools of the task alone");
    client.call(10, "store-progress", json!({"taskId": id, "message": "half of it"}));
    let answer = client.call(11, "ralph-complete", completion(&id));
    assert_eq!(answer["structuredContent"]["accepted"], true, "{answer}");
    assert!(answer["structuredContent"]["message"].as_str().unwrap().contains("claim"), "{answer}");
    let claim = std::fs::read_to_string(state.join(format!("{id}.claim.json"))).unwrap();
    assert!(claim.contains(SUMMARY) && claim.contains(EVIDENCE), "{claim}");
    // Over HTTP the same.
    let answer = server.call(&token, "ralph-complete", &completion(&id));
    assert_eq!(answer["structuredContent"]["accepted"], true, "{answer}");
    let shown = server.api(&server.token, "GET", &format!("/api/tasks/{id}"), &Value::Null);
    assert!(["pending", "in_progress"].contains(&shown["status"].as_str().unwrap()), "{shown}");
    // The token is for this task, and for nothing else.
    let other = server.api(&server.token, "POST", "/api/tasks", &task(None))["id"].as_str().unwrap().to_owned();
    for (tool, arguments) in [
        ("get-task", json!({"taskId": other})),
        ("ralph-complete", completion(&other)),
        ("get-tasks", json!({})),
        ("send-task", task(None)),
        ("cancel-task", json!({"taskId": id})),
        ("ralph_loop", loop_arguments(1)),
        ("ralph-status", json!({})),
    ] {
        let answer = server.call(&token, tool, &arguments);
        assert_eq!(answer["isError"], true, "{tool}: {answer}");
    }
}

/// The worker lost the task: neither a claim by hand nor one that is repeated reaches the next worker.
#[test]
fn a_claim_on_a_task_that_another_worker_has_is_refused() {
    let (user, repo, server) = served();
    server.api(&server.token, "POST", "/api/tasks", &task(None));
    let (id, token) = server.claim(&server.token, "first");
    let state = user.home().join("state-of-task");
    std::fs::create_dir(&state).unwrap();
    let variables = [
        ("RALPH_SERVER", server.url.as_str()),
        ("RALPH_TOKEN", &token),
        ("RALPH_TASK_ID", &id),
        ("RALPH_STATE_DIR", state.to_str().unwrap()),
    ];
    let mut client = Client::initialized(&user, &repo, &variables);
    for number in [1, 2] {
        let answer = client.call(number, "ralph-complete", completion(&id));
        assert_eq!(answer["structuredContent"]["accepted"], true, "said twice: {answer}");
    }
    std::fs::remove_file(state.join(format!("{id}.claim.json"))).unwrap();
    server.api(&server.token, "POST", &format!("/api/tasks/{id}/release"), &json!({"epoch": 1}));
    let (again, _) = server.claim(&server.token, "second");
    assert_eq!(again, id);
    let before = server.api(&server.token, "GET", &format!("/api/tasks/{id}"), &Value::Null);
    client.refused(3, "ralph-complete", completion(&id));
    assert!(!state.join(format!("{id}.claim.json")).exists(), "nothing is claimed");
    assert_eq!(server.api(&server.token, "GET", &format!("/api/tasks/{id}"), &Value::Null), before);
}

/// An agent that holds a task without a worker has it checked here. Ralph did not see the tests before the work.
#[test]
fn the_holder_of_a_task_completes_it_unverified_when_the_checks_pass() {
    {
        let (user, repo, server) = served();
        let made = user.ralph(repo.path(), ["token", "create", "holder", "--agent", "--json"]).ok().json();
        let token = made["token"].as_str().unwrap().to_owned();
        server.api(&server.token, "POST", "/api/tasks", &task(Some("echo 'no such luck'; test -e done")));
        let (id, _) = server.claim(&token, "holder");
        let mut client = connected(&user, &repo, &server, &token);
        let far = server.call(&token, "ralph-complete", &completion(&id));
        let text = far["content"][0]["text"].as_str().unwrap();
        assert!(far["isError"] == true && text.contains("`ralph mcp`, started in the folder of the work"), "{far}");
        let mut complete = |number| client.call(number, "ralph-complete", completion(&id));
        let answer = complete(1);
        assert_eq!(answer["isError"], true, "{answer}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("[ERROR] verify") && text.contains("no such luck"), "{text}");
        repo.write("done", "");
        let answer = complete(2);
        let said = &answer["structuredContent"];
        assert_eq!((&said["completed"], &said["verified"]), (&json!(true), &json!(false)), "{answer}");
        assert!(answer["content"][0]["text"].as_str().unwrap().contains("NOT verified"), "{answer}");
        let shown = server.api(&server.token, "GET", &format!("/api/tasks/{id}"), &Value::Null);
        assert_eq!((&shown["status"], &shown["verified"]), (&json!("completed"), &json!(false)), "{shown}");
        let output: Value = serde_json::from_str(shown["output"].as_str().unwrap()).unwrap();
        assert_eq!((&output["summary"], &output["artifactPaths"]), (&json!(SUMMARY), &json!(["done"])), "{output}");
        // What looked whether the checks pass is no loop of the user's.
        assert_eq!(user.newest_loop(), Value::Null);
        assert!(!repo.exists(".ralph/LEDGER.md"));
        let left = std::fs::read_dir(user.state().join("trials")).unwrap().count();
        assert_eq!(left, 0, "it leaves nothing behind");
        let agents = server.api(&server.token, "GET", "/api/agents", &Value::Null);
        assert_eq!(agents["agents"][0]["busy"], false, "{agents}");
        let again = complete(3);
        assert_eq!(again["isError"], true, "{again}");
    }
}

#[test]
fn a_loop_over_http_reports_progress_and_ends_verified() {
    let (_user, repo, server) = served();
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let answer = server.mcp(&server.token, 0, "initialize", &hello);
    assert_eq!(answer["result"]["serverInfo"]["name"], "ralph", "{answer}");
    let params = json!({"name": "ralph_loop", "arguments": loop_arguments(3), "_meta": {"progressToken": 5}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = server.request(&server.token, "POST", "/mcp", &[("MCP-Protocol-Version", "2025-11-25")], &call);
    assert!(answer.head.contains("mcp-session-id: "), "a client can cancel only with an id: {}", answer.head);
    let messages = messages(&answer.body);
    assert!(messages.iter().any(|message| message["method"] == "notifications/progress"), "{}", answer.body);
    let result = &messages.last().unwrap()["result"]["structuredContent"];
    assert_eq!((&result["status"], &result["verified"]), (&json!("COMPLETED"), &json!(true)), "{result}");
    assert!(repo.exists(".ralph/LEDGER.md"));
}

#[test]
fn strangers_are_refused_before_the_protocol_begins() {
    let (_user, _repo, server) = served();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let status = |token: &str, headers: &[(&str, &str)]| server.request(token, "POST", "/mcp", headers, &list).status;
    assert_eq!(status(&server.token, &[]), 200);
    assert_eq!(status("", &[]), 401);
    assert_eq!(status("wrong", &[]), 401);
    assert_eq!(status(&server.token, &[("Origin", "https://evil.example")]), 403);
    assert_eq!(server.request(&server.token, "GET", "/mcp", &[], &Value::Null).status, 405);
    let large =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "y".repeat(2 * 1024 * 1024)}});
    let is_problem = |answer: Answer, status: u16, kind: &str| {
        assert_eq!(answer.status, status, "{}", answer.body);
        let problem: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((&problem["type"], &problem["status"]), (&json!(format!("urn:ralph:{kind}")), &json!(status)));
    };
    is_problem(server.request(&server.token, "POST", "/mcp", &[], &large), 413, "too-large");
    is_problem(read(server.open(&server.token, "POST", "/mcp", &[], "{nothing")), 400, "malformed-json");
}

/// How a client over HTTP gives up.
fn stop_over_http(cancels: bool) {
    let script = Script::new().otherwise([Step::write("working", ""), Step::SleepMs(600_000)]);
    let (user, repo, agent) = scene(script);
    let server = Server::start(&user, repo.path());
    let params = json!({"name": "ralph_loop", "arguments": loop_arguments(3)});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = [("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", "mine")];
    let stream = server.open(&server.token, "POST", "/mcp", &headers, &call.to_string());
    wait_for_file(&repo.path().join("working"));
    if cancels {
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        let other = [("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", "another")];
        assert_eq!(server.request(&server.token, "POST", "/mcp", &other, &cancelled).status, 202);
        assert_eq!(user.newest_loop()["status"], "RUNNING", "another client cannot cancel it");
        assert_eq!(server.request(&server.token, "POST", "/mcp", &headers, &cancelled).status, 202);
    } else {
        drop(stream);
    }
    wait_until("the end of the loop", || user.newest_loop()["status"] == "ABORTED");
    assert_eq!(user.newest_loop()["reason"], "CANCELLED");
    drop(server);
    agent.assert_gone(&repo, SOON);
}

#[test]
fn a_cancellation_over_http_stops_the_loop() {
    stop_over_http(true);
}

#[test]
fn a_client_that_disconnects_stops_its_loop() {
    stop_over_http(false);
}
