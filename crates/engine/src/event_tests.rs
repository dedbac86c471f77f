use super::*;
use crate::fixtures::*;

#[test]
fn a_newer_event_is_refused_rather_than_guessed() {
    let text = Event::Faulted { error: "broken".into(), lost: None, stopped: false }.encode().unwrap();
    let refused = Event::decode(EVENT_VERSION + 1, &text).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the event has version 6, and this Ralph reads up to 5: use a newer Ralph for this run"
    );
    assert!(Event::decode(EVENT_VERSION, &text).is_ok());
}

/// A reader of version 4 would pass over the limit and stop the loop at the old one.
#[test]
fn only_an_event_that_older_readers_would_misread_has_a_newer_version() {
    let resumed = |max_duration| Event::Resumed {
        lost: None,
        limits: Limits { max_duration, max_iterations: Some(20), ..Limits::default() },
        attempts: Attempt(0),
        tree: None,
        rewound: false,
        settled: Money::ZERO,
    };
    assert_eq!(resumed(None).version(), 4);
    assert_eq!(resumed(Some(Millis::secs(60))).version(), 5);
    assert_eq!(Event::Faulted { error: "broken".into(), lost: None, stopped: false }.version(), 4);
}

#[test]
fn what_is_no_event_is_an_error() {
    for text in ["", "{", "null", "[]", r#"{"kind":"unheardOf"}"#, r#"{"kind":"faulted"}"#, r#"{"error":"x"}"#] {
        assert!(matches!(Event::decode(EVENT_VERSION, text), Err(DecodeEvent::Unreadable { .. })), "{text}");
    }
}

#[test]
fn fields_that_may_be_absent_may_be_absent() {
    let resumed = Event::decode(1, r#"{"kind":"resumed"}"#).unwrap();
    let expected = Event::Resumed {
        lost: None,
        limits: Limits::default(),
        attempts: Attempt(0),
        tree: None,
        rewound: false,
        settled: ralph_model::Money::ZERO,
    };
    assert_eq!(resumed, expected);
    let committed = Event::decode(1, r#"{"kind":"workCommitted","attempt":7}"#).unwrap();
    assert_eq!(committed, Event::WorkCommitted { attempt: Attempt(7), commit: None, problem: None });
}

#[test]
fn names_and_figures_stand_in_the_journal_as_scripts_know_them() {
    let started = Event::IterationStarted {
        attempt: Attempt(2),
        tree: tree("b"),
        reserved: cents(375),
        day: DayBudget { spent: Money::ZERO, cap: Money::dollars(50) },
    };
    assert_eq!(
        started.encode().unwrap(),
        r#"{"kind":"iterationStarted","attempt":2,"tree":"b","reserved":3750000,"day":{"spent":0,"cap":50000000}}"#
    );
    let stop = Event::StopRequested { stop: Stop { when: StopWhen::AfterIteration, by: StopBy::Keyboard } };
    assert_eq!(stop.encode().unwrap(), r#"{"kind":"stopRequested","stop":{"when":"afterIteration","by":"keyboard"}}"#);
    let winner = "00000000-0000-0000-0000-000000000007".parse().unwrap();
    let lost = Event::StopRequested { stop: Stop { when: StopWhen::Now, by: StopBy::Race { winner } } };
    let text = lost.encode().unwrap();
    let by = r#"{"race":{"winner":"00000000-0000-0000-0000-000000000007"}}"#;
    assert_eq!(text, format!(r#"{{"kind":"stopRequested","stop":{{"when":"now","by":{by}}}}}"#));
    assert_eq!(Event::decode(EVENT_VERSION, &text).unwrap(), lost);
}

#[test]
fn an_amount_below_zero_is_no_amount() {
    let text = r#"{"kind":"iterationStarted","attempt":2,"tree":"b","reserved":-1,"day":{"spent":0,"cap":1}}"#;
    assert!(matches!(Event::decode(1, text), Err(DecodeEvent::Unreadable { .. })));
}

#[test]
fn every_alert_has_a_sentence_of_its_own() {
    let sentences = [Alert::Cost80, Alert::Iterations90, Alert::Day80].map(Alert::sentence);
    assert_eq!(sentences.map(|sentence| sentence.contains('%')), [true; 3]);
    assert!(sentences[0] != sentences[1] && sentences[1] != sentences[2] && sentences[0] != sentences[2]);
}
