//! What the gateway itself answers, in the format of the service that was asked: the program reports it as it reports its service.

use hyper::StatusCode;
use ralph_llm::wire::Format;
use ralph_model::Money;
use serde_json::{Value, json};

use crate::ledger::Shortfall;

/// Why a request is not forwarded.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Refusal {
    /// The budget does not cover it.
    Budget(Shortfall),
    /// It has not the token of this run.
    Token,
    /// Its body is larger than any service takes.
    TooLarge,
    /// What it costs could not be counted.
    Uncountable,
}

impl Refusal {
    /// No program tries these again by itself.
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Budget(_) => StatusCode::PAYMENT_REQUIRED,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Uncountable => StatusCode::NOT_FOUND,
        }
    }

    fn message(self) -> String {
        match self {
            Self::Budget(Shortfall { budget, committed, expected }) => {
                let left: Money = budget.less(committed);
                format!(
                    "Ralph's budget for this run does not cover the request: about {expected} is needed and {left} of {budget} \
                     is left. Do not try again."
                )
            }
            Self::Token => "the request does not carry the token of this run of Ralph".to_owned(),
            Self::TooLarge => "the request is larger than any model service accepts".to_owned(),
            Self::Uncountable => {
                "Ralph cannot count what this request costs, so it does not forward it under a budget. Do not try again.".to_owned()
            }
        }
    }

    pub(crate) fn body(self, format: Option<Format>) -> Value {
        let message = self.message();
        let code = self.status().as_u16();
        match format {
            Some(Format::Messages) => {
                let kind = match self {
                    Self::Budget(_) => "billing_error",
                    Self::Token => "authentication_error",
                    Self::TooLarge => "request_too_large",
                    Self::Uncountable => "not_found_error",
                };
                json!({ "type": "error", "error": { "type": kind, "message": message } })
            }
            Some(Format::Gemini) => {
                let status = match self {
                    Self::Budget(_) => "FAILED_PRECONDITION",
                    Self::Token => "UNAUTHENTICATED",
                    Self::TooLarge => "INVALID_ARGUMENT",
                    Self::Uncountable => "NOT_FOUND",
                };
                json!({ "error": { "code": code, "message": message, "status": status } })
            }
            Some(Format::Responses | Format::Chat) | None => {
                let kind = match self {
                    Self::Budget(_) => "insufficient_quota",
                    Self::Token => "invalid_api_key",
                    Self::TooLarge | Self::Uncountable => "invalid_request_error",
                };
                json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
            }
        }
    }
}
