use proptest::prelude::*;

use super::*;

fn streamed(pieces: &[&[u8]]) -> String {
    let (mut stream, mut out) = (SanitizeStream::default(), String::new());
    for piece in pieces {
        stream.push(piece, &mut out);
    }
    stream.finish(&mut out);
    out
}

#[test]
fn plain_text_is_not_even_copied() {
    let text = "plain\ttext, grün, 日本, ✔️ — “quoted”\n".repeat(9);
    assert_eq!(sanitize(&text), text);
    let ascii = "a".repeat(1000);
    assert!(matches!(sanitize(&ascii), Cow::Borrowed(_)));
}

#[test]
fn bytes_that_can_be_shown_are_passed_as_they_are() {
    let (mut stream, mut out) = (SanitizeStream::default(), String::new());
    let plain = format!("{}\n\t grün ", "plain".repeat(99));
    assert_eq!(stream.pass(plain.as_bytes(), &mut out).as_ptr(), plain.as_ptr());
    assert_eq!(stream.pass(b"a\x1bb\r", &mut out), "a\u{241b}b\n");
    assert_eq!(stream.pass(b"\nc\xe2", &mut out), "c", "the line end was told");
    assert_eq!(stream.pass(b"\x82\xacd", &mut out), "€d", "the character is whole now");
    assert_eq!(stream.pass(b"e", &mut out), "e");
}

#[test]
fn what_acts_becomes_visible() {
    for (text, expected) in [
        ("\x1b[31mred\x1b[0m\x07", "␛[31mred␛[0m␇"),
        ("\0\x08\x7f", "␀␈␡"),
        ("\u{9b}31m\u{85}", "<U+009B>31m<U+0085>"),
        ("a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{ad}", "a<U+202E>b<U+2066>c<U+200B>d<U+FEFF>e<U+00AD>"),
        ("\u{e0041}\u{e01ef}\u{2028}\u{3164}\u{61c}\u{34f}", "<U+E0041><U+E01EF><U+2028><U+3164><U+061C><U+034F>"),
    ] {
        assert_eq!(sanitize(text), expected);
    }
}

#[test]
fn every_line_end_is_one_line_feed() {
    assert_eq!(sanitize("a\r\nb\rc\n\rd\r\r\ne\r"), "a\nb\nc\n\nd\n\ne\n");
    assert_eq!(streamed(&[b"a\r", b"\nb\r", b"c\r", b"", b"\n"]), "a\nb\nc\n");
}

#[test]
fn characters_are_joined_and_what_is_none_is_shown() {
    assert_eq!(streamed(&[b"\xe2", b"\x82", b"\xac"]), "€");
    assert_eq!(streamed(&[b"\xe2\x80", b"\xaex"]), "<U+202E>x");
    assert_eq!(streamed(&[b"\xff", b"\xe2\x82", b"x\xc3"]), "\u{FFFD}\u{FFFD}x\u{FFFD}");
}

#[test]
fn every_single_character_is_harmless_afterwards() {
    for character in '\0'..=char::MAX {
        let text = character.to_string();
        let out = sanitize(&text);
        let harmless = |c: char| (!c.is_control() || c == '\n' || c == '\t') && !acts_unseen(c);
        assert!(out.chars().all(harmless) && !out.is_empty(), "{character:?} gave {out:?}");
        // Whoever adds to the list has to add its first byte to the quick look as well.
        assert!(!acts_unseen(character) || is_suspect(text.as_bytes()[0]), "{character:?} is overlooked");
    }
    for byte in 0..=u8::MAX {
        assert!(!is_suspect(byte) || is_unusual(byte), "{byte:#x} is overlooked at first sight");
    }
}

proptest! {
    #[test]
    fn cutting_changes_nothing(bytes in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(0xE2), Just(0x80), any::<u8>()], 0..200), size in 1..9_usize) {
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        let whole = streamed(&[&bytes]);
        prop_assert_eq!(&streamed(&pieces), &whole);
        prop_assert_eq!(sanitize(&String::from_utf8_lossy(&bytes)).into_owned(), whole);
    }
}
