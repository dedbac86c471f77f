//! Whether new Python plainly changes what the old code uses. No proof that it does not: a test that runs can do
//! anything.

use std::collections::HashSet;

use super::python_forms::{Line, lines};
use super::tokens::{Used, assigns, closing};

/// Words that lead to names of a module, to its runner or to the end of the process.
const REACHING: [&str; 19] = [
    "autouse",
    "\"autouse\"",
    "allow_module_level",
    "importorskip",
    "SkipTest",
    "globals",
    "exec",
    "eval",
    "builtins",
    "__builtins__",
    "__globals__",
    "__code__",
    "__dict__",
    "__import__",
    "_getframe",
    "atexit",
    "_exit",
    "settrace",
    "modules",
];

/// What new code stands in.
pub(super) struct Surroundings<'a> {
    /// Names that the old code uses.
    pub(super) used: &'a Used<'a>,
    /// Functions, classes and modules by their names in this file.
    pub(super) bound: HashSet<&'a str>,
}

pub(super) fn reaches_out(tokens: &[String], surroundings: &Surroundings<'_>) -> bool {
    let bare =
        |word: &str| tokens.iter().enumerate().any(|(at, token)| token == word && (at == 0 || tokens[at - 1] != "."));
    tokens.iter().any(|token| REACHING.contains(&token.as_str()))
        || bare("setattr")
        || bare("delattr")
        || lines(tokens).any(|line| line_reaches_out(&line, surroundings))
}

fn line_reaches_out(line: &Line<'_>, surroundings: &Surroundings<'_>) -> bool {
    match line.first() {
        "global" | "nonlocal" => line.code.iter().any(|name| surroundings.used.contains(name.as_str())),
        "del" => is_member_of_bound(&line.code[1..], surroundings),
        "for" => {
            let end = line.code.iter().position(|token| token == "in").unwrap_or(line.code.len());
            is_member_of_bound(&line.code[1..end], surroundings)
        }
        _ => {
            let after_as = line.code.iter().enumerate().filter(|(_, token)| *token == "as");
            is_member_of_bound(&line.code[..targets_end(line.code)], surroundings)
                || after_as.into_iter().any(|(at, _)| {
                    let target = &line.code[at + 1..];
                    is_member_of_bound(&target[..target.len().min(2)], surroundings)
                })
        }
    }
}

/// Where the targets of an assignment end; 0 where nothing is assigned.
fn targets_end(code: &[String]) -> usize {
    // A type may be named where there is only one target.
    if code.get(1).is_some_and(|mark| mark == ":") {
        return 1;
    }
    let (mut at, mut end) = (0, 0);
    while let Some(token) = code.get(at) {
        match token.as_str() {
            "(" | "[" | "{" => match closing(code, at) {
                Some(close) => at = close,
                None => return code.len(),
            },
            // `==` and its like are two tokens, of which the second looks like an assignment.
            "=" if code.get(at + 1).is_some_and(|next| next == "=") => at += 1,
            "!" | "<" | ">" | ":" if code.get(at + 1).is_some_and(|next| next == "=") => at += 1,
            _ if assigns(code, at) => end = at,
            _ => {}
        }
        at += 1;
    }
    end
}

/// Whether a member of something bound in the module is among targets.
fn is_member_of_bound(targets: &[String], surroundings: &Surroundings<'_>) -> bool {
    targets.iter().enumerate().any(|(at, token)| {
        surroundings.bound.contains(token.as_str())
            && (at == 0 || targets[at - 1] != ".")
            && targets.get(at + 1).is_some_and(|next| matches!(next.as_str(), "." | "[" | "("))
    })
}
