use super::*;

#[test]
fn reads_spans() {
    for (text, millis) in
        [("500ms", 500), ("30s", 30_000), ("10m", 600_000), ("1h30m", 5_400_000), ("2h 5m", 7_500_000), ("0", 0)]
    {
        assert_eq!(text.parse::<Millis>(), Ok(Millis(millis)), "{text}");
    }
    for text in ["", "30", "s", "-1s", "1.5h", "10 parsecs"] {
        assert!(text.parse::<Millis>().unwrap_err().to_string().contains("1h30m"), "{text}");
    }
    assert_eq!("365d".parse::<Millis>(), Ok(Millis::MAX_SETTING));
    for text in ["366d", "365d 1ms", "99999999999h", "99999999999999999999h", "99999999999999999d 99999999999999999d"] {
        assert!(text.parse::<Millis>().unwrap_err().to_string().contains("at most 365d"), "{text}");
    }
}

#[test]
fn prints_spans_shortly() {
    for (millis, text) in [(850, "850ms"), (4_230, "4.2s"), (200_000, "3m 20s"), (7_500_000, "2h 05m")] {
        assert_eq!(Millis(millis).to_string(), text);
    }
}

#[test]
fn days_are_utc_days() {
    assert_eq!(Timestamp(1_794_700_799_999).utc_date(), "2026-11-14");
    assert_eq!(Timestamp(1_794_700_800_000).utc_date(), "2026-11-15");
    assert_eq!(Timestamp(1_794_700_800_001).rfc3339(), "2026-11-15T00:00:00.001Z");
}

#[test]
fn a_clock_that_goes_backwards_gives_no_negative_span() {
    assert_eq!(Timestamp(5).since(Timestamp(9)), Millis(0));
}
