//! Who is heard when several want a run to end.

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
