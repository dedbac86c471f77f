use std::path::Path;
use std::sync::{Arc, Mutex};

use ralph_model::{AgentEvent, Cost, Money, ToolEvidence};

use super::*;
use crate::golden;
use crate::transcript::TranscriptSummary;

/// A client whose lines for the server are kept.
struct Lab {
    client: Client,
    transcript: Transcript,
    sent: Arc<Mutex<Vec<Value>>>,
    talk: Talk,
}

impl Lab {
    fn new() -> Self {
        Self::with(None)
    }

    fn with(model: Option<&str>) -> Self {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&sent);
        let sink = Box::new(move |line: String| {
            kept.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            Ok(())
        });
        let talk = Talk::default();
        let client = Client::new(task(model), sink, talk.clone());
        Self { client, transcript: golden::transcript(), sent, talk }
    }

    fn hears(&mut self, message: Value) -> &mut Self {
        self.client.stdout(&message.to_string(), &mut self.transcript);
        self
    }

    fn updated(&mut self, update: Value) -> &mut Self {
        self.hears(json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}))
    }

    fn asked(&mut self, call: Value) -> Value {
        let options = json!([{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]);
        let params = json!({"sessionId": "s", "toolCall": call, "options": options});
        self.hears(json!({"id": "q", "method": "session/request_permission", "params": params}));
        let answer = self.sent().pop().unwrap();
        assert_eq!(answer["id"], "q");
        answer["result"]["outcome"].clone()
    }

    /// Up to and with the prompt.
    fn prompted() -> Self {
        let mut lab = Self::new();
        lab.hears(json!({"id": 1, "result": {"protocolVersion": 1}}))
            .hears(json!({"id": 2, "result": {"sessionId": "s"}}));
        assert_eq!(lab.methods(), ["initialize", "session/new", "session/prompt"]);
        lab
    }

    fn sent(&self) -> Vec<Value> {
        self.sent.lock().unwrap().clone()
    }

    fn methods(&self) -> Vec<String> {
        self.sent().iter().filter_map(|line| Some(line.get("method")?.as_str()?.to_owned())).collect()
    }

    fn looks(&mut self, minutes: i64) -> &mut Self {
        self.transcript.tick(Timestamp(golden::NOW.0 + minutes * 60_000));
        self.client.look(&mut self.transcript);
        self
    }

    fn is_closed(&self) -> bool {
        self.client.sink.is_none()
    }

    fn ends(mut self, ended: &Ended) -> TranscriptSummary {
        self.client.end(ended, &mut self.transcript);
        assert!(self.is_closed());
        self.transcript.finish(ended, false)
    }

    fn exits(self) -> TranscriptSummary {
        self.ends(&Ended::Exited { code: 0 })
    }
}

fn task(model: Option<&str>) -> PromptTask {
    let matches = |path: &Path| path.starts_with("/w/src/auth").then(|| "src/auth/**".to_owned());
    PromptTask {
        prompt: "Do\nit.".into(),
        directory: "/w".into(),
        model: model.map(str::to_owned),
        prohibited: Prohibited { matches: Arc::new(matches), ..Prohibited::default() },
        mcp_servers: Vec::new(),
        confinement: Confinement::None,
    }
}

fn faults(transcript: &TranscriptSummary) -> Vec<(FaultKind, &str)> {
    transcript.faults.iter().map(|fault| (fault.kind, fault.detail.as_str())).collect()
}

fn chunk(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

#[test]
fn a_session_is_opened_in_the_workspace_and_gets_the_prompt() {
    let mut lab = Lab::prompted();
    let [initialize, new, prompt] = &lab.sent()[..] else { panic!("{:?}", lab.sent()) };
    assert_eq!(initialize["params"]["protocolVersion"], 1);
    let none = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
    assert_eq!(initialize["params"]["clientCapabilities"], none);
    assert_eq!(new["params"], json!({"cwd": "/w", "mcpServers": []}));
    assert_eq!(prompt["params"], json!({"sessionId": "s", "prompt": [{"type": "text", "text": "Do\nit."}]}));
    lab.updated(chunk("All ")).updated(chunk("done."));
    assert!(!lab.is_closed());
    lab.hears(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    assert!(lab.is_closed());
    let transcript = lab.exits();
    assert_eq!((transcript.final_message.as_str(), transcript.faults.as_slice()), ("All done.", &[][..]));
}

#[test]
fn a_model_is_chosen_before_the_prompt_and_one_that_is_refused_ends_the_talk() {
    let models = json!({"currentModelId": "a", "availableModels": [{"modelId": "a"}, {"modelId": "b"}]});
    let open = |lab: &mut Lab| {
        lab.hears(json!({"id": 1, "result": {"protocolVersion": 1}}));
        lab.hears(json!({"id": 2, "result": {"sessionId": "s", "models": models}}));
        assert_eq!(lab.methods().last().unwrap(), "session/set_model");
    };
    let mut lab = Lab::with(Some("b"));
    open(&mut lab);
    lab.hears(json!({"id": 3, "result": {}}));
    assert_eq!(lab.methods().last().unwrap(), "session/prompt");
    let mut lab = Lab::with(Some("c"));
    open(&mut lab);
    lab.hears(json!({"id": 3, "error": {"code": -32603, "message": "Internal error: no such model"}}));
    assert!(lab.is_closed());
    let trouble = lab.exits().trouble.unwrap();
    assert_eq!((trouble.kind, trouble.message.as_str()), (TroubleKind::ModelNotFound, "c: no such model"));
    assert!(trouble.advice.unwrap().ends_with("a, b"));
}

#[test]
fn a_mode_that_is_refused_is_no_trouble() {
    let modes = json!({"currentModeId": "plan", "availableModes": [{"id": "plan"}, {"id": "default"}]});
    let mut lab = Lab::new();
    lab.hears(json!({"id": 1, "result": {}})).hears(json!({"id": 2, "result": {"sessionId": "s", "modes": modes}}));
    assert_eq!(lab.methods().last().unwrap(), "session/set_mode");
    lab.hears(json!({"id": 3, "error": {"code": -32601, "message": "Method not found"}}));
    assert_eq!(lab.methods().last().unwrap(), "session/prompt");
}

#[test]
fn permission_is_given_once_and_never_for_a_prohibited_path() {
    let mut lab = Lab::prompted();
    let call = |id: &str, path: &str| json!({"toolCallId": id, "title": "Write", "kind": "edit", "locations": [{"path": path}]});
    assert_eq!(lab.asked(call("1", "/w/src/main")), json!({"outcome": "selected", "optionId": "yes"}));
    assert_eq!(lab.asked(call("2", "/w/src/x/../auth/key")), json!({"outcome": "selected", "optionId": "no"}));
    // What the server tells of a refused call afterwards changes nothing.
    lab.updated(json!({"sessionUpdate": "tool_call_update", "toolCallId": "2", "status": "completed"}));
    lab.updated(json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}));
    lab.hears(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let transcript = lab.exits();
    let why = "/w/src/auth/key is prohibited by src/auth/**";
    assert_eq!(
        transcript.evidence,
        [ToolEvidence::error("Write", format!("not permitted: {why}")), ToolEvidence::ok("Write", "")]
    );
    assert_eq!(faults(&transcript), [(FaultKind::Denied, format!("Write: {why}").as_str())]);
}

#[test]
fn a_path_counts_although_the_request_for_permission_leaves_it_out() {
    let mut lab = Lab::prompted();
    let transcript = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "edit", "rawInput": {"path": "/w/src/auth/key"}});
    lab.updated(transcript);
    assert_eq!(lab.asked(json!({"toolCallId": "1"}))["optionId"], "no");
}

#[test]
fn what_is_prohibited_to_write_may_be_read() {
    let mut lab = Lab::prompted();
    let call = |kind: &str| json!({"toolCallId": kind, "kind": kind, "locations": [{"path": "/w/src/auth/key"}]});
    assert_eq!(lab.asked(call("read"))["optionId"], "yes");
    assert_eq!(lab.asked(call("other"))["optionId"], "no");
    // A call that turns out to be another kind is judged as that.
    let turned = json!({"toolCallId": "read", "kind": "edit"});
    assert_eq!(lab.asked(turned)["optionId"], "no");
}

#[test]
fn a_call_that_was_never_more_than_pending_did_not_happen() {
    let mut lab = Lab::prompted();
    let pending =
        |id: &str| json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "Terminal", "status": "pending"});
    lab.updated(pending("1")).updated(pending("2"));
    lab.updated(json!({"sessionUpdate": "tool_call_update", "toolCallId": "2", "title": "run it"}));
    lab.updated(pending("3"))
        .updated(json!({"sessionUpdate": "tool_call_update", "toolCallId": "3", "status": "completed"}));
    let started = lab.transcript.take_events().into_iter().filter_map(|event| match event {
        AgentEvent::ToolStarted { tool, summary, .. } => Some((tool, summary)),
        _ => None,
    });
    assert_eq!(started.collect::<Vec<_>>(), [("Terminal".into(), "run it".into()), ("Terminal".into(), String::new())]);
    lab.hears(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    assert_eq!(lab.exits().evidence.len(), 2);
}

#[test]
fn a_plan_is_shown_and_is_no_evidence() {
    let mut lab = Lab::prompted();
    let entry = |status: &str| json!({"content": status, "status": status});
    let entries = [entry("completed"), entry("in_progress"), entry("pending")];
    lab.updated(json!({"sessionUpdate": "plan", "entries": entries})).updated(json!({"sessionUpdate": "plan"}));
    let shown = AgentEvent::Output { text: "plan, 1 of 3 done: in_progress\n".into() };
    assert_eq!(lab.transcript.take_events(), [shown]);
    lab.hears(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let transcript = lab.exits();
    assert_eq!((transcript.evidence.len(), transcript.final_message.as_str()), (0, ""));
}

#[test]
fn unknown_requests_are_refused_and_unknown_news_ignored() {
    let mut lab = Lab::prompted();
    lab.hears(json!({"id": 9, "method": "fs/write_text_file", "params": {"path": "/w/x", "content": "x"}}));
    assert_eq!(lab.sent().pop().unwrap()["error"]["code"], -32601);
    let count = lab.sent().len();
    lab.hears(json!({"method": "$/odd"})).updated(json!({"sessionUpdate": "news"})).updated(json!(3));
    lab.hears(json!({"id": 77, "result": {"stopReason": "end_turn"}}));
    assert_eq!(lab.sent().len(), count);
    assert!(!lab.is_closed());
}

#[test]
fn calls_end_as_the_server_tells_it_and_as_the_command_did() {
    let mut lab = Lab::prompted();
    let begin = |id: &str, title: &str| json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "execute"});
    let end = |id: &str, status: &str, more: Value| {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status});
        update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        update
    };
    for id in ["1", "2", "3", "4"] {
        lab.updated(begin(id, "bash")).updated(end(id, "in_progress", json!({"title": "run it"})));
    }
    lab.updated(end("1", "completed", json!({"rawOutput": {"metadata": {"exit": 0}}})));
    lab.updated(end("2", "completed", json!({"rawOutput": {"output": "no file", "metadata": {"exit": 1}}})));
    lab.updated(end(
        "3",
        "failed",
        json!({"content": [{"type": "content", "content": {"type": "text", "text": "EROFS: no"}}]}),
    ));
    // Twice is once.
    lab.updated(end("1", "failed", json!({})));
    lab.updated(end("5", "completed", json!({"kind": "read"})));
    lab.hears(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let transcript = lab.exits();
    let expected = [
        ToolEvidence::ok("bash", "run it"),
        ToolEvidence::error("bash", "run it: exit code 1: no file"),
        ToolEvidence::error("bash", "run it: EROFS: no"),
        ToolEvidence::ok("read", ""),
        ToolEvidence::error("bash", "no result was seen: run it"),
    ];
    assert_eq!(transcript.evidence, expected);
    assert_eq!(faults(&transcript), [(FaultKind::SandboxRefused, "EROFS: no")]);
}

#[test]
fn reasons_to_stop_are_told_apart() {
    for (reason, expected) in [
        (json!("max_turn_requests"), (FaultKind::TurnLimit, "turn limit")),
        (json!("max_tokens"), (FaultKind::Failed, "token limit")),
        (json!("refusal"), (FaultKind::Failed, "refused")),
        (json!("cancelled"), (FaultKind::Failed, "cancelled")),
        (json!("new"), (FaultKind::Failed, "unknown reason: new")),
        (json!(null), (FaultKind::Failed, "without a reason")),
    ] {
        let mut lab = Lab::prompted();
        lab.updated(chunk("words")).hears(json!({"id": 3, "result": {"stopReason": reason}}));
        let transcript = lab.exits();
        let [(kind, detail)] = faults(&transcript)[..] else { panic!("{transcript:?}") };
        assert!(kind == expected.0 && detail.contains(expected.1), "{transcript:?}");
    }
    let mut lab = Lab::prompted();
    lab.hears(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    assert_eq!(lab.exits().faults[0].kind, FaultKind::EmptyAnswer);
}

#[test]
fn the_cost_is_what_the_server_says_or_what_its_tokens_cost() {
    let used = json!({"inputTokens": 1000, "outputTokens": 100, "totalTokens": 1100});
    let run = |name: &str, cost: Value, usage: Value| {
        let mut lab = Lab::with(Some("scripted-1"));
        lab.hears(json!({"id": 1, "result": {"agentInfo": {"name": name}}}));
        let models = json!({"currentModelId": "scripted-1", "availableModels": []});
        lab.hears(json!({"id": 2, "result": {"sessionId": "s", "models": models}}));
        lab.updated(chunk("words"))
            .updated(json!({"sessionUpdate": "usage_update", "used": 5, "size": 9, "cost": cost}));
        lab.hears(json!({"id": 3, "result": {"stopReason": "end_turn", "usage": usage}}));
        lab.exits()
    };
    let known = |micros| Cost::Known { amount: Money::from_micros(micros) };
    assert_eq!(run("x", json!({"amount": 0.25, "currency": "USD"}), used.clone()).cost, known(250_000));
    assert_eq!(run("x", json!(null), used.clone()).cost, known(2_000));
    assert_eq!(run("x", json!({"amount": 0.25, "currency": "EUR"}), used.clone()).cost, known(2_000));
    // Half a count would be half a cost.
    assert_eq!(run("OpenCode", json!({"amount": 0, "currency": "USD"}), used.clone()).cost, Cost::Unknown);
    assert_eq!(run("OpenCode", json!({"amount": 0.25, "currency": "USD"}), used).cost, known(250_000));
    let none = run("x", json!(null), json!({"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}));
    assert_eq!((none.cost, none.faults[0].kind), (Cost::Unknown, FaultKind::CutStream));
}

#[test]
fn thoughts_that_nobody_counted_leave_the_cost_unknown() {
    let count = json!({"input_tokens": 1000, "output_tokens": 100});
    let quota =
        json!({"quota": {"token_count": count, "model_usage": [{"model": "scripted-1", "token_count": count}]}});
    for (thought, expected) in [(false, Cost::Known { amount: Money::from_micros(2_000) }), (true, Cost::Unknown)] {
        let mut lab = Lab::prompted();
        if thought {
            lab.updated(json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}));
        }
        lab.updated(chunk("words")).hears(json!({"id": 3, "result": {"stopReason": "end_turn", "_meta": quota}}));
        assert_eq!(lab.exits().cost, expected);
    }
}

#[test]
fn a_login_that_is_missing_says_what_to_do() {
    let mut lab = Lab::new();
    let logins = json!([{"id": "x", "name": "X", "description": "Run `x login`"}, {"name": "Key"}]);
    lab.hears(json!({"id": 1, "result": {"protocolVersion": 1, "authMethods": logins}}));
    lab.hears(json!({"id": 2, "error": {"code": -32000, "message": "Authentication required"}}));
    assert!(lab.is_closed());
    let transcript = lab.exits();
    let trouble = transcript.trouble.unwrap();
    assert_eq!(trouble.kind, TroubleKind::Authentication);
    assert!(trouble.advice.unwrap().ends_with("Run `x login`; Key"));
    // No request was answered, so nothing was sold.
    assert_eq!(transcript.cost, Cost::Known { amount: Money::ZERO });
}

#[test]
fn another_version_ends_the_talk() {
    let mut lab = Lab::new();
    lab.hears(json!({"id": 1, "result": {"protocolVersion": 2}}));
    assert!(lab.is_closed());
    let trouble = lab.exits().trouble.unwrap();
    assert_eq!(trouble.kind, TroubleKind::Setup);
    assert_eq!(trouble.message, "it speaks version 2 of the protocol, but Ralph speaks version 1");
}

#[test]
fn a_program_that_is_no_server_is_told_by_what_it_printed() {
    let mut lab = Lab::new();
    lab.client.stdout("Usage: thing [options]", &mut lab.transcript);
    lab.client.stdout("", &mut lab.transcript);
    lab.client.stderr("thing: unknown option", &mut lab.transcript);
    let transcript = lab.ends(&Ended::Exited { code: 2 });
    let expected = "it ended before it accepted a prompt (exit code 2), and printed 1 lines that are not messages: Usage: thing [options]; thing: unknown option";
    let trouble = transcript.trouble.unwrap();
    assert_eq!((trouble.kind, trouble.message.as_str()), (TroubleKind::Setup, expected));
    assert!(trouble.advice.unwrap().contains("Agent Client Protocol"));

    let mut lab = Lab::new();
    for _ in 0..crate::acp::garbage::MAX {
        lab.client.stdout("flood", &mut lab.transcript);
    }
    assert!(lab.is_closed());
    let trouble = lab.exits().trouble.unwrap();
    assert!(trouble.kind == TroubleKind::Setup && trouble.message.contains("10000 lines that are not messages: flood"));

    // What was killed may be a server all the same.
    let transcript = Lab::new().ends(&Ended::Signalled { signal: 9 });
    assert_eq!((transcript.trouble, transcript.faults[0].kind), (None, FaultKind::Failed));
    assert_eq!(Lab::new().ends(&Ended::Stopped).faults, []);
}

#[test]
fn garbage_between_messages_is_ignored() {
    let mut lab = Lab::prompted();
    lab.client.stdout("INFO log line", &mut lab.transcript);
    lab.client.stdout("{\"jsonrpc\":\"2.0\",\"meth", &mut lab.transcript);
    lab.updated(chunk("done")).hears(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    assert_eq!(lab.exits().faults, []);
}

#[test]
fn a_server_that_dies_and_one_that_never_answers_are_told_apart() {
    let mut lab = Lab::prompted();
    lab.updated(chunk("half"));
    let transcript = lab.ends(&Ended::Signalled { signal: 9 });
    assert_eq!(faults(&transcript)[0].0, FaultKind::CutStream);
    assert_eq!(transcript.final_message, "half");

    let mut lab = Lab::new();
    lab.looks(0).looks(5);
    assert!(!lab.is_closed());
    lab.looks(6);
    assert!(lab.is_closed());
    assert_eq!(lab.exits().faults[0].kind, FaultKind::Hang);

    // A prompt may take as long as the run may.
    let mut lab = Lab::prompted();
    lab.looks(0).looks(600);
    assert!(!lab.is_closed());
}

#[test]
fn a_server_that_does_not_read_its_answers_is_given_up() {
    let mut lab = Lab::prompted();
    lab.client.sink = Some(Box::new(|_| Err(FeedError::Full)));
    lab.hears(json!({"id": 9, "method": "odd"}));
    assert!(lab.is_closed());
    assert_eq!(faults(&lab.exits()), [(FaultKind::Failed, "it sends requests but does not read the answers")]);
}

#[test]
fn a_turn_is_cancelled_once_and_nothing_is_permitted_afterwards() {
    let mut lab = Lab::prompted();
    lab.talk.cancel.send_replace(true);
    lab.looks(0).looks(0);
    assert_eq!(lab.methods().iter().filter(|method| *method == "session/cancel").count(), 1);
    assert_eq!(lab.asked(json!({"toolCallId": "1", "kind": "edit"})), json!({"outcome": "cancelled"}));
    lab.hears(json!({"id": 3, "result": {"stopReason": "cancelled"}}));
    assert!(lab.is_closed());
    let transcript = lab.ends(&Ended::Stopped);
    assert_eq!((transcript.faults.as_slice(), transcript.cost), (&[][..], Cost::Unknown));
}

#[test]
fn nothing_that_came_after_the_prompt_is_free_unless_the_service_refused() {
    let error = |message: &str| json!({"id": 3, "error": {"code": -32603, "message": message}});
    let run = |messages: &[Value]| {
        let mut lab = Lab::prompted();
        for message in messages {
            lab.hears(message.clone());
        }
        lab.exits().cost
    };
    let thought = json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}});
    let thought = json!({"method": "session/update", "params": {"update": thought}});
    assert_eq!(run(&[error("odd")]), Cost::Unknown);
    assert_eq!(run(&[error("Overloaded")]), Cost::Known { amount: Money::ZERO });
    assert_eq!(run(&[thought, error("Overloaded")]), Cost::Unknown);
    assert_eq!(run(&[json!({"id": 3, "result": {"stopReason": "refusal"}})]), Cost::Unknown);
    assert_eq!(run(&[json!({"id": 3, "result": {"stopReason": "cancelled"}})]), Cost::Unknown);
}

#[tokio::test]
async fn whoever_ends_the_run_hears_when_the_talk_is_over() {
    let mut lab = Lab::new();
    lab.talk.cancel.send_replace(true);
    // There is no turn yet, so there is nothing to wait for.
    lab.looks(0);
    lab.talk.over().await;
    assert_eq!(lab.methods(), ["initialize"]);
}

#[test]
fn what_comes_before_the_prompt_is_no_work() {
    let mut lab = Lab::new();
    lab.updated(chunk("hello"))
        .updated(json!({"sessionUpdate": "tool_call", "toolCallId": "1", "status": "completed"}));
    lab.hears(json!({"id": 1, "result": {}})).hears(json!({"id": 2, "result": {"sessionId": "s"}}));
    lab.hears(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let transcript = lab.exits();
    assert_eq!((transcript.final_message.as_str(), transcript.evidence.len()), ("", 0));
}

#[test]
fn the_last_message_is_the_final_one() {
    let mut lab = Lab::prompted();
    lab.updated(chunk("first"))
        .updated(json!({"sessionUpdate": "tool_call", "toolCallId": "1", "status": "completed"}));
    lab.updated(chunk("second ")).updated(chunk("half"));
    let mut third = chunk("third");
    third["messageId"] = json!("m3");
    lab.updated(third).hears(json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    assert_eq!(lab.exits().final_message, "third");
}

#[test]
fn the_same_turn_again_and_again_is_hopeless() {
    let again = |lab: &mut Lab, number: usize| {
        let mut message = chunk("I will begin.");
        message["messageId"] = json!(number.to_string());
        lab.updated(message);
    };
    let mut lab = Lab::prompted();
    for number in 0..100 {
        again(&mut lab, number);
        lab.updated(json!({"sessionUpdate": "tool_call", "toolCallId": number.to_string(), "status": "completed"}));
    }
    assert!(!lab.transcript.is_hopeless());
    for number in 100..125 {
        again(&mut lab, number);
    }
    assert!(!lab.transcript.is_hopeless());
    again(&mut lab, 125);
    assert!(lab.transcript.is_hopeless());
    let transcript = lab.ends(&Ended::Hopeless);
    assert_eq!(faults(&transcript), [(FaultKind::EndlessRetry, "25 messages in a row without a tool call")]);
}
