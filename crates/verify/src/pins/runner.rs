//! Which test runners commands lead to. Looks at words, and at the file that an interpreter is started with.

use ralph_model::Runner;

use crate::pins::Sources;
use crate::pins::path;
use crate::pins::words::{Simple, commands};

/// Words that have to follow a program for it to run tests.
#[derive(Debug, Clone, Copy)]
enum Words {
    None,
    First(&'static str),
    Any(&'static [&'static str]),
}

const PROGRAMS: &[(&[&str], Words, Runner)] = &[
    (&["cargo-nextest"], Words::None, Runner::Nextest),
    (&["pytest", "py.test", "pytest-3"], Words::None, Runner::Pytest),
    (&["unittest"], Words::None, Runner::Unittest),
    // Django's own runner is one of unittest.
    (&["manage", "django-admin"], Words::Any(&["test"]), Runner::Unittest),
    (&["jest"], Words::None, Runner::Jest),
    (&["react-scripts", "craco"], Words::Any(&["test"]), Runner::Jest),
    (&["vitest"], Words::None, Runner::Vitest),
    (&["mocha", "_mocha"], Words::None, Runner::Mocha),
    (&["node", "nodejs", "tsx", "ts-node"], Words::Any(&["--test"]), Runner::NodeTest),
    (&["ava"], Words::None, Runner::Ava),
    (&["tape"], Words::None, Runner::Tape),
    (&["tap"], Words::None, Runner::Tap),
    (&["bun"], Words::First("test"), Runner::Bun),
    (&["deno"], Words::First("test"), Runner::Deno),
    (&["go"], Words::First("test"), Runner::GoTest),
    (&["gotestsum", "richgo"], Words::None, Runner::GoTest),
    (&["rspec", "parallel_rspec"], Words::None, Runner::Rspec),
    (&["rake"], Words::Any(&["spec"]), Runner::Rspec),
    (&["rake", "rails"], Words::Any(&["test"]), Runner::Minitest),
    (&["minitest"], Words::None, Runner::Minitest),
    (&["phpunit", "simple-phpunit", "paratest", "pest"], Words::None, Runner::Phpunit),
    (&["artisan"], Words::Any(&["test"]), Runner::Phpunit),
    (&["mvn", "mvnw", "mvnd"], Words::Any(&["test", "verify", "package", "install", "deploy"]), Runner::Junit),
    (&["gradle", "gradlew"], Words::Any(&["test", "check", "build"]), Runner::Junit),
    (&["dotnet"], Words::First("test"), Runner::Dotnet),
    (&["ctest"], Words::None, Runner::Ctest),
    (&["bats"], Words::None, Runner::Bats),
];

/// What stands in a file that runs its own tests, with single quotes.
const PROGRAMMED: [(&str, &str, Runner); 15] = [
    ("py", "unittest.main(", Runner::Unittest),
    ("py", "TextTestRunner", Runner::Unittest),
    ("py", "get_runner(", Runner::Unittest),
    ("py", "pytest.main(", Runner::Pytest),
    ("rb", "rspec/autorun", Runner::Rspec),
    ("rb", "minitest/", Runner::Minitest),
    ("rb", "test/unit", Runner::Minitest),
    ("rb", "test_helper", Runner::Minitest),
    ("Rakefile", "RSpec::Core::RakeTask", Runner::Rspec),
    ("Rakefile", "TestTask", Runner::Minitest),
    ("js", "require('tape')", Runner::Tape),
    ("js", "from 'tape'", Runner::Tape),
    ("js", "require('tap')", Runner::Tap),
    ("js", "from 'tap'", Runner::Tap),
    ("js", "'node:test'", Runner::NodeTest),
];

/// The runners that commands start, each once, in the order in which they are met.
pub(crate) fn of(starts: &[Simple], sources: &dyn Sources) -> Vec<Runner> {
    let mut runners = Vec::new();
    for runner in starts.iter().filter_map(|simple| started_by(simple).or_else(|| programmed(simple, sources))) {
        if !runners.contains(&runner) {
            runners.push(runner);
        }
    }
    runners
}

/// The runner that a command starts and that is all it does: whatever else its output looks like was printed by tests.
pub fn only_runner(command: &str) -> Option<Runner> {
    let starts = commands(command, "");
    let [simple] = starts.as_slice() else { return None };
    started_by(&simple.inner())
}

pub(crate) fn started_by(simple: &Simple) -> Option<Runner> {
    let words: Vec<&str> = simple.arguments().collect();
    if simple.program() == "cargo" {
        return cargo(&words);
    }
    named(simple.program(), &words).or_else(|| {
        let (at, file) = interpreted(simple)?;
        let rest = words.get(at..).unwrap_or_default();
        let is_installed = file.contains("node_modules/") || file.contains("vendor/");
        let own = file.rsplit('/').take(if is_installed { usize::MAX } else { 1 });
        own.filter_map(|part| named(part.split('.').next()?, rest)).next()
    })
}

fn named(program: &str, words: &[&str]) -> Option<Runner> {
    let is_so = |needed: Words| match needed {
        Words::None => true,
        Words::First(first) => words.iter().find(|word| !word.starts_with('-')) == Some(&first),
        // `:app:test` of Gradle, `surefire:test` of Maven.
        Words::Any(any) => words.iter().any(|word| any.contains(&word.rsplit(':').next().unwrap_or(word))),
    };
    let (_, _, runner) = PROGRAMS.iter().find(|(names, needed, _)| names.contains(&program) && is_so(*needed))?;
    Some(*runner)
}

/// The file that an interpreter is started with, and its place.
fn interpreted(simple: &Simple) -> Option<(usize, &str)> {
    let is_interpreter = is_python(simple.program())
        || matches!(simple.program(), "node" | "nodejs" | "tsx" | "ts-node" | "php" | "ruby" | "bun");
    let (at, file) = simple.arguments().enumerate().find(|(_, word)| !word.starts_with('-'))?;
    is_interpreter.then_some((at + 1, file))
}

/// A file that runs its own tests: `python tests/test_cart.py`, `rake`.
fn programmed(simple: &Simple, sources: &dyn Sources) -> Option<Runner> {
    let file = if simple.program() == "rake" { "Rakefile" } else { interpreted(simple)?.1 };
    let text = sources.read(&path::join(&simple.folder, file)?)?.replace('"', "'");
    let kind = match path::extension(file) {
        "" => path::name(file),
        "mjs" | "cjs" | "ts" | "mts" => "js",
        extension => extension,
    };
    let found = PROGRAMMED.iter().find(|(of, mark, _)| *of == kind && text.contains(mark));
    found.map(|(_, _, runner)| *runner)
}

fn cargo(words: &[&str]) -> Option<Runner> {
    let mut plain = words.iter().filter(|word| !word.starts_with(['-', '+']));
    match *plain.next()? {
        "test" | "t" | "tarpaulin" => Some(Runner::CargoTest),
        "nextest" => Some(Runner::Nextest),
        "llvm-cov" if plain.next() == Some(&"nextest") => Some(Runner::Nextest),
        "llvm-cov" => Some(Runner::CargoTest),
        _ => None,
    }
}

/// `python`, `python3`, `python3.12`, `pypy3`.
pub(crate) fn is_python(program: &str) -> bool {
    ["python", "pypy"].iter().any(|name| {
        program.strip_prefix(name).is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
    })
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
