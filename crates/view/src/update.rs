//! What a run sends to those who watch it: what was recorded, and what happens meanwhile.

use ralph_engine::{Alert, StartPoint, Stop};
use ralph_model::{AgentEvent, CheckOutcome, Iteration, LoopConfig, LoopId, Tamper, Timestamp, Tripwire};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::{IterationView, OutcomeView, RunState, VerdictView, WaitView};
use crate::wire;

/// One thing worth showing. All text in it is sanitised: no terminal escapes, no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    /// Which run; none for what concerns no run, or no run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<LoopId>,
    /// Which candidate of a race that is, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<u32>,
    /// What there is to show.
    #[serde(flatten)]
    pub what: What,
}

/// What there is to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(clippy::large_enum_variant, reason = "few are in flight at a time, and most are the large one")]
pub enum What {
    /// An event is in the journal. A reader that missed it finds it there.
    Recorded {
        /// Its place in the journal.
        seq: u64,
        /// When it happened.
        #[serde(with = "wire::moment")]
        #[schemars(with = "String")]
        at: Timestamp,
        /// How the run stands since.
        state: Box<RunState>,
        /// What changed by it.
        deltas: Vec<Delta>,
    },
    /// Something happens that is not kept. It need not be seen.
    Progress {
        /// What.
        progress: Progress,
    },
}

impl From<Progress> for Update {
    fn from(progress: Progress) -> Self {
        Self { run: None, candidate: None, what: What::Progress { progress } }
    }
}

/// What an event changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Delta {
    /// The run exists, or a new process continues it.
    Opened {
        /// Its configuration.
        config: Box<LoopConfig>,
        /// Where it began.
        start: Box<StartPoint>,
    },
    /// The checks ran on the untouched workspace.
    BaselineFinished {
        /// What they found.
        verdict: Box<VerdictView>,
    },
    /// An agent is about to run.
    IterationStarted {
        /// Which iteration.
        iteration: Iteration,
        /// Which agent, with its model where one is asked for.
        agent: String,
    },
    /// The agent's process tree is gone.
    AgentFinished {
        /// The iteration so far.
        iteration: Box<IterationView>,
    },
    /// Protected files or parts were changed.
    Tampered {
        /// Which.
        tampered: Vec<Tamper>,
    },
    /// The checks passed, and now they have to report planted failures.
    TripwireStarted,
    /// They did, or did not.
    TripwireFinished {
        /// What came of it.
        tripwire: Tripwire,
    },
    /// An iteration is decided.
    IterationDecided {
        /// All of it.
        iteration: Box<IterationView>,
    },
    /// An iteration that made things worse was undone.
    IterationUndone {
        /// Which.
        iteration: Iteration,
    },
    /// The run stalled and continues with another skill.
    Escalated {
        /// Its name.
        skill: String,
    },
    /// A service refused, and the run waits for it.
    Waiting {
        /// For what and until when.
        wait: WaitView,
    },
    /// A service is unavailable for longer than the run waits, and another agent takes over.
    FailedOver {
        /// The agent whose service is unavailable.
        from: String,
        /// The agent that continues.
        to: String,
    },
    /// A limit is near.
    Alerted {
        /// Which.
        alert: Alert,
    },
    /// Somebody asked the run to stop.
    Stopping {
        /// When and who.
        stop: Stop,
    },
    /// The run ended.
    Finished {
        /// How.
        outcome: OutcomeView,
    },
}

/// Something that happens and is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(clippy::large_enum_variant, reason = "few are in flight at a time, and most are the large one")]
pub enum Progress {
    /// The last line that an agent or a check printed, bounded.
    Activity {
        /// The line.
        line: String,
    },
    /// The agent did or said something, or used something.
    Agent {
        /// What.
        event: AgentEvent,
    },
    /// The model service of an agent answered a request.
    Request {
        /// Until the first byte of the answer, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_byte_ms: Option<u64>,
        /// How fast the rest of it came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_per_second: Option<u64>,
    },
    /// A check is about to run.
    CheckStarted {
        /// The command.
        command: String,
    },
    /// A check ended.
    CheckFinished {
        /// What was observed.
        outcome: CheckOutcome,
    },
    /// A request to stop was heard. It is recorded as soon as the journal can be written.
    StopHeard {
        /// When and who.
        stop: Stop,
    },
    /// Something besides the run's own work went wrong; the run continues.
    Warning {
        /// What.
        text: String,
    },
}

impl Progress {
    /// Whether it may be dropped when a watcher is slow: the next one says more.
    pub const fn is_chatter(&self) -> bool {
        match self {
            Self::Activity { .. } | Self::Agent { .. } | Self::Request { .. } => true,
            Self::CheckStarted { .. } | Self::CheckFinished { .. } | Self::StopHeard { .. } | Self::Warning { .. } => {
                false
            }
        }
    }
}
