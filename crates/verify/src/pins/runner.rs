//! Which test runners commands lead to. Looks at words only.

use ralph_model::Runner;

use crate::pins::words::{Simple, commands};

/// The runners that commands start, each once, in the order in which they are met.
pub(crate) fn of(starts: &[Simple]) -> Vec<Runner> {
    let mut runners = Vec::new();
    for runner in starts.iter().filter_map(started_by) {
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

/// The runner that a command starts.
pub(crate) fn started_by(simple: &Simple) -> Option<Runner> {
    let words: Vec<&str> = simple.arguments().collect();
    let program = simple.program();
    match program {
        "cargo" => cargo(&words),
        "cargo-nextest" => Some(Runner::Nextest),
        "pytest" | "py.test" | "pytest-3" => Some(Runner::Pytest),
        "unittest" => Some(Runner::Unittest),
        "jest" => Some(Runner::Jest),
        "react-scripts" | "craco" if words.contains(&"test") => Some(Runner::Jest),
        "vitest" => Some(Runner::Vitest),
        "mocha" | "_mocha" => Some(Runner::Mocha),
        "node" | "nodejs" | "tsx" | "ts-node" => node(&words),
        "go" => {
            words.iter().find(|word| !word.starts_with('-')).filter(|word| **word == "test").map(|_| Runner::GoTest)
        }
        "gotestsum" | "richgo" => Some(Runner::GoTest),
        _ if is_python(program) => python(&words),
        _ => None,
    }
}

fn cargo(words: &[&str]) -> Option<Runner> {
    let mut plain = words.iter().filter(|word| !word.starts_with(['-', '+']));
    match *plain.next()? {
        "test" | "t" => Some(Runner::CargoTest),
        "nextest" => Some(Runner::Nextest),
        "llvm-cov" => match plain.next() {
            Some(&"nextest") => Some(Runner::Nextest),
            _ => Some(Runner::CargoTest),
        },
        "tarpaulin" => Some(Runner::CargoTest),
        _ => None,
    }
}

fn python(words: &[&str]) -> Option<Runner> {
    let module = words.iter().position(|word| *word == "-m").and_then(|at| words.get(at + 1));
    match module {
        Some(&("pytest" | "py.test")) => Some(Runner::Pytest),
        Some(&"unittest") => Some(Runner::Unittest),
        Some(&"coverage") => python(words.get(words.iter().position(|word| *word == "run")?..)?),
        _ => None,
    }
}

/// `node --test`, or a runner's own file: `node node_modules/.bin/jest`.
fn node(words: &[&str]) -> Option<Runner> {
    if words.contains(&"--test") {
        return Some(Runner::NodeTest);
    }
    let file = words.iter().find(|word| !word.starts_with('-') && word.contains("node_modules"))?;
    let has = |name: &str| file.split('/').any(|part| part == name || part == format!("{name}.js"));
    [("jest", Runner::Jest), ("vitest", Runner::Vitest), ("mocha", Runner::Mocha)]
        .into_iter()
        .find(|(name, _)| has(name))
        .map(|(_, runner)| runner)
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
