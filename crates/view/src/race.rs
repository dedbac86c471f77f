//! A race with all of its candidates, as `ralph show` has it.

use ralph_engine::{RaceRun, Standing};
use ralph_model::{LoopId, Money, RunKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::list::ListEntry;
use crate::run::RunStatus;
use crate::wire;

/// A race.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RaceRunView {
    /// How it stands.
    #[serde(flatten)]
    pub entry: ListEntry,
    /// The candidate that was verified first.
    pub winner: Option<LoopId>,
    /// What its candidates may spend together, in dollars.
    #[serde(rename = "budgetUSD", with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub budget: Money,
    /// All candidates, in their order.
    pub candidates: Vec<ListEntry>,
}

impl RaceRunView {
    /// A race, with what listings have of it and of those candidates that began.
    pub fn new(mut entry: ListEntry, race: &RaceRun, listed: &[ListEntry]) -> Self {
        let candidates: Vec<ListEntry> = race
            .candidates()
            .map(|(candidate, standing)| {
                let known = listed.iter().find(|one| one.loop_id == candidate.run).cloned();
                let mut one = known.unwrap_or_else(|| not_begun(&entry, candidate.run));
                one.agent.clone_from(&candidate.agent);
                if let Standing::Broke { error } = standing {
                    one.reason.get_or_insert_with(|| error.clone());
                }
                one
            })
            .collect();
        // The listing has the sums of those that ended.
        entry.iterations = entry.iterations.max(candidates.iter().map(|one| one.iterations).sum());
        entry.cost = entry.cost.max(candidates.iter().map(|one| one.cost).sum());
        let budget = race.config().race.as_ref().map_or(race.config().max_cost, |race| race.cap);
        Self { entry, winner: race.winner(), budget, candidates }
    }
}

/// A candidate that the race names and that has no journal.
fn not_begun(race: &ListEntry, run: LoopId) -> ListEntry {
    let status = match race.status {
        RunStatus::Running | RunStatus::Interrupted | RunStatus::Waiting => race.status,
        RunStatus::Completed | RunStatus::Aborted | RunStatus::Error => RunStatus::Error,
    };
    ListEntry {
        loop_id: run,
        short: run.short(),
        kind: RunKind::Loop,
        race: Some(race.loop_id),
        status,
        reason: None,
        iterations: 0,
        cost: Money::ZERO,
        own_cost: Money::ZERO,
        verified: false,
        grade: None,
        ..race.clone()
    }
}
