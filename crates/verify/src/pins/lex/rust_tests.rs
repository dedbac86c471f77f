use proptest::prelude::*;

use super::*;

fn shape(text: &str) -> Vec<String> {
    let show = |item: &Item| format!("{} {}", item.keyword, item.name);
    Source::read(text).unwrap().file.items.iter().map(show).collect()
}

#[test]
fn tokens_that_are_hard_to_tell() {
    for (text, wanted) in [
        ("'a' 'b", &["'a'", "'b"][..]),
        ("'\\'' b'\\\\' '\"'", &["'\\''", "b'\\\\'", "'\"'"]),
        ("r#\"a\"b\"# r\"x\" br##\"y\"#\"## c\"z\"", &["r#\"a\"b\"#", "r\"x\"", "br##\"y\"#\"##", "c\"z\""]),
        ("r#fn x", &["r#fn", "x"]),
        ("1..2 1.5e-3 0xffu8 1.max(2)", &["1", ".", ".", "2", "1.5e-3", "0xffu8", "1", ".", "max", "(", "2", ")"]),
        ("a/*b/*c*/d*/e//f\ng", &["a", "e", "g"]),
        ("\"a\\\"b//c\"", &["\"a\\\"b//c\""]),
        ("<'a, T>>", &["<", "'a", ",", "T", ">", ">"]),
        ("#!/usr/bin/env x\nfn", &["fn"]),
        ("'\u{e9}' é", &["'\u{e9}'", "é"]),
    ] {
        assert_eq!(code(text).unwrap(), wanted, "{text}");
    }
    for text in ["\"a", "r#\"a\"", "/* a", "'", "b'a"] {
        assert_eq!(code(text), None, "{text}");
    }
}

#[test]
fn items_are_told_apart() {
    let text = "#![allow(x)]\nuse a::{b, c};\npub(crate) const fn f<T>() -> [u8; 3] where T: X { { } }\nconst X: Y = Y { a: 1 };\nstatic mut S: u8 = 1;\nstruct A;\nstruct B(u8);\nimpl B { fn g() {} }\nextern \"C\" fn h() {}\nextern crate z as y;\nmacro_rules! m { () => {} }\nlazy! { fn q() {} }\nmod n { mod o {} }\nmod p;\n";
    assert_eq!(
        shape(text),
        [
            "use ",
            "fn f",
            "const X",
            "static S",
            "struct A",
            "struct B",
            "impl ",
            "fn h",
            "extern crate y",
            "macro_rules m",
            " lazy",
            "mod n",
            "mod p"
        ]
    );
    for text in ["fn a() {", "fn a() }", "fn a( {) }"] {
        assert!(Source::read(text).is_none(), "{text}");
    }
    assert!(Source::read(&"mod a {".repeat(5000)).is_none());
    assert!(Source::read(&format!("{}{}", "mod a {".repeat(5000), "}".repeat(5000))).is_none());
}

#[test]
fn tests_are_known_by_their_attributes() {
    for (text, holds) in [
        ("#[test] fn a() {}", true),
        ("#[tokio::test(flavor = \"x\")] async fn a() {}", true),
        ("#[rstest] #[case(1)] fn a() {}", true),
        ("#[cfg(test)] mod a {}", true),
        ("#[cfg(all(test, unix))] mod a {}", true),
        ("mod a { #[test] fn b() {} }", true),
        ("#[cfg(not(test))] fn a() {}", false),
        ("#[cfg(any(test, x))] fn a() {}", false),
        ("#[doc = \"test\"] fn a() {}", false),
        ("fn test() {}", false),
    ] {
        assert_eq!(Source::read(text).unwrap().holds_tests(), holds, "{text}");
    }
}

#[test]
fn imports_are_taken_apart() {
    let of = |text: &str| -> Vec<String> {
        uses(&code(text).unwrap()).into_iter().map(|import| format!("{} {}", import.path, import.name)).collect()
    };
    assert_eq!(of("pub use a::{b::{self, C as D}, e::*}; "), ["a::b b", "a::b::C as D D", "a::e::* *"]);
    assert_eq!(of("use ::std::fmt;"), ["std::fmt fmt"]);
    assert_eq!(of("use x as _;"), ["x as _ _"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(text in r#"(?s)[a-z_#!\[\](){}<>"'/*\\;,:=. \n0-9é]{0,120}"#) {
        if let Some(source) = Source::read(&text) {
            for item in &source.file.items {
                prop_assert!(text.get(item.start..item.end).is_some());
                prop_assert!(item.start <= item.head && item.head <= item.end);
                let _ = uses(&item.code);
            }
        }
        let _ = code(&text);
    }

    #[test]
    fn arbitrary_text_does_not_either(text in ".{0,60}") {
        let _ = Source::read(&text);
    }
}
