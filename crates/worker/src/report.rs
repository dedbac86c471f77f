//! What a worker tells the program that runs it.

use ralph_model::{Money, TaskId, TaskStatus, Timestamp};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerEvent {
    Started {
        name: String,
        /// How many tasks it works on at once.
        concurrency: u32,
    },
    Claimed {
        task: TaskId,
        epoch: u64,
    },
    /// The work on a task got further.
    Progress {
        task: TaskId,
        message: String,
    },
    Ended {
        task: TaskId,
        status: TaskStatus,
        verified: bool,
        iterations: u32,
        cost: Money,
        message: String,
    },
    Released {
        task: TaskId,
    },
    /// Another worker has the task now.
    Lost {
        task: TaskId,
    },
    /// Something went wrong; the worker continues.
    Warning {
        task: Option<TaskId>,
        message: String,
    },
    Stopping,
}

impl WorkerEvent {
    pub fn line(&self) -> String {
        let short = |task: &TaskId| {
            let id = task.to_string();
            id[id.len() - 8..].to_owned()
        };
        match self {
            Self::Started { name, concurrency: 1 } => format!("worker {name} waits for tasks"),
            Self::Started { name, concurrency } => {
                format!("worker {name} waits for tasks, up to {concurrency} at once")
            }
            Self::Claimed { task, epoch: 1 } => format!("[{}] claimed", short(task)),
            Self::Claimed { task, epoch } => format!("[{}] claimed (for the {epoch}. time)", short(task)),
            Self::Progress { task, message } => format!("[{}] {message}", short(task)),
            Self::Ended { task, status, message, .. } => format!("[{}] {status}: {message}", short(task)),
            Self::Released { task } => format!("[{}] released", short(task)),
            Self::Lost { task } => format!("[{}] another worker has it now", short(task)),
            Self::Warning { task: Some(task), message } => format!("[{}] warning: {message}", short(task)),
            Self::Warning { task: None, message } => format!("warning: {message}"),
            Self::Stopping => "stopping".to_owned(),
        }
    }

    pub fn json(&self, at: Timestamp) -> Value {
        let mut object = match self {
            Self::Started { name, concurrency } => {
                json!({"event": "started", "name": name, "concurrency": concurrency})
            }
            Self::Claimed { task, epoch } => json!({"event": "claimed", "taskId": task, "epoch": epoch}),
            Self::Progress { task, message } => json!({"event": "progress", "taskId": task, "message": message}),
            Self::Ended { task, status, verified, iterations, cost, message } => json!({
                "event": "ended", "taskId": task, "status": status, "verified": verified, "iterations": iterations,
                "costUsd": cost.to_json_number(), "message": message,
            }),
            Self::Released { task } => json!({"event": "released", "taskId": task}),
            Self::Lost { task } => json!({"event": "lost", "taskId": task}),
            Self::Warning { task, message } => json!({"event": "warning", "taskId": task, "message": message}),
            Self::Stopping => json!({"event": "stopping"}),
        };
        object["at"] = json!(at.rfc3339());
        object
    }
}
