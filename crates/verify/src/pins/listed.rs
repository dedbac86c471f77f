//! Test files that runners name, or that their settings and command lines describe, where no rule has found them: they are
//! pinned like any other.

use std::collections::BTreeMap;

use ralph_model::{PinKind, Runner, TestLanguage, TestListing};

use crate::pattern::Pattern;
use crate::pins::named::{as_path, looks_like_check};
use crate::pins::path;
use crate::pins::pinset::{PinSet, covered};
use crate::pins::question::{Layers, Project, add};
use crate::pins::runner::started_by;
use crate::pins::settings::OF_PYTEST;
use crate::pins::words::Simple;
use crate::syntax::Source;

/// Files that are pinned by their own path.
const MAX_FILES: usize = 500;
/// Sources that are read to find out whether one imports a test file.
const MAX_READ: usize = 2000;

pub(crate) fn add_all(project: &Project<'_>, listings: &[TestListing], layers: &mut Layers) {
    let known =
        PinSet::new(&layers.tests.iter().chain(&layers.parts).chain(&layers.apart).cloned().collect::<Vec<_>>());
    let is_apart = |file: &str| file.split('/').any(crate::pins::stack::is_apart);
    let mut left = MAX_FILES;
    let described = described(project);
    for (listing, is_asked) in listings.iter().map(|it| (it, true)).chain(described.iter().map(|it| (it, false))) {
        let why = if is_asked { format!("listed by {}", listing.runner) } else { format!("run by {}", listing.runner) };
        let is_new = |file: &&String| known.pin(file).is_none() && !is_apart(file) && project.files.contains(file);
        for file in listing.tests.keys().filter(is_new) {
            if listing.runner.language() == TestLanguage::Rust {
                add(&mut layers.parts, PinKind::Parts, &why, path::exact(file));
            } else if let Some(reason) = work(project, listings, file) {
                layers.notes.push(format!("{file} is {why} but not pinned: {reason}, so it is treated as work"));
            } else if left > 0 {
                left -= 1;
                add(&mut layers.tests, PinKind::Frozen, &why, path::exact(file));
            }
        }
    }
}

/// The test files that settings and command lines describe by a pattern.
fn described(project: &Project<'_>) -> Vec<TestListing> {
    let mut found: Vec<TestListing> = Vec::new();
    let mut add = |runner: Runner, globs: &[String]| {
        let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
        let tests: BTreeMap<_, _> = covered(&globs, project.files).map(|file| (file.clone(), Vec::new())).collect();
        if !tests.is_empty() {
            found.push(TestListing { runner, command: String::new(), tests, failed: String::new() });
        }
    };
    for simple in &project.starts {
        let Some(runner) = started_by(simple) else { continue };
        match runner {
            Runner::Unittest => {
                let folder = option(simple, &["-s", "--start-directory"]).unwrap_or_default();
                let names = option(simple, &["-p", "--pattern"]).unwrap_or("test*.py");
                let folder = path::join(&simple.folder, folder).unwrap_or_default();
                add(runner, &[path::below(&folder, &format!("**/{names}"))]);
            }
            Runner::NodeTest | Runner::Mocha | Runner::Ava | Runner::Tape | Runner::Tap | Runner::Bats => {
                let patterns = simple.arguments().filter(|word| word.contains(['*', '{']) && !word.starts_with('-'));
                let folder = &simple.folder;
                add(
                    runner,
                    &patterns.map(|word| path::below(folder, word.trim_start_matches("./"))).collect::<Vec<_>>(),
                );
            }
            _ => {}
        }
    }
    if project.runners.contains(&Runner::Pytest) {
        static NAMES: Pattern = Pattern::new(r"(?m)^\s*python_files\s*=\s*(\[[^\]]*\]|[^\n]*(?:\n[ \t]+[^\n]+)*)");
        for file in project.files.iter().filter(|file| OF_PYTEST.contains(&path::name(file))) {
            let Some(text) = project.sources.read(file) else { continue };
            let lists = NAMES.captures_iter(&text).filter_map(|found| found.get(1)).map(|list| list.as_str());
            let words = lists.flat_map(|list| list.split(|c: char| c.is_whitespace() || "[],\"'".contains(c)));
            let globs: Vec<String> = words
                .filter(|word| word.ends_with(".py"))
                .map(|word| path::below(path::parent(file), &format!("**/{word}")))
                .collect();
            add(Runner::Pytest, &globs);
        }
    }
    found
}

fn option<'a>(simple: &'a Simple, names: &[&str]) -> Option<&'a str> {
    simple.words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some((name, value)) => names.contains(&name).then_some(value),
        None => names.contains(&word.as_str()).then(|| simple.words.get(at + 1).map(String::as_str)).flatten(),
    })
}

/// Why a file that a runner names is work, if it is: people keep tests beside the code that they test.
fn work(project: &Project<'_>, listings: &[TestListing], file: &str) -> Option<String> {
    let is_named = |word: &String| project.starts.iter().any(|simple| as_path(simple, word).as_deref() == Some(file));
    if project.starts.iter().flat_map(|simple| &simple.words).any(is_named) && !looks_like_check(file) {
        return Some("the command names it".to_owned());
    }
    let text = project.sources.read(file)?;
    // Examples in comments are run, too.
    let has_tests = Source::parse(file, &text).is_none_or(|source| !source.tests().is_empty());
    if !has_tests || text.contains("import.meta.vitest") {
        return Some("it holds code".to_owned());
    }
    let stem = path::name(file).split('.').next().unwrap_or_default();
    let extension = path::extension(file);
    let is_import = |line: &str| {
        let is_word = |word: &str| word == stem;
        ["import", "require(", "from "].iter().any(|mark| line.contains(mark))
            && line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').any(is_word)
    };
    let is_listed = |other: &str| listings.iter().any(|listing| listing.tests.contains_key(other));
    let others = project.files.iter().filter(|other| {
        other.as_str() != file
            && path::extension(other) == extension
            && !is_listed(other)
            && path::name(other) != "conftest.py"
    });
    let imports = |other: &&String| project.sources.read(other).is_some_and(|text| text.lines().any(is_import));
    others.take(MAX_READ).find(imports).map(|other| format!("{other} imports it"))
}

#[cfg(test)]
#[path = "listed_tests.rs"]
mod tests;
