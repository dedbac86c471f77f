//! Asks test runners which tests there are: the commands that do so, and what the answers mean. Runs nothing.
//!
//! A runner is asked with the words of the check, so that it says what the check selects. Runners that cannot be asked, and those
//! that do not answer, are known by their configuration and their documented defaults.

use std::collections::BTreeMap;

use ralph_model::{Runner, TestTally, shell_word};
use serde_json::Value;

use crate::pins::{Expanded, Simple, commands, path, started_by};

/// How many commands are asked.
const MAX_QUERIES: usize = 6;
/// Files that are kept of an answer.
const MAX_FILES: usize = 20_000;
/// What Go says of every package: its test files, with their folder.
const GO_FILES: &str = r#"{{$d := .Dir}}{{range .TestGoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}"#;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Whom it asks.
    pub runner: Runner,
    /// The folder that it is asked in, relative to the workspace.
    pub folder: String,
    /// A line for `sh -c`; none where the runner cannot be asked, or the shell computes what it is started with.
    pub command: Option<String>,
    /// Whether it stands in a `package.json`, so that programs of packages are found.
    pub is_npm_script: bool,
}

/// The questions to the runners that the texts of the checks start.
#[must_use]
pub fn queries(texts: &[Expanded]) -> Vec<Query> {
    let mut queries: Vec<Query> = Vec::new();
    let of = |text: &Expanded| {
        let is_npm_script = text.from.as_deref().is_some_and(|file| path::name(file) == "package.json");
        commands(&text.text, &text.folder).into_iter().map(move |simple| (simple, is_npm_script))
    };
    for (simple, is_npm_script) in texts.iter().flat_map(of) {
        let inner = simple.inner();
        let Some(runner) = started_by(&inner).or_else(|| started_by(&simple)) else { continue };
        let words = plain(&simple, &inner).and_then(|words| asking(runner, words));
        let command = words.map(|words| {
            let words =
                simple.variables.iter().map(|word| assigned(word)).chain(words.iter().map(|word| shell_word(word)));
            words.collect::<Vec<_>>().join(" ")
        });
        let query = Query { runner, folder: simple.folder, command, is_npm_script };
        if !queries.contains(&query) && queries.len() < MAX_QUERIES {
            queries.push(query);
        }
    }
    queries
}

/// The words of a command, without what measures the tests; none where the shell computes one of them.
fn plain(simple: &Simple, inner: &Simple) -> Option<Vec<String>> {
    let words: Vec<String> = match simple.program() {
        "coverage" => ["python3", "-m"].map(str::to_owned).into_iter().chain(inner.words.iter().cloned()).collect(),
        "nyc" | "c8" => inner.words.clone(),
        _ => simple.words.clone(),
    };
    let words: Vec<String> = words.into_iter().filter(|word| word != "2>&1").collect();
    let is_computed = |word: &String| word.contains(['$', '`', '>', '<', '~']) || word == "--";
    (!words.iter().chain(&simple.variables).any(is_computed)).then_some(words)
}

/// The words that ask a runner; none where it cannot be asked.
fn asking(runner: Runner, mut words: Vec<String>) -> Option<Vec<String>> {
    let at = |words: &[String], names: &[&str]| words.iter().position(|word| names.contains(&path::name(word)));
    let more: &[&str] = match runner {
        Runner::Pytest => {
            at(&words, &["pytest", "py.test", "pytest-3"])?;
            drop_options(&mut words, &["--junit-xml", "--junitxml", "--cov", "--cov-report", "--html"]);
            &["--collect-only", "--verbosity=-1", "--rootdir=.", "-p", "no:cacheprovider", "--color=no"]
        }
        Runner::Jest => &["--listTests"],
        Runner::Vitest => {
            let place = at(&words, &["vitest"])? + 1;
            match words.get(place).map(String::as_str) {
                Some("run" | "watch" | "dev") => words[place] = "list".to_owned(),
                Some("list" | "bench" | "related" | "init") => return None,
                _ => words.insert(place, "list".to_owned()),
            }
            drop_options(&mut words, &["--coverage", "--reporter", "--outputFile", "--watch"]);
            &["--filesOnly"]
        }
        Runner::Mocha => {
            at(&words, &["mocha", "_mocha"])?;
            drop_options(&mut words, &["--reporter", "-R", "--reporter-option", "--reporter-options", "-O"]);
            &["--dry-run", "--reporter", "json"]
        }
        Runner::GoTest => return go(&words),
        Runner::CargoTest | Runner::Nextest => return cargo(&words),
        _ => return None,
    };
    words.extend(more.iter().map(|word| (*word).to_owned()));
    Some(words)
}

/// Takes options out, each with its value.
fn drop_options(words: &mut Vec<String>, options: &[&str]) {
    let mut kept = Vec::new();
    let mut rest = words.drain(..).peekable();
    while let Some(word) = rest.next() {
        let name = word.split('=').next().unwrap_or(&word);
        if !options.contains(&name) {
            kept.push(word);
        } else if !word.contains('=') && name != "--coverage" && name != "--watch" {
            rest.next_if(|value| !value.starts_with('-'));
        }
    }
    drop(rest);
    *words = kept;
}

fn go(words: &[String]) -> Option<Vec<String>> {
    let place = words.iter().position(|word| path::name(word) == "go")?;
    let mut asked: Vec<String> = words[..=place].to_vec();
    asked.extend(["list", "-e", "-f", GO_FILES].map(str::to_owned));
    let mut rest = words[place + 1..].iter().peekable();
    while let Some(word) = rest.next() {
        let chooses_files = ["-tags", "--tags", "-mod", "-modfile"].contains(&word.split('=').next().unwrap_or(word));
        if chooses_files {
            asked.push(word.clone());
            asked.extend(rest.next_if(|_| !word.contains('=')).cloned());
        } else if word.starts_with("./") || word == "." || word == "..." {
            asked.push(word.clone());
        }
    }
    Some(asked)
}

fn cargo(words: &[String]) -> Option<Vec<String>> {
    let place = words.iter().position(|word| path::name(word) == "cargo")?;
    let mut asked: Vec<String> = words[..=place].to_vec();
    asked.extend(words.get(place + 1).filter(|word| word.starts_with('+')).cloned());
    asked.extend(["metadata", "--no-deps", "--format-version=1", "--offline"].map(str::to_owned));
    let manifest = words.iter().position(|word| word == "--manifest-path");
    asked.extend(manifest.into_iter().flat_map(|at| words.iter().skip(at).take(2).cloned()));
    asked.extend(words.iter().filter(|word| word.starts_with("--manifest-path=")).cloned());
    Some(asked)
}

/// An assignment before a command.
fn assigned(word: &str) -> String {
    word.split_once('=').map_or_else(|| word.to_owned(), |(name, value)| format!("{name}={}", shell_word(value)))
}

/// The test files that an answer names, relative to the workspace, with the tests in each where it says them. `roots` are the
/// paths of the workspace, as it is written and with links followed.
#[must_use]
pub fn parse(query: &Query, output: &str, roots: &[String]) -> BTreeMap<String, Vec<String>> {
    let relative = |file: &str| {
        let inside =
            |root: &String| file.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/').map(str::to_owned);
        roots.iter().find_map(inside).or_else(|| path::join(&query.folder, file))
    };
    let mut tests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |file: &str, name: Option<&str>| {
        if let Some(file) = relative(file).filter(|file| !file.is_empty())
            && (tests.len() < MAX_FILES || tests.contains_key(&file))
        {
            let names = tests.entry(file).or_default();
            if let Some(name) = name
                && names.last().is_none_or(|last| last != name)
            {
                names.push(name.to_owned());
            }
        }
    };
    let json = |output: &str| {
        let start = output.starts_with('{').then_some(0).or_else(|| output.find("\n{").map(|at| at + 1))?;
        serde_json::Deserializer::from_str(&output[start..]).into_iter::<Value>().next()?.ok()
    };
    let items = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    match query.runner {
        Runner::Pytest => output.lines().for_each(|line| {
            let line = line.trim_end();
            if let Some((file, test)) = line.split_once("::").filter(|(file, _)| is_python(file)) {
                add(file, test.split('[').next());
            } else if let Some(file) = line.strip_prefix("ERROR ").and_then(|rest| rest.split(" - ").next()) {
                // A file that cannot be loaded holds tests all the same.
                if is_python(file) {
                    add(file, None);
                }
            }
        }),
        Runner::Mocha => {
            for test in json(output).iter().flat_map(|report| items(report, "tests")) {
                let text = |name: &str| test.get(name).and_then(Value::as_str);
                if let Some(file) = text("file") {
                    add(file, text("title"));
                }
            }
        }
        Runner::CargoTest | Runner::Nextest => {
            let packages = json(output).map(|metadata| items(&metadata, "packages")).unwrap_or_default();
            for target in packages.iter().flat_map(|package| items(package, "targets")) {
                let is_test = items(&target, "kind").iter().any(|kind| kind == "test" || kind == "bench");
                if let (true, Some(file)) = (is_test, target.get("src_path").and_then(Value::as_str)) {
                    add(file, None);
                }
            }
        }
        _ => output.lines().for_each(|line| {
            // Vitest names the project first: `[unit] src/a.test.ts`.
            let line = line.trim();
            let file = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map_or(line, |(_, file)| file);
            if is_code(file) {
                add(file, None);
            }
        }),
    }
    if tests.values().map(Vec::len).sum::<usize>() > TestTally::MAX_TESTS {
        tests.values_mut().for_each(Vec::clear);
    }
    tests
}

fn is_python(file: &str) -> bool {
    file.ends_with(".py") && !file.contains(' ')
}

fn is_code(file: &str) -> bool {
    crate::confirm::is_code(file) || matches!(path::extension(file), "vue" | "svelte")
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
