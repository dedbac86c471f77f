//! What stands behind a command: the scripts of a `package.json`, the recipes of a makefile, the lines of a shell script.
//! Executes nothing.

mod just;
mod make;
mod package;
mod python;

pub(crate) use just::NAMES as JUSTFILES;
pub(crate) use make::NAMES as MAKEFILES;
pub(crate) use package::scripts_of;

use std::collections::HashSet;

use crate::pins::Sources;
use crate::pins::named::looks_like_check;
use crate::pins::path;
use crate::pins::words::{Simple, commands};

/// How many files deep a command is followed.
const MAX_DEPTH: usize = 4;
/// How many texts a command may lead to.
const MAX: usize = 200;
/// Bytes of one text.
const MAX_LENGTH: usize = 256 * 1024;

/// A text that the shell or another tool executes because of a command.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Expanded {
    pub text: String,
    /// The file that it was read in; the command itself has none.
    pub from: Option<String>,
    /// The folder that it runs in, relative to the workspace; empty for the workspace itself.
    pub folder: String,
}

impl Expanded {
    /// Whether it is a whole script: what such a one executes may as well be the thing under work.
    pub(crate) fn is_script(&self) -> bool {
        self.from.as_deref().is_some_and(|file| {
            let name = path::name(file);
            !(matches!(name, "package.json" | "composer.json" | "tox.ini" | "tox.toml" | "noxfile.py")
                || path::extension(file) == "mk"
                || MAKEFILES.contains(&name)
                || JUSTFILES.contains(&name))
        })
    }
}

/// A command and every text behind it, in the order in which they are met.
pub fn expand(sources: &dyn Sources, command: &str) -> Vec<Expanded> {
    let mut expansion = Expansion { sources, seen: HashSet::new(), texts: Vec::new() };
    expansion.add(Expanded { text: command.to_owned(), from: None, folder: String::new() }, 0);
    expansion.texts
}

struct Expansion<'a> {
    sources: &'a dyn Sources,
    seen: HashSet<(String, Option<String>, String)>,
    texts: Vec<Expanded>,
}

impl Expansion<'_> {
    fn add(&mut self, mut text: Expanded, depth: usize) {
        if let Some((at, _)) = text.text.char_indices().find(|(at, _)| *at >= MAX_LENGTH) {
            text.text.truncate(at);
        }
        let key = (text.text.clone(), text.from.clone(), text.folder.clone());
        if self.texts.len() >= MAX || text.text.trim().is_empty() || !self.seen.insert(key) {
            return;
        }
        let in_script = text.is_script();
        let starts = if depth < MAX_DEPTH { commands(&text.text, &text.folder) } else { Vec::new() };
        self.texts.push(text);
        for simple in starts.into_iter().map(|simple| Simple { in_script, ..simple }) {
            self.follow(&simple, depth + 1);
            self.follow(&simple.inner(), depth + 1);
        }
    }

    fn follow(&mut self, simple: &Simple, depth: usize) {
        let sources = self.sources;
        let found = match simple.program() {
            "npm" | "pnpm" | "yarn" | "bun" | "npm-run-all" | "run-s" | "run-p" | "concurrently" | "composer" => {
                package::behind(sources, simple)
            }
            "tox" | "nox" => python::behind(sources, simple),
            "make" | "gmake" => make::behind(sources, simple),
            "just" => just::behind(sources, simple),
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => shell(sources, simple),
            "source" | "." => {
                simple.words.get(1).and_then(|word| script(sources, &simple.folder, word)).into_iter().collect()
            }
            "eval" => vec![inline(simple, simple.arguments().collect::<Vec<_>>().join(" "))],
            _ => match simple.words.first() {
                Some(word) if word.contains('/') => script(sources, &simple.folder, word).into_iter().collect(),
                _ => Vec::new(),
            },
        };
        for text in found {
            // A test of shell scripts executes or sources what it tests.
            let may_be_work = simple.in_script || matches!(simple.program(), "source" | ".") || is_only_parsed(simple);
            let file = text.from.as_deref().filter(|_| may_be_work && text.is_script());
            if file.is_some_and(|file| !looks_like_check(file)) {
                continue;
            }
            self.add(text, depth);
        }
    }
}

/// `sh -n script.sh` looks at a script and executes nothing of it.
fn is_only_parsed(simple: &Simple) -> bool {
    simple.arguments().any(|word| word == "-n")
}

fn inline(simple: &Simple, text: String) -> Expanded {
    Expanded { text, from: None, folder: simple.folder.clone() }
}

/// `sh -c 'text'`, `bash -e script.sh`.
fn shell(sources: &dyn Sources, simple: &Simple) -> Vec<Expanded> {
    let mut arguments = simple.arguments();
    while let Some(word) = arguments.next() {
        match word {
            "-o" | "+o" | "-O" | "--rcfile" | "--init-file" => {
                arguments.next();
            }
            // The letters may come together: `bash -lc`.
            flags if flags.starts_with('-') && !flags.starts_with("--") && flags.contains('c') => {
                return arguments.next().map(|text| inline(simple, text.to_owned())).into_iter().collect();
            }
            flags if flags.starts_with(['-', '+']) => {}
            file => return script(sources, &simple.folder, file).into_iter().collect(),
        }
    }
    Vec::new()
}

/// A file that is executed, when it is a shell script.
fn script(sources: &dyn Sources, within: &str, word: &str) -> Option<Expanded> {
    let file = path::join(within, word)?;
    let text = sources.read(&file)?;
    is_shell(&file, &text).then(|| Expanded { text, from: Some(file), folder: within.to_owned() })
}

/// Whether a file is for the shell: its name or its first line says so.
pub(crate) fn is_shell(file: &str, text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    match first.strip_prefix("#!") {
        Some(interpreter) => interpreter
            .split_whitespace()
            .any(|word| matches!(path::name(word), "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash")),
        None => {
            // A program that was compiled has no ending either.
            matches!(path::extension(file), "sh" | "bash" | "zsh" | "ksh" | "bats")
                || (path::extension(file).is_empty() && !text.contains('\0') && !text.contains('\u{fffd}'))
        }
    }
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
