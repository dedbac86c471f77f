use super::*;

#[test]
fn days_begin_at_midnight_in_utc() {
    assert_eq!(day_start("1970-01-02").unwrap(), Timestamp(86_400_000));
    assert_eq!(DayNumber::of(Timestamp(86_399_999)), DayNumber(0));
    assert_eq!(DayNumber::of(Timestamp(-1)), DayNumber(-1));
    assert_eq!(DayNumber::of(day_start("2026-11-15").unwrap()).iso(), "2026-11-15");
    assert_eq!(DayNumber(0).show("%b %-d"), "Jan 1");
}

#[test]
fn only_plain_dates_are_dates() {
    for text in ["", "today", "2026-13-01", "2026-11-15T10:00:00", "20261115", "../2026-11-15", "2026-11-15 "] {
        let error = day_start(text).unwrap_err();
        assert!(error.to_string().contains("2026-11-15"), "{text}: {error}");
    }
}
