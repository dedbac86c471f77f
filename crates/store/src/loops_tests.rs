use super::*;
use crate::testing::{event, id, meddle, new_loop, store};

async fn three_loops(store: &Store) {
    for (number, at) in [(1, 3_000), (2, 1_000), (3, 2_000)] {
        let new = NewLoop { workspace: format!("/work/{}", number % 2), ..new_loop(id(number), at) };
        store.create_loop(new, event(1)).await.unwrap();
    }
}

async fn listed(store: &Store, filter: Filter) -> Vec<LoopId> {
    store.loops(&filter).await.unwrap().into_iter().map(|entry| entry.id).collect()
}

#[tokio::test]
async fn lists_newest_first_and_only_what_was_asked_for() {
    let (_folder, store) = store().await;
    assert_eq!(listed(&store, Filter::default()).await, []);
    three_loops(&store).await;
    assert_eq!(listed(&store, Filter::default()).await, [id(1), id(3), id(2)]);
    assert_eq!(listed(&store, Filter { limit: Some(2), ..Filter::default() }).await, [id(1), id(3)]);
    let here = Filter { workspace: Some("/work/1".to_owned()), ..Filter::default() };
    assert_eq!(listed(&store, here.clone()).await, [id(1), id(3)]);

    let done = LoopSummary {
        status: LoopStatus::Completed,
        reason: None,
        iterations: 1,
        cost: Money::ZERO,
        verified: true,
        finished_at: Some(Timestamp(4_000)),
        details: None,
    };
    store.append(id(3), crate::Seq(1), &[], Some(done), None).await.unwrap();
    assert_eq!(listed(&store, Filter { status: Some(LoopStatus::Completed), ..here.clone() }).await, [id(3)]);
    assert_eq!(listed(&store, Filter { status: Some(LoopStatus::Running), ..here }).await, [id(1)]);
}

#[tokio::test]
async fn finds_by_whole_id_beginning_and_end() {
    let (_folder, store) = store().await;
    three_loops(&store).await;
    let whole = id(2).to_string();
    for text in [whole.as_str(), &id(2).short(), "0002", &whole.to_uppercase(), " 00000002 "] {
        let Found::One(entry) = store.find(text).await.unwrap() else { panic!("{text} finds one") };
        assert_eq!(entry.id, id(2), "{text}");
    }
    let Found::Several(entries) = store.find("0190").await.unwrap() else { panic!("all begin so") };
    assert_eq!(entries.iter().map(|entry| entry.id).collect::<Vec<_>>(), [id(1), id(3), id(2)]);
    for text in ["", "2", "ffff", "%%%%", "____", "0190'--", "latest"] {
        assert_eq!(store.find(text).await.unwrap(), Found::None, "{text}");
    }
}

#[tokio::test]
async fn the_pid_follows_who_runs_the_loop() {
    let (_folder, store) = store().await;
    three_loops(&store).await;
    store.set_pid(id(1), Some(u32::MAX)).await.unwrap();
    assert_eq!(store.get(id(1)).await.unwrap().pid, Some(u32::MAX));
    store.set_pid(id(1), None).await.unwrap();
    assert_eq!(store.get(id(1)).await.unwrap().pid, None);
}

#[tokio::test]
async fn a_value_that_no_ralph_writes_is_named() {
    for (statement, column) in [
        ("UPDATE loops SET status = 'ASLEEP'", "status"),
        ("UPDATE loops SET iterations = -1", "iterations"),
        ("UPDATE loops SET head_hash = 'none'", "head_hash"),
        ("UPDATE loops SET pid = 'me'", "pid"),
        ("UPDATE loops SET id = 'first'", "id"),
    ] {
        let (_folder, store) = store().await;
        store.create_loop(new_loop(id(1), 1_000), event(1)).await.unwrap();
        meddle(&store, &[statement]).await;
        let error = store.loops(&Filter::default()).await.unwrap_err();
        assert!(matches!(&error, Error::Malformed { column: found, .. } if *found == column), "{statement}: {error}");
    }
}

#[test]
fn a_status_is_read_in_any_case() {
    assert_eq!("completed".parse(), Ok(LoopStatus::Completed));
    let error = "done".parse::<LoopStatus>().unwrap_err();
    assert!(error.to_string().contains("completed"), "{error}");
}
