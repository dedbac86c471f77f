//! Tasks as the tools use them: over the API of a server, or on the board inside one. Both refuse what the other refuses.

use async_trait::async_trait;
use ralph_api::{Completion, TaskPage};
use ralph_model::{NewTask, Task, TaskId, TaskStatus};

use crate::answer::Refused;

/// How a caller stands to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is the agent inside a worker: what it says is a claim, and the worker verifies.
    InsideWorker,
    Holder,
}

/// What a caller may do with tasks.
#[async_trait]
pub(crate) trait Tasks: Send + Sync {
    async fn create(&self, new: &NewTask) -> Result<Task, Refused>;

    /// Tasks, newest first.
    async fn list(&self, statuses: &[TaskStatus], before: Option<TaskId>, limit: u32) -> Result<TaskPage, Refused>;

    async fn get(&self, id: TaskId) -> Result<Task, Refused>;

    /// Ends a task, or asks the worker that holds it to.
    async fn cancel(&self, id: TaskId) -> Result<Task, Refused>;

    /// Records a line about a task that the caller holds.
    async fn note(&self, id: TaskId, message: String) -> Result<Task, Refused>;

    /// Ends a task that the caller holds. From inside a worker it is recorded as a claim.
    async fn finish(&self, id: TaskId, completion: Completion) -> Result<Task, Refused>;

    /// How the caller stands to a task; refused where it is not the caller's.
    async fn standing(&self, id: TaskId) -> Result<Standing, Refused>;
}
