use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::*;

fn inode(path: &Path) -> Option<u64> {
    path.symlink_metadata().ok().map(|found| found.ino())
}

fn read(record: &mut Record, mut left: u64) -> Vec<String> {
    let mut lines = Vec::new();
    record.read(&mut left, |line| lines.push(line.to_owned()));
    lines
}

#[test]
fn a_record_is_whole_until_somebody_cuts_removes_or_replaces_it() {
    type Change = fn(&Path);
    let changes: [Change; 3] = [
        |path| fs::write(path, "").unwrap(),
        |path| fs::remove_file(path).unwrap(),
        |path| {
            fs::copy(path, path.with_extension("new")).unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        fs::write(&path, "one\n").unwrap();
        let mut record = Record::new(File::open(&path).unwrap());
        assert_eq!(read(&mut record, 100), ["one"]);
        File::options().append(true).open(&path).unwrap().write_all(b"two\nthr").unwrap();
        assert_eq!(read(&mut record, 100), ["two"]);
        assert!(record.is_whole(inode(&path)), "{number}: it only grew");
        change(&path);
        assert!(!record.is_whole(inode(&path)), "{number}");
    }
}

#[test]
fn no_more_is_read_than_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    fs::write(&path, "line\n".repeat(PIECE)).unwrap();
    let mut record = Record::new(File::open(&path).unwrap());
    assert_eq!(read(&mut record, 1).len(), PIECE / 5, "a piece at a time");
    assert_eq!(read(&mut record, 0).len(), 0);
    assert_eq!(read(&mut record, u64::MAX).len(), PIECE - PIECE / 5);
}
