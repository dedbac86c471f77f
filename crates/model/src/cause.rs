//! Why a loop ended without success, as types with figures. What people read is made where they read it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AbortReason, Best, Grade, Iteration, LoopId, Millis, Money, Tamper, Trouble, Violation, Window};

/// Who asked a loop to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopBy {
    /// Ctrl-C.
    Keyboard,
    /// `ralph stop` or another caller.
    Request,
    /// A signal to Ralph's process.
    Signal,
    /// Another candidate of its race was verified first.
    Race {
        /// Which.
        winner: LoopId,
    },
}

/// Why the cost of a run is not known, so that something else was charged: its whole reservation, unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UnknownCost {
    /// The agent reports its cost by itself, and did not.
    NotReported,
    /// Its model has no price, or the service reported no usage.
    NotCounted,
    /// Ralph died while it ran, before anything was known.
    Interrupted,
    /// The same, and one request of a usual size was charged.
    Estimated,
}

/// A charge that is a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnknownCharge {
    /// The iteration whose cost is not known.
    pub iteration: Iteration,
    /// What was charged instead.
    pub charged: Money,
    /// Why it is not known.
    pub why: UnknownCost,
}

/// Why a loop was ended without success, with the figures that a sentence about it needs. Never a sentence itself: what people
/// read is made where they read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AbortCause {
    /// All allowed agent runs are used.
    IterationsUsed {
        /// How many there were.
        max: u32,
        /// The best state that was reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        best: Option<Best>,
        /// The claim that is missing, where the checks pass and nothing else is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing_claim: Option<String>,
        /// Iterations in which protected files were changed.
        #[serde(default)]
        tampered: u32,
    },
    /// The loop's money is spent.
    BudgetSpent {
        /// How much was charged.
        spent: Money,
        /// How much was allowed.
        limit: Money,
        /// The last charge that is a guess, if any is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unknown: Option<UnknownCharge>,
    },
    /// The money of the race that the loop takes part in is spent or reserved.
    RaceBudgetSpent {
        /// What its loops spent or hold.
        spent: Money,
        /// What they may spend together.
        limit: Money,
    },
    /// The loop's tokens are used.
    TokensUsed {
        /// How many were counted.
        used: u64,
        /// How many were allowed.
        limit: u64,
        /// The iteration whose tokens were not reported, where that ended the loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unreported: Option<Iteration>,
    },
    /// As much of a plan's allowance is used as the user permits.
    WindowUsed {
        /// How much is used.
        used: Window,
        /// How much may be, in percent.
        limit: u32,
    },
    /// The day's money is spent or reserved.
    DayBudgetSpent {
        /// What the day's loops spent or hold.
        spent: Money,
        /// What they may spend together.
        limit: Money,
    },
    /// The loop's time is up.
    TimeUp {
        /// How long it worked.
        active: Millis,
        /// How long it may.
        limit: Millis,
    },
    /// Waiting for a service would pass the loop's time limit.
    WaitPastTimeLimit {
        /// What the service refused.
        trouble: Trouble,
        /// How long the wait would be.
        wait: Millis,
        /// The time limit.
        limit: Millis,
    },
    /// Neither the files nor the failures changed.
    Stalled {
        /// Iterations in a row.
        iterations: u32,
        /// The first line of the last failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headline: Option<String>,
    },
    /// The same failure came too often in a row.
    SameError {
        /// How often.
        times: u32,
        /// Its first line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headline: Option<String>,
    },
    /// Prohibited files were changed, and restored.
    Prohibited {
        /// Which.
        violations: Vec<Violation>,
        /// Where the offending content is kept.
        patch: String,
        /// The commit of the loop's start, where there is one: what a prohibited commit can be undone to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<String>,
    },
    /// Protected files were changed too often.
    Tampered {
        /// In how many iterations.
        iterations: u32,
        /// What was changed in the last one.
        tampering: Vec<Tamper>,
    },
    /// The agent needs a person.
    Blocked {
        /// The reason, in the agent's words.
        why: String,
    },
    /// The checks pass, and the result is worth less than the user requires. Another pass of the agent would not change that.
    GradeTooLow {
        /// What it is worth; none where it is not verified at all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grade: Option<Grade>,
        /// What is required.
        required: Grade,
        /// Why it is not worth more.
        reasons: Vec<String>,
    },
    /// Somebody ended it.
    Cancelled {
        /// Who.
        by: StopBy,
    },
    /// As a journal from before causes were recorded has it.
    #[serde(skip)]
    Recorded {
        /// Why.
        reason: AbortReason,
        /// The sentence of that time.
        text: String,
    },
}

impl AbortCause {
    pub const fn reason(&self) -> AbortReason {
        match self {
            Self::IterationsUsed { .. } => AbortReason::MaxIterations,
            Self::BudgetSpent { .. } | Self::RaceBudgetSpent { .. } => AbortReason::CostLimit,
            Self::TokensUsed { .. } | Self::WindowUsed { .. } => AbortReason::UsageLimit,
            Self::DayBudgetSpent { .. } => AbortReason::DailyBudget,
            Self::TimeUp { .. } | Self::WaitPastTimeLimit { .. } => AbortReason::MaxDuration,
            Self::Stalled { .. } => AbortReason::Stall,
            Self::SameError { .. } => AbortReason::SameError,
            Self::Prohibited { .. } => AbortReason::ProhibitedPath,
            Self::Tampered { .. } => AbortReason::Tampered,
            Self::Blocked { .. } | Self::GradeTooLow { .. } => AbortReason::Blocked,
            Self::Cancelled { .. } => AbortReason::Cancelled,
            Self::Recorded { reason, .. } => *reason,
        }
    }
}

/// Why a loop gave up waiting for a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WaitLimit {
    /// It refused too often in a row.
    Refusals {
        /// How often it was waited for.
        times: u32,
    },
    /// One wait would be longer than allowed.
    TooLong {
        /// How long it would be.
        wait: Millis,
        /// How long it may be; zero where waiting is turned off.
        limit: Millis,
    },
}

/// What failed so that the loop ended for now; it can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ErrorCause {
    /// The service behind an agent refused something that only a person can change.
    ServiceRefused {
        /// Which agent.
        agent: String,
        /// What it refused.
        trouble: Trouble,
    },
    /// The service refused for longer than it is waited for.
    WaitTooLong {
        /// Which agent.
        agent: String,
        /// What it refused.
        trouble: Trouble,
        /// The limit of the wait.
        limit: WaitLimit,
    },
    /// An agent's program or its sandbox could not be started.
    AgentNotStarted {
        /// Which agent.
        agent: String,
        /// What the system says.
        why: String,
    },
    /// Ralph itself failed, or a check could not be started.
    Faulted {
        /// The error and what is behind it.
        error: String,
    },
    /// There was nothing to do, which is a bug in Ralph.
    Idle,
    /// As a journal from before causes were recorded has it.
    #[serde(skip)]
    Recorded {
        /// The sentence of that time.
        text: String,
    },
}
