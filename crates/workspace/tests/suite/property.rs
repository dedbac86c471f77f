//! Random walks: whatever happens to a workspace, a snapshot is the tree that git makes of the same files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::support::{Fixture, assert_sound, id, user_git};

#[derive(Debug, Clone)]
enum Operation {
    Write(usize, u8),
    Append(usize, u8),
    Remove(usize),
    Executable(usize),
    Plain(usize),
    Link(usize, usize),
    Rename(usize, usize),
    Folder(usize),
    Snapshot,
    /// A look that believes reports; one that believes nothing follows it or does not.
    Reported(bool),
    /// Longer than a file that was just changed is in doubt.
    Rest,
    Reopen,
    RestoreEarlier(usize),
}

/// Few names that nest in each other, so that files, folders and links take each other's places.
const NAMES: [&[u8]; 14] = [
    b"a",
    b"a/b",
    b"a/b/c",
    b"a/b.x",
    b"a-b",
    b"ab",
    b"d/e",
    b"d/e/f",
    b"d.e",
    b"d0",
    b"sp ace",
    b"n\nl",
    b"\xff\xfe/x",
    "ü/é".as_bytes(),
];

fn operation() -> impl Strategy<Value = Operation> {
    let name = 0..NAMES.len();
    prop_oneof![
        6 => (name.clone(), any::<u8>()).prop_map(|(name, byte)| Operation::Write(name, byte)),
        2 => (name.clone(), any::<u8>()).prop_map(|(name, byte)| Operation::Append(name, byte)),
        3 => name.clone().prop_map(Operation::Remove),
        1 => name.clone().prop_map(Operation::Executable),
        1 => name.clone().prop_map(Operation::Plain),
        2 => (name.clone(), name.clone()).prop_map(|(name, target)| Operation::Link(name, target)),
        2 => (name.clone(), name.clone()).prop_map(|(from, to)| Operation::Rename(from, to)),
        1 => name.prop_map(Operation::Folder),
        3 => Just(Operation::Snapshot),
        3 => any::<bool>().prop_map(Operation::Reported),
        1 => Just(Operation::Rest),
        2 => Just(Operation::Reopen),
        1 => (0..20usize).prop_map(Operation::RestoreEarlier),
    ]
}

fn path(root: &Path, name: usize) -> PathBuf {
    root.join(OsStr::from_bytes(NAMES[name]))
}

/// Operations that are impossible at the moment simply fail, as they do for an agent.
fn clear(path: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
}

fn apply(root: &Path, operation: &Operation) {
    let permissions = |name: usize, mode: u32| {
        let path = path(root, name);
        if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode));
        }
    };
    match *operation {
        Operation::Write(name, byte) => {
            let path = path(root, name);
            clear(&path);
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = fs::write(path, [byte]);
        }
        Operation::Append(name, byte) => {
            let path = path(root, name);
            if let Ok(mut content) = fs::read(&path) {
                content.push(byte);
                let _ = fs::write(path, content);
            }
        }
        Operation::Remove(name) => clear(&path(root, name)),
        Operation::Executable(name) => permissions(name, 0o755),
        Operation::Plain(name) => permissions(name, 0o600),
        Operation::Link(name, target) => {
            let path = path(root, name);
            clear(&path);
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = std::os::unix::fs::symlink(OsStr::from_bytes(NAMES[target]), path);
        }
        Operation::Rename(from, to) => {
            let _ = fs::rename(path(root, from), path(root, to));
        }
        Operation::Folder(name) => {
            let _ = fs::create_dir_all(path(root, name));
        }
        Operation::Rest => std::thread::sleep(std::time::Duration::from_millis(25)),
        Operation::Snapshot | Operation::Reported(_) | Operation::Reopen | Operation::RestoreEarlier(_) => {}
    }
}

/// The tree that git makes of everything in the workspace, with a git directory that knows nothing of Ralph.
fn by_git(fixture: &Fixture) -> String {
    let other = fixture.folder.path().join("independent");
    let _ = fs::remove_dir_all(&other);
    let git = |arguments: &[&str]| {
        let output = user_git(&fixture.root)
            .env("GIT_DIR", &other)
            .env("GIT_WORK_TREE", &fixture.root)
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q"]);
    git(&["add", "-A", "-f", "--", ".", ":!.ralph"]);
    git(&["write-tree"])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Fifty walks of a hundred operations.
    #[test]
    fn a_snapshot_is_what_git_makes_of_the_same_files(operations in prop::collection::vec(operation(), 100)) {
        let fixture = Fixture::new();
        let mut workspace = fixture.open();
        let mut trees = Vec::new();
        for operation in &operations {
            apply(&fixture.root, operation);
            match operation {
                Operation::Snapshot => trees.push(workspace.snapshot(id(), "s").unwrap().tree),
                Operation::Reported(followed) => {
                    let reported = workspace.scan_reported().unwrap();
                    if *followed {
                        prop_assert_eq!(reported, workspace.scan_tree().unwrap());
                    }
                }
                Operation::Reopen => {
                    drop(workspace);
                    workspace = fixture.open();
                }
                Operation::RestoreEarlier(number) if !trees.is_empty() => {
                    let target = trees[number % trees.len()].clone();
                    workspace.restore(&target).unwrap();
                    prop_assert_eq!(workspace.snapshot(id(), "r").unwrap().tree, target);
                }
                _ => {}
            }
        }
        let tree = workspace.snapshot(id(), "end").unwrap().tree;
        prop_assert_eq!(tree.0, by_git(&fixture));
        assert_sound(&workspace);
    }
}
