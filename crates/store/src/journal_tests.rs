use super::*;
use crate::chain::Break;
use crate::testing::{event, id, meddle, new_loop, started, store};
use crate::{LoopStatus, StopMode};

fn summary(status: LoopStatus) -> LoopSummary {
    LoopSummary {
        status,
        reason: Some("STALL".to_owned()),
        iterations: 3,
        cost: ralph_model::Money::from_micros(1_250_000),
        verified: true,
        finished_at: Some(Timestamp(9_000)),
        details: Some(r#"{"failing":[3,1]}"#.to_owned()),
    }
}

#[tokio::test]
async fn what_was_appended_is_read_back_in_order_and_proven() {
    let (_folder, store) = store().await;
    let head = store.create_loop(new_loop(id(1), 1_000), event(1)).await.unwrap();
    assert_eq!(head.seq, Seq(1));
    let head = store.append(id(1), head.seq, &[event(2), event(3)], None, None).await.unwrap();
    assert_eq!(head.seq, Seq(3));

    let journal = store.journal(id(1)).await.unwrap();
    let numbers: Vec<_> = journal.iter().map(|event| (event.seq.0, event.payload.as_str())).collect();
    assert_eq!(numbers, [(1, r#"{"iteration":1}"#), (2, r#"{"iteration":2}"#), (3, r#"{"iteration":3}"#)]);
    assert_eq!(journal[2].hash, head.hash);
    let report = store.verify(id(1)).await.unwrap();
    assert_eq!(report, ChainReport { events: 3, head, broken: None });
}

#[tokio::test]
async fn payloads_are_kept_byte_for_byte() {
    let (_folder, store) = store().await;
    let payload = "{\"text\":\"\u{0} é \u{1F600} ' \\\" \n\"}".to_owned();
    let first = NewEvent { payload: payload.clone(), ..event(1) };
    store.create_loop(new_loop(id(1), 1_000), first).await.unwrap();
    assert_eq!(store.journal(id(1)).await.unwrap()[0].payload, payload);
}

#[tokio::test]
async fn a_writer_with_an_old_head_is_refused_and_writes_nothing() {
    let (_folder, store) = store().await;
    let head = started(&store, id(1), 3).await;
    let other = Store::open(store.path()).await.unwrap();
    let theirs = other.append(id(1), head.seq, &[event(4)], None, None).await.unwrap();

    let late = store.append(id(1), head.seq, &[event(5)], Some(summary(LoopStatus::Completed)), None).await;
    assert!(
        matches!(late, Err(Error::Conflict { expected: Seq(3), found: Seq(4), .. })),
        "two writers at one place: {late:?}"
    );
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 4);
    assert_eq!(store.get(id(1)).await.unwrap().status, LoopStatus::Running);
    // The store is still good after it refused.
    store.append(id(1), theirs.seq, &[event(5)], None, None).await.unwrap();
}

#[tokio::test]
async fn ids_are_used_once_and_unknown_loops_are_named() {
    let (_folder, store) = store().await;
    started(&store, id(1), 1).await;
    let again = store.create_loop(new_loop(id(1), 2_000), event(1)).await;
    assert!(matches!(again, Err(Error::LoopExists { .. })), "{again:?}");
    for wrong in [
        store.append(id(2), Seq(0), &[event(1)], None, None).await.map(drop),
        store.journal(id(2)).await.map(drop),
        store.verify(id(2)).await.map(drop),
        store.quarantine_after(id(2), Seq(0)).await.map(drop),
        store.get(id(2)).await.map(drop),
        store.set_pid(id(2), None).await,
        store.request_stop(id(2), StopMode::Now, Timestamp(1)).await,
    ] {
        let error = wrong.unwrap_err();
        assert!(matches!(error, Error::UnknownLoop { .. }), "{error:?}");
        assert!(error.to_string().contains(&id(2).to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_summary_arrives_with_its_events_and_takes_the_pid_of_an_ended_loop() {
    let (_folder, store) = store().await;
    let head = started(&store, id(1), 1).await;
    assert_eq!(store.get(id(1)).await.unwrap().pid, Some(4711));
    let running = LoopSummary { status: LoopStatus::Running, finished_at: None, ..summary(LoopStatus::Running) };
    let head = store.append(id(1), head.seq, &[event(2)], Some(running), None).await.unwrap();
    assert_eq!(store.get(id(1)).await.unwrap().pid, Some(4711));

    let last = LoopSummary { details: None, ..summary(LoopStatus::Aborted) };
    let head = store.append(id(1), head.seq, &[event(3)], Some(last), None).await.unwrap();
    let entry = store.get(id(1)).await.unwrap();
    assert_eq!((entry.status, entry.reason.as_deref(), entry.pid), (LoopStatus::Aborted, Some("STALL"), None));
    assert_eq!((entry.iterations, entry.cost.micros(), entry.verified), (3, 1_250_000, true));
    assert_eq!(
        (entry.started_at, entry.updated_at, entry.finished_at.unwrap()),
        (Timestamp(1_000), Timestamp(1_003), Timestamp(9_000))
    );
    assert_eq!(entry.details.as_deref(), Some(r#"{"failing":[3,1]}"#), "kept when not given again");
    assert_eq!(entry.head, head);
}

#[tokio::test]
async fn every_meddling_is_found_and_named() {
    let cases: &[(&[&str], u64, Break)] = &[
        (&["UPDATE events SET at = at + 1 WHERE seq = 3"], 3, Break::Changed),
        (&["UPDATE events SET version = 2 WHERE seq = 3"], 3, Break::Changed),
        (&["UPDATE events SET kind = 'other' WHERE seq = 3"], 3, Break::Changed),
        (&["UPDATE events SET payload = replace(payload, '3', '4') WHERE seq = 3"], 3, Break::Changed),
        (&["UPDATE events SET hash = (SELECT head_hash FROM loops) WHERE seq = 3"], 3, Break::Changed),
        (&["UPDATE events SET hash = upper(hash) WHERE seq = 3"], 3, Break::Unreadable { column: "hash" }),
        (&["UPDATE events SET at = 'noon' WHERE seq = 3"], 3, Break::Unreadable { column: "at" }),
        (&["UPDATE events SET version = -1 WHERE seq = 3"], 3, Break::Unreadable { column: "version" }),
        (&["UPDATE events SET payload = x'ff' WHERE seq = 3"], 3, Break::Unreadable { column: "payload" }),
        (&["UPDATE events SET seq = -3 WHERE seq = 3"], 1, Break::Unreadable { column: "seq" }),
        (&["DELETE FROM events WHERE seq = 1"], 1, Break::Missing),
        (&["DELETE FROM events WHERE seq = 3"], 3, Break::Missing),
        (&["UPDATE events SET loop = 'elsewhere' WHERE seq = 3"], 3, Break::Missing),
        (&["DELETE FROM events WHERE seq >= 4"], 4, Break::Truncated { head: Seq(5) }),
        (&["DELETE FROM events"], 1, Break::Truncated { head: Seq(5) }),
        (&["UPDATE loops SET head_seq = 4"], 4, Break::HeadDiffers),
        (&["UPDATE loops SET head_seq = 6"], 6, Break::Truncated { head: Seq(6) }),
        (&["UPDATE loops SET head_hash = (SELECT hash FROM events WHERE seq = 1)"], 5, Break::HeadDiffers),
        (
            &["UPDATE loops SET head_seq = 4, head_hash = (SELECT hash FROM events WHERE seq = 4)"],
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
    for (statements, seq, why) in cases {
        let (_folder, store) = store().await;
        started(&store, id(1), 5).await;
        meddle(&store, statements).await;
        let broken = Broken { seq: Seq(*seq), why: why.clone() };
        assert_eq!(store.verify(id(1)).await.unwrap().broken, Some(broken), "{statements:?}");
        let error = store.journal(id(1)).await.unwrap_err();
        assert!(matches!(&error, Error::Broken { seq: found, .. } if found.0 == *seq), "{statements:?}: {error}");
        assert!(error.to_string().contains(&format!("event {seq}")), "{error}");
    }
}

#[tokio::test]
async fn a_broken_journal_goes_on_from_its_intact_part_and_loses_nothing() {
    let (_folder, store) = store().await;
    started(&store, id(1), 5).await;
    started(&store, id(2), 5).await;
    meddle(&store, &["UPDATE events SET at = 'noon' WHERE seq = 3 AND loop LIKE '%1'"]).await;

    let too_far = store.quarantine_after(id(1), Seq(3)).await;
    assert!(matches!(too_far, Err(Error::Broken { seq: Seq(3), .. })), "{too_far:?}");

    let intact = store.verify(id(1)).await.unwrap().head;
    let aside = store.quarantine_after(id(1), intact.seq).await.unwrap();
    assert_eq!(aside, Quarantine { batch: 1, events: 3, head: intact });
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 2);
    assert_eq!(store.journal(id(2)).await.unwrap().len(), 5, "other loops are not touched");

    let head = store.append(id(1), intact.seq, &[event(30)], None, None).await.unwrap();
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 3);
    let again = store.quarantine_after(id(1), Seq(0)).await.unwrap();
    assert_eq!(again, Quarantine { batch: 2, events: 3, head: Head::genesis(id(1)) });
    assert_eq!(head.seq, Seq(3));

    let rows = sqlx::query("SELECT batch, seq FROM quarantined ORDER BY batch, seq").fetch_all(store.readers()).await;
    let kept: Vec<(i64, i64)> = rows.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(kept, [(1, 3), (1, 4), (1, 5), (2, 1), (2, 2), (2, 3)]);
}

#[tokio::test]
async fn a_cut_journal_can_go_on_as_well() {
    let (_folder, store) = store().await;
    started(&store, id(1), 5).await;
    meddle(&store, &["DELETE FROM events WHERE seq >= 4"]).await;
    let beyond = store.quarantine_after(id(1), Seq(5)).await;
    assert!(matches!(beyond, Err(Error::Broken { seq: Seq(4), .. })), "{beyond:?}");
    let aside = store.quarantine_after(id(1), Seq(3)).await.unwrap();
    assert_eq!((aside.events, aside.head.seq), (0, Seq(3)));
    store.append(id(1), Seq(3), &[event(4)], None, None).await.unwrap();
    assert_eq!(store.verify(id(1)).await.unwrap().broken, None);
}

#[tokio::test]
async fn a_write_that_is_dropped_half_way_leaves_nothing_and_blocks_nobody() {
    let (_folder, store) = store().await;
    let head = started(&store, id(1), 1).await;
    let mut writing = store.write("test").await.unwrap();
    insert_events(&mut writing, id(1), head, &[event(2)]).await.unwrap();
    drop(writing);
    store.append(id(1), head.seq, &[event(3)], None, None).await.unwrap();
    assert_eq!(store.journal(id(1)).await.unwrap()[1].payload, event(3).payload);
}
