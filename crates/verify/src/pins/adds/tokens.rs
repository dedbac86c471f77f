//! Words and brackets in a list of tokens. Knows no language.

use std::collections::{HashMap, HashSet};

/// Whether a token is a name, of letters that look the same to everybody.
pub(super) fn is_name(token: &str) -> bool {
    let mut letters = token.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
}

/// Whether a token is a string in quotes, without a prefix.
pub(super) fn is_quoted(token: &str) -> bool {
    token.starts_with(['"', '\''])
}

/// Names among tokens.
pub(super) fn names(tokens: &[String]) -> impl Iterator<Item = &str> {
    tokens.iter().map(String::as_str).filter(|token| is_name(token))
}

/// Everything in a text that could be a name.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c == '_' || c == '$' || c.is_alphanumeric())).filter(|word| is_name(word))
}

/// Where the bracket closes that opens at a place; `None` when it does not, or another closes first.
pub(super) fn closing(tokens: &[String], open: usize) -> Option<usize> {
    let mut expected: Vec<&str> = Vec::new();
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" => expected.push(")"),
            "[" => expected.push("]"),
            "{" => expected.push("}"),
            close @ (")" | "]" | "}") if expected.pop() != Some(close) => return None,
            _ => {}
        }
        if expected.is_empty() {
            return Some(at);
        }
    }
    None
}

/// Splits at a mark outside of brackets, and leaves empty pieces out; `None` when brackets do not match.
pub(super) fn split<'a>(tokens: &'a [String], mark: &str) -> Option<Vec<&'a [String]>> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "(" | "[" | "{" => at = closing(tokens, at)?,
            ")" | "]" | "}" => return None,
            token if token == mark => {
                pieces.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    pieces.push(&tokens[start..]);
    pieces.retain(|piece| !piece.is_empty());
    Some(pieces)
}

/// Whether tokens stand one after the other somewhere.
pub(super) fn has(tokens: &[String], sequence: &[&str]) -> bool {
    tokens.windows(sequence.len()).any(|window| window == sequence)
}

/// Whether any token is one of those.
pub(super) fn has_any(tokens: &[String], words: &[&str]) -> bool {
    tokens.iter().any(|token| words.contains(&token.as_str()))
}

/// Whether the token at a place assigns: `=` and nothing that only looks so, or `+=` and its like.
pub(super) fn assigns(tokens: &[String], at: usize) -> bool {
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    let operators = (at..at + 3).take_while(|at| "+-*/%&|^?@".contains(token(*at)) && !token(*at).is_empty()).count();
    let equals = at + operators;
    token(equals) == "=" && !matches!(token(equals + 1), "=" | ">")
}

/// For each bracket that opens, where it closes. For many questions about the same tokens.
pub(super) fn pairs(tokens: &[String]) -> HashMap<usize, usize> {
    let mut open: Vec<usize> = Vec::new();
    let mut pairs = HashMap::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "(" | "[" | "{" => open.push(at),
            ")" | "]" | "}" => pairs.extend(open.pop().map(|open| (open, at))),
            _ => {}
        }
    }
    pairs
}

/// Goes behind the quote that closes what another opened; false where there is none, or an escape before it.
pub(super) fn skips_quoted(letters: &mut impl Iterator<Item = char>, quote: char) -> bool {
    letters.find(|letter| *letter == quote || *letter == '\\') == Some(quote)
}

/// Names of before: what is new may not bind them.
pub(super) type Used<'a> = HashSet<&'a str>;
