//! What can go wrong in Ralph's own machinery. A failing agent or check is no error.

use std::io;
use std::path::PathBuf;

use ralph_model::{AbortReason, ConfigError, LoopId};

/// Ralph's own machinery failed, or was asked for something that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration breaks a rule. Nothing was started.
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] ralph_store::Error),
    /// The workspace could not be read, recorded or put back.
    #[error(transparent)]
    Workspace(#[from] ralph_workspace::Error),
    /// Another loop works in the workspace, or something of one that died still does.
    #[error(transparent)]
    Lock(#[from] ralph_workspace::LockError),
    #[error(transparent)]
    Agent(#[from] ralph_agents::Error),
    #[error("could not open a proxy for the agent: too many files may be open")]
    Proxy(#[source] io::Error),
    #[error(transparent)]
    Checks(#[from] ralph_checks::Error),
    #[error("the journal of loop {loop_id} cannot be followed")]
    Replay { loop_id: LoopId, source: ralph_engine::ReplayError },
    #[error("an event could not be encoded")]
    Encode(#[from] serde_json::Error),
    #[error("{path}: {source}; check the free space and the permissions there")]
    File { path: PathBuf, source: io::Error },
    #[error(
        "the record of the loop in a session is broken: {path}: {why}; remove it and begin the loop again, its journal is in `ralph list`"
    )]
    SessionRecord { path: PathBuf, why: String },
    /// The folder that the loop worked in is not there: somebody removed it, or the loop lost a race.
    #[error("{workspace}, where loop {0} worked, no longer exists: `ralph diff {0}` shows what it did", loop_id.short())]
    Gone { loop_id: LoopId, workspace: String },
    #[error("{workspace} does not hold the files that the loop began with")]
    OtherStart { workspace: PathBuf },
    #[error("loop {0} is running on {host}; wait for it, or stop it with `ralph stop {0}`", loop_id.short())]
    Elsewhere { loop_id: LoopId, host: String },
    #[error("loop {} is completed: there is nothing to resume", .0.short())]
    AlreadyComplete(LoopId),
    #[error(
        "loop {0} runs in a Claude Code session in {workspace}: continue it there, or end it with `ralph stop {0}`",
        loop_id.short()
    )]
    InSession { loop_id: LoopId, workspace: String },
    #[error(
        "loop {0} ran in a Claude Code session and is over: continue it with another agent, as in `ralph resume {0} \
         --agent claude`, or start a new one in a session with `ralph session start`",
        loop_id.short()
    )]
    SessionOver { loop_id: LoopId },
    #[error("loop {} ended with {reason}: {hint}", loop_id.short())]
    LimitStands { loop_id: LoopId, reason: AbortReason, hint: String },
    #[error("the set-up command `{command}` failed: {ended}; its output is in {log}")]
    SetUp { command: String, ended: String, log: PathBuf },
    /// A delegation of a crew ended, and nobody else can have its files: its end is not recorded.
    #[error("the files of a delegation could not be sent, so that its end is not recorded")]
    Unpushed(#[source] crate::crew::Unpushed),
    #[error("{0} ended without an answer; this is a bug in Ralph")]
    Vanished(&'static str),
}

impl Error {
    /// The error and everything behind it, in one line.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            let more = error.to_string();
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            source = error.source();
        }
        text
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
