//! Tasks: requests that wait on a server for a worker, and what is known of them. Values and their rules only.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::RunId;
use crate::money::Money;
use crate::time::Timestamp;

/// Which task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TaskId(Uuid);

impl TaskId {
    /// From a UUID. New ids are of version 7, so that they sort by time.
    pub const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({self})")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a task id: expected a UUID such as 01990000-0000-7000-8000-000000000000")]
pub struct ParseTaskId(String);

impl FromStr for TaskId {
    type Err = ParseTaskId;

    /// Hyphenated only: an id becomes part of file names and branches, so it has one spelling.
    fn from_str(text: &str) -> Result<Self, ParseTaskId> {
        let id = Uuid::try_parse(text).map_err(|_| ParseTaskId(text.to_owned()))?;
        let id = Self(id);
        if id.to_string() == text { Ok(id) } else { Err(ParseTaskId(text.to_owned())) }
    }
}

/// How a task is worked on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskType {
    /// As a loop until it is verified or a limit is reached.
    #[default]
    Ralph,
    /// As one pass of an agent.
    Single,
    /// By the crew.
    Crew,
}

crate::named!(TaskType { Ralph => "ralph", Single => "single", Crew => "crew" });

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Any worker may claim it, once the tasks before it are completed.
    Unassigned,
    /// Kept for one agent, which has not claimed it yet.
    Offered,
    /// Claimed; its loop has not started yet.
    Pending,
    /// A worker works on it.
    InProgress,
    /// Ended with success.
    Completed,
    /// Ended without success.
    Failed,
    /// Ended because someone asked for it.
    Cancelled,
}

crate::named!(TaskStatus {
    Unassigned => "unassigned", Offered => "offered", Pending => "pending", InProgress => "in_progress",
    Completed => "completed", Failed => "failed", Cancelled => "cancelled"
});

impl TaskStatus {
    /// Whether the task has ended. Nothing leads out of such a status.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Whether a worker holds a lease on it.
    pub const fn is_claimed(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }
}

/// Why a checkpoint was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckpointReason {
    /// The agent is about to compact its context.
    Precompact,
    /// The agent stopped.
    Stop,
    /// Someone asked for it.
    Manual,
}

/// Where an agent's work on a task stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checkpoint {
    /// The task.
    pub task_id: TaskId,
    /// The iteration that wrote it.
    pub iteration: u32,
    /// Whether the agent's context is full, so that the iteration ends and the next one starts with an empty one.
    pub context_full: bool,
    /// When it was written.
    #[serde(with = "crate::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: Timestamp,
    /// Why it was written.
    pub checkpoint_reason: CheckpointReason,
}

/// A task as callers see it. Ends of names in `At` are times in RFC 3339.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The request, byte for byte.
    pub task: String,
    /// How it is worked on.
    pub task_type: TaskType,
    /// How far it is.
    pub status: TaskStatus,
    /// The agent that it is offered to, or that works on it.
    pub agent_id: Option<String>,
    /// Higher ones are claimed first.
    pub priority: i32,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Tasks that have to be completed before it can be claimed.
    pub depends_on: Vec<TaskId>,
    /// The repository to clone; none means the worker's own workspace.
    pub repo: Option<String>,
    /// The branch, tag or commit to start from.
    pub base_ref: Option<String>,
    /// What came of it.
    pub output: Option<String>,
    /// Why it failed.
    pub failure_reason: Option<String>,
    /// When it was created.
    #[serde(with = "crate::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
    /// When it changed last.
    #[serde(with = "crate::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub last_updated_at: Timestamp,
    /// When it ended.
    #[serde(with = "crate::wire::optional_moment")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub finished_at: Option<Timestamp>,
    /// What has to be true at its end. Tasks of type `ralph` have one.
    pub ralph_promise: Option<String>,
    /// Iterations so far.
    pub ralph_iterations: u32,
    /// Iterations at most.
    pub ralph_max_iterations: u32,
    /// Its newest checkpoint.
    pub ralph_last_checkpoint: Option<Checkpoint>,
    /// A plan for the agent, inside the workspace.
    pub ralph_plan_path: Option<String>,
    /// The command that decides whether it is done.
    pub verification_command: Option<String>,
    /// What it may cost.
    #[serde(with = "crate::wire::dollars")]
    #[schemars(with = "f64")]
    pub max_cost_usd: Money,
    /// What it has cost.
    #[serde(with = "crate::wire::dollars")]
    #[schemars(with = "f64")]
    pub cost_usd: Money,
    /// Whether checks passed at its end.
    pub verified: bool,
    /// The run that works on it.
    pub run_id: Option<RunId>,
    /// How many workers died while they held it. After three it is quarantined: it fails and is not claimed again.
    pub worker_deaths: u32,
}

/// A task to be created. What is left out has its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTask {
    /// The request.
    #[schemars(length(min = 1, max = 65_536))]
    pub task: String,
    /// How it is worked on.
    #[serde(default)]
    pub task_type: TaskType,
    /// The only agent that may claim it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Higher ones are claimed first.
    #[serde(default)]
    #[schemars(range(min = -1000, max = 1000))]
    pub priority: i32,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Tasks that have to be completed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// The repository to clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The branch, tag or commit to start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_ref: Option<String>,
    /// What has to be true at its end; required for type `ralph`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ralph_promise: Option<String>,
    /// Iterations at most, 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub ralph_max_iterations: Option<u32>,
    /// A plan for the agent, inside the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ralph_plan_path: Option<String>,
    /// The command that decides whether it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_command: Option<String>,
    /// What it may cost.
    #[serde(default, with = "crate::wire::optional_dollars", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub max_cost_usd: Option<Money>,
}

/// A field of a task that cannot be accepted, and what would be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct TaskError {
    pub field: &'static str,
    /// What is wrong with it, and what would be right.
    pub problem: String,
}

impl TaskError {
    fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }
}

impl NewTask {
    /// Iterations of a task that names none.
    pub const DEFAULT_MAX_ITERATIONS: u32 = 50;
    /// What a task that names no limit may cost.
    pub const DEFAULT_MAX_COST: Money = Money::dollars(10);
    /// The most iterations that a task may ask for, whatever the cap of the installation.
    pub const MAX_ITERATIONS: u32 = 100;
    pub const MAX_TASK_BYTES: usize = 65_536;
    pub const MAX_TEXT_BYTES: usize = 4096;
    /// The most tags, and the most tasks that one can wait for.
    pub const MAX_LIST: usize = 64;

    /// Whether it can be accepted under the caps of the installation.
    pub fn validate(&self, caps: &crate::config::Caps) -> Result<(), TaskError> {
        if self.task.trim().is_empty() {
            return Err(TaskError::new("task", "is empty: say what has to be done"));
        }
        if self.task.len() > Self::MAX_TASK_BYTES {
            return Err(TaskError::new("task", format!("is longer than {} bytes", Self::MAX_TASK_BYTES)));
        }
        let promise = self.ralph_promise.as_deref().map(str::trim);
        if self.task_type == TaskType::Ralph && promise.is_none_or(str::is_empty) {
            let problem = "is required for a task of type ralph: say what is true when it is done";
            return Err(TaskError::new("ralphPromise", problem));
        }
        self.validate_limits(caps)?;
        self.validate_texts()?;
        if self.tags.len() > Self::MAX_LIST {
            return Err(TaskError::new("tags", format!("has more than {} entries", Self::MAX_LIST)));
        }
        if self.depends_on.len() > Self::MAX_LIST {
            return Err(TaskError::new("dependsOn", format!("has more than {} entries", Self::MAX_LIST)));
        }
        if !(-1000..=1000).contains(&self.priority) {
            return Err(TaskError::new("priority", "must be between -1000 and 1000"));
        }
        self.ralph_plan_path.as_deref().map_or(Ok(()), validate_plan_path)
    }

    fn validate_limits(&self, caps: &crate::config::Caps) -> Result<(), TaskError> {
        if let Some(max) = self.ralph_max_iterations {
            if !(1..=Self::MAX_ITERATIONS).contains(&max) {
                let problem = format!("must be between 1 and {}", Self::MAX_ITERATIONS);
                return Err(TaskError::new("ralphMaxIterations", problem));
            }
            if max > caps.iterations {
                let problem = format!("is {max}, over this installation's cap of {} iterations", caps.iterations);
                return Err(TaskError::new("ralphMaxIterations", problem));
            }
        }
        match self.max_cost_usd {
            Some(cost) if cost > caps.loop_cost => Err(TaskError::new(
                "maxCostUsd",
                format!("is {cost}, over this installation's cap of {} for a loop", caps.loop_cost),
            )),
            _ => Ok(()),
        }
    }

    fn validate_texts(&self) -> Result<(), TaskError> {
        let texts = [
            ("agentId", &self.agent_id),
            ("repo", &self.repo),
            ("baseRef", &self.base_ref),
            ("ralphPromise", &self.ralph_promise),
            ("ralphPlanPath", &self.ralph_plan_path),
            ("verificationCommand", &self.verification_command),
        ];
        for (field, text) in texts.into_iter().filter_map(|(field, text)| text.as_ref().map(|text| (field, text))) {
            if text.trim().is_empty() {
                return Err(TaskError::new(field, "is empty: leave it out or give a value"));
            }
            if text.len() > Self::MAX_TEXT_BYTES {
                return Err(TaskError::new(field, format!("is longer than {} bytes", Self::MAX_TEXT_BYTES)));
            }
            if text.contains('\0') {
                return Err(TaskError::new(field, "contains a null character"));
            }
        }
        if self.agent_id.as_ref().is_some_and(|agent| agent.len() > 200 || agent.contains(char::is_control)) {
            return Err(TaskError::new("agentId", "is longer than 200 bytes or contains a control character"));
        }
        if self.tags.iter().any(|tag| tag.trim().is_empty() || tag.len() > 100 || tag.contains(char::is_control)) {
            let problem = "has an entry that is empty, longer than 100 bytes, or contains a control character";
            return Err(TaskError::new("tags", problem));
        }
        if self.task.contains('\0') {
            return Err(TaskError::new("task", "contains a null character"));
        }
        // Git would take a leading dash for an option.
        for (field, text) in [("repo", &self.repo), ("baseRef", &self.base_ref)] {
            if text.as_ref().is_some_and(|text| text.starts_with('-')) {
                return Err(TaskError::new(field, "must not begin with a dash"));
            }
        }
        Ok(())
    }
}

/// A plan is named by a relative path that stays inside the workspace. Symbolic links are the worker's to check.
fn validate_plan_path(path: &str) -> Result<(), TaskError> {
    let inside = !path.starts_with('/')
        && !path.contains('\\')
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    if inside {
        Ok(())
    } else {
        Err(TaskError::new("ralphPlanPath", "must be a relative path inside the workspace, without `..`"))
    }
}

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;
