//! Where tests go in files of Rust, and how they look there.

use super::*;
use crate::tripwire::plant::File;

fn planted(path: &str, text: &str) -> Option<(String, Presence)> {
    planted_with(path, text, &[])
}

fn planted_with(path: &str, text: &str, manifests: &[(&str, &str)]) -> Option<(String, Presence)> {
    let files: Vec<File<'_>> = manifests.iter().map(|(path, text)| File { path, content: text.as_bytes() }).collect();
    let project = Project::read(&files.iter().collect::<Vec<_>>());
    let planted = plant(path, text.as_bytes(), &project, "", &mut Names::new(1))?;
    assert_eq!(planted.marks.len(), 4);
    let text = String::from_utf8(planted.content).unwrap();
    for mark in &planted.marks {
        assert!(text.contains(&format!("fn {mark}()")), "{text}");
        assert!(!text.contains(&crate::tripwire::names::message(mark)), "{text}");
    }
    Some((text, planted.presence))
}

const INLINE: &str = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n";

#[test]
fn tests_go_to_the_end_of_a_module_of_tests() {
    let (text, presence) = planted("src/lib.rs", INLINE).unwrap();
    assert_eq!(presence, Presence::Sure);
    assert!(
        text.starts_with("fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n\n    #[test]\n"),
        "{text}"
    );
    assert!(text.ends_with("    }\n}\n"), "{text}");
    for way in ["assert!(count", "assert_eq!(count", "assert_ne!(count", "panic!("] {
        assert_eq!(text.matches(way).count(), 1, "{way} in {text}");
    }
}

#[test]
fn what_stands_behind_the_module_stays_there() {
    let (text, _) = planted("src/lib.rs", &format!("{INLINE}\nfn last() {{}}\n")).unwrap();
    assert!(text.ends_with("    }\n}\n\nfn last() {}\n"), "{text}");
}

#[test]
fn a_module_on_one_line_is_opened() {
    let (text, _) = planted("src/lib.rs", "#[cfg(test)] mod tests { #[test] fn b() {} }\n").unwrap();
    assert!(text.starts_with("#[cfg(test)] mod tests { #[test] fn b() {} \n    #[test]"), "{text}");
    assert!(text.ends_with("    }\n}\n"), "{text}");
}

#[test]
fn braces_in_strings_do_not_end_a_module() {
    let inside = INLINE.replace("fn b() {}", "fn b() { assert_eq!(\"}\", \"}\"); /* } */ }");
    let (text, _) = planted("src/lib.rs", &inside).unwrap();
    assert!(text.ends_with("    }\n}\n"), "{text}");
}

#[test]
fn carriage_returns_are_kept() {
    let (text, _) = planted("src/lib.rs", &INLINE.replace('\n', "\r\n")).unwrap();
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
}

#[test]
fn conditions_are_seen() {
    let features = INLINE.replace("#[cfg(test)]", "#[cfg(all(test, feature = \"x\"))]");
    assert_eq!(planted("src/lib.rs", &features).unwrap().1, Presence::Conditional);
    let two = INLINE.replace("#[cfg(test)]", "#[cfg(test)]\n#[cfg(unix)]");
    assert_eq!(planted("src/lib.rs", &two).unwrap().1, Presence::Conditional);
    let allowed = INLINE.replace("#[cfg(test)]", "#[cfg(test)]\n#[allow(clippy::unwrap_used)]");
    assert_eq!(planted("src/lib.rs", &allowed).unwrap().1, Presence::Sure);
    let whole = "#![cfg(windows)]\n\n#[test]\nfn a() {}\n";
    assert_eq!(planted("tests/a.rs", whole).unwrap().1, Presence::Conditional);
}

#[test]
fn files_of_tests_are_continued() {
    let (text, _) =
        planted("tests/a.rs", "#![allow(missing_docs)]\nmod common;\n\n#[tokio::test]\nasync fn a() {}").unwrap();
    assert!(text.contains("async fn a() {}\n\n#[test]\n"), "{text}");
    assert!(planted("src/cart_tests.rs", "use super::*;\n\n#[test]\nfn a() {}\n").is_some());
    assert!(planted("tests/it.rs", "mod cart;\n").is_some(), "a root is a target of its own");
}

#[test]
fn files_without_tests_or_of_other_targets_are_left_alone() {
    assert!(planted("src/lib.rs", "fn a() {}\n").is_none());
    assert!(planted("src/lib.rs", "#[cfg(test)]\nmod tests;\n").is_none());
    assert!(planted("src/lib.rs", "#[cfg(not(test))]\nmod a {\n#[test]\nfn b() {}\n}\n").is_none());
    assert!(planted("tests/common/mod.rs", "pub fn help() {}\n").is_none());
    assert!(planted("tests/fixtures/a.rs", "#[test]\nfn a() {}\n").is_none());
    assert!(planted("benches/a.rs", "#[test]\nfn a() {}\n").is_none());
    assert!(planted("src/lib.rs", "macro_rules! a { () => { #[test] fn b() {} } }\n").is_none());
    let manifest = "[package]\nname = \"a\"\n[[test]]\nname = \"a\"\nharness = false\n";
    assert!(planted_with("tests/a.rs", "fn main() {}\n", &[("Cargo.toml", manifest)]).is_none());
}

#[test]
fn lines_inside_a_string_do_not_set_the_indentation() {
    let (text, _) = planted("tests/a.rs", "const A: &str = \"\n  a\n\";\n\n#[test]\nfn a() {\n    b();\n}\n").unwrap();
    assert!(text.contains("() {\n    let count = 7;\n"), "{text}");
}
