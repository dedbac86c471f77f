//! Whether new JavaScript plainly changes what the old code uses, or keeps other tests from running. No proof that it
//! does not: a test that runs can do anything.

use std::collections::HashSet;

use super::javascript_forms::{bound, is_import};
use super::statement::Statement;
use super::tokens::{Used, assigns, chain_end, closing, has, is_name, names};

/// Words that keep other tests from running, or change what all of them share.
const REACHING: [&str; 18] = [
    "only",
    "\"only\"",
    "fit",
    "fdescribe",
    "fcontext",
    "ddescribe",
    "iit",
    "defineProperty",
    "defineProperties",
    "setPrototypeOf",
    "__proto__",
    "prototype",
    "Reflect",
    "eval",
    "Function",
    "addSnapshotSerializer",
    "addEqualityTesters",
    "setState",
];
/// Objects of runners, and what of theirs is welcome in a test.
const HANDLES: [&str; 3] = ["jest", "vi", "mock"];
const OF_A_HANDLE: [&str; 24] = [
    "fn",
    "spyOn",
    "mocked",
    "isMockFunction",
    "method",
    "getter",
    "setter",
    "reset",
    "restoreAll",
    "timers",
    "clearAllMocks",
    "resetAllMocks",
    "restoreAllMocks",
    "useFakeTimers",
    "useRealTimers",
    "setSystemTime",
    "getRealSystemTime",
    "advanceTimersByTime",
    "advanceTimersByTimeAsync",
    "runAllTimers",
    "runAllTimersAsync",
    "runOnlyPendingTimers",
    "clearAllTimers",
    "waitFor",
];
/// What tests are made of and judged by, and what everything is found through.
const SHARED: [&str; 24] = [
    "expect", "assert", "test", "it", "describe", "suite", "context", "jest", "vi", "mock", "chai", "should", "sinon",
    "globalThis", "global", "window", "self", "module", "exports", "require", "Object", "Array", "Promise", "Error",
];

/// What new code stands in.
pub(super) struct Surroundings<'a> {
    used: &'a Used<'a>,
    /// Names of the old code's blocks, as far as they are not there to be assigned.
    fixed: HashSet<&'a str>,
    /// Functions, classes and imports, old and new.
    definitions: HashSet<&'a str>,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(used: &'a Used<'a>, old: &'a [Statement<'_>], new: &'a [Statement<'_>]) -> Self {
        let mut surroundings = Self { used, fixed: HashSet::new(), definitions: HashSet::new() };
        surroundings.collect(old);
        let imports = new.iter().filter(|statement| is_import(&statement.tokens));
        surroundings.definitions.extend(imports.flat_map(|import| bound(&import.tokens)));
        surroundings
    }

    fn collect(&mut self, statements: &'a [Statement<'_>]) {
        for statement in statements {
            let exported = statement.tokens.iter().take_while(|token| matches!(token.as_str(), "export" | "default"));
            let tokens = &statement.tokens[exported.count()..];
            let first = tokens.first().map_or("", String::as_str);
            match first {
                // Declared for tests to fill.
                "let" | "var" if !tokens.iter().any(|token| token == "=") => {}
                "let" | "var" | "const" if !is_import(tokens) => self.fixed.extend(names(tokens)),
                _ => {
                    self.fixed.extend(bound(tokens));
                    self.definitions.extend(bound(tokens));
                }
            }
            if let Some(block) = &statement.block {
                self.collect(&block.statements);
            }
        }
    }
}

pub(super) fn reaches_out(tokens: &[String], surroundings: &Surroundings<'_>) -> bool {
    let declared: HashSet<&str> = tokens
        .windows(2)
        .filter(|pair| matches!(pair[0].as_str(), "const" | "let" | "var"))
        .map(|pair| pair[1].as_str())
        .collect();
    let taken = |name: &str| {
        surroundings.fixed.contains(name)
            || SHARED.contains(&name)
            || (surroundings.used.contains(name) && !declared.contains(name))
    };
    let shared = |name: &str| surroundings.definitions.contains(name) || SHARED.contains(&name);
    tokens.iter().any(|token| REACHING.contains(&token.as_str()))
        || has(tokens, &["expect", ".", "extend"])
        || tokens.iter().enumerate().any(|(at, token)| {
            let next = |ahead: usize| tokens.get(at + ahead).map_or("", String::as_str);
            let last = at.checked_sub(1).map_or("", |last| tokens[last].as_str());
            match token.as_str() {
                name if is_name(name) && last != "." => {
                    let end = chain_end(tokens, at + 1);
                    let declares = matches!(last, "const" | "let" | "var" | "type" | "class" | "function");
                    let looped = matches!(next(1), "of" | "in") && last == "(" && at > 1 && tokens[at - 2] == "for";
                    (assigns(tokens, at + 1) && !declares && taken(name))
                        || (looped && taken(name))
                        || (end > at + 1 && assigns(tokens, end) && shared(name))
                        || (HANDLES.contains(&name) && !handle_is_welcome(next(1), next(2)))
                        || (matches!(name, "test" | "it" | "describe" | "expect") && next(1) == "[")
                }
                "[" | "{" if !is_member(last) && !matches!(last, "const" | "let" | "var") => {
                    closing(tokens, at)
                        .is_some_and(|close| assigns(tokens, close + 1) && names(&tokens[at..close]).any(taken))
                }
                _ => false,
            }
        })
}

/// Whether a bracket behind a token reads a member or opens a block.
fn is_member(last: &str) -> bool {
    is_name(last) || matches!(last, ")" | "]" | ">")
}

/// `jest.fn`, or a name of its own by chance: `{ mock }`, `mock(…)`.
fn handle_is_welcome(next: &str, member: &str) -> bool {
    match next {
        "." => OF_A_HANDLE.contains(&member),
        "[" => false,
        _ => true,
    }
}
