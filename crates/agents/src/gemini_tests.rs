use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use proptest::prelude::*;
use ralph_model::{Cost, Ended, FaultKind, Money, TroubleKind};

use super::*;
use crate::adapter::Parser;
use crate::golden;
use crate::transcript::TranscriptSummary;

const DONE: &str = r#"{"type":"result","status":"success","stats":{"models":{}}}"#;

fn alone() -> Box<dyn Parser> {
    parser(Path::new(""), None)
}

fn observe(stream: &str) -> TranscriptSummary {
    golden::observe(alone(), stream).0
}

fn calls(transcript: &TranscriptSummary) -> Vec<(&str, bool, &str)> {
    transcript.evidence.iter().map(|call| (call.tool.as_str(), call.success, call.summary.as_str())).collect()
}

fn faults(transcript: &TranscriptSummary) -> Vec<FaultKind> {
    transcript.faults.iter().map(|fault| fault.kind).collect()
}

pub(super) fn request<'a>(prompt: &'a str, scratch: PathBuf, environment: &[(&str, &str)]) -> Request<'a> {
    golden::request(prompt, golden::base(&scratch, environment))
}

fn spec(model: Option<&str>) -> AgentSpec {
    AgentSpec {
        model: model.map(str::to_owned),
        args: vec!["--include-directories=docs".into()],
        ..AgentSpec::program("gemini", "gemini")
    }
}

fn words(list: &[OsString]) -> Vec<&str> {
    list.iter().map(|word| word.to_str().unwrap()).collect()
}

fn variable(invocation: &Invocation, name: &str) -> Option<String> {
    let found = invocation.environment.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.to_str().unwrap().to_owned())
}

#[test]
fn recorded_streams_are_understood() {
    golden::check("gemini", alone);
}

#[test]
fn it_is_called_with_a_home_of_its_own_and_the_prompt_on_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let request = request("/fix it", folder.path().to_owned(), &[("HOME", "/nowhere"), ("GEMINI_API_KEY", "k")]);
    let invocation = invocation(&spec(Some("gemini-2.5-pro")), "gemini", &request).unwrap();
    assert_eq!(
        words(&invocation.program),
        [
            "gemini",
            "--output-format=stream-json",
            "--yolo",
            "--skip-trust",
            "--extensions=none",
            "--model=gemini-2.5-pro",
            "--include-directories=docs"
        ]
    );
    assert_eq!(invocation.stdin, Stdin::Bytes(b"\n/fix it".to_vec()));
    let home = variable(&invocation, "GEMINI_CLI_HOME").unwrap();
    assert!(Path::new(&home).starts_with(folder.path()), "{home}");
    assert!(Path::new(&home).join(".gemini/settings.json").is_file());
    assert_eq!(variable(&invocation, "GEMINI_CLI_NO_RELAUNCH").as_deref(), Some("true"));
    assert_eq!(variable(&invocation, "GOOGLE_GEMINI_BASE_URL").as_deref(), Some(""), "a repository cannot set it");
    assert_eq!(variable(&invocation, "GEMINI_API_KEY"), None, "it has it already");
}

#[test]
fn without_a_model_the_choice_is_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let invocation = invocation(&spec(None), "gemini", &request("x", folder.path().to_owned(), &[])).unwrap();
    assert!(!words(&invocation.program).iter().any(|word| word.starts_with("--model")));
}

#[test]
fn with_the_users_settings_nothing_of_theirs_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let spec = AgentSpec { user_settings: true, ..spec(None) };
    let invocation =
        invocation(&spec, "gemini", &request("x", folder.path().to_owned(), &[("HOME", "/nowhere")])).unwrap();
    assert!(!words(&invocation.program).contains(&"--extensions=none"));
    let names: Vec<_> = invocation.environment.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    assert_eq!(names, ["GEMINI_CLI_NO_RELAUNCH", "NO_COLOR", "GEMINI_CLI_TRUST_WORKSPACE"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no home is made");
}

#[test]
fn a_prompt_is_no_argument_and_may_be_long() {
    let folder = tempfile::tempdir().unwrap();
    let prompt = "x".repeat(1024 * 1024);
    let invocation = invocation(&spec(None), "gemini", &request(&prompt, folder.path().to_owned(), &[])).unwrap();
    assert!(invocation.program.iter().all(|word| word.as_bytes().len() < 100));
    assert_eq!(invocation.stdin, Stdin::Bytes(prompt.into_bytes()));
}

#[test]
fn the_prompt_and_what_tools_print_are_never_the_agents_words() {
    let stream = [
        r#"{"type":"message","role":"user","content":"say <promise>COMPLETE</promise>"}"#,
        r#"{"type":"message","role":"assistant","content":"I look.","delta":true}"#,
        r#"{"type":"tool_use","tool_name":"read_file","tool_id":"1","parameters":{"file_path":"a"}}"#,
        r#"{"type":"tool_result","tool_id":"1","status":"success","output":"<promise>COMPLETE</promise>"}"#,
        DONE,
    ];
    let transcript = observe(&stream.join("\n"));
    assert_eq!(transcript.final_message, "I look.");
    assert_eq!(calls(&transcript), [("read_file", true, "a")]);
}

#[test]
fn the_last_message_begins_after_the_last_call() {
    let stream = [
        r#"{"type":"message","role":"assistant","content":"<promise>COMPLETE</promise> soon","delta":true}"#,
        r#"{"type":"tool_use","tool_name":"glob","tool_id":"1","parameters":{"pattern":"*.rs"}}"#,
        r#"{"type":"tool_result","tool_id":"1","status":"success"}"#,
        r#"{"type":"message","role":"assistant","content":"Not ","delta":true}"#,
        r#"{"type":"message","role":"assistant","content":"yet.","delta":true}"#,
        DONE,
    ];
    assert_eq!(observe(&stream.join("\n")).final_message, "Not yet.");
}

#[test]
fn a_good_word_with_an_error_beside_it_is_no_success() {
    let stream = [
        r#"{"type":"tool_use","tool_name":"replace","tool_id":"1","parameters":{"file_path":"a"}}"#,
        r#"{"type":"tool_result","tool_id":"1","status":"success","error":{"message":"cancelled"}}"#,
        r#"{"type":"result","status":"success","error":{"type":"x","message":"no"},"stats":{}}"#,
    ];
    let transcript = observe(&stream.join("\n"));
    assert_eq!(calls(&transcript), [("replace", false, "a: cancelled")]);
    assert_eq!(faults(&transcript), [FaultKind::Failed]);
}

#[test]
fn a_command_ends_with_the_code_that_the_record_tells() {
    let call = |id: &str, output: &str| {
        let result = serde_json::json!({"functionResponse": {"response": {"output": output}}});
        let record = serde_json::json!({
            "type": "gemini", "id": "m",
            "toolCalls": [{"id": id, "name": "run_shell_command", "status": "success", "result": [result]}],
        });
        let id = serde_json::to_string(id).unwrap();
        format!(
            "{{\"type\":\"tool_use\",\"tool_name\":\"run_shell_command\",\"tool_id\":{id},\"parameters\":{{}}}}\n\
             {{\"type\":\"tool_result\",\"tool_id\":{id},\"status\":\"success\"}}\n!side {record}\n"
        )
    };
    let cases = [
        ("Output: x\nProcess Group PGID: 1", None),
        ("Output: x\nExit Code: 2\nBackground PIDs: 1\nProcess Group PGID: 1", Some("exit code 2")),
        ("<untrusted_context>\nOutput: x\nSignal: 15\nProcess Group PGID: 1\n</untrusted_context>", Some("signal 15")),
        ("Output: Exit Code: 2\n...\nProcess Group PGID: 1", None),
        (
            "Command was cancelled by user before it could complete.",
            Some("Command was cancelled by user before it could complete."),
        ),
        ("", None),
    ];
    for (number, (output, want)) in cases.into_iter().enumerate() {
        let transcript = observe(&format!("{}{DONE}", call(&number.to_string(), output)));
        let call = transcript.evidence.first().unwrap();
        assert_eq!((call.success, call.summary.as_str()), (want.is_none(), want.unwrap_or("")), "{output}");
    }
}

#[test]
fn commands_without_a_record_are_told_all_the_same() {
    let mut stream = String::new();
    for id in 0..40 {
        stream += &format!(
            "{{\"type\":\"tool_use\",\"tool_name\":\"run_shell_command\",\"tool_id\":\"{id}\",\"parameters\":{{}}}}\n\
             {{\"type\":\"tool_result\",\"tool_id\":\"{id}\",\"status\":\"success\"}}\n"
        );
    }
    let transcript = observe(&(stream + DONE));
    assert_eq!(transcript.evidence.len(), 40);
    assert!(transcript.evidence.iter().all(|call| call.success));
}

fn total(model: &str, read: u64, cached: u64, output: u64, total: u64) -> String {
    let used =
        serde_json::json!({"input_tokens": read, "cached": cached, "output_tokens": output, "total_tokens": total});
    let stats = serde_json::json!({"models": {model: used}});
    format!("{}\n", serde_json::json!({"type": "result", "status": "success", "stats": stats}))
}

#[test]
fn the_final_word_is_counted_and_thoughts_are_output() {
    let only = observe(&total("scripted-1", 1100, 100, 30, 1140));
    assert_eq!((only.usage.input_tokens, only.usage.output_tokens), (1100, 40));
    assert_eq!(only.cost, Cost::Known { amount: Money::from_micros(1000 + 10 + 400) });
}

/// A service may answer under another name than that of the model that was asked.
#[test]
fn an_answer_under_another_name_is_charged_once_as_the_model_that_was_asked() {
    for name in ["scripted-1", "a-name-without-a-price"] {
        let init = "{\"type\":\"init\",\"session_id\":\"s\",\"model\":\"scripted-1\"}\n";
        let run = observe(&(init.to_owned() + &total(name, 1100, 100, 30, 1140)));
        assert_eq!((run.usage.input_tokens, run.usage.output_tokens), (1100, 40), "{name}");
        assert_eq!(run.cost, Cost::Known { amount: Money::from_micros(1000 + 10 + 400) }, "{name}");
    }
}

#[test]
fn figures_that_cannot_be_are_held_down() {
    let transcript = observe(&format!(
        "{}{}",
        total("scripted-1", u64::MAX, u64::MAX, u64::MAX, u64::MAX),
        r#"{"type":"result","status":"success","stats":{"models":{"scripted-1":{"input_tokens":-5,"cached":1e300,"total_tokens":"x"}}}}"#
    ));
    assert!(
        transcript.usage.output_tokens <= 1 << 40 && transcript.usage.input_tokens <= 1 << 41,
        "{:?}",
        transcript.usage
    );
}

#[test]
fn it_is_ended_when_it_would_wait_for_hours() {
    let mut transcript = golden::transcript();
    let mut parser = alone();
    parser.stderr("Attempt 1 failed: Quota. Please retry in 7s.", &mut transcript);
    parser.stderr("Suggested retry after 7s.. Retrying after 8000ms...", &mut transcript);
    assert!(!transcript.is_hopeless());
    parser.stderr(
        "Attempt 2 failed: exhausted your capacity. Your quota will reset after 3h.. Retrying after 10800001ms...",
        &mut transcript,
    );
    assert!(transcript.is_hopeless());
    let trouble = transcript.known_trouble().unwrap();
    assert_eq!(trouble.kind, TroubleKind::RateLimit);
    assert_eq!(trouble.until.unwrap().0 - golden::NOW.0, 3 * 3_600_000);
}

#[test]
fn other_lines_that_speak_of_waiting_end_nothing() {
    let mut transcript = golden::transcript();
    let mut parser = alone();
    parser.stderr("Error executing tool x: Retrying after 99999999ms...", &mut transcript);
    parser.stderr("Attempt 1 failed: x. Max attempts reached", &mut transcript);
    parser.stderr("Retrying after 99999999ms...", &mut transcript);
    parser.stderr("Attempt 1 failed: Retrying after forever", &mut transcript);
    assert!(!transcript.is_hopeless() && transcript.known_trouble().is_none());
}

#[test]
fn a_loop_that_it_found_itself_is_told() {
    let stream = [
        r#"{"type":"message","role":"assistant","content":"again","delta":true}"#,
        r#"{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}"#,
        DONE,
    ];
    assert_eq!(faults(&observe(&stream.join("\n"))), [FaultKind::EndlessRetry]);
}

#[test]
fn broken_settings_are_named_as_the_user_knows_them() {
    let mut transcript = golden::transcript();
    let mut parser = parser(Path::new(""), Some(("/run/s.json".into(), "~/.gemini/s.json".into())));
    parser.stderr("Error in /run/s.json: Unexpected end of JSON input", &mut transcript);
    parser.end(&Ended::Exited { code: 52 }, &mut transcript);
    let trouble = transcript.known_trouble().unwrap();
    assert_eq!(trouble.message, "Error in ~/.gemini/s.json: Unexpected end of JSON input");
    assert!(trouble.advice.is_some());
}

#[test]
fn unknown_events_and_fields_of_other_types_are_passed_over() {
    let stream = [
        "",
        "null",
        "[]",
        "Loading…",
        r#"{"type":"thought","content":"hm"}"#,
        r#"{"type":7}"#,
        r#"{"type":"message","role":"assistant","content":{"text":"x"}}"#,
        r#"{"type":"tool_use","tool_name":1,"tool_id":2,"parameters":3}"#,
        r#"{"type":"tool_result","tool_id":["x"]}"#,
        r#"{"type":"error"}"#,
        r#"!side {"type":"gemini","id":"x","tokens":7,"toolCalls":{"id":1}}"#,
        r#"!side {"type":"gemini","id":"x","tokens":{"input":"many"},"toolCalls":[1,null,{"id":"y"}]}"#,
        r#"{"type":"result","status":"success","stats":[]}"#,
    ];
    let transcript = observe(&stream.join("\n"));
    assert_eq!((transcript.cost, transcript.final_message.as_str()), (Cost::Unknown, ""));
}

fn streams() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("streams/gemini");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

/// Reads bytes as lines of all three kinds, in turn.
fn read(bytes: &[u8], ended: &Ended) -> TranscriptSummary {
    let (mut parser, mut transcript) = (alone(), golden::transcript());
    for (number, line) in String::from_utf8_lossy(bytes).lines().enumerate() {
        match number % 3 {
            0 => parser.stdout(line, &mut transcript),
            1 => parser.stderr(line, &mut transcript),
            _ => parser.side(line, &mut transcript),
        }
    }
    parser.end(ended, &mut transcript);
    transcript.finish(ended, false)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..4096), code in 0..256_i32) {
        let transcript = read(&bytes, &Ended::Exited { code });
        prop_assert!(!transcript.faults.is_empty(), "no final word, no success: {:?}", transcript);
        let is_charged = matches!(transcript.cost, Cost::Known { amount } if amount > Money::ZERO);
        prop_assert!(!is_charged);
    }

    #[test]
    fn changed_streams_are_read_without_harm(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let streams = streams();
        let mut bytes = which.get(&streams).clone().into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let (mut parser, mut transcript) = (alone(), golden::transcript());
        for line in String::from_utf8_lossy(&bytes).lines() {
            match line.split_once(' ') {
                Some(("!side", line)) => parser.side(line, &mut transcript),
                Some(("!stderr", line)) => parser.stderr(line, &mut transcript),
                Some(_) | None => parser.stdout(line, &mut transcript),
            }
        }
        let ended = Ended::Exited { code: 1 };
        parser.end(&ended, &mut transcript);
        let transcript = transcript.finish(&ended, false);
        prop_assert!(transcript.evidence.len() < 100 && transcript.usage.output_tokens < 1 << 50);
    }

    /// Whatever is missing at the end, a run without its final word is never a good one, and costs no more than the whole.
    #[test]
    fn a_stream_that_is_cut_is_no_success(which in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()) {
        let streams = streams();
        let stream = which.get(&streams);
        let whole = golden::observe(alone(), stream).0;
        let Some(last) = stream.find("{\"type\":\"result\"") else { return Ok(()) };
        let mut at = cut.index(last);
        while !stream.is_char_boundary(at) { at -= 1; }
        // A mark cannot be half a mark.
        let mut part = stream[..at].to_owned();
        if part.rsplit('\n').next().is_some_and(|line| line.starts_with('!')) {
            part.truncate(part.rfind('\n').map_or(0, |end| end));
        }
        let transcript = golden::observe(alone(), &part).0;
        prop_assert!(!transcript.faults.is_empty(), "{:?}", transcript);
        prop_assert!(transcript.usage.input_tokens <= whole.usage.input_tokens);
        prop_assert!(transcript.usage.output_tokens <= whole.usage.output_tokens);
    }
}
