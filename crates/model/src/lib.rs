//! The words of Ralph: ids, money, time, delegations, evidence, verdicts and configuration.
//!
//! Plain values only. Nothing here reads a clock, a file, the environment or a random source; code that needs such a value
//! passes it in.

mod agent;
mod agent_event;
mod cause;
mod checklist;
mod config;
mod delegation;
mod grade;
mod id;
mod money;
mod named;
mod outcome;
mod pin;
mod price;
mod runner;
mod shell;
mod task;
mod time;
mod trouble;
mod verdict;
pub mod wire;

pub use agent::{
    AgentRun, AgentSpec, Change, ChangeKind, Cost, Ended, Fault, FaultKind, Launch, OutputRef, Usage, Violation, Window,
};
pub use agent_event::AgentEvent;
pub use cause::{AbortCause, ErrorCause, StopBy, UnknownCharge, UnknownCost, WaitLimit};
pub use checklist::Checklist;
pub use config::{
    Access, AgentNetwork, Caps, ConfigError, DEFAULT_PROHIBITED, DEFAULT_PROMISE, HostRule, Isolation, Keep,
    LoopConfig, MeterMode, OnBlocked, Race, Sandboxing, Skill, Turns, ValidLoopConfig, Verify,
};
pub use delegation::{
    Confidence, Delegation, DelegationResult, Domain, Expectation, ModelTier, ParseExpectation, ResultUsage,
    ScoutFindings, SearchScope, Status, ToolEvidence,
};
pub use grade::Grade;
pub use id::{Attempt, Iteration, LoopId, ParseLoopId, RunId, RunKind, TreeHash};
pub use money::{Money, ParseMoney};
pub use outcome::{AbortReason, Best, Outcome, exit_code};
pub use pin::{Pin, PinKind, Tamper, TamperKind, Tripwire, protected_patterns};
pub use price::{LongPrice, Price, PriceList, Rates, Tokens};
pub use runner::{Runner, TestLanguage, TestListing};
pub use shell::shell_word;
pub use task::{Checkpoint, CheckpointReason, NewTask, ParseTaskId, Task, TaskError, TaskId, TaskStatus, TaskType};
pub use time::{Millis, ParseDuration, Timestamp};
pub use trouble::{Remedy, Trouble, TroubleKind};
pub use verdict::{CheckOutcome, Missing, Shrunk, Signature, TestTally, UntrackedDigest, Verdict};
