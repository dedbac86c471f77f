//! The script of a scripted agent: what each of its runs does. Performs nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Step;

/// What a scripted agent does, run by run.
///
/// As JSON: `{"state": "…", "runs": [[step, …], …], "default": [step, …]}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The file that counts the runs. Without one every run is the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PathBuf>,
    /// The folder that gets each run's prompt as `prompt-N.txt`, where one is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PathBuf>,
    #[serde(default)]
    pub stdin: StdinUse,
    /// The steps of the first run, of the second, and so on.
    #[serde(default)]
    pub runs: Vec<Vec<Step>>,
    /// The steps of every run beyond those; without them the last listed run is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<Step>>,
}

/// When the agent reads its prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StdinUse {
    /// At once and to its end, as agents do.
    #[default]
    Read,
    /// Only when a step asks for the prompt; without such a step it is never read.
    Leave,
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("could not read the script {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is not a script: {source}")]
    Parse { path: PathBuf, source: serde_json::Error },
}

impl Script {
    /// A script without runs: such an agent reads its prompt and ends with code 0.
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn run(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.runs.push(steps.into_iter().collect());
        self
    }

    #[must_use]
    pub fn otherwise(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.default = Some(steps.into_iter().collect());
        self
    }

    /// Saves each run's prompt as `prompt-N.txt` in this folder.
    #[must_use]
    pub fn save_prompts(mut self, folder: impl Into<PathBuf>) -> Self {
        self.prompts = Some(folder.into());
        self
    }

    #[must_use]
    pub fn stdin(mut self, stdin: StdinUse) -> Self {
        self.stdin = stdin;
        self
    }

    /// Writes the script to a new file in `folder`; the runs are counted beside it unless the script names a place.
    #[track_caller]
    pub fn save(mut self, folder: impl AsRef<Path>) -> PathBuf {
        let folder = folder.as_ref();
        if let Err(error) = fs::create_dir_all(folder) {
            panic!("could not create {}: {error}", folder.display());
        }
        let (path, mut file) = new_file(folder);
        self.state.get_or_insert_with(|| path.with_extension("runs"));
        let written = serde_json::to_vec_pretty(&self).map_err(io::Error::from).and_then(|text| file.write_all(&text));
        if let Err(error) = written {
            panic!("could not write {}: {error}", path.display());
        }
        path
    }

    pub fn load(path: &Path) -> Result<Self, LoadError> {
        load(path)
    }

    /// The steps of run `number`, counted from 1.
    pub fn steps(&self, number: u64) -> &[Step] {
        let listed = usize::try_from(number.saturating_sub(1)).ok().and_then(|index| self.runs.get(index));
        listed.or(self.default.as_ref()).or(self.runs.last()).map_or(&[], Vec::as_slice)
    }

    /// Counts one more run and gives its number, from 1. Agents that start at the same moment get different numbers.
    pub fn count_run(&self) -> io::Result<u64> {
        let Some(path) = &self.state else { return Ok(1) };
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.lock()?;
        let number = 1 + read_count(&mut file)?;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(number.to_string().as_bytes())?;
        Ok(number)
    }

    /// How often the agent of a saved script was started.
    #[track_caller]
    pub fn runs_of(saved: &Path) -> u64 {
        let script = Self::load(saved).unwrap_or_else(|error| panic!("{error}"));
        let Some(state) = script.state else { panic!("{} does not count its runs", saved.display()) };
        match File::open(&state).and_then(|mut file| file.lock_shared().and_then(|()| read_count(&mut file))) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => panic!("could not read {}: {error}", state.display()),
        }
    }
}

/// Reads a script of an agent or of a model.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Result<T, LoadError> {
    let text = fs::read(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    serde_json::from_slice(&text).map_err(|source| LoadError::Parse { path: path.to_owned(), source })
}

fn read_count(file: &mut File) -> io::Result<u64> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    if text.is_empty() { Ok(0) } else { text.trim().parse().map_err(io::Error::other) }
}

#[track_caller]
fn new_file(folder: &Path) -> (PathBuf, File) {
    for number in 1_u32.. {
        let path = folder.join(format!("script-{number}.json"));
        match File::create_new(&path) {
            Ok(file) => return (path, file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => panic!("could not create {}: {error}", path.display()),
        }
    }
    panic!("{} has no room for another script", folder.display())
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
