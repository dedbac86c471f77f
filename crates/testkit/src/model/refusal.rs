//! Errors of the services: status, headers and body as each of them words it. Sends nothing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Format, Status, Trouble};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) format: Format,
    pub(super) model: &'a str,
    pub(super) serial: &'a str,
    pub(super) now: Timestamp,
}

impl Refusal {
    /// The error that a service answers with in this trouble.
    pub(super) fn of(trouble: &Trouble, about: About<'_>) -> Self {
        match about.format {
            Format::Anthropic => anthropic(trouble, about),
            Format::Responses | Format::Chat => openai(trouble, about),
            Format::Gemini => gemini(trouble, about),
        }
    }

    /// The error that a service answers with under this status.
    pub(super) fn with_status(status: &Status, about: About<'_>) -> Self {
        let trouble = match status.code {
            401 => Trouble::Unauthorized,
            403 => Trouble::Forbidden,
            404 => Trouble::ModelNotFound,
            402 => Trouble::OutOfCredit,
            429 => Trouble::RateLimited { retry_after: None },
            503 | 529 => Trouble::Overloaded,
            _ => Trouble::ServerError,
        };
        let mut refusal = Self::of(&trouble, about);
        refusal.code = status.code;
        if about.format == Format::Gemini {
            refusal.body["error"]["code"] = json!(status.code);
        }
        refusal.headers.extend(status.headers.clone());
        refusal
    }

    /// The error for what is no request to a model service.
    pub(super) fn nonsense(code: u16, what: &str) -> Self {
        let error = json!({ "type": "invalid_request_error", "message": what, "code": code });
        Self { code, headers: BTreeMap::new(), body: json!({ "type": "error", "error": error }) }
    }

    fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.insert(name.to_owned(), value.to_string());
        self
    }
}

fn after(now: Timestamp, seconds: u64) -> Timestamp {
    let wait = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// What a service says: the status, the kind of error, its code where it has one, and the message.
type Words = (u16, String, String, String);

/// The words of a service, with what they name of the request.
fn words(service: &str, trouble: &Trouble, about: About<'_>, again: &str) -> Words {
    static WORDS: LazyLock<BTreeMap<String, BTreeMap<String, Words>>> = LazyLock::new(|| {
        let words = serde_json::from_str(include_str!("refusals.json"));
        words.unwrap_or_else(|error| panic!("refusals.json is no table of refusals: {error}"))
    });
    let name = match json!(trouble) {
        Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default(),
        name => name.as_str().unwrap_or_default().to_owned(),
    };
    let (code, kind, detail, message) = WORDS[service][&name].clone();
    let message = message.replace("{model}", about.model).replace("{request}", &request_id(about));
    (code, kind, detail, message.replace("{again}", again))
}

fn request_id(about: About<'_>) -> String {
    format!("req_{}", about.serial)
}

fn anthropic(trouble: &Trouble, about: About<'_>) -> Refusal {
    let (code, kind, _, message) = words("anthropic", trouble, about, "");
    let request = request_id(about);
    let error = json!({ "type": kind, "message": message });
    let body = json!({ "type": "error", "error": error, "request_id": request });
    let refusal = Refusal { code, headers: BTreeMap::new(), body }.header("request-id", request);
    match trouble {
        Trouble::RateLimited { retry_after: Some(seconds) } => {
            let reset = after(about.now, *seconds).strftime("%Y-%m-%dT%H:%M:%SZ");
            refusal
                .header("retry-after", seconds)
                .header("anthropic-ratelimit-input-tokens-limit", 50_000)
                .header("anthropic-ratelimit-input-tokens-remaining", 0)
                .header("anthropic-ratelimit-input-tokens-reset", reset)
        }
        Trouble::UsageLimit { resets_in } => {
            let reset = after(about.now, *resets_in).as_second();
            refusal
                .header("retry-after", resets_in)
                .header("anthropic-ratelimit-unified-status", "rejected")
                .header("anthropic-ratelimit-unified-reset", reset)
                .header("anthropic-ratelimit-unified-representative-claim", "five_hour")
                .header("anthropic-ratelimit-unified-5h-status", "rejected")
                .header("anthropic-ratelimit-unified-5h-reset", reset)
                .header("anthropic-ratelimit-unified-5h-utilization", "1.0")
                .header("anthropic-ratelimit-unified-overage-status", "rejected")
                .header("anthropic-ratelimit-unified-overage-disabled-reason", "org_level_disabled")
        }
        _ => refusal,
    }
}

fn openai(trouble: &Trouble, about: About<'_>) -> Refusal {
    let again = match trouble {
        Trouble::RateLimited { retry_after: Some(seconds) } => format!(" Please try again in {seconds}s."),
        _ => String::new(),
    };
    let service = match (trouble, about.format) {
        (Trouble::ContextOverflow, Format::Chat) => "chat",
        _ => "openai",
    };
    let (code, kind, detail, message) = words(service, trouble, about, &again);
    let param = match (trouble, about.format) {
        (Trouble::ContextOverflow, Format::Chat) => Some("messages"),
        (Trouble::ContextOverflow, _) => Some("input"),
        _ => None,
    };
    let mut error = json!({ "message": message, "type": kind, "param": param, "code": detail });
    let mut headers = BTreeMap::from([("x-request-id".to_owned(), request_id(about))]);
    let mut add = |name: &str, value: String| headers.insert(name.to_owned(), value);
    match trouble {
        Trouble::RateLimited { retry_after } => {
            add("x-ratelimit-limit-requests", "500".to_owned());
            add("x-ratelimit-remaining-requests", "499".to_owned());
            add("x-ratelimit-reset-requests", "120ms".to_owned());
            add("x-ratelimit-limit-tokens", "30000".to_owned());
            add("x-ratelimit-remaining-tokens", "0".to_owned());
            if let Some(seconds) = retry_after {
                add("x-ratelimit-reset-tokens", format!("{seconds}s"));
                add("retry-after", seconds.to_string());
                add("retry-after-ms", (seconds * 1000).to_string());
            }
        }
        Trouble::UsageLimit { resets_in } => {
            let reset = after(about.now, *resets_in).as_second();
            // The one error that is no error of the interface but of a subscription, and looks different.
            error = json!({
                "type": kind,
                "message": message,
                "plan_type": "plus",
                "resets_at": reset,
                "resets_in_seconds": resets_in,
            });
            add("x-codex-primary-used-percent", "100.0".to_owned());
            add("x-codex-primary-window-minutes", "300".to_owned());
            add("x-codex-primary-reset-after-seconds", resets_in.to_string());
            add("x-codex-primary-reset-at", reset.to_string());
        }
        _ => {}
    }
    Refusal { code, headers, body: json!({ "error": error }) }
}

fn gemini(trouble: &Trouble, about: About<'_>) -> Refusal {
    let again = match trouble {
        Trouble::RateLimited { retry_after: Some(seconds) } | Trouble::UsageLimit { resets_in: seconds } => {
            format!("\nPlease retry in {seconds}s.")
        }
        _ => String::new(),
    };
    let (code, status, _, message) = words("gemini", trouble, about, &again);
    let mut error = json!({ "code": code, "message": message, "status": status });
    let details = gemini_details(trouble, about.model);
    if !details.is_empty() {
        error["details"] = json!(details);
    }
    Refusal { code, headers: BTreeMap::new(), body: json!({ "error": error }) }
}

const QUOTA: &str = "generativelanguage.googleapis.com/generate_content_free_tier_requests";

fn gemini_details(trouble: &Trouble, model: &str) -> Vec<Value> {
    let info = |reason: &str| {
        json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "googleapis.com",
            "metadata": { "service": "generativelanguage.googleapis.com" },
        })
    };
    let exceeded = |quota: &str, value: &str, wait: Option<u64>| {
        let violation = json!({
            "quotaMetric": QUOTA,
            "quotaId": quota,
            "quotaDimensions": { "location": "global", "model": model },
            "quotaValue": value,
        });
        let failure = json!({ "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation] });
        let retry = |seconds| json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s") });
        std::iter::once(failure).chain(wait.map(retry)).collect()
    };
    match trouble {
        Trouble::RateLimited { retry_after } => {
            exceeded("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "10", *retry_after)
        }
        Trouble::UsageLimit { resets_in } => {
            exceeded("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "250", Some(*resets_in))
        }
        Trouble::InvalidKey => vec![info("API_KEY_INVALID")],
        Trouble::Forbidden => vec![info("CONSUMER_SUSPENDED")],
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
