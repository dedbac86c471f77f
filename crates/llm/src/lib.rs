//! Model providers: one conversation in three wire formats.
//!
//! [`wire`] knows the formats and does no IO: it makes the body of a request and puts an answer together from the events of its
//! stream. [`Model`] sends it: with retries, a time limit for silence, and another model where the first one cannot answer.

mod conversation;
mod model;
mod provider;
mod retry;
pub mod wire;

pub use conversation::{
    Answer, Arguments, Delta, Message, Opaque, Part, Protocol, Request, StopReason, Tool, ToolCall, ToolResult,
};
pub use model::{Asked, Failed, Model, Watch, ask, refusal, unanswered};
pub use provider::{Endpoint, Provider};
pub use ralph_http::Egress;
