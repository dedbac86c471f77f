//! The server: tasks, workers, loops, approvals and schedules over HTTP.
//!
//! Keeps nothing that matters in memory: everything is in the store, so that several servers can share one. All routes are in
//! one table (`routes.rs`), from which the router and the OpenAPI document are both made.
//!
//! ```text
//!  connection ─► limits ─► Host, Origin ─► token ─► role ─► handler ─► Board / Store
//!  (accept.rs)            (guard.rs)     (auth.rs)        (api/*)
//! ```

mod accept;
mod api;
mod app;
mod auth;
mod call;
mod guard;
mod housekeeping;
mod openapi;
mod problem;
mod route;
mod routes;
mod sse;
mod tls;
mod token;
mod upload;

pub use accept::{ServeError, Server};
pub use app::{App, Limits, ServerOptions};
pub use auth::Caller;
pub use call::read_json;
pub use openapi::document;
pub use tls::TlsFiles;
pub use token::{FirstTokenError, Secret, first_token};
