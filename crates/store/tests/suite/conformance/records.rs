//! What a resume reads besides the journal: attempts, certificates and artifacts.

use ralph_model::{Attempt, Iteration, Money, Timestamp};
use ralph_store::{Append, Artifact, ArtifactKind, AttemptEntry, Error, Machine, Metering, NewAttempt, Seq};

use super::for_every_store;
use crate::database::Database;
use crate::{id, machine, numbered, started};

for_every_store!(
    an_attempt_is_recorded_with_the_events_that_start_it,
    a_refused_append_records_no_attempt_and_no_artifact,
    the_cost_so_far_is_what_was_noted_last,
    attempts_outlive_events_that_are_set_aside,
    artifacts_are_listed_by_name_and_replaced,
    a_certificate_is_kept_until_another_comes,
);

fn start(attempt: u32) -> NewAttempt {
    NewAttempt { attempt: Attempt(attempt), at: Timestamp(7), machine: machine("builder"), metering: Metering::Watched }
}

fn starting(attempt: u32) -> Append {
    Append { events: vec![numbered(2)], start: Some(start(attempt)), ..Append::default() }
}

fn log(name: &str, at: i64) -> Artifact {
    Artifact {
        kind: ArtifactKind::Log,
        name: name.to_owned(),
        iteration: Some(Iteration(1)),
        attempt: Some(Attempt(2)),
        sha256: format!("{at:064}"),
        bytes: 5,
        at: Timestamp(at),
    }
}

async fn an_attempt_is_recorded_with_the_events_that_start_it(database: &Database) {
    let (store, other) = (database.open().await, database.open().await);
    let (lease, head) = started(&store, id(1), 1).await;
    assert_eq!(store.attempts(id(1)).await.unwrap(), []);
    store.append(lease, head.seq, starting(3)).await.unwrap();
    let mut expected = AttemptEntry {
        attempt: Attempt(3),
        at: Timestamp(7),
        machine: Machine { host: "builder".to_owned(), boot: "boot of builder".to_owned() },
        metering: Metering::Watched,
        began_at: None,
        cost: None,
    };
    assert_eq!(other.attempts(id(1)).await.unwrap(), [expected.clone()]);
    store.note_began(lease, Attempt(3), Some(Timestamp(8))).await.unwrap();
    expected.began_at = Some(Timestamp(8));
    assert_eq!(other.attempts(id(1)).await.unwrap(), [expected.clone()]);
    store.note_began(lease, Attempt(3), None).await.unwrap();
    expected.began_at = None;
    assert_eq!(other.attempts(id(1)).await.unwrap(), [expected]);
    let unknown = Error::UnknownAttempt { run: id(1), attempt: Attempt(4) };
    assert_eq!(store.note_began(lease, Attempt(4), Some(Timestamp(8))).await, Err(unknown));
}

async fn a_refused_append_records_no_attempt_and_no_artifact(database: &Database) {
    let store = database.open().await;
    let (lease, head) = started(&store, id(1), 1).await;
    let append = Append { artifacts: vec![log("a", 1)], ..starting(3) };
    let refused = store.append(lease, Seq(9), append.clone()).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
    assert_eq!((store.attempts(id(1)).await.unwrap(), store.artifacts(id(1)).await.unwrap()), (vec![], vec![]));
    store.append(lease, head.seq, append).await.unwrap();
    assert_eq!(store.attempts(id(1)).await.unwrap().len(), 1);
    assert_eq!(store.artifacts(id(1)).await.unwrap(), [log("a", 1)]);
}

async fn the_cost_so_far_is_what_was_noted_last(database: &Database) {
    let (store, other) = (database.open().await, database.open().await);
    let (lease, head) = started(&store, id(1), 1).await;
    store.append(lease, head.seq, starting(3)).await.unwrap();
    for cost in [Some(Money::dollars(1)), Some(Money::dollars(2)), None, Some(Money::ZERO)] {
        store.note_cost(lease, Attempt(3), cost).await.unwrap();
        assert_eq!(other.attempts(id(1)).await.unwrap()[0].cost, cost);
    }
    let unknown = Error::UnknownAttempt { run: id(1), attempt: Attempt(4) };
    assert_eq!(store.note_cost(lease, Attempt(4), None).await, Err(unknown));
}

async fn attempts_outlive_events_that_are_set_aside(database: &Database) {
    let store = database.open().await;
    let (lease, head) = started(&store, id(1), 1).await;
    store.append(lease, head.seq, starting(3)).await.unwrap();
    store.quarantine_after(id(1), Seq(1)).await.unwrap();
    assert_eq!(store.attempts(id(1)).await.unwrap().len(), 1);
    assert_eq!(store.run(id(1)).await.unwrap().machine, None, "no process holds the new lease");
}

async fn artifacts_are_listed_by_name_and_replaced(database: &Database) {
    let (store, other) = (database.open().await, database.open().await);
    let (lease, _) = started(&store, id(1), 1).await;
    started(&store, id(2), 1).await;
    let plain = Artifact { kind: ArtifactKind::Patch, iteration: None, attempt: None, ..log("b", 2) };
    store.record_artifacts(lease, &[plain, log("a", 1)]).await.unwrap();
    let prompt = Artifact { kind: ArtifactKind::Prompt, bytes: 0, ..log("b", 3) };
    store.record_artifacts(lease, std::slice::from_ref(&prompt)).await.unwrap();
    assert_eq!(other.artifacts(id(1)).await.unwrap(), [log("a", 1), prompt]);
    assert_eq!(other.artifacts(id(2)).await.unwrap(), []);
}

async fn a_certificate_is_kept_until_another_comes(database: &Database) {
    let (store, other) = (database.open().await, database.open().await);
    let (lease, _) = started(&store, id(1), 1).await;
    assert_eq!(store.certificate(id(1)).await.unwrap(), None);
    for (certificate, kept) in [(Some("{}"), "{}"), (None, "{}"), (Some("[]"), "[]")] {
        store.finish(lease, certificate).await.unwrap();
        assert_eq!(other.certificate(id(1)).await.unwrap().as_deref(), Some(kept));
    }
    let missing = store.certificate(id(9)).await;
    assert!(matches!(missing, Err(Error::UnknownRun { .. })), "{missing:?}");
}
