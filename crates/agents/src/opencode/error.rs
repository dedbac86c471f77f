//! An error of OpenCode, and the trouble with the service that it stands for.

use ralph_model::{Remedy, Timestamp, Trouble};
use serde_json::Value;

use super::kind::PROGRAM;
use crate::text::{field, short};
use crate::trouble::{classify, point_in_time, reset_time};

/// Bytes of a body of which the words count.
const MAX_BODY: usize = 4096;

pub(super) struct Failure {
    /// One line, in the service's words where it gave some.
    pub(super) words: String,
    /// What is wrong with the service, if that is it.
    pub(super) trouble: Option<Trouble>,
}

impl Failure {
    pub(super) fn read(error: &Value, now: Timestamp) -> Self {
        let (name, data) = (field(error, "name"), &error["data"]);
        let message = field(data, "message");
        let words = if message.is_empty() { name } else { message }.to_owned();
        let trouble = classify(None, name, now).or_else(|| of_service(data, &words, now));
        let trouble = trouble.map(|trouble| PROGRAM.advised(Trouble { message: words.clone(), ..trouble }));
        Self { words, trouble }
    }
}

/// The trouble that a refused request was in, from its status, its words, its body and its headers.
fn of_service(data: &Value, words: &str, now: Timestamp) -> Option<Trouble> {
    let status = data["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok());
    let body = short(field(data, "responseBody").to_owned(), MAX_BODY);
    let trouble = classify(status, &format!("{words}\n{body}"), now)?;
    let until = data.get("responseHeaders").and_then(|headers| until(headers, now));
    let until = until.filter(|_| trouble.kind.remedy() == Remedy::Wait).or(trouble.until);
    Some(Trouble { until, ..trouble })
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
