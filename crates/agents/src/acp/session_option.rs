//! What is chosen in a new session before the prompt: a mode that can write, and the model that was asked for.

use ralph_model::{Trouble, TroubleKind};
use serde_json::{Value, json};

use super::calls::{Confinement, text};
use crate::text::short;

/// Modes that ask before they write come first: what is prohibited can be refused then.
const MODES: [&str; 7] = ["default", "ask", "auto", "autoEdit", "acceptEdits", "build", "full-access"];
/// What Codex calls its modes. All but the last put a sandbox of its own around commands, which cannot be had inside another.
const CODEX_MODES: [&str; 3] = ["read-only", "auto", "full-access"];
/// Names of models that are no names of a model.
const NOT_NAMES: [&str; 2] = ["default", "auto"];
const MAX_OFFERED: usize = 20;
const MAX_NAME: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionOption {
    Mode { mode: String },
    Model { model: String, by: By },
}

/// How a server lets one choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum By {
    Method,
    Option(String),
}

/// What is to be chosen in a session that was opened with this result. The trouble is a model that cannot be had.
pub(super) fn of(opened: &Value, model: Option<&str>, confinement: Confinement) -> Result<Vec<SessionOption>, Trouble> {
    let mut wishes: Vec<SessionOption> =
        writing_mode(opened, confinement).map(|mode| SessionOption::Mode { mode }).into_iter().collect();
    if let Some(model) = model.filter(|model| current_model(opened).as_deref() != Some(*model)) {
        let by = match (opened.pointer("/models/availableModels"), model_option(opened)) {
            (Some(_), _) => By::Method,
            (None, Some(option)) => By::Option(text(option, "id").unwrap_or("model").to_owned()),
            (None, None) => {
                let message = format!("the server does not let clients choose a model, but {model} was requested");
                return Err(no_model(message, "set the model on the command line of the server instead".into()));
            }
        };
        wishes.push(SessionOption::Model { model: model.to_owned(), by });
    }
    Ok(wishes)
}

impl SessionOption {
    pub(super) fn request(&self, session: &str) -> (&'static str, Value) {
        match self {
            Self::Mode { mode } => ("session/set_mode", json!({"sessionId": session, "modeId": mode})),
            Self::Model { model, by: By::Method } => {
                ("session/set_model", json!({"sessionId": session, "modelId": model}))
            }
            Self::Model { model, by: By::Option(option) } => {
                ("session/set_config_option", json!({"sessionId": session, "configId": option, "value": model}))
            }
        }
    }

    /// What it means that the server refused, if it means anything.
    pub(super) fn trouble(&self, offered: &[String], words: &str) -> Option<Trouble> {
        let Self::Model { model, .. } = self else { return None };
        Some(no_model(format!("{model}: {words}"), other_model(offered)))
    }
}

/// A model that the server does not have.
fn no_model(message: String, advice: String) -> Trouble {
    Trouble { kind: TroubleKind::ModelNotFound, until: None, message, advice: Some(advice) }
}

/// What to do about a model that cannot be had.
pub(super) fn other_model(offered: &[String]) -> String {
    match offered {
        [] => "choose a model that the server offers".to_owned(),
        offered => format!("choose a model that the server offers: {}", offered.join(", ")),
    }
}

pub(super) fn current_model(opened: &Value) -> Option<String> {
    let current = opened.pointer("/models/currentModelId").or_else(|| model_option(opened)?.get("currentValue"));
    let name = current.and_then(Value::as_str).filter(|name| !NOT_NAMES.contains(name))?;
    Some(short(name.to_owned(), MAX_NAME))
}

pub(super) fn offered(opened: &Value) -> Vec<String> {
    let models = opened.pointer("/models/availableModels").and_then(Value::as_array).into_iter().flatten();
    let options = model_option(opened).and_then(|option| option.get("options")?.as_array()).into_iter().flatten();
    let names = models.filter_map(|model| text(model, "modelId")).chain(options.filter_map(|it| text(it, "value")));
    names.take(MAX_OFFERED).map(|name| short(name.to_owned(), MAX_NAME)).collect()
}

fn model_option(opened: &Value) -> Option<&Value> {
    let is_model = |option: &&Value| text(option, "category").or_else(|| text(option, "id")) == Some("model");
    opened.get("configOptions")?.as_array()?.iter().find(is_model)
}

/// Another mode for a session that could only read or plan, or whose own sandbox would stand in Ralph's.
fn writing_mode(opened: &Value, confinement: Confinement) -> Option<String> {
    let modes = opened.get("modes")?;
    let current = text(modes, "currentModeId")?;
    let available = modes.get("availableModes")?.as_array()?;
    let has = |mode: &&&str| available.iter().any(|offered| text(offered, "id") == Some(**mode));
    let [.., unconfined] = CODEX_MODES;
    if confinement == Confinement::Sandbox && CODEX_MODES.iter().all(|mode| has(&mode)) {
        return (current != unconfined).then(|| unconfined.to_owned());
    }
    let current = current.to_ascii_lowercase();
    if !["read", "plan"].iter().any(|word| current.contains(word)) {
        return None;
    }
    MODES.iter().find(has).map(|mode| (*mode).to_owned())
}

#[cfg(test)]
#[path = "session_option_tests.rs"]
mod tests;
