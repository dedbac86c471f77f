//! What workers do, and what happens to the tasks of those that died.

use ralph_model::{Checkpoint, CheckpointReason, Millis, Money, NewTask, TaskStatus, TaskType, Timestamp};
use ralph_store::{BoardHandle, Claim, Epoch, Error, Progress, TaskHolder, TaskLease};

use super::{LEASE, claim, create, end, for_every_database, kinds, new_task, status, task_id, worker};
use crate::database::Database;
use crate::id;

for_every_database!(
    the_most_urgent_and_then_the_oldest_is_claimed,
    a_worker_claims_only_what_it_can_work_on,
    an_offered_task_is_claimed_by_its_agent_alone,
    a_stale_lease_changes_nothing,
    a_lease_is_kept_by_renewing_it,
    an_expired_task_can_be_claimed_again,
    a_claim_finds_what_has_expired,
    a_task_that_killed_three_workers_is_quarantined,
    a_released_task_counts_no_death,
    progress_never_goes_back,
    a_task_takes_so_many_entries_and_no_more,
    checkpoints_are_written_and_cleared,
    a_task_ends_once,
    a_cancelled_worker_is_told_and_the_task_ends_cancelled,
    a_cancelled_task_of_a_dead_worker_ends_cancelled,
);

async fn claimed_by(board: &BoardHandle, claim: &Claim) -> Option<u128> {
    let claimed = board.claim_task(claim).await.unwrap()?;
    Some(claimed.task.id.uuid().as_u128() - task_id(0).uuid().as_u128())
}

async fn the_most_urgent_and_then_the_oldest_is_claimed(database: &Database) {
    let board = database.open_all().await.board;
    let repo = || Some("r".to_owned());
    for (number, priority, task_type, repo, agent_id) in [
        (1, 0, TaskType::Ralph, None, None),
        (2, 5, TaskType::Single, repo(), None),
        (3, 5, TaskType::Ralph, None, Some("amy".to_owned())),
        (4, -1000, TaskType::Crew, None, None),
        (5, 1000, TaskType::Crew, repo(), None),
        (6, 0, TaskType::Ralph, None, None),
    ] {
        create(&board, number, &NewTask { priority, task_type, repo, agent_id, ..new_task() }).await;
    }
    let mut order = Vec::new();
    while let Some(number) = claimed_by(&board, &worker("amy", 9)).await {
        order.push(number);
    }
    assert_eq!(order, [5, 2, 3, 1, 6, 4]);
}

async fn a_worker_claims_only_what_it_can_work_on(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &NewTask { task_type: TaskType::Crew, repo: Some("r".to_owned()), ..new_task() }).await;
    create(&board, 2, &NewTask { task_type: TaskType::Ralph, ..new_task() }).await;
    create(&board, 3, &NewTask { task_type: TaskType::Ralph, repo: Some("r".to_owned()), ..new_task() }).await;
    let only = |types: &[TaskType], without_repo| Claim { types: types.to_vec(), without_repo, ..worker("amy", 5) };
    assert_eq!(claimed_by(&board, &only(&[], true)).await, None);
    assert_eq!(claimed_by(&board, &only(&[TaskType::Single], true)).await, None);
    assert_eq!(claimed_by(&board, &only(&[TaskType::Ralph, TaskType::Ralph], false)).await, Some(3));
    assert_eq!(claimed_by(&board, &only(&[TaskType::Ralph], false)).await, None);
    assert_eq!(claimed_by(&board, &only(&[TaskType::Ralph], true)).await, Some(2));
    assert_eq!(claimed_by(&board, &only(&TaskType::ALL, false)).await, Some(1));
}

async fn an_offered_task_is_claimed_by_its_agent_alone(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &NewTask { agent_id: Some("bob".to_owned()), ..new_task() }).await;
    assert_eq!(claimed_by(&board, &worker("amy", 2)).await, None);
    let held = claim(&board, "bob", 2).await;
    // It is still his after he gave it back, and after he died.
    let task = board.release_task(held.lease, Timestamp(3000)).await.unwrap();
    assert_eq!((task.status, task.agent_id.as_deref()), (TaskStatus::Offered, Some("bob")));
    assert_eq!(claimed_by(&board, &worker("amy", 3)).await, None);
    claim(&board, "bob", 3).await;
    assert_eq!(board.expire_leases(Timestamp(100_000)).await.unwrap(), 1);
    assert_eq!(claimed_by(&board, &worker("amy", 100)).await, None);
    assert_eq!(claimed_by(&board, &worker("bob", 100)).await, Some(1));
}

/// Every write of a worker is refused.
async fn assert_stale(board: &BoardHandle, lease: TaskLease, newest: Epoch) {
    let before = board.task(lease.task).await.unwrap();
    let at = Timestamp(1_000_000);
    let progress = Progress { iterations: Some(90), message: Some("late".to_owned()), ..Progress::default() };
    for refused in [
        board.renew_lease(lease, LEASE, at).await.map(drop),
        board.report_progress(lease, &progress, at).await.map(drop),
        board.set_checkpoint(lease, None, at).await.map(drop),
        board.release_task(lease, at).await.map(drop),
        board.finish_task(lease, &end(TaskStatus::Failed), at).await.map(drop),
    ] {
        assert_eq!(refused, Err(Error::StaleTaskLease { task: lease.task, held: lease.epoch, newest }));
    }
    assert_eq!(board.task(lease.task).await.unwrap(), before);
}

async fn a_stale_lease_changes_nothing(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let never = TaskLease { task: task_id(1), epoch: Epoch(0) };
    assert_stale(&board, never, Epoch(0)).await;
    let first = claim(&board, "amy", 1).await.lease;
    assert_eq!(first.epoch, Epoch(1));
    assert_stale(&board, TaskLease { epoch: Epoch(2), ..first }, Epoch(1)).await;
    board.release_task(first, Timestamp(2000)).await.unwrap();
    assert_stale(&board, first, Epoch(1)).await;
    let second = claim(&board, "bob", 3).await.lease;
    assert_eq!(second.epoch, Epoch(2));
    assert_stale(&board, first, Epoch(2)).await;
    // PostgreSQL passes by a row that a refused write still holds, until the next look.
    while board.expire_leases(Timestamp(500_000)).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert_stale(&board, second, Epoch(2)).await;
    let third = claim(&board, "amy", 500).await.lease;
    board.finish_task(third, &end(TaskStatus::Completed), Timestamp(501_000)).await.unwrap();
    assert_stale(&board, second, Epoch(3)).await;
    assert_stale(&board, third, Epoch(3)).await;
    assert_eq!(board.task_holder(task_id(1)).await.unwrap(), None);
}

async fn a_lease_is_kept_by_renewing_it(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let held = claim(&board, "amy", 10).await;
    assert_eq!(held.expires_at, Timestamp(70_000));
    assert_eq!((held.task.status, held.task.agent_id.as_deref()), (TaskStatus::Pending, Some("amy")));
    let holder = TaskHolder { lease: held.lease, agent: "amy".to_owned(), token: Some("token of amy".to_owned()) };
    assert_eq!(board.task_holder(task_id(1)).await.unwrap(), Some(holder));
    assert_eq!(board.expire_leases(Timestamp(69_999)).await.unwrap(), 0);
    let renewed = board.renew_lease(held.lease, LEASE, Timestamp(60_000)).await.unwrap();
    assert_eq!((renewed.expires_at, renewed.cancelled), (Timestamp(120_000), false));
    assert_eq!(board.expire_leases(Timestamp(119_999)).await.unwrap(), 0);
    // Nobody noticed yet that it is over.
    board.renew_lease(held.lease, Millis(1), Timestamp(130_000)).await.unwrap();
    assert_eq!(board.expire_leases(Timestamp(130_001)).await.unwrap(), 1);
    board.renew_lease(held.lease, LEASE, Timestamp(130_002)).await.unwrap_err();
    assert_eq!(kinds(&board, 1).await, ["created", "claimed", "expired"]);
}

async fn an_expired_task_can_be_claimed_again(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let held = claim(&board, "amy", 0).await;
    let progress = Progress { run: Some(id(7)), iterations: Some(4), cost: Some(Money::dollars(1)), message: None };
    board.report_progress(held.lease, &progress, Timestamp(1000)).await.unwrap();
    assert_eq!(board.expire_leases(Timestamp(60_000)).await.unwrap(), 1);
    let task = board.task(task_id(1)).await.unwrap();
    assert_eq!((task.status, task.agent_id, task.worker_deaths), (TaskStatus::Unassigned, None, 1));
    // The next worker continues where this one was.
    let next = claim(&board, "bob", 61).await;
    assert_eq!((next.lease.epoch, next.task.agent_id.as_deref()), (Epoch(2), Some("bob")));
    assert_eq!((next.task.run_id, next.task.ralph_iterations), (Some(id(7)), 4));
    assert_eq!((next.task.cost_usd, next.task.status), (Money::dollars(1), TaskStatus::Pending));
}

async fn a_claim_finds_what_has_expired(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    create(&board, 2, &new_task()).await;
    claim(&board, "amy", 0).await;
    claim(&board, "amy", 0).await;
    assert_eq!(board.claim_task(&worker("bob", 59)).await.unwrap(), None);
    assert_eq!(claim(&board, "bob", 60).await.task.id, task_id(1));
    assert_eq!(claim(&board, "bob", 60).await.task.id, task_id(2));
}

async fn a_task_that_killed_three_workers_is_quarantined(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    create(&board, 2, &NewTask { depends_on: vec![task_id(1)], ..new_task() }).await;
    for death in 1..=3 {
        assert_eq!(claim(&board, "amy", death * 100).await.lease.epoch, Epoch(death.unsigned_abs()));
        assert_eq!(board.expire_leases(Timestamp((death * 100 + 60) * 1000)).await.unwrap(), 1);
    }
    let task = board.task(task_id(1)).await.unwrap();
    assert_eq!((task.status, task.worker_deaths), (TaskStatus::Failed, 3));
    let reason = task.failure_reason.unwrap();
    assert!(reason.starts_with("quarantined: three workers died"), "{reason}");
    assert_eq!(board.claim_task(&worker("amy", 1000)).await.unwrap(), None);
    assert_eq!(status(&board, 2).await, TaskStatus::Failed);
    let kinds = kinds(&board, 1).await;
    assert_eq!(kinds[1..], ["claimed", "expired", "claimed", "expired", "claimed", "quarantined"]);
}

async fn a_released_task_counts_no_death(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    for epoch in 1..=5 {
        let held = claim(&board, "amy", 1).await;
        assert_eq!(held.lease.epoch, Epoch(epoch));
        let task = board.release_task(held.lease, Timestamp(2000)).await.unwrap();
        assert_eq!((task.status, task.agent_id, task.worker_deaths), (TaskStatus::Unassigned, None, 0));
    }
}

async fn progress_never_goes_back(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let lease = claim(&board, "amy", 1).await.lease;
    let report = async |run, iterations, cost: Option<u32>, message: Option<&str>| {
        let (cost, message) = (cost.map(Money::dollars), message.map(str::to_owned));
        let task =
            board.report_progress(lease, &Progress { run, iterations, cost, message }, Timestamp(2000)).await.unwrap();
        assert_eq!(task, board.task(task_id(1)).await.unwrap());
        (task.status, task.run_id, task.ralph_iterations, task.cost_usd)
    };
    let message = Some("cloning");
    assert_eq!(report(None, None, None, message).await, (TaskStatus::Pending, None, 0, Money::ZERO));
    let working = |iterations, dollars| (TaskStatus::InProgress, Some(id(7)), iterations, Money::dollars(dollars));
    assert_eq!(report(Some(id(7)), Some(1), None, None).await, working(1, 0));
    assert_eq!(report(None, Some(3), Some(2), None).await, working(3, 2));
    assert_eq!(report(Some(id(7)), Some(2), Some(1), None).await, working(3, 2));
    assert_eq!(report(None, None, Some(4), Some("almost")).await, working(3, 4));
    let events = board.task_events(task_id(1), 2, 100).await.unwrap();
    let told: Vec<_> = events.iter().map(|event| format!("{} {}", event.kind, event.details)).collect();
    let run = id(7);
    assert_eq!(
        told,
        [
            r#"progress {"message":"cloning"}"#,
            &format!(r#"started {{"runId":"{run}"}}"#),
            r#"progress {"iterations":1}"#,
            r#"progress {"costUsd":2.0,"iterations":3}"#,
            r#"progress {"costUsd":4.0,"message":"almost"}"#,
        ]
    );
    // The end does not take it back either.
    let ended = board.finish_task(lease, &end(TaskStatus::Completed), Timestamp(3000)).await.unwrap();
    assert_eq!((ended.ralph_iterations, ended.cost_usd), (3, Money::dollars(4)));
}

/// An agent that reports without an end is refused; the figures of its worker and the end are not.
async fn a_task_takes_so_many_entries_and_no_more(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let lease = claim(&board, "amy", 1).await.lease;
    let message = |text: &str| Progress { message: Some(text.to_owned()), ..Progress::default() };
    board.report_progress(lease, &message("here"), Timestamp(2000)).await.unwrap();
    database.meddle(&["UPDATE tasks SET events = 5000"]).await;
    let error = board.report_progress(lease, &message("and here"), Timestamp(2000)).await.unwrap_err();
    assert!(matches!(&error, Error::TaskConflict { .. }), "{error:?}");
    board.comment_task(task_id(1), "hello", "key", Timestamp(2000)).await.unwrap_err();
    let figures = Progress { iterations: Some(4), ..message("and a figure") };
    assert_eq!(board.report_progress(lease, &figures, Timestamp(2000)).await.unwrap().ralph_iterations, 4);
    let ended = board.finish_task(lease, &end(TaskStatus::Completed), Timestamp(3000)).await.unwrap();
    assert_eq!(ended.status, TaskStatus::Completed);
}

async fn checkpoints_are_written_and_cleared(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let lease = claim(&board, "amy", 1).await.lease;
    let checkpoint = Checkpoint {
        task_id: task_id(1),
        iteration: 2,
        context_full: true,
        timestamp: Timestamp(1500),
        checkpoint_reason: CheckpointReason::Precompact,
    };
    let foreign = Checkpoint { task_id: task_id(2), ..checkpoint.clone() };
    let error = board.set_checkpoint(lease, Some(&foreign), Timestamp(2000)).await.unwrap_err();
    assert!(matches!(error, Error::TaskConflict { .. }), "{error:?}");
    let task = board.set_checkpoint(lease, Some(&checkpoint), Timestamp(2000)).await.unwrap();
    assert_eq!(task.ralph_last_checkpoint.as_ref(), Some(&checkpoint));
    // It is there for the next worker.
    board.release_task(lease, Timestamp(3000)).await.unwrap();
    let next = claim(&board, "bob", 3).await;
    assert_eq!(next.task.ralph_last_checkpoint, Some(checkpoint));
    assert_eq!(board.set_checkpoint(next.lease, None, Timestamp(4000)).await.unwrap().ralph_last_checkpoint, None);
    assert_eq!(board.task(task_id(1)).await.unwrap().ralph_last_checkpoint, None);
}

async fn a_task_ends_once(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let lease = claim(&board, "amy", 1).await.lease;
    for unfit in [TaskStatus::Unassigned, TaskStatus::Offered, TaskStatus::Pending, TaskStatus::InProgress] {
        let error = board.finish_task(lease, &end(unfit), Timestamp(2000)).await.unwrap_err();
        assert!(matches!(error, Error::TaskConflict { .. }), "{error:?}");
    }
    let ended = board.finish_task(lease, &end(TaskStatus::Completed), Timestamp(2000)).await.unwrap();
    assert_eq!((ended.status, ended.finished_at), (TaskStatus::Completed, Some(Timestamp(2000))));
    assert_eq!((ended.output.as_deref(), ended.verified, ended.agent_id.as_deref()), (Some("done"), true, Some("amy")));
    assert_eq!((ended.ralph_iterations, ended.cost_usd), (3, Money::from_micros(250_000)));
    // The worker did not hear the answer and asks again.
    let again = board.finish_task(lease, &end(TaskStatus::Completed), Timestamp(9000)).await.unwrap();
    assert_eq!(again, ended);
    board.finish_task(lease, &end(TaskStatus::Failed), Timestamp(9000)).await.unwrap_err();
    assert_eq!(board.task(task_id(1)).await.unwrap(), ended);
    assert_eq!(kinds(&board, 1).await, ["created", "claimed", "completed"]);
}

async fn a_cancelled_worker_is_told_and_the_task_ends_cancelled(database: &Database) {
    let board = database.open_all().await.board;
    for (number, way) in [(1, "finish"), (2, "release"), (3, "complete")] {
        create(&board, number, &new_task()).await;
        let lease = claim(&board, "amy", 1).await.lease;
        assert!(!board.renew_lease(lease, LEASE, Timestamp(2000)).await.unwrap().cancelled);
        for _ in 0..2 {
            let task = board.cancel_task(task_id(number), Timestamp(3000)).await.unwrap();
            assert_eq!(task.status, TaskStatus::Pending);
        }
        assert!(board.renew_lease(lease, LEASE, Timestamp(4000)).await.unwrap().cancelled);
        let at = Timestamp(5000);
        let ended = match way {
            "finish" => board.finish_task(lease, &end(TaskStatus::Cancelled), at).await.unwrap(),
            "complete" => board.finish_task(lease, &end(TaskStatus::Completed), at).await.unwrap(),
            _ => board.release_task(lease, at).await.unwrap(),
        };
        assert_eq!((ended.status, ended.finished_at), (TaskStatus::Cancelled, Some(at)), "{way}");
        // The worker did not hear the answer and reports again.
        let again = board.finish_task(lease, &end(TaskStatus::Completed), Timestamp(6000)).await;
        assert_eq!(again, Ok(ended), "{way}");
        assert_eq!(kinds(&board, number).await, ["created", "claimed", "cancelRequested", "cancelled"]);
    }
    assert_eq!(board.claim_task(&worker("amy", 9)).await.unwrap(), None);
}

async fn a_cancelled_task_of_a_dead_worker_ends_cancelled(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    claim(&board, "amy", 1).await;
    board.cancel_task(task_id(1), Timestamp(2000)).await.unwrap();
    assert_eq!(board.claim_task(&worker("bob", 100)).await.unwrap(), None);
    let task = board.task(task_id(1)).await.unwrap();
    assert_eq!((task.status, task.worker_deaths), (TaskStatus::Cancelled, 1));
}
