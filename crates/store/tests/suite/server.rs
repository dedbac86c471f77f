//! What only a server can do: many machines at once, a server that dies, and one that is not there.

use std::time::Duration;

use ralph_model::{Attempt, Money};
use ralph_store::{Error, Pool, Reserve, Settlement, StoreHandle, open_postgres};
use ralph_testkit::postgres::Cluster;

use crate::database::Database;
use crate::helper::{Helper, Role};
use crate::{DAY, DAY_CAP, event, events, id, new_run, numbered, reserve, started};

/// Connections that want the last dollar at the same moment.
const RACERS: u128 = 64;

async fn racers(database: &Database) -> Vec<StoreHandle> {
    let mut stores = Vec::new();
    for _ in 0..RACERS {
        stores.push(database.open().await);
    }
    stores
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_connections_race_for_the_last_dollar() {
    let cluster = Cluster::start();
    let database = Database::postgres(&cluster, "race");
    let stores = racers(&database).await;
    let begin = std::sync::Arc::new(tokio::sync::Barrier::new(stores.len()));
    let tasks: Vec<_> = stores
        .into_iter()
        .zip(1..)
        .map(|(store, number)| {
            let begin = begin.clone();
            tokio::spawn(async move {
                let (lease, _) = store.create_run(new_run(id(number)), numbered(1)).await.unwrap();
                begin.wait().await;
                // Together they want 96 dollars and the day has five; the pool of the even ones has one.
                let mut granted = Money::ZERO;
                for attempt in 1..=3 {
                    let pool = number.is_multiple_of(2).then(|| Pool { id: "even".into(), cap: Money::dollars(1) });
                    let reserve = Reserve { pool, ..reserve(attempt, Money::from_micros(500_000)) };
                    granted += store.reserve(lease, reserve).await.unwrap().granted;
                }
                store.close().await.unwrap();
                (number, granted)
            })
        })
        .collect();
    let (mut all, mut even) = (Money::ZERO, Money::ZERO);
    for task in tasks {
        let (number, granted) = task.await.unwrap();
        all += granted;
        even += if number.is_multiple_of(2) { granted } else { Money::ZERO };
    }
    let store = database.open().await;
    assert_eq!(store.day_totals(DAY).await.unwrap().reserved, DAY_CAP);
    assert_eq!(all, DAY_CAP, "all of it, and not a millionth more");
    assert!(even <= Money::dollars(1), "{even}");
    assert_eq!(store.pool_totals("even").await.unwrap().reserved, even);
}

#[tokio::test]
async fn processes_share_the_days_money_and_their_journals() {
    let cluster = Cluster::start();
    let database = Database::postgres(&cluster, "processes");
    let store = database.open().await;
    store.create_run(new_run(id(0)), event("{}".to_owned())).await.unwrap();
    let address = database.address();
    let helpers: Vec<_> = (1..=4).map(|number| Helper::start(&address, id(number), Role::Reserve(50), "")).collect();
    let granted: i64 = tokio::task::spawn_blocking(|| {
        helpers.into_iter().flat_map(Helper::finish).map(|said| said.parse::<i64>().unwrap()).sum()
    })
    .await
    .unwrap();
    assert_eq!(granted, DAY_CAP.micros());
    let helpers: Vec<_> =
        (1..=4).map(|number| Helper::start(&address, id(number), Role::AppendShared(20), "")).collect();
    tokio::task::spawn_blocking(|| helpers.into_iter().for_each(|helper| assert_eq!(helper.finish(), ["20"])))
        .await
        .unwrap();
    assert_eq!(store.journal(id(0)).await.unwrap().len(), 1 + 4 * 20);
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let mut cluster = Cluster::start();
    let database = Database::postgres(&cluster, "killed");
    let store = database.open().await;
    let (lease, mut head) = started(&store, id(1), 5).await;
    store.reserve(lease, reserve(1, Money::dollars(1))).await.unwrap();
    let mut changes = store.subscribe();
    for _ in 0..2 {
        cluster.kill();
        let refused = tokio::time::timeout(Duration::from_secs(60), store.append(lease, head.seq, numbered(6).into()));
        let error = refused.await.expect("a missing server is no reason to wait for ever").unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains("start the server"), "{error}");
        cluster.restart();
        // The same store works again, without being opened anew.
        assert_eq!(store.verify(id(1)).await.unwrap().head, head);
        head = store.append(lease, head.seq, events(6..=7)).await.unwrap();
        let heard = async { while changes.next().await.is_some() && store.run(id(1)).await.unwrap().head != head {} };
        tokio::time::timeout(Duration::from_secs(30), heard).await.expect("changes are heard of again");
    }
    store.settle(lease, Settlement { attempt: Attempt(1), amount: Money::dollars(1) }).await.unwrap();
    assert_eq!(store.day_totals(DAY).await.unwrap().settled, Money::dollars(1));
}

#[tokio::test]
async fn a_caller_that_gives_up_leaves_no_transaction_open() {
    let cluster = Cluster::start();
    let database = Database::postgres(&cluster, "given-up");
    let store = database.open().await;
    started(&store, id(1), 5).await;
    // After any number of steps, so that some give up while the transaction begins.
    for steps in 0..300 {
        let patience = || async move {
            for _ in 0..steps % 60 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            acquired = store.acquire(id(1), None) => drop(acquired.unwrap()),
            () = patience() => {}
        }
        tokio::select! {
            biased;
            verified = store.verify(id(1)) => drop(verified.unwrap()),
            () = patience() => {}
        }
    }
    let open = "SELECT COUNT(*), 0::bigint FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    let all_end = async {
        while database.pairs(open).await != [(0, 0)] {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // Sooner than the server ends what is idle.
    tokio::time::timeout(Duration::from_secs(20), all_end).await.expect("a transaction is open");
}

#[tokio::test]
async fn a_server_that_is_not_there_or_refuses_is_named_without_the_password() {
    let cluster = Cluster::start();
    let port = cluster.url("x").split(':').nth(2).unwrap().split('/').next().unwrap().to_owned();
    for (url, words) in [
        ("postgresql://ralph:s3cret@127.0.0.1:1/ralph".to_owned(), "127.0.0.1:1/ralph"),
        (format!("postgresql://ralph:s3cret@127.0.0.1:{port}/missing"), "\"missing\" does not exist"),
        (format!("postgresql://stranger:s3cret@127.0.0.1:{port}/postgres"), "\"stranger\" does not exist"),
    ] {
        let error = open_postgres(&url).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
        let text = format!("{error} {error:?}");
        assert!(text.contains(words) || text.contains(&words.replace('"', "\\\"")), "{error}");
        assert!(!text.contains("s3cret"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_that_open_an_empty_database_at_once_all_succeed() {
    let cluster = Cluster::start();
    let database = Database::postgres(&cluster, "empty");
    let address = database.address();
    let opening: Vec<_> = (0..16)
        .map(|_| {
            let address = address.clone();
            tokio::spawn(async move { open_postgres(&address).await.map(drop) })
        })
        .collect();
    for one in opening {
        one.await.unwrap().unwrap();
    }
    // Tables of a newer Ralph are left alone.
    database.meddle(&["INSERT INTO schema (version) VALUES (99)"]).await;
    let error = open_postgres(&address).await.unwrap_err();
    assert!(matches!(error, Error::NewerSchema { found: 99, .. }), "{error:?}");
}

#[tokio::test]
async fn tables_of_other_programs_are_left_alone() {
    let cluster = Cluster::start();
    let database = Database::postgres(&cluster, "shared");
    database.meddle(&["CREATE TABLE public.loops (id BIGINT)", "INSERT INTO public.loops VALUES (7)"]).await;
    let store = database.open().await;
    started(&store, id(1), 2).await;
    assert_eq!(database.pairs("SELECT id, id FROM public.loops").await, [(7, 7)]);
}
