//! The arguments of the tools. Their schemas are made from these types.

use ralph_host::Claim;
use ralph_model::{NewTask, TaskId, TaskStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::Refused;

const MAX_OBJECTIVE: usize = 65_536;
const MAX_TEXT: usize = 4096;
const MAX_EVIDENCE: usize = 16_384;
const MIN_SUMMARY: usize = 10;

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
    pub(crate) fn check(&self) -> Result<(), Refused> {
        check_text("objective", &self.objective, 1, MAX_OBJECTIVE)?;
        check_text("verification_command", &self.verification_command, 1, MAX_TEXT)?;
        if !(1..=100).contains(&self.max_iterations) {
            return Err(Refused::new("max_iterations must be between 1 and 100"));
        }
        self.agent.as_deref().map_or(Ok(()), |agent| check_text("agent", agent, 1, 200))
    }
}

/// A request to decide on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecideArguments {
    /// The user's request, unchanged
    #[schemars(length(min = 1, max = 65_536))]
    pub(crate) request: String,
}

impl DecideArguments {
    pub(crate) fn check(&self) -> Result<(), Refused> {
        check_text("request", &self.request, 1, MAX_OBJECTIVE)
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
    pub(crate) fn check(&self) -> Result<(), Refused> {
        self.loop_id.as_deref().map_or(Ok(()), |id| check_text("loop_id", id, 4, 64))
    }
}

/// A task that is done, as its agent says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CompleteArguments {
    /// The task: $RALPH_TASK_ID
    pub(crate) task_id: TaskId,
    /// What was done
    #[schemars(length(min = 10, max = 4096))]
    pub(crate) summary: String,
    /// How you know that the promise is met: commands you ran and what they showed
    #[schemars(length(min = 10, max = 16_384))]
    pub(crate) promise_evidence: String,
    /// Files that show it, relative to the workspace
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub(crate) artifact_paths: Vec<String>,
}

impl CompleteArguments {
    pub(crate) fn check(&self) -> Result<(), Refused> {
        check_text("summary", &self.summary, MIN_SUMMARY, MAX_TEXT)?;
        check_text("promiseEvidence", &self.promise_evidence, MIN_SUMMARY, MAX_EVIDENCE)?;
        if self.artifact_paths.len() > NewTask::MAX_LIST {
            return Err(Refused::new(format!("artifactPaths has more than {} entries", NewTask::MAX_LIST)));
        }
        for path in &self.artifact_paths {
            check_text("artifactPaths", path, 1, 1024)?;
            if path.starts_with('/') || path.split('/').any(|part| part == "..") {
                return Err(Refused::new(format!("artifactPaths: `{path}` is not a path inside the workspace")));
            }
        }
        Ok(())
    }

    /// As the worker reads it.
    pub(crate) fn claim(&self) -> Claim {
        Claim {
            task_id: self.task_id,
            summary: self.summary.clone(),
            promise_evidence: self.promise_evidence.clone(),
            artifact_paths: self.artifact_paths.clone(),
        }
    }
}

/// Which tasks to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListArguments {
    /// Only these statuses; default: all
    #[serde(default)]
    #[schemars(length(max = 7))]
    pub(crate) status: Vec<TaskStatus>,
    /// At most so many
    #[serde(default)]
    #[schemars(range(min = 1, max = 50))]
    pub(crate) limit: Option<u32>,
    /// Only tasks older than this one: `next` of the page before
    #[serde(default)]
    pub(crate) before: Option<TaskId>,
}

impl ListArguments {
    pub(crate) fn check(&self) -> Result<(), Refused> {
        match self.limit {
            Some(limit) if !(1..=50).contains(&limit) => Err(Refused::new("limit must be between 1 and 50")),
            _ => Ok(()),
        }
    }
}

/// Which task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TaskArguments {
    /// The task
    pub(crate) task_id: TaskId,
}

/// How far a task is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ProgressArguments {
    /// The task
    pub(crate) task_id: TaskId,
    /// What was done and what is next
    #[schemars(length(min = 1, max = 4096))]
    pub(crate) message: String,
}

impl ProgressArguments {
    pub(crate) fn check(&self) -> Result<(), Refused> {
        check_text("message", &self.message, 1, MAX_TEXT)
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

pub(crate) fn parse<T: DeserializeOwned>(arguments: Option<Map<String, Value>>) -> Result<T, Refused> {
    let value = Value::Object(arguments.unwrap_or_default());
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!("{path}: ") };
        Refused::new(format!("bad arguments: {place}{}", error.into_inner()))
    })
}
