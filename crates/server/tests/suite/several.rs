//! Two servers that share one PostgreSQL.

use std::time::Duration;

use ralph_api::{Completion, Poll, ProgressReport};
use ralph_model::{NewTask, TaskStatus, TaskType};
use ralph_testkit::postgres::Cluster;
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
}
