//! Runs in a listing, and the candidates of a race.

use ralph_model::{AgentSpec, Grade, LoopId, Money, RunKind, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::RunStatus;
use crate::wire;

/// One run in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListEntry {
    /// Which run.
    pub loop_id: LoopId,
    /// The eight characters that people type.
    pub short: String,
    /// What it is.
    #[serde(default)]
    pub kind: RunKind,
    /// The race that it is a candidate of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race: Option<LoopId>,
    /// How it stands.
    pub status: RunStatus,
    /// The machine that it runs on, where that is not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Why it was aborted, or what failed.
    pub reason: Option<String>,
    /// What it is about.
    pub objective: String,
    /// Where it works.
    pub workspace: String,
    /// The agent that it began with.
    pub agent: String,
    /// The skill that it follows.
    pub skill: Option<String>,
    /// How many iterations count.
    pub iterations: u32,
    /// What it cost so far, in dollars.
    #[serde(rename = "costUSD", with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub cost: Money,
    /// What it cost itself, in dollars: what a race cost is the sum of its candidates, which are listed too, so that this is zero
    /// for a race and can be added up.
    #[serde(default, rename = "ownCostUSD", with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub own_cost: Money,
    /// Whether it completed and checks said so.
    pub verified: bool,
    /// What that is worth; not known of runs that ended before there were grades.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// When it started.
    #[serde(with = "wire::moment")]
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// When its last event happened.
    #[serde(with = "wire::moment")]
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// When it ended.
    #[serde(with = "wire::optional_moment")]
    #[schemars(with = "Option<String>")]
    pub finished_at: Option<Timestamp>,
}

impl ListEntry {
    /// The state in a word or two.
    pub fn state(&self) -> String {
        match (self.status, &self.reason, &self.host) {
            (RunStatus::Aborted, Some(reason), _) => reason.clone(),
            (RunStatus::Completed, ..) if !self.verified => "COMPLETED (unverified)".to_owned(),
            (RunStatus::Running, _, Some(host)) => format!("RUNNING on {host}"),
            (RunStatus::Running, ..) if self.agent == AgentSpec::IN_SESSION => "RUNNING (in session)".to_owned(),
            (status, ..) => status.name().to_owned(),
        }
    }
}

/// A race, as one of its candidates sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RaceView {
    /// The first candidate that was verified.
    pub winner: Option<LoopId>,
    /// All candidates, in their order.
    pub candidates: Vec<RacingView>,
}

impl RaceView {
    /// The race of these candidates, each with the time of its end; none where there are none.
    pub fn new(candidates: &[ListEntry]) -> Option<Self> {
        let verified = candidates.iter().filter(|candidate| candidate.verified);
        let winner = verified.min_by_key(|candidate| candidate.finished_at).map(|winner| winner.loop_id);
        let racing = |one: &ListEntry| RacingView {
            loop_id: one.loop_id,
            agent: one.agent.clone(),
            status: one.status,
            reason: one.reason.clone(),
            won: winner == Some(one.loop_id),
        };
        (!candidates.is_empty()).then(|| Self { winner, candidates: candidates.iter().map(racing).collect() })
    }
}

/// One candidate of a race.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RacingView {
    /// Its run.
    pub loop_id: LoopId,
    /// The agent that it began with.
    pub agent: String,
    /// How it stands.
    pub status: RunStatus,
    /// Why it was aborted, or what failed.
    pub reason: Option<String>,
    /// Whether it won.
    pub won: bool,
}
