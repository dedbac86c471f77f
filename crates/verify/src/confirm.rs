//! What a run with changed tests says about the checks: whether they can still fail.

use ralph_model::{CheckOutcome, Ended, Pin, PinKind, Tripwire, Verdict};

/// What to try where changed tests show nothing, or none could be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fallback {
    /// The checks failed on the original code and have to fail there again.
    OriginalCode,
    /// Nothing: the checks cannot be asked to fail.
    None(Tripwire),
}

/// Chooses what to try instead of changed tests.
pub fn fallback(baseline: Option<&Verdict>) -> Fallback {
    let failed = |check: &CheckOutcome| !check.passed && !check.flaky;
    if baseline.is_some_and(|baseline| baseline.checks.iter().any(failed)) {
        return Fallback::OriginalCode;
    }
    let why = "the test runner is unknown, and the checks passed before the first iteration".to_owned();
    Fallback::None(Tripwire::NotPossible { why })
}

/// What a run on the original code says.
pub fn judge_original(outcomes: &[CheckOutcome]) -> Tripwire {
    match stopped(outcomes) {
        Some(stopped) => stopped,
        None if outcomes.iter().all(|outcome| outcome.passed) => {
            Tripwire::Passed { planted: Vec::new(), detail: String::new() }
        }
        None => Tripwire::BaselineFails,
    }
}

/// The same command without stopping at the first failure: every test program has to show its changed tests.
pub fn to_the_end(command: &str) -> String {
    const STOPS: [(&str, &[&str]); 9] = [
        ("rspec", &["--fail-fast"]),
        ("phpunit", &["--stop-on-failure", "--stop-on-error", "--stop-on-defect"]),
        ("ctest", &["--stop-on-failure"]),
        ("pytest", &["-x", "--exitfirst", "--maxfail"]),
        ("unittest", &["-f", "--failfast"]),
        ("jest", &["--bail", "-b"]),
        ("vitest", &["--bail"]),
        ("mocha", &["--bail", "-b"]),
        ("test", &["-failfast"]),
    ];
    if let Some(rest) = command.strip_prefix("cargo test")
        && (rest.is_empty() || rest.starts_with(' '))
        && !rest.contains("--no-fail-fast")
    {
        return format!("cargo test --no-fail-fast{rest}");
    }
    let words: Vec<&str> = command.split(' ').collect();
    let is_plain = !command.contains(['|', '&', ';', '\'', '"', '`', '$', '\n']);
    let runner = STOPS.iter().find(|(runner, _)| words.iter().any(|word| word.rsplit('/').next() == Some(runner)));
    let Some((_, stops)) = runner.filter(|_| is_plain) else { return command.to_owned() };
    let goes_on = |word: &&&str| {
        let name = word.split('=').next().unwrap_or(word);
        // `--maxfail 1` has its number in the next word.
        !stops.contains(&name) || (!word.contains('=') && name == "--maxfail")
    };
    words.iter().filter(goes_on).copied().collect::<Vec<_>>().join(" ")
}

/// Commands that name no tests by themselves: options by which users say what is printed, and the one that names tests.
const NAMING: [(&[&str], &[&str], &str); 4] = [
    (&["go test"], &["-v", "-test.v", "-json", "-c", "-list"], "-v"),
    (&["rspec", "bundle exec rspec", "bin/rspec"], &["-f*", "-format"], "--format documentation"),
    (&["rake test", "bundle exec rake test"], &["TESTOPTS"], "TESTOPTS=-v"),
    (&["rails test", "bin/rails test", "bundle exec rails test"], &["-v", "-verbose"], "-v"),
];

/// The same command, so that it names its tests: plain `go test` names packages and RSpec nothing, and a test that no longer
/// runs would not be missed.
pub fn naming_tests(command: &str) -> String {
    // What reads the output expects it as it is.
    if command.contains(['|', '>']) {
        return command.to_owned();
    }
    let named = |part: &str| {
        NAMING.iter().find_map(|(programs, own, option)| {
            let (program, rest) = programs.iter().copied().find_map(|program| {
                let rest = part.strip_prefix(program)?;
                (rest.is_empty() || rest.starts_with(' ')).then_some((program, rest))
            })?;
            let is_own = |word: &str| {
                let name = word.split('=').next().unwrap_or(word).replace("--", "-");
                own.iter().any(|own| name == *own || own.strip_suffix('*').is_some_and(|own| word.starts_with(own)))
            };
            (!rest.split_whitespace().any(is_own)).then(|| format!("{program} {option}{rest}"))
        })
    };
    command.split(" && ").map(|part| named(part).unwrap_or_else(|| part.to_owned())).collect::<Vec<_>>().join(" && ")
}

/// Checks that were cut short failed for no reason of their own.
pub fn stopped(outcomes: &[CheckOutcome]) -> Option<Tripwire> {
    let cut = outcomes.iter().any(|outcome| outcome.ended == Ended::Stopped);
    cut.then(|| Tripwire::NotPossible { why: "the loop was asked to stop".to_owned() })
}

/// Whether a run ended because its time was up.
pub fn timed_out(outcomes: &[CheckOutcome]) -> Option<Tripwire> {
    let late = outcomes.iter().find_map(|outcome| match outcome.ended {
        Ended::TimedOut { after } | Ended::Idle { after } => Some(after),
        _ => None,
    });
    late.map(|after| Tripwire::TimedOut { after })
}

/// Whether a file with this pin holds tests.
pub fn holds_tests(path: &str, pin: Option<&Pin>) -> bool {
    // Of a Rust source only the tests count, wherever they are.
    is_code(path) && pin.is_some_and(|pin| matches!(pin.kind, PinKind::Frozen | PinKind::Parts))
}

/// Whether a file holds source code in a language that has tests.
pub fn is_code(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(
        extension,
        "rs" | "py" | "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "go" | "java" | "rb" | "php" | "c"
    )
}

/// Whether a file holds tests of a Rust package.
pub fn is_rust_test(path: &str) -> bool {
    path.ends_with(".rs") && (path.starts_with("tests/") || path.contains("/tests/"))
}

#[cfg(test)]
#[path = "confirm_tests.rs"]
mod tests;
