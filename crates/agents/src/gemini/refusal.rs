//! What the program says when the service refused, and what it means.
//!
//! The status of an answer is part of the words only sometimes; the program's exit code is that status modulo 256 (145 is 401 and no
//! signal), except where it has codes of its own.

use ralph_model::{Timestamp, Trouble, TroubleKind};

use super::kind::PROGRAM;
use crate::trouble::{classify, inner};

/// What stands before the words of a service.
pub(super) const FRAME: &str = "[API Error: ";

/// Statuses that services answer with, for exit codes that stand for one.
const STATUSES: [u16; 15] = [400, 401, 402, 403, 404, 408, 409, 413, 429, 499, 500, 502, 503, 504, 529];

/// Whose words these are: the same ones of others mean that there is no credit.
const GOOGLE: &str = "generativelanguage";

/// The status that an exit code stands for.
pub(super) fn status_of(code: i32) -> Option<u16> {
    STATUSES.into_iter().find(|status| i32::from(status % 256) == code)
}

/// What the service refused, from what the program says about it and the status that its exit code stands for.
pub(super) fn trouble(words: &str, code: Option<u16>, now: Timestamp) -> Option<Trouble> {
    let (status, message) = inner(words).unwrap_or_else(|| (None, plain(words)));
    let trouble = classify(status.or(code), &format!("{words} {GOOGLE}"), now)?;
    Some(PROGRAM.advised(Trouble { message, ..trouble }))
}

/// Somebody has to set something right before the program can run at all.
pub(super) fn not_set_up(message: String, advice: &str) -> Trouble {
    Trouble { kind: TroubleKind::Setup, until: None, message, advice: Some(advice.to_owned()) }
}

/// The words without the frame that the program puts around them.
fn plain(words: &str) -> String {
    let inside = words.strip_prefix(FRAME).unwrap_or(words);
    let inside = inside.split_once("]\n").map_or(inside, |(inside, _)| inside);
    inside.strip_suffix(']').unwrap_or(inside).trim().to_owned()
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
