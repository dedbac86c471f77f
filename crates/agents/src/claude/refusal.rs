//! What a failed request means, from the names that the program gives to failures, and from the service's own words where it
//! gives none. Knows only failures, no lines.

use ralph_model::{Timestamp, Trouble, TroubleKind};

use crate::trouble::{classify, reset_time};

/// What to do about a login.
pub(super) const LOG_IN: &str = "run `claude` and log in with /login, or set ANTHROPIC_API_KEY";
const TOP_UP: &str = "add credit to the account that pays for Claude, or log in to another one";
const OTHER_MODEL: &str = "choose a model that the account can use, or let Claude Code choose";

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
    /// In words.
    pub(super) words: String,
}

impl Failure {
    /// The trouble of the service behind it, if it is one. `reason` is why the program ended.
    pub(super) fn trouble(&self, reason: &str, now: Timestamp) -> Option<Trouble> {
        let named = by_reason(reason).or_else(|| by_detail(&self.detail)).or_else(|| self.by_error());
        let kind = match named {
            Some(Named::Trouble(kind)) => kind,
            Some(Named::Own) => return None,
            None => classify(self.status, &format!("{} {}", self.service, self.words), now)?.kind,
        };
        let until = match kind {
            TroubleKind::RateLimit | TroubleKind::Overload => self.until.or_else(|| reset_time(&self.words, now)),
            TroubleKind::Unreachable
            | TroubleKind::Setup
            | TroubleKind::Authentication
            | TroubleKind::OutOfCredit
            | TroubleKind::ModelNotFound
            | TroubleKind::ContextOverflow => None,
        };
        Some(Trouble { kind, until, message: self.words.clone(), advice: advice(kind).map(str::to_owned) })
    }

    fn by_error(&self) -> Option<Named> {
        use TroubleKind::{Authentication, ModelNotFound, OutOfCredit, Overload, RateLimit};
        Some(match self.error.as_str() {
            "authentication_failed"
            | "oauth_org_not_allowed"
            | "account_on_hold"
            | "verification_required"
            | "cloud_credential_error" => Named::Trouble(Authentication),
            "billing_error" => Named::Trouble(OutOfCredit),
            "rate_limit" => Named::Trouble(RateLimit),
            "overloaded" | "server_error" => Named::Trouble(Overload),
            "model_not_found" => Named::Trouble(ModelNotFound),
            "max_output_tokens" => Named::Own,
            _ => return None,
        })
    }
}

/// What a name says.
enum Named {
    /// A trouble of the service.
    Trouble(TroubleKind),
    /// A failure that neither time nor a person at the service can mend.
    Own,
}

fn by_reason(reason: &str) -> Option<Named> {
    matches!(reason, "prompt_too_long" | "blocking_limit" | "rapid_refill_breaker")
        .then_some(Named::Trouble(TroubleKind::ContextOverflow))
}

fn by_detail(detail: &str) -> Option<Named> {
    Some(Named::Trouble(match detail {
        "autocompact_thrashing" => TroubleKind::ContextOverflow,
        "usage_limit_reached" => TroubleKind::RateLimit,
        "model_requires_usage_credits" | "long_context_credits_required" => TroubleKind::OutOfCredit,
        "connection_failed"
        | "stream_idle_timeout"
        | "no_response"
        | "network_edge_blocked"
        | "computer_slept"
        | "gateway_content_type"
        | "tls_untrusted_ca" => TroubleKind::Unreachable,
        "api_key_auth_disabled"
        | "gateway_session_expired"
        | "gateway_signin_required"
        | "invalid_credential_header"
        | "org_disabled_credential"
        | "provider_credentials"
        | "stored_login_refused" => TroubleKind::Authentication,
        "max_output_tokens" => return Some(Named::Own),
        _ => return None,
    }))
}

/// What a person can do.
pub(super) const fn advice(kind: TroubleKind) -> Option<&'static str> {
    match kind {
        TroubleKind::Authentication => Some(LOG_IN),
        TroubleKind::OutOfCredit => Some(TOP_UP),
        TroubleKind::ModelNotFound => Some(OTHER_MODEL),
        TroubleKind::RateLimit
        | TroubleKind::Overload
        | TroubleKind::Unreachable
        | TroubleKind::ContextOverflow
        | TroubleKind::Setup => None,
    }
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
