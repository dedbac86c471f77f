//! Failing tests in Go.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::tripwire::names::{Mark, Names};
use crate::tripwire::plant::{File, Planted, Presence};
use crate::tripwire::text::{Source, file_name, folder, is_data, join};

static PACKAGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^package[ \t]+(\w+)"));

static TESTING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?m)^(?:import)?[ \t(]*([\w.]+)?[ \t]*"testing"[ \t;)]*(?://.*)?\r?$"#));

static TESTS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^func[ \t]+Test\w*\("));

/// Lines before the package clause that decide whether a file is built.
static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^//(?:go:build|[ \t]*\+build)[ \t]"));

/// Plants in a file that holds tests.
pub(crate) fn plant(path: &str, content: &[u8], prefix: &str, names: &mut Names) -> Option<Planted> {
    if is_data(path) || is_ignored(path) || !path.ends_with("_test.go") {
        return None;
    }
    let source = Source::read(content)?;
    let text = source.text;
    if !TESTS.is_match(text) || !ends_in_code(text) {
        return None;
    }
    PACKAGE.find(text)?;
    let alias = TESTING.captures(text)?.get(1).map_or("testing", |alias| alias.as_str());
    let kind = match alias {
        "_" => return None,
        "." => "T".to_owned(),
        alias => format!("{alias}.T"),
    };
    let is_tagged = TAG.is_match(text) || has_platform(file_name(path));
    let presence = if is_tagged { Presence::Conditional } else { Presence::Sure };
    let (planted, marks) = write(&kind, prefix, names);
    Some(Planted { content: source.and(1, &planted), marks, presence })
}

/// A file of its own in every folder with Go files, for a project without tests.
pub(crate) fn fresh(sources: &[&File<'_>], prefix: &str, names: &mut Names) -> Vec<(String, Planted)> {
    let mut packages: BTreeMap<&str, String> = BTreeMap::new();
    for file in sources {
        let is_source = file.path.ends_with(".go") && !is_data(file.path) && !is_ignored(file.path);
        let Some(source) = Source::read(file.content).filter(|_| is_source) else { continue };
        let is_tagged = TAG.is_match(source.text);
        let clause = PACKAGE.captures(source.text);
        if let Some(name) = clause.as_ref().and_then(|clause| clause.get(1)).filter(|_| !is_tagged) {
            packages.entry(folder(file.path)).or_insert_with(|| name.as_str().to_owned());
        }
    }
    packages
        .into_iter()
        .map(|(place, package)| {
            let path = join(place, &format!("{}_test.go", names.file()));
            let (planted, marks) = write("testing.T", prefix, names);
            let content = format!("package {package}\n\nimport \"testing\"\n\n{planted}").into_bytes();
            (path, Planted { content, marks, presence: Presence::Sure })
        })
        .collect()
}

/// Names that Go leaves out.
fn is_ignored(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with(['_', '.']))
}

/// Whether a name such as `cart_windows_test.go` ties a file to a platform.
fn has_platform(name: &str) -> bool {
    const PLATFORMS: &[&str] = &[
        "aix",
        "android",
        "darwin",
        "dragonfly",
        "freebsd",
        "illumos",
        "ios",
        "js",
        "linux",
        "netbsd",
        "openbsd",
        "plan9",
        "solaris",
        "wasip1",
        "windows",
        "386",
        "amd64",
        "arm",
        "arm64",
        "loong64",
        "mips",
        "mips64",
        "mips64le",
        "mipsle",
        "ppc64",
        "ppc64le",
        "riscv64",
        "s390x",
        "wasm",
        "unix",
    ];
    let stem = name.strip_suffix("_test.go").unwrap_or(name);
    stem.rsplit_once('_').is_some_and(|(_, last)| PLATFORMS.contains(&last))
}

/// Whether the last line is no part of a comment or of a raw string, as far as a look at it tells.
fn ends_in_code(text: &str) -> bool {
    text.trim_end().lines().last().is_some_and(|line| line.starts_with(['}', ')', '/']) || line.contains('}'))
}

fn write(kind: &str, prefix: &str, names: &mut Names) -> (String, Vec<String>) {
    const WAYS: usize = 3;
    let marks = names.marks(WAYS);
    let prefix = prefix.strip_prefix("Test").map_or_else(|| format!("_{prefix}"), str::to_owned);
    let tests: Vec<String> = marks
        .iter()
        .enumerate()
        .map(|(way, mark)| {
            let (words, number) = (mark.spoken(), mark.number);
            let body = match way {
                0 => format!("t.Error(\"{words}\", {number})"),
                1 => format!("t.Fatal(\"{words}\", {number})"),
                // No message: a verbose run would show it of a test that passed, too.
                _ => "t.Fail()".to_owned(),
            };
            format!("func Test{prefix}{}(t *{kind}) {{\n\t{body}\n}}\n", mark.name())
        })
        .collect();
    (tests.join("\n"), marks.iter().map(Mark::name).collect())
}

#[cfg(test)]
#[path = "go_tests.rs"]
mod tests;
