//! What a client hears while a loop runs.

use std::sync::Mutex;
use std::sync::PoisonError;

use ralph_view::{RunState, money};
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

/// How a loop stands, for a client that has heard nothing for a while.
pub(crate) fn standing(state: &RunState) -> String {
    let (iteration, max) = (state.iteration, state.max_iterations);
    let failing = state.failing.iter().rev().find_map(|failing| *failing);
    let failing = failing.map(|failing| format!(", {failing} failing before")).unwrap_or_default();
    format!("iteration {iteration}/{max}: {}{failing}; {}", state.phase, money(state))
}
