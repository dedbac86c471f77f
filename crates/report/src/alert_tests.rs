use super::*;
use crate::record::Record;
use crate::testing::{aborted, record};

fn alerts_of(records: &[Record]) -> Vec<Alert> {
    Summary::of(records).alerts
}

fn some(good: u32, stalled: u32) -> Vec<Record> {
    let good = (0..good).map(record);
    good.chain((0..stalled).map(|number| aborted(1_000 + number, "STALL"))).collect()
}

#[test]
fn nothing_is_said_of_good_loops_or_of_none() {
    assert_eq!(alerts_of(&[]), []);
    assert_eq!(alerts_of(&some(5, 0)), []);
    assert_eq!(alerts_of(&some(9, 1)), []);
}

#[test]
fn targets_are_missed_at_exactly_their_figure() {
    let completion = |part, whole| Alert::Completion(Rate { part, whole });
    let stall = |part, whole| Alert::Stall(Rate { part, whole });
    assert_eq!(alerts_of(&some(8, 2)), [stall(2, 10)], "less than 20 % is the target");
    assert_eq!(alerts_of(&some(81, 19)), []);
    assert_eq!(alerts_of(&some(7, 3)), [completion(7, 10), stall(3, 10)], "more than 70 % is the target");
}

#[test]
fn everything_notable_is_named() {
    let records = [
        Record { false_claims: 3, ..record(1) },
        Record { tampered: 1, ..record(2) },
        Record { verification_passed: false, ..record(3) },
        Record { tests_fixed: -2, ..record(4) },
        aborted(5, "PROHIBITED_PATH"),
        Record { status: crate::Status::Error, ..record(6) },
        record(7),
        record(8),
    ];
    let said: Vec<String> = alerts_of(&records).iter().map(Alert::to_string).collect();
    assert_eq!(
        said,
        [
            "1 of 8 loops ended with an error: `ralph show` says why.",
            "The checks were tampered with in 1 of 8 loops.",
            "Agents claimed completion 3 times while checks failed, in 1 of 8 loops.",
            "1 of 6 completed loops are unverified: add a check.",
            "Prohibited files were changed in 1 of 8 loops.",
            "More tests failed at the end than at the start in 1 of 8 loops.",
        ]
    );
}

#[test]
fn a_weak_agent_is_named_once_there_are_enough_loops() {
    let weak = |loops: u32| {
        let mut records = some(20, 0);
        records.extend((0..loops).map(|n| Record { agent: "slow".to_owned(), ..aborted(500 + n, "MAX_ITERATIONS") }));
        alerts_of(&records)
    };
    assert_eq!(weak(4), []);
    assert_eq!(weak(5), [Alert::Agent("slow".to_owned(), Rate { part: 0, whole: 5 })]);
}

#[test]
fn loops_without_a_skill_are_no_weak_skill() {
    let mut records = some(40, 0);
    records.extend((0..13).map(|n| Record { skill: None, ..aborted(500 + n, "MAX_ITERATIONS") }));
    assert_eq!(alerts_of(&records), []);
}

#[test]
fn what_somebody_cancelled_counts_against_nobody() {
    let mut records = some(5, 0);
    records.extend((0..20).map(|n| Record { agent: "slow".to_owned(), ..aborted(500 + n, "CANCELLED") }));
    assert_eq!(alerts_of(&records), []);
    assert_eq!(Summary::of(&records).completion(), Rate { part: 5, whole: 5 });
    assert_eq!(alerts_of(&records[5..]), [], "nothing but cancelled loops misses no target");
    records.push(aborted(900, "MAX_ITERATIONS"));
    records.push(aborted(901, "MAX_ITERATIONS"));
    records.push(aborted(902, "MAX_ITERATIONS"));
    assert_eq!(alerts_of(&records), [Alert::Completion(Rate { part: 5, whole: 8 })]);
}
