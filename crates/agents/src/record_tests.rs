use std::fs;

use super::*;

fn read(record: &mut Record, mut left: u64) -> Vec<String> {
    let mut lines = Vec::new();
    record.read(&mut left, |line| lines.push(line.to_owned()));
    lines
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
