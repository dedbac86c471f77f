//! A proxy on loopback between one run of an agent and its model services.
//!
//! It forwards bytes unchanged and at once, reads on the way what each answer used, and adds the user's key in place of the run's
//! token, so that the agent never has the key. Each request reserves what it will cost, about, before it is forwarded; one that
//! the budget does not cover is refused in the format of its service. Starts no agent and decides nothing about a loop.

mod account;
mod asked;
mod body;
mod forward;
mod ledger;
mod proxy;
mod record;
mod refusal;
mod scan;

pub use body::Recorder;
pub use forward::ForwardProxy;
pub use ledger::Shortfall;
pub use proxy::{Gateway, GatewayOptions, Upstream};
pub use ralph_http::Egress;
pub use record::{Context, GatewayEvent, RequestOutcome, RequestRecord, RunTotals};
