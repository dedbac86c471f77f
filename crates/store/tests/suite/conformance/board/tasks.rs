//! Tasks from outside: created, listed, changed, cancelled.

use ralph_model::{Money, NewTask, TaskStatus, TaskType, Timestamp};
use ralph_store::{Error, TaskChange, TaskFilter};
use serde_json::json;

use super::{claim, create, end, for_every_database, kinds, new_task, status, task_id, worker};
use crate::database::Database;

for_every_database!(
    events_of_tasks_that_ended_long_ago_are_forgotten,
    a_task_is_read_back_as_it_was_created,
    what_is_left_out_has_its_default,
    an_id_is_used_once,
    a_key_creates_one_task,
    a_key_is_forgotten_after_a_day,
    tasks_are_listed_newest_first_and_in_pages,
    tasks_are_found_by_tag_agent_and_status,
    tasks_are_counted,
    an_open_task_can_be_changed,
    a_task_that_nobody_holds_is_cancelled_at_once,
    tasks_created_at_once_are_all_there,
    what_does_not_exist_is_named,
    any_character_can_be_stored,
);

async fn a_task_is_read_back_as_it_was_created(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let new = NewTask {
        task: "say \"hällo\"\n\tto 世界".to_owned(),
        task_type: TaskType::Crew,
        agent_id: Some("bob".to_owned()),
        priority: -7,
        tags: vec!["b".to_owned(), "a".to_owned()],
        depends_on: vec![task_id(1)],
        repo: Some("https://example.org/repo.git".to_owned()),
        base_ref: Some("main".to_owned()),
        ralph_promise: Some("it says so".to_owned()),
        ralph_max_iterations: Some(9),
        ralph_plan_path: Some("docs/plan.md".to_owned()),
        verification_command: Some("make test".to_owned()),
        max_cost_usd: Some(Money::from_micros(1_250_000)),
    };
    let (created, is_new) = board.create_task(task_id(2), &new, None, Timestamp(5000)).await.unwrap();
    assert!(is_new);
    assert_eq!(board.task(task_id(2)).await.unwrap(), created);
    assert_eq!((created.id, created.status), (task_id(2), TaskStatus::Offered));
    assert_eq!(
        (created.created_at, created.last_updated_at, created.finished_at),
        (Timestamp(5000), Timestamp(5000), None)
    );
    assert_eq!((created.cost_usd, created.ralph_iterations, created.worker_deaths), (Money::ZERO, 0, 0));
    let again = NewTask {
        task: created.task,
        task_type: created.task_type,
        agent_id: created.agent_id,
        priority: created.priority,
        tags: created.tags,
        depends_on: created.depends_on,
        repo: created.repo,
        base_ref: created.base_ref,
        ralph_promise: created.ralph_promise,
        ralph_max_iterations: Some(created.ralph_max_iterations),
        ralph_plan_path: created.ralph_plan_path,
        verification_command: created.verification_command,
        max_cost_usd: Some(created.max_cost_usd),
    };
    assert_eq!(again, new);
    assert_eq!(kinds(&board, 2).await, ["created"]);
}

async fn what_is_left_out_has_its_default(database: &Database) {
    let board = database.open_all().await.board;
    let task = create(&board, 1, &new_task()).await;
    assert_eq!((task.status, task.agent_id), (TaskStatus::Unassigned, None));
    assert_eq!((task.ralph_max_iterations, task.max_cost_usd), (50, Money::dollars(10)));
    assert_eq!((task.run_id, task.ralph_last_checkpoint, task.verified), (None, None, false));
}

async fn an_id_is_used_once(database: &Database) {
    let board = database.open_all().await.board;
    let first = create(&board, 1, &new_task()).await;
    let other = NewTask { priority: 5, ..new_task() };
    let error = board.create_task(task_id(1), &other, None, Timestamp(9)).await.unwrap_err();
    assert!(matches!(error, Error::TaskConflict { .. }), "{error:?}");
    assert_eq!(board.task(task_id(1)).await.unwrap(), first);
}

async fn a_key_creates_one_task(database: &Database) {
    let (one, two) = (database.open_all().await.board, database.open_all().await.board);
    let (first, _) = one.create_task(task_id(1), &new_task(), Some("k"), Timestamp(1000)).await.unwrap();
    let (again, is_new) = two.create_task(task_id(2), &new_task(), Some("k"), Timestamp(2000)).await.unwrap();
    assert_eq!((again, is_new), (first, false));
    let other = NewTask { priority: 1, ..new_task() };
    let error = two.create_task(task_id(3), &other, Some("k"), Timestamp(2000)).await.unwrap_err();
    assert_eq!(error, Error::KeyReused { key: "k".to_owned() });
    let (second, is_new) = two.create_task(task_id(4), &other, Some("K"), Timestamp(2000)).await.unwrap();
    assert_eq!((second.id, is_new), (task_id(4), true));
    assert_eq!(one.tasks(&TaskFilter { limit: 9, ..TaskFilter::default() }).await.unwrap().len(), 2);
    // A creation that failed did not use its key up.
    let broken = NewTask { depends_on: vec![task_id(99)], ..new_task() };
    one.create_task(task_id(5), &broken, Some("new"), Timestamp(2000)).await.unwrap_err();
    one.create_task(task_id(5), &other, Some("new"), Timestamp(2000)).await.unwrap();
    // What became of the task in between shows in the answer.
    one.cancel_task(task_id(1), Timestamp(3000)).await.unwrap();
    let (again, _) = two.create_task(task_id(6), &new_task(), Some("k"), Timestamp(3000)).await.unwrap();
    assert_eq!((again.id, again.status), (task_id(1), TaskStatus::Cancelled));
}

async fn a_key_is_forgotten_after_a_day(database: &Database) {
    const DAY: i64 = 86_400_000;
    let board = database.open_all().await.board;
    board.create_task(task_id(1), &new_task(), Some("k"), Timestamp(0)).await.unwrap();
    board.create_task(task_id(2), &new_task(), Some("l"), Timestamp(0)).await.unwrap();
    let (task, _) = board.create_task(task_id(3), &new_task(), Some("k"), Timestamp(DAY)).await.unwrap();
    assert_eq!(task.id, task_id(1));
    let (task, is_new) = board.create_task(task_id(3), &new_task(), Some("k"), Timestamp(DAY + 1)).await.unwrap();
    assert_eq!((task.id, is_new), (task_id(3), true));
    assert_eq!(board.expire_leases(Timestamp(DAY + 1)).await.unwrap(), 0);
    assert_eq!(database.pairs("SELECT COUNT(*), MIN(at) FROM task_keys").await, [(1, DAY + 1)]);
}

async fn tasks_are_listed_newest_first_and_in_pages(database: &Database) {
    let board = database.open_all().await.board;
    for number in 1..=7 {
        create(&board, number, &new_task()).await;
    }
    let mut seen = Vec::new();
    let mut filter = TaskFilter { limit: 3, ..TaskFilter::default() };
    loop {
        let page = board.tasks(&filter).await.unwrap();
        let Some(last) = page.last() else { break };
        filter.before = Some(last.id);
        seen.extend(page.into_iter().map(|task| task.id));
    }
    assert_eq!(seen, (1..=7).rev().map(task_id).collect::<Vec<_>>());
}

async fn tasks_are_found_by_tag_agent_and_status(database: &Database) {
    let board = database.open_all().await.board;
    for number in 1..=6 {
        let mut tags = vec![format!("tag{}", number % 2)];
        tags.extend((number == 4).then(|| "rare".to_owned()));
        let agent_id = (number > 3).then(|| "bob".to_owned());
        create(&board, number, &NewTask { tags, agent_id, ..new_task() }).await;
    }
    board.cancel_task(task_id(2), Timestamp(1)).await.unwrap();
    let held = claim(&board, "amy", 1).await;
    assert_eq!(held.task.id, task_id(1));
    let found = async |filter: TaskFilter| -> Vec<u128> {
        let filter = TaskFilter { limit: 10, ..filter };
        let tasks = board.tasks(&filter).await.unwrap();
        tasks.iter().map(|task| task.id.uuid().as_u128() - task_id(0).uuid().as_u128()).collect()
    };
    let all = TaskFilter::default;
    assert_eq!(found(TaskFilter { tag: Some("tag0".to_owned()), ..all() }).await, [6, 4, 2]);
    assert_eq!(found(TaskFilter { tag: Some("rare".to_owned()), ..all() }).await, [4]);
    assert_eq!(found(TaskFilter { tag: Some("none".to_owned()), ..all() }).await, [0; 0]);
    assert_eq!(found(TaskFilter { agent: Some("bob".to_owned()), ..all() }).await, [6, 5, 4]);
    assert_eq!(found(TaskFilter { agent: Some("amy".to_owned()), ..all() }).await, [1]);
    let waiting = vec![TaskStatus::Offered, TaskStatus::Unassigned];
    assert_eq!(found(TaskFilter { statuses: waiting.clone(), ..all() }).await, [6, 5, 4, 3]);
    assert_eq!(found(TaskFilter { statuses: vec![TaskStatus::Pending], ..all() }).await, [1]);
    let some = TaskFilter { statuses: waiting, tag: Some("tag0".to_owned()), before: Some(task_id(6)), ..all() };
    assert_eq!(found(some).await, [4]);
    let limited = TaskFilter { statuses: TaskStatus::ALL.to_vec(), limit: 2, ..all() };
    assert_eq!(board.tasks(&limited).await.unwrap().len(), 2);
}

async fn tasks_are_counted(database: &Database) {
    let board = database.open_all().await.board;
    for number in 1..=4 {
        create(&board, number, &new_task()).await;
    }
    board.cancel_task(task_id(4), Timestamp(1)).await.unwrap();
    claim(&board, "amy", 1).await;
    let counts = board.task_counts().await.unwrap();
    let of = |status| counts.iter().find(|count| count.status == status).unwrap().tasks;
    assert_eq!(counts.len(), TaskStatus::ALL.len());
    assert_eq!([of(TaskStatus::Unassigned), of(TaskStatus::Pending), of(TaskStatus::Cancelled)], [2, 1, 1]);
    assert_eq!([of(TaskStatus::Completed), of(TaskStatus::Failed)], [0, 0]);
}

async fn an_open_task_can_be_changed(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &NewTask { tags: vec!["old".to_owned()], ..new_task() }).await;
    create(&board, 2, &new_task()).await;
    let change = TaskChange { priority: Some(-3), tags: Some(vec!["new".to_owned()]), agent_id: None };
    let task = board.change_task(task_id(1), &change, Timestamp(7000)).await.unwrap();
    assert_eq!((task.priority, &task.tags[..], task.last_updated_at), (-3, &["new".to_owned()][..], Timestamp(7000)));
    let tagged = async |tag: &str| {
        board.tasks(&TaskFilter { tag: Some(tag.to_owned()), limit: 5, ..TaskFilter::default() }).await.unwrap().len()
    };
    assert_eq!((tagged("old").await, tagged("new").await), (0, 1));
    // The other one comes first now.
    let held = claim(&board, "amy", 8).await;
    assert_eq!(held.task.id, task_id(2));
    // Its agent can be chosen until it is claimed.
    let offer = TaskChange { agent_id: Some("bob".to_owned()), ..TaskChange::default() };
    let error = board.change_task(task_id(2), &offer, Timestamp(9000)).await.unwrap_err();
    assert!(matches!(error, Error::TaskConflict { .. }), "{error:?}");
    let task = board.change_task(task_id(1), &offer, Timestamp(9000)).await.unwrap();
    assert_eq!((task.status, task.agent_id.as_deref()), (TaskStatus::Offered, Some("bob")));
    assert_eq!(board.claim_task(&worker("amy", 9)).await.unwrap(), None);
    // A held one can become more urgent; one that ended stays as it is.
    let urgent = TaskChange { priority: Some(9), ..TaskChange::default() };
    assert_eq!(board.change_task(task_id(2), &urgent, Timestamp(9000)).await.unwrap().priority, 9);
    let ended = board.finish_task(held.lease, &end(TaskStatus::Failed), Timestamp(9500)).await.unwrap();
    let error = board.change_task(task_id(2), &urgent, Timestamp(9900)).await.unwrap_err();
    assert!(error.to_string().contains("is over (failed)"), "{error}");
    assert_eq!(board.task(task_id(2)).await.unwrap(), ended);
    let events = board.task_events(task_id(1), 1, 1).await.unwrap();
    assert_eq!(events[0].details, json!({ "priority": -3, "tags": ["new"], "agentId": null }));
}

async fn a_task_that_nobody_holds_is_cancelled_at_once(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    create(&board, 2, &NewTask { agent_id: Some("bob".to_owned()), ..new_task() }).await;
    for number in [1, 2] {
        let task = board.cancel_task(task_id(number), Timestamp(4000)).await.unwrap();
        assert_eq!((task.status, task.finished_at), (TaskStatus::Cancelled, Some(Timestamp(4000))));
        assert_eq!(kinds(&board, number).await, ["created", "cancelled"]);
        let error = board.cancel_task(task_id(number), Timestamp(5000)).await.unwrap_err();
        assert!(error.to_string().contains("is over (cancelled)"), "{error}");
        assert_eq!(status(&board, number).await, TaskStatus::Cancelled);
    }
    assert_eq!(board.claim_task(&worker("bob", 6)).await.unwrap(), None);
}

async fn tasks_created_at_once_are_all_there(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 40, &new_task()).await;
    let mut clients = tokio::task::JoinSet::new();
    // One of them has an id that is taken: it fails alone. One gives up at once: the others do not notice.
    for number in 1..=100 {
        let board = board.clone();
        clients
            .spawn(async move { (number, board.create_task(task_id(number), &new_task(), None, Timestamp(2)).await) });
    }
    let impatient = tokio::spawn({
        let board = board.clone();
        async move { board.create_task(task_id(101), &new_task(), None, Timestamp(2)).await }
    });
    tokio::task::yield_now().await;
    impatient.abort();
    for (number, created) in clients.join_all().await {
        match number {
            40 => assert!(matches!(created, Err(Error::TaskConflict { .. })), "{created:?}"),
            _ => assert_eq!(created.unwrap().0, board.task(task_id(number)).await.unwrap()),
        }
        assert_eq!(kinds(&board, number).await, ["created"]);
    }
}

async fn what_does_not_exist_is_named(database: &Database) {
    let board = database.open_all().await.board;
    for refused in [
        board.task(task_id(1)).await.map(drop),
        board.change_task(task_id(1), &TaskChange::default(), Timestamp(1)).await.map(drop),
        board.cancel_task(task_id(1), Timestamp(1)).await.map(drop),
        board.task_holder(task_id(1)).await.map(drop),
        board.task_events(task_id(1), 0, 10).await.map(drop),
        board
            .create_task(task_id(2), &NewTask { depends_on: vec![task_id(1)], ..new_task() }, None, Timestamp(1))
            .await
            .map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::UnknownTask { task, .. } if task == task_id(1)), "{error:?}");
    }
    assert_eq!(board.tasks(&TaskFilter { limit: 5, ..TaskFilter::default() }).await.unwrap(), []);
}

async fn any_character_can_be_stored(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let held = claim(&board, "a\0b", 1).await;
    let odd = ralph_store::TaskEnd { output: Some("x\0y\u{1b}[31m\u{feff}".to_owned()), ..end(TaskStatus::Completed) };
    let output = board.finish_task(held.lease, &odd, Timestamp(2)).await.unwrap().output.unwrap();
    let read = board.task(task_id(1)).await.unwrap().output.unwrap();
    assert_eq!((output.chars().count(), read.chars().count()), (9, 9));
    assert!(read.starts_with('x') && read.ends_with("y\u{1b}[31m\u{feff}"), "{read:?}");
    let filter =
        TaskFilter { tag: Some("\0".to_owned()), agent: Some("\0".to_owned()), limit: 1, ..TaskFilter::default() };
    assert_eq!(board.tasks(&filter).await.unwrap(), []);
}

async fn events_of_tasks_that_ended_long_ago_are_forgotten(database: &Database) {
    let board = database.open_all().await.board;
    // Later than the ids of these tasks say that they were created.
    let (ended, cut, recent) =
        (Timestamp(1_800_000_000_000), Timestamp(1_900_000_000_000), Timestamp(2_000_000_000_000));
    // More than are looked at at once.
    for number in 1..=251 {
        create(&board, number, &new_task()).await;
    }
    for number in 1..=249 {
        board.cancel_task(task_id(number), ended).await.unwrap();
    }
    board.cancel_task(task_id(250), recent).await.unwrap();
    assert_eq!(board.forget_events(Timestamp(1_600_000_000_000)).await.unwrap(), 0);
    assert_eq!(board.forget_events(cut).await.unwrap(), 249, "one row for each: the creation is none");
    assert_eq!(board.forget_events(cut).await.unwrap(), 0);
    for number in [1, 249] {
        assert_eq!(kinds(&board, number).await, [""; 0]);
        assert_eq!(status(&board, number).await, TaskStatus::Cancelled);
    }
    assert_eq!(kinds(&board, 250).await, ["created", "cancelled"]);
    assert_eq!(kinds(&board, 251).await, ["created"]);
}
