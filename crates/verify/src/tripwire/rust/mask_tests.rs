//! Literals and comments go, everything else stays where it is.

use proptest::prelude::*;

use super::*;

#[test]
fn what_is_no_code_is_blank() {
    let cases = [
        ("a // } \nb", "a b"),
        ("a /* } /* { */ } */ b", "a b"),
        ("\"}\\\"{\" c", "c"),
        ("r#\"}\"#x", "x"),
        ("br\"}\" b\"}\" c\"}\" b'}' ;", ";"),
        ("'}' '\\'' '\\u{7d}' 'a: &'static str", "'a: &'static str"),
        ("r#type {", "r#type {"),
        ("matches!(c, '\"' | '{')", "matches!(c, | )"),
        ("'ä' }", "}"),
    ];
    for (text, expected) in cases {
        let masked = mask(text).unwrap();
        assert_eq!(masked.len(), text.len(), "{text}");
        assert_eq!(masked.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{text}");
    }
}

#[test]
fn what_does_not_end_is_no_file() {
    for text in ["\"a", "/* a /* */", "r#\"a\"", "'\\"] {
        assert_eq!(mask(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn nothing_moves(text in "[a-z{}\"'#/*\\\\ \nräß]{0,80}") {
        if let Some(masked) = mask(&text) {
            prop_assert_eq!(masked.len(), text.len());
            prop_assert_eq!(masked.lines().count(), text.lines().count());
        }
    }
}
