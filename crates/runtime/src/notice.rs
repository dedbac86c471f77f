//! What a running loop tells whoever watches it. A watcher that fails or lags never stops the loop.

use std::path::PathBuf;

use ralph_engine::{Alert, Stop};
use ralph_model::{
    AgentEvent, CheckOutcome, Ended, Fault, Iteration, LoopConfig, LoopId, Millis, Money, Tamper, Timestamp, Tripwire,
    Trouble, Verdict,
};

use crate::LoopResult;

/// One thing worth showing. All text in it is inert: no terminal escapes, no secrets.
#[derive(Debug, Clone)]
pub enum Notice {
    /// The loop exists, or exists again.
    LoopOpened {
        /// Which.
        loop_id: LoopId,
        /// Its iterations before this start of Ralph.
        done: Iteration,
        /// Money it spent before this start of Ralph.
        spent: Money,
        /// Its configuration.
        config: Box<LoopConfig>,
        /// Where its logs and prompts are.
        folder: PathBuf,
    },
    /// How the loop is kept from harm and its verdicts from forgery.
    Precautions {
        /// How agent and checks are kept inside, in words.
        sandbox: String,
        /// How many pins its verdicts rest on.
        pins: usize,
    },
    /// The checks ran on the untouched workspace; none when there are no checks.
    BaselineFinished {
        /// What they found.
        verdict: Option<Verdict>,
        /// Passing checks alone will not complete the loop: the agent has to say that it is done, too.
        needs_claim: bool,
    },
    /// An agent is about to run.
    IterationStarted {
        /// Which pass it is.
        iteration: Iteration,
        /// Which agent it is, with its model where one is asked for.
        agent: String,
    },
    /// A service refused, and the loop waits for it.
    Waiting {
        /// Until when.
        until: Timestamp,
        /// What it refused.
        trouble: Trouble,
    },
    /// Something the agent or a check printed: its last line, bounded.
    Activity {
        /// The line.
        line: String,
    },
    /// The agent did or said something, or used something. What it prints without form is an [`Notice::Activity`].
    Agent(AgentEvent),
    /// The agent's process tree is gone.
    AgentFinished {
        /// Which pass it was.
        iteration: Iteration,
        /// How it ended.
        ended: Ended,
        /// What was wrong with the run itself.
        faults: Vec<Fault>,
        /// How many files it changed.
        changed: usize,
        /// What is charged for it.
        charged: Money,
        /// How long it ran.
        duration: Millis,
    },
    /// A check is about to run.
    CheckStarted {
        /// The command.
        command: String,
    },
    /// A check ended.
    CheckFinished {
        /// Its outcome.
        outcome: CheckOutcome,
    },
    /// Something that the checks rest on is not as it was.
    Tampered {
        /// What.
        tampered: Vec<Tamper>,
    },
    /// The checks passed and are asked to fail.
    TripwireStarted,
    /// What came of it.
    TripwireFinished {
        /// Whether they did.
        tripwire: Tripwire,
    },
    /// An iteration is decided.
    IterationDecided {
        /// Which pass it was.
        iteration: Iteration,
        /// Passing and failing tests.
        tally: Option<(u32, u32)>,
        /// Whether every check passed.
        passed: bool,
        /// Why they count for nothing although they may have passed.
        doubt: Option<String>,
        /// The agent said that it was done.
        claimed: bool,
        /// All money of the loop so far.
        spent: Money,
    },
    /// An iteration that made things worse was undone.
    Undone {
        /// Which pass it was.
        iteration: Iteration,
    },
    /// The loop stalled and goes on with another skill.
    Escalated {
        /// The skill's name.
        skill: String,
    },
    /// A limit is near.
    Alerted(Alert),
    /// Somebody asked the loop to stop.
    Stopping(Stop),
    /// Something besides the loop's own work went wrong; the loop goes on.
    Warning(String),
    /// Something about one of several candidates.
    OfCandidate {
        /// Which, counted from 1.
        number: usize,
        /// The agent that it began with.
        agent: String,
        /// What there is to say.
        notice: Box<Notice>,
    },
    /// The loop ended.
    Finished(Box<LoopResult>),
}
