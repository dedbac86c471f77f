//! Listings.

use ralph_model::{Grade, Money, RunId, RunKind, Timestamp};
use ralph_store::{Append, Filter, Lookup, NewRun, RunStatus, RunSummary, Seq, StoreHandle};

use super::for_every_store;
use crate::database::Database;
use crate::{id, new_run, numbered};

for_every_store!(
    lists_newest_first_and_only_what_was_asked_for,
    runs_are_found_by_parent_and_by_the_folder_they_were_started_for,
    finds_by_whole_id_beginning_and_end,
);

async fn three_runs(store: &StoreHandle) {
    for (number, at) in [(1, 3_000), (2, 1_000), (3, 2_000)] {
        let workspace = format!("/work/{}", number % 2);
        let new = NewRun { workspace, at: Timestamp(at), ..new_run(id(number)) };
        store.create_run(new, numbered(1)).await.unwrap();
    }
}

async fn listed(store: &StoreHandle, filter: Filter) -> Vec<RunId> {
    store.runs(&filter).await.unwrap().into_iter().map(|entry| entry.id).collect()
}

async fn lists_newest_first_and_only_what_was_asked_for(database: &Database) {
    let store = database.open().await;
    assert_eq!(listed(&store, Filter::default()).await, []);
    three_runs(&store).await;
    assert_eq!(listed(&store, Filter::default()).await, [id(1), id(3), id(2)]);
    assert_eq!(listed(&store, Filter { limit: Some(2), ..Filter::default() }).await, [id(1), id(3)]);
    let here = Filter { workspace: Some("/work/1".to_owned()), ..Filter::default() };
    assert_eq!(listed(&store, here.clone()).await, [id(1), id(3)]);

    let done = RunSummary {
        status: RunStatus::Completed,
        reason: None,
        iterations: 1,
        cost: Money::ZERO,
        verified: true,
        grade: Some(Grade::Standard),
        finished_at: Some(Timestamp(4_000)),
    };
    let lease = store.acquire(id(3), None).await.unwrap();
    store.append(lease, Seq(1), Append { summary: Some(done), ..Append::default() }).await.unwrap();
    assert_eq!(listed(&store, Filter { status: Some(RunStatus::Completed), ..here.clone() }).await, [id(3)]);
    let grades = [store.run(id(3)).await.unwrap().grade, store.run(id(1)).await.unwrap().grade];
    assert_eq!(grades, [Some(Grade::Standard), None]);
    assert_eq!(listed(&store, Filter { status: Some(RunStatus::Running), limit: Some(5), ..here }).await, [id(1)]);
}

async fn runs_are_found_by_parent_and_by_the_folder_they_were_started_for(database: &Database) {
    let store = database.open().await;
    let race = NewRun { kind: RunKind::Race, workspace: "/work/1".to_owned(), ..new_run(id(1)) };
    store.create_run(race, numbered(1)).await.unwrap();
    for number in [2, 3] {
        let candidate = NewRun {
            parent: Some(id(1)),
            workspace: format!("/state/{number}"),
            origin: Some("/work/1".to_owned()),
            ..new_run(id(number))
        };
        store.create_run(candidate, numbered(1)).await.unwrap();
    }
    store.create_run(new_run(id(4)), numbered(1)).await.unwrap();
    assert_eq!(listed(&store, Filter { parent: Some(id(1)), ..Filter::default() }).await, [id(3), id(2)]);
    let here = Filter { workspace: Some("/work/1".to_owned()), ..Filter::default() };
    assert_eq!(listed(&store, here.clone()).await, [id(3), id(2), id(1)]);
    assert_eq!(listed(&store, Filter { kind: Some(RunKind::Loop), ..here }).await, [id(3), id(2)]);
    let entry = store.run(id(2)).await.unwrap();
    assert_eq!((entry.parent, entry.kind, entry.origin.as_deref()), (Some(id(1)), RunKind::Loop, Some("/work/1")));
    assert_eq!(store.run(id(1)).await.unwrap().kind, RunKind::Race);
}

async fn finds_by_whole_id_beginning_and_end(database: &Database) {
    let store = database.open().await;
    three_runs(&store).await;
    let whole = id(2).to_string();
    for text in [whole.as_str(), &id(2).short(), "0002", &whole.to_uppercase(), " 00000002 "] {
        let Lookup::One(entry) = store.find(text).await.unwrap() else { panic!("{text} finds one") };
        assert_eq!(entry.id, id(2), "{text}");
    }
    let Lookup::Several(entries) = store.find("0190").await.unwrap() else { panic!("all begin so") };
    assert_eq!(entries.iter().map(|entry| entry.id).collect::<Vec<_>>(), [id(1), id(3), id(2)]);
    for text in ["", "2", "ffff", "%%%%", "____", "0190'--", "latest"] {
        assert_eq!(store.find(text).await.unwrap(), Lookup::None, "{text}");
    }
}
