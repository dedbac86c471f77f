//! Files that the commands name: scripts and data of the check are pinned, the thing under work is not.

use ralph_model::PinKind;

use crate::pins::expand::{Expanded, is_shell, scripts_of};
use crate::pins::path;
use crate::pins::question::{Layers, Project, add};
use crate::pins::runner::is_python;
use crate::pins::stack;
use crate::pins::words::Simple;

/// Parts of names that give a check away.
const CHECK_WORDS: [&str; 20] = [
    "test",
    "tests",
    "spec",
    "specs",
    "check",
    "checks",
    "verify",
    "verification",
    "expected",
    "golden",
    "fixture",
    "fixtures",
    "snapshot",
    "snapshots",
    "wanted",
    "reference",
    "oracle",
    "answers",
    "lint",
    "ci",
];

pub(crate) fn add_all(project: &Project<'_>, texts: &[Expanded], layers: &mut Layers) {
    for file in texts.iter().filter_map(|text| text.from.as_deref()) {
        // A `package.json` is compared by its parts.
        if path::name(file) != "package.json" {
            add(&mut layers.named, PinKind::Frozen, "executed by the check", path::exact(file));
        }
    }
    for simple in &project.starts {
        for (at, word) in simple.words.iter().enumerate() {
            let Some(file) = as_path(simple, word) else { continue };
            if is_settings_of_shell(simple, at, &file) {
                add(&mut layers.steering, PinKind::Steering, "read by the shell of the check", path::exact(&file));
            } else if is_of_environment(simple, at, &file) && !project.sources.has(&file) {
                // Checks use an environment where there is one: they run without one that an agent made.
                add(&mut layers.named, PinKind::Built, "an environment that the check would use", path::exact(&file));
            } else if project.files.contains(&file) || project.sources.has_file(&file) {
                existing(project, simple, at, &file, layers);
            } else if is_executed(simple, at) && could_be_written(&file) && !project.sources.has(&file) {
                missing(project, &file, layers);
            }
        }
        missing_scripts(project, simple, layers);
        targets(project, simple, layers);
    }
}

/// Names of targets that people use for checks: a file by that name would make `make` believe that there is nothing to do.
fn targets(project: &Project<'_>, simple: &Simple, layers: &mut Layers) {
    const CHECKS: [&str; 10] = ["test", "tests", "check", "checks", "verify", "lint", "ci", "spec", "unit", "e2e"];
    if !matches!(simple.program(), "make" | "gmake") {
        return;
    }
    for target in simple.arguments().filter(|word| CHECKS.contains(word)) {
        if let Some(file) = path::join(&simple.folder, target).filter(|file| !project.sources.has(file)) {
            add(&mut layers.absent, PinKind::Absent, "would shadow a make target", path::exact(&file));
        }
    }
}

/// Whether a file is sourced for its variables: `. ./.envrc`. Code under test is sourced, too, but is not called like that.
fn is_settings_of_shell(simple: &Simple, at: usize, file: &str) -> bool {
    let name = path::name(file);
    at == 1
        && matches!(simple.program(), "source" | ".")
        && (name.starts_with('.') || path::extension(file) == "env" || name.starts_with("env"))
}

/// Whether a file of an environment is sourced or looked for: `[ -x .venv/bin/python ] && …`.
fn is_of_environment(simple: &Simple, at: usize, file: &str) -> bool {
    let is_apart = file.split('/').rev().skip(1).any(|part| matches!(part, ".venv" | "venv" | "env" | "node_modules"));
    is_apart && at > 0 && matches!(simple.program(), "source" | "." | "[" | "[[" | "test")
}

/// A word that may be a file of the workspace, without its option.
pub(crate) fn as_path(simple: &Simple, word: &str) -> Option<String> {
    let word = match word.split_once('=') {
        Some((option, value)) if option.starts_with('-') => value,
        _ => word,
    };
    // `tests/test_a.py::test_one` of pytest.
    let word = word.split("::").next().unwrap_or(word);
    let plain = !word.is_empty() && !word.starts_with('-') && !word.contains(['$', '*', '?', '\n', '\0', '>', '<']);
    let file = if plain { path::join(&simple.folder, word)? } else { return None };
    (!file.is_empty()).then_some(file)
}

fn existing(project: &Project<'_>, simple: &Simple, at: usize, file: &str, layers: &mut Layers) {
    if is_manifest(file) || layers.parts.iter().any(|pin| pin.glob == path::exact(file)) {
        return;
    }
    let shell = matches!(path::extension(file), "sh" | "bash" | "bats" | "zsh" | "mk" | "just")
        || (path::extension(file).is_empty() && project.sources.read(file).is_some_and(|text| is_shell(file, &text)));
    // A script that a command executes is the check. What a script executes or reads, and what a command reads, is as likely
    // the work: `sh test.sh` sources it, `grep -q done notes.txt` looks at it.
    let is_parsed = simple.arguments().any(|word| word == "-n");
    let is_tool =
        (shell && !simple.in_script && !is_parsed && is_executed(simple, at)) || is_configuration(simple, file);
    if stack::is_managed(project.sources, path::parent(file)) {
        // It is watched, with everything that is installed there.
    } else if is_tool || looks_like_check(file) {
        add(&mut layers.named, PinKind::Frozen, "named by the check", path::exact(file));
    } else {
        note(layers, format!("{file} is named by the check but not pinned: it is treated as work"));
    }
}

/// Whether a file is handed over as settings: `--config=conf.yml`, `-c conf.yml`.
fn is_configuration(simple: &Simple, file: &str) -> bool {
    let is_option = |word: &str| {
        let name = word.trim_start_matches('-');
        word.starts_with('-') && ["config", "configuration", "conf", "cfg", "rcfile", "settings", "c"].contains(&name)
    };
    let names = |word: &str| path::join(&simple.folder, word).as_deref() == Some(file);
    let mut words = simple.words.iter().skip(1).peekable();
    while let Some(word) = words.next() {
        let handed = match word.split_once('=') {
            Some((option, value)) => is_option(option) && names(value),
            None => is_option(word) && words.peek().is_some_and(|value| names(value)),
        };
        if handed {
            return true;
        }
    }
    false
}

fn note(layers: &mut Layers, note: String) {
    if !layers.notes.contains(&note) {
        layers.notes.push(note);
    }
}

/// A file that the check executes and that is not there yet.
fn missing(project: &Project<'_>, file: &str, layers: &mut Layers) {
    if is_built(project, file) {
        let why = "built and executed by the check";
        add(&mut layers.steering, PinKind::Built, why, path::exact(file));
    } else {
        add(&mut layers.steering, PinKind::Steering, "executed by the check", path::exact(file));
        note(layers, format!("{file} does not exist; the check executes it, so only you can create it"));
    }
}

/// Whether a missing file is a script that somebody writes, or a program by the name of a test. Any other program, or one in
/// a folder of build output, is the work.
fn could_be_written(file: &str) -> bool {
    let is_script = matches!(
        path::extension(file),
        "sh" | "bash" | "zsh" | "bats" | "py" | "js" | "mjs" | "cjs" | "ts" | "mts" | "rb" | "pl" | "php" | "mk"
    );
    (is_script || (looks_like_check(file) && path::extension(file).is_empty()))
        && !file.split('/').any(crate::pins::stack::is_apart)
}

/// Whether a command makes the file, or a source by its name lies beside it.
fn is_built(project: &Project<'_>, file: &str) -> bool {
    let output = |pair: &[String]| pair[0] == "-o" && pair[1].trim_start_matches("./") == file;
    let from_source = |known: &String| known.rsplit_once('.').is_some_and(|(stem, _)| stem == file);
    project.starts.iter().any(|simple| simple.words.windows(2).any(output)) || project.files.iter().any(from_source)
}

/// Files that have rules of their own.
fn is_manifest(file: &str) -> bool {
    matches!(path::name(file), "package.json" | "Cargo.toml" | "pyproject.toml" | "setup.cfg" | "go.mod")
}

/// Whether a path has a word in it that names a check: `tools/verify_all.py`, `expected/a.txt`.
pub(crate) fn looks_like_check(file: &str) -> bool {
    file.split(|c: char| !c.is_ascii_alphanumeric())
        .flat_map(|part| {
            // `checkAll` is two words.
            let humps = part.char_indices().filter(|(at, c)| *at > 0 && c.is_ascii_uppercase()).map(|(at, _)| at);
            let mut cuts: Vec<usize> = std::iter::once(0).chain(humps).collect();
            cuts.push(part.len());
            cuts.windows(2).map(|cut| part[cut[0]..cut[1]].to_ascii_lowercase()).collect::<Vec<_>>()
        })
        .any(|word| CHECK_WORDS.contains(&word.as_str()))
}

/// The files that a command executes: `python3 tests/all.py`.
pub(crate) fn executed_files(simple: &Simple) -> Vec<String> {
    let words = simple.words.iter().enumerate().filter(|(at, _)| is_executed(simple, *at));
    words.filter_map(|(_, word)| as_path(simple, word)).collect()
}

/// Whether the word at this place is executed: the program itself, or the script of an interpreter.
fn is_executed(simple: &Simple, at: usize) -> bool {
    if at == 0 {
        return simple.words[0].contains('/');
    }
    let program = simple.program();
    let interpreter = is_python(program)
        || matches!(
            program,
            "sh" | "bash" | "dash" | "zsh" | "node" | "tsx" | "ts-node" | "deno" | "ruby" | "perl" | "php"
        );
    let first = simple.words.iter().skip(1).position(|word| !word.starts_with('-')).map(|position| position + 1);
    // `-m` and `-c` take a name or a text, not a file.
    let takes =
        first.is_some_and(|first| !matches!(simple.words[first - 1].as_str(), "-m" | "-c" | "-e" | "-r" | "--import"));
    let flags = simple.words.iter().take(at).any(|word| matches!(word.as_str(), "-c" | "-lc" | "-ec" | "--test"));
    interpreter && first == Some(at) && takes && !flags && simple.words[at].contains(['.', '/'])
}

fn missing_scripts(project: &Project<'_>, simple: &Simple, layers: &mut Layers) {
    if !matches!(simple.program(), "npm" | "pnpm" | "yarn" | "bun")
        || !matches!(simple.words.get(1), Some(word) if matches!(word.as_str(), "test" | "t" | "run"))
    {
        return;
    }
    let Some(file) = path::join(&simple.folder, "package.json") else { return };
    let Some(package) = project.sources.read(&file).as_deref().and_then(crate::pins::json::Json::parse) else { return };
    for script in scripts_of(simple) {
        if package.get("scripts").is_none_or(|scripts| scripts.get(&script).is_none()) {
            note(layers, format!("{file} has no script `{script}`; the check runs it, so only you can add it"));
        }
    }
}

#[cfg(test)]
#[path = "named_tests.rs"]
mod tests;
