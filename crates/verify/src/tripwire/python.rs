//! Failing tests in Python, for pytest and unittest.

mod mask;
mod ways;

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::tripwire::command::Calls;
use crate::tripwire::names::{Mark, Names};
use crate::tripwire::plant::{Planted, Presence};
use crate::tripwire::project::Project;
use crate::tripwire::text::{Source, file_name, indentation, is_data, join};
use mask::mask;
use ralph_model::Runner;
use ways::{Way, functions, methods};

/// A test, or a class of tests.
static TESTS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^\s*(?:async\s+)?def\s+test|^class\s+\w+\s*\([^)]*TestCase"));

/// What runs a file as a program, at the left edge.
static MAIN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)^(?:if\s+__name__\b|(?:sys\.exit\s*\(\s*)?(?:unittest|pytest)\.main\s*\(|raise\s+SystemExit\b)")
});

/// What leaves a file out of a run, or chooses its tests.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?m)\b(?:pytestmark|importorskip|allow_module_level|__test__|collect_ignore)\b|^def\s+load_tests\b|^\s*raise\s+(?:unittest\.)?SkipTest\b",
    )
});

/// How tests have to look for the runners at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A class that unittest finds; pytest finds it too, whatever its settings say about names.
    Class,
    /// Functions that pytest finds.
    Functions,
    /// Both, because the file uses both.
    Both,
}

/// Plants in a file that holds tests.
pub(crate) fn plant(
    path: &str,
    content: &[u8],
    runners: &[Runner],
    project: &Project<'_>,
    prefix: &str,
    names: &mut Names,
) -> Option<Planted> {
    if is_data(path) || matches!(file_name(path), "conftest.py" | "__init__.py" | "setup.py") {
        return None;
    }
    let source = Source::read(content)?;
    let masked = mask(source.text)?;
    if !TESTS.is_match(&masked) && !is_test_name(file_name(path)) {
        return None;
    }
    let form = form(runners, project, &masked);
    let step = indentation(&masked, "    ");
    let (text, marks) = write(form, &masked, step, prefix, names);
    let presence = if CONDITION.is_match(&masked) { Presence::Conditional } else { Presence::Sure };
    let content = match MAIN.find(&masked) {
        Some(found) => {
            let before = source.text.get(..found.start())?;
            let gap = if before.trim().is_empty() { "" } else { "\n\n\n" };
            let rest = source.text.get(found.start()..)?;
            let end = if source.text.contains("\r\n") { "\r\n" } else { "\n" };
            let planted = format!("{gap}{text}\n\n").replace('\n', end);
            [before.trim_end(), &planted, rest].concat().into_bytes()
        }
        None => source.and(2, &text),
    };
    Some(Planted { content, marks, presence })
}

/// A file of its own for a project without tests.
pub(crate) fn fresh(
    runners: &[Runner],
    calls: &Calls,
    project: &Project<'_>,
    prefix: &str,
    names: &mut Names,
) -> Option<(String, Planted)> {
    let is_folder = |place: &&String| !place.ends_with(".py") && !place.contains(['*', ':']) && !place.starts_with('/');
    let told = calls.places.iter().find(is_folder).cloned();
    let place = told.or_else(|| {
        let set = project.pytest("testpaths");
        let first = set.first()?.split_whitespace().next()?.trim_matches(['"', '\'']).to_owned();
        (!first.contains('*') && runners.contains(&Runner::Pytest)).then_some(first)
    });
    if !calls.places.is_empty() && place.is_none() {
        return None;
    }
    let path = join(place.as_deref().unwrap_or_default(), &format!("test_{}.py", names.file()));
    let (text, marks) = write(form(runners, project, ""), "", "    ", prefix, names);
    Some((path, Planted { content: text.into_bytes(), marks, presence: Presence::Sure }))
}

fn is_test_name(name: &str) -> bool {
    let stem = name.strip_suffix(".py").unwrap_or(name);
    stem.starts_with("test_") || stem.ends_with("_test") || matches!(stem, "test" | "tests")
}

fn form(runners: &[Runner], project: &Project<'_>, masked: &str) -> Form {
    let has_own_names = !project.pytest("python_functions").is_empty();
    if runners.contains(&Runner::Unittest) || has_own_names {
        Form::Class
    } else if masked.contains("TestCase") {
        Form::Both
    } else {
        Form::Functions
    }
}

fn write(form: Form, masked: &str, step: &str, prefix: &str, names: &mut Names) -> (String, Vec<String>) {
    let functions = if form == Form::Class { vec![] } else { functions(masked) };
    let methods = if form == Form::Functions { vec![] } else { methods(masked) };
    let marks = names.marks(functions.len() + methods.len());
    let (for_functions, for_methods) = marks.split_at(functions.len().min(marks.len()));
    let test = |mark: &Mark, way: &Way, outer: &str, parameter: &str| {
        let inner = format!("{outer}{step}");
        let body = way.body(mark, &inner, step);
        format!("{outer}def test_{prefix}{}({parameter}) -> None:\n{body}", mark.name())
    };
    let mut parts: Vec<String> =
        for_functions.iter().zip(&functions).map(|(mark, way)| test(mark, way, "", "")).collect();
    if !methods.is_empty() {
        let imported = masked.lines().any(|line| line.trim_end() == "import unittest");
        let base = if imported { "unittest.TestCase" } else { "__import__(\"unittest\").TestCase" };
        let tests: Vec<String> =
            for_methods.iter().zip(&methods).map(|(mark, way)| test(mark, way, step, "self")).collect();
        parts.push(format!("class {}({base}):\n{}", names.class(), tests.join("\n")));
    }
    (parts.join("\n\n"), marks.iter().map(Mark::name).collect())
}

#[cfg(test)]
#[path = "python_tests.rs"]
mod tests;
