//! What may not be read. Permissions do not bind root, so that these tests run themselves again as somebody else.

use std::os::unix::process::CommandExt;
use std::process::Command;

use ralph_model::{ChangeKind, Pin, PinKind};
use ralph_workspace::{Checkout, Guard, Pins, Placement, Since};

use crate::support::{Fixture, assert_sound, fingerprint, id, names};

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
    assert_eq!(workspace.closed_files(), ["closed", "folder"]);
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

#[test]
fn pinned_files_that_permissions_hide_are_swapped_in_and_everything_is_hidden_again() {
    if as_nobody("pinned_files_that_permissions_hide_are_swapped_in_and_everything_is_hidden_again").is_some() {
        return;
    }
    let fixture = Fixture::new();
    for path in ["tests/closed/a", "tests/b", "tests/fixed/c", "tests/other/x"] {
        fixture.write(path, "pinned");
    }
    let pins = Pins::new(&[Pin { glob: "tests/**".to_owned(), kind: PinKind::Frozen, why: String::new() }]).unwrap();
    let mut workspace = fixture.open();
    let baseline = workspace.pins_baseline(&pins, &fixture.state.join("pins")).unwrap();
    fixture.chmod("tests/closed", 0o000);
    fixture.write("tests/b", "weakened");
    fixture.chmod("tests/b", 0o000);
    std::fs::remove_file(fixture.path("tests/fixed/c")).unwrap();
    fixture.write("tests/fixed/c/in/the/way", "work");
    fixture.chmod("tests/fixed/c/in", 0o500);
    fixture.chmod("tests/fixed/c", 0o500);
    fixture.chmod("tests/fixed", 0o555);
    let found = workspace.pins_check(&pins, &baseline).unwrap();
    let kinds: Vec<_> = found.iter().map(|offence| (offence.path.as_str(), offence.kind)).collect();
    let expected =
        [("tests/b", ChangeKind::Mode), ("tests/closed/a", ChangeKind::Mode), ("tests/fixed/c", ChangeKind::Deleted)];
    assert_eq!(kinds, expected);
    let entries: Vec<(String, Placement)> =
        found.into_iter().filter_map(|offence| Some((offence.path, offence.restored?))).collect();
    let record = fixture.state.join("swap");
    for since in [Since::Check, Since::Crash] {
        workspace.swap_in(&entries, &record).unwrap();
        assert_eq!(workspace.pins_check(&pins, &baseline).unwrap(), []);
        assert_eq!(workspace.swap_out(&record, since).unwrap(), [""; 0]);
        let modes = ["tests/closed", "tests/b", "tests/fixed", "tests/fixed/c", "tests/fixed/c/in"];
        assert_eq!(modes.map(|path| fixture.mode(path)), [0o000, 0o000, 0o555, 0o500, 0o500]);
    }
    for path in ["tests/closed", "tests/b", "tests/fixed", "tests/fixed/c", "tests/fixed/c/in"] {
        fixture.chmod(path, 0o755);
    }
    let contents = ["tests/closed/a", "tests/b", "tests/fixed/c/in/the/way"].map(|path| fixture.read(path));
    assert_eq!(contents, ["pinned", "weakened", "work"]);
}

#[test]
fn a_checkout_that_a_check_closed_is_opened_again() {
    if as_nobody("a_checkout_that_a_check_closed_is_opened_again").is_some() {
        return;
    }
    let fixture = Fixture::new();
    fixture.write("a/b/c", "1");
    fixture.write("d", "1");
    let mut workspace = fixture.open();
    let tree = workspace.scan_tree().unwrap();
    let mut checkout = Checkout::open(&fixture.state.join("checkout"), &fixture.state.join("known")).unwrap();
    checkout.sync(&workspace, &tree, &[]).unwrap();
    let there = |path: &str| checkout.root().join(path);
    std::fs::write(there("a/b/c"), "2").unwrap();
    for (path, mode) in [("a/b/c", 0o000), ("a/b", 0o000), ("a", 0o555), ("d", 0o000)] {
        std::fs::set_permissions(there(path), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    checkout.sync(&workspace, &tree, &[]).unwrap();
    let contents = |folder| fingerprint(folder, &[".ralph"]).into_iter().map(|(path, _, content)| (path, content));
    assert!(contents(checkout.root()).eq(contents(&fixture.root)));
}
