//! Times as screens show them: local and to the second. Programs read UTC with milliseconds (`--json`), and so do journals and ledgers.

use std::sync::LazyLock;

use jiff::Zoned;
use jiff::tz::TimeZone;
use ralph_model::Timestamp;

/// What `TZ` or the system says, and UTC where neither says anything.
static ZONE: LazyLock<TimeZone> = LazyLock::new(|| match cfg!(test) {
    // Another one than that of the machine, so that a forgotten conversion shows.
    true => TimeZone::fixed(jiff::tz::offset(3)),
    false => TimeZone::system(),
});

/// `2026-11-19 07:14:20`
pub(crate) fn local(at: Timestamp) -> String {
    zoned(at).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The same without the day where that is today.
pub(crate) fn local_today(at: Timestamp, now: Timestamp) -> String {
    let (then, today) = (zoned(at), zoned(now));
    if then.date() == today.date() { then.strftime("%H:%M:%S").to_string() } else { local(at) }
}

/// A text of the engine, which names times in UTC with milliseconds.
pub(crate) fn with_local_times(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('T') {
        let place = at.checked_sub(LENGTH_OF_DATE).and_then(|start| Some((start, rest.get(start..start + LENGTH)?)));
        let time = place.and_then(|(start, stamp)| Some((start, stamp.parse::<jiff::Timestamp>().ok()?)));
        match time {
            Some((start, time)) => {
                shown.push_str(&rest[..start]);
                shown.push_str(&local(Timestamp(time.as_millisecond())));
                rest = &rest[start + LENGTH..];
            }
            None => {
                shown.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
            }
        }
    }
    shown + rest
}

/// Of a time such as `2026-11-19T06:14:20.123Z`, and of what is before its `T`.
const LENGTH: usize = 24;
const LENGTH_OF_DATE: usize = 10;

fn zoned(at: Timestamp) -> Zoned {
    // As `Timestamp::rfc3339` has it.
    jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_zoned(ZONE.clone())
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
