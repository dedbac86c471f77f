//! Looks that believe what the kernel reports.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use ralph_workspace::Workspace;

use crate::support::Fixture;

/// A workspace whose folders are watched, with a file beside it on the same file system.
fn watched() -> (Fixture, Workspace) {
    let fixture = Fixture::new();
    for path in ["a/one", "a/two", "b/c/three", "b/four"] {
        fixture.write(path, "first");
    }
    // A file that was just changed is read again by any look.
    sleep(Duration::from_millis(30));
    let mut workspace = fixture.open();
    workspace.scan_reported().unwrap();
    workspace.scan_tree().unwrap();
    workspace.scan_tree().unwrap();
    (fixture, workspace)
}

#[test]
fn every_reported_change_is_seen() {
    type Change = (&'static str, fn(&Fixture));
    let changes: [Change; 10] = [
        ("written", |fixture| fixture.write("b/c/three", "second")),
        ("in place", |fixture| {
            use std::io::Write as _;
            let mut file = fs::File::options().write(true).open(fixture.path("a/one")).unwrap();
            file.write_all(b"later").unwrap();
        }),
        ("added", |fixture| fixture.write("a/new", "new")),
        ("added below", |fixture| fixture.write("b/c/d/e/new", "new")),
        ("removed", |fixture| fs::remove_file(fixture.path("b/four")).unwrap()),
        ("made executable", |fixture| fixture.chmod("a/two", 0o755)),
        ("renamed", |fixture| fs::rename(fixture.path("a/one"), fixture.path("b/one")).unwrap()),
        ("folder renamed", |fixture| fs::rename(fixture.path("b/c"), fixture.path("c")).unwrap()),
        ("folder removed", |fixture| fs::remove_dir_all(fixture.path("b")).unwrap()),
        ("folder replaced", |fixture| {
            fs::rename(fixture.path("b"), fixture.path("old")).unwrap();
            fixture.write("b/c/three", "other");
        }),
    ];
    for (what, change) in changes {
        let (fixture, mut workspace) = watched();
        let before = workspace.scan_reported().unwrap();
        change(&fixture);
        let reported = workspace.scan_reported().unwrap();
        assert_ne!(reported, before, "{what}");
        assert_eq!(reported, workspace.scan_tree().unwrap(), "{what}");
    }
}

#[test]
fn what_is_hidden_from_reports_is_seen_by_the_next_complete_look() {
    let (fixture, mut workspace) = watched();
    let before = workspace.scan_tree().unwrap();
    let outside = fixture.folder.path().join("outside");
    fs::hard_link(fixture.path("b/c/three"), &outside).unwrap();
    fs::write(&outside, "hidden").unwrap();
    fs::remove_file(&outside).unwrap();
    // What is known of that file makes no look at it necessary: this is where believing ends.
    assert_eq!(workspace.scan_reported().unwrap(), before);
    assert_ne!(workspace.scan_tree().unwrap(), before);
}

#[test]
fn a_file_with_another_name_is_always_looked_at() {
    let (fixture, mut workspace) = watched();
    let outside = fixture.folder.path().join("outside");
    fs::hard_link(fixture.path("b/c/three"), &outside).unwrap();
    let before = workspace.scan_tree().unwrap();
    sleep(Duration::from_millis(30));
    workspace.scan_tree().unwrap();
    fs::write(&outside, "through the other name").unwrap();
    assert_ne!(workspace.scan_reported().unwrap(), before);
}

#[test]
fn a_flood_of_reports_makes_a_look_complete() {
    let (fixture, mut workspace) = watched();
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let before = workspace.scan_tree().unwrap();
    flood(&fixture.path("a"), limit.trim().parse().unwrap());
    fixture.write("b/four", "after the flood");
    let reported = workspace.scan_reported().unwrap();
    assert_ne!(reported, before);
    assert_eq!(reported, workspace.scan_tree().unwrap());
}

/// More reports than are kept. Equal ones in a row would count as one.
fn flood(folder: &Path, limit: usize) {
    for _ in 0..=limit / 2 {
        for name in ["one", "two"] {
            drop(fs::File::options().append(true).open(folder.join(name)).unwrap());
        }
    }
}
