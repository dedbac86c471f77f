use super::*;

const START: Timestamp = Timestamp(1_000_000);

fn after(seconds: i64) -> Timestamp {
    Timestamp(START.0 + seconds * 1000)
}

#[test]
fn a_message_that_is_asked_for_anew_starts_anew() {
    let mut patience = Patience::default();
    for round in 0..100 {
        assert_eq!(patience.requests(), Again::No);
        patience.refused(after(round));
        assert_eq!(patience.requests(), Again::Yes);
        patience.asks_anew();
        assert_eq!(patience.ends(after(round)), None);
    }
}

#[test]
fn requests_that_fail_without_a_word_count_too() {
    let mut patience = Patience::default();
    for _ in 0..MAX_CUT {
        patience.requests();
        assert_eq!(patience.ends(START), None);
    }
    patience.requests();
    assert_eq!(patience.ends(START), Some(Hopeless::Failed(MAX_CUT)));
}

#[test]
fn a_refused_request_is_not_counted_twice() {
    let mut patience = Patience::default();
    for _ in 1..MAX_REFUSED {
        patience.requests();
        patience.refused(START);
        assert_eq!(patience.ends(START), None);
    }
    patience.requests();
    assert_eq!(patience.ends(START), None, "the last one gets its chance");
    patience.refused(START);
    assert_eq!(patience.ends(START), Some(Hopeless::Failed(MAX_REFUSED)));
}

#[test]
fn a_wait_ends_with_the_next_request_or_with_the_session() {
    let mut patience = Patience::default();
    patience.refused(START);
    assert_eq!(patience.ends(after(30)), None);
    assert_eq!(patience.ends(after(31)), Some(Hopeless::Waits));
    patience.gives_up();
    assert_eq!(patience.ends(after(31)), None);
    patience.refused(START);
    patience.requests();
    assert_eq!(patience.ends(after(31)), None);
    patience.refused(after(31));
    patience.answered(Whole::Yes);
    assert_eq!(patience.ends(after(100)), None);
}

#[test]
fn a_clock_that_goes_back_is_no_wait() {
    let mut patience = Patience::default();
    patience.refused(after(100));
    assert_eq!(patience.ends(START), None);
}

#[test]
fn a_whole_answer_makes_up_for_broken_ones() {
    let mut patience = Patience::default();
    for _ in 0..10 {
        for _ in 1..MAX_BROKEN {
            patience.answered(Whole::No);
        }
        assert_eq!(patience.ends(START), None);
        patience.answered(Whole::Yes);
    }
}
