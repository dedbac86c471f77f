//! An error of OpenCode, and the trouble with the service that it stands for.

use ralph_model::{Timestamp, Trouble, TroubleKind};
use serde_json::Value;

use crate::refusals::Refusals;
use crate::trouble::{classify, point_in_time, reset_time};

/// Names and words of OpenCode; the words are for a service that cannot be reached.
const REFUSALS: Refusals = Refusals {
    names: &[
        ("ContextOverflowError", Some(TroubleKind::ContextOverflow)),
        ("ProviderAuthError", Some(TroubleKind::Authentication)),
    ],
    words: &[
        ("cannot connect to api", TroubleKind::Unreachable),
        ("socket connection was closed", TroubleKind::Unreachable),
        ("connection reset by server", TroubleKind::Unreachable),
        ("was there a typo in the url or port", TroubleKind::Unreachable),
    ],
    login: "log in with `opencode auth login`, or set the provider's key, such as ANTHROPIC_API_KEY",
    credit: None,
    model: "`opencode models` lists the models that this account has; name one as provider/model",
};
/// Bytes of a body of which the words count.
const MAX_BODY: usize = 4096;

/// An error as an event tells it.
pub(super) struct Failure {
    /// One line, in the service's words where it gave some.
    pub(super) words: String,
    /// What is wrong with the service, if that is it.
    pub(super) trouble: Option<Trouble>,
}

impl Failure {
    /// Reads the error of an event.
    pub(super) fn read(error: &Value, now: Timestamp) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
        let name = text(error.get("name"));
        let data = error.get("data").unwrap_or(&Value::Null);
        let message = text(data.get("message"));
        let words = if message.is_empty() { name.clone() } else { message };
        let trouble = match REFUSALS.named(&name).flatten() {
            Some(kind) => Some(plain(kind, &words)),
            None => of_service(data, &words, now),
        };
        Self { words, trouble: trouble.map(|trouble| REFUSALS.advised(trouble)) }
    }

    /// Reads an error of the log, which has nothing but words.
    pub(super) fn of_words(words: &str, now: Timestamp) -> Self {
        let words = words.strip_prefix("AI_APICallError: ").unwrap_or(words);
        let words = words.split_once(" (cause: ").map_or(words, |(words, _)| words);
        Self { words: words.to_owned(), trouble: by_words(None, words, now).map(|trouble| REFUSALS.advised(trouble)) }
    }
}

/// The trouble that a refused request was in, from its status, its words, its body and its headers.
fn of_service(data: &Value, words: &str, now: Timestamp) -> Option<Trouble> {
    let status = data.get("statusCode").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    let body = data.get("responseBody").and_then(Value::as_str).unwrap_or("");
    let body = crate::text::short(body.to_owned(), MAX_BODY);
    let trouble = by_words(status, &format!("{words}\n{body}"), now)?;
    let until = data.get("responseHeaders").and_then(|headers| until(headers, now));
    let waits = matches!(trouble.kind, TroubleKind::RateLimit | TroubleKind::Overload);
    let until = until.filter(|_| waits).or(trouble.until);
    Some(Trouble { until, message: words.to_owned(), ..trouble })
}

fn by_words(status: Option<u16>, words: &str, now: Timestamp) -> Option<Trouble> {
    let lower = words.to_ascii_lowercase();
    match REFUSALS.said(&lower).filter(|_| status.is_none()) {
        Some(kind) => Some(plain(kind, words)),
        None => classify(status, words, now),
    }
}

/// When the service answers again, from the headers of its answer.
fn until(headers: &Value, now: Timestamp) -> Option<Timestamp> {
    let header = |name: &str| headers.get(name).and_then(Value::as_str);
    let span = |text: &str| reset_time(&format!("retry after {text}"), now);
    header("retry-after-ms")
        .and_then(|millis| span(&format!("{millis}ms")))
        .or_else(|| header("retry-after").and_then(span))
        .or_else(|| header("anthropic-ratelimit-unified-reset").and_then(|point| point_in_time(point.parse().ok()?)))
}

fn plain(kind: TroubleKind, words: &str) -> Trouble {
    Trouble { kind, until: None, message: words.to_owned(), advice: None }
}
