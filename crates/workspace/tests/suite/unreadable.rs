//! What may not be read. Permissions do not bind root, so that these tests run themselves again as somebody else.

use std::os::unix::process::CommandExt;
use std::process::Command;

use ralph_workspace::Guard;

use crate::support::{Fixture, assert_sound, id, names};

const NOBODY: u32 = 65_534;

/// Runs a test of this file as an ordinary user; `None` when this process is one.
fn as_nobody(test: &str) -> Option<()> {
    if rustix::process::geteuid().as_raw() != 0 {
        return None;
    }
    // The test program itself may lie where only root can go.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let program = folder.path().join("suite");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(&program);
    command.args(["--exact", &format!("unreadable::{test}"), "--nocapture"]).current_dir("/").uid(NOBODY).gid(NOBODY);
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(())
}

#[test]
fn what_may_not_be_read_is_marked_and_the_rest_goes_on() {
    if as_nobody("what_may_not_be_read_is_marked_and_the_rest_goes_on").is_some() {
        return;
    }
    let fixture = Fixture::new();
    fixture.write("closed", "secret");
    fixture.write("open", "1");
    fixture.write("folder/x", "1");
    fixture.write("folder.x", "1");
    let mut workspace = fixture.open();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    fixture.chmod("closed", 0o000);
    fixture.chmod("folder", 0o000);
    let closed = workspace.snapshot(id(), "closed").unwrap().tree;
    assert_eq!(names(&workspace, &closed), ["closed", "folder", "folder.x", "open"]);
    let marker = workspace.file_at(&closed, "folder").unwrap().unwrap();
    assert!(String::from_utf8(marker).unwrap().contains("could not be read"));
    assert_sound(&workspace);
    fixture.chmod("folder", 0o755);
    let reopened = workspace.snapshot(id(), "reopened").unwrap().tree;
    assert_eq!(names(&workspace, &reopened), ["closed", "folder.x", "folder/x", "open"]);
    fixture.chmod("folder", 0o000);
    workspace.restore(&start).unwrap();
    assert_eq!(workspace.snapshot(id(), "back").unwrap().tree, start);
    assert_eq!(fixture.read("closed"), "secret");
}

#[test]
fn read_only_folders_are_restored_and_stay_read_only() {
    if as_nobody("read_only_folders_are_restored_and_stay_read_only").is_some() {
        return;
    }
    let fixture = Fixture::new();
    fixture.write("d/a", "1");
    fixture.write("d/b", "1");
    let mut workspace = fixture.open();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    fixture.write("d/a", "2");
    fixture.chmod("d/a", 0o444);
    fixture.write("d/new", "2");
    std::fs::remove_file(fixture.path("d/b")).unwrap();
    fixture.chmod("d", 0o555);
    workspace.restore(&start).unwrap();
    assert_eq!(workspace.snapshot(id(), "back").unwrap().tree, start);
    assert_eq!(fixture.mode("d"), 0o555);
    fixture.chmod("d", 0o755);
}

#[test]
fn prohibited_files_that_were_closed_are_saved_and_come_back() {
    if as_nobody("prohibited_files_that_were_closed_are_saved_and_come_back").is_some() {
        return;
    }
    let fixture = Fixture::new();
    fixture.write(".env", "1");
    fixture.write("migrations/sub/1.sql", "1");
    let guard = Guard::new(&[".env".to_owned(), "migrations/**".to_owned()]).unwrap();
    let mut workspace = fixture.open();
    let baseline = workspace.guard_baseline(&guard, &fixture.state.join("guard")).unwrap();
    fixture.write(".env", "changed\n");
    fixture.chmod(".env", 0o000);
    fixture.write("migrations/sub/1.sql", "drop\n");
    fixture.chmod("migrations/sub", 0o000);
    assert!(!workspace.guard_check(&guard, &baseline).unwrap().is_empty());
    let patch = fixture.state.join("patch");
    workspace.guard_restore(&guard, &baseline, &patch).unwrap();
    assert_eq!(workspace.guard_check(&guard, &baseline).unwrap(), []);
    assert_eq!((fixture.read(".env"), fixture.read("migrations/sub/1.sql")), ("1".into(), "1".into()));
    let saved = std::fs::read_to_string(patch).unwrap();
    assert!(saved.contains("+changed") && saved.contains("+drop"), "{saved}");
}
