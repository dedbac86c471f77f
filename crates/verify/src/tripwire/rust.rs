//! Failing tests in Rust, for `cargo test` and nextest. Documentation tests are left alone.

mod mask;

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::tripwire::names::{Mark, Names};
use crate::tripwire::plant::{Planted, Presence};
use crate::tripwire::project::Project;
use crate::tripwire::text::{Source, file_name, folder, indentation, is_data, join};
use mask::mask;

/// An attribute that makes a test of a function.
static TEST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"#\s*\[\s*(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck)\s*[\](]|\bproptest!\s*\{")
});

/// A module with attributes before it.
static MODULE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"((?:#\s*\[[^\]]*\]\s*)+)(?:pub(?:\s*\([^)]*\))?\s+)?mod\s+(?:r#)?\w+\s*\{"));

/// Plants in a file that holds tests.
pub(crate) fn plant(
    path: &str,
    content: &[u8],
    project: &Project<'_>,
    prefix: &str,
    names: &mut Names,
) -> Option<Planted> {
    let target = project.cargo_target(path);
    if is_data(path) || !target.runs_tests || is_elsewhere(path) {
        return None;
    }
    let source = Source::read(content)?;
    let masked = mask(source.text)?;
    if masked.contains("custom_test_frameworks") || masked.contains("#![no_main]") {
        return None;
    }
    let tests = &*TEST;
    let whole_file = if masked.contains("#![cfg(") && !masked.contains("#![cfg(test)]") {
        Presence::Conditional
    } else {
        Presence::Sure
    };
    if let Some(module) = module(&masked, tests) {
        let step = indentation(&masked, "    ");
        let (text, marks) = write(names, prefix, &format!("{}{step}", module.indentation), step);
        let planted =
            if module.is_line_of_its_own { format!("\n{text}") } else { format!("\n{text}{}", module.indentation) };
        let content = source.with(module.at, &planted)?;
        return Some(Planted { content, marks, presence: module.presence.and(whole_file) });
    }
    let is_root = target.is_integration && folder(path).rsplit('/').next() == Some("tests");
    if !is_root && !tests.find_iter(&masked).any(|found| depth(&masked, found.start()) == 0) {
        return None;
    }
    let (text, marks) = write(names, prefix, "", indentation(&masked, "    "));
    Some(Planted { content: source.and(1, &text), marks, presence: whole_file })
}

/// A file of its own for a package without tests.
pub(crate) fn fresh(project: &Project<'_>, prefix: &str, names: &mut Names) -> Vec<(String, Planted)> {
    let packages = project.cargo_packages();
    packages
        .into_iter()
        .map(|folder| {
            let path = join(folder, &format!("tests/{}.rs", names.file()));
            let (text, marks) = write(names, prefix, "", "    ");
            (path, Planted { content: text.into_bytes(), marks, presence: Presence::Sure })
        })
        .collect()
}

/// Whether a file belongs to no target that `cargo test` runs.
fn is_elsewhere(path: &str) -> bool {
    file_name(path) == "build.rs" || folder(path).split('/').any(|part| matches!(part, "benches" | "examples" | "fuzz"))
}

/// Where tests go in a module of tests.
struct Module<'a> {
    /// Before the closing brace, or before its line.
    at: usize,
    is_line_of_its_own: bool,
    indentation: &'a str,
    presence: Presence,
}

/// The first module at the top of a file that is compiled for tests and holds some.
fn module<'a>(masked: &'a str, tests: &Regex) -> Option<Module<'a>> {
    MODULE.captures_iter(masked).find_map(|captures| {
        let (whole, attributes) = (captures.get(0)?, captures.get(1)?.as_str());
        let attributes: String = attributes.split_whitespace().collect();
        if depth(masked, whole.start()) != 0 || !attributes.contains("cfg(") || attributes.contains("not(test)") {
            return None;
        }
        let presence = if attributes.matches("cfg").count() == 1 && attributes.contains("[cfg(test)]") {
            Presence::Sure
        } else if crate::tripwire::text::holds(&attributes, "test") {
            Presence::Conditional
        } else {
            return None;
        };
        let close = closing(masked, whole.end())?;
        tests.is_match(masked.get(whole.end()..close)?).then_some(())?;
        let line = masked.get(..close)?.rfind('\n').map_or(0, |at| at + 1);
        let is_line_of_its_own = masked.get(line..close)?.trim().is_empty();
        let first = masked.get(..whole.start())?.rfind('\n').map_or(0, |at| at + 1);
        let indentation = masked.get(first..whole.start()).filter(|blank| blank.trim().is_empty()).unwrap_or_default();
        Some(Module { at: if is_line_of_its_own { line } else { close }, is_line_of_its_own, indentation, presence })
    })
}

/// How many braces are open at a place.
fn depth(masked: &str, at: usize) -> i64 {
    masked.bytes().take(at).fold(0, |depth, byte| match byte {
        b'{' => depth + 1,
        b'}' => depth - 1,
        _ => depth,
    })
}

/// The brace that closes the one before `from`.
fn closing(masked: &str, from: usize) -> Option<usize> {
    let mut depth = 1_u32;
    for (at, byte) in masked.bytes().enumerate().skip(from) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The ways to fail that people use, each of which a source file could hide behind a macro of its own.
const WAYS: &[fn(&Mark) -> String] = &[
    |mark| {
        format!("assert!(count > {number}, \"{words} {{}}\", {number});", number = mark.number, words = mark.spoken())
    },
    |mark| {
        format!("assert_eq!(count, {number}, \"{words} {{}}\", {number});", number = mark.number, words = mark.spoken())
    },
    |mark| format!("assert_ne!(count, 7, \"{words} {{}}\", {number});", number = mark.number, words = mark.spoken()),
    |mark| format!("panic!(\"{} {{}}\", {} + count - 7);", mark.spoken(), mark.number),
];

fn write(names: &mut Names, prefix: &str, outer: &str, step: &str) -> (String, Vec<String>) {
    let marks = names.marks(WAYS.len());
    let tests: Vec<String> = marks
        .iter()
        .zip(WAYS)
        .map(|(mark, way)| {
            let (name, body) = (mark.name(), way(mark));
            format!(
                "{outer}#[test]\n{outer}fn {prefix}{name}() {{\n{outer}{step}let count = 7;\n{outer}{step}{body}\n{outer}}}\n"
            )
        })
        .collect();
    (tests.join("\n"), marks.iter().map(Mark::name).collect())
}

#[cfg(test)]
#[path = "rust_tests.rs"]
mod tests;
