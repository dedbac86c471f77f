//! Why a run is ended, and who is heard when several want that.

use ralph_model::{AgentEvent, Trouble, TroubleKind};

use super::*;

const SILENT: Stop = Stop::Silent { after: Millis(7) };

#[test]
fn the_first_to_ask_is_heard_and_spent_money_always() {
    for (asked, wanted, heard) in [
        (None, Stop::Requested, Stop::Requested),
        (None, Stop::BudgetSpent, Stop::BudgetSpent),
        (Some(Stop::Requested), Stop::Hopeless, Stop::Requested),
        (Some(Stop::Requested), SILENT, Stop::Requested),
        (Some(SILENT), Stop::Done, SILENT),
        (Some(Stop::Requested), Stop::BudgetSpent, Stop::BudgetSpent),
        (Some(Stop::Hopeless), Stop::BudgetSpent, Stop::BudgetSpent),
    ] {
        let (ended_by, mut stops) = watch::channel(asked);
        ask(&ended_by, None);
        assert_eq!((*stops.borrow(), stops.has_changed().unwrap()), (asked, false));
        ask(&ended_by, Some(wanted));
        assert_eq!(*stops.borrow_and_update(), Some(heard), "{asked:?}, then {wanted:?}");
        ask(&ended_by, Some(wanted));
        assert!(!stops.has_changed().unwrap(), "nobody is told the same twice");
    }
}

/// What a person's request leads to where somebody else may have asked before.
fn heard_of_a_person(asked: Option<Stop>) -> Option<Stop> {
    let (ended_by, stops) = watch::channel(asked);
    let (person, requests) = watch::channel(None);
    let mut passing = std::pin::pin!(pass_on(requests, &ended_by));
    person.send_replace(Some(Stop::Requested));
    let mut nobody = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(passing.as_mut().poll(&mut nobody).is_pending());
    *stops.borrow()
}

#[test]
fn a_request_to_stop_does_not_take_the_place_of_spent_money() {
    assert_eq!(heard_of_a_person(Some(Stop::BudgetSpent)), Some(Stop::BudgetSpent));
    assert_eq!(heard_of_a_person(None), Some(Stop::Requested));
}

/// Why a run with this transcript is ended that was heard last so long ago.
fn wanted(transcript: Transcript, silent: Duration, budget: Option<Money>) -> Option<Stop> {
    let mut observe = |_: AgentEvent| {};
    let mut reading = Reading {
        parser: crate::codex::parser(crate::codex::Guard::Outer),
        transcript,
        stdout: Lines::default(),
        stderr: Lines::default(),
        heard: true,
        counted: std::sync::Arc::default(),
        capabilities: Capabilities { reports_cost: ReportsCost::Sometimes, ..crate::codex::KIND.capabilities },
        last: Instant::now().checked_sub(silent).unwrap(),
        idle: None,
        budget,
        now: || crate::golden::NOW,
        cost_told: None,
        observe: &mut observe,
    };
    reading.wanted()
}

#[test]
fn a_program_that_waits_in_silence_is_ended_unless_it_works() {
    let refused = || {
        let mut transcript = crate::golden::transcript();
        transcript.trouble(Trouble { kind: TroubleKind::RateLimit, until: None, message: "429".into(), advice: None });
        transcript
    };
    assert_eq!(wanted(refused(), SILENT_WAIT, None), Some(Stop::Hopeless));
    assert_eq!(wanted(refused(), Duration::ZERO, None), None, "it may try again soon");
    assert_eq!(wanted(crate::golden::transcript(), SILENT_WAIT, None), None, "nobody refused anything");
    let mut busy = refused();
    busy.call("1", "shell", "sleep 99");
    assert_eq!(wanted(busy, SILENT_WAIT, None), None, "a command may be silent");
    let mut answered = refused();
    answered.recovered();
    assert_eq!(wanted(answered, SILENT_WAIT, None), None);
}

#[test]
fn what_cannot_be_counted_ends_a_run_that_has_a_budget() {
    let lost = || {
        let mut transcript = crate::golden::transcript();
        transcript.lost_count("its record was cut");
        transcript
    };
    assert_eq!(wanted(lost(), Duration::ZERO, Some(Money::dollars(1))), Some(Stop::Hopeless));
    assert_eq!(wanted(lost(), Duration::ZERO, None), None, "nobody counts its money");
}
