//! Answers a server that asks before it does something: once, and never for a prohibited path.

use std::path::Path;

use serde_json::{Value, json};

use super::paths;
use crate::request::Prohibited;

/// Kinds of calls that change nothing.
const HARMLESS: [&str; 4] = ["read", "search", "think", "fetch"];

/// The first prohibited path that a call names, and the glob that prohibits it, in words.
pub(super) fn prohibited_path(call: &Value, prohibited: &Prohibited) -> Option<String> {
    let mut why = None;
    paths::of_call(call, &mut |path: &Path| {
        if why.is_none() {
            why = (prohibited.matches)(path).map(|glob| format!("{} is prohibited by {glob}", path.display()));
        }
    });
    why
}

/// Whether calls of a kind change nothing. Reading is allowed where writing is prohibited.
pub(super) fn is_harmless(kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| HARMLESS.contains(&kind))
}

/// What is answered to a request for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// This once.
    Allow,
    /// This once not.
    Reject,
    Cancelled,
}

/// The answer, in terms of the options that the server offers. A server that offers nothing that fits is told that the turn is
/// cancelled, which permits nothing. Whoever is allowed something for ever does not ask again, not for a prohibited path either.
pub(super) fn outcome(options: &Value, decision: Decision) -> Value {
    let kinds: &[&str] = match decision {
        Decision::Allow => &["allow_once"],
        Decision::Reject => &["reject_once", "reject_always"],
        Decision::Cancelled => &[],
    };
    let offered = |kind: &&str| {
        let options = options.as_array()?;
        options.iter().find(|option| option.get("kind").and_then(Value::as_str) == Some(*kind))?.get("optionId")
    };
    match kinds.iter().find_map(offered) {
        Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
