use super::*;

/// 2026-11-15T22:45:55.123Z, which is in the next day three hours to the east.
const AT: Timestamp = Timestamp(1_794_782_755_123);

#[test]
fn a_time_is_local_and_to_the_second() {
    assert_eq!(AT.rfc3339(), "2026-11-15T22:45:55.123Z");
    assert_eq!(local(AT), "2026-11-16 01:45:55");
    assert_eq!(local_today(AT, Timestamp(AT.0 + 80_000_000)), "01:45:55");
    // The same day in UTC, and another here.
    assert_eq!(local_today(AT, Timestamp(AT.0 - 7_200_000)), "2026-11-16 01:45:55");
    assert_eq!(local(Timestamp(i64::MAX)), "1970-01-01 03:00:00");
}

#[test]
fn times_in_a_text_are_local_and_nothing_else_changes() {
    let text = |times: [&str; 2]| format!("TRIED (until {}), then {}T", times[0], times[1]);
    let (before, after) = ("2026-11-15T22:45:55.123Z", "2026-11-16 01:45:55");
    assert_eq!(with_local_times(&text([before; 2])), text([after; 2]));
    for same in ["", "T", "äöüäöüäöüT22:45:55.123Z", "2026-13-15T22:45:55.123Z", "2026-11-15T22:45:55Z", "2026-11-15Tä"]
    {
        assert_eq!(with_local_times(same), same);
    }
}
