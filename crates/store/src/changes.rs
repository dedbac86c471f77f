//! Notifications about what other tasks, processes and machines wrote.

use ralph_model::{RunId, TaskId, TaskStatus};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::chain::Seq;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Events {
        run: RunId,
        head: Seq,
    },
    Stop {
        run: RunId,
    },
    /// A task was created or changed. Workers that wait for a task look again when it can be claimed.
    Task {
        task: TaskId,
        status: TaskStatus,
    },
    /// An approval was asked for or answered.
    Approvals,
    /// A schedule was written, removed or has created a task.
    Schedules,
    /// Anything may have changed: look again at whatever you follow. Sent where the database does not say what changed, and
    /// where notifications may have been lost.
    Any,
}

impl Change {
    /// The text by which a server passes it on.
    pub(crate) fn encode(self) -> String {
        match self {
            Self::Events { run, head } => format!("{run} {head}"),
            Self::Stop { run } => format!("{run} stop"),
            Self::Task { task, status } => format!("task {task} {status}"),
            Self::Approvals => "approvals".to_owned(),
            Self::Schedules => "schedules".to_owned(),
            Self::Any => "any".to_owned(),
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "approvals" => return Some(Self::Approvals),
            "schedules" => return Some(Self::Schedules),
            _ => {}
        }
        let (first, what) = text.split_once(' ')?;
        if first == "task" {
            let (task, status) = what.split_once(' ')?;
            return Some(Self::Task { task: task.parse().ok()?, status: TaskStatus::parse(status)? });
        }
        let run = first.parse().ok()?;
        match what {
            "stop" => Some(Self::Stop { run }),
            head => Some(Self::Events { run, head: Seq(head.parse().ok()?) }),
        }
    }
}

/// The changes since [`crate::Store::subscribe`].
#[derive(Debug)]
pub struct Changes {
    receiver: broadcast::Receiver<Change>,
}

impl Changes {
    pub(crate) const fn new(receiver: broadcast::Receiver<Change>) -> Self {
        Self { receiver }
    }

    /// The next change, or none once the store is closed. Loses nothing when it is dropped.
    pub async fn next(&mut self) -> Option<Change> {
        match self.receiver.recv().await {
            Ok(change) => Some(change),
            // More was written than is kept for a slow subscriber.
            Err(RecvError::Lagged(_)) => Some(Change::Any),
            Err(RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
