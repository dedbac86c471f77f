//! Places in the work that behave differently where it is checked, or that lead out of the verified tree. Such work may be honest, so
//! that it is reported and lowers the grade. Reads texts; runs nothing.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use toml::{Table, Value};

use crate::pattern::pattern;
use crate::pins::path;

/// What a place shows, by the endings of the files in which it does.
const SIGNS: [(&[&str], &str); 9] = [
    (
        &["py", "pyi", "pyx"],
        concat!(
            r#"PYTEST_CURRENT_TEST|PYTEST_VERSION|__debug__|_getframe|inspect\.(?:stack|currentframe)\(|"#,
            r#"['"](?:_?pytest|unittest)['"]\s*in\s*sys\.modules|sys\.modules(?:\.get\(|\[)\s*['"](?:_?pytest|unittest|__main__)|"#,
            r#"(?m:^\s*(?:import|from)\s+(?:_pytest|pytest|unittest\.case|_pydevd?)\b)|gc\.get_(?:objects|referrers)\(|TestCase\.\w+\s*=[^=]|setattr\(\s*(?:unittest|pytest)"#
        ),
    ),
    (
        &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
        concat!(
            r#"JEST_WORKER_ID|NODE_TEST_CONTEXT|VITEST(?:_\w+)?\b|import\.meta\.vitest|NODE_ENV['"\]]*\s*[=!]==?\s*['"`]test|"#,
            r#"typeof\s+(?:jest|describe|it|expect)\b|global(?:This)?\.(?:jest|describe|expect|it)\b|new Error\([^)]*\)\.stack|"#,
            r#"\bassert(?:\.strict)?\.\w+\s*=[^=>]|asymmetricMatch|jest\.asymmetricMatcher"#
        ),
    ),
    (
        &["rs"],
        r"cfg!\s*\((?:not\()?(?:test|debug_assertions)|cfg\((?:not\((?:test|debug_assertions)|debug_assertions)|thread::current\(\)\.name",
    ),
    (
        &["go"],
        concat!(
            r#"testing\.Testing\(|flag\.Lookup\("test|os\.Args\[0\]|(?m:^\s*(?:_\s+)?"testing"\s*$)|import\s+"testing"|"#,
            r#"runtime\.Callers?\(|debug\.Stack\("#
        ),
    ),
    (
        &["c", "h", "cc", "cpp", "hpp"],
        r"\bNDEBUG\b|__OPTIMIZE__|\b(?:UNIT_)?TEST(?:S|ING)?\b.*$|program_invocation|__progname|/proc/self",
    ),
    (&["rb"], r"Minitest|RSpec|\$PROGRAM_NAME|\$0\b|caller(?:_locations)?\b|ObjectSpace"),
    (&["php"], r"PHPUNIT|PHPUnit|debug_backtrace\(|\$_SERVER\['argv'\]"),
    (&["java", "kt"], r"getStackTrace\(|org\.junit|surefire|StackWalker"),
    (&["sh", "bash"], r"\$PPID|/proc/\$"),
];
/// Folders that outlive a check and are no part of any tree.
const OUTSIDE: &str = r#"['"`](?:file://)?/(?:tmp|var/tmp|dev/shm)(?:/|['"`])|(?:expanduser|homedir)\(|['"`]~/|Path\.home\(\)|env::home_dir"#;
/// What Ralph itself sets for the checks that confirm a result.
const OWN: &str = r"PYTHONPYCACHEPREFIX|CARGO_BUILD_BUILD_DIR|RALPH_[A-Z]";
/// Words of a build constraint of Go that name a platform.
const PLATFORMS: [&str; 24] = [
    "linux", "darwin", "windows", "unix", "freebsd", "netbsd", "openbsd", "android", "ios", "js", "wasip1", "amd64",
    "arm64", "386", "arm", "wasm", "riscv64", "ppc64le", "s390x", "cgo", "ignore", "race", "gc", "purego",
];

/// What a changed file of the work shows that it did not show at the start, each once.
#[must_use]
pub fn signs(path: &str, before: Option<&str>, now: &str) -> Vec<String> {
    static ALL: LazyLock<Vec<(&[&str], Regex)>> = LazyLock::new(|| {
        SIGNS.iter().map(|(endings, signs)| (*endings, pattern(&format!("{signs}|{OUTSIDE}|{OWN}")))).collect()
    });
    if path::name(path) == "Cargo.toml" {
        return features(before.unwrap_or_default(), now);
    }
    let ending = path::extension(path);
    let Some((_, signs)) = ALL.iter().find(|(endings, _)| endings.contains(&ending)) else { return Vec::new() };
    let found = |text: &str| -> Vec<String> {
        let mut found: Vec<String> = signs.find_iter(text).map(|sign| shown(sign.as_str())).collect();
        if ending == "go" {
            found.extend(constraints(text));
        }
        found
    };
    let old = before.map(found).unwrap_or_default();
    let new = found(now);
    let count = |signs: &[String], sign: &String| signs.iter().filter(|other| *other == sign).count();
    let all: BTreeSet<String> = new.iter().filter(|sign| count(&new, sign) > count(&old, sign)).cloned().collect();
    all.into_iter().collect()
}

fn shown(sign: &str) -> String {
    sign.trim().trim_matches(['"', '\'', '`', '(', '[']).to_owned()
}

/// Build constraints by something other than the platform.
fn constraints(text: &str) -> Vec<String> {
    let lines = text.lines().take_while(|line| !line.starts_with("package "));
    let constraints =
        lines.filter_map(|line| line.strip_prefix("//go:build ").or_else(|| line.strip_prefix("// +build ")));
    let is_tag = |word: &&str| !word.is_empty() && !PLATFORMS.contains(word) && !word.starts_with("go1");
    let words = constraints.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.'));
    words.filter(is_tag).map(|tag| format!("build tag {tag}")).collect()
}

/// Features that a manifest asks for of packages beside it: Cargo builds those with them, in the checks as well.
fn features(before: &str, now: &str) -> Vec<String> {
    let asked = |text: &str| -> BTreeSet<String> {
        let Ok(table) = text.parse::<Table>() else { return BTreeSet::new() };
        let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
        let targets = table.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
        let tables =
            targets.filter_map(Value::as_table).chain([&table]).chain(table.get("workspace").and_then(Value::as_table));
        let dependencies =
            tables.flat_map(|table| kinds.iter().filter_map(|kind| table.get(*kind)?.as_table())).flatten();
        let is_beside = |value: &Value| value.get("path").is_some() || value.get("workspace").is_some();
        let named = |(name, value): (&String, &Value)| {
            let features = value.get("features").and_then(Value::as_array).into_iter().flatten();
            features.filter_map(Value::as_str).map(|feature| format!("feature {feature} of {name}")).collect::<Vec<_>>()
        };
        dependencies.filter(|(_, value)| is_beside(value)).flat_map(named).collect()
    };
    asked(now).difference(&asked(before)).cloned().collect()
}

#[cfg(test)]
#[path = "detection_tests.rs"]
mod tests;
