//! A worker: asks for tasks, works on several at once, and ends when it is asked to or when nothing is left.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ralph_api::{Client, Error as ApiError, Poll};
use ralph_config::trust::Asking;
use ralph_config::{Dollars, Layer};
use ralph_host::{Host, RunRequest};
use ralph_model::{Money, TaskId, TaskStatus, TaskType, Timestamp};
use ralph_runtime::Home;
use ralph_text::Redactor;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::git::Git;
use crate::job::Job;
use crate::place;
use crate::report::WorkerEvent;
use crate::source::Source;

/// How long one request for a task waits at the server.
const WAIT_SECONDS: u32 = 30;
/// How long a server that does not answer is left alone.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// The same at the start, at most: each pause is twice as long as the one before.
const MAX_START_PAUSE: Duration = Duration::from_secs(30);
/// How often a slot without a task looks again while others work, in a worker that ends when nothing is left.
const DRAIN_INTERVAL: Duration = Duration::from_millis(300);
/// How often files of tasks that others completed are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

pub struct WorkerOptions {
    pub host: Host,
    pub client: Client,
    pub name: String,
    pub concurrency: u32,
    /// The folder of tasks without a repository; without one such tasks are left to others.
    pub workspace: Option<PathBuf>,
    pub settings: Layer,
    pub drain: bool,
    pub allow_secrets: bool,
    /// How long the server waits for a worker that it does not hear of.
    pub lease_seconds: u32,
    pub now: fn() -> Timestamp,
    pub report: Arc<dyn Fn(WorkerEvent)>,
    /// Ends the worker: its tasks are released.
    pub stop: CancellationToken,
}

pub struct Worker {
    pub(crate) options: WorkerOptions,
    pub(crate) git: Git,
    /// Finds secrets in the work; none where they may be pushed.
    pub(crate) redactor: Option<Arc<Redactor>>,
    working: RefCell<Vec<TaskId>>,
}

impl Worker {
    /// Looks whether this machine can work on tasks at all: a worker without its agent would fail every task.
    pub async fn new(mut options: WorkerOptions) -> Result<Self, Error> {
        options.lease_seconds = options.lease_seconds.clamp(5, 600);
        options.concurrency = options.concurrency.max(1);
        let host = &options.host;
        let git = Git::new(host)?;
        if let Some(folder) = &options.workspace {
            let workspace = ralph_host::workspace(Some(folder), &host.current)?;
            Source::of_workspace(host, &git, &workspace).await?;
            options.workspace = Some(workspace);
        }
        let host = &options.host;
        let empty = host.dirs.state.join("tasks");
        Home::make_private(&empty)?;
        let settings = Layer {
            max_iterations: Some(1),
            max_cost_usd: Some(Dollars(Money::from_micros(1_000_000))),
            ..options.settings.clone()
        };
        let request =
            RunRequest { settings, objective: "-".to_owned(), workspace: Some(empty), ..RunRequest::default() };
        let prepared = host.prepare(request, Asking::Nobody).await?;
        for message in prepared.warnings {
            (options.report)(WorkerEvent::Warning { task: None, message });
        }
        let redactor = (!options.allow_secrets).then(|| host.redactor());
        Ok(Self { options, git, redactor, working: RefCell::default() })
    }

    /// Works until it is stopped, or until nothing is left to claim where that was asked for. A server that is away is waited for.
    ///
    /// # Errors
    /// When the server refuses this worker, or the address is not that of a server.
    pub async fn run(&self) -> Result<(), Error> {
        if !self.register().await? {
            self.tell(WorkerEvent::Stopping);
            return Ok(());
        }
        self.tell(WorkerEvent::Started { name: self.options.name.clone(), concurrency: self.options.concurrency });
        if self.options.drain && self.options.workspace.is_none() {
            let message =
                "tasks without a repository are left to others: --workspace DIR works on them, too".to_owned();
            self.tell(WorkerEvent::Warning { task: None, message });
        }
        let stopping = async {
            self.options.stop.cancelled().await;
            self.tell(WorkerEvent::Stopping);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = join_all((0..self.options.concurrency).map(|_| self.slot())) => {}
            () = stopping => {}
            () = self.sweep() => {}
        }
        Ok(())
    }

    /// Removes what is left of tasks that other workers have completed meanwhile: a worker that died or lost a task left its files here
    /// for the next one. Those of tasks that ended otherwise stay, because nobody else may have them. Never returns.
    async fn sweep(&self) {
        let host = &self.options.host;
        loop {
            for task in place::found(host) {
                let status = self.options.client.task(task).await.map(|task| task.status);
                if matches!(status, Ok(TaskStatus::Completed)) && !self.working.borrow().contains(&task) {
                    tracing::debug!(%task, "what is left of a task is removed");
                    place::clear(host, task, None).await;
                }
            }
            tokio::time::sleep(SWEEP_INTERVAL).await;
        }
    }

    /// Tells the server of this worker, as soon as it is there. Whether it knows by now; it does not after a stop.
    async fn register(&self) -> Result<bool, Error> {
        let mut pause = RETRY_INTERVAL / 2;
        loop {
            let registered = tokio::select! {
                biased;
                () = self.options.stop.cancelled() => return Ok(false),
                registered = self.options.client.register(&self.options.name) => registered,
            };
            match registered {
                Ok(_) => return Ok(true),
                Err(error) if error.is_passing() && !matches!(error, ApiError::NoWay { .. }) => {
                    if pause < RETRY_INTERVAL {
                        let message = format!("{error} The worker waits for it");
                        self.tell(WorkerEvent::Warning { task: None, message });
                    }
                }
                Err(error) => return Err(error.into()),
            }
            self.pause(pause).await;
            pause = (pause * 2).min(MAX_START_PAUSE);
        }
    }

    /// Works on one task after the other.
    async fn slot(&self) {
        let mut types = vec![TaskType::Ralph, TaskType::Single];
        if self.options.host.has_models(self.options.settings.model.as_deref()) {
            types.push(TaskType::Crew);
        }
        let wait_seconds = if self.options.drain { 0 } else { WAIT_SECONDS };
        let poll = Poll {
            types: Some(types),
            without_repo: self.options.workspace.is_some(),
            wait_seconds,
            lease_seconds: self.options.lease_seconds,
            ..Poll::new(self.options.name.clone())
        };
        let mut is_warned = false;
        while !self.options.stop.is_cancelled() {
            let claimed = tokio::select! {
                biased;
                // The server takes a task back when its answer is not read.
                () = self.options.stop.cancelled() => return,
                claimed = self.options.client.poll(&poll) => claimed,
            };
            match claimed {
                Ok(Some(work)) => {
                    is_warned = false;
                    let task = work.task.id;
                    self.working.borrow_mut().push(task);
                    Job::new(self, work).run().await;
                    let mut working = self.working.borrow_mut();
                    if let Some(at) = working.iter().position(|known| *known == task) {
                        working.swap_remove(at);
                    }
                }
                // What is worked on here may make more claimable.
                Ok(None) if self.options.drain && self.working.borrow().is_empty() => return,
                Ok(None) if self.options.drain => self.pause(DRAIN_INTERVAL).await,
                Ok(None) => is_warned = false,
                Err(error) => {
                    if !std::mem::replace(&mut is_warned, true) {
                        self.tell(WorkerEvent::Warning { task: None, message: error.to_string() });
                    }
                    self.pause(RETRY_INTERVAL).await;
                }
            }
        }
    }

    async fn pause(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.options.stop.cancelled() => {}
        }
    }

    pub(crate) fn tell(&self, event: WorkerEvent) {
        (self.options.report)(event);
    }
}
