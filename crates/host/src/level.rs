//! Remembers which sandbox works here: trying it out starts processes, which takes a hook longer than most of its work.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_process::{Files, Level, NetworkLevel, ReadLevel, ReaperProgram, probe};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// How long an answer counts. What changes meanwhile is not missed: a sandbox that does not work any more is an error.
const LIFETIME: Duration = Duration::from_secs(600);

/// A sandbox that protects files and network and hides files, as it was found. Anything less is tried out each time.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    around: String,
    bubblewrap: Option<PathBuf>,
    landlock: Option<u32>,
    hides: bool,
}

/// The sandbox of this machine, remembered in the state folder.
pub(crate) fn level(state: &Path, reaper: &ReaperProgram, bubblewrap: Option<&Path>) -> Level {
    let file = state.join("sandbox.json");
    let around = around(reaper, bubblewrap);
    if let Some(level) = read(&file, &around) {
        return level;
    }
    let level = probe(reaper, bubblewrap);
    let known = match (&level.files, &level.network, &level.reads) {
        (Files::Bubblewrap { program, landlock }, NetworkLevel::Namespace, ReadLevel::Hidden) => {
            Known { around, bubblewrap: Some(program.clone()), landlock: *landlock, hides: true }
        }
        (Files::Landlock { version }, NetworkLevel::Namespace, ReadLevel::Hidden) => {
            Known { around, bubblewrap: None, landlock: Some(*version), hides: true }
        }
        _ => return level,
    };
    // The folder is the user's own and no process in a sandbox reaches it. Without the file the next one tries again.
    let text = serde_json::to_string(&known).unwrap_or_default();
    let kept = NamedTempFile::new_in(state).and_then(|mut new| {
        new.write_all(text.as_bytes())?;
        new.persist(&file).map(drop).map_err(|error| error.error)
    });
    if let Err(error) = kept {
        tracing::debug!(%error, "the sandbox that works here cannot be remembered");
    }
    level
}

fn read(file: &Path, around: &str) -> Option<Level> {
    let age = fs::metadata(file).ok()?.modified().ok()?.elapsed().ok()?;
    let known: Known = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    if age > LIFETIME || known.around != around || !known.hides {
        return None;
    }
    let files = match (known.bubblewrap, known.landlock) {
        (Some(program), landlock) => Files::Bubblewrap { program, landlock },
        (None, Some(version)) => Files::Landlock { version },
        (None, None) => return None,
    };
    Some(Level { files, network: NetworkLevel::Namespace, reads: ReadLevel::Hidden })
}

/// The boot, the user, the namespaces and limits of this process, and the programs.
fn around(reaper: &ReaperProgram, bubblewrap: Option<&Path>) -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespaces = ["user", "mnt", "net", "pid"].map(|name| fs::read_link(format!("/proc/self/ns/{name}")).ok());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let limits = ["Uid:", "NoNewPrivs:", "Seccomp:", "CapEff:"];
    let limits: Vec<&str> = status.lines().filter(|line| limits.iter().any(|name| line.starts_with(name))).collect();
    format!("{} {namespaces:?} {limits:?} {:?} {bubblewrap:?}", boot.trim(), reaper.program)
}

#[cfg(test)]
#[path = "level_tests.rs"]
mod tests;
