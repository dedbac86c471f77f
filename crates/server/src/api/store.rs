//! The store for workers on other machines.
//!
//! Administrators may make every call. A worker may read every journal, as `/api/loops` shows them anyway, and writes under the
//! lease on a task: to the run of the task, to those that have it as parent, and to a new run, which becomes that of the task.
//! Once the lease is stale it writes nothing. The token of a single task has no access at all: it is in the hands of the
//! agent, whose work the journal judges.

use std::fs;
use std::path::{Component, Path};

use axum::http::StatusCode;
use ralph_api::{Problem, StoreRequest};
use ralph_model::{RunId, TaskId};
use ralph_store::remote::{Call as StoreCall, Refusal as StoreRefusal, Reply, answer};
use ralph_store::{Artifact, Epoch, Error, Progress, Role, TaskLease};
use schemars::JsonSchema;
use serde::Deserialize;

use super::files::{self, not_here};
use crate::call::{Answer, Call, json, no_content};
use crate::problem::Refusal;

pub(crate) async fn call(call: Call) -> Answer {
    let request: StoreRequest = call.body()?;
    let lease = task_lease(request.task_id, request.epoch)?;
    let writes = match &request.call {
        StoreCall::RequestStop { run, .. } | StoreCall::Tell { run, .. } => Some(*run),
        other => other.written(),
    };
    if let Some(run) = writes {
        match admit(&call, lease, run, &request.call).await {
            // As the worker hears it when another process has taken the run.
            Err(Denied::Stale { held, newest }) => {
                let refusal = StoreRefusal::StaleLease { run, held, newest };
                return json(StatusCode::OK, &Reply::Failed(refusal));
            }
            Err(Denied::Refused(refusal)) => return Err(refusal),
            Ok(()) => {}
        }
    }
    json(StatusCode::OK, &answer(&**call.app.store(), request.call).await?)
}

fn task_lease(task: Option<TaskId>, epoch: Option<u64>) -> Result<Option<TaskLease>, Refusal> {
    match (task, epoch) {
        (Some(task), Some(epoch)) if i64::try_from(epoch).is_ok() => Ok(Some(TaskLease { task, epoch: Epoch(epoch) })),
        (None, None) => Ok(None),
        _ => Err(Problem::invalid("epoch", "send taskId and epoch of the lease, or neither").into()),
    }
}

/// Why a caller may not write to a run.
enum Denied {
    Stale { held: Epoch, newest: Epoch },
    Refused(Refusal),
}

impl<E: Into<Refusal>> From<E> for Denied {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

/// Whether the caller may write to a run. A run that is about to be created becomes that of the task.
async fn admit(call: &Call, lease: Option<TaskLease>, run: RunId, wanted: &StoreCall) -> Result<(), Denied> {
    let Some(lease) = lease else {
        if call.role() == Some(&Role::Admin) {
            return Ok(());
        }
        let detail = "a worker writes under the lease on a task: send its taskId and epoch";
        return Err(Problem::new(403, "forbidden", detail).in_field("taskId").into());
    };
    call.check_token(lease.task).await?;
    let newest = call.board().task_holder(lease.task).await?.map(|holder| holder.lease.epoch);
    if newest != Some(lease.epoch) {
        return Err(Denied::Stale { held: lease.epoch, newest: newest.unwrap_or(Epoch(lease.epoch.0 + 1)) });
    }
    let own = call.board().task(lease.task).await?.run_id;
    if own == Some(run) {
        return Ok(());
    }
    let known = match call.app.store().run(run).await {
        Ok(entry) => Some(entry),
        Err(Error::UnknownRun { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    match (known, wanted) {
        (Some(entry), _) if own.is_some() && entry.parent == own => Ok(()),
        (None, StoreCall::CreateRun { new, .. }) if new.parent.is_none() => {
            let progress = Progress { run: Some(run), ..Progress::default() };
            call.board().report_progress(lease, &progress, call.now()).await?;
            Ok(())
        }
        (None, StoreCall::CreateRun { new, .. }) if new.parent == own => Ok(()),
        (None, wanted) if !matches!(wanted, StoreCall::CreateRun { .. }) => {
            Err(Problem::new(404, "not-found", format!("there is no loop {run}")).into())
        }
        _ => {
            let detail = format!("{run} is not a run of task {}", lease.task);
            Err(Problem::new(403, "forbidden", detail).into())
        }
    }
}

/// A worker whose loops are recorded elsewhere names its run itself; one that exists here was linked when it was created, and
/// that of another task stays there.
pub(super) async fn check_reported(call: &Call, lease: TaskLease, run: RunId) -> Result<(), Refusal> {
    if call.role() == Some(&Role::Admin) || call.board().task(lease.task).await?.run_id == Some(run) {
        return Ok(());
    }
    match call.app.store().run(run).await {
        Err(Error::UnknownRun { .. }) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => {
            let detail = format!("{run} is not a run of task {}", lease.task);
            Err(Problem::new(403, "forbidden", detail).in_field("runId").into())
        }
    }
}

/// The lease under which a file is sent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LeaseQuery {
    /// The task that the caller works on. Administrators may leave it out.
    task_id: Option<TaskId>,
    /// The epoch of the lease on it.
    epoch: Option<u64>,
}

/// The files of a run with this hash.
async fn recorded(call: &Call) -> Result<(RunId, Vec<Artifact>), Refusal> {
    let (run, sha256) = (call.run_id()?, call.part("sha256"));
    let mut artifacts = call.app.store().artifacts(run).await?;
    artifacts.retain(|artifact| artifact.sha256 == sha256);
    if artifacts.is_empty() {
        let detail = format!("loop {run} has no file with the hash {sha256}: record it first");
        return Err(Problem::new(404, "not-found", detail).into());
    }
    Ok((run, artifacts))
}

pub(crate) async fn put_artifact(mut call: Call) -> Answer {
    let query: LeaseQuery = call.query()?;
    let (run, artifacts) = recorded(&call).await?;
    let lease = task_lease(query.task_id, query.epoch)?;
    match admit(&call, lease, run, &StoreCall::Artifacts { run }).await {
        Err(Denied::Stale { held, newest }) => {
            let detail = format!("the lease has epoch {held}, and the newest one is {newest}");
            return Err(Problem::new(409, "stale-lease", detail).into());
        }
        Err(Denied::Refused(refusal)) => return Err(refusal),
        Ok(()) => {}
    }
    let Some(upload) = call.file.take() else { return Err(Refusal::internal("a file was not read")) };
    if upload.sha256 != call.part("sha256") {
        let detail = format!("the hash of what was sent is {}", upload.sha256);
        return Err(Problem::invalid("sha256", detail).into());
    }
    let root = call.app.options.home.loop_folder(run).root().to_owned();
    let keep = move || {
        let kept = artifacts.iter().try_for_each(|artifact| keep(&root, &artifact.name, upload.file.path()));
        kept.map(|()| upload)
    };
    let kept = tokio::task::spawn_blocking(keep).await.map_err(Refusal::internal)?;
    let upload = kept.map_err(|detail| Refusal::from(Problem::new(409, "conflict", detail)))?;
    files::share(&call.app, run, &upload.sha256, upload.file.path()).await?;
    no_content()
}

/// Puts a file in its place within the folder of a run. A record that names another place is refused.
fn keep(root: &Path, name: &str, sent: &Path) -> Result<(), String> {
    let relative = Path::new(name);
    if name.is_empty() || !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(format!("`{name}` is not a place in the folder of a loop"));
    }
    let failed = |error: std::io::Error| format!("{name} cannot be kept: {error}");
    let folder = root.join(relative.parent().unwrap_or(relative));
    fs::create_dir_all(&folder).map_err(failed)?;
    if folder.canonicalize().ok()
        != root.canonicalize().ok().map(|root| root.join(relative.parent().unwrap_or(relative)))
    {
        return Err(format!("`{name}` is not a place in the folder of a loop"));
    }
    let copy = tempfile::NamedTempFile::new_in(&folder).map_err(failed)?;
    fs::copy(sent, copy.path()).map_err(failed)?;
    copy.persist(root.join(relative)).map_err(|error| failed(error.error))?;
    Ok(())
}

pub(crate) async fn get_artifact(call: Call) -> Answer {
    let (run, artifacts) = recorded(&call).await?;
    for artifact in &artifacts {
        if let Some(found) = files::find(&call.app, run, &artifact.name).await? {
            return files::serve(&call.app, found, "application/octet-stream").await;
        }
    }
    Err(not_here("the file"))
}
