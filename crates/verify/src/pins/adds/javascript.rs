//! JavaScript and TypeScript: which statements may join a test file. Welcome at the top, and in the callback of a
//! `describe`, `suite` or `context` that was there, are
//! - calls of `test`, `it`, `describe` and their like, with `.each`, `.skip` and others of [`forms`], under a title that
//!   nothing beside them had;
//! - imports and requires that bind names;
//! - functions, classes, types, and constants that are functions or literals.
//!
//! Never welcome: whatever makes others not run (`only` in any spelling, `fit`, `fdescribe`), hooks such as
//! `beforeEach`, imports for their effects, mocks of modules, and every other statement, assignments above all. Elements
//! of JSX are not understood.
//!
//! A string alone at the start of a file is a directive and stays the first statement. Where a line break hides that one
//! statement is the body of another (`if (a)`, line break, `b()`), the file is refused: something could come between.
//!
//! [`forms`]: super::javascript_forms

use super::javascript_certainty::is_certain;
use super::javascript_forms::{bound, describe, imports, is_comment, is_dangling, is_import, title, welcome_form};
use super::javascript_reach::{Surroundings, reaches_out};
use super::statement::{Block, New, Statement, extends};
use super::tokens::{Used, is_name, is_quoted, names, split, words};
use crate::pins::lex;

/// How deep blocks may be nested that new tests join.
const MAX_DEPTH: usize = 12;
/// Names that code uses without naming them, or that everybody takes for what they usually are.
const STANDARD: [&str; 28] = [
    "Array",
    "Boolean",
    "Error",
    "Function",
    "JSON",
    "Map",
    "Math",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "React",
    "Reflect",
    "Set",
    "String",
    "Symbol",
    "assert",
    "console",
    "describe",
    "expect",
    "exports",
    "global",
    "globalThis",
    "it",
    "module",
    "process",
    "require",
    "test",
];
/// Comments for tools that concern the line they are on, or the one below.
const OF_THE_LINE: [&str; 5] = [
    "// eslint-disable-line",
    "// eslint-disable-next-line",
    "// @ts-expect-error",
    "// @ts-ignore",
    "// biome-ignore",
];

pub(super) fn only_adds(before: &str, now: &str) -> bool {
    let (Some(before), Some(now)) = (lex::javascript::code(before), lex::javascript::code(now)) else { return false };
    if !is_certain(&now) {
        return false;
    }
    let (Some(old), Some(new)) = (statements(&before, 0), statements(&now, 0)) else { return false };
    let directive = |first: &&Statement<'_>| first.tokens.len() == 1 && is_quoted(first.at(0));
    if old.first().filter(directive).is_some_and(|first| new.first().is_none_or(|new| new.tokens != first.tokens)) {
        return false;
    }
    let used = used(&before);
    let surroundings = Surroundings::new(&used, &old, &new);
    extends(&old, &new, None, &|new| is_welcome(new, &used) && !reaches_out(&new.statement.tokens, &surroundings))
}

/// Takes tokens apart into statements; `None` where it is not certain where one ends.
fn statements(tokens: &[String], depth: usize) -> Option<Vec<Statement<'_>>> {
    let mut statements = Vec::new();
    for tokens in split(tokens, ";")? {
        if is_dangling(tokens) {
            return None;
        }
        if let Some(parts) = imports(tokens) {
            statements.extend(parts.into_iter().map(Statement::part));
            continue;
        }
        let block = match describe(tokens).filter(|_| depth < MAX_DEPTH) {
            Some((open, close)) => Some(Block {
                head: &tokens[..=open],
                statements: self::statements(&tokens[open + 1..close], depth + 1)?,
                foot: &tokens[close..],
            }),
            None => None,
        };
        statements.push(Statement { tokens: tokens.into(), block });
    }
    Some(statements)
}

/// Names anywhere in the code, and in what is put into templates.
fn used(tokens: &[String]) -> Used<'_> {
    let templates = tokens.iter().filter(|token| token.starts_with('`'));
    names(tokens).chain(templates.flat_map(|template| words(template))).collect()
}

fn is_welcome(new: &New<'_, '_>, used: &Used<'_>) -> bool {
    let tokens = &new.statement.tokens;
    let fresh = |name: &str| !used.contains(name) && !STANDARD.contains(&name) && !name.starts_with("__");
    let form = is_import(tokens) || welcome_form(tokens);
    let title = title(tokens);
    let other_title = || title.is_none_or(|title| new.beside.iter().all(|old| self::title(&old.tokens) != Some(title)));
    form && bound(tokens).into_iter().all(|name| is_name(name) && fresh(name))
        && other_title()
        && comments_are_harmless(tokens)
}

/// A comment behind the last token of a statement concerns what follows.
fn comments_are_harmless(tokens: &[String]) -> bool {
    !tokens.last().is_some_and(|last| is_comment(last))
        && tokens
            .iter()
            .filter(|token| is_comment(token))
            .all(|comment| OF_THE_LINE.iter().any(|start| comment.starts_with(start)))
}

#[cfg(test)]
#[path = "javascript_tests.rs"]
mod tests;
