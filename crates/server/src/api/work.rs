//! What a worker does with a task: claim it, keep it, report, end or release it. Every write carries the lease.

use std::time::Duration;

use axum::http::StatusCode;
use ralph_api::{
    CheckpointReport, Completion, Heartbeat, Kept, LeaseView, Poll, Problem, ProgressReport, Release, Work,
};
use ralph_model::{Checkpoint, Millis, TaskStatus, TaskType};
use ralph_store::{Change, Claim, Claimed, Progress, Role, TaskEnd, TaskLease, Token};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

use super::store;
use crate::app::App;
use crate::call::{Answer, Call, check_length, check_name, json, no_content};
use crate::problem::Refusal;
use crate::token::Secret;

/// How often a waiting worker looks although nothing was announced: leases of dead workers expire silently.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// The waits between the tries to record the token of a task.
const TOKEN_DELAYS: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2)];
const MAX_MESSAGE: usize = 4096;
const MAX_OUTPUT: usize = 65_536;

pub(crate) async fn poll(call: Call) -> Answer {
    let poll: Poll = call.body()?;
    check_name("agentId", &poll.agent_id)?;
    if poll.wait_seconds > 60 {
        return Err(Problem::invalid("waitSeconds", "waitSeconds must be between 0 and 60").into());
    }
    let lease = lease_span(poll.lease_seconds)?;
    let types = poll.types.unwrap_or_else(|| vec![TaskType::Ralph, TaskType::Single, TaskType::Crew]);
    let deadline = Instant::now() + Duration::from_secs(poll.wait_seconds.into());
    call.board().touch_agent(&poll.agent_id, call.worker_token(), call.now()).await?;
    let mut changes = call.app.store().subscribe();
    loop {
        let claim = Claim {
            agent: poll.agent_id.clone(),
            token: call.caller.as_ref().map(|caller| caller.name.clone()),
            types: types.clone(),
            without_repo: poll.without_repo,
            lease,
            at: call.now(),
        };
        if let Some(work) = claim_one(&call.app, claim).await? {
            return json(StatusCode::OK, &work);
        }
        let until = deadline.min(Instant::now() + LOOK_AGAIN);
        tokio::select! {
            () = call.app.stopping() => return no_content(),
            _ = timeout_at(until, async {
                while let Some(change) = changes.next().await {
                    if is_chance(change) {
                        break;
                    }
                }
            }) => {}
        }
        if Instant::now() >= deadline {
            return no_content();
        }
        if let Some(caller) = &call.caller {
            caller.ensure_known(&call.app).await?;
        }
    }
}

/// Whether a change may have made a task claimable.
fn is_chance(change: Change) -> bool {
    match change {
        Change::Task { status, .. } => matches!(status, TaskStatus::Unassigned | TaskStatus::Offered),
        Change::Any | Change::Schedules => true,
        Change::Events { .. } | Change::Stop { .. } | Change::Approvals => false,
    }
}

/// Claims a task in a task of its own: a caller that goes away in between must not leave a task with a lease that no worker
/// knows of.
async fn claim_one(app: &App, claim: Claim) -> Result<Option<Work>, Refusal> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let owned = app.clone();
    tokio::spawn(async move {
        let claimed = claimed(&owned, &claim).await;
        if let Err(Ok(Some(work))) = sender.send(claimed) {
            let work: Work = work;
            let lease = TaskLease { task: work.task.id, epoch: ralph_store::Epoch(work.lease.epoch) };
            if let Err(error) = owned.board().release_task(lease, owned.now()).await {
                owned.log(&format!("task {} was claimed by a worker that went away: {error}", work.task.id));
            }
        }
    });
    receiver.await.unwrap_or(Ok(None))
}

async fn claimed(app: &App, claim: &Claim) -> Result<Option<Work>, Refusal> {
    let Some(Claimed { task, lease, expires_at }) = app.board().claim_task(claim).await? else { return Ok(None) };
    let secret =
        Secret::generate().map_err(|error| Refusal::internal(format!("no random bytes for a token: {error}")))?;
    let token = Token {
        name: format!("task {} {}", task.id, lease.epoch),
        role: Role::Task { task_id: task.id, epoch: lease.epoch.0 },
        created_at: claim.at,
    };
    add_token(app, &token, &secret, lease).await?;
    app.counters.claimed();
    let lease = LeaseView { id: task.id, epoch: lease.epoch.0, expires_at };
    Ok(Some(Work { task, lease, token: secret.reveal().to_owned() }))
}

/// Records the token of a task that was claimed. A database that is away for a moment must not leave a lease that no worker knows
/// of: when it expires it counts as the death of a worker.
async fn add_token(app: &App, token: &Token, secret: &Secret, lease: TaskLease) -> Result<(), Refusal> {
    let mut delays = TOKEN_DELAYS.iter();
    loop {
        let error = match app.board().add_token(token, &secret.hash()).await {
            // Its name is that of this lease: an earlier try was stored.
            Ok(()) | Err(ralph_store::Error::EntryConflict { .. }) => return Ok(()),
            Err(error) => error,
        };
        match delays.next() {
            Some(delay) => tokio::time::sleep(*delay).await,
            None => {
                if let Err(error) = app.board().release_task(lease, app.now()).await {
                    app.log(&format!("task {} waits until its lease expires: {error}", lease.task));
                }
                return Err(error.into());
            }
        }
    }
}

fn lease_span(seconds: u32) -> Result<Millis, Refusal> {
    match seconds {
        5..=600 => Ok(Millis::secs(seconds.into())),
        _ => Err(Problem::invalid("leaseSeconds", "leaseSeconds must be between 5 and 600").into()),
    }
}

pub(crate) async fn heartbeat(call: Call) -> Answer {
    let heartbeat: Heartbeat = call.body()?;
    let (lease, span) = (call.lease(heartbeat.epoch).await?, lease_span(heartbeat.lease_seconds)?);
    let renewed = call.board().renew_lease(lease, span, call.now()).await?;
    json(StatusCode::OK, &Kept { expires_at: renewed.expires_at, cancelled: renewed.cancelled })
}

pub(crate) async fn progress(call: Call) -> Answer {
    let report: ProgressReport = call.body()?;
    let lease = call.held_lease(report.epoch).await?;
    let message = report.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
    check_length("message", message, MAX_MESSAGE)?;
    let figures = [
        ("runId", report.run_id.is_some()),
        ("iterations", report.iterations.is_some()),
        ("costUsd", report.cost_usd.is_some()),
    ];
    if let Some((field, _)) = figures.iter().find(|(_, is_given)| *is_given && call.is_task_agent()) {
        let detail = format!("{field} is reported by the worker; the token of a task can only send a message");
        return Err(Problem::new(403, "forbidden", detail).in_field(*field).into());
    }
    check_iterations(report.iterations)?;
    if let Some(run) = report.run_id {
        store::check_reported(&call, lease, run).await?;
    }
    let progress = Progress {
        run: report.run_id,
        iterations: report.iterations,
        cost: report.cost_usd,
        message: message.map(str::to_owned),
    };
    json(StatusCode::OK, &call.board().report_progress(lease, &progress, call.now()).await?)
}

fn check_iterations(iterations: Option<u32>) -> Result<(), Refusal> {
    match iterations {
        Some(iterations) if iterations > 1_000_000 => {
            Err(Problem::invalid("iterations", "iterations is larger than any task has").into())
        }
        _ => Ok(()),
    }
}

/// Ends the work. The agent inside a worker can only claim that it is done: its claim becomes a task event, and the worker
/// decides after the checks.
pub(crate) async fn complete(call: Call) -> Answer {
    let completion: Completion = call.body()?;
    let lease = call.held_lease(completion.epoch).await?;
    if !completion.status.is_final() {
        return Err(Problem::invalid("status", "status must be completed, failed or cancelled").into());
    }
    check_length("output", completion.output.as_deref(), MAX_OUTPUT)?;
    check_length("failureReason", completion.failure_reason.as_deref(), MAX_MESSAGE)?;
    check_iterations(completion.iterations)?;
    if call.is_task_agent() {
        let progress = Progress { message: Some(completion.claim()), ..Progress::default() };
        return json(StatusCode::ACCEPTED, &call.board().report_progress(lease, &progress, call.now()).await?);
    }
    let task = call.board().task(lease.task).await?;
    let end = TaskEnd {
        status: completion.status,
        output: completion.output,
        failure_reason: completion.failure_reason,
        verified: completion.verified && completion.status == TaskStatus::Completed,
        iterations: completion.iterations.unwrap_or(task.ralph_iterations),
        cost: completion.cost_usd.unwrap_or(task.cost_usd),
    };
    json(StatusCode::OK, &call.board().finish_task(lease, &end, call.now()).await?)
}

pub(crate) async fn release(call: Call) -> Answer {
    let release: Release = call.body()?;
    json(StatusCode::OK, &call.board().release_task(call.lease(release.epoch).await?, call.now()).await?)
}

pub(crate) async fn set_checkpoint(call: Call) -> Answer {
    let report: CheckpointReport = call.body()?;
    let lease = call.lease(report.epoch).await?;
    if report.task_id.is_some_and(|task| task != lease.task) {
        return Err(Problem::invalid("taskId", "taskId is not the task of this address").into());
    }
    if report.iteration > 1_000_000 {
        return Err(Problem::invalid("iteration", "iteration is larger than any task has").into());
    }
    let now = call.now();
    let checkpoint = Checkpoint {
        task_id: lease.task,
        iteration: report.iteration,
        context_full: report.context_full,
        timestamp: report.timestamp.unwrap_or(now),
        checkpoint_reason: report.checkpoint_reason,
    };
    json(StatusCode::OK, &call.board().set_checkpoint(lease, Some(&checkpoint), now).await?)
}

pub(crate) async fn checkpoint(call: Call) -> Answer {
    let task = call.board().task(call.task_id()?).await?;
    match task.ralph_last_checkpoint {
        Some(checkpoint) => json(StatusCode::OK, &checkpoint),
        None => Err(Problem::new(404, "not-found", format!("task {} has no checkpoint", task.id)).into()),
    }
}

/// The lease of a call without a body.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EpochQuery {
    /// The epoch of the lease; a token for the task alone brings its own.
    epoch: Option<u64>,
}

pub(crate) async fn clear_checkpoint(call: Call) -> Answer {
    let query: EpochQuery = call.query()?;
    call.board().set_checkpoint(call.lease(query.epoch).await?, None, call.now()).await?;
    no_content()
}
