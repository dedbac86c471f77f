//! Tests inside Rust files: what is honest, what is not, and what the check then runs on.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const BEFORE: &str = r##"//! A calculator.
use std::fmt;

/// Adds.
pub fn add(a: i32, b: i32) -> i32 {
    a - b
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashMap};

    fn pair() -> (i32, i32) {
        (1, 2)
    }

    #[test]
    fn adds() {
        let (a, b) = pair();
        assert_eq!(add(a, b), 3, "sum");
        let _: HashMap<i32, i32> = HashMap::new();
    }

    #[test]
    #[should_panic]
    fn overflows() {
        add(i32::MAX, 1);
    }
}
"##;

fn files(files: &[(&str, &str)]) -> Files {
    Files(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
}

struct Files(BTreeMap<String, String>);

impl Others for Files {
    fn paths(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).map(|text| text.clone().into_bytes())
    }
}

fn compare(path: &str, before: &str, now: &str) -> Parts {
    let rest = Rest { texts: &[], others: &NoOthers };
    compare_parts(path, before.as_bytes(), Some(now.as_bytes()), &rest)
}

fn tampered(now: &str) -> (String, String) {
    match compare("src/lib.rs", BEFORE, now) {
        Parts::Tampered { what, restored } => (what.join("; "), String::from_utf8(restored).unwrap()),
        other => panic!("{other:?} for {now}"),
    }
}

/// Whatever was done, the tests are as they were and the rest is the agent's.
fn restored_has_the_tests(restored: &str) {
    assert_eq!(compare("src/lib.rs", BEFORE, restored), Parts::Untouched, "{restored}");
}

#[test]
fn honest_work_is_free() {
    let fixed = BEFORE.replace("a - b", "a + b");
    let cases = [
        fixed.clone(),
        // A new function, a new test, a new helper, new imports.
        fixed.replace("#[cfg(test)]", "pub fn sub(a: i32, b: i32) -> i32 { a - b }\n#[cfg(test)]"),
        fixed.replace(
            "    #[test]\n    fn adds",
            "    #[test]\n    fn new_one() { assert_eq!(4, 4); }\n\n    #[test]\n    fn adds",
        ),
        fixed.replace("    fn pair()", "    fn another_helper() {}\n    fn pair()"),
        fixed.replace(
            "    use super::*;",
            "    use super::*;\n    use std::rc::Rc;\n    use crate::pins::other::Thing;\n    use proptest::prelude::*;",
        ),
        // Formatting, comments, trailing commas.
        fixed.replace("assert_eq!(add(a, b), 3, \"sum\");", "// why\n assert_eq!(\n add(a, b),\n 3,\n \"sum\",\n );"),
        fixed.replace("fn adds() {", "fn adds()\n{ /* nothing */"),
        // Imports merged, sorted, dropped when unused.
        fixed.replace("{BTreeMap, HashMap}", "{HashMap, BTreeMap,}"),
        fixed.replace("use std::collections::{BTreeMap, HashMap};", "use std::collections::HashMap;"),
        fixed.replace("use super::*;", "use super::{*, add};"),
        // Order of tests, lints.
        fixed.replace("#[cfg(test)]\nmod tests", "#[cfg(test)]\n#[allow(clippy::unwrap_used)]\nmod tests"),
        fixed.replace("    #[test]\n    fn adds", "    #[test]\n    #[allow(unused)]\n    fn adds"),
        fixed.replace("//! A calculator.", "//! A better calculator.\n#![allow(dead_code)]"),
        fixed.replace("use std::fmt;", "use std::fmt;\nmacro_rules! square { ($x:expr) => { $x * $x } }"),
    ];
    for now in cases {
        assert_ne!(now, BEFORE);
        assert_eq!(compare("src/lib.rs", BEFORE, &now), Parts::Untouched, "{now}");
    }
}

#[test]
fn tests_may_be_extended_and_not_weakened() {
    let before = "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn sums() {\n        let all = sum(&[1, 2]);\n        assert_eq!(all, 3);\n        for (a, b) in [(1, 1), (2, 2)] {\n            assert_eq!(sum(&[a]), b);\n        }\n    }\n\n    #[rstest]\n    #[case(1)]\n    fn cases(#[case] a: i32) {\n        assert_eq!(sum(&[a]), a);\n    }\n\n    #[test]\n    #[should_panic]\n    fn panics() {\n        sum(&[]);\n    }\n}\n";
    for (from, to, kept) in [
        ("        assert_eq!(all, 3);\n", "        assert_eq!(all, 3);\n        assert_eq!(sum(&[4]), 4);\n", true),
        ("        assert_eq!(all, 3);\n", "        assert!(all > 0);\n        assert_eq!(all, 3);\n", true),
        (
            "        assert_eq!(all, 3);\n",
            "        let other = sum(&[5]);\n        assert_eq!(other, 5);\n        assert_eq!(all, 3);\n",
            true,
        ),
        ("(2, 2)]", "(2, 2), (3, 3)]", true),
        ("    #[case(1)]\n", "    #[case(1)]\n    #[case(2)]\n", true),
        (
            "            assert_eq!(sum(&[a]), b);\n",
            "            assert_eq!(sum(&[a]), b);\n            assert!(b > 0);\n",
            true,
        ),
        ("        assert_eq!(all, 3);\n", "        return;\n        assert_eq!(all, 3);\n", false),
        ("        assert_eq!(all, 3);\n", "        let all = 3;\n        assert_eq!(all, 3);\n", false),
        ("        assert_eq!(all, 3);\n", "", false),
        ("(1, 1), ", "", false),
        (
            "            assert_eq!(sum(&[a]), b);\n",
            "            if a > 0 { continue; }\n            assert_eq!(sum(&[a]), b);\n",
            false,
        ),
        ("    #[case(1)]\n", "    #[case(1)]\n    #[ignore]\n", false),
        ("        sum(&[]);\n", "        sum(&[]);\n        panic!();\n", false),
    ] {
        assert!(before.contains(from), "{from}");
        let now = before.replacen(from, to, 1);
        assert_eq!(compare("src/lib.rs", before, &now) == Parts::Untouched, kept, "{now}");
    }
}

#[test]
fn weakened_tests_are_put_back_and_the_work_is_kept() {
    let fixed = BEFORE.replace("a - b", "a + b");
    let module_gone = fixed[..fixed.find("#[cfg(test)]").unwrap()].to_owned();
    for (now, what) in [
        (fixed.replace(", 3, \"sum\"", ", -1, \"sum\""), "test `adds` changed"),
        (
            fixed.replace("    #[test]\n    fn adds", "    #[test]\n    #[ignore]\n    fn adds"),
            "attributes of test `adds` changed",
        ),
        (fixed.replace("    #[test]\n    fn adds", "    fn adds"), "attributes of test `adds` changed"),
        (
            fixed.replace("    #[test]\n    fn adds", "    #[cfg(any())]\n    #[test]\n    fn adds"),
            "attributes of test `adds` changed",
        ),
        (
            fixed.replace("#[cfg(test)]\nmod", "#[cfg(all(test, any()))]\nmod"),
            "test `adds` is in another module or under other attributes",
        ),
        (fixed.replace("#[cfg(test)]\nmod", "#[cfg(any())]\nmod"), "test `adds` is in another module"),
        (fixed.replace("mod tests {", "mod tests {\n    #![cfg(any())]"), "test `adds` is in another module"),
        (fixed.replace("use std::fmt;", "#![cfg(not(test))]\nuse std::fmt;"), "a new `#![cfg(not(test))]`"),
        (
            fixed.replace("use std::fmt;", "#![cfg_attr(test, no_main)]\nuse std::fmt;"),
            "a new `#![cfg_attr(test, no_main)]`",
        ),
        (fixed.replace("fn adds()", "fn renamed()"), "test `adds` is gone"),
        (fixed.replace("(1, 2)\n", "(2, 1)\n"), "`fn pair` changed"),
        (fixed.replace("    #[should_panic]\n", ""), "attributes of test `overflows` changed"),
        (module_gone, "test `adds` is gone"),
        (
            fixed.replace("    fn pair()", "    fn add(_: i32, _: i32) -> i32 { 3 }\n    fn pair()"),
            "a new `add` among the tests",
        ),
        (
            fixed.replace("    fn pair()", "    macro_rules! assert_eq { ($($t:tt)*) => {} }\n    fn pair()"),
            "a new `assert_eq`",
        ),
        (
            fixed.replace("use std::fmt;", "use std::fmt;\nmacro_rules! assert_eq { ($($t:tt)*) => {} }"),
            "a new `assert_eq!`",
        ),
        (fixed.replace("use std::fmt;", "use std::fmt;\nuse crate::pins::fake as assert_eq;"), "a new `assert_eq!`"),
        (
            fixed.replace("use super::*;", "use super::*;\n    use crate::pins::fake::add;"),
            "a new `use crate::pins::fake::add`",
        ),
        (
            fixed.replace("use super::*;", "use super::*;\n    use crate::pins::fake::*;"),
            "a new `use crate::pins::fake::*`",
        ),
        (fixed.replace("use super::*;", "use super::*;\n    #[macro_use]\n    extern crate evil;"), "#[macro_use]"),
        (fixed.replace("use super::*;", "use super::*;\n    lazy! { fn add() {} }"), "a new `add` among the tests"),
        (
            fixed.replace("use std::collections::{BTreeMap, HashMap};", "use crate::pins::fake::HashMap;"),
            "`use std::collections::HashMap` is gone",
        ),
    ] {
        let (found, restored) = tampered(&now);
        assert!(found.contains(what), "{found:?} should have {what:?}\n{now}");
        restored_has_the_tests(&restored);
        assert!(restored.contains("a + b"), "{restored}");
    }
}

#[test]
fn tests_inside_an_ordinary_module_are_pinned_and_the_module_is_not() {
    let before = "mod a {\n    pub fn f() -> u8 { 1 }\n    #[test]\n    fn t() { assert_eq!(f(), 2); }\n}\n";
    let fixed = before.replace("{ 1 }", "{ 2 }");
    assert_eq!(compare("src/a.rs", before, &fixed), Parts::Untouched);
    let hidden = fixed.replace("mod a {", "#[cfg(any())]\nmod a {");
    let Parts::Tampered { restored, .. } = compare("src/a.rs", before, &hidden) else { panic!() };
    assert_eq!(String::from_utf8(restored).unwrap(), fixed);
    let weak = fixed.replace("assert_eq!(f(), 2)", "assert!(true)");
    let Parts::Tampered { restored, .. } = compare("src/a.rs", before, &weak) else { panic!() };
    assert_eq!(String::from_utf8(restored).unwrap(), fixed);
    let gone = "mod a {\n    pub fn f() -> u8 { 2 }\n}\n";
    let Parts::Tampered { restored, .. } = compare("src/a.rs", before, gone) else { panic!() };
    let restored = String::from_utf8(restored).unwrap();
    assert!(restored.contains("{ 2 }") && restored.contains("assert_eq!(f(), 2)"), "{restored}");
}

#[test]
fn something_new_for_tests_beside_a_test_is_taken_out() {
    let before = "use crate::pins::calc::*;\n#[test]\nfn t() { assert_eq!(add(1, 2), 3); }\n";
    let now = before.replace("#[test]", "#[cfg(test)]\nuse crate::pins::fake::add;\n#[test]");
    let Parts::Tampered { restored, what } = compare("src/a.rs", before, &now) else { panic!() };
    assert_eq!(what, ["a new `use crate::pins::fake::add` among the tests"]);
    assert_eq!(compare("src/a.rs", before, std::str::from_utf8(&restored).unwrap()), Parts::Untouched);
}

#[test]
fn a_module_of_tests_in_another_file_stays_declared() {
    let before = "fn a() {}\n#[cfg(test)]\n#[path = \"a_tests.rs\"]\nmod tests;\n";
    assert_eq!(
        compare("src/a.rs", before, "fn a() { b() }\n#[cfg(test)]\n#[path = \"a_tests.rs\"]\nmod tests;\n"),
        Parts::Untouched
    );
    for now in ["fn a() {}\n", "fn a() {}\n#[cfg(test)]\n#[path = \"none.rs\"]\nmod tests;\n"] {
        let Parts::Tampered { restored, .. } = compare("src/a.rs", before, now) else { panic!("{now}") };
        assert_eq!(compare("src/a.rs", before, std::str::from_utf8(&restored).unwrap()), Parts::Untouched);
    }
}

#[test]
fn in_a_test_file_every_item_counts_and_new_ones_are_welcome() {
    let before = "mod common;\nconst LIMIT: u8 = 3;\n#[test]\nfn a() { assert!(common::f() < LIMIT); }\n";
    for path in ["tests/it.rs", "src/a_tests.rs", "src/a/tests.rs", "src/b_test.rs", "crates/x/tests/common/mod.rs"] {
        let more = format!("{before}#[test]\nfn b() {{}}\n");
        assert_eq!(compare(path, before, &more), Parts::Untouched, "{path}");
        for now in
            [before.replace("= 3", "= 9"), before.replace("< LIMIT", "<= LIMIT"), format!("#![cfg(any())]\n{before}")]
        {
            let expected = before.as_bytes().to_vec();
            assert!(
                matches!(compare(path, before, &now), Parts::Tampered { restored, .. } if restored == expected),
                "{path} {now}"
            );
        }
    }
}

#[test]
fn modules_among_tests_that_were_there_are_not_new() {
    let before = "mod support {\n    pub fn f() -> u8 { 1 }\n}\n#[test]\nfn a() { support::f(); }\nlazy! { fn support_two() {} }\nfn b() { support_two() }\n";
    assert_eq!(compare("tests/a.rs", before, &format!("{before}\n")), Parts::Untouched);
    let more = before.replace("{ 1 }\n", "{ 1 }\n    pub fn g() {}\n");
    assert_eq!(compare("tests/a.rs", before, &more), Parts::Untouched);
    assert!(matches!(compare("tests/a.rs", before, &before.replace("{ 1 }", "{ 2 }")), Parts::Tampered { .. }));
}

#[test]
fn a_source_without_tests_is_free() {
    let before = "fn a() {}\n";
    assert_eq!(compare("src/a.rs", before, "fn b() {"), Parts::Untouched);
    assert_eq!(compare("src/a.rs", before, ""), Parts::Untouched);
    let rest = Rest { texts: &[], others: &NoOthers };
    assert_eq!(compare_parts("src/a.rs", before.as_bytes(), None, &rest), Parts::Untouched);
}

#[test]
fn a_new_judge_in_a_source_without_tests_is_taken_out() {
    let now = "macro_rules! assert { ($($t:tt)*) => {} }\nfn a() { 1 }\n";
    let Parts::Tampered { restored, what } = compare("src/a.rs", "fn a() {}\n", now) else { panic!() };
    assert_eq!(String::from_utf8(restored).unwrap(), "\nfn a() { 1 }\n");
    assert_eq!(what, ["a new `assert!`"]);
}

#[test]
fn a_renamed_file_has_moved_and_a_deleted_one_is_gone() {
    let now = |others: &Files| compare_parts("src/old.rs", BEFORE.as_bytes(), None, &Rest { texts: &[], others });
    let moved = BEFORE.replace("a - b", "a + b");
    assert_eq!(now(&files(&[("src/x.rs", ""), ("src/new.rs", &moved)])), Parts::Moved { to: "src/new.rs".to_owned() });
    let weak = moved.replace(", 3,", ", -1,");
    let off = format!("#![cfg(any())]\n{moved}");
    let shadow = moved.replace("    fn pair()", "    fn add(_: i32, _: i32) -> i32 { 3 }\n    fn pair()");
    for other in [weak, off, shadow] {
        let gone = Parts::Gone { restored: BEFORE.as_bytes().to_vec() };
        assert_eq!(now(&files(&[("src/new.rs", &other)])), gone, "{other}");
    }
    assert_eq!(now(&files(&[("src/new.txt", &moved)])), Parts::Gone { restored: BEFORE.as_bytes().to_vec() });
}

#[test]
fn what_does_not_close_goes_on_not_compiling() {
    // The tests are there in their old words: somebody is in the middle of something.
    let broken = BEFORE.replace("a - b", "a + (b");
    assert_eq!(compare("src/lib.rs", BEFORE, &broken), Parts::Untouched);
    let (_, restored) = tampered(&broken.replace(", 3,", ", -1,"));
    assert!(restored.contains("a + (b") && restored.contains(", 3,"), "{restored}");
    // A file that could not be read before counts as a whole.
    let whole = compare("src/lib.rs", "fn a( {", "fn a() {}");
    assert!(matches!(whole, Parts::Tampered { restored, .. } if restored == b"fn a( {"));
}

#[test]
fn code_that_looks_like_tests_and_is_none() {
    let before = "fn a() -> &'static str { r#\"#[test] fn x() {}\"# }\n// #[test]\n/* #[test] /* fn */ y */\n#[cfg(not(test))]\nfn b() {}\n#[cfg(any(test, feature = \"x\"))]\nfn c() {}\n";
    assert_eq!(compare("src/a.rs", before, "fn a() {}"), Parts::Untouched);
}

#[test]
fn code_that_is_another_for_tests_is_tampering_and_helpers_for_tests_are_not() {
    let before = "pub struct Calc;\n\nimpl Calc {\n    pub fn add(&self) -> i32 {\n        1\n    }\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::Calc.add(), 2);\n    }\n}\n";
    let second = "    #[cfg(test)]\n    pub fn add(&self) -> i32 {\n        2\n    }\n\n";
    for (from, to, is_tampered) in [
        ("    pub fn add", format!("{second}    #[cfg(not(test))]\n    pub fn add"), true),
        ("impl Calc", "#[cfg(not(test))]\nimpl Calc".into(), true),
        ("#[cfg(test)]\nmod", format!("#[cfg(test)]\nimpl Calc {{\n{second}}}\n\n#[cfg(test)]\nmod"), true),
        ("        1\n", "        if cfg!(test) { 2 } else { 1 }\n".into(), true),
        ("        1\n", "        #[cfg(test)]\n        return 2;\n        1\n".into(), true),
        ("pub struct", "#[cfg_attr(test, path = \"all.rs\")]\nmod join;\npub struct".into(), true),
        (
            "    pub fn add",
            "    #[cfg(test)]\n    pub fn with_seed() -> Self {\n        Self\n    }\n\n    pub fn add".into(),
            false,
        ),
        ("pub struct", "#[cfg_attr(test, derive(Debug))]\npub struct".into(), false),
        ("pub struct Calc;", "pub struct Calc {\n    #[cfg(test)]\n    calls: usize,\n}".into(), false),
        ("#[cfg(test)]\nmod", "#[cfg(test)]\nfn helper() {}\n\n#[cfg(test)]\nmod".into(), false),
    ] {
        let now = before.replacen(from, &to, 1);
        let parts = compare("src/lib.rs", before, &now);
        assert_eq!(matches!(parts, Parts::Tampered { .. }), is_tampered, "{now}\n{parts:?}");
    }
}

#[test]
fn a_new_file_may_not_judge() {
    let file = "#[macro_export]\nmacro_rules! assert_eq {\n    ($a:expr, $b:expr) => {};\n}\n";
    assert_eq!(new_judges("src/macros.rs", file.as_bytes()), ["a new `assert_eq!`"]);
    assert!(new_judges("src/a.rs", b"#[cfg(test)]\nmod tests { #[test] fn a() { assert_eq!(1, 1); } }").is_empty());
}

#[test]
fn the_tripwire_runs_old_tests_as_they_were() {
    let before = "pub fn add() -> i32 { 1 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(), 2);\n    }\n}\n";
    let now = before
        .replace("{ 1 }", "{ 2 }")
        .replace("        assert_eq", "        let _mode = super::mode();\n        assert_eq")
        + "\npub fn mode() {}\n";
    let without = without_new_tests("src/lib.rs", before.as_bytes(), now.as_bytes()).unwrap();
    let without = String::from_utf8(without).unwrap();
    assert!(without.contains("{ 2 }") && without.contains("pub fn mode") && !without.contains("_mode"), "{without}");
    assert_eq!(without_new_tests("src/lib.rs", before.as_bytes(), before.as_bytes()), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(before in r#"(?s)[a-z#!\[\](){}<>"'/*\\;,: \n0-9é]{0,80}"#, now in r#"(?s)[a-z#!\[\](){}<>"'/*\\;,: \n]{0,80}"#) {
        for path in ["src/a.rs", "tests/a.rs", "package.json", "Cargo.toml", "pyproject.toml", "setup.cfg", "go.mod", "x"] {
            let _ = compare(path, &before, &now);
            let _ = compare_parts(path, before.as_bytes(), None, &Rest { texts: &[], others: &NoOthers });
        }
    }

    #[test]
    fn mangled_sources_are_restored_or_untouched(at in 0..BEFORE.len(), length in 0..40_usize, insert in "[a-z{}\"'/#\\[\\]! ]{0,10}") {
        let end = (at + length).min(BEFORE.len());
        let mut now = BEFORE.to_owned();
        now.replace_range(at..end, &insert);
        if let Parts::Tampered { restored, .. } = compare("src/lib.rs", BEFORE, &now) {
            let restored = String::from_utf8(restored).unwrap();
            // Either the tests are whole again, or they stand there in their old words and something before them is broken.
            let again = compare("src/lib.rs", BEFORE, &restored);
            let module = BEFORE[BEFORE.find("#[cfg(test)]").unwrap()..].trim_end();
            prop_assert!(again == Parts::Untouched || restored.contains(module), "{now}\n----\n{restored}");
        }
    }
}
