//! A disk without room or without leave to write: a clear error, nothing acknowledged lost, and on again with room.

use std::fs;
use std::path::Path;
use std::process::Command;

use ralph_store::{Error, Head, Lease, StoreHandle, open_sqlite};

use crate::helper::{Helper, Role};
use crate::{event, folder, id, new_run};

/// A disk of one mebibyte, where the system lets us have one.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    fn mount() -> Option<Self> {
        let folder = folder();
        run("mount", &["-t", "tmpfs", "-o", "size=1m", "tmpfs", &text(folder.path())]).then_some(Self { folder })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn fill(&self) {
        fs::write(self.path().join("ballast"), vec![0; 2 << 20]).unwrap_err();
    }

    fn make_room(&self) {
        fs::remove_file(self.path().join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", &["-l", &text(self.path())]);
    }
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

async fn appended_until_refused(store: &StoreHandle) -> (Lease, Head, Error) {
    let (lease, mut head) = store.create_run(new_run(id(1)), event("{}".to_owned())).await.unwrap();
    loop {
        match store.append(lease, head.seq, event(format!("\"{}\"", "x".repeat(10_000))).into()).await {
            Ok(next) => head = next,
            Err(error) => return (lease, head, error),
        }
    }
}

#[tokio::test]
async fn a_full_disk_refuses_keeps_and_goes_on() {
    let Some(disk) = SmallDisk::mount() else { return };
    let path = disk.path().join("ralph.db");
    let store = open_sqlite(&path).await.unwrap();
    fs::write(disk.path().join("ballast"), vec![0; 400 << 10]).unwrap();
    let (lease, head, error) = appended_until_refused(&store).await;
    assert!(matches!(error, Error::Full { .. }), "{error:?}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(store.journal(id(1)).await.unwrap().len() as u64, head.seq.0);

    disk.make_room();
    let head = store.append(lease, head.seq, event("{}".to_owned()).into()).await.unwrap();
    let again = open_sqlite(&path).await.unwrap();
    assert_eq!(again.verify(id(1)).await.unwrap().head, head);
}

#[tokio::test]
async fn a_disk_that_was_full_from_the_start_is_named() {
    let Some(disk) = SmallDisk::mount() else { return };
    disk.fill();
    let error = open_sqlite(&disk.path().join("ralph.db")).await.unwrap_err();
    assert!(matches!(error, Error::Full { .. }), "{error:?}");
    disk.make_room();
    open_sqlite(&disk.path().join("ralph.db")).await.unwrap();
}

#[tokio::test]
async fn a_read_only_disk_is_named() {
    let Some(disk) = SmallDisk::mount() else { return };
    let path = disk.path().join("ralph.db");
    open_sqlite(&path).await.unwrap().close().await.unwrap();
    assert!(run("mount", &["-o", "remount,ro", &text(disk.path())]));
    for error in [
        open_sqlite(&path).await.map(drop).unwrap_err(),
        open_sqlite(&disk.path().join("new.db")).await.map(drop).unwrap_err(),
        open_sqlite(&disk.path().join("new/ralph.db")).await.map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, Error::ReadOnly { .. } | Error::Open { .. }), "{error:?}");
        assert!(error.to_string().contains("writable"), "{error}");
    }
}

#[tokio::test]
async fn a_limit_on_file_sizes_is_no_end_either() {
    let folder = folder();
    let path = folder.path().join("ralph.db");
    // Without the trap the kernel ends the process instead of refusing the write.
    let helper = Helper::start(path.to_str().unwrap(), id(1), Role::Fill, "trap '' XFSZ; ulimit -f 2000;");
    let acknowledged: u64 = helper.finish()[0].parse().unwrap();
    assert!(acknowledged > 5, "{acknowledged}");

    let store = open_sqlite(&path).await.unwrap();
    let report = store.verify(id(1)).await.unwrap();
    assert_eq!((report.broken, report.events), (None, acknowledged));
    let lease = store.acquire(id(1), None).await.unwrap();
    store.append(lease, report.head.seq, event("{}".to_owned()).into()).await.unwrap();
}
