use ralph_model::TestTally;

use super::fixtures::{failing, outcome};
use super::*;

fn passing() -> CheckOutcome {
    CheckOutcome { passed: true, excerpt: String::new(), signature: None, ..outcome(None) }
}

/// What becomes of these runs, and how many there were.
fn after(most: u32, runs: Vec<CheckOutcome>) -> (CheckOutcome, usize) {
    let mut runs = runs.into_iter();
    let mut all = Runs::new(runs.next().unwrap());
    let mut ran = 1;
    while let Some(number) = all.next(most) {
        assert_eq!(number as usize, ran);
        all.add(runs.next().unwrap());
        ran += 1;
    }
    (all.outcome(), ran)
}

#[test]
fn a_check_that_passes_is_not_run_again() {
    assert_eq!(after(3, vec![passing()]), (passing(), 1));
    assert_eq!(after(0, vec![failing(&["a"])]), (failing(&["a"]), 1));
}

#[test]
fn a_check_that_fails_and_then_passes_is_flaky_and_tells_of_its_failure() {
    let (found, ran) = after(5, vec![failing(&["a"]), failing(&["a"]), passing()]);
    let wanted = CheckOutcome { flaky: true, retries: 2, duration: found.duration, ..failing(&["a"]) };
    assert_eq!((found, ran), (wanted, 3));
}

#[test]
fn a_check_that_keeps_failing_has_failed() {
    let (found, ran) = after(2, vec![failing(&["a"]), failing(&["a"]), failing(&["a"])]);
    assert_eq!(ran, 3);
    assert_eq!(found, CheckOutcome { retries: 2, duration: found.duration, ..failing(&["a"]) });
    assert_eq!(found.duration.0, 3 * failing(&[]).duration.0);
}

#[test]
fn different_failures_are_told_apart() {
    let (found, _) = after(2, vec![failing(&["a", "b"]), failing(&["a"]), failing(&["c"])]);
    assert_eq!(
        found.excerpt,
        "Other tests failed when the check ran again on the same files:\n  run 1: a, b\n  run 2: a\n  run 3: c\n\nboom\n"
    );
    assert_eq!(found.signature, failing(&["a", "b"]).signature);
    let long = CheckOutcome { excerpt: "é".repeat(LIMIT / 2), ..failing(&["a"]) };
    let names: Vec<String> = (0..200).map(|number| format!("{number:0300}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let runs = (0..20).map(|_| failing(&names));
    let (found, _) = after(20, [long].into_iter().chain(runs).collect());
    assert!(found.excerpt.len() <= LIMIT && found.excerpt.contains("run 10: "), "{}", found.excerpt.len());
}

#[test]
fn what_somebody_stopped_is_not_run_again() {
    for ended in [Ended::Stopped, Ended::BudgetSpent, Ended::Hopeless] {
        let stopped = CheckOutcome { ended, ..outcome(None) };
        assert_eq!(after(3, vec![stopped.clone()]), (stopped.clone(), 1));
        // A second run that is stopped does not undo the failure of the first.
        let (found, ran) = after(3, vec![failing(&["a"]), stopped]);
        assert_eq!((found.retries, found.flaky, found.ended, ran), (0, false, Ended::Exited { code: 1 }, 2));
    }
    for ended in [Ended::Signalled { signal: 9 }, Ended::TimedOut { after: ralph_model::Millis(1) }] {
        let (found, ran) = after(1, vec![CheckOutcome { ended, ..outcome(None) }, passing()]);
        assert_eq!((found.flaky, ran), (true, 2));
    }
}

#[test]
fn failures_without_names_are_told_by_their_number_or_end() {
    let counted = |failed| outcome(Some(TestTally { failed, ..TestTally::default() }));
    let (found, _) = after(1, vec![counted(2), counted(3)]);
    assert!(found.excerpt.contains("  run 1: 2 failing\n  run 2: 3 failing\n"), "{}", found.excerpt);
    let killed = CheckOutcome { ended: Ended::Signalled { signal: 9 }, ..outcome(None) };
    let (found, _) = after(1, vec![outcome(None), killed]);
    assert!(found.excerpt.contains("  run 1: exit code 1\n  run 2: ended by signal 9\n"), "{}", found.excerpt);
}
