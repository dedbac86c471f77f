//! How the work on a task ends: completed, failed, cancelled, or given back.

use std::time::Duration;

use ralph_api::{Completion, Error as ApiError};
use ralph_crew::CrewResult;
use ralph_engine::text::Continuation;
use ralph_host::Claim;
use ralph_model::{AbortReason, TaskStatus};
use ralph_view::{RunResult, RunStatus};

use crate::error::Error;
use crate::job::{Ended, Job, next};
use crate::lease::Interruption;
use crate::place;
use crate::report::WorkerEvent;

const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// How often the end of a task is reported to a server that is away.
const MAX_REPORTS: u32 = 300;
/// How often a task is claimed while its repository cannot be reached or written to, before it fails.
const MAX_FETCHES: u64 = 20;
/// Bytes of the longest output and of the longest reason.
const MAX_OUTPUT: usize = 48 * 1024;
const MAX_REASON: usize = 3 * 1024;

impl Job<'_> {
    pub(crate) async fn finish(&self, ended: Result<Ended, Error>) {
        let interruption = *self.interrupt.borrow();
        let task = self.task().id;
        if interruption == Some(Interruption::Lost) {
            self.worker.tell(WorkerEvent::Lost { task });
            return;
        }
        let epoch = self.lease.epoch.0;
        let branch = match &ended {
            Ok(Ended::Loop { branch, unpushed: None, .. } | Ended::Crew { branch, unpushed: None, .. }) => {
                branch.clone()
            }
            Ok(_) | Err(_) => None,
        };
        // Work that is nowhere else is not removed.
        let (mut is_kept, mut sent) = (false, None);
        let completion = match ended {
            Ok(Ended::Interrupted(Interruption::Cancelled)) => Completion::new(epoch, TaskStatus::Cancelled),
            Ok(Ended::Interrupted(Interruption::Stopping | Interruption::Lost)) => return self.release().await,
            Ok(Ended::Loop { result, branch, unpushed, is_all_sent }) => {
                is_kept = unpushed.is_some();
                sent = is_all_sent.then_some(result.loop_id);
                let was_cancelled = result.reason == Some(AbortReason::Cancelled);
                if was_cancelled && interruption == Some(Interruption::Stopping) {
                    return self.release().await;
                }
                self.completion(&result, branch, unpushed)
            }
            Ok(Ended::Crew { result, branch, unpushed, checks }) => {
                is_kept = unpushed.is_some();
                crew_completion(epoch, &result, branch, unpushed, checks)
            }
            // Another worker has the task by now, or this worker ends: the next one continues.
            Err(_) if interruption == Some(Interruption::Stopping) => return self.release().await,
            Err(error) if error.is_passing() => {
                self.worker.tell(WorkerEvent::Warning { task: Some(task), message: error.to_string() });
                return self.release().await;
            }
            Err(error) if error.is_remote_away() && epoch < MAX_FETCHES => {
                self.worker.tell(WorkerEvent::Warning { task: Some(task), message: error.to_string() });
                self.wait_for_remote().await;
                return self.release().await;
            }
            Err(error) => {
                is_kept = matches!(error, Error::Runtime(ralph_runtime::Error::Unpushed(_)));
                Completion {
                    failure_reason: Some(bounded(&reason(&error), MAX_REASON)),
                    ..Completion::new(epoch, TaskStatus::Failed)
                }
            }
        };
        if self.complete(&completion, branch.as_deref()).await && !is_kept {
            place::clear(&self.worker.options.host, task, sent).await;
        }
    }

    fn completion(&self, result: &RunResult, branch: Option<String>, unpushed: Option<String>) -> Completion {
        let is_complete = result.status == RunStatus::Completed;
        let headline = result.clone().continued_by(Continuation::NewTask).headline();
        let status = match (is_complete, &unpushed, result.reason) {
            (true, None, _) => TaskStatus::Completed,
            (false, _, Some(AbortReason::Cancelled)) => TaskStatus::Cancelled,
            _ => TaskStatus::Failed,
        };
        let failure_reason = match (status, unpushed) {
            (TaskStatus::Completed | TaskStatus::Cancelled, _) => None,
            (_, Some(why)) if is_complete => Some(format!("the work is done, but it is not on its branch: {why}")),
            _ => Some(headline.clone()),
        };
        let claim = self.claims.read(self.task().id).ok().flatten();
        let message = result.output.as_ref().or(result.last_output.as_ref());
        let summary = claim.as_ref().map(|claim| claim.summary.clone()).or_else(|| message.cloned());
        let mut output = serde_json::json!({
            "summary": bounded(summary.as_deref().unwrap_or(&headline), MAX_OUTPUT / 2),
            "result": headline,
            "loopId": result.loop_id,
            "branch": branch,
        });
        if let Some(Claim { promise_evidence, artifact_paths, .. }) = claim {
            output["promiseEvidence"] = bounded(&promise_evidence, MAX_OUTPUT / 4).into();
            output["artifactPaths"] = artifact_paths.into_iter().take(100).collect::<Vec<_>>().into();
        }
        Completion {
            output: Some(output.to_string()),
            failure_reason: failure_reason.map(|reason| bounded(&reason, MAX_REASON)),
            verified: result.verified && status == TaskStatus::Completed,
            iterations: Some(result.iterations),
            cost_usd: Some(result.cost),
            ..Completion::new(self.lease.epoch.0, status)
        }
    }

    /// Whether the server knows that the task ended.
    async fn complete(&self, completion: &Completion, branch: Option<&str>) -> bool {
        let task = self.task().id;
        for _ in 0..MAX_REPORTS {
            match self.worker.options.client.complete(task, completion).await {
                Ok(done) => {
                    let message = done.failure_reason.clone().unwrap_or_else(|| match done.verified {
                        true => "verified".to_owned(),
                        false => "not verified".to_owned(),
                    });
                    let message =
                        branch.map_or_else(|| message.clone(), |branch| format!("{message}, on branch {branch}"));
                    self.worker.tell(WorkerEvent::Ended {
                        task,
                        status: done.status,
                        verified: done.verified,
                        iterations: done.ralph_iterations,
                        cost: done.cost_usd,
                        message,
                    });
                    return true;
                }
                Err(error) if error.is_stale_lease() => {
                    self.worker.tell(WorkerEvent::Lost { task });
                    return false;
                }
                Err(error @ (ApiError::Unreachable { .. } | ApiError::NoWay { .. })) => {
                    tracing::warn!(%error, %task, "the end of a task could not be reported");
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
                Err(error) => {
                    let message = format!("the end of the task could not be reported: {error}");
                    self.worker.tell(WorkerEvent::Warning { task: Some(task), message });
                    return false;
                }
            }
        }
        false
    }

    /// Waits before the task is given back, longer after each claim, so that an absent remote is not asked all the time.
    async fn wait_for_remote(&self) {
        let seconds = 1_u64 << self.lease.epoch.0.saturating_sub(1).min(6);
        let mut interruption = self.interrupt.subscribe();
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
            _ = next(&mut interruption) => {}
        }
    }

    async fn release(&self) {
        let task = self.task().id;
        match self.worker.options.client.release(task, self.lease.epoch.0).await {
            Ok(_) => self.worker.tell(WorkerEvent::Released { task }),
            Err(error) if error.is_stale_lease() => self.worker.tell(WorkerEvent::Lost { task }),
            Err(error) => {
                let message = format!("it could not be released and waits until its lease expires: {error}");
                self.worker.tell(WorkerEvent::Warning { task: Some(task), message });
            }
        }
    }
}

fn crew_completion(
    epoch: u64,
    result: &CrewResult,
    branch: Option<String>,
    unpushed: Option<String>,
    checks: Option<bool>,
) -> Completion {
    let failure_reason = match (&result.answer, unpushed, checks) {
        (None, ..) => Some(result.headline()),
        (Some(_), Some(why), _) => Some(format!("the work is done, but it is not on its branch: {why}")),
        (Some(_), None, Some(false)) => Some("the crew answered, but the checks of the task fail".to_owned()),
        (Some(_), None, _) => None,
    };
    let output = serde_json::json!({
        "summary": bounded(result.answer.as_deref().unwrap_or_default(), MAX_OUTPUT / 2),
        "result": result.headline(),
        "runId": result.run_id,
        "branch": branch,
        "doubts": result.doubts,
    });
    let status = if failure_reason.is_some() { TaskStatus::Failed } else { TaskStatus::Completed };
    Completion {
        output: Some(output.to_string()),
        failure_reason: failure_reason.map(|reason| bounded(&reason, MAX_REASON)),
        verified: checks == Some(true) && status == TaskStatus::Completed,
        iterations: Some(result.rounds),
        cost_usd: Some(result.cost),
        ..Completion::new(epoch, status)
    }
}

/// Why a task cannot be worked on, with everything behind it.
fn reason(error: &Error) -> String {
    match error {
        Error::Host(ralph_host::Error::Runtime(error)) => error.chain(),
        Error::Host(error) => {
            error.rule().map_or_else(|| error.to_string(), |rule| ralph_config::Spelling::File.rule(rule))
        }
        error => error.to_string(),
    }
}

/// The beginning of a text that is too long.
fn bounded(text: &str, most: usize) -> String {
    match text.len() <= most {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(most)]),
    }
}
