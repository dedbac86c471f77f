//! The agent stops: the loop of its session is checked, and the stop is blocked until the checks pass or a limit is reached.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ralph_model::{CheckpointReason, LoopId, TaskId};
use ralph_runtime::{NextTurn, SessionRecord, SessionStep, TurnReport, Watcher, stops};
use ralph_view::{Delta, Progress, Update, What, iteration_found};
use ralph_workspace::LockError;
use serde_json::json;

use super::task::{self, Task};
use super::{Answer, Hook};
use crate::commands::session::{ended, is_at_work};
use crate::input::variable;

/// Stops that Claude Code lets be blocked one after the other without a tool call, unless the user says otherwise.
const USUAL_CAP: u32 = 8;
/// Raises or lifts that limit.
const CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

/// How long a stop waits for another hook that checks the same loop. Checks may take long, and Claude Code ends a hook that
/// takes longer than its settings allow.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// How long it waits between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// What happened meanwhile that the user should know.
type Notes = Arc<Mutex<Vec<String>>>;

impl Hook<'_> {
    pub(super) fn stop(&self, records: Vec<SessionRecord>, task: Option<&Task>) -> Answer {
        let folder = self.host.dirs.checkpoints();
        let warning = task.and_then(|task| task.checkpoint(folder, CheckpointReason::Stop));
        let answers = records.into_iter().map(|record| self.verify(record));
        answers.fold(Answer::Nothing, Answer::and).with_warning(warning)
    }

    /// Takes the turn as an iteration of the loop. Where another hook does that already, it waits for that one and says the same.
    fn verify(&self, record: SessionRecord) -> Answer {
        let (loop_id, home) = (record.loop_id, self.host.home());
        let notes = Notes::default();
        let deadline = Instant::now() + PATIENCE;
        let mut now = record.clone();
        let step = loop {
            if !is_at_work(&now, &self.host) {
                match self.step_now(now.clone(), &notes) {
                    Err(error) if is_held(&error, loop_id) && Instant::now() < deadline => {}
                    step => break step,
                }
            } else if Instant::now() >= deadline {
                break self.step_now(now.clone(), &notes);
            }
            std::thread::sleep(PAUSE);
            match SessionRecord::read(&home, &record.workspace) {
                Ok(Some(found)) if found.loop_id == loop_id => now = found,
                // The other one ended the loop, and said how.
                Ok(_) => return Answer::Nothing,
                Err(error) => break Err(error.into()),
            }
            if now.iteration != record.iteration
                && !is_at_work(&now, &self.host)
                && let Some(prompt) = now.prompt(&home)
            {
                return block(&NextTurn { iteration: now.iteration, prompt, blocks: now.blocks }, "");
            }
        };
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

    fn step_now(&self, mut record: SessionRecord, notes: &Notes) -> anyhow::Result<SessionStep> {
        if !self.event.is_blocked {
            // A turn that the user began counts its blocks anew.
            record.blocks = 0;
        }
        let runtime = crate::runtime()?;
        let step = runtime.block_on(async {
            let step = self.step(record, noting(notes)).await;
            self.host.flush_traces().await;
            step
        });
        runtime.shutdown_timeout(Duration::from_millis(100));
        step
    }

    async fn step(&self, record: SessionRecord, watcher: Watcher) -> anyhow::Result<SessionStep> {
        let report =
            TurnReport { transcript: self.event.transcript.clone(), final_message: self.event.message.clone() };
        let (_stopper, stops) = stops();
        let supervisor = self.host.prepare_supervisor();
        let store = self.host.existing_store().await?;
        let step = self.host.continue_session(record, report, (store.clone(), supervisor), watcher, stops).await?;
        store.close().await?;
        Ok(step)
    }
}

/// Whether another process works on this very loop.
fn is_held(error: &anyhow::Error, loop_id: LoopId) -> bool {
    use ralph_runtime::Error::Lock;
    let held = error.downcast_ref::<ralph_host::Error>();
    matches!(held, Some(ralph_host::Error::Runtime(Lock(LockError::Held { holder }))) if holder.loop_id == loop_id)
}

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
