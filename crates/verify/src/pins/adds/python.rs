//! Python: which statements may join a test file. Welcome at the top are
//! - functions and classes, tests or not;
//! - imports, but of no star and nothing of `__future__`;
//! - constants: a name, and a literal without a name in it;
//!
//! and in a class that was there, methods whose name begins with `test`, where all of its bases are known: a method of
//! an unknown base could be one that the new one takes the place of. `import a.b` is welcome also where before has
//! `import a`, because it binds the same.
//!
//! Never welcome: a name that runners look for (`pytestmark`, `load_tests`, `setup_module`, `pytest_…`, `__test__`), a
//! fixture that nobody has to ask for or that has another name than its function, a comment for tools on a line of its
//! own, and every other statement, `if` above all.

use super::python_certainty::is_certain;
use super::python_forms::{Definition, Import, Line, constant, imports, lines, single};
use super::python_reach::{Surroundings, reaches_out};
use super::statement::{Block, Statement, extends};
use super::tokens::{Used, has_any, is_name, names, words};
use crate::pins::lex;

/// How deep classes may be nested.
const MAX_DEPTH: usize = 8;
/// Words that go on with a statement after its block.
const CONTINUING: [&str; 4] = ["else", "elif", "except", "finally"];
/// Classes of libraries without a test of their own.
const BASES: [&str; 9] = [
    "object",
    "TestCase",
    "IsolatedAsyncioTestCase",
    "AsyncTestCase",
    "SimpleTestCase",
    "TransactionTestCase",
    "LiveServerTestCase",
    "APITestCase",
    "ABC",
];
/// Names that runners look for in a module. A leading `__` or `pytest_` belongs to them as well.
const LOOKED_FOR: [&str; 8] = [
    "pytestmark",
    "load_tests",
    "collect_ignore",
    "collect_ignore_glob",
    "test_suite",
    "suite",
    "additional_tests",
    "main",
];
/// Decorators that are welcome on what is no test.
const DECORATORS: [&str; 7] =
    ["fixture", "contextmanager", "asynccontextmanager", "dataclass", "staticmethod", "lru_cache", "total_ordering"];
/// Comments for tools that concern the line they are on.
const OF_THE_LINE: [&str; 5] = ["# noqa", "# type:", "# pragma: no cover", "# pylint: disable", "# nosec"];

pub(super) fn only_adds(before: &str, now: &str) -> bool {
    let (Some(before), Some(now)) = (lex::python::code(before), lex::python::code(now)) else { return false };
    if !is_certain(&now) {
        return false;
    }
    let (old, new) = (statements(&before, 0), statements(&now, 0));
    let used = used(&before);
    let surroundings = Surroundings { used: &used, bound: bound(&old).chain(bound(&new)).collect() };
    extends(&old, &new, None, &|new| {
        let tokens = &new.statement.tokens;
        let formed = match new.within {
            None => is_welcome(new.statement, new.beside, &used),
            Some(class) => is_new_test(new.statement, &used) && bases_are_known(class, &old, MAX_DEPTH),
        };
        formed && comments_are_harmless(tokens) && !reaches_out(tokens, &surroundings)
    })
}

/// Takes lines together to statements of one depth.
fn statements(tokens: &[String], depth: usize) -> Vec<Statement<'_>> {
    let lines: Vec<Line<'_>> = lines(tokens).collect();
    let mut statements = Vec::new();
    let mut at = 0;
    while let Some(first) = lines.get(at) {
        let mut body = at;
        while lines.get(body).is_some_and(|line| line.first() == "@" && line.depth == first.depth) {
            body += 1;
        }
        let mut end = (body + 1).min(lines.len());
        let goes_on = |line: &Line<'_>| {
            line.depth.is_none_or(|depth| first.depth.is_some_and(|first| depth > first))
                || (line.depth == first.depth && CONTINUING.contains(&line.first()))
        };
        while lines.get(end).is_some_and(goes_on) {
            end += 1;
        }
        let until = |line: usize| lines.get(line).map_or(tokens.len(), |line| line.start);
        let whole = &tokens[first.start..until(end)];
        let is_class = |line: &Line<'_>| line.first() == "class" && line.last() == ":";
        match depth < MAX_DEPTH && lines.get(body).is_some_and(is_class) {
            true => statements.push(Statement {
                tokens: whole.into(),
                block: Some(Block {
                    head: &tokens[first.start..until(body + 1)],
                    statements: self::statements(&tokens[until(body + 1)..until(end)], depth + 1),
                    foot: &[],
                }),
            }),
            false => match imports(whole) {
                Some(imports) => statements.extend(imports.into_iter().map(Statement::part)),
                None => statements.push(Statement::plain(whole)),
            },
        }
        at = end;
    }
    statements
}

/// Names anywhere in the code, in what is put into strings, and in strings that are names: of fixtures, of parameters.
fn used(tokens: &[String]) -> Used<'_> {
    let mut used: Used<'_> = names(tokens).collect();
    for token in tokens.iter().filter(|token| token.ends_with(['"', '\''])) {
        let content = token.trim_end_matches(['"', '\'']);
        let formatted = token.split(['"', '\'']).next().is_some_and(|prefix| prefix.contains(['f', 'F', 't', 'T']));
        let list = content.split([',', '.']).all(|word| !word.trim().contains(char::is_whitespace));
        if formatted || list {
            used.extend(words(token));
        }
    }
    used
}

/// Names that statements of a module bind to something other than data.
fn bound<'s>(statements: &'s [Statement<'_>]) -> impl Iterator<Item = &'s str> {
    statements.iter().filter_map(|statement| match Import::read(&statement.tokens) {
        Some(import) => Some(import.bound),
        None => Definition::read(&statement.tokens).map(|definition| definition.name),
    })
}

fn is_welcome(statement: &Statement<'_>, beside: &[Statement<'_>], used: &Used<'_>) -> bool {
    let fresh = |name: &str| !used.contains(name) && !is_looked_for(name);
    if let Some(import) = Import::read(&statement.tokens) {
        let again = || {
            import.is_plain()
                && beside.iter().filter_map(|old| Import::read(&old.tokens)).any(|old| old.binds_as(&import))
        };
        return import.is_harmless() && (fresh(import.bound) || again());
    }
    if let Some(name) = constant(&statement.tokens) {
        return fresh(name);
    }
    Definition::read(&statement.tokens).is_some_and(|definition| {
        fresh(definition.name) && decorators_are_harmless(&definition) && (!definition.is_class || is_class(statement))
    })
}

fn is_looked_for(name: &str) -> bool {
    let lower = name.to_lowercase();
    LOOKED_FOR.contains(&name) || ["__", "pytest_", "setup", "teardown"].iter().any(|start| lower.starts_with(start))
}

/// A new method in a class that was there.
fn is_new_test(statement: &Statement<'_>, used: &Used<'_>) -> bool {
    Definition::read(&statement.tokens).is_some_and(|definition| {
        !definition.is_class && definition.name.starts_with("test") && !used.contains(definition.name)
    })
}

/// Tests may carry any decorator.
fn decorators_are_harmless(definition: &Definition<'_>) -> bool {
    definition.decorators.iter().all(|decorator| {
        let call = decorator.iter().position(|token| token == "(").unwrap_or(decorator.len());
        let name = decorator[..call].iter().rfind(|token| is_name(token)).map_or("", String::as_str);
        match name {
            "fixture" => !has_any(decorator, &["name", "*", "\"name\""]),
            _ if definition.name.to_lowercase().starts_with("test") => true,
            name => DECORATORS.contains(&name),
        }
    })
}

/// Whether a new class does nothing but define: what stands in its body runs as soon as the file is imported.
fn is_class(class: &Statement<'_>) -> bool {
    let Some(block) = &class.block else {
        return lines(&class.tokens)
            .last()
            .is_some_and(|line| line.code.ends_with(&[":".to_owned(), "pass".to_owned()]));
    };
    block.statements.iter().all(|statement| match Definition::read(&statement.tokens) {
        Some(definition) => !definition.is_class || is_class(statement),
        None => single(&statement.tokens).is_some_and(|line| is_attribute(line.code)),
    })
}

/// A line in a class that binds a name, or does nothing.
fn is_attribute(code: &[String]) -> bool {
    match code {
        [only] => only == "pass" || only.ends_with(['"', '\'']),
        [name, mark, ..] if is_name(name) => matches!(mark.as_str(), "=" | ":") && !has_any(code, &[";"]),
        code => !code.is_empty() && code.iter().all(|token| token == "."),
    }
}

/// Whether no method of a class can come from where nobody looked.
fn bases_are_known(class: &Statement<'_>, old: &[Statement<'_>], deepest: usize) -> bool {
    let Some(definition) = Definition::read(&class.tokens).filter(|_| deepest > 0) else { return false };
    let Some(bases) = definition.bases() else { return false };
    bases.iter().all(|base| match base {
        [name] if !BASES.contains(&name.as_str()) => old.iter().any(|other| {
            Definition::read(&other.tokens).is_some_and(|other| other.is_class && other.name == name)
                && bases_are_known(other, old, deepest - 1)
        }),
        path => {
            path.iter().all(|token| is_name(token) || token == ".")
                && path.last().is_some_and(|name| BASES.contains(&name.as_str()))
        }
    })
}

fn comments_are_harmless(tokens: &[String]) -> bool {
    lines(tokens).all(|line| !line.first().starts_with('#'))
        && tokens
            .iter()
            .filter(|token| token.starts_with('#'))
            .all(|comment| OF_THE_LINE.iter().any(|start| comment.starts_with(start)))
}

#[cfg(test)]
#[path = "python_tests.rs"]
mod tests;
