use ralph_model::{Ended, Fault, FaultKind, Millis, Money, TroubleKind};
use ralph_view::What;

use super::super::fixtures::{decided, opened, play};
use super::*;

fn finished(ended: Ended, faults: Vec<Fault>) -> String {
    let updates = play(&[opened("x"), decided((1, 1), 4_020)]).concat();
    let recorded = updates.into_iter().find_map(|update| match update.what {
        What::Recorded { state, deltas, .. } => match deltas.into_iter().next()? {
            Delta::AgentFinished { iteration } => Some((state, iteration)),
            _ => None,
        },
        What::Progress { .. } => None,
    });
    let (state, mut iteration) = recorded.unwrap();
    let run = iteration.run.as_mut().unwrap();
    (run.ended, run.faults, run.duration) = (ended, faults, Millis(264));
    assert_eq!(iteration.cost, Money::from_micros(4_020));
    of_delta(&Delta::AgentFinished { iteration }, &state, Timestamp(0)).unwrap().text
}

#[test]
fn what_was_wrong_with_a_run_stands_at_the_end_of_its_line() {
    let service = Fault { kind: FaultKind::Service, detail: "not set up: there is no price for x".into() };
    insta::assert_snapshot!(
        [
            finished(Ended::Exited { code: 0 }, vec![]),
            finished(Ended::Exited { code: 2 }, vec![]),
            finished(Ended::Exited { code: 1 }, vec![service]),
            finished(Ended::NotStarted { why: "no such program".into() }, vec![]),
        ]
        .join("\n"),
        @r"
    iteration 1: agent done after 264ms, 0 files changed, $0.0041
    iteration 1: agent ended after 264ms, 0 files changed, $0.0041: exit code 2
    iteration 1: agent ended after 264ms, 0 files changed, $0.0041: service: not set up: there is no price for x
    iteration 1: agent ended after 264ms, 0 files changed, $0.0041: could not be started: no such program
    "
    );
}

#[test]
fn a_wait_names_its_end_once_and_to_the_second() {
    // 2026-11-15T18:45:55.123Z
    let now = Timestamp(1_794_768_355_123);
    let waiting = |until: Timestamp, message: &str| {
        let trouble =
            Trouble { kind: TroubleKind::RateLimit, until: Some(until), message: message.into(), advice: None };
        super::waiting(&WaitView { until, trouble }, now)
    };
    assert_eq!(
        waiting(Timestamp(now.0 + 130_000), "too many requests."),
        "waiting until 21:48:05 (2m 10s): rate or usage limit: too many requests; this is not counted as an iteration"
    );
    assert_eq!(
        waiting(Timestamp(now.0 + 8 * 3_600_000), ""),
        "waiting until 2026-11-16 05:45:55 (8h 00m): rate or usage limit; this is not counted as an iteration"
    );
}
