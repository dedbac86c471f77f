//! What happened (events, past tense) and what has to be done (effects, imperative).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ralph_model::{
    AgentRun, AgentSpec, Attempt, Best, Cost, Iteration, LoopConfig, Millis, Money, Outcome, OutputRef, Pin, StopBy,
    TestListing, Timestamp, TreeHash, Tripwire, Trouble, Verdict, Violation,
};

use crate::claim::Claim;
use crate::run::JournalEvent;

/// The newest version of the events. A reader refuses newer ones rather than guess.
///
/// - 4: an end is a typed cause, not a sentence; an agent's claim is recorded when it is observed.
/// - 5: a resume can change the limit on the time. Other events are still written as 4, because readers of 4 understand them.
pub const EVENT_VERSION: u32 = 5;

/// The version of the decisions. A changed decision gets the next number, written into new journals, so that an old
/// journal replays as it was lived.
///
/// - 1: the first.
/// - 2: a tree on which the checks failed and passed is flaky; tampering is counted; the tripwire.
/// - 3: a service that refuses again is given at least the backoff, whatever it says; a clock that was set back counts from there;
///   a refused pass is not counted either when its tripwire is cut short; spent money does not end a loop whose next agent costs
///   none; a single iteration raises no alert.
/// - 4: a run that could not be counted is worse than any that could; tampering counts when it happens and not for as long as it
///   stays; a loop that was ended for tampering does not complete by a resume alone; a tree that is the start's is not verified;
///   an agent that cannot be started ends the loop at once; the alert about iterations counts those that are over.
/// - 5: a resume that finds the workspace at an earlier state does not check it as the work of the last pass.
/// - 6: the ratchet also undoes the last iteration of a loop that is aborted.
pub const BEHAVIOUR: u32 = 6;

/// The first behaviour that knows of flakes and of tampering.
pub(crate) const V2_FLAKES_AND_TAMPERING: u32 = 2;

/// The first behaviour of the patient kind: see 3 above.
pub(crate) const V3_SERVICE_BACKOFF: u32 = 3;

/// The first behaviour that asks whether a run could be counted: see 4 above.
pub(crate) const V4_COUNTED_RUNS: u32 = 4;

/// The first behaviour that notices a workspace that was rewound: see 5 above.
pub(crate) const V5_REWINDS: u32 = 5;

/// The first behaviour whose ratchet covers the last iteration: see 6 above.
pub(crate) const V6_RATCHET_AT_END: u32 = 6;

/// Where a loop began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartPoint {
    /// The workspace before anything ran.
    pub tree: TreeHash,
    /// The commit that was checked out, where there is git and a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The branch, where one is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The version of Ralph that started it.
    pub ralph: String,
    /// The version of the decisions.
    pub behaviour: u32,
    /// What a verdict rests on besides its commands, as it was found at the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
    /// Test runners that the checks lead to, as far as they are known; none in journals from before results had grades.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runners: Option<Vec<String>>,
    /// Files that the checks use and compute the names of, so that they cannot be pinned, as they are written there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub computed: Vec<String>,
    /// What the runners said of their tests, where they were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listings: Vec<TestListing>,
    /// How agent and checks are kept inside, in words; empty in journals from before it was said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sandbox: String,
}

/// A service that refuses for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub until: Timestamp,
    /// How long that is at most: the clock may be set back meanwhile.
    pub most: Millis,
    pub trouble: Trouble,
}

/// Money of all loops of a UTC day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DayBudget {
    pub spent: Money,
    pub cap: Money,
}

/// Why an iteration could not begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "camelCase")]
pub enum Refusal {
    /// Nothing is left of the day's money.
    DailyBudget { day: DayBudget },
    /// Nothing is left of the money of the race that the loop takes part in.
    Race {
        /// What its loops spent, or hold for runs that are under way.
        spent: Money,
        cap: Money,
    },
    /// A prohibited file is not as it was at the loop's start.
    Prohibited { violations: Vec<Violation> },
    /// The wait was cut short because somebody asked the loop to stop.
    Stopped,
}

/// When a loop has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopWhen {
    /// When the current iteration is decided.
    AfterIteration,
    /// At once.
    Now,
}

/// A request to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// When.
    pub when: StopWhen,
    /// Who asked.
    pub by: StopBy,
}

/// A limit that is near. Each is raised once in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Alert {
    /// Four fifths of the loop's money are spent.
    Cost80,
    /// Nine tenths of the iterations are begun.
    Iterations90,
    /// Four fifths of the day's money are spent.
    Day80,
}

impl Alert {
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Cost80 => "80 % of the loop's budget is spent",
            Self::Iterations90 => "90 % of the loop's iterations are used",
            Self::Day80 => "80 % of the day's budget is spent",
        }
    }
}

/// The unanswered attempt of a Ralph that died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lost {
    pub attempt: Attempt,
    /// Whether its process may have run; one that never started costs nothing and uses no iteration.
    pub ran: bool,
    pub cost: Cost,
    /// What is charged where the cost is unknown; the whole reservation in journals of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Money>,
}

impl Lost {
    /// What is charged of what was reserved for it.
    pub fn charge(&self, reserved: Money) -> Money {
        match (self.cost, self.estimate) {
            (Cost::Unknown, Some(estimate)) => estimate.min(reserved),
            (cost, _) => cost.charge(reserved),
        }
    }
}

/// New limits for a resumed loop, and other agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Time in all, as far as a process worked on the loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<Millis>,
    /// The agent costs nothing that is counted, from here on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unmetered: bool,
    /// Agents may report their cost only after a run, from here on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_after_run: bool,
    /// The agent from here on; the same as before where it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSpec>,
    /// The agents that stand by from here on; the same as before where it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failover: Vec<AgentSpec>,
}

/// Something that happened. Written down before anybody acts on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    LoopStarted {
        config: Box<LoopConfig>,
        start: StartPoint,
    },
    /// The checks ran on the untouched workspace.
    BaselineFinished {
        attempt: Attempt,
        verdict: Verdict,
    },
    /// Money is reserved and the workspace is as it should be: the agent may run.
    IterationStarted {
        /// The attempt that this answers, and under which the agent runs.
        attempt: Attempt,
        /// The workspace before the agent.
        tree: TreeHash,
        reserved: Money,
        day: DayBudget,
    },
    IterationRefused {
        attempt: Attempt,
        refusal: Refusal,
    },
    AgentFinished {
        attempt: Attempt,
        run: Box<AgentRun>,
        /// The day's money, this run included.
        day: DayBudget,
        /// What its final message says about its work, judged by the prompt that it was given; none in journals up to
        /// version 3, where it is derived again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<Claim>,
    },
    /// Prohibited files are again as they were.
    ProhibitedRestored {
        attempt: Attempt,
        violations: Vec<Violation>,
        patch: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<TreeHash>,
    },
    /// The checks ran on the agent's work.
    ChecksFinished {
        attempt: Attempt,
        verdict: Verdict,
        /// The workspace, where the checks themselves changed the work: a formatter among them, say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<TreeHash>,
    },
    /// The checks were asked to fail.
    TripwireFinished {
        attempt: Attempt,
        tripwire: Tripwire,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        moved: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<OutputRef>,
    },
    /// Pinned files that the agent changed are as they were at the start, for good: the workspace is what was verified.
    PinsRestored {
        attempt: Attempt,
        patch: String,
        /// Files that are not as they were verified all the same.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        moved: Vec<String>,
        tree: TreeHash,
    },
    /// The workspace is again as it was at an earlier point.
    TreeRestored {
        attempt: Attempt,
        tree: TreeHash,
    },
    /// The verified work was committed, or could not be.
    WorkCommitted {
        attempt: Attempt,
        /// The commit; none when nothing was left to commit or it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    StopRequested {
        stop: Stop,
    },
    /// A new Ralph process goes on with the loop.
    Resumed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<Lost>,
        #[serde(default)]
        limits: Limits,
        /// The highest attempt that anybody remembers, also from events that were set aside: none is used twice.
        #[serde(default)]
        attempts: Attempt,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<TreeHash>,
        /// The user restored another state of the loop than that of its last iteration, whatever was edited since.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rewound: bool,
        /// What the books have for attempts that ended, also from events that were set aside; the lost one is not among them.
        #[serde(default)]
        settled: Money,
    },
    /// People were told of an alert: no other process of the loop tells them again.
    AlertRaised {
        alert: Alert,
    },
    /// A user told the loop something for its next prompt.
    HintGiven {
        /// Which of the loop's hints, counted from 1.
        number: u32,
        text: String,
    },
    /// Ralph's own machinery failed in a way that ends the loop for now.
    Faulted {
        error: String,
        /// What became of the agent that ran; none where none did, and in journals of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<Lost>,
        /// Whether it was cut short because somebody asked to stop, and did not fail.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stopped: bool,
    },
    /// The loop ended. Only a record: the outcome follows from the events before it.
    LoopFinished {
        outcome: Outcome,
    },
}

impl JournalEvent for Event {
    const VERSION: u32 = EVENT_VERSION;

    fn version(&self) -> u32 {
        match self {
            Self::Resumed { limits, .. } if limits.max_duration.is_some() => 5,
            _ => 4,
        }
    }
}

/// An event that this Ralph cannot read.
#[derive(Debug, thiserror::Error)]
pub enum DecodeEvent {
    #[error("the event has version {version}, and this Ralph reads up to {known}: use a newer Ralph for this run")]
    Newer {
        version: u32,
        /// The newest version that this Ralph reads.
        known: u32,
    },
    #[error("the event cannot be read")]
    Unreadable { source: serde_json::Error },
}

/// Something to do. Every effect with an attempt is answered by an event with the same attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Run the checks on the untouched workspace; answered by `BaselineFinished`.
    RunBaseline { attempt: Attempt },
    /// Rest, look at prohibited paths, reserve money; answered by `IterationStarted` or `IterationRefused`.
    BeginIteration {
        iteration: Iteration,
        attempt: Attempt,
        /// How long to rest first.
        pause: Millis,
        /// What is waited for, where that is more than a rest.
        wait: Option<Wait>,
        /// How much money to reserve; zero for an unmetered agent.
        reserve: Money,
    },
    /// Run the agent; answered by `AgentFinished`.
    RunAgent {
        iteration: Iteration,
        attempt: Attempt,
        agent: Box<AgentSpec>,
        prompt: String,
        /// The money that it may use; none when it costs nothing that is counted.
        budget: Option<Money>,
        /// The tokens that it may use, where they are limited.
        tokens: Option<u64>,
        timeout: Millis,
    },
    /// Cut short whatever runs under this attempt; its own answer still comes.
    StopRunning { attempt: Attempt },
    /// Keep the offending content and put prohibited files back; answered by `ProhibitedRestored`.
    RestoreProhibited { attempt: Attempt },
    /// Run the checks; answered by `ChecksFinished`.
    RunChecks { iteration: Iteration, attempt: Attempt },
    /// Ask the checks to fail; answered by `TripwireFinished`.
    TripWire { iteration: Iteration, attempt: Attempt },
    /// Put pinned files back for good; answered by `PinsRestored`.
    RestorePinned { attempt: Attempt },
    /// Make the workspace what it was; answered by `TreeRestored`.
    RestoreTree { attempt: Attempt, to: Best },
    /// Commit the verified work; answered by `WorkCommitted`.
    CommitWork { attempt: Attempt },
    /// Tell people that a limit is near.
    RaiseAlert(Alert),
    /// The loop is over: write the record and the projections.
    Finish { outcome: Outcome },
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
