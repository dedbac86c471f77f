//! Failing tests in JavaScript and TypeScript, for jest, vitest, mocha and `node --test`.

mod bindings;
mod style;
mod ways;

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::tripwire::command::Calls;
use crate::tripwire::names::{Mark, Names};
use crate::tripwire::plant::{Planted, Presence};
use crate::tripwire::project::Project;
use crate::tripwire::text::{Source, extension, file_name, is_data, join};
use bindings::Bindings;
use ralph_model::Runner;
use style::{Modules, Style};
use ways::{Assertions, Way};

/// A call that makes a test or a group of them.
static TESTS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)(?:^|[^\w.$])(?:describe|context|suite|it|test|specify)(?:\.\w+)*\s*[(`]"));

/// A test that keeps all others from running.
static ONLY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b(?:describe|context|suite|it|test|specify)(?:\.\w+)*\.only\b|\b(?:fdescribe|fit)\s*\(")
});

/// Names of the globals that a file declares for itself.
static OWN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^(?:export\s+)?(?:const|let|var|function|class)\s+(it|test|expect|assert)\b"));

/// Runners that have a form of their own, which is not known here.
const STRANGERS: &[&str] =
    &["ava", "tape", "tap", "uvu", "bun:test", "@playwright/test", "@japa/runner", "cypress", "qunit", "jasmine"];

/// Whether a file keeps all tests but its own marked ones from running.
pub(crate) fn has_only(content: &[u8]) -> bool {
    Source::read(content).is_some_and(|source| ONLY.is_match(source.text))
}

/// The runner of a file, when several are at hand.
pub(crate) fn runner_of(content: &[u8], runners: &[Runner]) -> Option<Runner> {
    let all: Vec<Runner> = runners.iter().copied().filter(|runner| runner.is_javascript()).collect();
    let source = Source::read(content)?;
    let named = all.iter().copied().find(|runner| Bindings::of(source.text, own_module(*runner)).is_some());
    named.or_else(|| all.first().copied())
}

/// Plants in a file that holds tests.
pub(crate) fn plant(
    path: &str,
    content: &[u8],
    runner: Runner,
    project: &Project<'_>,
    calls: &Calls,
    names: &mut Names,
) -> Option<Planted> {
    if is_data(path) || !is_script(path) {
        return None;
    }
    let source = Source::read(content)?;
    let text = source.text;
    let is_test = TESTS.is_match(text)
        || Bindings::of(text, own_module(runner)).is_some()
        || (runner == Runner::NodeTest && is_test_name(path));
    if !is_test || Bindings::of(text, STRANGERS).is_some() {
        return None;
    }
    let style = Style::of(path, text, project);
    let only = calls.only_marked || ONLY.is_match(text);
    let (planted, marks) = write(runner, text, &style, only, &calls.filter.prefix(), names)?;
    Some(Planted { content: source.and(1, &planted), marks, presence: Presence::Sure })
}

/// A file of its own for a project without tests.
pub(crate) fn fresh(
    runner: Runner,
    project: &Project<'_>,
    calls: &Calls,
    names: &mut Names,
) -> Option<(String, Planted)> {
    let word = names.file();
    let usual = match runner {
        Runner::Jest | Runner::Vitest => format!("{word}.test.js"),
        Runner::Mocha => format!("test/{word}.js"),
        _ => format!("{word}.test.mjs"),
    };
    let path = match calls.places.iter().find(|place| !place.starts_with('/')) {
        None => usual,
        Some(place) => in_place(place, runner, &word)?,
    };
    let mut style = Style::of(&path, "", project);
    if runner == Runner::Vitest {
        // It refuses to be required.
        style.modules = Modules::Es;
    }
    let (planted, marks) = write(runner, "", &style, calls.only_marked, &calls.filter.prefix(), names)?;
    Some((path, Planted { content: planted.into_bytes(), marks, presence: Presence::Sure }))
}

/// A file that a place on the command line leads to: a folder, or a pattern of which the last star is the name.
fn in_place(place: &str, runner: Runner, word: &str) -> Option<String> {
    let place = place.trim_start_matches("./");
    let (folder, pattern) = place.rsplit_once('/').unwrap_or(("", place));
    if let Some((before, after)) = pattern.split_once('*') {
        let folder = folder.trim_end_matches("**").trim_end_matches('/');
        let is_plain = !folder.contains(['*', '{', '[', '?']) && !after.contains(['*', '{', '[', '?']);
        let is_named = is_plain && before.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
        return is_named.then(|| join(folder, &format!("{before}{word}{after}")));
    }
    let name = if runner == Runner::Mocha { format!("{word}.js") } else { format!("{word}.test.js") };
    (!is_script(place) && !place.contains(['{', '[', '?', '\\', '^', '$'])).then(|| join(place, &name))
}

fn is_script(path: &str) -> bool {
    matches!(extension(path), "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx") && !path.ends_with(".d.ts")
}

fn is_test_name(path: &str) -> bool {
    let name = file_name(path);
    [".test.", "-test.", "_test.", ".spec."].iter().any(|part| name.contains(part)) || name.starts_with("test-")
}

/// The modules from which tests of a runner import what they need.
const fn own_module(runner: Runner) -> &'static [&'static str] {
    match runner {
        Runner::Jest => &["@jest/globals"],
        Runner::Vitest => &["vitest"],
        Runner::Mocha => &["mocha"],
        _ => &["node:test"],
    }
}

/// What the planted tests call, and the imports that they need for it.
struct Tools {
    test: String,
    assertions: Assertions,
    imports: Vec<String>,
}

fn write(
    runner: Runner,
    text: &str,
    style: &Style,
    only: bool,
    prefix: &str,
    names: &mut Names,
) -> Option<(String, Vec<String>)> {
    let tools = match runner {
        Runner::Jest | Runner::Vitest => expecting(runner, text, style, names)?,
        _ => asserting(runner, text, style, names)?,
    };
    let ways: Vec<Way> = tools.assertions.ways(text);
    let marks = names.marks(ways.len());
    let test = if only { format!("{}.only", tools.test) } else { tools.test };
    let (quote, end, step) = (style.quote, style.end, &style.step);
    let tests: Vec<String> = marks
        .iter()
        .zip(ways)
        .map(|(mark, way)| {
            let body = tools.assertions.statement(way, mark, style);
            format!("{test}({quote}{prefix}{}{quote}, () => {{\n{step}{body}\n}}){end}\n", mark.name())
        })
        .collect();
    let imports = if tools.imports.is_empty() { String::new() } else { format!("{}\n", tools.imports.concat()) };
    Some((imports + &tests.join("\n"), marks.iter().map(Mark::name).collect()))
}

/// jest and vitest: `expect(…)`, from globals or from the runner's module.
fn expecting(runner: Runner, text: &str, style: &Style, names: &mut Names) -> Option<Tools> {
    let mut imports = vec![];
    let bound = Bindings::of(text, own_module(runner));
    let is_imported = bound.is_some() || (runner == Runner::Vitest && text.is_empty());
    let (test, expect) = if is_imported {
        let bound = bound.unwrap_or_default();
        let module = own_module(runner).first()?;
        let test = bound.named(&["test", "it"]);
        let test = test.unwrap_or_else(|| import(style, "test", module, names, &mut imports));
        let expect = bound.named(&["expect"]);
        (test, expect.unwrap_or_else(|| import(style, "expect", module, names, &mut imports)))
    } else {
        let global = |name: &str| (!declares(text, name)).then(|| name.to_owned());
        // The name that the file uses: linters want one of the two everywhere.
        let order = if text.contains("test(") || !text.contains("it(") { ["test", "it"] } else { ["it", "test"] };
        (order.into_iter().find_map(global)?, global("expect")?)
    };
    Some(Tools { test, assertions: Assertions::Expect(expect), imports })
}

/// mocha and `node --test`: whatever the file asserts with, else `node:assert`.
fn asserting(runner: Runner, text: &str, style: &Style, names: &mut Names) -> Option<Tools> {
    let mut imports = vec![];
    let bound = Bindings::of(text, own_module(runner));
    let test = match (runner, bound) {
        (Runner::Mocha, None) => {
            let uses_test = !text.contains("it(") && text.contains("test(");
            let name = if uses_test { "test" } else { "it" };
            (!declares(text, name)).then(|| name.to_owned())?
        }
        (Runner::Mocha, Some(bound)) => {
            bound.named(&["it", "test", "specify"]).unwrap_or_else(|| import(style, "it", "mocha", names, &mut imports))
        }
        (_, bound) => {
            let bound = bound.unwrap_or_default();
            let known = bound.named(&["test", "it"]).or(bound.whole);
            known.unwrap_or_else(|| import(style, "test", "node:test", names, &mut imports))
        }
    };
    let assertions = match Assertions::of(text) {
        Some(assertions) => assertions,
        None => {
            let local = names.variable();
            imports.push(style.whole_import(&local, "node:assert"));
            Assertions::Assert(local)
        }
    };
    Some(Tools { test, assertions, imports })
}

fn import(style: &Style, name: &str, module: &str, names: &mut Names, imports: &mut Vec<String>) -> String {
    let local = names.variable();
    imports.push(style.named_import(name, &local, module));
    local
}

fn declares(text: &str, name: &str) -> bool {
    OWN.captures_iter(text).any(|found| found.get(1).is_some_and(|own| own.as_str() == name))
}

#[cfg(test)]
#[path = "javascript_tests.rs"]
mod tests;
