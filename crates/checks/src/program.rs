//! Finds out, before anything starts, that a command cannot start. Runs nothing.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A program that a command starts with and that is not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingProgram {
    pub program: String,
    /// A program that does exist and that is nearly spelled so.
    pub similar: Option<String>,
}

impl fmt::Display for MissingProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was not found on PATH", self.program)?;
        match &self.similar {
            Some(similar) => write!(f, "; did you mean `{similar}`?"),
            None => f.write_str("; install it or give its path"),
        }
    }
}

/// Words that the shell itself knows, in any of the shells that stand behind `/bin/sh`.
const SHELL_WORDS: [&str; 65] = [
    "alias", "bg", "break", "builtin", "case", "cd", "chdir", "command", "continue", "declare", "do", "done", "echo",
    "elif", "else", "enable", "esac", "eval", "exec", "exit", "export", "false", "fc", "fg", "fi", "for", "function",
    "getopts", "hash", "if", "in", "jobs", "kill", "let", "local", "printf", "pwd", "read", "readonly", "return",
    "select", "set", "shift", "shopt", "source", "test", "then", "time", "times", "trap", "true", "type", "typeset",
    "ulimit", "umask", "unalias", "unset", "until", "wait", "while", "mapfile", "pushd", "popd", "disown", "suspend",
];

/// The program that a command starts with, when it certainly cannot be found.
///
/// Only a plain word is judged: with shell syntax, a builtin, a path or an assignment in its place, the shell has the
/// last word and nothing is said. Relative folders in `path` start at `directory`.
pub fn first_word_missing(command: &str, path: &str, directory: &Path) -> Option<MissingProgram> {
    let program = command.split_whitespace().next()?;
    let plain = program.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+'));
    if !plain || program == "." || program == ".." || SHELL_WORDS.contains(&program) {
        return None;
    }
    // An empty entry is the directory itself; an empty or unset PATH is the shell's own affair.
    if path.is_empty() {
        return None;
    }
    let folders: Vec<PathBuf> = path.split(':').map(|folder| directory.join(folder)).collect();
    if folders.iter().any(|folder| is_program(&folder.join(program))) {
        return None;
    }
    Some(MissingProgram { program: program.to_owned(), similar: similar(program, &folders) })
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The first program, by name, that is one slip of the keyboard away.
fn similar(program: &str, folders: &[PathBuf]) -> Option<String> {
    // Nearly everything is one slip away from `a`.
    if program.len() < 3 {
        return None;
    }
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok().map(|name| (name, entry.path())))
        .filter(|(name, path)| is_one_slip(program, name) && is_program(path))
        .map(|(name, _)| name)
        .min()
}

/// Whether one text becomes the other by one letter more, one less, one changed, or two neighbours swapped.
fn is_one_slip(one: &str, other: &str) -> bool {
    strsim::osa_distance(one, other) == 1
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
