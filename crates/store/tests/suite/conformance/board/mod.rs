//! The board: tasks and what belongs to them.

mod changes;
mod dependencies;
mod entries;
mod leases;
mod tasks;

use ralph_model::{Millis, Money, NewTask, Task, TaskId, TaskStatus, TaskType, Timestamp};
use ralph_store::{BoardHandle, Claim, Claimed, TaskEnd};
use uuid::Uuid;

use super::for_every_database;

/// How long leases last in these tests.
const LEASE: Millis = Millis::secs(60);

fn task_id(number: u128) -> TaskId {
    TaskId::from_uuid(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0001_0000 + number))
}

fn new_task() -> NewTask {
    NewTask {
        task: "make the tests pass".to_owned(),
        ralph_promise: Some("the tests pass".to_owned()),
        ..NewTask::default()
    }
}

/// Creates a task with a number at that second.
async fn create(board: &BoardHandle, number: u128, new: &NewTask) -> Task {
    let at = Timestamp(i64::try_from(number).unwrap() * 1000);
    let (task, is_new) = board.create_task(task_id(number), new, None, at).await.unwrap();
    assert!(is_new);
    task
}

/// A worker for every type of task, at that second.
fn worker(agent: &str, second: i64) -> Claim {
    Claim {
        agent: agent.to_owned(),
        token: Some(format!("token of {agent}")),
        types: TaskType::ALL.to_vec(),
        without_repo: true,
        lease: LEASE,
        at: Timestamp(second * 1000),
    }
}

async fn claim(board: &BoardHandle, agent: &str, second: i64) -> Claimed {
    board.claim_task(&worker(agent, second)).await.unwrap().expect("there is a task to claim")
}

fn end(status: TaskStatus) -> TaskEnd {
    TaskEnd {
        status,
        output: Some("done".to_owned()),
        failure_reason: None,
        verified: status == TaskStatus::Completed,
        iterations: 3,
        cost: Money::from_micros(250_000),
    }
}

async fn status(board: &BoardHandle, number: u128) -> TaskStatus {
    board.task(task_id(number)).await.unwrap().status
}

/// What happened to a task, in its order.
async fn kinds(board: &BoardHandle, number: u128) -> Vec<String> {
    let events = board.task_events(task_id(number), 0, 100).await.unwrap();
    assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq), "{events:?}");
    events.into_iter().map(|event| event.kind).collect()
}
