//! Tasks that wait for others.

use ralph_model::{NewTask, TaskStatus, Timestamp};

use super::{claim, create, end, for_every_database, kinds, new_task, status, task_id, worker};
use crate::database::Database;

for_every_database!(
    a_task_waits_for_all_that_it_depends_on,
    what_is_completed_already_is_not_waited_for,
    a_failure_fails_everything_behind_it,
    nothing_waits_for_what_has_failed_already,
);

fn after(numbers: &[u128]) -> NewTask {
    NewTask { depends_on: numbers.iter().copied().map(task_id).collect(), ..new_task() }
}

async fn a_task_waits_for_all_that_it_depends_on(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    create(&board, 2, &new_task()).await;
    // Named twice, and more urgent than both.
    create(&board, 3, &NewTask { priority: 9, ..after(&[1, 2, 2]) }).await;
    let (one, two) = (claim(&board, "amy", 4).await, claim(&board, "bob", 4).await);
    assert_eq!((one.task.id, two.task.id), (task_id(1), task_id(2)));
    assert_eq!(board.claim_task(&worker("eve", 4)).await.unwrap(), None);
    board.finish_task(two.lease, &end(TaskStatus::Completed), Timestamp(5000)).await.unwrap();
    // A retry of the same call must not count twice.
    board.finish_task(two.lease, &end(TaskStatus::Completed), Timestamp(5000)).await.unwrap();
    assert_eq!(board.claim_task(&worker("eve", 5)).await.unwrap(), None);
    board.finish_task(one.lease, &end(TaskStatus::Completed), Timestamp(6000)).await.unwrap();
    let three = claim(&board, "eve", 6).await;
    assert_eq!(three.task.id, task_id(3));
    assert_eq!(three.task.depends_on, [1, 2, 2].map(task_id));
    assert_eq!(kinds(&board, 3).await, ["created", "ready", "claimed"]);
}

async fn what_is_completed_already_is_not_waited_for(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let held = claim(&board, "amy", 1).await;
    board.finish_task(held.lease, &end(TaskStatus::Completed), Timestamp(2000)).await.unwrap();
    create(&board, 2, &after(&[1])).await;
    assert_eq!(claim(&board, "amy", 3).await.task.id, task_id(2));
}

async fn a_failure_fails_everything_behind_it(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    create(&board, 2, &new_task()).await;
    create(&board, 3, &after(&[1])).await;
    create(&board, 4, &after(&[3, 2])).await;
    create(&board, 5, &after(&[4])).await;
    create(&board, 6, &after(&[2])).await;
    board.cancel_task(task_id(6), Timestamp(6000)).await.unwrap();
    let held = claim(&board, "amy", 7).await;
    board.finish_task(held.lease, &end(TaskStatus::Failed), Timestamp(8000)).await.unwrap();
    for (number, needs) in [(3, 1), (4, 3), (5, 4)] {
        let task = board.task(task_id(number)).await.unwrap();
        assert_eq!((task.status, task.finished_at), (TaskStatus::Failed, Some(Timestamp(8000))));
        let reason = task.failure_reason.unwrap();
        assert!(reason.contains(&task_id(needs).to_string()) && reason.ends_with("failed"), "{reason}");
        assert_eq!(kinds(&board, number).await, ["created", "failed"]);
    }
    assert_eq!(status(&board, 6).await, TaskStatus::Cancelled);
    // The other branch is untouched, and what has ended is not revived.
    let held = claim(&board, "amy", 9).await;
    assert_eq!(held.task.id, task_id(2));
    board.finish_task(held.lease, &end(TaskStatus::Completed), Timestamp(9000)).await.unwrap();
    assert_eq!([status(&board, 4).await, status(&board, 6).await], [TaskStatus::Failed, TaskStatus::Cancelled]);
    assert_eq!(board.claim_task(&worker("amy", 9)).await.unwrap(), None);
}

async fn nothing_waits_for_what_has_failed_already(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    board.cancel_task(task_id(1), Timestamp(1000)).await.unwrap();
    let task = create(&board, 2, &after(&[1])).await;
    assert_eq!(task, board.task(task_id(2)).await.unwrap());
    assert_eq!(task.status, TaskStatus::Failed);
    let reason = task.failure_reason.unwrap();
    assert_eq!(reason, format!("task {}, which this task depends on, was cancelled", task_id(1)));
}
