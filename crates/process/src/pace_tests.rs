use super::*;

const LINE: usize = 300;
const CAPACITY: usize = 64 << 10;

#[test]
fn who_prints_now_and_then_is_read_at_once() {
    let start = Instant::now();
    let mut pace = Pace::new(CAPACITY, start);
    for number in 1..100 {
        assert_eq!(pace.read(LINE, start + QUICK * number), Next::AtOnce);
    }
}

#[test]
fn who_prints_quickly_is_read_in_gulps() {
    let start = Instant::now();
    let mut pace = Pace::new(CAPACITY, start);
    let soon = start + QUICK / 2;
    assert_eq!(pace.read(LINE, soon), Next::At(soon + REST));
    let later = soon + REST * 2;
    assert_eq!(pace.read(LINE, later), Next::At(later + REST), "it had more to say");
}

#[test]
fn who_falls_silent_in_a_rest_is_read_at_once_afterwards() {
    let start = Instant::now();
    let mut pace = Pace::new(CAPACITY, start);
    assert_eq!(pace.read(LINE, start), Next::At(start + REST));
    assert_eq!(pace.read_nothing(), Next::AtOnce);
    assert_eq!(pace.read(LINE, start + REST), Next::AtOnce);
}

#[test]
fn a_pipe_that_may_have_more_is_read_on() {
    let start = Instant::now();
    let mut pace = Pace::new(CAPACITY, start);
    assert_eq!(pace.read(CAPACITY / 2, start), Next::AtOnce);
    assert_eq!(pace.read(LINE, start), Next::At(start + REST), "that was all");
}

#[test]
fn a_flood_has_no_rest() {
    let start = Instant::now();
    let mut pace = Pace::new(CAPACITY, start);
    assert_eq!(pace.read(CAPACITY / 2, start), Next::AtOnce);
    assert_eq!(pace.read(CAPACITY / 2, start), Next::AtOnce);
    assert_eq!(pace.read(LINE, start), Next::AtOnce, "nor between its waves");
    let over = start + FLOOD;
    assert_eq!(pace.read(LINE, over - QUICK / 2), Next::AtOnce);
    assert_eq!(pace.read(LINE, over), Next::At(over + REST));
}
