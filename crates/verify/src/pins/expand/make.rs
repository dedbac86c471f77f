//! The recipes of a makefile.

use std::collections::HashSet;

use super::Expanded;
use crate::pins::Sources;
use crate::pins::path;
use crate::pins::words::{Simple, is_assignment};

/// Files that make looks for, in its order.
pub(crate) const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Rules that are looked at for one command.
const MAX_TARGETS: usize = 100;
/// Makefiles that one may include.
const MAX_FILES: usize = 20;

struct Rule {
    targets: Vec<String>,
    needs: Vec<String>,
    recipe: String,
    from: String,
}

/// The recipes of the targets that a command names, and of what they need.
pub(super) fn behind(sources: &dyn Sources, simple: &Simple) -> Vec<Expanded> {
    let Some((place, files, targets)) = read_words(sources, simple) else { return Vec::new() };
    let mut rules = Vec::new();
    let mut read = HashSet::new();
    for file in files {
        read_rules(sources, &place, &file, &mut rules, &mut read);
    }
    let mut wanted = targets;
    if wanted.is_empty() {
        // The first target that does not begin with a dot is what a bare `make` makes.
        wanted.extend(rules.iter().flat_map(|rule| &rule.targets).find(|name| !name.starts_with('.')).cloned());
    }
    let mut seen = HashSet::new();
    let mut texts = Vec::new();
    while let Some(target) = wanted.pop() {
        if seen.len() >= MAX_TARGETS || !seen.insert(target.clone()) {
            continue;
        }
        for rule in rules.iter().filter(|rule| rule.targets.iter().any(|name| matches_target(name, &target))) {
            wanted.extend(rule.needs.iter().cloned());
            texts.push(Expanded { text: rule.recipe.clone(), from: Some(rule.from.clone()), folder: place.clone() });
        }
    }
    texts
}

/// The folder, the makefiles and the targets of a command.
fn read_words(sources: &dyn Sources, simple: &Simple) -> Option<(String, Vec<String>, Vec<String>)> {
    let mut place = simple.folder.clone();
    let (mut files, mut targets) = (Vec::new(), Vec::new());
    let mut words = simple.arguments();
    while let Some(word) = words.next() {
        match word {
            "-C" | "--directory" => place = path::join(&place, words.next()?)?,
            "-f" | "--file" | "--makefile" => files.push(words.next()?.to_owned()),
            "-j" | "-l" | "-I" | "-o" | "-W" => {}
            other if other.starts_with("--directory=") => place = path::join(&place, &other["--directory=".len()..])?,
            other if other.starts_with("--file=") => files.push(other["--file=".len()..].to_owned()),
            other if other.starts_with('-') || is_assignment(other) || other.starts_with(['>', '<']) => {}
            other if other.bytes().all(|byte| byte.is_ascii_digit()) => {}
            target => targets.push(target.to_owned()),
        }
    }
    if files.is_empty() {
        let found = NAMES.iter().find(|name| path::join(&place, name).is_some_and(|file| sources.has_file(&file)))?;
        files.push((*found).to_owned());
    }
    Some((place, files, targets))
}

fn read_rules(sources: &dyn Sources, place: &str, file: &str, rules: &mut Vec<Rule>, read: &mut HashSet<String>) {
    let Some(file) = path::join(place, file) else { return };
    if read.len() >= MAX_FILES || !read.insert(file.clone()) {
        return;
    }
    let Some(text) = sources.read(&file) else { return };
    let text = text.replace("\\\n", " ");
    // Index of the rule that recipe lines belong to.
    let mut current: Option<usize> = None;
    for line in text.lines() {
        if let Some(recipe) = line.strip_prefix('\t') {
            if let Some(rule) = current.and_then(|at| rules.get_mut(at)) {
                rule.recipe.push_str(recipe.trim_start_matches(['@', '-', '+', ' ']));
                rule.recipe.push('\n');
            }
            continue;
        }
        let line = line.split('#').next().unwrap_or_default();
        if line.trim().is_empty() {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["include" | "-include" | "sinclude", files @ ..] = words.as_slice() {
            for included in files {
                read_rules(sources, place, included, rules, read);
            }
            continue;
        }
        let Some((targets, rest)) = line.split_once(':') else { continue };
        let rest = rest.trim_start_matches(':');
        if rest.starts_with('=') || targets.contains('=') {
            continue;
        }
        let (needs, inline) = rest.split_once(';').unwrap_or((rest, ""));
        current = Some(rules.len());
        rules.push(Rule {
            targets: targets.split_whitespace().map(str::to_owned).collect(),
            needs: needs.split_whitespace().filter(|word| *word != "|").map(str::to_owned).collect(),
            recipe: if inline.is_empty() { String::new() } else { format!("{}\n", inline.trim()) },
            from: file.clone(),
        });
    }
}

/// Whether a rule is for a target: by name, or by a pattern with one `%`.
fn matches_target(rule: &str, target: &str) -> bool {
    match rule.split_once('%') {
        Some((start, end)) => {
            target.len() >= start.len() + end.len() && target.starts_with(start) && target.ends_with(end)
        }
        None => rule == target,
    }
}
