use super::*;

const LINE: usize = 300;
const CAPACITY: usize = 64 << 10;

/// How often a program is read that prints a line at each of these intervals, and how long its lines wait for that at most.
fn printing(every: Duration, lines: u32) -> (u32, Duration) {
    let start = Instant::now();
    let mut pace = Pace::new(CAPACITY, start);
    let (mut reads, mut longest, mut printed) = (0, Duration::ZERO, 0);
    let mut next = Next::AtOnce;
    while printed < lines {
        let first = start + every * (printed + 1);
        let at = match next {
            Next::At(at) => at,
            Next::AtOnce => first,
        };
        let waiting = (printed..lines).take_while(|number| start + every * (number + 1) <= at).count();
        printed += u32::try_from(waiting).unwrap();
        reads += 1;
        next = if waiting == 0 { pace.read_nothing() } else { pace.read(waiting * LINE, at) };
        longest = longest.max(at.saturating_duration_since(first));
    }
    (reads, longest)
}

#[test]
fn who_prints_now_and_then_is_read_at_once() {
    assert_eq!(printing(OFTEN, 1000), (1000, Duration::ZERO));
}

#[test]
fn who_prints_often_is_read_in_gulps_and_soon() {
    for (every, most_reads) in [(7_000, 800), (3_000, 350), (100, 80), (20, 40)] {
        let (reads, longest) = printing(Duration::from_micros(every), 1000);
        assert!(reads <= most_reads, "every {every} µs: {reads} reads");
        assert!(longest <= MAX, "every {every} µs: {longest:?}");
    }
}

#[test]
fn a_rest_is_shorter_where_the_pipe_would_fill() {
    let start = Instant::now();
    let mut pace = Pace::new(CAPACITY, start);
    assert_eq!(pace.read(LINE, start + LEAST), Next::At(start + LEAST * 5));
    assert_eq!(pace.read(CAPACITY * 3 / 8, start), Next::At(start + LEAST * 2));
    assert_eq!(pace.read(CAPACITY / 4, start), Next::At(start + LEAST * 2));
    assert_eq!(pace.read(CAPACITY * 3 / 8, start), Next::At(start + LEAST));
    assert_eq!(pace.read(CAPACITY * 3 / 8, start), Next::At(start + LEAST));
    assert_eq!(pace.read(CAPACITY / 8, start), Next::At(start + LEAST * 2), "and longer where it would not");
}

#[test]
fn who_falls_silent_in_a_rest_is_read_at_once_afterwards() {
    let start = Instant::now();
    let mut pace = Pace::new(CAPACITY, start);
    assert_ne!(pace.read(LINE, start), Next::AtOnce);
    assert_eq!(pace.read_nothing(), Next::AtOnce);
    assert_eq!(pace.read(LINE, start + OFTEN), Next::AtOnce);
}

#[test]
fn a_pipe_that_may_have_more_is_read_on() {
    let start = Instant::now();
    let mut pace = Pace::new(CAPACITY, start);
    assert_eq!(pace.read(CAPACITY / 2, start), Next::AtOnce);
    assert_eq!(pace.read(LINE, start), Next::At(start + LEAST), "that was all");
}

#[test]
fn a_flood_has_the_shortest_rests() {
    let start = Instant::now();
    let mut pace = Pace::new(CAPACITY, start);
    assert_eq!(pace.read(CAPACITY / 2, start), Next::AtOnce);
    assert_eq!(pace.read(CAPACITY / 2, start), Next::AtOnce);
    for number in 1..20 {
        let at = start + LEAST * number;
        assert_eq!(pace.read(LINE, at), Next::At(at + LEAST));
    }
    let over = start + FLOOD;
    assert_eq!(pace.read(LINE, over), Next::At(over + LEAST * 2));
}
