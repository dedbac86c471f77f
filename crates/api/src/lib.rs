//! What travels between a server and its callers, and the client that they call it with.
//!
//! The types are the server's own: its OpenAPI document is made from them. Tasks, approvals and the like are the types of
//! [`ralph_model`] and [`ralph_store`]; here are the requests, the pages and the errors around them.

mod client;
mod cron;
mod error;
mod otlp;
mod problem;
mod store;
mod wire;

pub use client::{Client, TaskEvents};
pub use cron::{Cron, check_name};
pub use error::{Error, Result};
pub use otlp::{OnFailure, TraceTarget, Traces};
pub use problem::Problem;
pub use store::StoreRequest;
pub use wire::{
    AgentPage, Answer, ApprovalAnswer, ApprovalPage, ApprovalRequest, CheckpointReport, Completion, Heartbeat, Kept,
    LeaseView, LoopCount, LoopPage, Poll, ProgressReport, Register, Release, SchedulePage, ScheduleRequest,
    ScheduleView, Stats, TaskPage, Work,
};
