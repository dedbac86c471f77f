use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::testing::{DAY, mixed, record};

fn folder() -> TempDir {
    TempDir::new().unwrap()
}

fn all(path: &Path) -> Read {
    read(path, None, None).unwrap()
}

#[test]
fn lines_are_added_and_read_back_in_order() {
    let folder = folder();
    let path = folder.path().join(".ralph/metrics/ralph-loops.jsonl");
    let records = mixed(100, 12);
    for record in &records {
        append(&path, record).unwrap();
    }
    assert_eq!(all(&path), Read { records, broken: vec![] });
}

#[test]
fn a_file_that_is_not_there_holds_nothing() {
    let folder = folder();
    assert_eq!(all(&folder.path().join("none/here.jsonl")), Read::default());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_period_begins_at_its_start_and_ends_before_its_end() {
    let folder = folder();
    let path = folder.path().join("loops.jsonl");
    for (number, ended) in [(1, DAY - 1), (2, DAY), (3, DAY + 86_399_999), (4, DAY + 86_400_000)] {
        append(&path, &Record { end_time: Timestamp(ended), ..record(number) }).unwrap();
    }
    let numbers = |since: Option<i64>, until: Option<i64>| -> Vec<_> {
        let found = read(&path, since.map(Timestamp), until.map(Timestamp)).unwrap();
        found.records.into_iter().map(|record| record.loop_id).collect()
    };
    let ids = |numbers: &[u32]| numbers.iter().map(|number| record(*number).loop_id).collect::<Vec<_>>();
    assert_eq!(numbers(Some(DAY), Some(DAY + 86_400_000)), ids(&[2, 3]));
    assert_eq!(numbers(Some(DAY + 1), None), ids(&[3, 4]));
    assert_eq!(numbers(None, Some(DAY)), ids(&[1]));
}

#[test]
fn broken_lines_are_counted_and_skipped() {
    let folder = folder();
    let path = folder.path().join("loops.jsonl");
    append(&path, &record(1)).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"not json\n\n  \r\n{\"loopId\":\n\xff\xfe\n[]\n\0\n");
    fs::write(&path, bytes).unwrap();
    append(&path, &record(2)).unwrap();
    let found = all(&path);
    assert_eq!(found.records, [record(1), record(2)]);
    assert_eq!(found.broken, [2, 5, 6, 7, 8]);
}

#[test]
fn a_line_torn_by_a_crash_costs_only_itself() {
    let folder = folder();
    let path = folder.path().join("loops.jsonl");
    append(&path, &record(1)).unwrap();
    append(&path, &record(2)).unwrap();
    let whole = fs::read(&path).unwrap();
    for cut in [1, 2, 100] {
        fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        append(&path, &record(3)).unwrap();
        let found = all(&path);
        // Without its last byte, the end of the line, the second record is still whole.
        let (kept, broken): (&[u32], &[u64]) = if cut == 1 { (&[1, 2, 3], &[]) } else { (&[1, 3], &[2]) };
        assert_eq!(found.records, kept.iter().map(|number| record(*number)).collect::<Vec<_>>(), "cut by {cut}");
        assert_eq!(found.broken, broken, "cut by {cut}");
    }
}

#[test]
fn writers_do_not_come_between_each_other() {
    let folder = folder();
    let path = folder.path().join("loops.jsonl");
    let long = "x".repeat(20_000);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (path, long) = (&path, &long);
            scope.spawn(move || {
                for number in 0..50 {
                    let skill = Some(long[..(number as usize * 397) % 20_000].to_owned());
                    append(path, &Record { skill, ..record(writer * 1_000 + number) }).unwrap();
                }
            });
        }
    });
    let found = all(&path);
    assert_eq!((found.records.len(), found.broken.len()), (400, 0));
}

#[test]
fn links_pipes_and_folders_are_refused() {
    let folder = folder();
    let victim = folder.path().join("victim");
    fs::write(&victim, b"precious").unwrap();
    let link = folder.path().join("link");
    symlink(&victim, &link).unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    for path in [&link, &pipe] {
        let error = append(path, &record(1)).unwrap_err();
        assert!(matches!(error, Error::NotAFile { .. }), "{error:?}");
        let error = read(path, None, None).unwrap_err();
        assert!(matches!(error, Error::NotAFile { .. }), "{error:?}");
    }
    assert!(append(folder.path(), &record(1)).is_err());
    assert!(matches!(read(folder.path(), None, None), Err(Error::NotAFile { .. })));
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn a_place_without_room_is_named() {
    let error = append(Path::new("/proc/ralph/loops.jsonl"), &record(1)).unwrap_err();
    assert!(error.to_string().contains("/proc/ralph"), "{error}");
}
