//! `ralph mcp` as a client uses it: JSON-RPC, one message per line, on standard input and output.

mod server;
mod tasks;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ralph_testkit::{Repo, Script, Step};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::aid::{Agent, TIMEOUT, signal, unsettled, wait_for_file, wait_until};
use crate::harness::User;

/// A client of one server.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<Value>,
}

impl Client {
    pub fn start(user: &User, repo: &Repo, variables: &[(&str, &str)]) -> Self {
        let mut command = user.command(repo.path(), ["mcp"]);
        command.envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let input = child.stdin.take();
        Self { child, input, lines, seen: Vec::new() }
    }

    /// As clients begin today: a probe for a newer protocol, then the handshake.
    pub fn initialized(user: &User, repo: &Repo, variables: &[(&str, &str)]) -> Self {
        let mut client = Self::start(user, repo, variables);
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = client.request(0, "initialize", params);
        assert_eq!(answer["result"]["serverInfo"]["name"], "ralph", "{answer}");
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub fn raw(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.raw(message.to_string().as_bytes());
    }

    /// The answer to a request; what comes before it is kept in `seen`.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.seen.push(message);
        }
    }

    #[track_caller]
    pub fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(TIMEOUT).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}"))
    }

    #[track_caller]
    pub fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.answer(id)
    }

    pub fn begin_call(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": format!("p{id}")}});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    /// The result of a tool.
    #[track_caller]
    pub fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.begin_call(id, tool, arguments);
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// The text of a tool that refused.
    #[track_caller]
    pub fn refused(&mut self, id: u64, tool: &str, arguments: Value) -> String {
        let result = self.call(id, tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The names of all tools.
    #[track_caller]
    pub fn tool_names(&mut self, id: u64) -> Vec<String> {
        let answer = self.request(id, "tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Closes the client's side and waits for the server's end.
    #[track_caller]
    pub fn close(mut self) {
        drop(self.input.take());
        let start = std::time::Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(start.elapsed() < TIMEOUT, "the server did not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn loop_arguments(max: u32) -> Value {
    json!({
        "objective": "Make the check pass",
        "verification_command": "test -e done",
        "max_iterations": max,
        "max_cost_usd": 1,
    })
}

/// A user whose usual agent is this one.
fn scene(script: Script) -> (User, Repo, Agent) {
    let (user, repo) = (User::new(), Repo::init());
    let agent = Agent::new(&user, script);
    user.configure(&format!("pause_ms = 0\ncost_after_run = true\nagent_command = {:?}\n", agent.line));
    (user, repo, agent)
}

#[test]
fn a_loop_runs_to_a_verified_end_and_reports_progress() {
    let script = Script::new()
        .run([Step::write("notes", "x"), Step::cost(1000)])
        .otherwise([Step::write("done", ""), Step::cost(1000)]);
    let (user, repo, agent) = scene(script);
    let mut client = Client::initialized(&user, &repo, &[]);
    let result = client.call(1, "ralph_loop", loop_arguments(5));
    let data = &result["structuredContent"];
    assert_eq!((&data["status"], &data["verified"]), (&json!("COMPLETED"), &json!(true)), "{result}");
    assert_eq!((&data["iterations"], &result["isError"]), (&json!(2), &json!(false)), "{result}");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("COMPLETED (verified)"), "{result}");
    assert_eq!(agent.runs(), 2);
    assert!(repo.exists(".ralph/LEDGER.md"));

    let progress: Vec<&Value> =
        client.seen.iter().filter(|message| message["method"] == "notifications/progress").collect();
    assert!(progress.iter().all(|one| one["params"]["progressToken"] == "p1" && one["params"]["total"] == 5.0));
    let values: Vec<f64> = progress.iter().map(|one| one["params"]["progress"].as_f64().unwrap()).collect();
    assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
    let text: Vec<&str> = progress.iter().filter_map(|one| one["params"]["message"].as_str()).collect();
    let text = text.join("\n");
    assert!(text.contains("iteration 1/5: 0 passing, 1 failing; $0.001 of $1"), "{text}");
    assert!(text.contains("iteration 2/5: all checks pass"), "{text}");

    let status = client.call(2, "ralph-status", json!({}));
    assert_eq!(status["structuredContent"]["loops"][0]["loopId"], data["loopId"], "{status}");
    let one = client.call(3, "ralph-status", json!({"loop_id": data["loopId"]}));
    assert_eq!(one["structuredContent"]["state"]["failing"], json!([1, 1, 0]), "{one}");
    client.close();
}

#[test]
fn a_limit_is_a_result_with_what_still_fails() {
    let (user, repo, _) = scene(Script::new().otherwise([Step::append("work", "x"), Step::cost(1000)]));
    let mut client = Client::initialized(&user, &repo, &[]);
    let mut arguments = loop_arguments(1);
    arguments["verification_command"] = json!("echo 'no such luck'; exit 3");
    let result = client.call(1, "ralph_loop", arguments);
    assert_eq!(result["structuredContent"]["reason"], "MAX_ITERATIONS", "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("[ERROR] verify") && text.contains("no such luck"), "{text}");
}

/// How a client gives up.
#[derive(Clone, Copy)]
enum GivesUp {
    Cancels,
    Closes,
    Terminates,
}

fn stop_in_the_middle(how: GivesUp) {
    let script = Script::new().otherwise([Step::write("working", ""), Step::SleepMs(600_000)]);
    let (user, repo, agent) = scene(script);
    let mut client = Client::initialized(&user, &repo, &[]);
    client.begin_call(1, "ralph_loop", loop_arguments(3));
    wait_for_file(&repo.path().join("working"));
    match how {
        GivesUp::Cancels => {
            let params = json!({"requestId": 1, "reason": "the user pressed Escape"});
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
            wait_until("the end of the loop", || user.newest_loop()["status"] == "ABORTED");
            // The server is still there, and answers no cancelled request.
            let status = client.call(2, "ralph-status", json!({}));
            assert_eq!(status["isError"], false, "{status}");
            assert!(client.seen.iter().all(|message| message["id"] != 1), "{:?}", client.seen);
        }
        GivesUp::Closes => {}
        GivesUp::Terminates => signal(&client.child, Signal::TERM),
    }
    client.close();
    agent.assert_gone(&repo, Duration::ZERO);
    let newest = user.newest_loop();
    assert_eq!((&newest["status"], &newest["reason"]), (&json!("ABORTED"), &json!("CANCELLED")), "{newest}");
    assert_eq!(unsettled(&user), 0, "money is still reserved");
}

#[test]
fn a_cancelled_call_stops_its_loop_and_leaves_no_process() {
    stop_in_the_middle(GivesUp::Cancels);
}

#[test]
fn a_client_that_goes_away_stops_its_loop() {
    stop_in_the_middle(GivesUp::Closes);
}

#[test]
fn a_signal_stops_the_loops_and_the_server() {
    stop_in_the_middle(GivesUp::Terminates);
}

#[test]
fn bad_arguments_are_explained_to_the_model() {
    let (user, repo, agent) = scene(Script::new().otherwise([Step::Exit(0)]));
    let mut client = Client::initialized(&user, &repo, &[]);
    let with = |name: &str, value: Value| {
        let mut arguments = loop_arguments(3);
        arguments[name] = value;
        arguments
    };
    let cases = [
        (json!({}), "missing field `objective`"),
        (with("objective", json!(" ")), "objective is empty"),
        (with("objective", json!("x".repeat(70_000))), "objective is longer than"),
        (with("verification_command", json!(7)), "verification_command: invalid type"),
        (with("max_iterations", json!(0)), "max_iterations must be between 1 and 100"),
        (with("max_iterations", json!(-1)), "max_iterations"),
        (with("max_cost_usd", json!(-1)), "max_cost_usd"),
        (with("max_cost_usd", json!(100_000)), "max_cost_usd"),
        (with("agent", json!("nobody")), "nobody"),
        (with("sandbox", json!("off")), "unknown field `sandbox`"),
    ];
    for (id, (arguments, wanted)) in (1..).zip(cases) {
        let text = client.refused(id, "ralph_loop", arguments);
        assert!(text.contains(wanted), "wanted {wanted:?} in: {text}");
    }
    let text = client.refused(50, "ralph-status", json!({"loop_id": "abcdef12"}));
    assert!(text.contains("no loop matches abcdef12"), "{text}");
    let answer = client.request(51, "tools/call", json!({"name": "no-such-tool", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(agent.runs(), 0);
    client.close();
}

#[test]
fn a_repository_that_needs_approval_is_refused_with_what_to_do() {
    let (user, repo, agent) = scene(Script::new().otherwise([Step::Exit(0)]));
    repo.write("ralph.toml", "agent_command = \"touch canary\"\n");
    let mut client = Client::initialized(&user, &repo, &[]);
    let text = client.refused(1, "ralph_loop", loop_arguments(1));
    assert!(text.contains("is not approved") && text.contains("ralph trust"), "{text}");
    assert!(!repo.exists("canary"));
    assert_eq!(agent.runs(), 0);
}

#[test]
fn tools_fit_in_a_prompt_and_garbage_is_survived() {
    let (user, repo, _) = scene(Script::new().otherwise([Step::Exit(0)]));
    let mut client = Client::initialized(&user, &repo, &[]);
    let listed = client.request(1, "tools/list", json!({}));
    assert!(listed["result"].to_string().len() <= 12 * 1024, "{}", listed["result"].to_string().len());
    for garbage in [&b"{"[..], b"", b"null", b"[1,2]", b"\xff\xfe\x00", b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":7}"]
    {
        client.raw(garbage);
    }
    client.raw(&vec![b'x'; 5 * 1024 * 1024]);
    let answer = client.request(2, "no/such/method", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let listed = client.request(3, "tools/list", json!({}));
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    client.close();
}

#[test]
fn a_client_that_says_nothing_or_garbage_first_ends_the_server() {
    let (user, repo) = (User::new(), Repo::init());
    Client::start(&user, &repo, &[]).close();
    let mut client = Client::start(&user, &repo, &[]);
    client.raw(b"hello?");
    client.close();
}
