//! Asking persons: every question is an approval in the store, so that it survives a restart and can be answered over the API.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ralph_crew::{CallId, CrewEvent, Decision, Question};
use ralph_model::{RunId, Timestamp};
use ralph_store::{Approval, ApprovalStatus, BoardHandle, Change};
use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{Answer, OpenedCrew};
use crate::error::Error;

/// Asks somebody who is there right now; none where they do not answer.
pub type AskPerson = Arc<dyn Fn(Question) -> BoxFuture<'static, Option<Decision>> + Send + Sync>;

/// How long a question waits for its answer.
const EXPIRY_MILLIS: i64 = 24 * 3600 * 1000;
/// How often the clock is looked at while a question waits.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The id of the approval for a call: the same after a crash.
fn approval_id(run: RunId, call: CallId) -> String {
    Uuid::from_u128(run.uuid().as_u128() ^ (u128::from(call.0) << 80)).to_string()
}

fn decision(approval: &Approval) -> Option<Decision> {
    let comment = approval.comment.clone().filter(|comment| !comment.is_empty());
    match approval.status {
        ApprovalStatus::Pending => None,
        ApprovalStatus::Approved => Some(Decision::Approved { comment }),
        ApprovalStatus::Refused => Some(Decision::Refused { comment }),
        ApprovalStatus::Expired => Some(Decision::Expired),
    }
}

impl OpenedCrew {
    /// Asks a person. Where no one can be asked here, the question waits in the store.
    pub(super) async fn ask_person(
        &mut self,
        question: Question,
        tasks: &mut JoinSet<Answer>,
    ) -> Result<Option<CrewEvent>, Error> {
        let (call, id) = (question.call, approval_id(self.run_id(), question.call));
        let at = (self.services.now)();
        let approval = Approval {
            id: id.clone(),
            run_id: Some(self.run_id()),
            task_id: None,
            action: self.services.redactor.text(&question.text).to_string(),
            why: self.services.redactor.text(&question.why).to_string(),
            status: ApprovalStatus::Pending,
            comment: None,
            created_at: at,
            answered_at: None,
            expires_at: Some(Timestamp(at.0.saturating_add(EXPIRY_MILLIS))),
        };
        let known = self.parts.board.ask_approval(&approval).await?;
        if let Some(decision) = decision(&known) {
            return Ok(Some(CrewEvent::Decided { call, decision }));
        }
        let Some(person) = self.parts.person.clone() else {
            if known.created_at == at {
                let kind = if question.is_approval { "approval" } else { "question" };
                self.notify(kind, &format!("{}: {}", question.agent.to_uppercase(), known.action));
            }
            return Ok(None);
        };
        let (board, now) = (self.parts.board.clone(), self.services.now);
        let (mut changes, mut cuts) = (self.services.store.subscribe(), self.cut.subscribe());
        tasks.spawn(async move {
            let asked = person(question);
            tokio::pin!(asked);
            let mut is_there = true;
            let decision = loop {
                let looked = tokio::select! {
                    // Without an answer here it can still be answered elsewhere.
                    answer = &mut asked, if is_there => {
                        is_there = false;
                        if let Some(decision) = &answer {
                            note(&board, &id, decision, now()).await;
                        }
                        answer
                    }
                    Some(change) = changes.next() => match change {
                        Change::Approvals | Change::Any => read(&board, &id, now()).await,
                        _ => None,
                    },
                    () = tokio::time::sleep(POLL_INTERVAL) => read(&board, &id, now()).await,
                    () = until_cut(&mut cuts) => Some(Decision::Expired),
                };
                if let Some(decision) = looked {
                    break decision;
                }
            };
            (CrewEvent::Decided { call, decision }, None)
        });
        Ok(None)
    }

    /// An answer that came over the API while nothing else was to be done.
    pub(super) async fn decided_meanwhile(&self) -> Result<Option<CrewEvent>, Error> {
        for question in self.crew.run.pending() {
            let id = approval_id(self.run_id(), question.call);
            if let Some(decision) = read(&self.parts.board, &id, (self.services.now)()).await {
                return Ok(Some(CrewEvent::Decided { call: question.call, decision }));
            }
        }
        Ok(None)
    }
}

/// Waits until what is under way has to end.
async fn until_cut(cuts: &mut watch::Receiver<Option<ralph_process::Stop>>) {
    let _ = cuts.wait_for(Option::is_some).await;
}

/// What was decided by now. A store that cannot be read has no decision yet.
async fn read(board: &BoardHandle, id: &str, now: Timestamp) -> Option<Decision> {
    decision(&board.approval(id, now).await.ok()?)
}

/// Writes down what was decided here, so that no one is asked elsewhere.
async fn note(board: &BoardHandle, id: &str, decision: &Decision, now: Timestamp) {
    let (status, comment) = match decision {
        Decision::Approved { comment } => (ApprovalStatus::Approved, comment.as_deref()),
        Decision::Refused { comment } => (ApprovalStatus::Refused, comment.as_deref()),
        Decision::Expired => return,
    };
    if let Err(error) = board.answer_approval(id, status, comment, now).await {
        tracing::debug!(%error, "the decision was not recorded on the board");
    }
}
