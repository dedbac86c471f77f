//! The task of a server that the agent works on, where one is named: checkpoints and the progress file.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_api::{CheckpointReport, Client};
use ralph_host::{Checkpoints, Host};
use ralph_model::{Checkpoint, CheckpointReason, TaskId};

use crate::input::{now, variable};

/// How long the server may take: the agent waits for it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of a progress file that a session is given.
const MAX_PROGRESS: u64 = 16 * 1024;

/// The task, as the environment names it.
#[derive(Debug)]
pub(super) struct Task {
    id: TaskId,
    iteration: u32,
}

impl Task {
    /// The task of this process; none where `RALPH_TASK_ID` names none.
    ///
    /// # Errors
    /// When it is not a UUID: it names a file, and may name nothing else.
    pub(super) fn from_environment() -> Result<Option<Self>, String> {
        let Some(id) = variable("RALPH_TASK_ID") else { return Ok(None) };
        let Ok(id) = id.parse() else {
            return Err("RALPH_TASK_ID is not a UUID: no checkpoint is written".to_owned());
        };
        let iteration = variable("RALPH_ITERATION").and_then(|iteration| iteration.parse().ok()).unwrap_or(0);
        Ok(Some(Self { id, iteration }))
    }

    /// Writes a checkpoint, here and on the server where one is named; a warning where that failed.
    pub(super) fn checkpoint(&self, usual: PathBuf, reason: CheckpointReason) -> Option<String> {
        let checkpoint = checkpoint(self.id, self.iteration, reason);
        let written = Checkpoints::new(folder(usual)).write(&checkpoint);
        let local = written.err().map(|error| format!("the checkpoint could not be written: {error}"));
        let remote = variable("RALPH_SERVER").and_then(|server| {
            let sent = send(server.clone(), variable("RALPH_TOKEN").unwrap_or_default(), &checkpoint);
            sent.err().map(|error| format!("{server} did not take the checkpoint: {error}"))
        });
        match (local, remote) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one),
            (Some(local), Some(remote)) => Some(format!("{local}; {remote}")),
        }
    }

    /// What the summary of a full context has to say.
    pub(super) fn before_compaction(&self) -> String {
        format!(
            "This session works on Ralph task {}. Keep in the summary what is done and what is left, and write it to {} first. If \
             the promise of the task is met, call the tool `ralph-complete` with the task's id, a summary and the evidence.",
            self.id,
            self.progress_file(),
        )
    }

    fn progress_file(&self) -> String {
        format!("thoughts/shared/ralph/{}/progress.md", self.id)
    }

    /// What the progress file says, for an agent that begins with an empty context.
    pub(super) fn progress(&self, folder: &Path) -> Option<String> {
        let name = self.progress_file();
        // It may lie above: an agent does not always start in the workspace's root.
        let path = folder.ancestors().map(|folder| folder.join(&name)).find(|path| path.is_file())?;
        let mut text = Vec::new();
        std::fs::File::open(path).ok()?.take(MAX_PROGRESS).read_to_end(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text);
        Some(format!(
            "This session works on Ralph task {}. Its progress so far, from {name}:\n\n{}\n\nIf the promise of the task is met, call \
             the tool `ralph-complete`.",
            self.id,
            text.trim_end()
        ))
    }
}

/// Sends a checkpoint to the server that the task comes from.
fn send(server: String, token: String, checkpoint: &Checkpoint) -> Result<(), String> {
    let (task, report) = (checkpoint.task_id, CheckpointReport::from(checkpoint));
    let sent = async move {
        let client = Client::new(&server, &token).map_err(|error| error.to_string())?.without_retries();
        client.set_checkpoint(task, &report).await.map_err(|error| error.to_string())
    };
    // On a thread of its own, which ends with the program: nothing limits how long a name is looked up.
    let (sender, answer) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        sender.send(runtime.map_err(|error| error.to_string()).and_then(|runtime| runtime.block_on(sent)))
    });
    let late = |_| format!("no answer within {} seconds", PATIENCE.as_secs());
    answer.recv_timeout(PATIENCE).map_err(late)?
}

/// Where the agent is now.
pub(super) fn checkpoint(task_id: TaskId, iteration: u32, checkpoint_reason: CheckpointReason) -> Checkpoint {
    let context_full = checkpoint_reason == CheckpointReason::Precompact;
    Checkpoint { task_id, iteration, context_full, timestamp: now(), checkpoint_reason }
}

fn folder(usual: PathBuf) -> PathBuf {
    variable("RALPH_STATE_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute()).unwrap_or(usual)
}

pub(super) fn checkpoints(host: &Host) -> Checkpoints {
    Checkpoints::new(folder(host.dirs.checkpoints()))
}
