//! Agents, approvals, schedules and tokens.

use ralph_model::{NewTask, TaskStatus, Timestamp};
use ralph_store::{Approval, ApprovalStatus, Error, Reminder, Role, Schedule, TaskFilter, Token};

use super::{claim, create, end, for_every_database, new_task, task_id};
use crate::database::Database;
use crate::id;

for_every_database!(
    agents_are_noted_with_what_they_hold,
    an_approval_is_asked_once_and_answered_once,
    an_approval_expires_by_the_clock,
    approvals_are_listed_newest_first,
    schedules_are_written_and_removed,
    a_schedule_fires_once_for_each_time,
    a_schedule_whose_task_is_refused_stays_due,
    a_reminder_is_sent_by_one_and_comes_again_unless_it_is_removed,
    a_comment_with_the_same_key_is_recorded_once,
    an_agent_belongs_to_the_first_token_that_names_it,
    a_task_asks_so_many_questions_and_no_more,
    tokens_are_found_by_their_hash,
    the_token_of_a_task_ends_with_its_lease,
);

async fn agents_are_noted_with_what_they_hold(database: &Database) {
    let board = database.open_all().await.board;
    assert_eq!(board.agents(10).await.unwrap(), []);
    let amy = board.touch_agent("amy", None, Timestamp(1000)).await.unwrap();
    assert_eq!(
        (amy.id.as_str(), amy.busy, amy.created_at, amy.last_seen_at),
        ("amy", false, Timestamp(1000), Timestamp(1000))
    );
    create(&board, 1, &new_task()).await;
    create(&board, 2, &new_task()).await;
    let one = claim(&board, "bob", 2).await;
    claim(&board, "bob", 3).await;
    assert_eq!(board.touch_agent("bob", None, Timestamp(3000)).await.unwrap().tasks, [task_id(1), task_id(2)]);
    let amy = board.touch_agent("amy", None, Timestamp(4000)).await.unwrap();
    assert_eq!((amy.created_at, amy.last_seen_at), (Timestamp(1000), Timestamp(4000)));
    // A clock that is behind does not take it back.
    assert_eq!(board.touch_agent("amy", None, Timestamp(500)).await.unwrap().last_seen_at, Timestamp(4000));
    let agents = board.agents(10).await.unwrap();
    assert_eq!(agents.iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>(), ["amy", "bob"]);
    assert_eq!((agents[1].busy, &agents[1].tasks[..]), (true, &[task_id(1), task_id(2)][..]));
    assert_eq!(agents[1].last_seen_at, Timestamp(3000));
    assert_eq!(board.agents(1).await.unwrap().len(), 1);
    board.finish_task(one.lease, &end(TaskStatus::Completed), Timestamp(5000)).await.unwrap();
    assert_eq!(board.touch_agent("bob", None, Timestamp(6000)).await.unwrap().tasks, [task_id(2)]);
}

async fn an_agent_belongs_to_the_first_token_that_names_it(database: &Database) {
    let board = database.open_all().await.board;
    for name in ["one", "two"] {
        let token = Token { name: name.to_owned(), role: Role::Agent, created_at: Timestamp(1) };
        board.add_token(&token, name).await.unwrap();
    }
    board.touch_agent("amy", None, Timestamp(1)).await.unwrap();
    board.touch_agent("amy", Some("one"), Timestamp(1)).await.unwrap();
    let error = board.touch_agent("amy", Some("two"), Timestamp(2)).await.unwrap_err();
    assert!(matches!(error, Error::EntryConflict { .. }), "{error:?}");
    // Who needs no token of a worker changes nothing about it.
    for token in [None, Some("one")] {
        board.touch_agent("amy", token, Timestamp(3)).await.unwrap();
    }
    board.touch_agent("amy", Some("two"), Timestamp(4)).await.unwrap_err();
    board.revoke_token("one").await.unwrap();
    board.touch_agent("amy", Some("two"), Timestamp(5)).await.unwrap();
}

async fn a_task_asks_so_many_questions_and_no_more(database: &Database) {
    let board = database.open_all().await.board;
    let of_task = |number: i64, task: u128| Approval { task_id: Some(task_id(task)), ..question(number) };
    for number in 1..=200 {
        board.ask_approval(&of_task(number, 1)).await.unwrap();
    }
    let error = board.ask_approval(&of_task(201, 1)).await.unwrap_err();
    assert!(matches!(error, Error::TaskConflict { .. }), "{error:?}");
    // Neither what was asked before nor another task is affected.
    board.ask_approval(&of_task(200, 1)).await.unwrap();
    board.ask_approval(&of_task(201, 2)).await.unwrap();
}

async fn a_reminder_is_sent_by_one_and_comes_again_unless_it_is_removed(database: &Database) {
    let (one, two) = (database.open_all().await.board, database.open_all().await.board);
    let tea = Reminder {
        id: "0190".to_owned(),
        message: "tea".to_owned(),
        due_at: Timestamp(5000),
        created_at: Timestamp(1000),
    };
    one.put_reminder(&tea).await.unwrap();
    one.put_reminder(&Reminder { message: "coffee".to_owned(), ..tea.clone() }).await.unwrap();
    assert_eq!(one.due_reminders(Timestamp(4999)).await.unwrap(), []);
    assert_eq!(two.due_reminders(Timestamp(5000)).await.unwrap(), std::slice::from_ref(&tea));
    let (mine, theirs) =
        tokio::join!(one.postpone_reminder(&tea, Timestamp(9000)), two.postpone_reminder(&tea, Timestamp(9000)));
    assert_eq!(u8::from(mine.unwrap()) + u8::from(theirs.unwrap()), 1);
    assert_eq!(one.due_reminders(Timestamp(8999)).await.unwrap(), []);
    assert_eq!(one.due_reminders(Timestamp(9000)).await.unwrap().len(), 1);
    assert!(one.remove_reminder("0190").await.unwrap());
    assert!(!two.remove_reminder("0190").await.unwrap());
}

async fn a_comment_with_the_same_key_is_recorded_once(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    for (comment, key) in [("well done", "a"), ("well done", "a"), ("well done", "b")] {
        board.comment_task(task_id(1), comment, key, Timestamp(2000)).await.unwrap();
    }
    board.cancel_task(task_id(1), Timestamp(3000)).await.unwrap();
    board.comment_task(task_id(1), "a pity", "c", Timestamp(4000)).await.unwrap();
    let events = board.task_events(task_id(1), 0, 99).await.unwrap();
    let comments = events.iter().filter(|event| event.kind == "comment");
    let comments: Vec<_> = comments.map(|event| event.details["comment"].as_str().unwrap()).collect();
    assert_eq!(comments, ["well done", "well done", "a pity"]);
    assert!(board.comment_task(task_id(2), "no", "d", Timestamp(5000)).await.is_err());
}

fn question(number: i64) -> Approval {
    Approval {
        id: format!("00000000-0000-7000-8000-{number:012}"),
        run_id: Some(id(1)),
        task_id: Some(task_id(1)),
        action: "push to main".to_owned(),
        why: "the release needs it".to_owned(),
        status: ApprovalStatus::Pending,
        comment: None,
        created_at: Timestamp(number * 1000),
        answered_at: None,
        expires_at: None,
    }
}

async fn an_approval_is_asked_once_and_answered_once(database: &Database) {
    let board = database.open_all().await.board;
    let asked = question(1);
    assert_eq!(board.ask_approval(&asked).await.unwrap(), asked);
    // Asking again changes nothing, and the answer to one question is never that to another.
    let again = Approval { status: ApprovalStatus::Approved, ..question(1) };
    assert_eq!(board.ask_approval(&again).await.unwrap(), asked);
    let others = [
        Approval { action: "something else".to_owned(), ..question(1) },
        Approval { why: "for another reason".to_owned(), ..question(1) },
    ];
    for other in others {
        let error = board.ask_approval(&other).await.unwrap_err();
        assert!(matches!(error, Error::EntryConflict { .. }), "{error:?}");
    }
    for unfit in [ApprovalStatus::Pending, ApprovalStatus::Expired] {
        let error = board.answer_approval(&asked.id, unfit, None, Timestamp(2000)).await.unwrap_err();
        assert!(matches!(error, Error::EntryConflict { .. }), "{error:?}");
    }
    let answered =
        board.answer_approval(&asked.id, ApprovalStatus::Approved, Some("go ahead"), Timestamp(2000)).await.unwrap();
    let expected = Approval {
        status: ApprovalStatus::Approved,
        comment: Some("go ahead".to_owned()),
        answered_at: Some(Timestamp(2000)),
        ..asked.clone()
    };
    assert_eq!(answered, expected);
    let error = board.answer_approval(&asked.id, ApprovalStatus::Refused, None, Timestamp(3000)).await.unwrap_err();
    assert!(error.to_string().contains("approved already"), "{error}");
    // It survives a restart.
    assert_eq!(database.open_all().await.board.approval(&asked.id, Timestamp(9000)).await.unwrap(), expected);
    let refused = board.ask_approval(&question(2)).await.unwrap();
    board.answer_approval(&refused.id, ApprovalStatus::Refused, None, Timestamp(3000)).await.unwrap();
    let error = board.answer_approval(&refused.id, ApprovalStatus::Approved, None, Timestamp(3000)).await.unwrap_err();
    assert!(error.to_string().contains("refused already"), "{error}");
    for unknown in [
        board.approval("none", Timestamp(1)).await,
        board.answer_approval("none", ApprovalStatus::Approved, None, Timestamp(1)).await,
    ] {
        assert_eq!(unknown, Err(Error::UnknownEntry { what: "approval", id: "none".to_owned() }));
    }
}

async fn an_approval_expires_by_the_clock(database: &Database) {
    let board = database.open_all().await.board;
    let asked = Approval { expires_at: Some(Timestamp(5000)), run_id: None, task_id: None, ..question(1) };
    board.ask_approval(&asked).await.unwrap();
    assert_eq!(board.approval(&asked.id, Timestamp(4999)).await.unwrap().status, ApprovalStatus::Pending);
    assert_eq!(board.approval(&asked.id, Timestamp(5000)).await.unwrap().status, ApprovalStatus::Expired);
    assert_eq!(board.approvals(true, 9, Timestamp(4999)).await.unwrap().len(), 1);
    assert_eq!(board.approvals(true, 9, Timestamp(5000)).await.unwrap(), []);
    assert_eq!(board.approvals(false, 9, Timestamp(5000)).await.unwrap()[0].status, ApprovalStatus::Expired);
    let late = board.answer_approval(&asked.id, ApprovalStatus::Approved, None, Timestamp(5000)).await.unwrap_err();
    assert!(late.to_string().contains("expired"), "{late}");
    // In time, it stays answered.
    board.answer_approval(&asked.id, ApprovalStatus::Approved, None, Timestamp(4999)).await.unwrap();
    assert_eq!(board.approval(&asked.id, Timestamp(6000)).await.unwrap().status, ApprovalStatus::Approved);
}

async fn approvals_are_listed_newest_first(database: &Database) {
    let board = database.open_all().await.board;
    for number in [2, 1, 4, 3] {
        board.ask_approval(&question(number)).await.unwrap();
    }
    board.answer_approval(&question(3).id, ApprovalStatus::Refused, None, Timestamp(9000)).await.unwrap();
    let listed = async |only_pending, limit| -> Vec<i64> {
        let all = board.approvals(only_pending, limit, Timestamp(9000)).await.unwrap();
        all.iter().map(|approval| approval.created_at.0 / 1000).collect()
    };
    assert_eq!(listed(false, 9).await, [4, 3, 2, 1]);
    assert_eq!(listed(true, 9).await, [4, 2, 1]);
    assert_eq!(listed(true, 2).await, [4, 2]);
}

fn nightly() -> Schedule {
    Schedule {
        id: "0190".to_owned(),
        name: "nightly".to_owned(),
        cron: "0 3 * * *".to_owned(),
        time_zone: "Europe/Berlin".to_owned(),
        task: NewTask { priority: 2, tags: vec!["night".to_owned()], ..new_task() },
        enabled: true,
        next_at: Some(Timestamp(5000)),
        last_at: None,
        last_task_id: None,
        created_at: Timestamp(1000),
    }
}

async fn schedules_are_written_and_removed(database: &Database) {
    let board = database.open_all().await.board;
    board.put_schedule(&nightly()).await.unwrap();
    assert_eq!(board.schedules().await.unwrap(), [nightly()]);
    let other = Schedule { id: "0191".to_owned(), ..nightly() };
    let error = board.put_schedule(&other).await.unwrap_err();
    assert!(matches!(error, Error::EntryConflict { what: "schedule", .. }), "{error:?}");
    let other = Schedule { name: "hourly".to_owned(), ..other };
    board.put_schedule(&other).await.unwrap();
    let error = board.put_schedule(&Schedule { name: "hourly".to_owned(), ..nightly() }).await.unwrap_err();
    assert!(error.to_string().contains("another name"), "{error}");
    let changed = Schedule { cron: "0 4 * * *".to_owned(), enabled: false, next_at: None, ..nightly() };
    board.put_schedule(&changed).await.unwrap();
    assert_eq!(board.schedules().await.unwrap(), [other, changed]);
    assert!(board.remove_schedule("0191").await.unwrap());
    assert!(!board.remove_schedule("0191").await.unwrap());
    assert_eq!(board.schedules().await.unwrap().len(), 1);
}

async fn a_schedule_fires_once_for_each_time(database: &Database) {
    let (one, two) = (database.open_all().await.board, database.open_all().await.board);
    one.put_schedule(&nightly()).await.unwrap();
    let (due, next, at) = (Timestamp(5000), Some(Timestamp(8000)), Timestamp(5100));
    let (mine, theirs) = tokio::join!(
        one.fire_schedule("0190", due, next, task_id(1), at),
        two.fire_schedule("0190", due, next, task_id(2), at),
    );
    let created: Vec<_> = [mine.unwrap(), theirs.unwrap()].into_iter().flatten().collect();
    assert_eq!(created.len(), 1);
    assert_eq!((created[0].priority, &created[0].tags[..]), (2, &["night".to_owned()][..]));
    assert_eq!(one.tasks(&TaskFilter { limit: 9, ..TaskFilter::default() }).await.unwrap(), created);
    let schedule = one.schedules().await.unwrap().remove(0);
    assert_eq!((schedule.next_at, schedule.last_at, schedule.last_task_id), (next, Some(at), Some(created[0].id)));
    // A change by a person does not forget it.
    one.put_schedule(&Schedule { next_at: Some(Timestamp(9000)), ..nightly() }).await.unwrap();
    assert_eq!(one.schedules().await.unwrap()[0].last_task_id, Some(created[0].id));
    // Another time, one that is switched off, one that does not exist.
    assert_eq!(one.fire_schedule("0190", due, next, task_id(3), at).await.unwrap(), None);
    one.put_schedule(&Schedule { enabled: false, ..nightly() }).await.unwrap();
    assert_eq!(one.fire_schedule("0190", due, next, task_id(3), at).await.unwrap(), None);
    assert_eq!(one.fire_schedule("none", due, next, task_id(3), at).await.unwrap(), None);
    one.put_schedule(&nightly()).await.unwrap();
    // While its task waits for a worker, a schedule adds no other.
    assert_eq!(one.fire_schedule("0190", due, next, task_id(3), at).await.unwrap(), None);
    let schedule = one.schedules().await.unwrap().remove(0);
    assert_eq!((schedule.next_at, schedule.last_task_id), (next, Some(created[0].id)));
    one.cancel_task(created[0].id, at).await.unwrap();
    one.put_schedule(&nightly()).await.unwrap();
    let last = one.fire_schedule("0190", due, None, task_id(3), at).await.unwrap().unwrap();
    assert_eq!((last.id, one.schedules().await.unwrap()[0].next_at), (task_id(3), None));
    // One that is kept for an agent waits as well.
    one.cancel_task(last.id, at).await.unwrap();
    let task = NewTask { agent_id: Some("amy".to_owned()), ..new_task() };
    one.put_schedule(&Schedule { task, ..nightly() }).await.unwrap();
    let offered = one.fire_schedule("0190", due, Some(due), task_id(4), at).await.unwrap().unwrap();
    assert_eq!(offered.status, TaskStatus::Offered);
    assert_eq!(one.fire_schedule("0190", due, next, task_id(5), at).await.unwrap(), None);
}

async fn a_schedule_whose_task_is_refused_stays_due(database: &Database) {
    let board = database.open_all().await.board;
    let schedule = Schedule { task: NewTask { depends_on: vec![task_id(9)], ..new_task() }, ..nightly() };
    board.put_schedule(&schedule).await.unwrap();
    let error = board.fire_schedule("0190", Timestamp(5000), None, task_id(1), Timestamp(6000)).await.unwrap_err();
    assert!(matches!(error, Error::UnknownTask { .. }), "{error:?}");
    assert_eq!(board.schedules().await.unwrap(), [schedule]);
}

fn token(name: &str, role: Role) -> Token {
    Token { name: name.to_owned(), role, created_at: Timestamp(1000) }
}

async fn tokens_are_found_by_their_hash(database: &Database) {
    let board = database.open_all().await.board;
    let (admin, agent) = (token("me", Role::Admin), token("ci", Role::Agent));
    board.add_token(&admin, "aa").await.unwrap();
    board.add_token(&agent, "bb").await.unwrap();
    for (name, hash) in [("me", "cc"), ("other", "aa")] {
        let error = board.add_token(&token(name, Role::Agent), hash).await.unwrap_err();
        assert!(matches!(error, Error::EntryConflict { what: "token", .. }), "{error:?}");
    }
    assert_eq!(board.token("aa").await.unwrap(), Some(admin.clone()));
    assert_eq!(board.token("bb").await.unwrap(), Some(agent.clone()));
    assert_eq!(board.token("cc").await.unwrap(), None);
    assert_eq!(board.tokens().await.unwrap(), [agent, admin]);
    assert!(board.revoke_token("ci").await.unwrap());
    assert!(!board.revoke_token("ci").await.unwrap());
    assert_eq!(board.token("bb").await.unwrap(), None);
}

async fn the_token_of_a_task_ends_with_its_lease(database: &Database) {
    let board = database.open_all().await.board;
    create(&board, 1, &new_task()).await;
    let for_epoch = |epoch: u64| token(&format!("task {epoch}"), Role::Task { task_id: task_id(1), epoch });
    for epoch in 0..=1 {
        let error = board.add_token(&for_epoch(epoch), "t").await.unwrap_err();
        assert!(matches!(error, Error::StaleTaskLease { .. }), "{error:?}");
    }
    for epoch in 1..=4 {
        let hash = format!("t{epoch}");
        let lease = claim(&board, "amy", 1).await.lease;
        board.add_token(&for_epoch(epoch), &hash).await.unwrap();
        assert_eq!(board.token(&hash).await.unwrap(), Some(for_epoch(epoch)));
        assert_eq!(board.tokens().await.unwrap(), []);
        match epoch {
            1 => drop(board.release_task(lease, Timestamp(2000)).await.unwrap()),
            2 => assert_eq!(board.expire_leases(Timestamp(90_000)).await.unwrap(), 1),
            3 => {
                assert!(board.revoke_token("task 3").await.unwrap());
                board.release_task(lease, Timestamp(2000)).await.map(drop).unwrap();
            }
            _ => drop(board.finish_task(lease, &end(TaskStatus::Completed), Timestamp(2000)).await.unwrap()),
        }
        assert_eq!(board.token(&hash).await.unwrap(), None, "{epoch}");
    }
}
