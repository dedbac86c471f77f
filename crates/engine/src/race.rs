//! A race as a value: several loops with one objective and one budget. The first that is verified wins, the others are stopped,
//! and the worktrees of those that lost are removed. Runs no loop itself.

use ralph_model::{LoopConfig, LoopId, Money, Outcome, StopBy, Timestamp};
use serde::{Deserialize, Serialize};

use crate::event::{Stop, StopWhen};
use crate::run::{JournalEvent, Machine, ReplayError};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RaceCandidate {
    pub run: LoopId,
    pub agent: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidateEnd {
    pub outcome: Outcome,
    pub iterations: u32,
    pub cost: Money,
    /// How many tests or checks failed in its best state, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<u32>,
    /// Its workspace is as it was at the start.
    pub unchanged: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RaceOutcome {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<LoopId>,
    /// The candidate whose result counts: the winner, else the one with the fewest failures. None where all broke off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<LoopId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RaceEvent {
    /// The race exists. Its candidates may not exist yet.
    RaceStarted {
        config: Box<LoopConfig>,
        candidates: Vec<RaceCandidate>,
    },
    CandidateEnded {
        run: LoopId,
        end: CandidateEnd,
    },
    /// A candidate could not be brought to its end. The others continue.
    CandidateBroke {
        run: LoopId,
        error: String,
    },
    StopRequested {
        stop: Stop,
    },
    /// The worktrees of candidates that lost are gone.
    LosersCleared {
        /// Those that could not be removed, and why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<String>,
    },
    Resumed,
    /// The race ended. Only a record: the outcome follows from the events before it.
    RaceFinished {
        outcome: RaceOutcome,
    },
}

impl JournalEvent for RaceEvent {
    const VERSION: u32 = 1;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RaceEffect {
    /// Begin or continue this candidate; answered by `CandidateEnded` or `CandidateBroke`.
    RunCandidate { run: LoopId },
    /// Ask the candidates that run to stop.
    StopCandidates { stop: Stop },
    /// Remove the worktrees and branches of these candidates; answered by `LosersCleared`.
    ClearWorktrees { runs: Vec<LoopId> },
    /// The race is over: write the record.
    Finish { outcome: RaceOutcome },
}

/// How far a candidate is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It runs, or is to be continued.
    Running,
    Ended(CandidateEnd),
    /// It could not be brought to its end.
    Broke {
        error: String,
    },
}

impl Standing {
    pub const fn end(&self) -> Option<&CandidateEnd> {
        match self {
            Self::Ended(end) => Some(end),
            Self::Running | Self::Broke { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Running,
    Clearing { losers: Vec<LoopId> },
    Done(RaceOutcome),
}

/// One race, as far as its journal goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaceRun {
    config: LoopConfig,
    started: Timestamp,
    last: Timestamp,
    candidates: Vec<(RaceCandidate, Standing)>,
    winner: Option<LoopId>,
    stop: Option<Stop>,
    phase: Phase,
}

impl RaceRun {
    /// What all candidates are asked to do.
    pub const fn config(&self) -> &LoopConfig {
        &self.config
    }

    /// The candidates in their order, each with how far it is.
    pub fn candidates(&self) -> impl Iterator<Item = (&RaceCandidate, &Standing)> {
        self.candidates.iter().map(|(candidate, standing)| (candidate, standing))
    }

    /// The candidate that was verified first.
    pub const fn winner(&self) -> Option<LoopId> {
        self.winner
    }

    /// When the race began, and when its last event happened.
    pub const fn times(&self) -> (Timestamp, Timestamp) {
        (self.started, self.last)
    }

    /// What the candidates that ended cost together.
    pub fn cost(&self) -> Money {
        self.candidates.iter().filter_map(|(_, standing)| standing.end()).map(|end| end.cost).sum()
    }

    fn conclude(&mut self, run: LoopId, standing: Standing) -> Vec<RaceEffect> {
        let Some((_, own)) = self.candidates.iter_mut().find(|(candidate, _)| candidate.run == run) else {
            return vec![];
        };
        if own.end().is_some() || self.phase != Phase::Running {
            return vec![];
        }
        let verified = standing.end().is_some_and(|end| end.outcome == Outcome::Completed { verified: true });
        *own = standing;
        let mut effects = Vec::new();
        if verified && self.winner.is_none() {
            self.winner = Some(run);
            let stop = Stop { when: StopWhen::Now, by: StopBy::Race { winner: run } };
            if self.is_running() {
                effects.push(RaceEffect::StopCandidates { stop });
            }
        }
        if !self.is_running() {
            effects.extend(self.clear());
        }
        effects
    }

    fn is_running(&self) -> bool {
        self.candidates.iter().any(|(_, standing)| *standing == Standing::Running)
    }

    /// All candidates are at their end: removes what is not kept.
    fn clear(&mut self) -> Vec<RaceEffect> {
        let is_lost = |run: LoopId, end: &CandidateEnd| match self.winner {
            Some(winner) => run != winner,
            // A candidate that changed nothing has nothing to keep.
            None => end.unchanged,
        };
        let ended = self.candidates.iter().filter_map(|(candidate, standing)| Some((candidate.run, standing.end()?)));
        let losers: Vec<LoopId> = ended.filter(|(run, end)| is_lost(*run, end)).map(|(run, _)| run).collect();
        if losers.is_empty() {
            return self.finish();
        }
        self.phase = Phase::Clearing { losers: losers.clone() };
        vec![RaceEffect::ClearWorktrees { runs: losers }]
    }

    fn finish(&mut self) -> Vec<RaceEffect> {
        let outcome = RaceOutcome { winner: self.winner, counts: self.winner.or_else(|| self.furthest()) };
        self.phase = Phase::Done(outcome.clone());
        vec![RaceEffect::Finish { outcome }]
    }

    /// Without a winner, the candidate with the fewest failures; of equals, one that did something, and the first of those.
    fn furthest(&self) -> Option<LoopId> {
        let ended = self.candidates.iter().filter_map(|(candidate, standing)| Some((candidate.run, standing.end()?)));
        ended.min_by_key(|(_, end)| (end.failing.unwrap_or(u32::MAX), end.unchanged)).map(|(run, _)| run)
    }

    /// Continues what the former process left: every candidate without an end, and the worktrees that were to be removed.
    fn resume(&mut self) -> Vec<RaceEffect> {
        match &self.phase {
            Phase::Done(_) => vec![],
            Phase::Clearing { losers } => vec![RaceEffect::ClearWorktrees { runs: losers.clone() }],
            Phase::Running => {
                let mut effects = Vec::new();
                for (candidate, standing) in &mut self.candidates {
                    if standing.end().is_none() {
                        *standing = Standing::Running;
                        effects.push(RaceEffect::RunCandidate { run: candidate.run });
                    }
                }
                // The request of a person was for the process that is gone; that of the winner stands.
                self.stop = None;
                if let Some(winner) = self.winner {
                    let stop = Stop { when: StopWhen::Now, by: StopBy::Race { winner } };
                    effects.push(RaceEffect::StopCandidates { stop });
                }
                effects
            }
        }
    }
}

impl Machine for RaceRun {
    type Event = RaceEvent;
    type Effect = RaceEffect;
    type Outcome = RaceOutcome;

    fn start(at: Timestamp, event: RaceEvent) -> Result<(Self, Vec<RaceEffect>), ReplayError> {
        let RaceEvent::RaceStarted { config, candidates } = event else { return Err(ReplayError::NoStart) };
        let effects = candidates.iter().map(|candidate| RaceEffect::RunCandidate { run: candidate.run }).collect();
        let candidates = candidates.into_iter().map(|candidate| (candidate, Standing::Running)).collect();
        let (winner, stop, phase) = (None, None, Phase::Running);
        Ok((Self { config: *config, started: at, last: at, candidates, winner, stop, phase }, effects))
    }

    fn step(&mut self, at: Timestamp, event: RaceEvent) -> Vec<RaceEffect> {
        self.last = self.last.max(at);
        match event {
            RaceEvent::CandidateEnded { run, end } => self.conclude(run, Standing::Ended(end)),
            RaceEvent::CandidateBroke { run, error } => self.conclude(run, Standing::Broke { error }),
            RaceEvent::StopRequested { stop } => {
                self.stop = Some(stop);
                if self.is_running() { vec![RaceEffect::StopCandidates { stop }] } else { vec![] }
            }
            RaceEvent::LosersCleared { .. } if matches!(self.phase, Phase::Clearing { .. }) => self.finish(),
            RaceEvent::Resumed => self.resume(),
            RaceEvent::LosersCleared { .. } | RaceEvent::RaceStarted { .. } | RaceEvent::RaceFinished { .. } => vec![],
        }
    }

    fn outcome(&self) -> Option<&RaceOutcome> {
        match &self.phase {
            Phase::Done(outcome) => Some(outcome),
            Phase::Running | Phase::Clearing { .. } => None,
        }
    }
}

#[cfg(test)]
#[path = "race_tests.rs"]
mod tests;
