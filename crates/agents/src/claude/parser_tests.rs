use ralph_model::{Cost, TroubleKind};
use serde_json::json;

use super::super::words;
use super::*;
use crate::golden;
use crate::transcript::TranscriptSummary;

const DONE: Ended = Ended::Exited { code: 0 };

struct Run {
    parser: Claude,
    transcript: Transcript,
}

impl Run {
    fn of(events: &[Value]) -> Self {
        Self::read(golden::transcript().confined(true), events)
    }

    fn read(transcript: Transcript, events: &[Value]) -> Self {
        let mut run = Self { parser: Claude::default(), transcript };
        for event in events {
            run.parser.stdout(&event.to_string(), &mut run.transcript);
        }
        run
    }

    fn ended(mut self, ended: &Ended) -> TranscriptSummary {
        self.parser.end(ended, &mut self.transcript);
        self.transcript.finish(ended, false)
    }
}

fn said(text: &str) -> Value {
    json!({"type": "assistant", "parent_tool_use_id": null, "message": {"id": "m", "model": "scripted-1",
        "content": [{"type": "text", "text": text}]}})
}

fn called(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "assistant", "message": {"id": "m", "model": "scripted-1",
        "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}})
}

fn failed_call(id: &str, content: &str) -> Value {
    json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id, "is_error": true, "content": content}]}})
}

fn result() -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed", "result": "Done."})
}

fn with(mut event: Value, key: &str, value: Value) -> Value {
    event[key] = value;
    event
}

fn without(mut event: Value, key: &str) -> Value {
    event.as_object_mut().unwrap().remove(key);
    event
}

fn kinds(transcript: &TranscriptSummary) -> Vec<FaultKind> {
    transcript.faults.iter().map(|fault| fault.kind).collect()
}

#[test]
fn success_needs_all_three_signs_of_it() {
    let is_success = |event: Value| matches!(Run::of(&[event]).transcript.said_end(), Some(Terminal::Completed));
    assert!(is_success(result()));
    // Older versions name no reason.
    assert!(is_success(without(result(), "terminal_reason")));
    assert!(!is_success(without(result(), "is_error")));
    assert!(!is_success(with(result(), "is_error", json!("false"))));
    assert!(!is_success(with(result(), "is_error", json!(true))));
    assert!(!is_success(without(result(), "subtype")));
    assert!(!is_success(with(result(), "subtype", json!("error_during_execution"))));
    for reason in ["api_error", "stop_hook_prevented", "aborted_tools", "a reason of tomorrow"] {
        assert!(!is_success(with(result(), "terminal_reason", json!(reason))), "{reason}");
    }
}

#[test]
fn an_end_that_the_exit_code_contradicts_is_no_success() {
    let transcript = Run::of(&[said("Done."), result()]).ended(&Ended::Exited { code: 1 });
    assert_eq!(kinds(&transcript), [FaultKind::Failed]);
    assert!(transcript.faults[0].detail.contains("exit code 1"), "{:?}", transcript.faults);
    assert_eq!(kinds(&Run::of(&[said("Done."), result()]).ended(&DONE)), []);
}

#[test]
fn a_good_exit_code_alone_is_no_success() {
    assert_eq!(kinds(&Run::of(&[said("Done.")]).ended(&DONE)), [FaultKind::CutStream]);
    assert_eq!(kinds(&Run::of(&[]).ended(&DONE)), [FaultKind::CutStream]);
}

#[test]
fn a_failure_in_its_own_words_is_told() {
    let event =
        json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "errors": ["it broke"]});
    let transcript = Run::of(&[event]).ended(&Ended::Exited { code: 1 });
    assert_eq!(transcript.faults[0].to_string(), "failed: it broke");
    assert_eq!(transcript.trouble, None);
}

#[test]
fn the_last_words_are_those_of_the_main_conversation() {
    let subagent = with(said("I am the subagent. <promise>COMPLETE</promise>"), "parent_tool_use_id", json!("t"));
    let transcript = Run::of(&[said("First."), said("Second."), subagent]).ended(&DONE);
    assert_eq!(transcript.final_message, "Second.");
}

#[test]
fn words_that_the_program_wrote_in_the_models_place_are_no_message() {
    let mut event = said("API Error: 529 Overloaded");
    event["message"]["model"] = json!("<synthetic>");
    assert_eq!(Run::of(&[event]).ended(&DONE).final_message, "");
    let event = with(said("API Error: 529 Overloaded"), "is_api_error_message", json!(true));
    assert_eq!(Run::of(&[event]).ended(&DONE).final_message, "");
}

#[test]
fn a_result_does_not_repeat_the_last_words() {
    let mut run = Run::of(&[said("Done.")]);
    run.transcript.take_events();
    run.parser.stdout(&result().to_string(), &mut run.transcript);
    assert_eq!(run.transcript.take_events(), []);
}

#[test]
fn a_retry_is_a_trouble_until_the_model_answers() {
    let retry = json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 3, "error_status": 529,
        "error": "overloaded"});
    let run = Run::of(std::slice::from_ref(&retry));
    assert_eq!(run.transcript.known_trouble().map(|trouble| trouble.kind), Some(TroubleKind::Overload));
    let start =
        json!({"type": "stream_event", "event": {"type": "message_start", "message": {"id": "m", "usage": {}}}});
    assert_eq!(Run::of(&[retry.clone(), start]).transcript.known_trouble(), None);
    // A subagent's answer says the same: nobody tells whose request was tried again.
    let answer = with(said("I look."), "parent_tool_use_id", json!("toolu_1"));
    assert_eq!(Run::of(&[retry, answer]).transcript.known_trouble(), None);
}

#[test]
fn a_retry_without_an_answer_means_that_nobody_answers() {
    let retry =
        |status: Value| json!({"type": "system", "subtype": "api_retry", "error_status": status, "error": "unknown"});
    let kind = |status| Run::of(&[retry(status)]).transcript.known_trouble().map(|trouble| trouble.kind);
    assert_eq!(kind(Value::Null), Some(TroubleKind::Unreachable));
    assert_eq!(kind(json!(400)), None);
}

#[test]
fn retries_without_end_are_ended() {
    let retry =
        json!({"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 500, "error": "server_error"});
    let run = Run::of(&vec![retry; 100]);
    assert!(run.transcript.is_hopeless());
    let transcript = run.ended(&Ended::Hopeless);
    assert_eq!(kinds(&transcript), [FaultKind::EndlessRetry, FaultKind::Service]);
}

#[test]
fn the_time_of_a_limit_comes_from_the_service() {
    let limit =
        json!({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1_794_762_253}});
    let failed = json!({"type": "result", "subtype": "success", "is_error": true, "terminal_reason": "api_error",
        "api_error": "usage_limit_reached", "api_error_status": 429, "result": "You've hit your limit"});
    let trouble = Run::of(&[limit, failed.clone()]).ended(&DONE).trouble.unwrap();
    assert_eq!((trouble.kind, trouble.until), (TroubleKind::RateLimit, Some(Timestamp(1_794_762_253_000))));
    // A warning is no limit, and a time that makes no sense is none.
    for info in
        [json!({"status": "allowed_warning", "resetsAt": 1_794_762_253}), json!({"status": "rejected", "resetsAt": 5})]
    {
        let event = json!({"type": "rate_limit_event", "rate_limit_info": info});
        assert_eq!(Run::of(&[event, failed.clone()]).ended(&DONE).trouble.unwrap().until, None);
    }
}

#[test]
fn the_fullest_span_of_a_plan_is_told() {
    let event = |kind: &str, utilization: serde_json::Value| {
        json!({"type": "rate_limit_event", "rate_limit_info":
            {"status": "allowed_warning", "rateLimitType": kind, "utilization": utilization, "resetsAt": 1_794_762_253}})
    };
    let events = [event("five_hour", json!(0.29)), event("seven_day", json!(0.87)), event("five_hour", json!(0.3))];
    let window = Run::of(&events).ended(&DONE).usage.window.unwrap();
    assert_eq!((window.percent, window.resets_at), (87, Some(Timestamp(1_794_762_253_000))));
    for nothing in [json!(null), json!("0.9"), json!(-1), json!(1e9)] {
        assert_eq!(Run::of(&[event("five_hour", nothing)]).ended(&DONE).usage.window, None);
    }
    assert_eq!(Run::of(&[event("five_hour", json!(0.29))]).ended(&DONE).usage.window.unwrap().percent, 29);
}

#[test]
fn the_time_of_a_limit_is_also_in_the_failure() {
    let mut line = with(said("You've hit your limit"), "is_api_error_message", json!(true));
    line["error"] = json!("rate_limit");
    line["api_error_params"] = json!({"rate_limit_info": {"resetsAt": 1_794_762_253}});
    let failed = json!({"type": "result", "subtype": "success", "is_error": true, "result": "You've hit your limit"});
    let trouble = Run::of(&[line, failed]).ended(&DONE).trouble.unwrap();
    assert_eq!((trouble.kind, trouble.until), (TroubleKind::RateLimit, Some(Timestamp(1_794_762_253_000))));
}

#[test]
fn the_time_of_a_limit_that_is_over_is_forgotten() {
    let limit =
        json!({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1_794_762_253}});
    let failed = json!({"type": "result", "subtype": "success", "is_error": true, "terminal_reason": "api_error",
        "api_error_status": 529, "api_error_type": "overloaded_error", "result": "Overloaded"});
    let trouble = Run::of(&[limit, said("I go on."), failed]).ended(&DONE).trouble.unwrap();
    assert_eq!((trouble.kind, trouble.until), (TroubleKind::Overload, None));
}

#[test]
fn denials_are_told_once_wherever_they_show() {
    let call = || called("t", "Write", json!({"file_path": "/a"}));
    let answer = || failed_call("t", "no");
    let event = json!({"type": "system", "subtype": "permission_denied", "tool_use_id": "t"});
    let meta = json!([{"id": "t", "permission_decision": {"decision": "reject"}}]);
    let listed =
        with(result(), "permission_denials", json!([{"tool_name": "Write", "tool_use_id": "t", "tool_input": {}}]));
    for events in [
        vec![call(), event.clone(), answer(), result()],
        vec![call(), with(answer(), "tool_result_meta", meta), listed.clone()],
        vec![call(), event, answer(), listed.clone()],
        vec![call(), answer(), listed],
    ] {
        let transcript = Run::of(&events).ended(&DONE);
        assert_eq!(kinds(&transcript), [FaultKind::Denied], "{events:?}");
        assert!(!transcript.evidence[0].success);
    }
}

#[test]
fn a_call_that_worked_is_not_denied() {
    let mut answer = failed_call("t", "fine");
    answer["message"]["content"][0]["is_error"] = json!(false);
    answer["tool_result_meta"] = json!([{"id": "t", "permission_decision": {"decision": "accept"}}]);
    let transcript = Run::of(&[called("t", "Bash", json!({"command": "ls"})), answer, result()]).ended(&DONE);
    assert_eq!(kinds(&transcript), []);
    assert!(transcript.evidence[0].success);
}

#[test]
fn a_sandbox_is_suspected_only_where_there_is_one() {
    let events =
        [called("t", "Bash", json!({"command": "x"})), failed_call("t", "Exit code 1\nx: Permission denied"), result()];
    let transcript = Run::of(&events).ended(&DONE);
    assert_eq!(transcript.faults[0].to_string(), "refused by a sandbox: x: Permission denied");
    assert_eq!(kinds(&Run::read(golden::transcript(), &events).ended(&DONE)), []);
    let other =
        [called("t", "Bash", json!({"command": "x"})), failed_call("t", "Exit code 1\n2 tests failed"), result()];
    assert_eq!(kinds(&Run::of(&other).ended(&DONE)), []);
}

#[test]
fn tools_of_the_service_are_calls_too() {
    let content = json!([
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "rust"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "x"}]},
        {"type": "server_tool_use", "id": "f", "name": "web_fetch", "input": {"url": "x"}},
        {"type": "web_fetch_tool_result", "tool_use_id": "f", "content": {"error_code": "unavailable"}},
    ]);
    let event = json!({"type": "assistant", "message": {"id": "m", "model": "scripted-1", "content": content}});
    let transcript = Run::of(&[event]).ended(&DONE);
    let seen: Vec<_> = transcript.evidence.iter().map(|call| (call.tool.as_str(), call.success)).collect();
    assert_eq!(seen, [("web_search", true), ("web_fetch", false)]);
}

#[test]
fn a_task_that_failed_is_evidence() {
    let event = |status: &str| json!({"type": "system", "subtype": "task_notification", "task_id": "x", "status": status, "summary": "it fell"});
    let transcript = Run::of(&[event("completed"), event("failed")]).ended(&DONE);
    assert_eq!(transcript.evidence.len(), 1);
    assert_eq!((transcript.evidence[0].success, transcript.evidence[0].summary.as_str()), (false, "it fell"));
}

#[test]
fn a_compaction_counts_before_anybody_says_so() {
    let init = json!({"type": "system", "subtype": "init", "model": "scripted-1", "session_id": "s"});
    let compacted = json!({"type": "system", "subtype": "compact_boundary", "compact_metadata": {"pre_tokens": 1_000_000, "post_tokens": 1000}});
    // A tenth of a dollar from the cache, a cent for the summary.
    assert_eq!(Run::of(&[init, compacted]).transcript.spent().micros(), 110_000);
}

#[test]
fn standard_error_speaks_where_nothing_else_does() {
    let run = |events: &[Value], code| {
        let mut run = Run::of(events);
        for line in ["(warning)", "", "error: unknown option '--nonsense'"] {
            run.parser.stderr(line, &mut run.transcript);
        }
        run.ended(&Ended::Exited { code })
    };
    let transcript = run(&[], 1);
    assert_eq!(transcript.faults[0].to_string(), "failed: (warning) · error: unknown option '--nonsense'");
    assert_eq!(kinds(&run(&[said("Done.")], 1)), [FaultKind::CutStream]);
    assert_eq!(kinds(&run(&[], 0)), [FaultKind::CutStream]);
}

#[test]
fn a_login_that_is_missed_at_the_start_is_a_trouble() {
    let mut run = Run::of(&[]);
    run.parser.stderr("Invalid API key · Please run /login", &mut run.transcript);
    let trouble = run.ended(&Ended::Exited { code: 1 }).trouble.unwrap();
    assert_eq!(trouble.kind, TroubleKind::Authentication);
    assert!(trouble.advice.is_some());
}

#[test]
fn little_is_remembered_of_standard_error() {
    let mut run = Run::of(&[]);
    for _ in 0..100 {
        run.parser.stderr(&"é".repeat(10_000), &mut run.transcript);
    }
    assert_eq!(run.parser.stderr.len(), MAX_STDERR);
    assert!(run.parser.stderr.iter().all(|line| line.len() <= words::MAX));
}

#[test]
fn events_of_other_shapes_say_nothing() {
    let shapes = [json!(null), json!(7), json!("text"), json!([]), json!({}), json!([null, {"type": 3}])];
    for kind in ["assistant", "user", "system", "stream_event", "rate_limit_event", "tomorrow"] {
        for key in ["message", "event", "subtype", "rate_limit_info", "tool_result_meta"] {
            for shape in &shapes {
                let transcript = Run::of(&[with(json!({"type": kind}), key, shape.clone())]).ended(&DONE);
                assert_eq!(
                    (transcript.cost, kinds(&transcript)),
                    (Cost::Unknown, vec![FaultKind::CutStream]),
                    "{kind} {key} {shape}"
                );
            }
        }
    }
}

#[test]
fn denied_calls_are_not_remembered_without_end() {
    let mut run = Run::of(&[]);
    for number in 0..1000 {
        run.parser.remember_denied(&number.to_string());
    }
    assert_eq!(run.parser.denied.len(), MAX_DENIED);
}
