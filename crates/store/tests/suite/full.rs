//! A disk without room or without leave to write: a clear error, nothing acknowledged lost, and on again with room.

use std::fs;
use std::path::Path;
use std::process::Command;

use ralph_store::{Error, Head, Store};

use crate::helper::{Helper, Role};
use crate::{event, folder, id, new_loop};

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

async fn appended_until_refused(store: &Store) -> (Head, Error) {
    let mut head = store.create_loop(new_loop(id(1)), event("{}".to_owned())).await.unwrap();
    loop {
        match store.append(id(1), head.seq, &[event(format!("\"{}\"", "x".repeat(10_000)))], None, None).await {
            Ok(next) => head = next,
            Err(error) => return (head, error),
        }
    }
}

#[tokio::test]
async fn a_full_disk_refuses_keeps_and_goes_on() {
    let Some(disk) = SmallDisk::mount() else { return };
    let path = disk.path().join("ralph.db");
    let store = Store::open(&path).await.unwrap();
    fs::write(disk.path().join("ballast"), vec![0; 400 << 10]).unwrap();
    let (head, error) = appended_until_refused(&store).await;
    assert!(matches!(error, Error::Full { .. }), "{error:?}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(store.journal(id(1)).await.unwrap().len() as u64, head.seq.0);

    disk.make_room();
    let head = store.append(id(1), head.seq, &[event("{}".to_owned())], None, None).await.unwrap();
    let again = Store::open(&path).await.unwrap();
    assert_eq!(again.verify(id(1)).await.unwrap().head, head);
}

#[tokio::test]
async fn a_disk_that_was_full_from_the_start_is_named() {
    let Some(disk) = SmallDisk::mount() else { return };
    disk.fill();
    let error = Store::open(&disk.path().join("ralph.db")).await.unwrap_err();
    assert!(matches!(error, Error::Full { .. }), "{error:?}");
    disk.make_room();
    Store::open(&disk.path().join("ralph.db")).await.unwrap();
}

#[tokio::test]
async fn a_read_only_disk_is_named() {
    let Some(disk) = SmallDisk::mount() else { return };
    let path = disk.path().join("ralph.db");
    Store::open(&path).await.unwrap().close().await.unwrap();
    assert!(run("mount", &["-o", "remount,ro", &text(disk.path())]));
    for error in [
        Store::open(&path).await.map(drop).unwrap_err(),
        Store::open(&disk.path().join("new.db")).await.map(drop).unwrap_err(),
        Store::open(&disk.path().join("new/ralph.db")).await.map(drop).unwrap_err(),
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
    let helper = Helper::start(&path, id(1), Role::Fill, "trap '' XFSZ; ulimit -f 2000;");
    let acknowledged: u64 = helper.finish()[0].parse().unwrap();
    assert!(acknowledged > 5, "{acknowledged}");

    let store = Store::open(&path).await.unwrap();
    let report = store.verify(id(1)).await.unwrap();
    assert_eq!((report.broken, report.events), (None, acknowledged));
    store.append(id(1), report.head.seq, &[event("{}".to_owned())], None, None).await.unwrap();
}
