//! What others see of the work on a task while it is done: progress, the branch, logs and patches. Beside the loop, which waits for
//! none of it.

use std::collections::HashSet;
use std::path::PathBuf;

use ralph_api::{Client, ProgressReport, Work};
use ralph_engine::Facts;
use ralph_model::{Iteration, LoopId, Money, Task, TreeHash};
use ralph_runtime::Home;
use ralph_store::{Artifact, ArtifactKind, Lease, PATCHES, StoreHandle, TaskLease, patch_name};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use crate::commit;
use crate::error::Error;
use crate::place::Place;
use crate::report::WorkerEvent;
use crate::worker::Worker;

/// The longest line of progress.
const MAX_MESSAGE: usize = 1000;

/// Something that others should see.
pub(crate) enum Step {
    /// The work got further.
    Progress { counted: u32, cost: Money, message: String },
    /// The workspace after an iteration.
    Tree { iteration: Iteration, before: TreeHash, tree: TreeHash, is_decided: bool },
}

pub(crate) struct Publisher<'a> {
    worker: &'a Worker,
    client: Client,
    task: Task,
    lease: TaskLease,
    store: StoreHandle,
    run: LoopId,
    place: Place,
    folder: PathBuf,
    /// Hashes of the files that the server has.
    uploaded: HashSet<String>,
    /// Whether some file is on this machine alone.
    is_behind: bool,
    /// The right to write to the run, which stays that of this worker.
    run_lease: Option<Lease>,
    /// The file of the newest patch, with the trees that it is between.
    patch: Option<(TreeHash, TreeHash, PathBuf)>,
    is_warned: bool,
}

impl<'a> Publisher<'a> {
    pub(crate) fn new(
        worker: &'a Worker,
        work: &Work,
        lease: TaskLease,
        store: StoreHandle,
        run: LoopId,
        place: Place,
    ) -> Self {
        Self {
            worker,
            client: worker.options.client.clone(),
            task: work.task.clone(),
            lease,
            store,
            run,
            place,
            folder: worker.options.host.home().loop_folder(run).root().to_owned(),
            uploaded: HashSet::new(),
            is_behind: true,
            run_lease: None,
            patch: None,
            is_warned: false,
        }
    }

    /// Shows steps as they come, until no more can come.
    pub(crate) async fn follow(&mut self, mut steps: mpsc::UnboundedReceiver<Step>) {
        while let Some(step) = steps.recv().await {
            match step {
                Step::Progress { counted, cost, message } => self.report(counted, cost, &message).await,
                Step::Tree { iteration, before, tree, is_decided } => {
                    let message = self.commit_message(iteration);
                    if let Err(error) = self.place.push(&tree, &message).await {
                        if matches!(error, Error::Refused(_)) && !self.is_warned {
                            self.send(None, None, &error.to_string()).await;
                        }
                        self.warn(&error.to_string());
                    }
                    if is_decided {
                        if let Err(error) = self.record_patch(iteration, &before, &tree).await {
                            self.warn(&error.to_string());
                        }
                        self.upload().await;
                    }
                }
            }
        }
    }

    async fn report(&mut self, counted: u32, cost: Money, message: &str) {
        self.send(Some(counted), Some(cost), message).await;
    }

    async fn send(&self, iterations: Option<u32>, cost_usd: Option<Money>, message: &str) {
        let message: String = message.chars().take(MAX_MESSAGE).collect();
        let report = ProgressReport {
            epoch: Some(self.lease.epoch.0),
            run_id: Some(self.run),
            iterations,
            cost_usd,
            message: Some(message).filter(|message| !message.trim().is_empty()),
        };
        if let Err(error) = self.client.progress(self.task.id, &report).await {
            tracing::warn!(%error, task = %self.task.id, "progress could not be reported");
        }
    }

    fn commit_message(&self, iteration: Iteration) -> String {
        let subject: String = self.task.task.lines().next().unwrap_or_default().chars().take(60).collect();
        let subject = format!("{subject} (iteration {iteration})");
        commit::message(&subject, self.task.id, Some(self.run), self.lease.epoch.0)
    }

    /// Makes the last state of the work the newest commit of the branch, and sends what was not sent yet.
    pub(crate) async fn finish(&mut self, facts: &Facts) -> Result<(), Error> {
        let (start, tree) = (&facts.start.tree, &facts.tree);
        let iteration = facts.last_iteration().map_or(Iteration(0), |last| last.iteration);
        let message = self.commit_message(iteration);
        let pushed = self.place.push_with_retries(tree, &message).await.map(drop);
        if let Err(error) = self.record_patch(Iteration(0), start, tree).await {
            self.warn(&error.to_string());
        }
        self.upload().await;
        pushed
    }

    /// Whether this state is on the branch.
    pub(crate) fn has_pushed(&self, tree: &TreeHash) -> bool {
        self.place.has_pushed(tree)
    }

    pub(crate) fn branch(&self) -> Option<String> {
        self.place.branch().map(str::to_owned)
    }

    /// Records the patch of an iteration, for those who cannot see the snapshots on this machine; 0 is the whole loop.
    async fn record_patch(&mut self, iteration: Iteration, from: &TreeHash, to: &TreeHash) -> Result<(), Error> {
        let patch = match self.patch.take() {
            // That of the only iteration is that of the whole loop.
            Some((known_from, known_to, path)) if (&known_from, &known_to) == (from, to) => {
                tokio::fs::read(&path).await.map_err(Error::file(path))?
            }
            _ => self.place.diff(from, to).await?,
        };
        let name = patch_name(iteration.0);
        let path = self.folder.join(&name);
        if let Some(folder) = path.parent() {
            Home::make_private(folder)?;
        }
        tokio::fs::write(&path, &patch).await.map_err(Error::file(&path))?;
        let artifact = Artifact {
            kind: ArtifactKind::Patch,
            name,
            iteration: Some(iteration).filter(|iteration| iteration.0 > 0),
            attempt: None,
            sha256: Sha256::digest(&patch).iter().map(|byte| format!("{byte:02x}")).collect(),
            bytes: patch.len() as u64,
            at: (self.worker.options.now)(),
        };
        self.patch = Some((from.clone(), to.clone(), path));
        let lease = match self.run_lease {
            Some(lease) => lease,
            None => Lease { run: self.run, epoch: self.store.run(self.run).await?.epoch },
        };
        self.store.record_artifacts(lease, &[artifact]).await?;
        self.run_lease = Some(lease);
        Ok(())
    }

    /// Whether the server has all logs and patches.
    pub(crate) const fn is_all_sent(&self) -> bool {
        !self.is_behind
    }

    /// Sends the content of files that are recorded for the loop.
    async fn upload(&mut self) {
        self.is_behind = true;
        let recorded = match self.store.artifacts(self.run).await {
            Ok(recorded) => recorded,
            Err(error) => return self.warn(&format!("logs could not be sent: {error}")),
        };
        let mut is_behind = false;
        for artifact in recorded {
            // What an earlier worker wrote is on its machine, and it sent it.
            let Ok(content) = tokio::fs::read(self.folder.join(&artifact.name)).await else { continue };
            if self.uploaded.contains(&artifact.sha256) {
                continue;
            }
            // What an agent wrote to a prohibited path, such as .env, is kept byte for byte. Patches of iterations are redacted.
            if artifact.kind == ArtifactKind::Patch
                && !artifact.name.starts_with(PATCHES)
                && self.worker.redactor.is_some()
            {
                is_behind = true;
                self.warn(&format!("{} stays on this machine, because it may hold secrets", artifact.name));
                continue;
            }
            match self.client.upload(self.run, Some(self.lease), &artifact.sha256, content.into()).await {
                Ok(()) => {
                    self.uploaded.insert(artifact.sha256);
                }
                Err(error) => {
                    is_behind = true;
                    self.warn(&format!("{} could not be sent: {error}", artifact.name));
                }
            }
        }
        self.is_behind = is_behind;
    }

    /// Says once what goes wrong again and again.
    fn warn(&mut self, message: &str) {
        if !std::mem::replace(&mut self.is_warned, true) {
            self.worker.tell(WorkerEvent::Warning { task: Some(self.task.id), message: message.to_owned() });
        }
    }
}
