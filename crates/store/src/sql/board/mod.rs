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

use ralph_model::{Checkpoint, Millis, NewTask, RunId, Task, TaskId, Timestamp};

use super::session::{Backend, Durability, Session};
use super::{SqlStore, artifacts, transaction};
use crate::board::{
    AgentEntry, Approval, ApprovalStatus, Claim, Claimed, Progress, Reminder, Renewed, Schedule, StatusCount,
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

/// Tasks and what belongs to them.
///
/// As with [`crate::Store`], a call that writes returns when its transaction is durable. `Error::UnknownTask`,
/// `Error::StaleTaskLease` and `Error::TaskConflict` say why nothing was changed. [`crate::Store::subscribe`] of the same
/// database notifies of changes. Ids of tasks are of UUID version 7: the order of the ids is the order of creation.
impl SqlStore {
    /// Creates a task. A second call with the same idempotency key and the same content within a day returns the task of the
    /// first one. The flag says whether it was created now. A task that depends on one that failed or was cancelled fails at
    /// once. Limits that `new` leaves out are the defaults of [`NewTask`]; the caps of an installation are the caller's.
    ///
    /// # Errors
    /// The key was used for other content, or a task that it depends on does not exist.
    pub async fn create_task(
        &self,
        id: TaskId,
        new: &NewTask,
        key: Option<&str>,
        at: Timestamp,
    ) -> Result<(Task, bool)> {
        if key.is_none() && new.depends_on.is_empty() && new.tags.is_empty() {
            return Ok((tasks::create_alone(&self.backend, id, new, at).await?, true));
        }
        transaction!(self.write("create a task"), tasks::create(id, new, key, at))
    }

    pub async fn task(&self, id: TaskId) -> Result<Task> {
        Ok(row::get(&mut self.read("read a task").await?, id).await?.task)
    }

    /// Lists tasks, newest first.
    pub async fn tasks(&self, filter: &TaskFilter) -> Result<Vec<Task>> {
        tasks::list(&mut self.read("list tasks").await?, filter).await
    }

    /// How many tasks have each status, those with none included.
    pub async fn task_counts(&self) -> Result<Vec<StatusCount>> {
        tasks::counts(&mut self.read("count tasks").await?).await
    }

    pub async fn change_task(&self, id: TaskId, change: &TaskChange, at: Timestamp) -> Result<Task> {
        transaction!(self.write("change a task"), tasks::change(id, change, at))
    }

    /// Adds a comment to a task, whether it has ended or not. A second call with the same key and comment changes nothing.
    pub async fn comment_task(&self, id: TaskId, comment: &str, key: &str, at: Timestamp) -> Result<Task> {
        transaction!(self.write("comment on a task"), tasks::comment(id, comment, key, at))
    }

    /// Ends a task that no worker holds, or asks the worker that holds it to end it: then the task is cancelled when the
    /// worker finishes or releases it, or when its lease expires. A task that has ended stays as it is, and that is an error.
    pub async fn cancel_task(&self, id: TaskId, at: Timestamp) -> Result<Task> {
        transaction!(self.write("cancel a task"), tasks::cancel(id, at))
    }

    /// Claims the most urgent task that this agent may work on: highest priority, then oldest, all that it depends on
    /// completed. No task is ever claimed by two. Leases that expired are cleaned up on the way: their tasks can be claimed
    /// again, and after the third death the task fails as quarantined.
    pub async fn claim_task(&self, claim: &Claim) -> Result<Option<Claimed>> {
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

    /// Keeps a lease. Fails once it is stale: a lease past its time counts until [`Self::expire_leases`] or a claim of
    /// another worker takes it away, because its worker lives after all.
    pub async fn renew_lease(&self, lease: TaskLease, for_span: Millis, at: Timestamp) -> Result<Renewed> {
        // Lost with the power, it only expires earlier.
        transaction!(
            Session::single(&self.backend, "renew a lease", Durability::ProcessDeath),
            leases::renew(lease, for_span, at)
        )
    }

    pub async fn task_holder(&self, id: TaskId) -> Result<Option<TaskHolder>> {
        leases::holder(&mut self.read("read a lease").await?, id).await
    }

    /// Records how far the work is.
    pub async fn report_progress(&self, lease: TaskLease, progress: &Progress, at: Timestamp) -> Result<Task> {
        transaction!(self.write("record progress"), leases::progress(lease, progress, at))
    }

    /// Records a checkpoint, or clears the one there is.
    pub async fn set_checkpoint(
        &self,
        lease: TaskLease,
        checkpoint: Option<&Checkpoint>,
        at: Timestamp,
    ) -> Result<Task> {
        transaction!(self.write("record a checkpoint"), leases::set_checkpoint(lease, checkpoint, at))
    }

    /// Ends the work on a task. Calling again with the same lease and status returns the task as it is, for a worker that did
    /// not get the first answer. A completed task unblocks those that depend on it; any other end fails them.
    pub async fn finish_task(&self, lease: TaskLease, end: &TaskEnd, at: Timestamp) -> Result<Task> {
        transaction!(self.write("finish a task"), leases::finish(lease, end, at))
    }

    /// Gives a task back unfinished; another worker continues its run. No death is counted.
    pub async fn release_task(&self, lease: TaskLease, at: Timestamp) -> Result<Task> {
        transaction!(self.write("release a task"), leases::release(lease, at))
    }

    /// Makes tasks whose lease expired claimable again, and returns how many there were. Also forgets old idempotency keys.
    pub async fn expire_leases(&self, at: Timestamp) -> Result<u64> {
        let expired = self.expire_all(at).await?;
        if tasks::has_old_keys(&mut self.read("look for old idempotency keys").await?, at).await? {
            let mut session = self.write("forget old idempotency keys").await?;
            tasks::forget_keys(&mut session, at).await?;
            session.commit(()).await?;
        }
        Ok(expired)
    }

    /// Forgets the events of tasks that ended before this time, some hundred tasks at once, and returns how many events there
    /// were. The tasks themselves stay.
    pub async fn forget_events(&self, ended_before: Timestamp) -> Result<u64> {
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

    /// The events of a task after `seq`, at most `limit`.
    pub async fn task_events(&self, id: TaskId, seq: u64, limit: u32) -> Result<Vec<TaskEvent>> {
        tasks::events(&mut self.read("read the events of a task").await?, id, seq, limit).await
    }

    /// Notes that an agent is there, and the token of a worker that it belongs to from then on. A claim does not, so that it stays
    /// small.
    pub async fn touch_agent(&self, id: &str, token: Option<&str>, at: Timestamp) -> Result<AgentEntry> {
        let mut session = Session::write(&self.backend, "note an agent", Durability::ProcessDeath).await?;
        agents::touch(&mut session, id, token, at).await?;
        let agent = agents::get(&mut session, id).await?;
        session.commit(agent).await
    }

    /// All agents, the last heard of first.
    pub async fn agents(&self, limit: u32) -> Result<Vec<AgentEntry>> {
        transaction!(self.snapshot("list agents"), agents::list(limit))
    }

    /// Records a question for a person. Asking again with the same id changes nothing.
    pub async fn ask_approval(&self, approval: &Approval) -> Result<Approval> {
        transaction!(self.write("ask for an approval"), approvals::ask(approval))
    }

    /// Answers a question that is pending and has not expired.
    pub async fn answer_approval(
        &self,
        id: &str,
        answer: ApprovalStatus,
        comment: Option<&str>,
        at: Timestamp,
    ) -> Result<Approval> {
        transaction!(self.write("answer an approval"), approvals::answer(id, answer, comment, at))
    }

    /// One approval; one that expired by `at` says so.
    pub async fn approval(&self, id: &str, at: Timestamp) -> Result<Approval> {
        approvals::get(&mut self.read("read an approval").await?, id, at).await
    }

    /// Approvals, newest first; only pending ones if asked for.
    pub async fn approvals(&self, only_pending: bool, limit: u32, at: Timestamp) -> Result<Vec<Approval>> {
        approvals::list(&mut self.read("list approvals").await?, only_pending, limit, at).await
    }

    /// Writes a schedule, new or changed. What it created last stays: only [`Self::fire_schedule`] writes that.
    pub async fn put_schedule(&self, schedule: &Schedule) -> Result<()> {
        transaction!(self.write("write a schedule"), schedules::put(schedule))
    }

    /// Removes a schedule, and returns whether there was one.
    pub async fn remove_schedule(&self, id: &str) -> Result<bool> {
        transaction!(self.write("remove a schedule"), schedules::remove(id))
    }

    pub async fn schedules(&self) -> Result<Vec<Schedule>> {
        schedules::list(&mut self.read("list schedules").await?).await
    }

    /// Creates the task of a schedule that is due and moves the schedule on to `next`, in one transaction. Only the first of
    /// several servers that try at once succeeds: the schedule still has to be due at `due`. While no worker has claimed the task
    /// that it created last, the schedule only moves on: it never fills the queue.
    pub async fn fire_schedule(
        &self,
        id: &str,
        due: Timestamp,
        next: Option<Timestamp>,
        task: TaskId,
        at: Timestamp,
    ) -> Result<Option<Task>> {
        transaction!(self.write("create the task of a schedule"), schedules::fire(id, due, next, task, at))
    }

    /// Records a reminder. One with the same id stays as it is.
    pub async fn put_reminder(&self, reminder: &Reminder) -> Result<()> {
        transaction!(self.write("record a reminder"), reminders::put(reminder))
    }

    /// The reminders that are due, the oldest first, some hundred at most.
    pub async fn due_reminders(&self, at: Timestamp) -> Result<Vec<Reminder>> {
        reminders::due(&mut self.read("look for reminders").await?, at).await
    }

    /// Moves a reminder on, and returns whether it was still due when it was found: only then may its finder send it. One that is
    /// not removed afterwards is due again.
    pub async fn postpone_reminder(&self, reminder: &Reminder, until: Timestamp) -> Result<bool> {
        transaction!(self.write("take a reminder"), reminders::postpone(reminder, until))
    }

    /// Removes a reminder, and returns whether there was one.
    pub async fn remove_reminder(&self, id: &str) -> Result<bool> {
        transaction!(self.write("remove a reminder"), reminders::remove(id))
    }

    /// Whether servers on several machines can share this database, so that files which they are sent belong into it.
    pub fn is_shared(&self) -> bool {
        matches!(self.backend, Backend::Postgres(_))
    }

    /// Keeps a piece of a file that is recorded for a run. Pieces count from 0, and the file is there once piece 0 is.
    pub async fn put_part(&self, file: (RunId, &str), part: u32, content: Vec<u8>, at: Timestamp) -> Result<()> {
        transaction!(
            Session::single(&self.backend, "keep a file", Durability::PowerLoss),
            artifacts::put_part(file, part, content, at)
        )
    }

    pub async fn part(&self, run: RunId, sha256: &str, part: u32) -> Result<Option<Vec<u8>>> {
        artifacts::part(&mut self.read("read a file").await?, run, sha256, part).await
    }

    /// Forgets files that were kept before a time, and returns how many pieces.
    pub async fn forget_parts(&self, before: Timestamp) -> Result<u64> {
        transaction!(
            Session::single(&self.backend, "forget old files", Durability::PowerLoss),
            artifacts::forget_parts(before)
        )
    }

    /// Records a token by the SHA-256 of its secret, in hexadecimal. That of a task ends with the lease it names.
    pub async fn add_token(&self, token: &Token, hash: &str) -> Result<()> {
        transaction!(self.write("record a token"), tokens::add(token, hash))
    }

    pub async fn token(&self, hash: &str) -> Result<Option<Token>> {
        tokens::get(&mut self.read("look for a token").await?, hash).await
    }

    /// All tokens of people and workers, by name. Those of single tasks are left out.
    pub async fn tokens(&self) -> Result<Vec<Token>> {
        tokens::list(&mut self.read("list tokens").await?).await
    }

    /// Removes a token by its name, and returns whether there was one.
    pub async fn revoke_token(&self, name: &str) -> Result<bool> {
        transaction!(self.write("revoke a token"), tokens::revoke(name))
    }
}
