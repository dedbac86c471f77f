//! Go: which declarations may join a test file. Welcome are
//! - functions, tests or not, and methods of types that are new as well;
//! - types, constants, and variables without a call in them;
//! - imports of packages that are used by their names.
//!
//! Never welcome: `TestMain`, `init` and `main`, which run by themselves; names that the language defines; comments for
//! tools, build tags among them; imports for their effects, of all names at once, of C and of `unsafe`; `os.Exit`.
//!
//! A package has no two things of one name, so what is new can stand for nothing that other files define. What an
//! example is expected to print belongs to it.

use std::collections::HashSet;

use super::go_comments::without_comments;
use super::statement::{Statement, extends};
use super::tokens::{Used, closing, has, has_any, is_name, names, split};
use crate::pins::lex;

/// Functions that run by themselves.
const CALLED: [&str; 3] = ["TestMain", "init", "main"];
/// Names that mean something everywhere: a package that defines one means something else by it in all of its files.
const PREDECLARED: [&str; 45] = [
    "any",
    "append",
    "bool",
    "byte",
    "cap",
    "clear",
    "close",
    "comparable",
    "complex",
    "complex128",
    "complex64",
    "copy",
    "delete",
    "error",
    "false",
    "float32",
    "float64",
    "imag",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "iota",
    "len",
    "make",
    "max",
    "min",
    "new",
    "nil",
    "panic",
    "print",
    "println",
    "real",
    "recover",
    "rune",
    "string",
    "true",
    "uint",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uintptr",
    "_",
];

pub(super) fn only_adds(before: &str, now: &str) -> bool {
    let tokens = |text: &str| without_comments(text).and_then(|text| lex::go::code(&text));
    let (Some(before), Some(now)) = (tokens(before), tokens(now)) else { return false };
    let (Some(old), Some(new)) = (statements(&before), statements(&now)) else { return false };
    let used: Used<'_> = names(&before).collect();
    let types: HashSet<&str> =
        new.iter().flat_map(|statement| new_types(&statement.tokens)).filter(|name| !used.contains(name)).collect();
    extends(&old, &new, None, &|new| is_welcome(&new.statement.tokens, &used, &types))
}

fn statements(tokens: &[String]) -> Option<Vec<Statement<'_>>> {
    let mut statements = Vec::new();
    for tokens in split(tokens, ";")? {
        match (at(tokens, 0), at(tokens, 1)) {
            ("import", "(") if closing(tokens, 1) == Some(tokens.len() - 1) => {
                let imports = split(&tokens[2..tokens.len() - 1], ";")?;
                statements.extend(imports.into_iter().map(|import| Statement::part([&tokens[..1], import].concat())));
            }
            _ => statements.push(Statement::plain(tokens)),
        }
    }
    Some(statements)
}

fn at(tokens: &[String], place: usize) -> &str {
    tokens.get(place).map_or("", String::as_str)
}

fn is_welcome(tokens: &[String], used: &Used<'_>, types: &HashSet<&str>) -> bool {
    let fresh = |name: &str| is_name(name) && !used.contains(name) && !PREDECLARED.contains(&name);
    let formed = match at(tokens, 0) {
        "import" => is_import(&tokens[1..], used),
        "func" => is_function(tokens, &fresh, types),
        "type" | "const" => declared(tokens).is_some_and(|names| names.into_iter().all(fresh)),
        "var" => {
            let values = if at(tokens, 1) == "(" { &tokens[2..] } else { &tokens[1..] };
            let names = declared(tokens);
            !has_any(values, &["("])
                && !has(values, &["<", "-"])
                && names.is_some_and(|names| names.into_iter().all(|name| name == "_" || fresh(name)))
        }
        _ => false,
    };
    let directive = tokens.iter().any(|token| token.starts_with("`//go:") || token.starts_with("`//line"));
    formed && !directive && !has(tokens, &["os", ".", "Exit"]) && !has_any(tokens, &["unsafe", "syscall"])
}

fn is_import(import: &[String], used: &Used<'_>) -> bool {
    let (name, path) = match import {
        [path] => (None, path),
        [name, path] => (Some(name), path),
        _ => return false,
    };
    path.starts_with('"')
        && !matches!(path.as_str(), "\"C\"" | "\"unsafe\"" | "\"syscall\"")
        && name.is_none_or(|name| is_name(name) && name != "_" && !used.contains(name.as_str()))
}

fn is_function(tokens: &[String], fresh: &dyn Fn(&str) -> bool, types: &HashSet<&str>) -> bool {
    if tokens.last().is_none_or(|last| last != "}") {
        return false;
    }
    if at(tokens, 1) != "(" {
        return fresh(at(tokens, 1)) && !CALLED.contains(&at(tokens, 1));
    }
    let Some(close) = closing(tokens, 1) else { return false };
    // Of `(s *Stack[T])` the type is `Stack`.
    let receiver = &tokens[2..close];
    let end = receiver.iter().position(|token| token == "[").unwrap_or(receiver.len());
    receiver[..end].last().is_some_and(|name| types.contains(name.as_str()))
}

/// What a declaration is about, one or several in brackets: what follows its first word, for each.
fn specifications(tokens: &[String]) -> Option<Vec<&[String]>> {
    match at(tokens, 1) {
        "(" if closing(tokens, 1)? + 1 == tokens.len() => split(&tokens[2..tokens.len() - 1], ";"),
        "(" => None,
        _ => Some(vec![tokens.get(1..)?]),
    }
}

/// Names that a declaration of types, constants or variables defines.
fn declared(tokens: &[String]) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for specification in specifications(tokens)? {
        let mut place = 0;
        names.push(at(specification, place));
        while at(specification, place + 1) == "," {
            place += 2;
            names.push(at(specification, place));
        }
    }
    Some(names)
}

/// Types that a declaration defines. Another name for an existing type is none: its methods are those of the other.
fn new_types(tokens: &[String]) -> Vec<&str> {
    if at(tokens, 0) != "type" {
        return Vec::new();
    }
    let specifications = specifications(tokens).unwrap_or_default();
    specifications.into_iter().filter(|tokens| !tokens.contains(&"=".to_owned())).map(|tokens| at(tokens, 0)).collect()
}

#[cfg(test)]
#[path = "go_tests.rs"]
mod tests;
