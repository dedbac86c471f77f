use super::*;

fn module(text: &str) -> Option<Module> {
    Source::parse_items("a.rs", text).map(|source| Module::read(&source))
}

#[test]
fn items_are_told_apart() {
    let text = "#![allow(x)]\nuse a::{b, c};\npub(crate) const fn f<T>() -> [u8; 3] where T: X { { } }\nconst X: Y = Y { a: 1 };\nstatic mut S: u8 = 1;\nstruct A;\nstruct B(u8);\nimpl B { fn g() {} }\nextern \"C\" fn h() {}\nextern crate z as y;\nmacro_rules! m { () => {} }\nlazy! { fn q() {} }\nmod n { mod o {} }\nmod p;\n";
    assert_eq!(
        module(text).unwrap().items.iter().map(|item| format!("{} {}", item.keyword, item.name)).collect::<Vec<_>>(),
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
        assert_eq!(module(text).unwrap().holds_tests(), holds, "{text}");
    }
}

#[test]
fn imports_are_taken_apart() {
    let of = |text: &str| -> Vec<String> {
        uses(&module(text).unwrap().items[0].code)
            .into_iter()
            .map(|import| format!("{} {}", import.path, import.name))
            .collect()
    };
    assert_eq!(of("pub use a::{b::{self, C as D}, e::*}; "), ["a::b b", "a::b::C as D D", "a::e::* *"]);
    assert_eq!(of("use ::std::fmt;"), ["std::fmt fmt"]);
    assert_eq!(of("use x as _;"), ["x as _ _"]);
}
