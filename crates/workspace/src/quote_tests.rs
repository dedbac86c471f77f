use proptest::prelude::*;

use super::*;

#[test]
fn ordinary_names_stand_for_themselves() {
    for name in ["src/main.rs", "a b", "grüße/日本.txt", "-x", "$HOME"] {
        assert_eq!(quote(name.as_bytes()), name);
    }
}

#[test]
fn odd_names_look_as_git_writes_them() {
    assert_eq!(quote(b"a\nb"), r#""a\nb""#);
    assert_eq!(quote(b"say \"hi\"\\"), r#""say \"hi\"\\""#);
    assert_eq!(quote(b"\xff/\x01ok"), r#""\377/\001ok""#);
}

proptest! {
    #[test]
    fn every_path_comes_back(path in prop::collection::vec(any::<u8>(), 0..40)) {
        let quoted = quote(&path);
        prop_assert!(!quoted.chars().any(char::is_control));
        prop_assert_eq!(unquote(&quoted).into_owned(), path);
    }
}

#[test]
fn a_name_hides_nothing() {
    for hidden in ["a\u{202E}b", "a\u{200B}b", "a\u{2028}b", "a\u{E0041}b", "\u{FEFF}a"] {
        let quoted = quote(hidden.as_bytes());
        assert!(quoted.is_ascii(), "{quoted}");
        assert_eq!(unquote(&quoted).as_ref(), hidden.as_bytes());
    }
    assert_eq!(quote("日本 ü".as_bytes()), "日本 ü");
}
