//! What a failed request means, from the names that the program gives to failures, and from the service's own words where it
//! gives none. Knows only failures, no lines.

use ralph_model::TroubleKind::{
    Authentication, ContextOverflow, ModelNotFound, OutOfCredit, Overload, RateLimit, Unreachable,
};
use ralph_model::{Timestamp, Trouble};

use crate::refusals::Refusals;
use crate::trouble::{classify, reset_time};

/// What to do about a login.
pub(super) const LOG_IN: &str = "run `claude` and log in with /login, or set ANTHROPIC_API_KEY";

/// Why the program ended, its finer name for a failure, and its name for the kind of failure: no name is in two of these.
pub(super) const REFUSALS: Refusals = Refusals {
    names: &[
        ("prompt_too_long", Some(ContextOverflow)),
        ("blocking_limit", Some(ContextOverflow)),
        ("rapid_refill_breaker", Some(ContextOverflow)),
        ("autocompact_thrashing", Some(ContextOverflow)),
        ("usage_limit_reached", Some(RateLimit)),
        ("model_requires_usage_credits", Some(OutOfCredit)),
        ("long_context_credits_required", Some(OutOfCredit)),
        ("connection_failed", Some(Unreachable)),
        ("stream_idle_timeout", Some(Unreachable)),
        ("no_response", Some(Unreachable)),
        ("network_edge_blocked", Some(Unreachable)),
        ("computer_slept", Some(Unreachable)),
        ("gateway_content_type", Some(Unreachable)),
        ("tls_untrusted_ca", Some(Unreachable)),
        ("api_key_auth_disabled", Some(Authentication)),
        ("gateway_session_expired", Some(Authentication)),
        ("gateway_signin_required", Some(Authentication)),
        ("invalid_credential_header", Some(Authentication)),
        ("org_disabled_credential", Some(Authentication)),
        ("provider_credentials", Some(Authentication)),
        ("stored_login_refused", Some(Authentication)),
        ("authentication_failed", Some(Authentication)),
        ("oauth_org_not_allowed", Some(Authentication)),
        ("account_on_hold", Some(Authentication)),
        ("verification_required", Some(Authentication)),
        ("cloud_credential_error", Some(Authentication)),
        ("billing_error", Some(OutOfCredit)),
        ("rate_limit", Some(RateLimit)),
        ("overloaded", Some(Overload)),
        ("server_error", Some(Overload)),
        ("model_not_found", Some(ModelNotFound)),
        ("max_output_tokens", None),
    ],
    words: &[],
    login: LOG_IN,
    credit: Some("add credit to the account that pays for Claude, or log in to another one"),
    model: "choose a model that the account can use, or let Claude Code choose",
};

/// A request that failed for good, as the program tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Failure {
    /// Its name for the kind of failure.
    pub(super) error: String,
    /// A finer name, where it has one.
    pub(super) detail: String,
    /// The service's name for it.
    pub(super) service: String,
    /// The status of the answer.
    pub(super) status: Option<u16>,
    /// When a limit ends, where the service said so.
    pub(super) until: Option<Timestamp>,
    pub(super) words: String,
}

impl Failure {
    /// The trouble of the service behind it, if it is one. `reason` is why the program ended.
    pub(super) fn trouble(&self, reason: &str, now: Timestamp) -> Option<Trouble> {
        let named = [reason, &self.detail, &self.error].into_iter().find_map(|name| REFUSALS.named(name));
        let kind = match named {
            Some(named) => named?,
            None => classify(self.status, &format!("{} {}", self.service, self.words), now)?.kind,
        };
        let names_a_time = matches!(kind, RateLimit | Overload);
        let until = if names_a_time { self.until.or_else(|| reset_time(&self.words, now)) } else { None };
        Some(REFUSALS.advised(Trouble { kind, until, message: self.words.clone(), advice: None }))
    }
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
