//! Whether new JavaScript plainly changes what the old code uses, or keeps other tests from running. No proof that it
//! does not: a test that runs can do anything.

use std::collections::{HashMap, HashSet};

use super::javascript_forms::{bound, is_import};
use super::statement::Statement;
use super::tokens::{Used, assigns, has, is_name, names, pairs, split};

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
    "expect",
    "assert",
    "test",
    "it",
    "describe",
    "suite",
    "context",
    "jest",
    "vi",
    "mock",
    "chai",
    "should",
    "sinon",
    "globalThis",
    "global",
    "window",
    "self",
    "module",
    "exports",
    "require",
    "Object",
    "Array",
    "Promise",
    "Error",
];

/// What new code stands in.
pub(super) struct Surroundings<'a> {
    used: &'a Used<'a>,
    /// Names of the old code's blocks, as far as they are not there to be assigned.
    fixed: HashSet<&'a str>,
    /// Names that the old code declares for tests to fill: `let a`.
    empty: HashSet<&'a str>,
    /// Functions, classes and imports, old and new.
    definitions: HashSet<&'a str>,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(used: &'a Used<'a>, old: &'a [Statement<'_>], new: &'a [Statement<'_>]) -> Self {
        let mut surroundings = Self { used, fixed: HashSet::new(), empty: HashSet::new(), definitions: HashSet::new() };
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
                "let" | "var" if !tokens.iter().any(|token| token == "=") => {
                    let names = split(&tokens[1..], ",").unwrap_or_default();
                    self.empty.extend(names.into_iter().filter_map(|name| name.first()).map(String::as_str));
                }
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
            || (surroundings.used.contains(name) && !surroundings.empty.contains(name) && !declared.contains(name))
    };
    let shared = |name: &str| surroundings.definitions.contains(name) || SHARED.contains(&name);
    let pairs = pairs(tokens);
    let at = |place: usize| tokens.get(place).map_or("", String::as_str);
    let back = |place: usize, by: usize| place.checked_sub(by).map_or("", &at);
    let named = |place: usize, name: &str| {
        let last = back(place, 1);
        let declares = matches!(last, "const" | "let" | "var" | "type" | "class" | "function");
        // In `const a: Name = …` the name is a type.
        let typed = last == ":" && matches!(back(place, 3), "const" | "let" | "var");
        let looped = matches!(at(place + 1), "of" | "in") && last == "(" && back(place, 2) == "for";
        let end = chain_end(tokens, &pairs, place + 1);
        (assigns(tokens, place + 1) && !declares && !typed && taken(name))
            || (looped && taken(name))
            || (end > place + 1 && assigns(tokens, end) && !typed && shared(name))
            || (HANDLES.contains(&name) && !handle_is_welcome(at(place + 1), at(place + 2)))
            || (matches!(name, "test" | "it" | "describe" | "expect") && at(place + 1) == "[")
    };
    // `[a, b] = …` and `({ a } = …)`.
    let pattern = |place: usize| {
        let last = back(place, 1);
        !is_member(last)
            && pairs
                .get(&place)
                .is_some_and(|close| assigns(tokens, close + 1) && names(&tokens[place..*close]).any(&taken))
    };
    tokens.iter().any(|token| REACHING.contains(&token.as_str()))
        || has(tokens, &["expect", ".", "extend"])
        || tokens.iter().enumerate().any(|(place, token)| match token.as_str() {
            name if is_name(name) => back(place, 1) != "." && named(place, name),
            "[" | "{" => pattern(place),
            _ => false,
        })
}

/// Whether a bracket behind a token reads a member, opens a block or declares what is in it.
fn is_member(last: &str) -> bool {
    is_name(last) || matches!(last, ")" | "]" | ">")
}

/// Where a chain of members, subscripts and calls ends that begins behind a name.
fn chain_end(tokens: &[String], pairs: &HashMap<usize, usize>, from: usize) -> usize {
    let mut place = from;
    loop {
        let next = tokens.get(place + 1);
        match tokens.get(place).map(String::as_str) {
            Some(".") if next.is_some_and(|next| is_name(next)) => place += 2,
            Some("!" | "?") if next.is_some_and(|next| next == ".") => place += 1,
            Some("[" | "(") => match pairs.get(&place) {
                Some(close) => place = close + 1,
                None => return place,
            },
            _ => return place,
        }
    }
}

/// `jest.fn`, or a name of its own by chance: `{ mock }`, `mock(…)`.
fn handle_is_welcome(next: &str, member: &str) -> bool {
    match next {
        "." => OF_A_HANDLE.contains(&member),
        "[" => false,
        _ => true,
    }
}
