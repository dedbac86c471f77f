//! Tells from what a run printed, or from the names of its tests, which test files were part of it.

use crate::pattern::Pattern;
use crate::pins::path::{extension, parent as folder};
use crate::test_names::{PACKAGE, is_whole};

/// Whether a text, the output of a run or the name of a test, shows that the test file at `path` ran.
///
/// It knows files that runners name as they are (pytest, jest, vitest), dotted modules of unittest, packages of Go below
/// the module's root, and what cargo says of the package at the workspace's root. Where it cannot tell, it says no.
pub fn mentions(path: &str, text: &str) -> bool {
    match extension(path) {
        "rs" => rust(path, text),
        "go" => go(path, text),
        "py" => names_file(path, text) || names_module(path, text),
        _ => names_file(path, text),
    }
}

/// The path as a word of its own; something may stand before it when it is absolute.
fn names_file(path: &str, text: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().chars().next_back();
        let after = text.get(at + path.len()..).unwrap_or_default().chars().next();
        let starts = before.is_none_or(|c| !c.is_alphanumeric() && !"_-./".contains(c))
            || text.get(..at).is_some_and(|before| before.ends_with("./") && !before.ends_with("../"));
        starts && after.is_none_or(|c| !c.is_alphanumeric() && !"_-/".contains(c))
    })
}

/// `test_adds (tests.test_cart.TestCart.test_adds)`: the module as Python calls it, from wherever the run looked.
fn names_module(path: &str, text: &str) -> bool {
    let Some(module) = path.strip_suffix(".py") else { return false };
    let module = module.replace('/', ".");
    let mut rest = Some(module.as_str());
    while let Some(module) = rest {
        let found = text.match_indices(module).any(|(at, _)| {
            let before = text.get(..at).unwrap_or_default().chars().next_back();
            let after = text.get(at + module.len()..).unwrap_or_default();
            before.is_none_or(|c| c == '(' || c.is_whitespace())
                && after.strip_prefix('.').is_some_and(|after| after.starts_with(|c: char| c.is_ascii_uppercase()))
        });
        if found {
            return true;
        }
        rest = module.split_once('.').map(|(_, rest)| rest);
    }
    false
}

/// `ok`, the package and the time, with tabs between.
fn go(path: &str, text: &str) -> bool {
    let folder = folder(path);
    !folder.is_empty()
        && text.lines().any(|line| {
            let package = line.strip_prefix("ok  \t").or_else(|| line.strip_prefix("FAIL\t"));
            let package = package.and_then(|rest| rest.split(['\t', ' ']).next()).unwrap_or_default();
            package.strip_suffix(folder).is_some_and(|before| before.ends_with('/'))
                && !line.contains("[no test files]")
                && !line.contains("[no tests to run]")
        })
}

/// `     Running tests/cart.rs (target/debug/deps/cart-0123456789abcdef)` and `test cart::tests::adds ... ok`. Cargo names
/// files from the folder of their package, so only those of a package at the root are sure.
fn rust(path: &str, text: &str) -> bool {
    if path.starts_with("tests/") {
        return text.lines().any(|line| {
            let file = line.trim_start().strip_prefix("Running ").and_then(|rest| rest.split(" (").next());
            file == Some(path)
        });
    }
    let Some(inside) = path.strip_prefix("src/") else { return false };
    if matches!(inside, "lib.rs" | "main.rs") {
        let program = format!("Running unittests {path} (");
        return text.lines().any(|line| line.trim_start().starts_with(&program));
    }
    let module = inside.strip_suffix("/mod.rs").or_else(|| inside.strip_suffix(".rs")).unwrap_or(inside);
    let module = format!("{}::", module.replace('/', "::"));
    text.lines().any(|line| {
        let name = line.strip_prefix("test ").unwrap_or(line);
        name.split_whitespace().any(|word| word.starts_with(&module))
    })
}

/// Whether a name that a runner prints is that of a test in a source.
pub(crate) fn is_reported_as(reported: &str, name: &str) -> bool {
    if name.contains(' ') && reported.contains("#test_") && is_reported_as(reported, &name.replace(' ', "_")) {
        return true;
    }
    let (fixed, rest) = fixed_parts(name);
    let is_template = fixed.len() < name.len();
    !fixed.is_empty()
        && reported.match_indices(fixed).any(|(at, _)| {
            let (before, after) = (&reported[..at], &reported[at + fixed.len()..]);
            // `#test_0001_adds` of specs of minitest, `#test_adds` of `test "adds"`.
            let is_numbered = before.rsplit_once('#').is_some_and(|(_, start)| {
                start.ends_with('_')
                    && start
                        .strip_prefix("test_")
                        .is_some_and(|it| it.trim_end_matches('_').bytes().all(|b| b.is_ascii_digit()))
            });
            let starts =
                before.is_empty() || is_numbered || before.ends_with([':', '.', '>', ' ', '/', '›', '#', '\t']);
            let ends =
                ["[", " [", "/", " (", "(", ":", " #", " -", ",", " with "].iter().any(|mark| after.starts_with(mark));
            let fits = || !after.starts_with(char::is_alphanumeric) && follow(after, &rest);
            starts && (after.is_empty() || ends && !is_template || (is_template && fits()))
        })
}

/// What begins a title and stands in every name under which its test is reported. No word of it is a part of a longer one there.
pub(super) fn fixed_words(name: &str) -> &str {
    fixed_parts(name).0
}

/// A title with values in it, such as `adds %i`, `costs $price`, `#{name} works` or `${a} and ${b}`: what stands before the first
/// value, and the other words that stay as they are.
fn fixed_parts(name: &str) -> (&str, Vec<&str>) {
    static VALUE: Pattern =
        Pattern::new(r"%(?:[-+0]?[0-9]*(?:\.[0-9]+)?[a-zA-Z%]|[#$])|#?\$?\{[^}]*\}|\$#|\$\w+(?:\.\w+)*");
    let mut parts = VALUE.split(name).map(str::trim);
    let first = parts.next().unwrap_or_default();
    (first, parts.filter(|part| !part.is_empty()).collect())
}

/// Whether these parts stand in a text one after the other.
fn follow(text: &str, parts: &[&str]) -> bool {
    let mut rest = Some(text);
    for part in parts {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, behind)| behind);
    }
    rest.is_some()
}

/// Whether a name is that of a whole file, module or package, and a file is, or is in, it.
pub(crate) fn is_whole_of(name: &str, path: &str) -> bool {
    // Reports of pytest name a module that cannot be imported `tests.test_cart`.
    let is_module = path.strip_suffix(".py").is_some_and(|module| {
        let dotted = |byte: u8| if byte == b'/' { b'.' } else { byte };
        let mut module = module.bytes().rev().map(dotted);
        name.bytes().rev().all(|byte| module.next() == Some(byte)) && module.next().is_none_or(|before| before == b'.')
    });
    is_module || (is_whole(name) && mentions_file(path, name))
}

/// Whether the name of a whole file or package is that of a file.
fn mentions_file(path: &str, name: &str) -> bool {
    mentions(path, name) || path.ends_with(name) || (name.starts_with(PACKAGE) && name.ends_with(folder(path)))
}

/// Whether a text has a name as a word of its own.
pub(super) fn is_word_of(name: &str, text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

#[cfg(test)]
#[path = "mention_tests.rs"]
mod tests;
