use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp(text.parse::<Moment>().unwrap().as_millisecond())
}

#[test]
fn expressions_are_read_in_their_zone() {
    let cron = Cron::parse("0 3 * * *", "Europe/Zurich").unwrap();
    assert_eq!(cron.after(at("2026-07-01T00:00:00Z")), Some(at("2026-07-01T01:00:00Z")));
    assert_eq!(cron.after(at("2026-12-01T00:00:00Z")), Some(at("2026-12-01T02:00:00Z")));
    let upcoming: Vec<String> = cron.upcoming(at("2026-12-01T00:00:00Z"), 2).iter().map(ToString::to_string).collect();
    assert_eq!(upcoming, ["2026-12-01T03:00:00+01:00[Europe/Zurich]", "2026-12-02T03:00:00+01:00[Europe/Zurich]"]);
}

#[test]
fn an_hour_that_does_not_exist_is_not_waited_for_forever() {
    // On 2026-03-29 the clock in Zurich goes from 02:00 to 03:00.
    let cron = Cron::parse("30 2 * * *", "Europe/Zurich").unwrap();
    let next = cron.after(at("2026-03-29T00:00:00Z")).unwrap();
    assert!(next <= at("2026-03-30T00:30:00Z"), "{}", next.rfc3339());
}

#[test]
fn seconds_are_optional_and_the_past_is_not_returned() {
    let cron = Cron::parse("*/2 * * * * *", "UTC").unwrap();
    assert_eq!(cron.after(at("2026-01-01T00:00:00.500Z")), Some(at("2026-01-01T00:00:02Z")));
    assert_eq!(cron.after(at("2026-01-01T00:00:02Z")), Some(at("2026-01-01T00:00:04Z")));
}

#[test]
fn what_is_wrong_is_named() {
    for (expression, zone, field) in [
        ("nonsense", "UTC", "cron"),
        ("61 * * * *", "UTC", "cron"),
        ("", "UTC", "cron"),
        ("0 3 * * *", "Mars/Base", "timeZone"),
        ("0 3 * * *", "", "timeZone"),
        ("0 3 * * *", "../../etc/passwd", "timeZone"),
    ] {
        assert_eq!(Cron::parse(expression, zone).unwrap_err().field.as_deref(), Some(field), "{expression} {zone}");
    }
    // The 31st of February never comes.
    assert_eq!(Cron::parse("0 0 31 2 *", "UTC").unwrap().after(at("2026-01-01T00:00:00Z")), None);
}
