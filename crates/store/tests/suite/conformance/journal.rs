//! Journals: appended whole or not at all, read back with proof, continued after damage.

use ralph_model::{Attempt, Money, Timestamp};
use ralph_store::{
    Append, Break, Broken, ChainReport, Error, Head, NewEvent, Quarantine, RunStatus, RunSummary, Seq, Settlement,
    StopMode,
};

use super::for_every_store;
use crate::database::Database;
use crate::{events, id, new_run, numbered, started};

for_every_store!(
    what_was_appended_is_read_back_in_order_and_proven,
    events_after_a_place_continue_it,
    payloads_are_kept_byte_for_byte,
    a_writer_with_an_old_head_is_refused_and_writes_nothing,
    ids_are_used_once_and_unknown_runs_are_named,
    a_summary_arrives_with_its_events_and_takes_the_pid_of_an_ended_run,
    every_meddling_is_found_and_named,
    a_broken_journal_continues_from_its_intact_part_and_loses_nothing,
    a_cut_journal_can_continue_as_well,
);

fn summary(status: RunStatus) -> RunSummary {
    RunSummary {
        status,
        reason: Some("STALL".to_owned()),
        iterations: 3,
        cost: Money::from_micros(1_250_000),
        verified: true,
        grade: None,
        finished_at: Some(Timestamp(9_000)),
    }
}

async fn what_was_appended_is_read_back_in_order_and_proven(database: &Database) {
    let store = database.open().await;
    let (lease, head) = store.create_run(new_run(id(1)), numbered(1)).await.unwrap();
    assert_eq!(head.seq, Seq(1));
    let head = store.append(lease, head.seq, events(2..=3)).await.unwrap();
    assert_eq!(head.seq, Seq(3));

    let journal = store.journal(id(1)).await.unwrap();
    let found: Vec<_> = journal.iter().map(|event| (event.seq.0, event.payload.as_str())).collect();
    assert_eq!(found, [(1, r#"{"iteration":1}"#), (2, r#"{"iteration":2}"#), (3, r#"{"iteration":3}"#)]);
    assert_eq!(journal[2].hash, head.hash);
    let report = store.verify(id(1)).await.unwrap();
    assert_eq!(report, ChainReport { events: 3, head, broken: None });
}

async fn events_after_a_place_continue_it(database: &Database) {
    let store = database.open().await;
    let (lease, _) = started(&store, id(1), 5).await;
    let whole = store.journal(id(1)).await.unwrap();
    for from in 0..=5 {
        let rest = store.events_after(id(1), Seq(from), 100).await.unwrap();
        assert_eq!(rest, whole[usize::try_from(from).unwrap()..]);
    }
    assert_eq!(store.events_after(id(1), Seq(1), 2).await.unwrap(), whole[1..3]);
    let beyond = store.events_after(id(1), Seq(6), 100).await;
    assert!(matches!(beyond, Err(Error::Conflict { found: Seq(5), .. })), "{beyond:?}");
    let unknown = store.events_after(id(2), Seq(0), 100).await;
    assert!(matches!(unknown, Err(Error::UnknownRun { .. })), "{unknown:?}");

    database.meddle(&["UPDATE events SET version = 2 WHERE seq = 4"]).await;
    assert_eq!(store.events_after(id(1), Seq(1), 2).await.unwrap(), whole[1..3]);
    let broken = store.events_after(id(1), Seq(1), 100).await;
    assert!(matches!(broken, Err(Error::Broken { seq: Seq(4), why: Break::Changed, .. })), "{broken:?}");
    database.meddle(&["DELETE FROM events WHERE seq >= 4"]).await;
    let cut = store.events_after(id(1), Seq(2), 100).await;
    assert!(matches!(cut, Err(Error::Broken { seq: Seq(4), why: Break::Truncated { .. }, .. })), "{cut:?}");
    let gone = store.events_after(id(1), Seq(4), 100).await;
    assert!(matches!(gone, Err(Error::Broken { seq: Seq(4), why: Break::Missing, .. })), "{gone:?}");
    store.append(lease, Seq(5), numbered(6).into()).await.unwrap();
}

async fn payloads_are_kept_byte_for_byte(database: &Database) {
    let store = database.open().await;
    let payload = "{\"text\":\"\u{7f} é \u{1F600} ' \\\" \\u0000 \n\"}".to_owned();
    let first = NewEvent { payload: payload.clone(), ..numbered(1) };
    store.create_run(new_run(id(1)), first).await.unwrap();
    assert_eq!(store.journal(id(1)).await.unwrap()[0].payload, payload);
}

async fn a_writer_with_an_old_head_is_refused_and_writes_nothing(database: &Database) {
    let store = database.open().await;
    let (lease, head) = started(&store, id(1), 3).await;
    let other = database.open().await;
    let theirs = other.append(lease, head.seq, numbered(4).into()).await.unwrap();

    let late = Append { summary: Some(summary(RunStatus::Completed)), ..numbered(5).into() };
    let late = store.append(lease, head.seq, late).await;
    assert!(
        matches!(late, Err(Error::Conflict { expected: Seq(3), found: Seq(4), .. })),
        "two writers at one place: {late:?}"
    );
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 4);
    assert_eq!(store.run(id(1)).await.unwrap().status, RunStatus::Running);
    // The store is still good after it refused.
    store.append(lease, theirs.seq, numbered(5).into()).await.unwrap();
}

async fn ids_are_used_once_and_unknown_runs_are_named(database: &Database) {
    let store = database.open().await;
    let (lease, _) = started(&store, id(1), 1).await;
    let again = store.create_run(new_run(id(1)), numbered(1)).await;
    assert!(matches!(again, Err(Error::RunExists { .. })), "{again:?}");
    let lease = ralph_store::Lease { run: id(2), ..lease };
    let settlement = Settlement { attempt: Attempt(1), amount: Money::ZERO };
    for wrong in [
        store.append(lease, Seq(0), numbered(1).into()).await.map(drop),
        store.journal(id(2)).await.map(drop),
        store.verify(id(2)).await.map(drop),
        store.quarantine_after(id(2), Seq(0)).await.map(drop),
        store.run(id(2)).await.map(drop),
        store.acquire(id(2), None).await.map(drop),
        store.finish(lease, None).await,
        store.settle(lease, settlement).await,
        store.release(lease, Attempt(1)).await,
        store.clear_stop(lease).await,
        store.request_stop(id(2), StopMode::Now, Timestamp(1)).await,
    ] {
        let error = wrong.unwrap_err();
        assert!(matches!(error, Error::UnknownRun { .. }), "{error:?}");
        assert!(error.to_string().contains(&id(2).to_string()), "{error}");
    }
}

async fn a_summary_arrives_with_its_events_and_takes_the_pid_of_an_ended_run(database: &Database) {
    let store = database.open().await;
    let (lease, head) = started(&store, id(1), 1).await;
    assert_eq!(store.run(id(1)).await.unwrap().pid, Some(4711));
    let running = RunSummary { status: RunStatus::Running, finished_at: None, ..summary(RunStatus::Running) };
    let running = Append { summary: Some(running), ..numbered(2).into() };
    let head = store.append(lease, head.seq, running).await.unwrap();
    assert_eq!(store.run(id(1)).await.unwrap().pid, Some(4711));

    let last = Append { summary: Some(summary(RunStatus::Aborted)), ..numbered(3).into() };
    let head = store.append(lease, head.seq, last).await.unwrap();
    let entry = store.run(id(1)).await.unwrap();
    assert_eq!((entry.status, entry.reason.as_deref(), entry.pid), (RunStatus::Aborted, Some("STALL"), None));
    assert_eq!((entry.iterations, entry.cost.micros(), entry.verified), (3, 1_250_000, true));
    assert_eq!(
        (entry.started_at, entry.updated_at, entry.finished_at.unwrap()),
        (Timestamp(1_000), Timestamp(1_003), Timestamp(9_000))
    );
    assert_eq!(entry.head, head);
}

async fn every_meddling_is_found_and_named(database: &Database) {
    let cases: &[(&[&str], u64, Break)] = &[
        (&["UPDATE events SET at = at + 1 WHERE seq = 3"], 3, Break::Changed),
        (&["UPDATE events SET version = 2 WHERE seq = 3"], 3, Break::Changed),
        (&["UPDATE events SET kind = 'other' WHERE seq = 3"], 3, Break::Changed),
        (&["UPDATE events SET payload = replace(payload, '3', '4') WHERE seq = 3"], 3, Break::Changed),
        (&["UPDATE events SET hash = (SELECT head_hash FROM loops WHERE id = loop) WHERE seq = 3"], 3, Break::Changed),
        (&["UPDATE events SET hash = upper(hash) WHERE seq = 3"], 3, Break::Unreadable { column: "hash".to_owned() }),
        (&["UPDATE events SET version = -1 WHERE seq = 3"], 3, Break::Unreadable { column: "version".to_owned() }),
        (&["UPDATE events SET seq = -3 WHERE seq = 3"], 1, Break::Unreadable { column: "seq".to_owned() }),
        (&["DELETE FROM events WHERE seq = 1"], 1, Break::Missing),
        (&["DELETE FROM events WHERE seq = 3"], 3, Break::Missing),
        (&["UPDATE events SET loop = 'elsewhere' || loop WHERE seq = 3"], 3, Break::Missing),
        (&["DELETE FROM events WHERE seq >= 4"], 4, Break::Truncated { head: Seq(5) }),
        (&["DELETE FROM events"], 1, Break::Truncated { head: Seq(5) }),
        (&["UPDATE loops SET head_seq = 4"], 4, Break::HeadDiffers),
        (&["UPDATE loops SET head_seq = 6"], 6, Break::Truncated { head: Seq(6) }),
        (
            &["UPDATE loops SET head_hash = (SELECT hash FROM events WHERE loop = id AND seq = 1)"],
            5,
            Break::HeadDiffers,
        ),
        (
            &["UPDATE loops SET head_seq = 4, head_hash = (SELECT hash FROM events WHERE loop = id AND seq = 4)"],
            5,
            Break::BeyondHead { head: Seq(4) },
        ),
        (
            &[
                "UPDATE events SET seq = 99 WHERE seq = 2",
                "UPDATE events SET seq = 2 WHERE seq = 4",
                "UPDATE events SET seq = 4 WHERE seq = 99",
            ],
            2,
            Break::Reordered { found_at: Seq(4) },
        ),
    ];
    let loose: &[(&[&str], u64, Break)] = &[
        (&["UPDATE events SET at = 'noon' WHERE seq = 3"], 3, Break::Unreadable { column: "at".to_owned() }),
        (&["UPDATE events SET payload = x'ff' WHERE seq = 3"], 3, Break::Unreadable { column: "payload".to_owned() }),
    ];
    let store = database.open().await;
    for (number, (statements, seq, why)) in
        cases.iter().chain(if database.has_loose_types() { loose } else { &[] }).enumerate()
    {
        let run = id(100 + number as u128);
        started(&store, run, 5).await;
        database.meddle(statements).await;
        let broken = Broken { seq: Seq(*seq), why: why.clone() };
        assert_eq!(store.verify(run).await.unwrap().broken, Some(broken), "{statements:?}");
        let error = store.journal(run).await.unwrap_err();
        assert!(matches!(&error, Error::Broken { seq: found, .. } if found.0 == *seq), "{statements:?}: {error}");
        assert!(error.to_string().contains(&format!("event {seq}")), "{error}");
        // The next statements are about the next run alone.
        database.meddle(&["DELETE FROM events", "DELETE FROM loops"]).await;
    }
}

async fn a_broken_journal_continues_from_its_intact_part_and_loses_nothing(database: &Database) {
    let store = database.open().await;
    started(&store, id(1), 5).await;
    started(&store, id(2), 5).await;
    database.meddle(&["UPDATE events SET at = 12 WHERE seq = 3 AND loop LIKE '%1'"]).await;

    let too_far = store.quarantine_after(id(1), Seq(3)).await;
    assert!(matches!(too_far, Err(Error::Broken { seq: Seq(3), .. })), "{too_far:?}");

    let intact = store.verify(id(1)).await.unwrap().head;
    let aside = store.quarantine_after(id(1), intact.seq).await.unwrap();
    assert_eq!(aside, Quarantine { batch: 1, events: 3, head: intact });
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 2);
    assert_eq!(store.journal(id(2)).await.unwrap().len(), 5, "other runs are not touched");

    let lease = store.acquire(id(1), None).await.unwrap();
    let head = store.append(lease, intact.seq, numbered(30).into()).await.unwrap();
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 3);
    let again = store.quarantine_after(id(1), Seq(0)).await.unwrap();
    assert_eq!(again, Quarantine { batch: 2, events: 3, head: Head::genesis(id(1)) });
    assert_eq!(head.seq, Seq(3));

    let kept = database.pairs("SELECT batch, seq FROM quarantined ORDER BY batch, seq").await;
    assert_eq!(kept, [(1, 3), (1, 4), (1, 5), (2, 1), (2, 2), (2, 3)]);
}

async fn a_cut_journal_can_continue_as_well(database: &Database) {
    let store = database.open().await;
    started(&store, id(1), 5).await;
    database.meddle(&["DELETE FROM events WHERE seq >= 4"]).await;
    let beyond = store.quarantine_after(id(1), Seq(5)).await;
    assert!(matches!(beyond, Err(Error::Broken { seq: Seq(4), .. })), "{beyond:?}");
    let aside = store.quarantine_after(id(1), Seq(3)).await.unwrap();
    assert_eq!((aside.events, aside.head.seq), (0, Seq(3)));
    let lease = store.acquire(id(1), None).await.unwrap();
    store.append(lease, Seq(3), numbered(4).into()).await.unwrap();
    assert_eq!(store.verify(id(1)).await.unwrap().broken, None);
}
