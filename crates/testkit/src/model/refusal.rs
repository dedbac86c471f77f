//! Errors of the services: status, headers and body as each of them words it. Sends nothing.

use std::collections::BTreeMap;

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

fn anthropic(trouble: &Trouble, about: About<'_>) -> Refusal {
    let limited = "This request would exceed your organization's rate limit of 50,000 input tokens per minute. For details, \
                   refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current \
                   usage. Please reduce the prompt length or the maximum tokens requested, or try again later.";
    let credit = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or \
                  purchase credits.";
    let (code, kind, message) = match trouble {
        Trouble::ServerError => (500, "api_error", "Internal server error".to_owned()),
        Trouble::Overloaded => (529, "overloaded_error", "Overloaded".to_owned()),
        Trouble::RateLimited { .. } => (429, "rate_limit_error", limited.to_owned()),
        Trouble::UsageLimit { .. } => (
            429,
            "rate_limit_error",
            "This request would exceed your account's rate limit. Please try again later.".to_owned(),
        ),
        Trouble::Unauthorized => {
            let message = "OAuth token has expired. Please obtain a new token or refresh your existing token.";
            (401, "authentication_error", message.to_owned())
        }
        Trouble::InvalidKey => (401, "authentication_error", "invalid x-api-key".to_owned()),
        Trouble::Forbidden => {
            let message = "Your API key does not have permission to use the specified resource.";
            (403, "permission_error", message.to_owned())
        }
        Trouble::ModelNotFound => (404, "not_found_error", format!("model: {}", about.model)),
        Trouble::ContextOverflow => {
            (400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum".to_owned())
        }
        Trouble::OutOfCredit => (400, "invalid_request_error", credit.to_owned()),
    };
    let request = format!("req_{}", about.serial);
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
    let request = format!("req_{}", about.serial);
    let invalid = "invalid_request_error";
    let (code, kind, detail, message) = match trouble {
        Trouble::ServerError => {
            let message = format!(
                "The server had an error while processing your request. Sorry about that! You can retry your request, or \
                 contact us through our help center at help.openai.com if the error persists. (Please include the request ID \
                 {request} in your message.)"
            );
            (500, "server_error", "server_error", message)
        }
        Trouble::Overloaded => {
            let message = "Our servers are currently overloaded. Please try again later.";
            (503, "service_unavailable_error", "server_is_overloaded", message.to_owned())
        }
        Trouble::RateLimited { retry_after } => {
            let again = retry_after.map(|seconds| format!(" Please try again in {seconds}s.")).unwrap_or_default();
            let message = format!(
                "Rate limit reached for {} in organization org-scripted on tokens per min (TPM): Limit 30000, Used 29000, \
                 Requested 3000.{again} Visit https://platform.openai.com/account/rate-limits to learn more.",
                about.model
            );
            (429, "tokens", "rate_limit_exceeded", message)
        }
        Trouble::UsageLimit { .. } => (429, "usage_limit_reached", "", "The usage limit has been reached".to_owned()),
        Trouble::Unauthorized => {
            let message = "Provided authentication token is expired. Please try signing in again.";
            (401, invalid, "token_expired", message.to_owned())
        }
        Trouble::InvalidKey => {
            let message = "Incorrect API key provided: test. You can find your API key at \
                           https://platform.openai.com/account/api-keys.";
            (401, invalid, "invalid_api_key", message.to_owned())
        }
        Trouble::Forbidden => {
            let message = "You have insufficient permissions for this operation. Missing scopes: model.request. Check that you \
                           have the correct role in your organization and project.";
            (403, invalid, "missing_scope", message.to_owned())
        }
        Trouble::ModelNotFound => {
            let message = format!("The model `{}` does not exist or you do not have access to it.", about.model);
            (404, invalid, "model_not_found", message)
        }
        Trouble::ContextOverflow => {
            let message = if about.format == Format::Chat {
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens. \
                 Please reduce the length of the messages."
            } else {
                "Your input exceeds the context window of this model. Please adjust your input and try again."
            };
            (400, invalid, "context_length_exceeded", message.to_owned())
        }
        Trouble::OutOfCredit => {
            let message = "You exceeded your current quota, please check your plan and billing details. For more information \
                           on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.";
            (429, "insufficient_quota", "insufficient_quota", message.to_owned())
        }
    };
    let param = match (trouble, about.format) {
        (Trouble::ContextOverflow, Format::Chat) => Some("messages"),
        (Trouble::ContextOverflow, _) => Some("input"),
        _ => None,
    };
    let mut error = json!({ "message": message, "type": kind, "param": param, "code": detail });
    let mut headers = BTreeMap::from([("x-request-id".to_owned(), request)]);
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
    let model = about.model;
    let (code, status, message) = match trouble {
        Trouble::ServerError => {
            let message = "An internal error has occurred. Please retry or report in \
                           https://developers.generativeai.google/guide/troubleshooting";
            (500, "INTERNAL", message.to_owned())
        }
        Trouble::Overloaded => (503, "UNAVAILABLE", "The model is overloaded. Please try again later.".to_owned()),
        Trouble::RateLimited { retry_after } => (429, "RESOURCE_EXHAUSTED", quota_message(model, *retry_after)),
        Trouble::UsageLimit { resets_in } => (429, "RESOURCE_EXHAUSTED", quota_message(model, Some(*resets_in))),
        Trouble::Unauthorized => {
            let message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or \
                           other valid authentication credential. See \
                           https://developers.google.com/identity/sign-in/web/devconsole-project.";
            (401, "UNAUTHENTICATED", message.to_owned())
        }
        Trouble::InvalidKey => (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.".to_owned()),
        Trouble::Forbidden => {
            (403, "PERMISSION_DENIED", "Permission denied: Consumer 'api_key:scripted' has been suspended.".to_owned())
        }
        Trouble::ModelNotFound => {
            let message = format!(
                "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels \
                 to see the list of available models and their supported methods."
            );
            (404, "NOT_FOUND", message)
        }
        Trouble::ContextOverflow => {
            let message = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
            (400, "INVALID_ARGUMENT", message.to_owned())
        }
        Trouble::OutOfCredit => {
            let message = "Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage \
                           your project and billing.";
            (429, "RESOURCE_EXHAUSTED", message.to_owned())
        }
    };
    let mut error = json!({ "code": code, "message": message, "status": status });
    let details = gemini_details(trouble, model);
    if !details.is_empty() {
        error["details"] = json!(details);
    }
    Refusal { code, headers: BTreeMap::new(), body: json!({ "error": error }) }
}

const QUOTA: &str = "generativelanguage.googleapis.com/generate_content_free_tier_requests";

fn quota_message(model: &str, wait: Option<u64>) -> String {
    let again = wait.map(|seconds| format!("\nPlease retry in {seconds}s.")).unwrap_or_default();
    format!(
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, head \
         to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: \
         https://ai.dev/rate-limit. \n* Quota exceeded for metric: {QUOTA}, limit: 10, model: {model}{again}"
    )
}

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
