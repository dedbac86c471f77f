use super::*;
use crate::testing::{DAY, aborted, mixed, record};

#[test]
fn nothing_sums_up_to_nothing() {
    assert_eq!(Summary::of(&[]), Summary::default());
}

#[test]
fn figures_of_a_few_loops_are_exact() {
    let records = [
        record(1),
        Record { verification_passed: false, iterations: 10, cost: Money::from_micros(1_000_001), ..record(2) },
        Record { skill: None, agent: "codex".to_owned(), ..aborted(3, "STALL") },
        aborted(4, "MAX_ITERATIONS"),
        Record { end_time: Timestamp(DAY - 1), ..aborted(5, "STALL") },
        Record { status: Status::Error, false_claims: 2, tampered: 1, ..record(6) },
    ];
    let summary = Summary::of(&records);
    assert_eq!((summary.loops, summary.completed, summary.aborted, summary.errors), (6, 2, 3, 1));
    assert_eq!((summary.verified, summary.unverified, summary.stalled), (1, 1, 2));
    assert_eq!((summary.false_claims, summary.false_claim_loops, summary.tampered_loops), (2, 1, 1));
    assert_eq!(summary.iterations, Spread { count: 6, total: 25, p95: 10 });
    assert_eq!(summary.cost_micros, Spread { count: 6, total: 2_250_001, p95: 1_000_001 });
    assert_eq!(summary.reasons, [("STALL".to_owned(), 2), ("MAX_ITERATIONS".to_owned(), 1)]);
    let names = |groups: &[Group]| groups.iter().map(|one| (one.name.clone(), one.loops)).collect::<Vec<_>>();
    assert_eq!(names(&summary.by_skill), [("tdd".to_owned(), 5), (String::new(), 1)]);
    assert_eq!(names(&summary.by_agent), [("claude".to_owned(), 5), ("codex".to_owned(), 1)]);
    assert_eq!((summary.by_agent[0].completed, summary.by_agent[0].verified), (2, 1));
    let days: Vec<_> = summary.days.iter().map(|day| (day.start.0 - DAY, day.loops())).collect();
    assert_eq!(days, [(-86_400_000, 1), (0, 5)]);
}

#[test]
fn a_resumed_loop_counts_once_with_its_last_line() {
    let records = [aborted(1, "MAX_ITERATIONS"), record(2), Record { cost: Money::dollars(1), ..record(1) }];
    let summary = Summary::of(&records);
    assert_eq!((summary.loops, summary.completed, summary.aborted), (2, 2, 0));
    assert_eq!(summary.cost_micros.total, 1_250_000);
}

#[test]
fn all_parts_of_a_hundred_loops_add_up() {
    let records = mixed(100, 14);
    let summary = Summary::of(&records);
    assert_eq!(summary.loops, 100);
    assert_eq!(summary.completed + summary.aborted + summary.errors, 100);
    assert_eq!(summary.verified + summary.unverified, summary.completed);
    assert_eq!(summary.reasons.iter().map(|(_, count)| count).sum::<u64>(), summary.aborted);
    for groups in [&summary.by_skill, &summary.by_agent] {
        assert_eq!(groups.iter().map(|group| group.loops).sum::<u64>(), 100);
        assert_eq!(
            groups.iter().map(|group| group.cost.micros().unsigned_abs()).sum::<u64>(),
            summary.cost_micros.total
        );
    }
    assert_eq!(summary.days.iter().map(Day::loops).sum::<u64>(), 100);
    assert!(summary.days.is_sorted_by_key(|day| day.start));
    assert!(summary.days.len() <= 15);
}
