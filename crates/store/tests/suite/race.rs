//! Many processes on one file: money is never granted twice, and no write is refused because of another.

use std::path::Path;
use std::time::Duration;

use ralph_model::Timestamp;
use ralph_store::{Error, StopMode, open_sqlite};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, SqliteConnection};

use crate::helper::{Helper, Role};
use crate::{DAY, DAY_CAP, event, folder, id, new_run};

#[tokio::test]
async fn eight_processes_never_reserve_more_than_the_day_has() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    let store = open_sqlite(&path).await.unwrap();
    let helpers: Vec<Helper> =
        (1..=8).map(|number| Helper::start(path.to_str().unwrap(), id(number), Role::Reserve(50), "")).collect();
    let watching = tokio::spawn({
        let store = store.clone();
        async move {
            loop {
                let day = store.day_totals(DAY).await.unwrap();
                assert!(day.reserved + day.settled <= DAY_CAP, "{day:?}");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    });
    let granted = tokio::task::spawn_blocking(|| -> Vec<i64> {
        helpers.into_iter().flat_map(Helper::finish).map(|said| said.parse().unwrap()).collect()
    });
    let granted = granted.await.unwrap();
    assert!(!watching.is_finished(), "the watcher saw more than the cap");
    watching.abort();
    assert_eq!(granted.len(), 400);
    assert_eq!(granted.iter().sum::<i64>(), DAY_CAP.micros(), "all of it, and not a millionth more");
    assert_eq!(store.day_totals(DAY).await.unwrap().reserved, DAY_CAP);
}

#[tokio::test]
async fn writers_of_several_processes_wait_for_each_other() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    let store = open_sqlite(&path).await.unwrap();
    store.create_run(new_run(id(0)), event("{}".to_owned())).await.unwrap();
    let helpers: Vec<Helper> =
        (1..=6).map(|number| Helper::start(path.to_str().unwrap(), id(number), Role::AppendShared(40), "")).collect();
    for helper in helpers {
        assert_eq!(helper.finish(), ["40"]);
    }
    assert_eq!(store.journal(id(0)).await.unwrap().len(), 1 + 6 * 40);
    for number in 1..=6 {
        assert_eq!(store.journal(id(number)).await.unwrap().len(), 41);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_of_one_process_wait_for_each_other() {
    let folder = folder();
    let store = open_sqlite(&folder.path().join("ralph.db")).await.unwrap();
    let tasks: Vec<_> = (1..=8)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let (lease, mut head) = store.create_run(new_run(id(number)), event("{}".to_owned())).await.unwrap();
                for _ in 0..25 {
                    head = store.append(lease, head.seq, event("{}".to_owned()).into()).await.unwrap();
                    assert_eq!(store.journal(id(number)).await.unwrap().len() as u64, head.seq.0);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// Somebody else who holds the write lock until it is closed.
async fn lock_held(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path);
    let mut holder = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut holder).await.unwrap();
    holder
}

#[tokio::test]
async fn a_locked_database_is_waited_for_and_readers_do_not_wait() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    let store = open_sqlite(&path).await.unwrap();
    let (lease, head) = store.create_run(new_run(id(1)), event("{}".to_owned())).await.unwrap();
    let holder = lock_held(&path).await;

    assert_eq!(store.journal(id(1)).await.unwrap().len(), 1);
    assert_eq!(store.stop_requested(id(1)).await.unwrap(), None);
    let append = store.append(lease, head.seq, event("{}".to_owned()).into());
    tokio::pin!(append);
    tokio::select! {
        early = &mut append => panic!("somebody else holds the lock: {early:?}"),
        () = tokio::time::sleep(Duration::from_millis(100)) => {}
    }
    holder.close().await.unwrap();
    assert_eq!(append.await.unwrap().seq.0, 2);

    if std::env::var_os("RALPH_TEST_LONG").is_some() {
        let holder = lock_held(&path).await;
        let error = store.request_stop(id(1), StopMode::Now, Timestamp(1)).await.unwrap_err();
        assert!(matches!(error, Error::Busy { seconds: 10, .. }), "{error:?}");
        holder.close().await.unwrap();
        store.request_stop(id(1), StopMode::Now, Timestamp(1)).await.unwrap();
    }
}
