//! What happens on the board is heard of, in this process and in others.

use std::time::Duration;

use ralph_model::{TaskStatus, Timestamp};
use ralph_store::{ApprovalStatus, Change, Changes, Progress};

use super::{claim, create, end, for_every_database, new_task, task_id};
use crate::database::Database;
use crate::id;

for_every_database!(changes_of_tasks_are_named, waiting_workers_of_other_processes_wake_up);

async fn until(changes: &mut Changes, wanted: Change) {
    let heard = async { while changes.next().await.expect("the store is open") != wanted {} };
    tokio::time::timeout(Duration::from_secs(20), heard).await.unwrap_or_else(|_| panic!("{wanted:?} is not heard of"));
}

async fn changes_of_tasks_are_named(database: &Database) {
    let all = database.open_all().await;
    let (board, mut changes) = (all.board, all.store.subscribe());
    // A server hears of nothing before it listens.
    if !database.has_loose_types() {
        until(&mut changes, Change::Any).await;
        until(&mut changes, Change::Any).await;
    }
    let of = |status| Change::Task { task: task_id(1), status };
    create(&board, 1, &new_task()).await;
    until(&mut changes, of(TaskStatus::Unassigned)).await;
    let lease = claim(&board, "amy", 1).await.lease;
    until(&mut changes, of(TaskStatus::Pending)).await;
    let progress = Progress { run: Some(id(1)), ..Progress::default() };
    board.report_progress(lease, &progress, Timestamp(2000)).await.unwrap();
    until(&mut changes, of(TaskStatus::InProgress)).await;
    board.cancel_task(task_id(1), Timestamp(3000)).await.unwrap();
    until(&mut changes, of(TaskStatus::InProgress)).await;
    board.finish_task(lease, &end(TaskStatus::Cancelled), Timestamp(4000)).await.unwrap();
    until(&mut changes, of(TaskStatus::Cancelled)).await;
    let asked = ralph_store::Approval {
        id: "a".to_owned(),
        run_id: None,
        task_id: None,
        action: "a".to_owned(),
        why: "w".to_owned(),
        status: ApprovalStatus::Pending,
        comment: None,
        created_at: Timestamp(1),
        answered_at: None,
        expires_at: None,
    };
    board.ask_approval(&asked).await.unwrap();
    until(&mut changes, Change::Approvals).await;
    board.answer_approval("a", ApprovalStatus::Approved, None, Timestamp(2)).await.unwrap();
    until(&mut changes, Change::Approvals).await;
}

async fn waiting_workers_of_other_processes_wake_up(database: &Database) {
    let (here, there) = (database.open_all().await, database.open_all().await);
    let mut changes = here.store.subscribe();
    for number in 1..=3 {
        create(&there.board, number, &new_task()).await;
        let claimed = async {
            loop {
                changes.next().await.expect("the store is open");
                if let Some(claimed) = here.board.claim_task(&super::worker("amy", 9)).await.unwrap() {
                    break claimed.task.id;
                }
            }
        };
        let claimed = tokio::time::timeout(Duration::from_secs(20), claimed).await.expect("the task is heard of");
        assert_eq!(claimed, task_id(number));
    }
}
