//! Runs an agent and turns what it does into evidence, usage and cost. Takes no agent's word for anything, decides nothing.
//!
//! One kind so far: any command. Others join as modules beside `command`, each with its own stream parser, behind the
//! same [`run`].

mod command;
mod report_file;
mod request;

use ralph_model::AgentSpec;
use ralph_process::{Stop, Supervisor};
use tokio::sync::watch;

pub use report_file::{ReportFile, read_report};
pub use request::{Activity, Error, Observed, Request};

/// Runs the agent once, from its start until nothing of it is left.
///
/// # Errors
/// When supervision itself failed. An agent that fails is an ordinary [`Observed`].
pub async fn run(
    supervisor: &Supervisor,
    spec: &AgentSpec,
    request: Request<'_>,
    stop: watch::Receiver<Option<Stop>>,
    observe: &mut (dyn FnMut(Activity) + Send),
) -> Result<Observed, Error> {
    match spec {
        AgentSpec::Command { command, unmetered, .. } => {
            command::run(supervisor, command, *unmetered, request, stop, observe).await
        }
    }
}
