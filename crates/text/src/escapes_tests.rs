use proptest::prelude::*;

use super::*;

#[test]
fn sequences_go_and_text_stays() {
    for (text, expected) in [
        ("plain", "plain"),
        ("\x1b[1;38;5;9mFAILED\x1b[0m x", "FAILED x"),
        ("a\x1b[2Kb\x1b(Bc", "abc"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://host/\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPdevice\x1b\\text", "text"),
        ("\x1b]0;title\x1b[31mred", "red"),
        ("broken \x1b[31", "broken "),
        ("broken \x1b[31\nnext", "broken \nnext"),
        ("no end \x1b]0;of a title\nnext", "no end ]0;of a title\nnext"),
        ("no end \x1b]0;of a title", "no end ]0;of a title"),
        ("sec\x1bret \x1b", "secret "),
        ("a\r\nb\rc\r", "a\nb\nc\n"),
        ("\x1b[31mü€\x1b[0m", "ü€"),
    ] {
        assert_eq!(strip_escapes(text), expected, "{text:?}");
    }
}

/// A sequence without an end hides nothing of what follows.
#[test]
fn what_is_held_is_bounded_and_comes_back() {
    for begin in ["\x1b]0;", "\x1b[", "\x1bP"] {
        let flood = format!("{begin}{}", "1".repeat(10_000));
        let (mut stream, mut out) = (EscapeStream::default(), Vec::new());
        for byte in flood.as_bytes() {
            stream.push(&[*byte], &mut out);
            assert!(stream.held.len() <= MAX_STRING);
        }
        stream.finish(&mut out);
        assert!(out.len() >= 10_000, "{begin:?}: {}", out.len());
    }
}

#[test]
fn clean_bytes_are_not_copied() {
    let (mut stream, mut out) = (EscapeStream::default(), Vec::new());
    let clean = b"nothing to do\n";
    assert_eq!(stream.pass(clean, &mut out).as_ptr(), clean.as_ptr());
}

proptest! {
    #[test]
    fn cutting_changes_nothing(
        parts in proptest::collection::vec(
            proptest::sample::select(&["\x1b", "[", "31", "m", "]", "0;", "\x07", "\\", "\r", "\n", "text", "ü", "(", "P", " "][..]), 0..40),
        size in 1..7_usize,
    ) {
        let text = parts.concat();
        let whole = strip(text.as_bytes());
        let (mut stream, mut out, mut buffer) = (EscapeStream::default(), Vec::new(), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            out.extend_from_slice(stream.pass(piece, &mut buffer));
        }
        stream.finish(&mut out);
        prop_assert_eq!(&out, &whole);
        prop_assert!(!whole.contains(&0x1B) && !whole.contains(&b'\r'));
    }
}
