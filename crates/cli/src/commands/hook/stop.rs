//! The agent stops: the loop of its session is checked, and the stop is blocked until the checks pass or a limit is reached.

use std::sync::{Arc, Mutex, PoisonError};

use ralph_model::{CheckpointReason, TaskId};
use ralph_runtime::{NextTurn, SessionRecord, SessionStep, TurnReport, Watcher, stops};
use ralph_view::{Delta, Progress, Update, What, iteration_found};
use serde_json::json;

use super::task::{self, Task};
use super::{Answer, Hook};
use crate::commands::session::ended;
use crate::input::variable;

/// Stops that Claude Code lets be blocked one after the other without a tool call, unless the user says otherwise.
const USUAL_CAP: u32 = 8;
/// Raises or lifts that limit.
const CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

/// What happened meanwhile that the user should know.
type Notes = Arc<Mutex<Vec<String>>>;

impl Hook<'_> {
    pub(super) fn stop(&self, record: Option<SessionRecord>, task: Option<&Task>) -> Answer {
        let folder = self.host.dirs.checkpoints();
        let warning = task.and_then(|task| task.checkpoint(folder, CheckpointReason::Stop));
        let answer = match record {
            Some(record) => self.verify(record),
            None => Answer::Nothing,
        };
        answer.with_warning(warning)
    }

    /// Takes the turn as an iteration of the loop.
    fn verify(&self, mut record: SessionRecord) -> Answer {
        if !self.event.is_blocked {
            // A turn that the user began counts its blocks anew.
            record.blocks = 0;
        }
        let loop_id = record.loop_id;
        let notes = Notes::default();
        let step = crate::runtime().map_err(anyhow::Error::from).and_then(|runtime| {
            let step = runtime.block_on(async {
                let step = self.step(record, noting(&notes)).await;
                self.host.flush_traces().await;
                step
            });
            runtime.shutdown_timeout(std::time::Duration::from_millis(100));
            step
        });
        let notes = std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner)).join("\n");
        match step {
            Ok(SessionStep::Next(next)) => block(&next, &notes),
            Ok(SessionStep::Over { result, unknown }) => {
                // The journal says more.
                let _ = task::checkpoints(&self.host).clear(TaskId::from_uuid(loop_id.uuid()));
                let notes = if notes.is_empty() { notes } else { format!("\n{notes}") };
                Answer::message(&format!("{}{notes}", ended(&result, unknown)))
            }
            Ok(SessionStep::Gone) => Answer::Nothing,
            Err(error) => Answer::message(&format!(
                "the work could not be checked, so this stop is not held: {}\n  loop {} is still open and is checked at the next \
                 stop; `ralph session cancel` ends it",
                crate::screen::told(&error),
                loop_id.short(),
            )),
        }
    }

    async fn step(&self, record: SessionRecord, watcher: Watcher) -> anyhow::Result<SessionStep> {
        let report =
            TurnReport { transcript: self.event.transcript.clone(), final_message: self.event.message.clone() };
        let (_stopper, stops) = stops();
        let store = self.host.existing_store().await?;
        let step = self.host.continue_session(record, report, store.clone(), watcher, stops).await?;
        store.close().await?;
        Ok(step)
    }
}

/// Blocks the stop with what the agent is told next.
fn block(next: &NextTurn, notes: &str) -> Answer {
    let blocks = next.blocks;
    let cap = variable(CAP).and_then(|cap| cap.parse().ok()).unwrap_or(USUAL_CAP);
    let mut message = format!("Ralph: iteration {} begins", next.iteration);
    if !notes.is_empty() {
        message = format!("Ralph: {notes}\n{message}");
    }
    if cap > 0 && blocks >= cap {
        message.push_str(&format!(
            "\nthis is stop {blocks} in a row without a tool call, and Claude Code lets {cap} be blocked: it may end the turn here. \
             The loop stays open: type anything to continue it. {CAP} raises the limit"
        ));
    }
    Answer::Object(json!({ "decision": "block", "reason": next.prompt, "systemMessage": message }))
}

/// Notes what the user should know: warnings, alerts, and what the checks found.
fn noting(notes: &Notes) -> Watcher {
    let notes = Arc::clone(notes);
    Arc::new(move |update: Update| {
        let lines = match update.what {
            What::Progress { progress: Progress::Warning { text } } => vec![format!("warning: {text}")],
            What::Progress { .. } => Vec::new(),
            What::Recorded { deltas, .. } => deltas
                .iter()
                .filter_map(|delta| match delta {
                    Delta::IterationDecided { iteration } => {
                        Some(format!("iteration {}: {}", iteration.iteration, iteration_found(iteration)))
                    }
                    Delta::Alerted { alert } => Some(alert.sentence().to_owned()),
                    _ => None,
                })
                .collect(),
        };
        notes.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
    })
}
