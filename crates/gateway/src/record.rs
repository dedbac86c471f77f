//! What is reported of requests: figures and no content.

use ralph_model::{Money, Timestamp, Tokens, Trouble};
use serde::{Deserialize, Serialize};

use crate::ledger::Shortfall;

#[derive(Debug, Clone, PartialEq)]
pub enum GatewayEvent {
    Request {
        record: Box<RequestRecord>,
        /// All requests so far.
        totals: Box<RunTotals>,
    },
    /// The first request that the budget does not cover. None is forwarded any more.
    Limit(Shortfall),
    /// A request whose cost could not be counted was not forwarded: its method and path.
    Uncountable(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRecord {
    /// Its number in the run, from 1.
    pub number: u64,
    pub at: Timestamp,
    pub model: String,
    /// The model that answered, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    pub outcome: RequestOutcome,
    /// The status of the answer; none where there was none.
    pub status: Option<u16>,
    /// How often the same request had failed before.
    pub retries: u32,
    pub tokens: Tokens,
    /// What it cost in micro-dollars; none where the model has no price.
    pub cost: Option<Money>,
    /// The service did not report all of its usage, so that the figures are estimates.
    pub is_estimate: bool,
    /// Until the first byte of the answer, in milliseconds.
    pub first_byte_ms: Option<u64>,
    /// Until the end of the answer, in milliseconds.
    pub duration_ms: u64,
    /// How full the model's context is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestOutcome {
    Answered,
    /// The service answered with an error, or could not be reached.
    Failed,
    /// The answer broke off, or the agent did not wait for its end.
    Cut,
    /// The budget did not cover it, so that it was not forwarded.
    Refused,
}

/// How much of a model's context a request takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Tokens that were read and written.
    pub used: u64,
    /// Tokens that fit.
    pub window: u64,
}

impl Context {
    /// In hundredths.
    pub fn percent(self) -> u64 {
        self.used.saturating_mul(100).checked_div(self.window).unwrap_or(0)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunTotals {
    /// Requests that were forwarded to a service.
    pub requests: u64,
    pub tokens: Tokens,
    /// What they cost, as far as their models have prices.
    pub cost: Money,
    /// Models that were used and have no price.
    pub unpriced: Vec<String>,
    pub model: Option<String>,
    /// The request that the budget did not cover.
    pub refused: Option<Shortfall>,
    /// What the last request failed of, if it did, short ones beside the work aside. It may repeat a key.
    pub problem: Option<Trouble>,
    /// Requests that are being answered.
    pub under_way: u64,
}
