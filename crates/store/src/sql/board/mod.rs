//! The board in a SQL database. Every call that changes a task locks its row first, and rows of several tasks in the order of
//! their ids.

mod agents;
mod approvals;
mod ends;
mod leases;
mod reminders;
mod row;
mod schedules;
mod tasks;
mod tokens;

use async_trait::async_trait;
use ralph_model::{Checkpoint, Millis, NewTask, RunId, Task, TaskId, Timestamp};

use super::session::{Backend, Durability, Session};
use super::{SqlStore, artifacts, transaction};
use crate::board::{
    AgentEntry, Approval, ApprovalStatus, Board, Claim, Claimed, Progress, Reminder, Renewed, Schedule, StatusCount,
    TaskChange, TaskEnd, TaskEvent, TaskFilter, TaskHolder, TaskLease, Token,
};
use crate::error::Result;

/// How often a claim looks again where other workers took all that it had seen.
const MAX_LOOKS: u32 = 8;

impl SqlStore {
    /// Claims a task from the first of these queues that still has one.
    async fn claim_from(&self, queues: &[String], claim: &Claim) -> Result<Option<Claimed>> {
        for queue in queues {
            let mut session = Session::single(&self.backend, "claim a task", Durability::PowerLoss).await?;
            let claimed = leases::claim_from(&mut session, queue, claim).await?;
            if claimed.is_some() {
                return session.commit(claimed).await;
            }
            session.commit(()).await?;
        }
        Ok(None)
    }

    /// One transaction for each task: a worker that died must not keep others waiting.
    async fn expire_all(&self, at: Timestamp) -> Result<u64> {
        let mut expired = 0;
        while leases::has_expired(&mut self.read("look for expired leases").await?, at).await? {
            let mut session = self.write("take a task from a dead worker").await?;
            let found = leases::expire_one(&mut session, at).await?;
            session.commit(()).await?;
            if !found {
                break; // another process has it in hand
            }
            expired += 1;
        }
        Ok(expired)
    }
}

#[async_trait]
impl Board for SqlStore {
    async fn create_task(&self, id: TaskId, new: &NewTask, key: Option<&str>, at: Timestamp) -> Result<(Task, bool)> {
        if key.is_none() && new.depends_on.is_empty() && new.tags.is_empty() {
            return Ok((tasks::create_alone(&self.backend, id, new, at).await?, true));
        }
        transaction!(self.write("create a task"), tasks::create(id, new, key, at))
    }

    async fn task(&self, id: TaskId) -> Result<Task> {
        Ok(row::get(&mut self.read("read a task").await?, id).await?.task)
    }

    async fn tasks(&self, filter: &TaskFilter) -> Result<Vec<Task>> {
        tasks::list(&mut self.read("list tasks").await?, filter).await
    }

    async fn task_counts(&self) -> Result<Vec<StatusCount>> {
        tasks::counts(&mut self.read("count tasks").await?).await
    }

    async fn change_task(&self, id: TaskId, change: &TaskChange, at: Timestamp) -> Result<Task> {
        transaction!(self.write("change a task"), tasks::change(id, change, at))
    }

    async fn comment_task(&self, id: TaskId, comment: &str, key: &str, at: Timestamp) -> Result<Task> {
        transaction!(self.write("comment on a task"), tasks::comment(id, comment, key, at))
    }

    async fn cancel_task(&self, id: TaskId, at: Timestamp) -> Result<Task> {
        transaction!(self.write("cancel a task"), tasks::cancel(id, at))
    }

    async fn claim_task(&self, claim: &Claim) -> Result<Option<Claimed>> {
        for _ in 0..MAX_LOOKS {
            // Looking needs no lock: a worker that waits for tasks does not disturb those that write.
            let heads = leases::heads(&mut self.read("look for a task").await?, claim).await?;
            if heads.has_expired && self.expire_all(claim.at).await? > 0 {
                continue;
            }
            if heads.queues.is_empty() {
                return Ok(None);
            }
            if let Some(claimed) = self.claim_from(&heads.queues, claim).await? {
                return Ok(Some(claimed));
            }
        }
        Ok(None)
    }

    async fn renew_lease(&self, lease: TaskLease, for_span: Millis, at: Timestamp) -> Result<Renewed> {
        // Lost with the power, it only expires earlier.
        transaction!(
            Session::single(&self.backend, "renew a lease", Durability::ProcessDeath),
            leases::renew(lease, for_span, at)
        )
    }

    async fn task_holder(&self, id: TaskId) -> Result<Option<TaskHolder>> {
        leases::holder(&mut self.read("read a lease").await?, id).await
    }

    async fn report_progress(&self, lease: TaskLease, progress: &Progress, at: Timestamp) -> Result<Task> {
        transaction!(self.write("record progress"), leases::progress(lease, progress, at))
    }

    async fn set_checkpoint(&self, lease: TaskLease, checkpoint: Option<&Checkpoint>, at: Timestamp) -> Result<Task> {
        transaction!(self.write("record a checkpoint"), leases::set_checkpoint(lease, checkpoint, at))
    }

    async fn finish_task(&self, lease: TaskLease, end: &TaskEnd, at: Timestamp) -> Result<Task> {
        transaction!(self.write("finish a task"), leases::finish(lease, end, at))
    }

    async fn release_task(&self, lease: TaskLease, at: Timestamp) -> Result<Task> {
        transaction!(self.write("release a task"), leases::release(lease, at))
    }

    async fn expire_leases(&self, at: Timestamp) -> Result<u64> {
        let expired = self.expire_all(at).await?;
        if tasks::has_old_keys(&mut self.read("look for old idempotency keys").await?, at).await? {
            let mut session = self.write("forget old idempotency keys").await?;
            tasks::forget_keys(&mut session, at).await?;
            session.commit(()).await?;
        }
        Ok(expired)
    }

    async fn forget_events(&self, ended_before: Timestamp) -> Result<u64> {
        let (mut after, mut forgotten) = (String::new(), 0);
        loop {
            let range =
                tasks::with_old_events(&mut self.read("look for old events").await?, &after, ended_before).await?;
            let Some((first, last)) = range else { return Ok(forgotten) };
            let mut session = self.write("forget old events").await?;
            let count = tasks::forget_events(&mut session, &first, &last, ended_before).await?;
            forgotten += session.commit(count).await?;
            after = last;
        }
    }

    async fn task_events(&self, id: TaskId, seq: u64, limit: u32) -> Result<Vec<TaskEvent>> {
        tasks::events(&mut self.read("read the events of a task").await?, id, seq, limit).await
    }

    async fn touch_agent(&self, id: &str, token: Option<&str>, at: Timestamp) -> Result<AgentEntry> {
        let mut session = Session::write(&self.backend, "note an agent", Durability::ProcessDeath).await?;
        agents::touch(&mut session, id, token, at).await?;
        let agent = agents::get(&mut session, id).await?;
        session.commit(agent).await
    }

    async fn agents(&self, limit: u32) -> Result<Vec<AgentEntry>> {
        transaction!(self.snapshot("list agents"), agents::list(limit))
    }

    async fn ask_approval(&self, approval: &Approval) -> Result<Approval> {
        transaction!(self.write("ask for an approval"), approvals::ask(approval))
    }

    async fn answer_approval(
        &self,
        id: &str,
        answer: ApprovalStatus,
        comment: Option<&str>,
        at: Timestamp,
    ) -> Result<Approval> {
        transaction!(self.write("answer an approval"), approvals::answer(id, answer, comment, at))
    }

    async fn approval(&self, id: &str, at: Timestamp) -> Result<Approval> {
        approvals::get(&mut self.read("read an approval").await?, id, at).await
    }

    async fn approvals(&self, only_pending: bool, limit: u32, at: Timestamp) -> Result<Vec<Approval>> {
        approvals::list(&mut self.read("list approvals").await?, only_pending, limit, at).await
    }

    async fn put_schedule(&self, schedule: &Schedule) -> Result<()> {
        transaction!(self.write("write a schedule"), schedules::put(schedule))
    }

    async fn remove_schedule(&self, id: &str) -> Result<bool> {
        transaction!(self.write("remove a schedule"), schedules::remove(id))
    }

    async fn schedules(&self) -> Result<Vec<Schedule>> {
        schedules::list(&mut self.read("list schedules").await?).await
    }

    async fn fire_schedule(
        &self,
        id: &str,
        due: Timestamp,
        next: Option<Timestamp>,
        task: TaskId,
        at: Timestamp,
    ) -> Result<Option<Task>> {
        transaction!(self.write("create the task of a schedule"), schedules::fire(id, due, next, task, at))
    }

    async fn put_reminder(&self, reminder: &Reminder) -> Result<()> {
        transaction!(self.write("record a reminder"), reminders::put(reminder))
    }

    async fn due_reminders(&self, at: Timestamp) -> Result<Vec<Reminder>> {
        reminders::due(&mut self.read("look for reminders").await?, at).await
    }

    async fn postpone_reminder(&self, reminder: &Reminder, until: Timestamp) -> Result<bool> {
        transaction!(self.write("take a reminder"), reminders::postpone(reminder, until))
    }

    async fn remove_reminder(&self, id: &str) -> Result<bool> {
        transaction!(self.write("remove a reminder"), reminders::remove(id))
    }

    fn is_shared(&self) -> bool {
        matches!(self.backend, Backend::Postgres(_))
    }

    async fn put_part(&self, file: (RunId, &str), part: u32, content: Vec<u8>, at: Timestamp) -> Result<()> {
        transaction!(
            Session::single(&self.backend, "keep a file", Durability::PowerLoss),
            artifacts::put_part(file, part, content, at)
        )
    }

    async fn part(&self, run: RunId, sha256: &str, part: u32) -> Result<Option<Vec<u8>>> {
        artifacts::part(&mut self.read("read a file").await?, run, sha256, part).await
    }

    async fn forget_parts(&self, before: Timestamp) -> Result<u64> {
        transaction!(
            Session::single(&self.backend, "forget old files", Durability::PowerLoss),
            artifacts::forget_parts(before)
        )
    }

    async fn add_token(&self, token: &Token, hash: &str) -> Result<()> {
        transaction!(self.write("record a token"), tokens::add(token, hash))
    }

    async fn token(&self, hash: &str) -> Result<Option<Token>> {
        tokens::get(&mut self.read("look for a token").await?, hash).await
    }

    async fn tokens(&self) -> Result<Vec<Token>> {
        tokens::list(&mut self.read("list tokens").await?).await
    }

    async fn revoke_token(&self, name: &str) -> Result<bool> {
        transaction!(self.write("revoke a token"), tokens::revoke(name))
    }
}
