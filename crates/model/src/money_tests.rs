use super::*;

#[test]
fn reads_what_people_write_exactly() {
    for (text, micros) in [
        ("5", 5_000_000),
        ("$2.50", 2_500_000),
        ("0.1", 100_000),
        (".75", 750_000),
        ("0.000001", 1),
        (" 3.00 ", 3_000_000),
    ] {
        assert_eq!(text.parse::<Money>(), Ok(Money::from_micros(micros)), "{text}");
    }
}

#[test]
fn refuses_what_is_no_amount_and_says_what_would_be() {
    for text in ["", ".", "-1", "5,00", "1e3", "0.0000001", "five", "99999999999999999999"] {
        let error = text.parse::<Money>().unwrap_err();
        assert!(error.to_string().contains("2.50"), "{text}: {error}");
    }
}

#[test]
fn numbers_keep_the_decimal_that_was_typed() {
    assert_eq!(Money::from_number(0.1), Ok(Money::from_micros(100_000)));
    assert_eq!(Money::from_number(0.3), Ok(Money::from_micros(300_000)));
    assert!(Money::from_number(f64::NAN).is_err());
    assert!(Money::from_number(-1.0).is_err());
    assert_eq!(serde_json::to_string(&Money::from_micros(300_000).to_json_number()).unwrap(), "0.3");
}

#[test]
fn prints_cents_and_finer_only_when_there_is_something_finer() {
    assert_eq!(Money::from_micros(5_000_000).to_string(), "$5.00");
    assert_eq!(Money::from_micros(1_234_500).to_string(), "$1.2345");
    assert_eq!(Money::from_micros(1).to_string(), "$0.000001");
}

#[test]
fn never_below_zero_and_never_over_the_edge() {
    assert_eq!(Money::dollars(1).less(Money::dollars(2)), Money::ZERO);
    assert_eq!(Money::from_micros(i64::MAX) + Money::dollars(1), Money::from_micros(i64::MAX));
    assert_eq!(Money::from_micros(i64::MAX).percent(80).micros(), (i128::from(i64::MAX) * 80 / 100) as i64);
    assert!(serde_json::from_str::<Money>("-5").is_err());
}
