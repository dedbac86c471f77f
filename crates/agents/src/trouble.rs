//! Recognises what a service refused, from a status and its words. The same words come from all agents, because they pass on
//! what the service said.

use std::sync::LazyLock;

use ralph_model::{Timestamp, Trouble, TroubleKind};
use serde_json::Value;

/// Words of services, and names and words of programs, that name a kind of trouble; the more telling ones first. In lower case.
#[expect(clippy::expect_used, reason = "a constant, tested")]
static WORDS: LazyLock<Vec<(TroubleKind, Vec<String>)>> =
    LazyLock::new(|| serde_json::from_str(include_str!("trouble.json")).expect("the words are JSON"));

/// What only Google's words about a limit have in them.
const GOOGLES: [&str; 3] = ["generativelanguage", "quotametric", "please retry in"];

/// The trouble that a failed request was in, if it was one of the service. Take only words that are an error's, never those
/// of a model.
pub fn classify(status: Option<u16>, words: &str, now: Timestamp) -> Option<Trouble> {
    let lower = words.to_ascii_lowercase();
    let by_words =
        WORDS.iter().find(|(_, list)| list.iter().any(|word| lower.contains(word.as_str()))).map(|(kind, _)| *kind);
    let by_words = match by_words {
        // Google says the same of a limit that is over in a minute, and names it.
        Some(TroubleKind::OutOfCredit)
            if lower.contains("exceeded your current quota") && GOOGLES.iter().any(|word| lower.contains(word)) =>
        {
            Some(TroubleKind::RateLimit)
        }
        by_words => by_words,
    };
    let kind = match (status, by_words) {
        (Some(400 | 413), Some(TroubleKind::ContextOverflow)) => TroubleKind::ContextOverflow,
        (Some(413), _) => TroubleKind::ContextOverflow,
        (Some(401), _) => TroubleKind::Authentication,
        (Some(402), _) => TroubleKind::OutOfCredit,
        (Some(403), Some(kind @ (TroubleKind::RateLimit | TroubleKind::OutOfCredit | TroubleKind::ModelNotFound))) => {
            kind
        }
        (Some(403), _) => TroubleKind::Authentication,
        (Some(404), Some(TroubleKind::ModelNotFound)) => TroubleKind::ModelNotFound,
        (Some(404), _) if lower.contains("model") => TroubleKind::ModelNotFound,
        (Some(429), Some(TroubleKind::OutOfCredit)) => TroubleKind::OutOfCredit,
        (Some(429), _) if is_limit_of_nothing(&lower) => TroubleKind::OutOfCredit,
        (Some(429), _) => TroubleKind::RateLimit,
        (Some(408 | 500..=599), _) => TroubleKind::Overload,
        (_, Some(kind)) => kind,
        (_, None) => return None,
    };
    let until = match kind {
        TroubleKind::RateLimit | TroubleKind::Overload => reset_time(&lower, now),
        _ => None,
    };
    Some(Trouble { kind, until, message: words.to_owned(), advice: None })
}

/// Whether a limit is one of nothing, for a model that the plan does not have at all: `limit: 0`.
fn is_limit_of_nothing(lower: &str) -> bool {
    lower.split("limit:").skip(1).any(|rest| {
        let number = rest.trim_start();
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        number.get(..end) == Some("0") && !number[end..].starts_with('.')
    })
}

/// The status that words name: `API Error: 529 {…}`, `last status: 429`, `HTTP 503`.
pub(crate) fn status_in(words: &str) -> Option<u16> {
    let mut before = String::new();
    for word in words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let is_named = ["error", "status", "code", "http"].contains(&before.as_str());
        if let (true, 3, Ok(number)) = (is_named, word.len(), word.parse::<i64>())
            && let Some(status) = as_status(number)
        {
            return Some(status);
        }
        before = word.to_ascii_lowercase();
    }
    None
}

pub(crate) fn as_status(number: i64) -> Option<u16> {
    u16::try_from(number).ok().filter(|number| (400..=599).contains(number))
}

/// The status and the innermost words of an error that is told as JSON, whatever stands before it.
pub(crate) fn inner(words: &str) -> Option<(Option<u16>, String)> {
    let json = words.get(words.find('{')?..)?;
    let Some(Ok(answer)) = serde_json::Deserializer::from_str(json).into_iter::<Value>().next() else { return None };
    let error = answer.get("error").unwrap_or(&answer);
    let (status, message) =
        (error.get("code").and_then(Value::as_i64).and_then(as_status), error.get("message")?.as_str()?);
    match inner(message).filter(|_| message.starts_with('{')) {
        Some((deeper, message)) => Some((deeper.or(status), message)),
        None => Some((status, message.to_owned())),
    }
}

/// When a service says that it will answer again: `retry-after: 30`, `try again in 1m30s`, `resets_at: 1763200000`,
/// `retryDelay: "17s"`, `limit reached|1763200000`, `resets_in_seconds: 3600`.
pub fn reset_time(words: &str, now: Timestamp) -> Option<Timestamp> {
    let lower = words.to_ascii_lowercase();
    const SPANS: [&str; 9] = [
        "try again in",
        "retry in",
        "retry after",
        "retry-after",
        "retry_after",
        "retrydelay",
        "resets_in_seconds",
        "resets in",
        "reset after",
    ];
    for word in SPANS {
        if let Some(span) = lower.split(word).skip(1).find_map(span) {
            return Some(Timestamp(now.0.saturating_add(span)));
        }
    }
    const POINTS: [&str; 6] = ["resets_at", "resetsat", "reset_at", "resets at", "limit reached|", "limit-reset"];
    for word in POINTS {
        if let Some(point) = lower.split(word).skip(1).find_map(point) {
            return Some(point);
        }
    }
    None
}

/// A span at the beginning of a text, in milliseconds: `: 30`, ` 1m30s`, ` 2 minutes`, `="17.5s"`.
fn span(text: &str) -> Option<i64> {
    let mut rest = text.trim_start_matches([' ', ':', '=', '"', '\'', '`', '\\']);
    let (mut total, mut seen) = (0.0_f64, false);
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest.get(..digits)?.trim_end_matches('.').parse::<f64>() else { break };
        let after = rest.get(digits..)?.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let unit = match after.get(..letters)? {
            "ms" | "milliseconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
            "d" | "day" | "days" => 86_400_000.0,
            // A bare number is one of seconds.
            _ => 1000.0,
        };
        total += number * unit;
        seen = true;
        rest = after.get(letters..)?.trim_start();
        if letters == 0 {
            break;
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "bounded to a year")]
    let millis = total.ceil() as i64;
    (seen && (0..=MAX_WAIT).contains(&millis)).then_some(millis)
}

/// A point in time at the beginning of a text: seconds or milliseconds since 1970, or RFC 3339.
fn point(text: &str) -> Option<Timestamp> {
    let text = text.trim_start_matches([' ', ':', '=', '"', '\'', '`', '\\']);
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if let Some(number) = text.get(..digits).filter(|_| digits >= 9).and_then(|digits| digits.parse::<i64>().ok()) {
        return point_in_time(number);
    }
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "-:.+".contains(c))).unwrap_or(text.len());
    let stamp: jiff::Timestamp = text.get(..end)?.to_ascii_uppercase().parse().ok()?;
    Some(Timestamp(stamp.as_millisecond()))
}

/// Seconds or milliseconds since 1970, whichever makes sense.
pub(crate) fn point_in_time(number: i64) -> Option<Timestamp> {
    const YEAR_2000: i64 = 946_684_800;
    const YEAR_2100: i64 = 4_102_444_800;
    match number {
        YEAR_2000..YEAR_2100 => Some(Timestamp(number * 1000)),
        millis if (YEAR_2000 * 1000..YEAR_2100 * 1000).contains(&millis) => Some(Timestamp(millis)),
        _ => None,
    }
}

/// A year in milliseconds: a longer wait is a mistake.
const MAX_WAIT: i64 = 366 * 86_400_000;

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod tests;
