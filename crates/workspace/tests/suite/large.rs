//! Files that are too large to be read.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use ralph_model::ChangeKind::{Added, Modified};
use ralph_model::{Pin, PinKind};
use ralph_workspace::{Checkout, Guard, Pins, Placement, Since, Workspace};

use crate::support::{Fixture, assert_sound, changed, id, look};

const TERABYTE: u64 = 1 << 40;

fn sparse(fixture: &Fixture, path: &str) {
    File::create(fixture.path(path)).unwrap().set_len(TERABYTE).unwrap();
}

/// Longer than the clock of the file system needs to tell two changes apart.
fn wait() {
    std::thread::sleep(Duration::from_millis(30));
}

#[test]
fn a_sparse_file_is_recorded_by_what_the_file_system_says_about_it() {
    let fixture = Fixture::repository(&[("a.txt", "a")]);
    let mut workspace = fixture.open();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    let begun = Instant::now();
    sparse(&fixture, "huge");
    wait();
    let first = workspace.snapshot(id(), "first").unwrap().tree;
    assert_eq!(workspace.changes(&start, &first).unwrap(), [changed("huge", Added)]);
    assert_eq!(workspace.large_files(), ["huge"]);
    assert_eq!(workspace.scan_tree().unwrap(), first);
    File::options().write(true).open(fixture.path("huge")).unwrap().write_at(b"x", TERABYTE / 2).unwrap();
    wait();
    let second = workspace.scan_tree().unwrap();
    assert_eq!(workspace.changes(&first, &second).unwrap(), [changed("huge", Modified)], "a change is a change");
    assert_sound(&workspace);

    drop(workspace);
    let mut workspace: Workspace = fixture.open();
    assert_eq!(workspace.placement_at(&second, "huge").unwrap(), None, "also in the next process");
    assert!(workspace.restore(&first).unwrap().is_empty(), "nobody has what it was");
    assert_eq!(fixture.path("huge").metadata().unwrap().len(), TERABYTE);
    let mut checkout = Checkout::open(&fixture.state.join("out"), &fixture.state.join("out-state")).unwrap();
    assert_eq!(checkout.sync(&workspace, &second, &[]).unwrap().written, ["a.txt"]);
    workspace.restore(&start).unwrap();
    assert!(!fixture.path("huge").exists(), "what is not wanted goes, whatever its size");
    assert!(begun.elapsed() < Duration::from_secs(20), "nothing of it was read");
}

#[test]
fn a_large_file_is_guarded_pinned_and_swapped_without_being_read() {
    let fixture = Fixture::repository(&[("a.txt", "a")]);
    let begun = Instant::now();
    sparse(&fixture, "huge");
    wait();
    let mut workspace = fixture.open();
    let guard = Guard::new(&["huge".to_owned()]).unwrap();
    let baseline = workspace.guard_baseline(&guard, &fixture.state.join("guard")).unwrap();
    let frozen = Pin { glob: "huge".to_owned(), kind: PinKind::Frozen, why: "test".to_owned() };
    let pins = Pins::new(&[frozen]).unwrap();
    let pinned = workspace.pins_baseline(&pins, &fixture.state.join("pins")).unwrap();
    let same = look(&mut workspace, (&guard, &baseline), (&pins, &pinned)).unwrap();
    assert!(same.0.is_empty() && same.1.is_empty());

    File::options().write(true).open(fixture.path("huge")).unwrap().write_at(b"x", 0).unwrap();
    let (violations, offences) = look(&mut workspace, (&guard, &baseline), (&pins, &pinned)).unwrap();
    assert_eq!((violations.len(), offences.len()), (1, 1));
    assert_eq!(offences[0].restored, None, "what it was is not known");
    workspace.guard_restore(&guard, &baseline, &fixture.state.join("patch")).unwrap();
    assert_eq!(fixture.path("huge").metadata().unwrap().len(), TERABYTE, "it is reported and left alone");

    let record = fixture.state.join("swap");
    for placement in [Placement::Absent, Placement::File { content: b"small".to_vec(), mode: 0o644 }] {
        workspace.swap_in(&[("huge".to_owned(), placement)], &record).unwrap();
        assert!(!fs::metadata(fixture.path("huge")).is_ok_and(|found| found.len() > 5));
        workspace.swap_out(&record, Since::Check).unwrap();
        assert_eq!(fixture.path("huge").metadata().unwrap().len(), TERABYTE);
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "nothing of it was read");
}

#[test]
fn a_limit_leaves_files_out_by_what_is_allocated_for_them() {
    let fixture = Fixture::repository(&[("a.txt", "a")]);
    let mut workspace = fixture.open();
    workspace.set_max_file(1 << 20);
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    fs::write(fixture.path("dense"), vec![b'x'; 3 << 20]).unwrap();
    // Most of it takes no room.
    File::create(fixture.path("holes")).unwrap().set_len(32 << 20).unwrap();
    File::options().write(true).open(fixture.path("holes")).unwrap().write_at(b"end", 20 << 20).unwrap();
    wait();
    let first = workspace.snapshot(id(), "first").unwrap().tree;
    assert_eq!(workspace.changes(&start, &first).unwrap(), [changed("dense", Added), changed("holes", Added)]);
    assert_eq!(workspace.large_files(), ["dense"]);
    for name in ["dense", "holes"] {
        fs::write(fixture.path(name), "changed").unwrap();
    }
    assert_eq!(workspace.restore(&first).unwrap(), [changed("holes", Modified)]);
    assert_eq!(
        (fixture.read("dense").as_str(), fixture.path("holes").metadata().unwrap().len()),
        ("changed", 32 << 20)
    );

    // Another loop has another limit, and the file has not changed meanwhile.
    fs::write(fixture.path("dense"), vec![b'y'; 3 << 20]).unwrap();
    wait();
    workspace.snapshot(id(), "second").unwrap();
    drop(workspace);
    let mut workspace: Workspace = fixture.open();
    let third = workspace.snapshot(id(), "third").unwrap().tree;
    assert!(workspace.large_files().is_empty());
    fs::write(fixture.path("dense"), "changed").unwrap();
    workspace.restore(&third).unwrap();
    assert_eq!(fixture.read("dense").len(), 3 << 20);
    assert_sound(&workspace);
}
