//! Folders that are nested deeper than a path can say, or than there are descriptors.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;

use ralph_model::ChangeKind::{Added, Deleted};
use ralph_model::{Pin, PinKind};
use ralph_workspace::{Checkout, Guard, Pins, Placement, Since};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, statat, unlinkat};

use crate::support::{Fixture, id, look};

const DEPTH: usize = 3_000;
const NAMES: [&str; 3] = [".gitignore", "conftest.py", "secret.env"];

/// Makes folders in folders, some of them with files in them, and gives the path of the innermost.
fn nest(top: &Path) -> String {
    let mut folder = open(top);
    for level in 1..=DEPTH {
        mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = openat(&folder, "d", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        if level % (DEPTH / 4) == 0 {
            for name in NAMES {
                let flags = OFlags::CREATE | OFlags::WRONLY;
                let file = openat(&folder, name, flags, Mode::from_raw_mode(0o644)).unwrap();
                rustix::io::write(&file, b"unused-name\n").unwrap();
            }
        }
    }
    vec!["d"; DEPTH].join("/")
}

fn open(path: &Path) -> OwnedFd {
    openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

fn has_nested(top: &Path) -> bool {
    statat(open(top), "d", AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

#[test]
fn deeply_nested_folders_are_recorded_guarded_swapped_and_put_back() {
    // No more stack than a thread gets that works on a workspace.
    let work = thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let fixture = Fixture::repository(&[("plain.txt", "plain")]);
        let mut workspace = fixture.open();
        let start = workspace.snapshot(id(), "start").unwrap().tree;
        let guard = Guard::new(&["*.env".to_owned()]).unwrap();
        let baseline = workspace.guard_baseline(&guard, &fixture.state.join("guard")).unwrap();
        let steering = Pin { glob: "conftest.py".to_owned(), kind: PinKind::Steering, why: "test".to_owned() };
        let pins = Pins::new(&[steering]).unwrap();
        let pinned = workspace.pins_baseline(&pins, &fixture.state.join("pins")).unwrap();
        let mut checkout = Checkout::open(&fixture.state.join("out"), &fixture.state.join("out-state")).unwrap();

        let deep = nest(&fixture.root);
        let tree = workspace.scan_tree().unwrap();
        assert_eq!(workspace.scan_tree().unwrap(), tree, "and again from what is known");
        let changes = workspace.changes(&start, &tree).unwrap();
        assert_eq!(changes.len(), 4 * NAMES.len());
        assert!(changes.iter().all(|change| change.kind == Added));
        assert!(workspace.list(&tree).unwrap().contains(&format!("{deep}/conftest.py")));
        let beside = workspace.untracked_digest().unwrap();
        assert_eq!(workspace.untracked_digest().unwrap(), beside);

        let (violations, offences) = look(&mut workspace, (&guard, &baseline), (&pins, &pinned)).unwrap();
        assert_eq!((violations.len(), offences.len()), (4, 4));
        assert_eq!(workspace.guard_check(&guard, &baseline).unwrap(), violations);
        assert_eq!(workspace.pins_check(&pins, &pinned).unwrap(), offences);

        let entries: Vec<(String, Placement)> =
            offences.into_iter().map(|offence| (offence.path, offence.restored.unwrap())).collect();
        let record = fixture.state.join("swap");
        workspace.swap_in(&entries, &record).unwrap();
        assert!(workspace.pins_check(&pins, &pinned).unwrap().is_empty());
        assert!(workspace.swap_out(&record, Since::Check).unwrap().is_empty());
        assert_eq!(workspace.scan_tree().unwrap(), tree);

        assert_eq!(checkout.sync(&workspace, &tree, &[]).unwrap().tree, tree);
        assert!(has_nested(checkout.root()) && checkout.changed().unwrap().is_empty());
        let gone = checkout.sync(&workspace, &start, &[]).unwrap();
        assert_eq!(gone.removed.len(), 4 * NAMES.len());
        assert!(!has_nested(checkout.root()));

        let patch = fixture.state.join("patch");
        assert_eq!(workspace.guard_restore(&guard, &baseline, &patch).unwrap().len(), 4);
        drop(workspace);
        let mut workspace = fixture.open();
        let changes = workspace.restore(&start).unwrap();
        assert!(changes.len() == 8 && changes.iter().all(|change| change.kind == Deleted));
        assert!(!has_nested(&fixture.root), "folders that are empty go too");
        fs::remove_dir_all(fixture.folder.path()).unwrap();
    });
    work.unwrap().join().unwrap();
}

#[test]
fn a_folder_that_was_closed_far_below_is_opened_again() {
    let fixture = Fixture::new();
    let mut folder = open(&fixture.root);
    for level in 0..200 {
        let flags = OFlags::CREATE | OFlags::WRONLY;
        drop(openat(&folder, format!("z{level}"), flags, Mode::from_raw_mode(0o644)).unwrap());
        mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = openat(&folder, "d", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let mut workspace = fixture.open();
    let tree = workspace.scan_tree().unwrap();
    assert_eq!(workspace.list(&tree).unwrap().len(), 200, "those after the folder in every folder");
    unlinkat(open(&fixture.root.join("d/d/d")), "z3", AtFlags::empty()).unwrap();
    let now = workspace.scan_tree().unwrap();
    assert_eq!(workspace.changes(&tree, &now).unwrap().len(), 1);
}
