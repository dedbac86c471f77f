//! Ralph as a set of tools for agents, over the Model Context Protocol: a loop as one call, and the tasks of a server.
//!
//! ```text
//!  client ─ stdio or HTTP ─► rmcp ─► Tools::call ─┬► ralph_loop ─► host (as `ralph run`)
//!                                                 └► task tools ─► API of a server, or the board inside one
//! ```
//!
//! A call that cannot be carried out is answered with an error that says what to do, because the model reads it. Errors of the
//! protocol are left to faults of the protocol.

mod answer;
mod arguments;
mod catalog;
mod complete;
mod decide;
mod handler;
mod http;
mod local;
mod progress;
mod ralph_loop;
mod remote;
mod running;
mod status;
mod stdio;
mod task_tools;
mod tasks;

pub use handler::{BoardAccess, Tools};
pub use http::{HttpNames, router};
pub use remote::Remote;
pub use rmcp::transport::stdio_pipes;
pub use stdio::serve;
