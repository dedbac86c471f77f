//! Files of a run that the store knows by their hash: outputs, prompts, patches. The one place that knows where their content is.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use ralph_engine::Event;
use ralph_model::{Attempt, Iteration, OutputRef, Timestamp, Verdict};
use ralph_store::{Artifact, ArtifactKind};
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::home::{Home, LoopFolder};

#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub(crate) iteration: Option<Iteration>,
    pub(crate) attempt: Attempt,
    pub(crate) at: Timestamp,
}

/// The content of a run's artifacts: files in the run's folder.
#[derive(Debug, Clone)]
pub(crate) struct ArtifactFiles {
    root: PathBuf,
}

impl ArtifactFiles {
    pub(crate) fn new(folder: &LoopFolder) -> Self {
        Self { root: folder.root().to_owned() }
    }

    /// Writes a file that only the user can read.
    pub(crate) fn write(
        &self,
        kind: ArtifactKind,
        path: &Path,
        about: About,
        content: &[u8],
    ) -> Result<Artifact, Error> {
        Home::write_private(path, content)?;
        Ok(self.artifact(kind, path, about, hex(Sha256::new_with_prefix(content)), content.len() as u64))
    }

    /// A file that something else wrote; none where it wrote nothing.
    pub(crate) fn find(&self, kind: ArtifactKind, path: &Path, about: About) -> Result<Option<Artifact>, Error> {
        match file_sha256(path) {
            Ok((sha256, bytes)) => Ok(Some(self.artifact(kind, path, about, sha256, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file(path)(error)),
        }
    }

    /// The hash of what a file holds now.
    pub(crate) fn sha256(&self, name: &str) -> io::Result<String> {
        file_sha256(&self.root.join(name)).map(|(sha256, _)| sha256)
    }

    fn artifact(&self, kind: ArtifactKind, path: &Path, about: About, sha256: String, bytes: u64) -> Artifact {
        let name = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned();
        let About { iteration, attempt, at } = about;
        Artifact { kind, name, iteration, attempt: Some(attempt), sha256, bytes, at }
    }
}

/// The outputs that an event records, which were hashed while they were written.
pub(crate) fn logs(event: &Event, iteration: Option<Iteration>, at: Timestamp) -> Vec<Artifact> {
    let of_checks = |verdict: &Verdict| -> Vec<OutputRef> {
        verdict.checks.iter().map(|check| check.output.clone()).chain(verdict.tripwire_outputs.clone()).collect()
    };
    let (attempt, outputs, iteration) = match event {
        Event::BaselineFinished { attempt, verdict } => (*attempt, of_checks(verdict), None),
        Event::AgentFinished { attempt, run, .. } => (*attempt, vec![run.output.clone()], iteration),
        Event::ChecksFinished { attempt, verdict, .. } => (*attempt, of_checks(verdict), iteration),
        Event::TripwireFinished { attempt, outputs, .. } => (*attempt, outputs.clone(), iteration),
        _ => return Vec::new(),
    };
    let artifact = |OutputRef { file, bytes, sha256, .. }| Artifact {
        kind: ArtifactKind::Log,
        name: file,
        iteration,
        attempt: Some(attempt),
        sha256,
        bytes,
        at,
    };
    outputs.into_iter().filter(|output| !output.file.is_empty()).map(artifact).collect()
}

/// In pieces: an output may be larger than the memory that a look at it is worth.
fn file_sha256(path: &Path) -> io::Result<(String, u64)> {
    let (mut digest, mut file, mut bytes) = (Sha256::new(), File::open(path)?, 0);
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((hex(digest), bytes)),
            count => {
                digest.update(&piece[..count]);
                bytes += count as u64;
            }
        }
    }
}

fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
