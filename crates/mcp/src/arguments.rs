//! The arguments of the tools. Their schemas are made from these types.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::Refused;

/// The longest objective.
const MAX_OBJECTIVE: usize = 65_536;
/// The longest other text.
const MAX_TEXT: usize = 4096;

/// A loop to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoopArguments {
    /// What has to be achieved
    #[schemars(length(min = 1, max = 65_536))]
    pub(crate) objective: String,
    /// Shell command that exits with 0 only when the objective is met, such as `npm test`
    #[schemars(length(min = 1, max = 4096))]
    pub(crate) verification_command: String,
    /// Agent runs at most
    #[schemars(range(min = 1, max = 100))]
    pub(crate) max_iterations: u32,
    /// US dollars at most
    #[schemars(range(min = 0))]
    pub(crate) max_cost_usd: f64,
    /// Agent to use, such as `claude`, `codex`, `opencode` or `gemini`; default: the user's
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub(crate) agent: Option<String>,
}

impl LoopArguments {
    /// # Errors
    /// The first argument that cannot be accepted.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        check_text("objective", &self.objective, 1, MAX_OBJECTIVE)?;
        check_text("verification_command", &self.verification_command, 1, MAX_TEXT)?;
        if !(1..=100).contains(&self.max_iterations) {
            return Err(Refused::new("max_iterations must be between 1 and 100"));
        }
        self.agent.as_deref().map_or(Ok(()), |agent| check_text("agent", agent, 1, 200))
    }
}

/// What to look at.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusArguments {
    /// A loop by its id or its last eight characters; default: the newest loops of this folder
    #[serde(default)]
    #[schemars(length(min = 4, max = 64))]
    pub(crate) loop_id: Option<String>,
}

impl StatusArguments {
    /// # Errors
    /// The first argument that cannot be accepted.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        self.loop_id.as_deref().map_or(Ok(()), |id| check_text("loop_id", id, 4, 64))
    }
}

/// A text of a length in bytes, without null characters.
pub(crate) fn check_text(name: &str, text: &str, least: usize, most: usize) -> Result<(), Refused> {
    let length = text.trim().chars().count();
    if length < least {
        let problem = if least == 1 { "is empty".to_owned() } else { format!("has fewer than {least} characters") };
        return Err(Refused::new(format!("{name} {problem}")));
    }
    if text.len() > most {
        return Err(Refused::new(format!("{name} is longer than {most} bytes")));
    }
    if text.contains('\0') {
        return Err(Refused::new(format!("{name} contains a null character")));
    }
    Ok(())
}

/// The arguments of a call as their type.
///
/// # Errors
/// When one is missing, unknown or of the wrong kind.
pub(crate) fn parse<T: DeserializeOwned>(arguments: Option<Map<String, Value>>) -> Result<T, Refused> {
    let value = Value::Object(arguments.unwrap_or_default());
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!("{path}: ") };
        Refused::new(format!("bad arguments: {place}{}", error.into_inner()))
    })
}
