use ralph_model::Money;

use super::*;
use crate::golden;

const DONE: Ended = Ended::Exited { code: 0 };

impl Transcript {
    pub(crate) fn into_meter(self) -> crate::meter::Meter {
        self.spending.meter
    }
}

fn faults(transcript: &TranscriptSummary) -> Vec<FaultKind> {
    transcript.faults.iter().map(|fault| fault.kind).collect()
}

fn trouble(kind: TroubleKind) -> Trouble {
    Trouble { kind, until: None, message: "no".into(), advice: None }
}

#[test]
fn calls_become_evidence_in_the_order_in_which_they_ended() {
    let mut transcript = golden::transcript();
    transcript.call("1", "Bash", "npm test");
    transcript.call("2", "Write", "a.txt");
    transcript.call_ended("2", "", CallEnd::Done);
    transcript.call_ended("1", "", CallEnd::Failed("exit code 1\nmore".into()));
    transcript.call_ended("3", "Read", CallEnd::Done);
    transcript.call("4", "Verify", "x");
    transcript.terminal(Terminal::Completed);
    let transcript = transcript.finish(&DONE, false);
    let lines: Vec<(&str, bool, &str)> =
        transcript.evidence.iter().map(|e| (e.tool.as_str(), e.success, e.summary.as_str())).collect();
    assert_eq!(
        lines,
        [
            ("Write", true, "a.txt"),
            ("Bash", false, "npm test: exit code 1 more"),
            ("Read", true, ""),
            ("agent's Verify", false, "no result was seen: x"),
        ]
    );
    assert_eq!(transcript.faults, []);
}

#[test]
fn what_is_wrong_with_a_run_is_told_apart() {
    let mut empty = golden::transcript();
    empty.terminal(Terminal::Completed);
    assert_eq!(faults(&empty.finish(&DONE, false)), [FaultKind::EmptyAnswer]);

    let mut cut = golden::transcript();
    cut.message("I will");
    assert_eq!(faults(&cut.finish(&DONE, false)), [FaultKind::CutStream]);

    let hung = golden::transcript();
    let idle = Ended::Idle { after: ralph_model::Millis::secs(1) };
    assert_eq!(faults(&hung.finish(&idle, false)), [FaultKind::Hang]);

    let mut denied = golden::transcript();
    denied.call("1", "Write", "a.txt");
    denied.call_ended("1", "", CallEnd::Denied("ask first".into()));
    denied.terminal(Terminal::Completed);
    let denied = denied.finish(&DONE, false);
    assert_eq!(faults(&denied), [FaultKind::Denied]);
    assert_eq!(denied.faults[0].to_string(), "permission denied: Write: a.txt: ask first");

    let mut retrying = golden::transcript();
    for _ in 0..MAX_RETRIES {
        assert!(!retrying.is_hopeless());
        retrying.retries("500");
    }
    assert!(retrying.is_hopeless());
    assert_eq!(faults(&retrying.finish(&Ended::Hopeless, false)), [FaultKind::EndlessRetry]);

    let mut limited = golden::transcript();
    limited.trouble(trouble(TroubleKind::RateLimit));
    limited.terminal(Terminal::Failed("429".into()));
    let limited = limited.finish(&Ended::Exited { code: 1 }, false);
    assert_eq!(faults(&limited), [FaultKind::Service]);
    assert_eq!(limited.cost, Cost::Known { amount: Money::ZERO }, "nothing was sold");

    let mut turns = golden::transcript();
    turns.message("x");
    turns.terminal(Terminal::TurnLimit);
    assert_eq!(faults(&turns.finish(&DONE, false)), [FaultKind::TurnLimit]);

    let stopped = golden::transcript();
    assert_eq!(stopped.finish(&Ended::Stopped, false).faults, []);
}

#[test]
fn an_answer_in_between_makes_retries_count_anew() {
    let mut transcript = golden::transcript();
    for _ in 0..10 {
        for _ in 0..MAX_RETRIES - 1 {
            transcript.retries("500");
        }
        transcript.words("ok");
    }
    assert!(!transcript.is_hopeless());
}

#[test]
fn a_retry_and_its_reason_are_one_event() {
    let mut transcript = golden::transcript();
    for number in 1..=3 {
        let message = format!("Reconnecting... {number}/5 (rate limit)");
        transcript.retries(&message);
        transcript.trouble(Trouble { message, ..trouble(TroubleKind::RateLimit) });
    }
    let kinds: Vec<&str> = transcript
        .take_events()
        .iter()
        .map(|event| match event {
            AgentEvent::Limit { .. } => "limit",
            AgentEvent::Retry { .. } => "retry",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["limit", "retry", "retry"]);
}

#[test]
fn a_trouble_that_needs_a_person_stays() {
    let mut transcript = golden::transcript();
    transcript.trouble(trouble(TroubleKind::RateLimit));
    transcript.trouble(trouble(TroubleKind::Authentication));
    transcript.trouble(trouble(TroubleKind::Overload));
    assert_eq!(transcript.known_trouble().unwrap().kind, TroubleKind::Authentication);
    let mut named = golden::transcript();
    named.trouble(Trouble { until: Some(golden::NOW), ..trouble(TroubleKind::RateLimit) });
    named.trouble(trouble(TroubleKind::RateLimit));
    assert_eq!(named.known_trouble().unwrap().until, Some(golden::NOW), "a named time is not forgotten");
    named.recovered();
    assert!(named.known_trouble().is_none());
}

#[test]
fn a_choice_of_the_programs_own_is_no_model_to_price() {
    let advice = |model: &str| {
        let mut transcript = golden::transcript();
        transcript.has_no_price(model);
        transcript.known_trouble().unwrap().advice.clone().unwrap()
    };
    assert!(advice("mystery-1").contains("[prices.\"mystery-1\"]"));
    for choice in ["auto", "default", "Auto"] {
        let advice = advice(choice);
        assert!(advice.contains("--agent NAME:MODEL") && !advice.contains("[prices."), "{advice}");
    }
}

#[test]
fn memory_is_bounded() {
    let mut transcript = golden::transcript();
    for number in 0..5000 {
        transcript.call(&number.to_string(), "Bash", "x");
        if number % 2 == 0 {
            transcript.call_ended(&number.to_string(), "", CallEnd::Done);
        }
        transcript.fault(FaultKind::Denied, &number.to_string());
        transcript.take_events();
    }
    transcript.message(&"é".repeat(MAX_MESSAGE));
    transcript.terminal(Terminal::Completed);
    let transcript = transcript.finish(&DONE, false);
    assert_eq!(transcript.evidence.len(), calls::MAX_CALLS + 1);
    assert!(transcript.evidence.last().unwrap().summary.starts_with("4500 more calls, "));
    assert_eq!(transcript.faults.len(), health::MAX_FAULTS);
    assert!(transcript.final_message.len() <= MAX_MESSAGE);
}

#[test]
fn whatever_is_shown_is_inert() {
    let mut transcript = golden::transcript();
    transcript.words("\u{1b}[31mred");
    transcript.call("1", "Ba\u{1b}[2Jsh", "a\u{7}b");
    transcript.message("\u{1b}]0;title\u{7}done");
    transcript.call_ended("1", "", CallEnd::Failed("\u{1b}[0m".into()));
    for event in transcript.take_events() {
        let text = format!("{event:?}");
        assert!(!text.contains("\\u{1b}") && !text.contains("\\u{7}"), "{text}");
    }
    let transcript = transcript.finish(&DONE, false);
    assert!(!format!("{transcript:?}").contains("\\u{1b}"));
}

#[test]
fn a_long_id_is_known_again() {
    let (mut transcript, id) = (golden::transcript(), "x".repeat(500));
    transcript.call(&id, "Bash", "a");
    transcript.call(&id, "Bash", "ab");
    transcript.call_ended(&id, "", CallEnd::Done);
    transcript.terminal(Terminal::Completed);
    let transcript = transcript.finish(&DONE, false);
    assert_eq!(transcript.evidence, [ToolEvidence::ok("Bash", "ab")]);
}

#[test]
fn a_sandbox_is_blamed_only_where_there_is_one() {
    let run = |mut transcript: Transcript| {
        transcript.call_ended("1", "Bash", CallEnd::Failed("exit code 1:\n sh: /etc/x: Permission denied".into()));
        transcript.terminal(Terminal::Completed);
        transcript.finish(&DONE, false).faults
    };
    assert_eq!(run(golden::transcript()), []);
    let detail = "sh: /etc/x: Permission denied".to_owned();
    assert_eq!(run(golden::transcript().confined(true)), [Fault { kind: FaultKind::SandboxRefused, detail }]);
}

#[test]
fn a_call_is_an_event_when_it_begins_and_when_it_ends() {
    let mut transcript = golden::transcript();
    transcript.call("1", "Bash", "npm test");
    transcript.call_ended("1", "", CallEnd::Failed("exit code 1".into()));
    transcript.call_ended("2", "Edit", CallEnd::Done);
    let started = |id: &str, tool: &str, summary: &str| AgentEvent::ToolStarted {
        id: id.into(),
        tool: tool.into(),
        summary: summary.into(),
    };
    let finished = |id: &str, tool: &str, success, summary: &str| AgentEvent::ToolFinished {
        id: id.into(),
        tool: tool.into(),
        success,
        summary: summary.into(),
    };
    assert_eq!(
        transcript.take_events(),
        [
            started("1", "Bash", "npm test"),
            finished("1", "Bash", false, "npm test: exit code 1"),
            finished("2", "Edit", true, ""),
        ]
    );
}

#[test]
fn usage_is_an_event_only_when_it_grew() {
    let mut transcript = golden::transcript();
    assert_eq!(transcript.take_usage(), None);
    let tokens = Tokens { input: 1_000_000, output: 5, ..Tokens::default() };
    transcript.request("1", Some("scripted-1"), tokens);
    let cost = Money::from_micros(1_000_050);
    assert_eq!(transcript.take_usage(), Some(AgentEvent::Usage { input_tokens: 1_000_000, output_tokens: 5, cost }));
    transcript.request("1", Some("scripted-1"), tokens);
    assert_eq!(transcript.take_usage(), None);
}
