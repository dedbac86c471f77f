//! Files that belong to a run, by their hash: values only. The content is wherever the run keeps its files.

use ralph_model::{Attempt, Iteration, Timestamp};
use serde::{Deserialize, Serialize};

/// What a file of a run holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ArtifactKind {
    /// The output of an agent or a check.
    Log,
    Prompt,
    /// Changes that were taken out of the workspace.
    Patch,
}

ralph_model::named!(ArtifactKind { Log => "log", Prompt => "prompt", Patch => "patch" });

/// The name of the patch of an iteration, for those who cannot see the snapshots of a run; 0 is the whole loop.
pub fn patch_name(iteration: u32) -> String {
    format!("{PATCHES}iteration-{iteration}.diff")
}

/// Where the names of such patches begin.
pub const PATCHES: &str = "patches/";

/// A file that belongs to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    pub kind: ArtifactKind,
    /// Its name within the run, such as `logs/iteration-1-agent-2.log`. Recording a name again replaces the older record.
    pub name: String,
    pub iteration: Option<Iteration>,
    pub attempt: Option<Attempt>,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
    pub bytes: u64,
    pub at: Timestamp,
}
