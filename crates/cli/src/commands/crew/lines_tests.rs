use ralph_crew::{CallId, Question};
use ralph_model::{Delegation, Domain};

use super::*;
use crate::style::{Colours, Look};

fn question(text: &str, is_approval: bool) -> Question {
    let why = if is_approval { "The team asked to be told." } else { "" };
    Question {
        call: CallId(7),
        agent: "caio".into(),
        text: text.into(),
        why: why.into(),
        options: Vec::new(),
        is_approval,
    }
}

fn done(agent: &str, tool: &str, success: bool, summary: &str) -> StreamEvent {
    let [agent, tool, summary] = [agent, tool, summary].map(str::to_owned);
    StreamEvent::ToolResult { agent, tool, success, summary, result: None }
}

fn events() -> Vec<StreamEvent> {
    let objective = "Add a limit of ten requests a second to each route of the API, answer 429 with the time to wait, \
                     and test both with the clock of the tests.\n\nThen a page of details that nobody reads on a screen.";
    let delegation = Delegation { target: "devo".into(), ..Delegation::new("", Domain::Development, objective) };
    vec![
        StreamEvent::AgentSwitch { agent: "chapo".into() },
        StreamEvent::Delegation { delegation: Box::new(delegation) },
        done("devo", "fs_readFile", true, "src/routes/limits.rs, 120 lines"),
        done(
            "devo",
            "bash_execute",
            false,
            "cargo test --workspace limits::answers_429_with_the_time_to_wait (exit code 101, 2 tests failing)\nrunning 2 tests",
        ),
        done("devo", "fs_mkdir", true, ""),
        StreamEvent::AgentComplete { agent: "devo".into(), status: Status::Partial },
        StreamEvent::AgentComplete { agent: "scout".into(), status: Status::Success },
        StreamEvent::Question {
            question: question("Which of the two limits does the team want, by user or by address?", false),
        },
        StreamEvent::Approval { question: question("send_email to team@example.org", true) },
        StreamEvent::Warning {
            text: "the model anthropic:claude-sonnet-5-5 was refused three times, odd\u{1b}[2J".into(),
        },
        StreamEvent::Answer { answer: "done".into(), doubts: Vec::new() },
    ]
}

fn shown(columns: Option<usize>, colours: Colours) -> Vec<String> {
    let mut page = Page::default();
    events().iter().for_each(|told| add(&mut page, told));
    page.lines(Look { colours, columns })
}

#[test]
fn a_crew_at_three_widths() {
    for width in [60, 80, 120] {
        let lines = shown(Some(width), Colours::Off);
        let widest = lines.iter().map(|line| crate::style::columns(line)).max();
        assert!(widest <= Some(width), "{lines:#?}");
    }
    insta::assert_snapshot!(shown(Some(60), Colours::Off).join("\n"), @"
    → DEVO: Add a limit of ten requests a second to each route
      of the API, answer 429 with the time to wait, and test
      both with the clock of the tests. Then a page of…
      ✓ devo fs_readFile: src/routes/limits.rs, 120 lines
      ✗ devo bash_execute: cargo test --workspace
        limits::answers_429_with_the_time_to_wait (exit code
        101, 2 tests failing) running 2 tests
      ✓ devo fs_mkdir
    ← DEVO: partial
    ← SCOUT: success
    ? CAIO: Which of the two limits does the team want, by user
      or by address?
    ! CAIO wants to: send_email to team@example.org
    warning: the model anthropic:claude-sonnet-5-5 was refused
      three times, odd␛[2J
    ");
    insta::assert_snapshot!(shown(Some(80), Colours::Off).join("\n"), @"
    → DEVO: Add a limit of ten requests a second to each route of the API, answer
      429 with the time to wait, and test both with the clock of the tests. Then a
      page of…
      ✓ devo fs_readFile: src/routes/limits.rs, 120 lines
      ✗ devo bash_execute: cargo test --workspace
        limits::answers_429_with_the_time_to_wait (exit code 101, 2 tests failing)
        running 2 tests
      ✓ devo fs_mkdir
    ← DEVO: partial
    ← SCOUT: success
    ? CAIO: Which of the two limits does the team want, by user or by address?
    ! CAIO wants to: send_email to team@example.org
    warning: the model anthropic:claude-sonnet-5-5 was refused three times, odd␛[2J
    ");
    insta::assert_snapshot!(shown(Some(120), Colours::Off).join("\n"), @"
    → DEVO: Add a limit of ten requests a second to each route of the API, answer 429 with the time to wait, and test both
      with the clock of the tests. Then a page of…
      ✓ devo fs_readFile: src/routes/limits.rs, 120 lines
      ✗ devo bash_execute: cargo test --workspace limits::answers_429_with_the_time_to_wait (exit code 101, 2 tests failing)
        running 2 tests
      ✓ devo fs_mkdir
    ← DEVO: partial
    ← SCOUT: success
    ? CAIO: Which of the two limits does the team want, by user or by address?
    ! CAIO wants to: send_email to team@example.org
    warning: the model anthropic:claude-sonnet-5-5 was refused three times, odd␛[2J
    ");
}

#[test]
fn a_program_reads_one_line_for_each_event() {
    let lines = shown(None, Colours::Off);
    assert_eq!(lines.len(), 9, "{lines:#?}");
    assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "{lines:#?}");
}

#[test]
fn what_fails_and_what_waits_has_a_colour() {
    let lines = shown(None, Colours::On);
    let has = |text: &str, code: &str| lines.iter().any(|line| line.contains(text) && line.contains(code));
    assert!(has("bash_execute", "\u{1b}[31m") && has("fs_readFile", "\u{1b}[32m") && has("send_email", "\u{1b}[33m"));
}
