//! Statements of a file, and whether one list of them is another with more in between. Knows no language.

use std::borrow::Cow;

/// How many new statements a block may get: each is compared with what is beside it.
const MAX: usize = 1000;

/// A statement, with its block where new statements may join it.
pub(super) struct Statement<'a> {
    pub(super) tokens: Cow<'a, [String]>,
    pub(super) block: Option<Block<'a>>,
}

/// A block that new statements may join.
pub(super) struct Block<'a> {
    /// Everything up to the first statement.
    pub(super) head: &'a [String],
    pub(super) statements: Vec<Statement<'a>>,
    /// Everything behind the last statement.
    pub(super) foot: &'a [String],
}

impl<'a> Statement<'a> {
    pub(super) fn plain(tokens: &'a [String]) -> Self {
        Self { tokens: Cow::Borrowed(tokens), block: None }
    }

    /// One of several into which a statement was taken apart.
    pub(super) fn part(tokens: Vec<String>) -> Self {
        Self { tokens: Cow::Owned(tokens), block: None }
    }

    /// The token at a place; empty behind the end.
    pub(super) fn at(&self, place: usize) -> &str {
        self.tokens.get(place).map_or("", String::as_str)
    }
}

/// A statement that was not there, and where it stands.
pub(super) struct New<'s, 'a> {
    pub(super) statement: &'s Statement<'a>,
    /// The old statement whose block it joined; none at the top of the file.
    pub(super) within: Option<&'s Statement<'a>>,
    /// What was in that block before.
    pub(super) beside: &'s [Statement<'a>],
}

/// Whether a list of statements is another with more in between, all of it welcome. Takes the first match for each: which
/// of two equal ones is the old one makes no difference.
pub(super) fn extends<'s, 'a>(
    before: &'s [Statement<'a>],
    now: &'s [Statement<'a>],
    within: Option<&'s Statement<'a>>,
    welcome: &dyn Fn(&New<'s, 'a>) -> bool,
) -> bool {
    if now.len() > before.len() + MAX {
        return false;
    }
    let mut old = before.iter().peekable();
    for statement in now {
        match old.peek() {
            Some(first) if is_still(first, statement, welcome) => {
                old.next();
            }
            _ if welcome(&New { statement, within, beside: before }) => {}
            _ => return false,
        }
    }
    old.next().is_none()
}

fn is_still<'s, 'a>(before: &'s Statement<'a>, now: &'s Statement<'a>, welcome: &dyn Fn(&New<'s, 'a>) -> bool) -> bool {
    if before.tokens == now.tokens {
        return true;
    }
    let (Some(old), Some(new)) = (&before.block, &now.block) else { return false };
    old.head == new.head && old.foot == new.foot && extends(&old.statements, &new.statements, Some(before), welcome)
}
