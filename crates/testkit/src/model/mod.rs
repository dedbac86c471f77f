//! A model server on loopback that says what a script tells it to, in the wire formats of four services. It thinks nothing.
//!
//! Real agent programs are pointed at it: Claude Code and its ACP servers speak Anthropic Messages, Codex speaks OpenAI
//! Responses, OpenCode speaks OpenAI Chat Completions (or any of the others), the Gemini CLI speaks Gemini. A script lists
//! replies; each request of a main conversation takes the next one, whichever connection it comes on. Requests that such
//! programs make beside the conversation (titles, token counts, model lists, routing questions) are answered without taking
//! one.
//!
//! ```text
//! use ralph_testkit::model::{Reply, Script, ScriptedModel, Tool, Usage};
//!
//! let model = ScriptedModel::start(
//!     Script::new()
//!         .reply(Reply::tool(Tool::write("hello.txt", "hello\n")).usage(Usage { input: 1000, output: 50, ..Usage::ZERO }))
//!         .reply(Reply::say("<promise>COMPLETE</promise>")),
//! );
//! let base = model.url(); // ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL; with `/v1` the base of the OpenAI formats
//! assert_eq!(model.requests().len(), 0);
//! ```
//!
//! The same as a program: `scripted-model SCRIPT.json`; see [`Script`] for the JSON.

mod answer;
mod asked;
mod delivery;
mod fault;
mod log;
mod mapping;
mod plan;
mod refusal;
mod route;
mod schema;
mod script;
mod server;
mod side;
mod wire;

pub use fault::{Fault, Status, Trouble};
pub use log::{Ending, Logged, Source};
pub use route::Format;
pub use script::{Reply, Script, Stop, Then, Tool, Usage};
pub use server::ScriptedModel;
pub use side::SideKind;
