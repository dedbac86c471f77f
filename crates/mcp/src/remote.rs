//! Tasks over the API of a server.

use async_trait::async_trait;
use ralph_api::{Client, Completion, Error, ProgressReport, TaskPage};
use ralph_model::{NewTask, Task, TaskId, TaskStatus};
use uuid::Uuid;

use crate::answer::Refused;
use crate::tasks::{Standing, Tasks};

/// Which server, and as whom.
#[derive(Debug, Clone)]
pub struct Remote {
    client: Client,
    own: Option<TaskId>,
}

impl Remote {
    /// With the task that the caller works on inside a worker, where it does.
    pub const fn new(client: Client, own: Option<TaskId>) -> Self {
        Self { client, own }
    }

    /// Whether the caller is the agent of a task.
    pub(crate) const fn is_of_task(&self) -> bool {
        self.own.is_some()
    }
}

/// What a server refuses is for the model to read as it is; the rest names what to set.
fn refused(error: Error) -> Refused {
    match error {
        Error::Refused(problem) => Refused::new(match &problem.field {
            Some(field) => format!("{field}: {problem}"),
            None => problem.to_string(),
        }),
        error => Refused::unanswered(format!("{error}\n  set RALPH_SERVER and RALPH_TOKEN for `ralph mcp`")),
    }
}

#[async_trait]
impl Tasks for Remote {
    async fn create(&self, new: &NewTask) -> Result<Task, Refused> {
        // One for each call: the client repeats a request whose answer was lost.
        let key = Uuid::now_v7().to_string();
        self.client.create_task(new, &key).await.map_err(refused)
    }

    async fn list(&self, statuses: &[TaskStatus], before: Option<TaskId>, limit: u32) -> Result<TaskPage, Refused> {
        self.client.tasks(statuses, before, limit).await.map_err(refused)
    }

    async fn get(&self, id: TaskId) -> Result<Task, Refused> {
        self.client.task(id).await.map_err(refused)
    }

    async fn cancel(&self, id: TaskId) -> Result<Task, Refused> {
        self.client.cancel_task(id).await.map_err(refused)
    }

    async fn note(&self, id: TaskId, message: String) -> Result<Task, Refused> {
        let report = ProgressReport { message: Some(message), ..ProgressReport::default() };
        self.client.progress(id, &report).await.map_err(refused)
    }

    async fn finish(&self, id: TaskId, completion: Completion) -> Result<Task, Refused> {
        self.client.complete(id, &completion).await.map_err(refused)
    }

    async fn standing(&self, id: TaskId) -> Result<Standing, Refused> {
        if self.own == Some(id) {
            return Ok(Standing::InsideWorker);
        }
        // The server knows whose task it is, and refuses this line from any other caller.
        self.note(id, "ralph-complete: the checks start".to_owned()).await?;
        Ok(Standing::Holder)
    }
}
