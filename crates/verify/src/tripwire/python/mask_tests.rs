//! Strings and comments go, everything else stays where it is.

use proptest::prelude::*;

use super::*;

#[test]
fn what_is_no_code_is_blank() {
    let cases = [
        ("a # b\nc", "a    \nc"),
        ("x = \"a # b\" # c", "x =            "),
        ("'''a\nif __name__'''\nb", "    \n              \nb"),
        ("\"a\\\"b\" c", "       c"),
        ("\"\" d", "   d"),
    ];
    for (text, expected) in cases {
        assert_eq!(mask(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn what_does_not_end_is_no_file() {
    for text in ["'a\nb'", "\"\"\"a", "a = 1 + \\\n"] {
        assert_eq!(mask(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn nothing_moves(text in "[a-z\"'#\\\\ \nä]{0,80}") {
        if let Some(masked) = mask(&text) {
            prop_assert_eq!(masked.len(), text.len());
            prop_assert_eq!(masked.lines().count(), text.lines().count());
        }
    }
}
