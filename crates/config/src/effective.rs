//! Every key with the value that a run would get without flags, and where it comes from. Pure.

use ralph_model::{AgentSpec, Caps, DEFAULT_PROMISE, LoopConfig, Millis, Money};
use serde_json::{Value, json};

use crate::{Class, Document, Key, Origin};

/// A key as it takes effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    pub key: Key,
    pub name: String,
    /// Its value; null where nothing is set and there is no default.
    pub value: Value,
    pub origin: Origin,
    pub place: Option<String>,
}

/// All keys in the order of the table: what files set, and defaults. `repository` is what counts of the repository's file:
/// everything in an approved one, otherwise only what narrows.
pub fn effective(user: Option<&Document>, repository: Option<(&Document, bool)>) -> Vec<Effective> {
    let (file, is_approved) = repository.map_or((None, false), |(file, approved)| (Some(file), approved));
    let mut all = Vec::new();
    for key in Key::ALL {
        let narrows = key.class() == Class::NarrowsOnly;
        let from_repository = set_by(file.filter(|_| is_approved || narrows), *key, Origin::Repository);
        let from_user = set_by(user, *key, Origin::User);
        let default = default_of(*key);
        let unset = || Effective {
            key: *key,
            name: key.name().to_owned(),
            value: default.clone().unwrap_or(Value::Null),
            origin: Origin::Default,
            place: None,
        };
        if narrows {
            // The user's list replaces the default, and the repository adds to it.
            let base = if from_user.is_empty() { vec![unset()] } else { from_user };
            all.extend(base.into_iter().chain(from_repository));
        } else if key.name().contains('*') {
            // Names that the user chooses: each is a value of its own, and the repository's comes first.
            let hidden = |one: &Effective| from_repository.iter().any(|other| other.name == one.name);
            let users: Vec<Effective> = from_user.into_iter().filter(|one| !hidden(one)).collect();
            all.extend(from_repository.into_iter().chain(users));
        } else {
            let chosen = from_repository.into_iter().chain(from_user).next();
            all.push(chosen.unwrap_or_else(unset));
        }
    }
    all
}

fn set_by(document: Option<&Document>, key: Key, origin: Origin) -> Vec<Effective> {
    let present = document.into_iter().flat_map(|document| &document.present).filter(|present| present.key == key);
    let effective = present.map(|present| Effective {
        key,
        name: present.name.clone(),
        value: present.value(),
        origin,
        place: Some(present.at.to_string()),
    });
    effective.collect()
}

/// What holds where no key is set.
fn default_of(key: Key) -> Option<Value> {
    let agent = AgentSpec::command("agent", "true");
    let usual = LoopConfig::new(String::new(), 1, Money::ZERO, agent, String::new());
    let caps = Caps::default();
    // `30m` and `15s`, not `30m 00s` and `15.0s`: as people write it.
    let span = |span: Millis| {
        let text = span.to_string().replace(".0s", "s");
        Some(json!(text.split(' ').filter(|part| !part.starts_with("00")).collect::<String>()))
    };
    match key {
        Key::IterationTimeout => span(usual.iteration_timeout),
        Key::VerificationTimeout => span(usual.verification_timeout),
        Key::IdleTimeout => span(usual.idle_timeout.unwrap_or_default()),
        Key::MaxWait => span(usual.max_wait),
        Key::Backoff => span(usual.backoff),
        Key::PauseMs => Some(json!(usual.pause.0)),
        Key::StallDetectionThreshold => Some(json!(usual.stall_threshold)),
        Key::SameErrorThreshold => Some(json!(usual.same_error_threshold)),
        Key::EscalateAfter => Some(json!(crate::agents::usual_escalate_after())),
        Key::CompletionPromise => Some(json!(DEFAULT_PROMISE)),
        Key::ContextInjection => Some(json!(usual.context_injection)),
        Key::Tripwire => Some(json!(usual.tripwire)),
        Key::Retries => Some(json!(usual.retries)),
        Key::LogLimit => Some(json!(usual.log_limit)),
        Key::MaxFileSize => Some(json!(usual.max_file_size)),
        Key::ProhibitedPaths => Some(json!(usual.prohibited_paths)),
        Key::OnBlocked => serde_json::to_value(usual.on_blocked).ok(),
        Key::Isolation => serde_json::to_value(usual.isolation).ok(),
        Key::Keep => serde_json::to_value(usual.keep).ok(),
        Key::Verify => serde_json::to_value(usual.verify).ok(),
        Key::AgentNetwork => serde_json::to_value(usual.access.agent_network).ok(),
        Key::Sandbox => serde_json::to_value(usual.sandbox).ok(),
        Key::EscalateToDeepDebug
        | Key::Rotate
        | Key::Unmetered
        | Key::CostAfterRun
        | Key::Commit
        | Key::Ratchet
        | Key::AllowNetwork
        | Key::NotifyDesktop => Some(json!(false)),
        Key::CapsIterations => Some(json!(caps.iterations)),
        Key::CapsLoopCostUsd => Some(json!(caps.loop_cost.to_string())),
        Key::CapsDailyCostUsd => Some(json!(caps.daily_cost.to_string())),
        Key::MetricsPath => Some(json!(crate::resolve::DEFAULT_METRICS)),
        _ => None,
    }
}

#[cfg(test)]
#[path = "effective_tests.rs"]
mod tests;
