use std::fs;
use std::path::Path;

use super::*;
use crate::signature;

const FAILED: Ended = Ended::Exited { code: 1 };

fn outputs() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap())).collect()
}

fn pieces(text: &str, size: usize) -> Vec<&str> {
    let (mut pieces, mut rest) = (vec![], text);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

#[test]
fn a_stream_reads_like_the_whole_text() {
    for (name, text) in outputs() {
        for size in [7, 1000] {
            let mut reading = Reading::new(Arc::default(), None);
            for piece in pieces(&text, size) {
                reading.feed(Stream::Stdout, piece);
            }
            let read = reading.finish(&FAILED);
            assert_eq!(read.tests, crate::count(&text), "{name}");
            assert_eq!(read.signature, signature(&text), "{name}");
            assert_eq!(read.excerpt, crate::excerpt(&text), "{name}");
        }
    }
}

#[test]
fn a_piece_of_one_output_does_not_break_a_line_of_the_other() {
    let mut reading = Reading::new(Arc::default(), None);
    for (stream, piece) in [
        (Stream::Stdout, "== 1 failed, 2 pas"),
        (Stream::Stderr, "error: disk "),
        (Stream::Stdout, "sed in 0.1s ==\n"),
        (Stream::Stderr, "full"),
    ] {
        reading.feed(stream, piece);
    }
    let read = reading.finish(&FAILED);
    assert_eq!(read.tests.map(|tests| (tests.passed, tests.failed)), Some((2, 1)));
    assert_eq!(read.excerpt, "== 1 failed, 2 passed in 0.1s ==\nerror: disk full\n");
}

#[test]
fn a_person_sees_the_last_line_and_not_every_line() {
    let mut reading = Reading::new(Arc::default(), None);
    assert_eq!(reading.feed(Stream::Stdout, "one\n\u{1b}[31mtwo\u{1b}[0m\n\nthr"), Some("two".to_owned()));
    assert_eq!(reading.feed(Stream::Stdout, "ee\n"), None, "too soon after the one before");
    let mut reading = Reading::new(Arc::default(), None);
    assert_eq!(reading.feed(Stream::Stdout, "no end of the line yet"), None);
    let shown = reading.feed(Stream::Stdout, &"é".repeat(3000));
    assert_eq!(shown, None);
    assert_eq!(reading.feed(Stream::Stdout, "\n").unwrap().chars().count(), 200);
}

#[test]
fn an_end_that_printed_nothing_still_has_a_signature() {
    let empty = |ended: &Ended| Reading::new(Arc::default(), None).finish(ended);
    assert_eq!(empty(&FAILED).excerpt, "(no output, exit code 1)\n");
    let (one, other) = (empty(&FAILED).signature.unwrap(), empty(&Ended::Signalled { signal: 9 }).signature.unwrap());
    assert_ne!(one.hash, other.hash);
    assert_eq!(other.headline, "ended by signal 9");
}

#[test]
fn a_secret_that_only_decoding_shows_is_redacted() {
    let redactor = Redactor::new([("TOKEN", "correct horse battery")]);
    let mut reading = Reading::new(Arc::new(redactor), None);
    let event = r#"{"Action":"output","Output":"--- FAIL: correct \u001b[31mh\u006frse battery\n"}"#;
    let shown = reading.feed(Stream::Stdout, &format!("{event}\n")).unwrap();
    let read = reading.finish(&FAILED);
    for text in [shown, read.excerpt, read.signature.unwrap().headline] {
        assert!(text.contains("[redacted:TOKEN]") && !text.contains("battery"), "{text}");
    }
}

#[test]
fn tests_that_print_what_another_runner_prints_are_not_counted_twice() {
    let output = "test_line (tests.test_tap.TapTest.test_line) ... ok\n1..2\nok 1 - a\nnot ok 2 - b\n\
         test_report (tests.test_tap.TapTest.test_report) ... ok\n\n\
         ----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nOK\n";
    for (only, failed) in [(None, 1), (Some(Runner::Unittest), 0), (Some(Runner::Pytest), 1)] {
        let mut reading = Reading::new(Arc::default(), only);
        reading.feed(Stream::Stdout, output);
        let tests = reading.finish(&Ended::Exited { code: 0 }).tests.unwrap();
        assert_eq!(tests.failed, failed, "{only:?}");
    }
}
