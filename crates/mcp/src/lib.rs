//! Ralph as a set of tools for agents, over the Model Context Protocol: a loop as one call, and the tasks of a server.
//!
//! ```text
//!  client ─ stdio or HTTP ─► rmcp ─► Tools::call ─► ralph_loop ─► host (as `ralph run`)
//! ```
//!
//! A call that cannot be carried out is answered with an error that says what to do, because the model reads it. Errors of the
//! protocol are left to faults of the protocol.

mod answer;
mod arguments;
mod catalog;
mod handler;
mod progress;
mod ralph_loop;
mod running;
mod status;
mod stdio;

pub use handler::Tools;
pub use rmcp::transport::stdio_pipes;
pub use stdio::serve;
