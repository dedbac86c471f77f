use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use ralph_model::{AgentEvent, Cost, Ended, FaultKind, Millis, Money, TroubleKind};
use serde_json::{Value, json};

use super::*;
use crate::golden;
use crate::transcript::{Transcript, TranscriptSummary};

#[test]
fn recorded_streams_are_understood() {
    golden::check("opencode", || parser(Some("scripted/scripted-1".into())));
}

#[test]
fn a_message_of_several_parts_is_shown_part_by_part_and_kept_whole() {
    let mut run = Run::new();
    run.says("m1", "First.").says("m1", "Second.").says("m1", " ").says("m1", "Third.").says("m2", "Other.");
    let shown = run.transcript.take_events().into_iter().filter_map(|event| match event {
        AgentEvent::Message { text } => Some(text),
        _ => None,
    });
    assert_eq!(shown.collect::<Vec<_>>(), ["First.", "Second.", "Third.", "Other."]);
    let mut run = Run::new();
    run.says("m1", "First.").says("m1", "Second.");
    assert_eq!(run.transcript.finish(&DONE, false).final_message, "First.\nSecond.");
}

const DONE: Ended = Ended::Exited { code: 0 };

/// A run that is told step by step.
struct Run {
    reader: Box<dyn Parser>,
    transcript: Transcript,
}

impl Run {
    fn new() -> Self {
        Self::of("scripted-1")
    }

    fn of(model: &str) -> Self {
        Self { reader: parser(Some(format!("p/{model}"))), transcript: golden::transcript() }
    }

    fn event(&mut self, kind: &str, part: &Value) -> &mut Self {
        let event = json!({"type": kind, "timestamp": 1, "sessionID": "ses_1", "part": part});
        self.reader.stdout(&event.to_string(), &mut self.transcript);
        self
    }

    fn error(&mut self, error: &Value) -> &mut Self {
        let event = json!({"type": "error", "sessionID": "ses_1", "error": error});
        self.reader.stdout(&event.to_string(), &mut self.transcript);
        self
    }

    /// The answer to a message begins.
    fn asks(&mut self, message: &str) -> &mut Self {
        self.event("step_start", &json!({"messageID": message}))
    }

    fn refused(&mut self, words: &str) -> &mut Self {
        let line = format!("timestamp=1 level=ERROR message=\"stream error\" error.error=\"AI_APICallError: {words}\"");
        self.reader.stderr(&line, &mut self.transcript);
        self
    }

    fn says(&mut self, message: &str, text: &str) -> &mut Self {
        self.event("text", &json!({"messageID": message, "type": "text", "text": text}))
    }

    fn calls(&mut self, state: &Value) -> &mut Self {
        self.event("tool_use", &json!({"tool": "bash", "callID": "c", "messageID": "m", "state": state}))
    }

    fn finishes(&mut self, message: &str, reason: &str, input: u64, cost: f64) -> &mut Self {
        let tokens = json!({"input": input, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}});
        let id = format!("{message}-finish");
        let part = json!({"id": id, "messageID": message, "reason": reason, "tokens": tokens, "cost": cost});
        self.event("step_finish", &part)
    }

    fn is_hopeless(&self) -> bool {
        self.transcript.is_hopeless()
    }

    fn ends(mut self, ended: &Ended) -> TranscriptSummary {
        self.reader.look(&mut self.transcript);
        self.reader.end(ended, &mut self.transcript);
        self.transcript.finish(ended, false)
    }
}

fn faults(transcript: &TranscriptSummary) -> Vec<FaultKind> {
    transcript.faults.iter().map(|fault| fault.kind).collect()
}

fn known(micros: i64) -> Cost {
    Cost::Known { amount: Money::from_micros(micros) }
}

#[test]
fn an_answer_that_needs_no_other_is_the_end() {
    for (reason, tokens, kinds) in [
        ("stop", 10, vec![]),
        ("stop", 0, vec![]),
        ("other", 10, vec![]),
        ("other", 0, vec![FaultKind::CutStream]),
        ("unknown", 10, vec![FaultKind::CutStream]),
        ("tool-calls", 10, vec![FaultKind::CutStream]),
        ("length", 10, vec![FaultKind::Failed]),
        ("", 10, vec![FaultKind::CutStream]),
    ] {
        let mut run = Run::new();
        run.asks("m1").says("m1", "Partly").finishes("m1", reason, tokens, 0.0);
        assert_eq!(faults(&run.ends(&DONE)), kinds, "{reason} with {tokens} tokens");
    }
}

#[test]
fn an_answer_before_a_signal_is_no_end() {
    let mut run = Run::new();
    run.says("m1", "All done").finishes("m1", "stop", 10, 0.0);
    assert_eq!(faults(&run.ends(&Ended::Signalled { signal: 9 })), [FaultKind::CutStream]);
}

#[test]
fn an_answer_after_a_refused_one_ends_the_trouble() {
    let mut run = Run::new();
    run.asks("m1").refused("Overloaded");
    assert_eq!(run.transcript.known_trouble().unwrap().kind, TroubleKind::Overload);
    run.asks("m1").says("m1", "Here").finishes("m1", "stop", 10, 0.0);
    let transcript = run.ends(&DONE);
    assert_eq!((faults(&transcript), transcript.trouble), (vec![], None));
}

#[test]
fn own_prices_count_where_every_request_has_one() {
    let mut priced = Run::new();
    priced.asks("m1").finishes("m1", "tool-calls", 100, 0.000_3);
    priced.asks("m2").finishes("m2", "stop", 100, 0.000_4);
    assert_eq!(priced.ends(&DONE).cost, known(700));

    let mut one_without = Run::new();
    one_without.asks("m1").finishes("m1", "tool-calls", 100, 0.000_3);
    one_without.asks("m2").finishes("m2", "stop", 100, 0.0);
    assert_eq!(one_without.ends(&DONE).cost, known(200), "the price table decides");

    let mut nowhere = Run::of("mystery");
    nowhere.asks("m1").says("m1", "x").finishes("m1", "stop", 100, 0.0);
    let transcript = nowhere.ends(&DONE);
    assert_eq!((transcript.cost, transcript.unpriced), (Cost::Unknown, vec!["p/mystery".to_owned()]));

    let mut uncounted = Run::new();
    uncounted.asks("m1").says("m1", "x").finishes("m1", "stop", 0, 0.0);
    assert_eq!(uncounted.ends(&DONE).cost, Cost::Unknown, "no tokens are not no money");

    let mut absurd = Run::new();
    absurd.asks("m1").finishes("m1", "stop", 100, -5.0);
    assert_eq!(absurd.ends(&DONE).cost, known(100));
}

#[test]
fn words_in_the_users_place_are_not_the_agents_and_the_work_goes_on_after_a_summary() {
    let mut run = Run::new();
    run.asks("m1").says("m1", "Working.").finishes("m1", "tool-calls", 10, 0.0);
    run.asks("m2").says("m2", "A summary.").finishes("m2", "stop", 10, 0.0);
    let synthetic = json!({"messageID": "m3", "type": "text", "synthetic": true, "text": "Continue"});
    run.event("text", &synthetic);
    let transcript = run.ends(&DONE);
    assert_eq!(transcript.final_message, "A summary.");
    assert_eq!(faults(&transcript), [FaultKind::CutStream], "work was to go on after the summary");
}

#[test]
fn texts_of_one_message_belong_together() {
    let mut run = Run::new();
    run.says("m1", "Old.").says("m2", "First.").says("m2", "Second.").finishes("m2", "stop", 10, 0.0);
    assert_eq!(run.ends(&DONE).final_message, "First.\nSecond.");
}

#[test]
fn a_context_that_stays_too_long_is_hopeless() {
    let overflow = json!({"name": "ContextOverflowError", "data": {"message": "prompt is too long"}});
    let mut run = Run::new();
    for round in 0..3 {
        assert!(!run.is_hopeless(), "{round}");
        run.refused("prompt is too long").error(&overflow);
        run.asks(&format!("s{round}")).finishes(&format!("s{round}"), "stop", 10, 0.0);
    }
    assert!(run.is_hopeless());
    let transcript = run.ends(&Ended::Hopeless);
    assert_eq!(faults(&transcript), [FaultKind::EndlessRetry, FaultKind::Service]);
    assert_eq!(transcript.trouble.unwrap().kind, TroubleKind::ContextOverflow);

    let mut works = Run::new();
    for _ in 0..3 {
        works.error(&overflow).error(&overflow).calls(&json!({"status": "completed"}));
    }
    assert!(!works.is_hopeless(), "summaries helped");
}

#[test]
fn answers_that_break_off_again_and_again_are_hopeless() {
    let mut run = Run::new();
    for round in 0..5 {
        assert!(!run.is_hopeless(), "{round}");
        run.says("m", "I have begun").finishes("m", "unknown", 0, 0.0);
    }
    assert!(run.is_hopeless());
    let transcript = run.ends(&Ended::Hopeless);
    assert_eq!(faults(&transcript), [FaultKind::EndlessRetry, FaultKind::Service]);
    assert_eq!((transcript.trouble.unwrap().kind, transcript.cost), (TroubleKind::Overload, Cost::Unknown));

    let mut works = Run::new();
    for _ in 0..20 {
        works.calls(&json!({"status": "completed"})).finishes("m", "unknown", 0, 0.0);
    }
    assert!(!works.is_hopeless(), "a server that gives no reasons, and an agent that works");
}

#[test]
fn four_broken_answers_to_one_request_are_enough_even_without_a_log() {
    let mut run = Run::new();
    for round in 0..5 {
        assert!(!run.is_hopeless(), "{round}");
        run.event("step_start", &json!({"messageID": "m1"}));
    }
    assert!(run.is_hopeless());
    assert_eq!(run.ends(&Ended::Hopeless).trouble.unwrap().kind, TroubleKind::Overload);
    let mut another = Run::new();
    for round in 0..50 {
        another.event("step_start", &json!({"messageID": format!("m{round}")}));
    }
    assert!(!another.is_hopeless(), "each began once");
}

#[test]
fn a_named_time_is_kept() {
    for (headers, seconds) in [
        (json!({"retry-after": "120"}), 120),
        (json!({"retry-after-ms": "1500", "retry-after": "2"}), 2),
        (json!({"anthropic-ratelimit-unified-reset": "1794744060"}), 60),
    ] {
        let mut run = Run::new();
        let data = json!({"message": "Rate limit", "statusCode": 429, "responseHeaders": headers});
        run.error(&json!({"name": "APIError", "data": data}));
        let until = run.ends(&Ended::Exited { code: 1 }).trouble.unwrap().until.unwrap();
        assert_eq!(until.since(golden::NOW).0.div_ceil(1000), seconds, "{data}");
    }
}

#[test]
fn troubles_that_a_person_can_end_come_with_advice() {
    let mut login = Run::new();
    login.error(&json!({"name": "ProviderAuthError", "data": {"providerID": "p", "message": "no key"}}));
    let trouble = login.ends(&Ended::Exited { code: 1 }).trouble.unwrap();
    assert_eq!(trouble.kind, TroubleKind::Authentication);
    assert!(trouble.advice.unwrap().contains("opencode auth login"));

    let mut model = Run::new();
    model.reader.stderr(
        "timestamp=1 level=ERROR message=failed ref=e error=\"ProviderModelNotFoundError: Model not found: a/b.\"",
        &mut model.transcript,
    );
    model.error(&json!({"name": "UnknownError", "data": {"message": "Unexpected server error."}}));
    let trouble = model.ends(&Ended::Exited { code: 1 }).trouble.unwrap();
    assert_eq!(trouble.kind, TroubleKind::ModelNotFound);
    assert_eq!(trouble.message, "ProviderModelNotFoundError: Model not found: a/b.");
    assert!(trouble.advice.unwrap().contains("opencode models"));
}

#[test]
fn a_program_that_only_complains_failed() {
    let mut run = Run::new();
    run.reader.stderr("Error: something is off", &mut run.transcript);
    let transcript = run.ends(&Ended::Exited { code: 1 });
    assert_eq!(transcript.faults[0].to_string(), "failed: Error: something is off");
    assert_eq!(transcript.cost, Cost::Known { amount: Money::ZERO });
}

#[test]
fn memory_is_bounded() {
    let mut run = Run::new();
    for round in 0..2000 {
        run.asks(&format!("m{round}"));
        run.says("same", &"x".repeat(1000));
        run.reader.stderr(&"y".repeat(5000), &mut run.transcript);
        run.finishes(&format!("other{round}"), "tool-calls", 1, 0.0);
        run.transcript.take_events();
    }
    let mut shown = String::new();
    write!(shown, "{:?}", run.ends(&DONE)).unwrap();
    assert!(shown.len() < 100_000, "{}", shown.len());
}

fn streams() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("streams/opencode");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

/// What came of lines, each of which is standard output or, after `!stderr `, standard error; any other mark is skipped.
fn read(lines: &str, ended: &Ended) -> TranscriptSummary {
    let mut run = Run::new();
    for line in lines.lines() {
        match line.strip_prefix("!stderr ") {
            Some(line) => run.reader.stderr(line, &mut run.transcript),
            None if line.starts_with('!') => {}
            None => run.reader.stdout(line, &mut run.transcript),
        }
    }
    run.ends(ended)
}

fn says_done(lines: &str) -> bool {
    lines.contains(r#""reason":"stop""#) || lines.contains(r#""reason":"other""#)
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_no_success_and_cost_nothing_known(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let text = String::from_utf8_lossy(&bytes);
        let transcript = read(&text, &DONE);
        prop_assert!(transcript.faults.iter().any(|fault| fault.kind != FaultKind::SandboxRefused));
        prop_assert_eq!(transcript.cost, Cost::Unknown);
        prop_assert!(transcript.evidence.is_empty());
    }

    #[test]
    fn a_stream_that_is_cut_anywhere_says_no_more_than_the_whole(which in any::<proptest::sample::Index>(), at in any::<proptest::sample::Index>()) {
        let streams = streams();
        let whole = which.get(&streams);
        let end = (0..=at.index(whole.len())).rev().find(|end| whole.is_char_boundary(*end)).unwrap_or(0);
        let cut = &whole[..end];
        let transcript = read(cut, &DONE);
        if !says_done(cut) {
            prop_assert!(!transcript.faults.is_empty(), "{:?}", transcript);
        }
        if let Cost::Known { amount } = transcript.cost {
            let full = read(whole, &DONE).cost;
            // An answer that broke off before anybody counted it is charged as one of a usual size.
            let most = full.charge(Money::ZERO) + Money::from_micros(60_000);
            prop_assert!(full == Cost::Unknown || amount <= most, "{:?} of {:?}", amount, full);
        }
        // Whatever it was, a signal in the middle is never success.
        let killed = read(cut, &Ended::Signalled { signal: 9 });
        prop_assert!(!killed.faults.is_empty());
    }

    #[test]
    fn lines_in_any_order_never_panic(which in any::<proptest::sample::Index>(), seed in proptest::collection::vec(any::<proptest::sample::Index>(), 1..60)) {
        let streams = streams();
        let lines: Vec<&str> = which.get(&streams).lines().collect();
        let mixed: Vec<&str> = seed.iter().map(|index| *index.get(&lines)).collect();
        let transcript = read(&mixed.join("\n"), &Ended::Idle { after: Millis::minutes(1) });
        prop_assert!(transcript.evidence.len() <= 60);
    }
}
