//! Tasks on the board of the server that this runs in.

use async_trait::async_trait;
use ralph_api::{Completion, TaskPage};
use ralph_model::{Caps, NewTask, Task, TaskId, TaskStatus, Timestamp};
use ralph_server::Caller;
use ralph_store::{BoardHandle, Epoch, Error, Progress, Role, TaskEnd, TaskFilter, TaskHolder, TaskLease};
use uuid::Uuid;

use crate::answer::Refused;
use crate::tasks::{Standing, Tasks};

pub(crate) struct Local {
    pub(crate) board: BoardHandle,
    pub(crate) caps: Caps,
    pub(crate) now: fn() -> Timestamp,
    pub(crate) caller: Caller,
}

impl Local {
    fn require_admin(&self) -> Result<(), Refused> {
        match self.caller.role {
            Role::Admin => Ok(()),
            Role::Agent | Role::Task { .. } => Err(Refused::new("this needs a token of role admin")),
        }
    }

    /// The lease under which the caller writes to a task.
    async fn lease(&self, id: TaskId) -> Result<TaskLease, Refused> {
        match &self.caller.role {
            Role::Task { task_id, epoch } if *task_id == id => Ok(TaskLease { task: id, epoch: Epoch(*epoch) }),
            Role::Agent => match self.board.task_holder(id).await.map_err(refused)? {
                Some(TaskHolder { lease, agent, token })
                    if agent == self.caller.name && token.as_ref().is_none_or(|token| *token == self.caller.name) =>
                {
                    Ok(lease)
                }
                Some(_) | None => Err(not_assigned(id)),
            },
            Role::Task { .. } | Role::Admin => Err(not_assigned(id)),
        }
    }
}

fn not_assigned(id: TaskId) -> Refused {
    Refused::new(format!(
        "task {id} is not assigned to you: only the token of the task, or of the agent that holds it, can report on it"
    ))
}

fn refused(error: Error) -> Refused {
    match error {
        Error::UnknownTask { task, .. } => Refused::new(format!("there is no task {task}: get-tasks lists them")),
        error => Refused::new(error.to_string()),
    }
}

#[async_trait]
impl Tasks for Local {
    async fn create(&self, new: &NewTask) -> Result<Task, Refused> {
        self.require_admin()?;
        new.validate(&self.caps).map_err(|error| Refused::new(error.to_string()))?;
        let id = TaskId::from_uuid(Uuid::now_v7());
        self.board.create_task(id, new, None, (self.now)()).await.map(|(task, _)| task).map_err(refused)
    }

    async fn list(&self, statuses: &[TaskStatus], before: Option<TaskId>, limit: u32) -> Result<TaskPage, Refused> {
        if matches!(self.caller.role, Role::Task { .. }) {
            return Err(Refused::new("this token is for one task alone: use get-task"));
        }
        // One more shows whether there is another page.
        let filter = TaskFilter { statuses: statuses.to_vec(), before, limit: limit + 1, ..TaskFilter::default() };
        Ok(TaskPage::new(self.board.tasks(&filter).await.map_err(refused)?, limit))
    }

    async fn get(&self, id: TaskId) -> Result<Task, Refused> {
        match self.caller.role {
            Role::Task { task_id, .. } if task_id != id => Err(not_assigned(id)),
            Role::Task { .. } | Role::Agent | Role::Admin => self.board.task(id).await.map_err(refused),
        }
    }

    async fn cancel(&self, id: TaskId) -> Result<Task, Refused> {
        self.require_admin()?;
        self.board.cancel_task(id, (self.now)()).await.map_err(refused)
    }

    async fn note(&self, id: TaskId, message: String) -> Result<Task, Refused> {
        let lease = self.lease(id).await?;
        let progress = Progress { message: Some(message), ..Progress::default() };
        self.board.report_progress(lease, &progress, (self.now)()).await.map_err(refused)
    }

    async fn finish(&self, id: TaskId, completion: Completion) -> Result<Task, Refused> {
        if self.standing(id).await? == Standing::InsideWorker {
            return self.note(id, completion.claim()).await;
        }
        let lease = self.lease(id).await?;
        let task = self.board.task(id).await.map_err(refused)?;
        let end = TaskEnd {
            status: completion.status,
            output: completion.output,
            failure_reason: completion.failure_reason,
            verified: completion.verified,
            iterations: completion.iterations.unwrap_or(task.ralph_iterations),
            cost: completion.cost_usd.unwrap_or(task.cost_usd),
        };
        self.board.finish_task(lease, &end, (self.now)()).await.map_err(refused)
    }

    async fn standing(&self, id: TaskId) -> Result<Standing, Refused> {
        self.lease(id).await?;
        Ok(match self.caller.role {
            Role::Task { .. } => Standing::InsideWorker,
            Role::Agent | Role::Admin => Standing::Holder,
        })
    }
}
