//! Killed with signal 9 in a stream of appends: what was acknowledged is there, and the chain holds.

use ralph_store::open_existing_sqlite;

use crate::helper::{Helper, Role};
use crate::{folder, id};

#[tokio::test]
async fn nothing_acknowledged_is_lost_to_a_kill() {
    let kills: u64 = if std::env::var_os("RALPH_TEST_LONG").is_some() { 300 } else { 30 };
    let folder = folder();
    let path = folder.path().join("ralph.db");
    let mut before = 0;
    for kill in 0..kills {
        let mut helper = Helper::start(path.to_str().unwrap(), id(1), Role::AppendForever, "");
        let mut acknowledged: u64 = 0;
        // Always another place in the stream, and now and then before the first append.
        for _ in 0..(kill * 7) % 23 {
            acknowledged = helper.next().expect("it appends until it is killed").parse().unwrap();
        }
        helper.child.kill().unwrap();
        while let Some(last) = helper.next() {
            acknowledged = last.parse().unwrap();
        }
        helper.child.wait().unwrap();

        let Some(store) = open_existing_sqlite(&path).await.unwrap() else {
            assert_eq!(acknowledged, 0, "kill {kill}");
            continue;
        };
        let events = match store.journal(id(1)).await {
            Ok(journal) => journal.len() as u64,
            Err(ralph_store::Error::UnknownRun { .. }) => 0,
            Err(error) => panic!("kill {kill}: {error}"),
        };
        let expected = acknowledged.max(before);
        // One more can be on disk whose acknowledgement was never said, two when the run itself was new.
        assert!((expected..=expected + 2).contains(&events), "kill {kill}: {expected} acknowledged, {events} there");
        before = events;
    }
    assert!(before > kills, "the stream went on from kill to kill: {before}");
}
