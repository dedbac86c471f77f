use ralph_model::{FaultKind, Iteration, TroubleKind};

use super::*;

fn said(notice: &Notice, now: Timestamp) -> String {
    line(notice, now).unwrap().1
}

fn finished(ended: Ended, faults: Vec<Fault>) -> String {
    let notice = Notice::AgentFinished {
        iteration: Iteration(1),
        ended,
        faults,
        changed: 0,
        charged: Money::from_micros(4_020),
        duration: Millis(264),
    };
    said(&notice, Timestamp(0))
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
        said(&Notice::Waiting { until, trouble }, now)
    };
    assert_eq!(
        waiting(Timestamp(now.0 + 130_000), "too many requests."),
        "waiting until 18:48:05 UTC (2m 10s): rate or usage limit: too many requests; this is not counted as an iteration"
    );
    assert_eq!(
        waiting(Timestamp(now.0 + 8 * 3_600_000), ""),
        "waiting until 2026-11-16 02:45:55 UTC (8h 00m): rate or usage limit; this is not counted as an iteration"
    );
}
