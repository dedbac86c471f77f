use std::fs;
use std::os::unix::fs::symlink;

use super::*;

#[test]
fn folders_are_made_and_files_in_them_are_theirs() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(".ralph/metrics/deep/loops.jsonl");
    let own = OwnFolder::of_file(&path).unwrap().unwrap();
    fs::write(own.path().join("loops.jsonl"), "x").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "x");
    let message = format!("could not write {}", own.path().join("loops.jsonl").display());
    assert_eq!(own.readable(&message), format!("could not write {}", path.display()));
    OwnFolder::of_workspace(root.path()).unwrap();
}

#[test]
fn a_file_elsewhere_is_left_to_its_owner() {
    assert!(OwnFolder::of_file(Path::new("/var/tmp/loops.jsonl")).unwrap().is_none());
    assert!(OwnFolder::of_file(Path::new("/var/tmp/.ralph")).unwrap().is_none());
}

#[test]
fn a_link_anywhere_below_is_refused() {
    let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = root.path().join(".ralph/metrics/loops.jsonl");
    symlink(outside.path(), root.path().join(".ralph")).unwrap();
    let refused = OwnFolder::of_file(&path).unwrap_err().to_string();
    assert!(refused.contains(".ralph is a link or not a folder: remove it"), "{refused}");
    assert!(OwnFolder::of_workspace(root.path()).is_err());
    fs::remove_file(root.path().join(".ralph")).unwrap();
    fs::create_dir(root.path().join(".ralph")).unwrap();
    symlink(outside.path(), root.path().join(".ralph/metrics")).unwrap();
    assert!(OwnFolder::of_file(&path).is_err());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "nothing was made there");
}

#[test]
fn a_link_that_comes_later_leads_nowhere() {
    let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let own = OwnFolder::of_workspace(root.path()).unwrap();
    fs::rename(root.path().join(".ralph"), root.path().join("moved")).unwrap();
    symlink(outside.path(), root.path().join(".ralph")).unwrap();
    fs::write(own.path().join("LEDGER.md"), "x").unwrap();
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(root.path().join("moved/LEDGER.md").exists());
}
