//! Which tests the commands of the checks run, as far as their words say. Runs nothing.

use ralph_model::{Runner, TestLanguage, TestListing};
use regex::Regex;

use crate::pins::{Expanded, Simple, executed_files, path, started_by, starts};
use crate::tripwire::is_reported_as;

#[derive(Debug, Default)]
pub struct Selection {
    runs: Vec<(Runner, Simple)>,
    /// Files that an interpreter executes: `python3 tests/all.py`.
    executed: Vec<String>,
    /// What the runners said themselves.
    listings: Vec<TestListing>,
}

impl Selection {
    /// What these texts start, and what the runners among them said of their tests.
    #[must_use]
    pub fn new(texts: &[Expanded], listings: &[TestListing]) -> Self {
        let starts = starts(texts);
        let executed = starts.iter().flat_map(executed_files).collect();
        let runs = starts.into_iter().filter_map(|simple| Some((started_by(&simple)?, simple))).collect();
        Self { runs, executed, listings: listings.to_vec() }
    }

    /// Whether a command starts a runner that is known.
    pub(crate) fn has_runner(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Whether a command can run tests of a file. Linters and builds run none.
    pub(crate) fn may_run(&self, file: &str) -> bool {
        if self.executed.iter().any(|executed| executed == file) {
            return true;
        }
        !self.is_unlisted(file) && self.of(file).next().is_some()
    }

    /// Whether the runners said which files they run, and this is none of them.
    pub(crate) fn is_unlisted(&self, file: &str) -> bool {
        self.are_listed(file) && !self.listings.iter().any(|listing| listing.tests.contains_key(file))
    }

    /// Whether every runner that could run tests of a file has said which files it runs.
    fn are_listed(&self, file: &str) -> bool {
        let mut runners = self.of(file).map(|(runner, _)| *runner).peekable();
        let has_said = |runner: Runner| {
            let mut own = self.listings.iter().filter(|listing| listing.runner == runner).peekable();
            own.peek().is_some() && own.all(TestListing::is_complete)
        };
        runners.peek().is_some() && runners.all(has_said)
    }

    /// Whether the commands ask for other tests than this one: `pytest a.py::test_b`, `go test -run B`.
    pub(crate) fn leaves_out(&self, file: &str, test: &str) -> bool {
        let mut named = self.listings.iter().filter_map(|listing| listing.tests.get(file)).flatten().peekable();
        if named.peek().is_some() && self.are_listed(file) {
            return !named.any(|name| is_reported_as(name, test));
        }
        let mut runs = self.of(file).peekable();
        runs.peek().is_some() && runs.all(|(runner, simple)| asks_for_others(*runner, simple, file, test))
    }

    fn of(&self, file: &str) -> impl Iterator<Item = &(Runner, Simple)> {
        let language = language_of(path::extension(file));
        self.runs.iter().filter(move |(runner, _)| Some(runner.language()) == language)
    }
}

/// The language of a file, by its ending.
pub(crate) fn language_of(ending: &str) -> Option<TestLanguage> {
    match ending {
        "py" => Some(TestLanguage::Python),
        "rs" => Some(TestLanguage::Rust),
        "go" => Some(TestLanguage::Go),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => Some(TestLanguage::JavaScript),
        "rb" => Some(TestLanguage::Ruby),
        "php" => Some(TestLanguage::Php),
        "java" => Some(TestLanguage::Java),
        "cs" => Some(TestLanguage::CSharp),
        "c" | "h" | "cc" | "cpp" => Some(TestLanguage::C),
        "bats" => Some(TestLanguage::Shell),
        _ => None,
    }
}

fn asks_for_others(runner: Runner, simple: &Simple, file: &str, test: &str) -> bool {
    let words: Vec<&str> = simple.arguments().collect();
    let pattern = |options: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
            Some((option, value)) => options.contains(&option).then_some(value),
            None => options.contains(word).then(|| words.get(at + 1).copied()).flatten(),
        })
    };
    let matches = |pattern: &str| Regex::new(pattern).map_or(true, |pattern| pattern.is_match(test));
    match runner {
        Runner::Pytest => {
            let covers = |word: &&str| {
                let (path, names) = word.split_once("::").unwrap_or((word, ""));
                let path = path::join(&simple.folder, path).unwrap_or_default();
                let last = names.rsplit("::").next().unwrap_or(names);
                let is_it = last.split('[').next() == Some(test) || last.starts_with(|c: char| c.is_ascii_uppercase());
                (file == path && (names.is_empty() || is_it)) || file.starts_with(&format!("{path}/"))
            };
            words.iter().any(|word| word.contains("::")) && !words.iter().any(covers)
        }
        Runner::Unittest => {
            let start = words.iter().position(|word| *word == "unittest").map_or(0, |at| at + 1);
            let words = words.get(start..).unwrap_or_default();
            let folder = format!("{}/", simple.folder);
            let module = file.strip_suffix(".py").unwrap_or(file);
            let module = module.strip_prefix(&folder).unwrap_or(module).replace('/', ".");
            let covers = |word: &&str| {
                let word = word.strip_suffix(".py").map_or_else(|| (*word).to_owned(), |path| path.replace('/', "."));
                let is_inside =
                    |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'));
                let is_class = |name: &str| name.split('.').count() == 1;
                module == word
                    || is_inside(&word, &module)
                    || (is_inside(&module, &word)
                        && word
                            .get(module.len() + 1..)
                            .is_some_and(|name| is_class(name) || name.ends_with(&format!(".{test}"))))
            };
            let is_plain = !words.iter().any(|word| *word == "discover" || matches!(*word, "-k" | "-s" | "-p" | "-t"));
            let mut names = words.iter().filter(|word| !word.starts_with('-')).peekable();
            is_plain && names.peek().is_some() && !names.any(covers)
        }
        Runner::GoTest => pattern(&["-run", "--run", "-test.run"])
            .is_some_and(|pattern| !matches(pattern.split('/').next().unwrap_or(pattern))),
        Runner::CargoTest | Runner::Nextest => false,
        // A pattern may be of the titles around a test, too.
        _ => pattern(&[
            "-t",
            "--testNamePattern",
            "-g",
            "--grep",
            "--test-name-pattern",
            "--filter",
            "-e",
            "--example",
            "-n",
            "--name",
        ])
        .is_some_and(|pattern| !pattern.contains(test) && !matches(pattern)),
    }
}

/// Whether commands give up at the first failure: those of the user, and what they lead to.
pub fn stops_early(commands: usize, texts: &[String]) -> bool {
    const WORDS: [&str; 12] = [
        "--stop-on-failure",
        "--stop-on-error",
        "--stop-on-defect",
        "-x",
        "--exitfirst",
        "--maxfail",
        "--bail",
        "-b",
        "--failfast",
        "-f",
        "-failfast",
        "--fail-fast",
    ];
    let stops = |word: &str| WORDS.contains(&word.split('=').next().unwrap_or(word));
    commands > 1 || texts.iter().any(|text| text.contains("&&") || text.split_whitespace().any(stops))
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
