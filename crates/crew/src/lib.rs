//! The crew: a coordinating model hands parts of a request to other agents and judges each result by evidence.
//!
//! [`Crew`] decides and does nothing: events go in, effects come out, and the same events give the same crew. [`Worker`] asks models
//! and calls tools for it. The driver of a crew records each event before the crew steps.

mod agent_file;
mod conversation;
mod event;
mod frame;
mod machine;
mod meta;
mod native;

mod result;
mod stream;
mod worker;

pub use agent_file::{AgentFile, BrokenAgent, RepositoryAgent, Role, built_in, read_agents, repository_agents};
pub use conversation::{Conversation, PIN};
pub use event::{
    Approve, Base, CrewAbort, CrewConfig, CrewEffect, CrewError, CrewEvent, CrewOutcome, Decision, FrameId, MovedCrew,
    Question, Unmet,
};
pub use frame::{briefing, program_result};
pub use machine::{CallId, Crew, DelegationRecord};
pub use meta::is_meta;

pub use native::{NativeAgent, NativeServices};
pub use ralph_tools::{Effect as ToolEffect, Outcome as ToolOutcome};
pub use result::{CrewResult, CrewStatus, DelegationView};
pub use stream::StreamEvent;
pub use worker::{AskModel, CallTool, ModelAsk, ModelName, Tell, ToolRun, ToolSpec, WatchAnswer, Worker};
