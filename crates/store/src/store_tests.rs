use std::fs;

use super::*;
use crate::testing::{event, folder, id, meddle, started};
use crate::{Filter, StopMode};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn makes_a_private_file_in_a_private_folder_and_opens_it_again() {
    let folder = folder();
    let path = folder.path().join("state/ralph/ralph.db");
    let store = Store::open(&path).await.unwrap();
    started(&store, id(1), 2).await;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&path.with_extension("db-wal")), 0o600);
    store.close().await.unwrap();
    assert!(!path.with_extension("db-wal").exists(), "closing folds the log into the file");

    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let store = Store::open(&path).await.unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 2);
}

#[tokio::test]
async fn commands_that_only_look_make_nothing() {
    let folder = folder();
    let path = folder.path().join("state/ralph.db");
    assert!(Store::open_existing(&path).await.unwrap().is_none());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    drop(Store::open(&path).await.unwrap());
    let store = Store::open_existing(&path).await.unwrap().expect("there is one now");
    assert_eq!(store.loops(&Filter::default()).await.unwrap(), []);
}

#[tokio::test]
async fn durability_is_what_was_promised() {
    use sqlx::Row as _;
    let (_folder, store) = crate::testing::store().await;
    let mut writing = store.write("test").await.unwrap();
    for (pragma, expected) in
        [("PRAGMA synchronous", "2"), ("PRAGMA foreign_keys", "1"), ("PRAGMA journal_mode", "wal")]
    {
        let row = sqlx::query(pragma).fetch_one(writing.on()).await.unwrap();
        let value = row.try_get::<i64, _>(0).map_or_else(|_| row.get::<String, _>(0), |number| number.to_string());
        assert_eq!(value, expected, "{pragma}");
    }
    let refused = sqlx::query("DELETE FROM loops").execute(store.readers()).await;
    assert!(refused.is_err(), "readers only read");
}

#[tokio::test]
async fn an_older_schema_opens_with_all_it_holds() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    make(&path).unwrap();
    let first = ready(&path, &schema::STEPS[..1]).await.unwrap();
    let old = Store::new(&path, Some(first));
    started(&old, id(1), 3).await;
    assert!(old.request_stop(id(1), StopMode::Now, ralph_model::Timestamp(1)).await.is_err(), "not known then");
    old.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 3);
    store.request_stop(id(1), StopMode::Now, ralph_model::Timestamp(1)).await.unwrap();
    store.append(id(1), crate::Seq(3), &[event(4)], None, None).await.unwrap();
    assert_eq!(store.quarantine_after(id(1), crate::Seq(3)).await.unwrap().events, 1);
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_as_it_is() {
    let (_folder, store) = crate::testing::store().await;
    meddle(&store, &["INSERT INTO schema (version) VALUES (99)", "CREATE TABLE future (thing TEXT)"]).await;
    let path = store.path().to_owned();
    store.close().await.unwrap();
    let before = fs::read(&path).unwrap();
    for error in [Store::open(&path).await.unwrap_err(), Store::open_existing(&path).await.unwrap_err()] {
        assert!(matches!(error, Error::NewerSchema { found: 99, known: 4, .. }), "{error:?}");
        assert!(error.to_string().contains("newer Ralph"), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn what_is_no_database_of_ours_is_refused_and_left_as_it_is() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    let text = b"this is a letter, not a database, and longer than the hundred bytes of a header of SQLite. ".repeat(8);
    fs::write(&path, &text).unwrap();
    for error in [Store::open(&path).await.unwrap_err(), Store::open_existing(&path).await.unwrap_err()] {
        assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
        assert!(error.to_string().contains("move it aside"), "{error}");
        assert!(error.to_string().contains("ralph.db"), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), text);

    fs::remove_file(&path).unwrap();
    let foreign = Store::new(&path, None);
    fs::write(&path, b"").unwrap();
    meddle(&foreign, &["CREATE TABLE cookies (name TEXT)"]).await;
    let before = fs::read(&path).unwrap();
    let error = Store::open(&path).await.unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_damaged_page_is_an_error_that_says_what_to_do() {
    let (_folder, store) = crate::testing::store().await;
    started(&store, id(1), 400).await;
    let path = store.path().to_owned();
    store.close().await.unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[8192..length].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let found = match Store::open(&path).await {
        Ok(store) => store.journal(id(1)).await.map(drop),
        Err(error) => Err(error),
    };
    assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}");
}

#[tokio::test]
async fn a_place_that_takes_no_file_is_named() {
    let folder = folder();
    fs::write(folder.path().join("file"), b"").unwrap();
    let error = Store::open(&folder.path().join("file/ralph.db")).await.unwrap_err();
    assert!(matches!(error, Error::Create { .. }), "{error:?}");
    let before = mode(folder.path());
    let error = Store::open(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::Open { .. }), "{error:?}");
    assert_eq!(mode(folder.path()), before, "a folder in the way is left as it is");
    assert!(error.to_string().contains(&folder.path().display().to_string()), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_that_open_a_new_file_at_once_all_succeed() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    let opening: Vec<_> = (0..16)
        .map(|_| {
            let path = path.clone();
            tokio::spawn(async move { Store::open(&path).await.map(drop) })
        })
        .collect();
    for one in opening {
        one.await.unwrap().unwrap();
    }
}
