//! Answers that are lost on the way: whatever was carried out is not carried out again.

use ralph_model::{Attempt, Money};
use ralph_store::{Append, Error, Lease, NewEvent, Seq, Settlement, open_sqlite};

use crate::database::Wire;
use crate::{DAY, events, folder, id, new_run, numbered, reserve};

#[tokio::test]
async fn a_lost_answer_repeats_no_event_and_no_charge() {
    for loses_every in [2, 3, 5] {
        let folder = folder();
        let local = open_sqlite(&folder.path().join("ralph.db")).await.unwrap();
        let store = Wire::losing(local.clone(), loses_every);
        let (lease, mut head) = store.create_run(new_run(id(1)), numbered(1)).await.unwrap();
        // Every answer that is lost costs a wait: enough of them that each kind of call loses one at every place.
        for number in 2..=14_u32 {
            let cost = Money::from_micros(10);
            store.reserve(lease, reserve(number, cost)).await.unwrap();
            let settle = Some(Settlement { attempt: Attempt(number), amount: cost });
            let append = Append { settle, ..events(i64::from(number)..=i64::from(number)) };
            head = store.append(lease, head.seq, append).await.unwrap();
        }
        let journal = local.journal(id(1)).await.unwrap();
        let written: Vec<NewEvent> = (1..=14).map(numbered).collect();
        assert_eq!(journal.iter().map(|event| event.payload.as_str()).collect::<Vec<_>>().len(), written.len());
        assert!(journal.iter().zip(&written).all(|(found, event)| found.payload == event.payload));
        assert_eq!(head.seq, Seq(14));
        assert_eq!(local.day_totals(DAY).await.unwrap().settled, Money::from_micros(130));
    }
}

#[tokio::test]
async fn what_another_process_wrote_is_not_taken_for_our_own() {
    let folder = folder();
    let local = open_sqlite(&folder.path().join("ralph.db")).await.unwrap();
    // Every answer is lost once, so that each refusal comes after a second sending.
    let store = Wire::losing(local.clone(), 2);
    let (lease, head) = local.create_run(new_run(id(1)), numbered(1)).await.unwrap();
    local.append(lease, head.seq, events(2..=2)).await.unwrap();
    store.run(id(1)).await.unwrap();
    let refused = store.append(lease, head.seq, events(7..=7)).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict { .. }), "{refused}");
    let exists = store.create_run(new_run(id(1)), numbered(9)).await.unwrap_err();
    assert!(matches!(exists, Error::RunExists { .. }), "{exists}");
    let stale = Lease { epoch: ralph_store::Epoch(0), ..lease };
    assert!(matches!(store.append(stale, Seq(2), events(3..=3)).await.unwrap_err(), Error::StaleLease { .. }));
    assert_eq!(local.journal(id(1)).await.unwrap().len(), 2);
}
