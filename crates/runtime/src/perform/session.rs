//! The turn of an agent in a session of the user's own: read from the session's records when a hook says that it is over.

use std::path::PathBuf;
use std::sync::Arc;

use ralph_agents::{Observed, Offsets, SessionRecords, observe_turn};
use ralph_model::{AgentSpec, Attempt, Cost, Ended, Iteration, Millis, Money, Timestamp, TreeHash};
use ralph_process::{Log, Recorded};
use ralph_store::ArtifactKind;
use ralph_workspace::repository::{CommitId, Head};

use super::agent::Seen;
use super::begin::RECENT;
use super::{Answer, Context};
use crate::error::Error;

#[derive(Debug, Clone)]
pub(crate) enum Turn {
    Stopped {
        transcript: Option<PathBuf>,
        offsets: Offsets,
        /// When the turn before ended.
        since: Timestamp,
        /// The agent's last message.
        final_message: String,
    },
    Cancelled,
}

/// One turn, and where it stands in the loop.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) iteration: Iteration,
    pub(crate) attempt: Attempt,
    pub(crate) agent: AgentSpec,
    pub(crate) before: TreeHash,
    /// The commit that was checked out when the loop began.
    pub(crate) head: Option<String>,
    pub(crate) budget: Option<Money>,
    pub(crate) turn: Turn,
}

impl Context {
    pub(super) async fn finish_turn(&self, pass: Pass) -> Result<Answer, Error> {
        let Pass { iteration, attempt, agent, before, head, budget, turn } = pass;
        let log = self.folder.agent_log(iteration, attempt);
        let observed = match turn {
            Turn::Cancelled => nothing(&log)?,
            Turn::Stopped { transcript, offsets, since, final_message } => {
                let log_limit = self.config.log_limit;
                let records = SessionRecords { transcript, offsets, since, final_message, log: log.clone(), log_limit };
                let (redactor, prices) = (Arc::clone(&self.services.redactor), Arc::clone(&self.services.prices));
                let now = (self.services.now)();
                // It may have to wait for the last record.
                let read = tokio::task::spawn_blocking(move || observe_turn(&records, &redactor, &prices, now));
                let (observed, offsets) = read.await.map_err(|_| Error::Vanished("the look at the session"))??;
                *self.read_until.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = offsets;
                observed
            }
        };
        // Counted from the start of the loop: the repository was not read where the agent began its turn.
        let head = head.as_deref().and_then(CommitId::parse);
        let head = head.map(|commit| Head { commit: Some(commit), branch: None });
        let about = self.about(Some(iteration), attempt);
        let prompt = self.files.find(ArtifactKind::Prompt, &self.folder.prompt(iteration), about)?;
        self.seen(
            Seen { iteration, attempt, agent: &agent, log: &log, before, head, budget, prompt, recent: RECENT },
            observed,
        )
        .await
    }
}

/// What is seen of a cancelled turn.
fn nothing(log: &std::path::Path) -> Result<Observed, Error> {
    let output: Recorded = Log::create(log, u64::MAX).and_then(|log| log.finish(0)).map_err(Error::file(log))?;
    Ok(Observed {
        ended: Ended::Stopped,
        evidence: Vec::new(),
        opaque: true,
        final_message: String::new(),
        escalation: None,
        faults: Vec::new(),
        trouble: None,
        usage: ralph_model::Usage::default(),
        cost: Cost::Unknown,
        unpriced: Vec::new(),
        duration: Millis(0),
        output,
        swept: 0,
    })
}
