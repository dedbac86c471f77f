//! Two servers that share one PostgreSQL.

use std::time::Duration;

use ralph_api::{Completion, Poll, ProgressReport};
use ralph_model::{NewTask, TaskStatus, TaskType, Timestamp};
use ralph_store::{Artifact, ArtifactKind};
use ralph_testkit::postgres::Cluster;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use crate::harness::{Place, Running};
use crate::{events, id, new_run, numbered};

/// Longer than a notification takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn what_one_server_writes_reaches_the_callers_of_the_other() {
    let cluster = Cluster::start();
    let url = cluster.create_database("several");
    let (one, two) = (Running::start(&Place::postgres(url.clone())).await, Running::start(&Place::postgres(url)).await);
    let (here, there) = (one.client(), two.client());

    // A worker of the second server waits for a task, which is created on the first.
    let waiting = {
        let there = there.clone();
        tokio::spawn(async move { there.poll(&Poll { wait_seconds: 60, ..Poll::new("w") }).await })
    };
    let new = NewTask { task: "do it".to_owned(), task_type: TaskType::Single, ..NewTask::default() };
    let created = here.create_task(&new, "key").await.unwrap();
    let work = timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap().expect("the task is handed out");
    assert_eq!(work.task.id, created.id);
    // The same key on the other server creates nothing.
    assert_eq!(there.create_task(&new, "key").await.unwrap().id, created.id);

    // A stream of the first server shows what the worker tells the second.
    let mut stream = here.events(created.id, 0).await.unwrap();
    let mut next = async || timeout(PATIENCE, stream.next()).await.unwrap().unwrap();
    assert_eq!(next().await.unwrap().kind, "created");
    assert_eq!(next().await.unwrap().kind, "claimed");
    let epoch = work.lease.epoch;
    let report = ProgressReport { epoch: Some(epoch), message: Some("half".to_owned()), ..ProgressReport::default() };
    there.progress(created.id, &report).await.unwrap();
    assert_eq!(next().await.unwrap().kind, "progress");
    there.complete(created.id, &Completion::new(epoch, TaskStatus::Completed)).await.unwrap();
    assert_eq!(next().await.unwrap().kind, "completed");
    assert_eq!(next().await, None);

    // A run that begins through one store continues through the other.
    let (store, other) = (here.store(None, PATIENCE), there.store(None, PATIENCE));
    let (lease, head) = store.create_run(new_run(id(1)), numbered(1)).await.unwrap();
    other.append(lease, head.seq, events(2..=2)).await.unwrap();
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 2);

    // A file that was sent to one is found on the other: of several pieces, empty, and one that was sent again with new content.
    for content in ["a line of output\n".repeat(40_000), String::new(), "newer".to_owned()] {
        let artifact = Artifact {
            kind: ArtifactKind::Log,
            name: "logs/iteration-1-agent-1.log".to_owned(),
            iteration: None,
            attempt: None,
            sha256: Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect(),
            bytes: content.len() as u64,
            at: Timestamp(1),
        };
        store.record_artifacts(lease, std::slice::from_ref(&artifact)).await.unwrap();
        assert_eq!(there.artifact(id(1), &artifact.sha256).await.unwrap(), None, "it is not sent yet");
        here.upload(id(1), None, &artifact.sha256, content.clone().into()).await.unwrap();
        for client in [&here, &there] {
            assert_eq!(client.artifact(id(1), &artifact.sha256).await.unwrap().unwrap(), content.as_bytes());
        }
    }
    assert_eq!(one.database.board.forget_parts(Timestamp(i64::MAX)).await.unwrap(), 3 + 1 + 1, "pieces");
}
