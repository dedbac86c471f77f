//! The arguments of every runner, as far as they decide which tests run and when a run is given up.

use crate::tripwire::command::Filter;
use crate::tripwire::plant::Stops;
use ralph_model::Runner;

/// What arguments say, one by one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Options(pub(super) Vec<Found>);

/// What one argument says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Stop(Stops),
    Filter(Filter),
    Place(String),
    OnlyMarked,
}

/// The arguments of `runner` when a command starts it.
pub(super) fn of(runner: Runner, command: &[String]) -> Option<&[String]> {
    let names: Vec<&str> = command.iter().map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    let after = |first: &str, second: &[&str]| {
        let at = names.iter().position(|name| *name == first)?;
        let rest = names.get(at + 1..)?;
        let skipped = rest.iter().take_while(|name| name.starts_with(['+', '-']) && !second.contains(name)).count();
        second.contains(rest.get(skipped)?).then_some(at + skipped + 2)
    };
    let module = |name: &str| {
        let at =
            command.windows(2).position(|pair| matches!(pair, [flag, module] if flag == "-m" && module == name))?;
        names.get(..at)?.iter().any(|name| name.starts_with("python") || name.starts_with("pypy")).then_some(at + 2)
    };
    let program = |wanted: &[&str]| names.iter().position(|name| wanted.contains(name)).map(|at| at + 1);
    let at = match runner {
        Runner::CargoTest => after("cargo", &["test", "t"]),
        Runner::Nextest => {
            let at = after("cargo", &["nextest"]).or_else(|| program(&["cargo-nextest"]))?;
            matches!(*names.get(at)?, "run" | "r").then_some(at + 1)
        }
        Runner::Pytest => module("pytest").or_else(|| program(&["pytest", "py.test"])),
        Runner::Unittest => module("unittest"),
        Runner::Jest => program(&["jest", "jest.js"]),
        Runner::Vitest => program(&["vitest", "vitest.mjs"]),
        Runner::Mocha => program(&["mocha", "_mocha", "mocha.js"]),
        Runner::NodeTest => {
            let node = program(&["node", "nodejs", "tsx"])?;
            names.get(node..)?.contains(&"--test").then_some(node)
        }
        Runner::GoTest => after("go", &["test"]),
    }?;
    command.get(at..)
}

/// What a command of a package manager passes on to a script.
pub(super) fn passed_on(command: &[String]) -> Option<&[String]> {
    let first = command.first()?;
    matches!(first.as_str(), "npm" | "pnpm" | "yarn" | "bun").then_some(())?;
    let at = command.iter().position(|word| word == "--")?;
    command.get(at + 1..)
}

/// Reads the arguments of a runner.
pub(super) fn read(runner: Runner, arguments: &[String]) -> Options {
    let mut options = Options::default();
    let mut rest = arguments.iter().map(String::as_str);
    // Behind `--` cargo's arguments are those of the test binaries.
    let mut inner = false;
    while let Some(argument) = rest.next() {
        if argument == "--" {
            inner = true;
            continue;
        }
        let (name, joined) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value)),
            _ => (argument, None),
        };
        if !name.starts_with('-') {
            options.0.extend(positional(runner, argument));
            continue;
        }
        let meaning = meaning(runner, name, inner);
        let value = match meaning {
            Meaning::Nothing | Meaning::Is(_) | Meaning::OnlyMarked | Meaning::Unknown => joined,
            Meaning::Value | Meaning::Pattern | Meaning::Expression | Meaning::Marker | Meaning::Folder => {
                joined.or_else(|| rest.next())
            }
        };
        options.0.extend(said(runner, meaning, value));
    }
    options
}

/// What an argument that starts with a dash means.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// Nothing that matters here.
    Nothing,
    /// Nothing that matters here, but the next word belongs to it.
    Value,
    /// The run is given up there, unless a number says never.
    Is(Stops),
    /// A part of a name, or a pattern.
    Pattern,
    /// `slow and not network`
    Expression,
    /// The same over marks, of which planted tests have none.
    Marker,
    /// A place where tests are looked for.
    Folder,
    /// Only tests that are marked run.
    OnlyMarked,
    /// Tests run only in part, or not at all.
    Unknown,
}

fn said(runner: Runner, meaning: Meaning, value: Option<&str>) -> Option<Found> {
    match meaning {
        Meaning::Nothing | Meaning::Value => None,
        Meaning::Is(_) if matches!(value, Some("0" | "false")) => None,
        Meaning::Is(stops) => Some(Found::Stop(stops)),
        Meaning::Pattern => Some(Found::Filter(pattern(runner, value.unwrap_or_default()))),
        Meaning::Expression => Some(Found::Filter(expression(value.unwrap_or_default()))),
        Meaning::Marker => match expression(value.unwrap_or_default()) {
            Filter::All => None,
            Filter::Word(_) | Filter::Unknown => Some(Found::Filter(Filter::Unknown)),
        },
        Meaning::OnlyMarked => Some(Found::OnlyMarked),
        Meaning::Folder => value.map(|value| Found::Place(value.to_owned())),
        Meaning::Unknown => Some(Found::Filter(Filter::Unknown)),
    }
}

fn meaning(runner: Runner, name: &str, inner: bool) -> Meaning {
    match runner {
        Runner::CargoTest => cargo(name, inner),
        Runner::Nextest => nextest(name),
        Runner::Pytest => pytest(name),
        Runner::Unittest => unittest(name),
        Runner::Jest => jest(name),
        Runner::Vitest => vitest(name),
        Runner::Mocha => mocha(name),
        Runner::NodeTest => node(name),
        Runner::GoTest => go(name),
    }
}

const CARGO_VALUES: &[&str] = &[
    "-p",
    "--package",
    "--exclude",
    "--test",
    "--bin",
    "--example",
    "--bench",
    "--features",
    "-F",
    "--target",
    "--target-dir",
    "--manifest-path",
    "--profile",
    "--message-format",
    "-j",
    "--jobs",
    "--color",
    "--config",
    "-Z",
    "--skip",
    "--test-threads",
    "--format",
    "--logfile",
    "-P",
    "--cargo-profile",
    "--retries",
    "--partition",
];

fn cargo(name: &str, inner: bool) -> Meaning {
    match name {
        "--doc" | "--no-run" | "--list" | "--exact" | "--ignored" => Meaning::Unknown,
        "-C" if !inner => Meaning::Value,
        _ if CARGO_VALUES.contains(&name) => Meaning::Value,
        _ => Meaning::Nothing,
    }
}

fn nextest(name: &str) -> Meaning {
    match name {
        "-E" | "--filterset" | "--filter-expr" | "--no-run" | "--exact" | "--ignored" | "--run-ignored" => {
            Meaning::Unknown
        }
        "--max-fail" => Meaning::Value,
        _ if CARGO_VALUES.contains(&name) => Meaning::Value,
        _ => Meaning::Nothing,
    }
}

fn pytest(name: &str) -> Meaning {
    match name {
        "-k" => Meaning::Expression,
        "-m" => Meaning::Marker,
        "--exitfirst" | "--maxfail" | "--sw" | "--stepwise" => Meaning::Is(Stops::AfterFirst),
        "--co" | "--collect-only" | "--version" | "--fixtures" | "--markers" => Meaning::Unknown,
        "-p" | "-c" | "-o" | "-W" | "-n" | "-r" | "--rootdir" | "--ignore" | "--deselect" | "--tb" | "--cov" => {
            Meaning::Value
        }
        _ if bundled(name, 'x', "kmpcoWnr") => Meaning::Is(Stops::AfterFirst),
        _ => Meaning::Nothing,
    }
}

fn unittest(name: &str) -> Meaning {
    match name {
        "-k" => Meaning::Pattern,
        "-s" | "--start-directory" => Meaning::Folder,
        "-p" | "--pattern" | "-t" | "--top-level-directory" | "--durations" => Meaning::Value,
        "--failfast" => Meaning::Is(Stops::AfterFirst),
        _ if bundled(name, 'f', "kspt") => Meaning::Is(Stops::AfterFirst),
        _ => Meaning::Nothing,
    }
}

fn jest(name: &str) -> Meaning {
    match name {
        "-t" | "--testNamePattern" => Meaning::Pattern,
        // It finishes the file in which something failed.
        "--bail" | "-b" => Meaning::Is(Stops::AfterFile),
        "--listTests" | "--showConfig" | "--version" => Meaning::Unknown,
        "-c" | "--config" | "-w" | "--maxWorkers" | "--rootDir" | "--roots" | "--env" | "--reporters" => Meaning::Value,
        _ => Meaning::Nothing,
    }
}

fn vitest(name: &str) -> Meaning {
    match name {
        "-t" | "--testNamePattern" => Meaning::Pattern,
        "--bail" => Meaning::Is(Stops::AfterFirst),
        "--dir" => Meaning::Folder,
        "--version" => Meaning::Unknown,
        "-c" | "--config" | "-r" | "--root" | "--project" | "--reporter" | "--environment" | "--mode" => Meaning::Value,
        _ => Meaning::Nothing,
    }
}

fn mocha(name: &str) -> Meaning {
    match name {
        "-g" | "--grep" | "-f" | "--fgrep" => Meaning::Pattern,
        "-b" | "--bail" => Meaning::Is(Stops::AfterFirst),
        "-i" | "--invert" | "--dry-run" | "--version" => Meaning::Unknown,
        "--spec" => Meaning::Folder,
        "-r" | "--require" | "--import" | "--loader" | "--config" | "--reporter" | "-R" | "-t" | "--timeout" | "-u"
        | "--ui" | "-n" | "--node-option" | "-j" | "--jobs" | "--ignore" | "--exclude" | "--extension" => {
            Meaning::Value
        }
        _ => Meaning::Nothing,
    }
}

fn node(name: &str) -> Meaning {
    match name {
        "--test-name-pattern" => Meaning::Pattern,
        "--test-only" => Meaning::OnlyMarked,
        "-r" | "--require" | "--import" | "--loader" | "--experimental-loader" | "-C" | "--conditions" => {
            Meaning::Value
        }
        _ => Meaning::Nothing,
    }
}

fn go(name: &str) -> Meaning {
    // Go takes one dash or two.
    match name.trim_start_matches('-') {
        "run" | "test.run" => Meaning::Pattern,
        "failfast" => Meaning::Is(Stops::AfterFirst),
        "list" | "c" => Meaning::Unknown,
        "tags" | "count" | "timeout" | "parallel" | "p" | "bench" | "skip" | "cpu" | "coverprofile" | "coverpkg"
        | "mod" | "o" | "C" | "ldflags" | "gcflags" | "exec" | "shuffle" | "covermode" | "modfile" | "vet" => {
            Meaning::Value
        }
        _ => Meaning::Nothing,
    }
}

/// Whether a bundle of short flags, such as `-qx`, holds one; a flag in `values` takes the rest of the bundle.
fn bundled(name: &str, flag: char, values: &str) -> bool {
    let Some(letters) = name.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else { return false };
    letters.chars().take_while(|letter| !values.contains(*letter)).any(|letter| letter == flag)
}

fn positional(runner: Runner, argument: &str) -> Option<Found> {
    match runner {
        // The value of an option that takes one only sometimes.
        _ if argument.bytes().all(|byte| byte.is_ascii_digit()) => None,
        // A part of a test's path.
        Runner::CargoTest | Runner::Nextest => Some(Found::Filter(pattern(runner, argument))),
        Runner::Pytest if argument.contains("::") => Some(Found::Filter(Filter::Unknown)),
        Runner::Unittest if argument == "discover" => None,
        // `tests.test_cart.TestCart`: a class or one test.
        Runner::Unittest if argument.split('.').any(|part| part.starts_with(|c: char| c.is_ascii_uppercase())) => {
            Some(Found::Filter(Filter::Unknown))
        }
        Runner::Vitest if matches!(argument, "run" | "watch" | "dev" | "related") => None,
        Runner::Vitest if matches!(argument, "list" | "bench" | "init") => Some(Found::Filter(Filter::Unknown)),
        Runner::Pytest
        | Runner::Unittest
        | Runner::Jest
        | Runner::Vitest
        | Runner::Mocha
        | Runner::NodeTest
        | Runner::GoTest => Some(Found::Place(argument.to_owned())),
    }
}

/// A filter of words; the first of several alternatives is enough.
fn pattern(runner: Runner, text: &str) -> Filter {
    let is_regex = !matches!(runner, Runner::CargoTest | Runner::Nextest | Runner::Unittest | Runner::Pytest);
    let mut words = text.split('|').take(if is_regex { usize::MAX } else { 1 });
    let first = words.next().unwrap_or_default();
    if text.is_empty() {
        return Filter::All;
    }
    let fits = |word: &str| is_word(word) && (is_regex || !text.contains('|'));
    if fits(first) && words.all(is_word) { Filter::Word(first.to_owned()) } else { Filter::Unknown }
}

/// A filter such as pytest's: what only excludes lets planted tests through.
fn expression(text: &str) -> Filter {
    if text.trim().is_empty() || text.split(" and ").all(|part| part.trim().starts_with("not ")) {
        return Filter::All;
    }
    if is_word(text) { Filter::Word(text.to_owned()) } else { Filter::Unknown }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
