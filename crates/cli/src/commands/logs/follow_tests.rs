use std::time::Duration;

use super::*;

#[test]
fn a_file_without_a_place_stands_before_what_was_written_after_it() {
    let at = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    let files = [
        ("iteration-1-3-check-1.log", 5),
        ("setup-00000000-check-1.log", 1),
        // Two quick ones can bear the same time, or that of a clock that was put back.
        ("iteration-1-agent-2.log", 2),
        ("baseline-1-check-1.log", 2),
        ("setup-11111111-check-1.log", 4),
        ("stray.log", 9),
    ];
    let names = sorted(files.into_iter().map(|(name, second)| (name.to_owned(), at(second))).collect());
    let wanted = [
        "setup-00000000-check-1.log",
        "baseline-1-check-1.log",
        "iteration-1-agent-2.log",
        "setup-11111111-check-1.log",
        "iteration-1-3-check-1.log",
        "stray.log",
    ];
    assert_eq!(names, wanted);
}

#[test]
fn a_heading_begins_a_line_of_its_own() {
    let mut out = Vec::new();
    let mut page = Page { out: &mut out, at_start: true };
    page.line("one").unwrap();
    page.write_all(b"no end of line").unwrap();
    page.line("two\u{1b}[2J").unwrap();
    page.write_all(b"whole line\n").unwrap();
    page.line("three").unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "one\nno end of line\ntwo␛[2J\nwhole line\nthree\n");
}
