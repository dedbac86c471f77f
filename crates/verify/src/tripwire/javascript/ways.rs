//! The ways in which tests of JavaScript fail: some always, and those that a file uses.

use super::bindings::Bindings;
use super::style::Style;
use crate::tripwire::names::Mark;
use crate::tripwire::text::holds;

/// What a file asserts with, under the name that it has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Assertions {
    /// `expect(…).toBe(…)` of jest and vitest.
    Expect(String),
    /// `assert.equal(…)` of Node or of chai.
    Assert(String),
    /// `equal(…)` and others, imported one by one: names of parts and their local names.
    Parts(Vec<(String, String)>),
    /// `expect(…).to.equal(…)` of chai.
    Chai(String),
}

/// A way to fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// A call: what stands between the name of the assertion and the end.
    Call(String),
    /// `throw new Error(…)`
    Throw,
}

/// More of them would only make the report longer.
const MAX_USED: usize = 6;

/// `MESSAGE` stands for the message and `WORD` for another text.
const MATCHERS: &[(&str, &str)] = &[
    ("toBe", "(MESSAGE).toBe(WORD)"),
    ("toEqual", "(MESSAGE).toEqual(WORD)"),
    ("toStrictEqual", "([MESSAGE]).toStrictEqual([WORD])"),
    ("toBeTruthy", "(!MESSAGE).toBeTruthy()"),
    ("toBeFalsy", "(MESSAGE).toBeFalsy()"),
    ("toBeNull", "(MESSAGE).toBeNull()"),
    ("toBeUndefined", "(MESSAGE).toBeUndefined()"),
    ("toBeDefined", "(undefined).toBeDefined()"),
    ("toContain", "([MESSAGE]).toContain(WORD)"),
    ("toHaveLength", "([MESSAGE]).toHaveLength(7)"),
    ("toMatch", "(MESSAGE).toMatch(/seven/)"),
    ("toMatchObject", "({ a: MESSAGE }).toMatchObject({ a: 7 })"),
    ("toThrow", "(() => MESSAGE).toThrow()"),
    ("toBeGreaterThan", "(7).toBeGreaterThan(NUMBER)"),
    ("toBeLessThan", "(NUMBER).toBeLessThan(7)"),
    ("toBeCloseTo", "(NUMBER).toBeCloseTo(7)"),
    ("toBeInstanceOf", "({ a: MESSAGE }).toBeInstanceOf(Error)"),
];

/// How many of a table come first always; the others when a file uses them.
const MATCHERS_ALWAYS: usize = 2;

const CALLS: &[(&str, &str)] = &[
    ("equal", "(MESSAGE, WORD)"),
    ("strictEqual", "(MESSAGE, WORD)"),
    ("deepEqual", "([MESSAGE], [WORD])"),
    ("ok", "(false, MESSAGE)"),
    ("deepStrictEqual", "([MESSAGE], [WORD])"),
    ("notEqual", "(NUMBER, NUMBER, MESSAGE)"),
    ("notStrictEqual", "(NUMBER, NUMBER, MESSAGE)"),
    ("match", "(MESSAGE, /seven/)"),
    ("throws", "(() => MESSAGE)"),
];

const CALLS_ALWAYS: usize = 4;

const CHAI: &[(&str, &str)] = &[
    ("equal", "(MESSAGE).to.equal(WORD)"),
    ("eql", "([MESSAGE]).to.eql([WORD])"),
    ("true", "(false, MESSAGE).to.equal(true)"),
    ("include", "([MESSAGE]).to.include(WORD)"),
    ("lengthOf", "([MESSAGE]).to.have.lengthOf(7)"),
    ("throw", "(() => MESSAGE).to.throw()"),
];

const CHAI_ALWAYS: usize = 3;

impl Assertions {
    /// What a file of mocha or of `node --test` asserts with; nothing when it imports nothing that is known.
    pub(super) fn of(text: &str) -> Option<Self> {
        // Patched functions show only through the very object that the file uses.
        for module in ["node:assert/strict", "assert/strict", "node:assert", "assert", "chai"] {
            let Some(bound) = Bindings::of(text, &[module]) else { continue };
            let is_chai = module == "chai";
            if let Some(expect) = bound.named(&["expect"]).filter(|_| is_chai) {
                return Some(Self::Chai(expect));
            }
            if let Some(assert) = bound.named(&["assert"]).filter(|_| is_chai) {
                return Some(Self::Assert(assert));
            }
            if let Some(whole) = bound.whole {
                return Some(if is_chai { Self::Chai(format!("{whole}.expect")) } else { Self::Assert(whole) });
            }
            let known = |part: &str| CALLS.iter().any(|(name, _)| *name == part);
            let parts: Vec<(String, String)> = bound
                .parts()
                .filter(|(part, _)| known(part))
                .map(|(part, local)| (part.to_owned(), local.to_owned()))
                .collect();
            if !parts.is_empty() {
                return Some(Self::Parts(parts));
            }
        }
        None
    }

    /// The ways to fail for a file.
    pub(super) fn ways(&self, text: &str) -> Vec<Way> {
        let calls = match self {
            Self::Expect(_) => chosen(MATCHERS, MATCHERS_ALWAYS, text),
            Self::Chai(_) => chosen(CHAI, CHAI_ALWAYS, text),
            Self::Assert(_) => chosen(CALLS, CALLS_ALWAYS, text),
            Self::Parts(parts) => {
                CALLS.iter().copied().filter(|(name, _)| parts.iter().any(|(part, _)| part == name)).collect()
            }
        };
        let calls = calls.into_iter().map(|(name, call)| match self {
            Self::Expect(_) | Self::Chai(_) => Way::Call(call.to_owned()),
            Self::Assert(_) | Self::Parts(_) => Way::Call(format!("{name}{call}")),
        });
        calls.chain(std::iter::once(Way::Throw)).collect()
    }

    /// The statement that fails.
    pub(super) fn statement(&self, way: Way, mark: &Mark, style: &Style) -> String {
        let (words, number, quote) = (mark.spoken(), mark.number, style.quote);
        let message = format!("`{words} ${{{number}}}`");
        let fill = |call: &str| {
            let call = call.replace("MESSAGE", &message).replace("NUMBER", &number.to_string());
            call.replace("WORD", &format!("{quote}fine{quote}"))
        };
        let statement = match (way, self) {
            (Way::Throw, _) => format!("throw new Error({message})"),
            (Way::Call(call), Self::Expect(local) | Self::Chai(local)) => format!("{local}{}", fill(&call)),
            (Way::Call(call), Self::Assert(local)) => format!("{local}.{}", fill(&call)),
            (Way::Call(call), Self::Parts(parts)) => {
                let (name, rest) = call.split_once('(').unwrap_or((&call, ""));
                let local = parts.iter().find(|(part, _)| part == name).map_or(name, |(_, local)| local);
                format!("{local}({}", fill(rest))
            }
        };
        format!("{statement}{}", style.end)
    }
}

fn chosen(table: &[(&'static str, &'static str)], always: usize, text: &str) -> Vec<(&'static str, &'static str)> {
    let (first, rest) = table.split_at(always.min(table.len()));
    let used = rest.iter().filter(|(word, _)| holds(text, word)).take(MAX_USED);
    first.iter().chain(used).copied().collect()
}
