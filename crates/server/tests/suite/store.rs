//! The store of a server, for workers: who may write what, and files.

use std::time::Duration;

use ralph_api::{Client, Poll, ProgressReport, Work};
use ralph_model::{Attempt, Iteration, RunId, Timestamp};
use ralph_store::{Artifact, ArtifactKind, Epoch, Error, Filter, NewRun, Role, Seq, StopMode, StoreHandle, TaskLease};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::harness::{Place, Running};
use crate::{events, id, new_run, numbered};

/// Longer than any answer takes here.
const PATIENCE: Duration = Duration::from_secs(20);

fn lease_of(work: &Work) -> TaskLease {
    TaskLease { task: work.task.id, epoch: Epoch(work.lease.epoch) }
}

/// A worker that has claimed a new task.
async fn working(server: &Running, name: &str) -> (Client, TaskLease, StoreHandle) {
    server.task().await;
    let client = server.client_with(&server.token(name, Role::Agent).await);
    let work = client.poll(&Poll::new(name)).await.unwrap().unwrap();
    let lease = lease_of(&work);
    let store = client.store(Some(lease), PATIENCE);
    (client, lease, store)
}

#[track_caller]
fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>, words: &str) {
    let error = result.unwrap_err();
    assert!(matches!(&error, Error::Database { detail, .. } if detail.contains(words)), "{error:?}");
}

pub async fn a_worker_writes_to_the_runs_of_its_task(server: Running) {
    let (client, lease, store) = working(&server, "one").await;
    let (run, head) = store.create_run(new_run(id(1)), numbered(1)).await.unwrap();
    // The run is that of the task now, so that another worker can continue it.
    assert_eq!(server.database.board.task(lease.task).await.unwrap().run_id, Some(id(1)));
    store.append(run, head.seq, events(2..=3)).await.unwrap();
    let child = NewRun { parent: Some(id(1)), ..new_run(id(2)) };
    let (of_child, _) = store.create_run(child, numbered(1)).await.unwrap();
    store.append(of_child, Seq(1), events(2..=2)).await.unwrap();
    assert_eq!(server.database.board.task(lease.task).await.unwrap().run_id, Some(id(1)));

    // What other workers have is read and not written.
    let (other_client, other_lease, other) = working(&server, "two").await;
    assert_eq!(other.journal(id(1)).await.unwrap().len(), 3);
    assert_eq!(other.runs(&Filter::default()).await.unwrap().len(), 2);
    is_refused(other.acquire(id(1), None).await, "is not a run of task");
    is_refused(other.append(run, Seq(3), events(4..=4)).await, "is not a run of task");
    is_refused(other.request_stop(id(1), StopMode::AfterIteration, Timestamp(1)).await, "is not a run of task");
    let child = NewRun { parent: Some(id(1)), ..new_run(id(3)) };
    is_refused(other.create_run(child, numbered(1)).await, "is not a run of task");
    is_refused(other.acquire(id(9), None).await, "there is no loop");
    let report = ProgressReport { epoch: Some(other_lease.epoch.0), run_id: Some(id(1)), ..ProgressReport::default() };
    assert_eq!(other_client.progress(other_lease.task, &report).await.unwrap_err().status(), Some(403));
    is_refused(other.create_run(new_run(id(1)), numbered(1)).await, "is not a run of task");
    // A worker that names no task reads only.
    let without = client.store(None, PATIENCE);
    assert_eq!(without.run(id(1)).await.unwrap().id, id(1));
    is_refused(without.append(run, Seq(3), events(4..=4)).await, "under the lease on a task");
    assert_eq!(server.database.store.journal(id(1)).await.unwrap().len(), 3);

    // The agent inside of a worker has no access: the journal judges its work.
    let token = server.token("inside", Role::Task { task_id: lease.task, epoch: lease.epoch.0 }).await;
    is_refused(server.client_with(&token).store(Some(lease), PATIENCE).run(id(1)).await, "does not allow this");
    // An administrator may do everything.
    server.client().store(None, PATIENCE).append(run, Seq(3), events(4..=4)).await.unwrap();
}

pub async fn a_stale_worker_writes_nothing(server: Running) {
    let (client, lease, store) = working(&server, "one").await;
    let (run, head) = store.create_run(new_run(id(1)), numbered(1)).await.unwrap();
    client.release(lease.task, lease.epoch.0).await.unwrap();
    let stale = |error: Error| assert!(matches!(error, Error::StaleLease { .. }), "{error:?}");
    stale(store.append(run, head.seq, events(2..=2)).await.unwrap_err());
    let next = lease_of(&client.poll(&Poll::new("two")).await.unwrap().unwrap());
    assert_eq!(next.task, lease.task);
    stale(store.acquire(id(1), None).await.unwrap_err());
    let continued = client.store(Some(next), PATIENCE);
    let taken = continued.acquire(id(1), None).await.unwrap();
    continued.append(taken, head.seq, events(2..=2)).await.unwrap();
    stale(continued.append(run, Seq(2), events(3..=3)).await.unwrap_err());
    assert_eq!(server.database.store.journal(id(1)).await.unwrap().len(), 2);
}

fn artifact(kind: ArtifactKind, name: &str, content: &str) -> Artifact {
    Artifact {
        kind,
        name: name.to_owned(),
        iteration: Some(Iteration(1)),
        attempt: Some(Attempt(1)),
        sha256: Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect(),
        bytes: content.len() as u64,
        at: Timestamp(1),
    }
}

pub async fn files_are_kept_by_their_hash(server: Running) {
    let (client, lease, store) = working(&server, "one").await;
    let (run, _) = store.create_run(new_run(id(1)), numbered(1)).await.unwrap();
    // Longer than the body of any other request may be.
    let long = "a line of output\n".repeat(100_000);
    let log = artifact(ArtifactKind::Log, "logs/iteration-1-agent-1.log", &long);
    let outside = artifact(ArtifactKind::Log, "../outside.log", "outside");
    let missing = client.upload(id(1), Some(lease), &log.sha256, long.clone().into()).await.unwrap_err();
    assert_eq!(missing.status(), Some(404), "{missing}");
    store.record_artifacts(run, &[log.clone(), outside.clone()]).await.unwrap();
    assert_eq!(client.artifact(id(1), &log.sha256).await.unwrap(), None);
    let wrong = client.upload(id(1), Some(lease), &log.sha256, "another text".into()).await.unwrap_err();
    assert_eq!(wrong.status(), Some(422), "{wrong}");
    let unleased = client.upload(id(1), None, &log.sha256, long.clone().into()).await.unwrap_err();
    assert_eq!(unleased.status(), Some(403), "{unleased}");
    let escaping = client.upload(id(1), Some(lease), &outside.sha256, "outside".into()).await.unwrap_err();
    assert_eq!(escaping.status(), Some(409), "{escaping}");
    for _ in 0..2 {
        client.upload(id(1), Some(lease), &log.sha256, long.clone().into()).await.unwrap();
    }
    assert_eq!(client.artifact(id(1), &log.sha256).await.unwrap().unwrap(), long.as_bytes());
    let kept = server.folder.path().join("loops").join(id(1).to_string()).join(&log.name);
    assert_eq!(std::fs::read_to_string(kept).unwrap(), long);
    // Nothing of what was refused is left.
    let left: Vec<_> = std::fs::read_dir(server.folder.path().join("loops")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    client.release(lease.task, lease.epoch.0).await.unwrap();
    let stale = client.upload(id(1), Some(lease), &log.sha256, long.into()).await.unwrap_err();
    assert!(stale.is_stale_lease(), "{stale}");
}

#[tokio::test]
async fn a_call_that_makes_no_sense_is_refused() {
    let server = Running::start(&Place::sqlite()).await;
    let run = RunId::from_uuid(uuid::Uuid::nil());
    for (body, field) in [
        (json!({}), "call"),
        (json!({"call": {"call": "dropTables"}}), "call.call"),
        (json!({"call": {"call": "run"}}), "call.run"),
        (json!({"call": {"call": "run", "run": run}, "epoch": 1}), "epoch"),
        (json!({"call": {"call": "runCounts"}, "more": 1}), "more"),
    ] {
        let reply = server.ask("POST", "/api/store", Some(&body)).await;
        assert_eq!(reply.status, 422, "{body}: {reply:?}");
        let named = reply.json()["field"].as_str().unwrap().to_owned();
        assert!(named.starts_with(field.split('.').next().unwrap()), "{body}: {named}");
    }
    let reply = server.ask("POST", "/api/store", Some(&json!({"call": {"call": "run", "run": run}}))).await;
    assert_eq!(reply.json()["failed"]["error"], "unknownRun", "{reply:?}");
    let artifact = format!("/api/loops/{run}/artifacts/{}", "0".repeat(64));
    server.ask("PUT", &artifact, Some(&json!({}))).await.refuses(415, None);
    server.ask("GET", &artifact, None).await.refuses(404, None);
}

#[tokio::test]
async fn a_server_that_starts_again_is_waited_for() {
    let place = Place::sqlite();
    let mut server = Running::start(&place).await;
    let (url, admin, address) = (server.url(), server.admin.clone(), server.address);
    let store = Client::new(&url, &admin).unwrap().store(None, Duration::from_secs(60));
    let (lease, head) = store.create_run(new_run(id(1)), numbered(1)).await.unwrap();
    server.stop();
    let ended = std::mem::replace(&mut server.ended, tokio::spawn(async {}));
    ended.await.unwrap();
    let appending = tokio::spawn(async move { store.append(lease, head.seq, events(2..=2)).await });
    let database = place.open().await;
    let again = Running::listening(database, place.folder.clone(), ralph_server::Limits::default(), address).await;
    assert_eq!(appending.await.unwrap().unwrap().seq, Seq(2));
    assert_eq!(again.database.store.journal(id(1)).await.unwrap().len(), 2);
    // No server listens there: an error that says so, after the time that was given.
    let none = Client::new("http://127.0.0.1:1", &admin).unwrap().store(None, Duration::from_millis(300));
    let error = none.run(id(1)).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}
