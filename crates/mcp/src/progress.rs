//! What a client hears while a loop runs.

use std::sync::Mutex;
use std::sync::PoisonError;

use ralph_view::{Delta, RunState, dollars, iteration_found};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};

/// The least that progress increases by: every notification has to show more than the one before.
const STEP: f64 = 0.01;

/// Sends progress to the client that asked for it.
pub(crate) struct Reporter {
    target: Option<(Peer<RoleServer>, ProgressToken)>,
    last: Mutex<f64>,
}

impl Reporter {
    /// For a call; silent where the client wants no progress.
    pub(crate) fn new(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { target: token.map(|token| (context.peer.clone(), token)), last: Mutex::new(-STEP) }
    }

    /// Sends one line. A client that cannot be reached misses it.
    pub(crate) async fn report(&self, state: &RunState, message: String) {
        let Some((peer, token)) = &self.target else { return };
        let progress = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last = f64::from(state.counted).max(*last + STEP);
            *last
        };
        let notification = ProgressNotificationParam::new(token.clone(), progress)
            .with_total(f64::from(state.max_iterations))
            .with_message(message);
        let _ = peer.notify_progress(notification).await;
    }
}

/// A change in one line; none for what a client need not hear.
pub(crate) fn line(state: &RunState, delta: &Delta) -> Option<String> {
    let (max, money) = (state.max_iterations, money(state));
    Some(match delta {
        Delta::BaselineFinished { verdict } => {
            format!("before the first iteration: {} passing, {} failing", verdict.passing, verdict.failing)
        }
        Delta::IterationStarted { iteration, agent } => format!("iteration {iteration}/{max}: {agent} works; {money}"),
        Delta::AgentFinished { iteration } => {
            format!("iteration {}/{max}: the agent is done, checks run; {money}", iteration.iteration)
        }
        Delta::IterationDecided { iteration } => {
            format!("iteration {}/{max}: {}; {money}", iteration.iteration, iteration_found(iteration))
        }
        Delta::Tampered { tampered } => match tampered.first() {
            Some(first) => format!("protected files changed: {first}"),
            None => "protected files changed".to_owned(),
        },
        Delta::TripwireStarted => "confirming that the checks still catch failures".to_owned(),
        Delta::IterationUndone { iteration } => format!("iteration {iteration}/{max} was undone"),
        Delta::Escalated { skill } => format!("no progress: continues with skill {skill}"),
        Delta::Waiting { wait } => format!("waits for the service: {}", wait.trouble),
        Delta::Finished { outcome } => outcome.headline(),
        Delta::Opened { .. } | Delta::TripwireFinished { .. } | Delta::Alerted { .. } | Delta::Stopping { .. } => {
            return None;
        }
    })
}

/// How a loop stands, for a client that has heard nothing for a while.
pub(crate) fn standing(state: &RunState) -> String {
    let (iteration, max) = (state.iteration, state.max_iterations);
    let failing = state.failing.iter().rev().find_map(|failing| *failing);
    let failing = failing.map(|failing| format!(", {failing} failing before")).unwrap_or_default();
    format!("iteration {iteration}/{max}: {}{failing}; {}", state.phase, money(state))
}

fn money(state: &RunState) -> String {
    match state.metered {
        true => format!("{} of {}", dollars(state.cost), state.max_cost),
        false => "not metered".to_owned(),
    }
}
