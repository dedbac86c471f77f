//! The line that a finished loop leaves. Field names are a contract with scripts.

use ralph_model::{LoopId, Millis, Money, RunKind, Timestamp};
use ralph_view::wire;
use serde::{Deserialize, Serialize};

/// How a loop ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    Completed,
    /// Without, for a reason.
    Aborted,
    Error,
}

/// One finished loop. What a line does not name is zero, false or nothing, so that lines of other versions are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// What ended: a loop, unless the line says otherwise.
    #[serde(default, skip_serializing_if = "is_loop")]
    pub kind: RunKind,
    /// Which loop. A loop that was resumed after its end leaves another line; its last one counts.
    pub loop_id: LoopId,
    #[serde(default)]
    pub skill: Option<String>,
    #[serde(default)]
    pub task_type: Option<String>,
    /// When it started, as RFC 3339.
    #[serde(with = "wire::moment")]
    pub start_time: Timestamp,
    /// When it ended, as RFC 3339.
    #[serde(with = "wire::moment")]
    pub end_time: Timestamp,
    pub status: Status,
    #[serde(default)]
    pub abort_reason: Option<String>,
    #[serde(default)]
    pub iterations: u32,
    #[serde(rename = "costUSD", with = "wire::dollars", default)]
    pub cost: Money,
    /// How long the loop ran, as a number of seconds.
    #[serde(rename = "durationSeconds", with = "wire::seconds", default)]
    pub duration: Millis,
    #[serde(default)]
    pub files_modified: u64,
    /// Tests failing at the baseline minus tests failing at the end; negative when the loop broke more than it fixed.
    #[serde(default)]
    pub tests_fixed: i64,
    /// Whether the agent ever said that it is done.
    #[serde(default)]
    pub completion_promise_detected: bool,
    #[serde(default)]
    pub verification_passed: bool,
    /// How often the agent said that it is done and the checks failed.
    #[serde(default)]
    pub false_claims: u32,
    /// In how many iterations the checks were tampered with.
    #[serde(default)]
    pub tampered: u32,
    /// In how many iterations checks failed and passed on the same files.
    #[serde(default)]
    pub flakes: u32,
    /// The agents that ran, joined by commas in order of first use.
    #[serde(default)]
    pub agent: String,
    /// Their models in the same way, as far as they are known.
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_loop(kind: &RunKind) -> bool {
    *kind == RunKind::Loop
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
