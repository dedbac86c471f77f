use std::fs;

use ralph_model::Timestamp;

use super::super::Session;
use super::super::session::Durability;
use super::*;
use crate::testing::{event, folder, id, meddle, new_run};
use crate::{Append, Filter, RunEntry, Seq, StopMode};

async fn store() -> (tempfile::TempDir, PathBuf, StoreHandle) {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    let store = open_sqlite(&path).await.unwrap();
    (folder, path, store)
}

async fn started(store: &StoreHandle, events: i64) {
    let (lease, head) = store.create_run(new_run(id(1)), event(1)).await.unwrap();
    let more = Append { events: (2..=events).map(event).collect(), ..Append::default() };
    store.append(lease, head.seq, more).await.unwrap();
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn makes_a_private_file_in_a_private_folder_and_opens_it_again() {
    let folder = folder();
    let path = folder.path().join("state/ralph/ralph.db");
    let store = open_sqlite(&path).await.unwrap();
    started(&store, 2).await;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&path.with_extension("db-wal")), 0o600);
    store.close().await.unwrap();
    assert!(!path.with_extension("db-wal").exists(), "closing folds the log into the file");

    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let store = open_sqlite(&path).await.unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 2);
}

#[tokio::test]
async fn commands_that_only_look_make_nothing() {
    let folder = folder();
    let path = folder.path().join("state/ralph.db");
    assert!(open_existing_sqlite(&path).await.unwrap().is_none());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    drop(open_sqlite(&path).await.unwrap());
    let store = open_existing_sqlite(&path).await.unwrap().expect("there is one now");
    assert_eq!(store.runs(&Filter::default()).await.unwrap(), []);
}

#[tokio::test]
async fn durability_is_what_was_promised() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    open_sqlite(&path).await.unwrap();
    let backend = Backend::Sqlite(SqliteBackend::new(&path, None, READERS));
    let mut session = Session::write(&backend, "test", Durability::PowerLoss).await.unwrap();
    let pragmas = "SELECT (SELECT synchronous FROM pragma_synchronous) AS synchronous, \
         (SELECT foreign_keys FROM pragma_foreign_keys) AS keys, (SELECT journal_mode FROM pragma_journal_mode) AS mode";
    let row = session.row(pragmas, Vec::new()).await.unwrap().unwrap();
    assert_eq!((row.get("synchronous"), row.get("keys"), row.get("mode")), (Ok(2), Ok(1), Ok("wal".to_owned())));
    let mut reader = Session::read(&backend, "test").await.unwrap();
    assert!(reader.execute("DELETE FROM loops", Vec::new()).await.is_err(), "readers only read");
}

#[tokio::test]
async fn only_notes_do_not_wait_for_the_disk() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    open_sqlite(&path).await.unwrap();
    let backend = Backend::Sqlite(SqliteBackend::new(&path, None, READERS));
    // Twice, because a pragma that is prepared once acts once.
    for (durability, expected) in [
        (Durability::ProcessDeath, 1),
        (Durability::PowerLoss, 2),
        (Durability::ProcessDeath, 1),
        (Durability::ProcessDeath, 1),
        (Durability::PowerLoss, 2),
    ] {
        let mut session = Session::write(&backend, "test", durability).await.unwrap();
        let row = session.row("SELECT synchronous FROM pragma_synchronous", Vec::new()).await.unwrap().unwrap();
        assert_eq!(row.get("synchronous"), Ok(expected), "{durability:?}");
        session.commit(()).await.unwrap();
    }
}

#[tokio::test]
async fn a_write_that_is_dropped_half_way_leaves_nothing_and_blocks_no_other() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    let store = open_sqlite(&path).await.unwrap();
    let backend = Backend::Sqlite(SqliteBackend::new(&path, None, READERS));
    let mut session = Session::write(&backend, "test", Durability::PowerLoss).await.unwrap();
    session.execute("INSERT INTO trusted (hash, path, at) VALUES ('h', 'p', 1)", Vec::new()).await.unwrap();
    drop(session);
    store.trust("other", "p", Timestamp(2)).await.unwrap();
    assert!(!store.is_trusted("h", "p").await.unwrap());
    let session = Session::write(&backend, "test", Durability::PowerLoss).await.unwrap();
    session.commit(()).await.unwrap();
}

#[tokio::test]
async fn a_look_while_nobody_writes_opens_no_connection() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    open_sqlite(&path).await.unwrap();
    let count = "SELECT COUNT(*) AS count FROM loops";
    for (readers, is_opened) in [(READERS, false), (SERVER_READERS, true)] {
        let backend = Backend::Sqlite(SqliteBackend::new(&path, connect_writer(&path).await.ok(), readers));
        let Backend::Sqlite(sqlite) = &backend else { unreachable!() };
        for _ in 0..2 {
            let mut snapshot = Session::snapshot(&backend, "test").await.unwrap();
            assert_eq!(snapshot.row(count, Vec::new()).await.unwrap().unwrap().get("count"), Ok(0));
            snapshot.commit(()).await.unwrap();
            let mut reader = Session::read(&backend, "test").await.unwrap();
            assert_eq!(reader.row(count, Vec::new()).await.unwrap().unwrap().get("count"), Ok(0));
            drop(reader);
            assert_eq!(sqlite.readers.size() > 0, is_opened);
            let session = Session::write(&backend, "test", Durability::PowerLoss).await.unwrap();
            session.commit(()).await.unwrap();
        }
        let writing = Session::write(&backend, "test", Durability::PowerLoss).await.unwrap();
        let mut beside = Session::read(&backend, "test").await.unwrap();
        assert_eq!(beside.row(count, Vec::new()).await.unwrap().unwrap().get("count"), Ok(0));
        assert!(sqlite.readers.size() > 0);
        // Given up half-way, a look blocks no write.
        drop((writing, beside));
        let mut snapshot = Session::snapshot(&backend, "test").await.unwrap();
        snapshot.row(count, Vec::new()).await.unwrap();
        drop(snapshot);
        let session = Session::write(&backend, "test", Durability::PowerLoss).await.unwrap();
        session.commit(()).await.unwrap();
    }
}

#[tokio::test]
async fn databases_of_every_older_schema_open_with_all_they_hold() {
    for known in 1..schema::STEPS.len() {
        let folder = folder();
        let path = folder.path().join("ralph.db");
        make(&path).unwrap();
        ready(&path, &schema::STEPS[..known]).await.unwrap().close().await.unwrap();
        let genesis = crate::Head::genesis(id(1));
        let head = genesis.and(id(1), &event(1));
        let (run, hash, payload) = (id(1), head.hash, event(1).payload);
        let row = format!(
            "INSERT INTO loops (id, workspace, objective, agent, status, started_at, updated_at, pid, head_seq, head_hash, \
             summary) VALUES ('{run}', '/state/worktrees/1', 'o', 'claude', 'RUNNING', 1000, 1001, 7, 1, '{hash}', \
             '{{\"origin\":\"/work/project\",\"race\":\"{}\"}}')",
            id(9)
        );
        let event_row =
            format!("INSERT INTO events VALUES ('{run}', 1, 1001, 1, 'iterationStarted', '{payload}', '{hash}')");
        let plain = "INSERT INTO loops (id, workspace, objective, agent, status, started_at, updated_at, head_seq, head_hash, \
             summary) SELECT '01900000-0000-7000-8000-000000000002', '/elsewhere', 'o', 'a', 'ABORTED', 1, 1, 0, head_hash, \
             'no JSON' FROM loops";
        let money = format!("INSERT INTO budget (day, loop, attempt, reserved) VALUES ('2026-11-15', '{run}', 1, 5)");
        let columns = match known {
            0..5 => "SELECT 1".to_owned(),
            _ => format!("UPDATE loops SET origin = '/work/project', parent = '{}'", id(9)),
        };
        meddle(&path, &[&row, &columns, &event_row, plain, &money]).await;

        let store = open_sqlite(&path).await.unwrap();
        assert_eq!(store.journal(id(1)).await.unwrap().len(), 1, "schema {known}");
        let here = Filter { workspace: Some("/work/project".to_owned()), ..Filter::default() };
        let found: Vec<RunEntry> = store.runs(&here).await.unwrap();
        assert_eq!(found.iter().map(|run| (run.id, run.parent)).collect::<Vec<_>>(), [(id(1), Some(id(9)))]);
        assert_eq!((found[0].kind, found[0].epoch.0), (ralph_model::RunKind::Loop, 0));
        assert_eq!((found[0].pid, &found[0].machine, found[0].lease_until), (Some(7), &None, None));
        assert_eq!((store.attempts(id(1)).await, store.certificate(id(1)).await), (Ok(vec![]), Ok(None)));
        assert_eq!(store.run(id(2)).await.unwrap().origin, None, "what is no JSON is left alone");
        assert_eq!(store.open_reservations(id(1)).await.unwrap().len(), 1);
        store.request_stop(id(1), StopMode::Now, Timestamp(1)).await.unwrap();
        let lease = store.acquire(id(1), None).await.unwrap();
        assert_eq!(lease.epoch.0, 1);
        store.append(lease, Seq(1), event(2).into()).await.unwrap();
        assert_eq!(store.quarantine_after(id(1), Seq(1)).await.unwrap().events, 1);
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_as_it_is() {
    let (_folder, path, store) = store().await;
    meddle(&path, &["INSERT INTO schema (version) VALUES (99)", "CREATE TABLE future (thing TEXT)"]).await;
    store.close().await.unwrap();
    let before = fs::read(&path).unwrap();
    for error in [open_sqlite(&path).await.unwrap_err(), open_existing_sqlite(&path).await.unwrap_err()] {
        assert!(matches!(error, Error::NewerSchema { found: 99, known: 13, .. }), "{error:?}");
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
    for error in [open_sqlite(&path).await.unwrap_err(), open_existing_sqlite(&path).await.unwrap_err()] {
        assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
        assert!(error.to_string().contains("move it aside"), "{error}");
        assert!(error.to_string().contains("ralph.db"), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), text);

    fs::remove_file(&path).unwrap();
    fs::write(&path, b"").unwrap();
    meddle(&path, &["CREATE TABLE cookies (name TEXT)"]).await;
    let before = fs::read(&path).unwrap();
    let error = open_sqlite(&path).await.unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_damaged_page_is_an_error_that_says_what_to_do() {
    let (_folder, path, store) = store().await;
    started(&store, 400).await;
    store.close().await.unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[8192..length].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let found = match open_sqlite(&path).await {
        Ok(store) => store.journal(id(1)).await.map(drop),
        Err(error) => Err(error),
    };
    assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}");
}

#[tokio::test]
async fn a_place_that_takes_no_file_is_named() {
    let folder = folder();
    fs::write(folder.path().join("file"), b"").unwrap();
    let error = open_sqlite(&folder.path().join("file/ralph.db")).await.unwrap_err();
    assert!(matches!(error, Error::Create { .. }), "{error:?}");
    let before = mode(folder.path());
    let error = open_sqlite(folder.path()).await.unwrap_err();
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
            tokio::spawn(async move { open_sqlite(&path).await.map(drop) })
        })
        .collect();
    for one in opening {
        one.await.unwrap().unwrap();
    }
}
