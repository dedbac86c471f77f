//! Where the repository stands.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Repository;
use crate::Error;
use crate::gitdir::read_text;

/// The id of a commit in the user's repository: 40 hexadecimal digits, or 64 in a repository with SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitId(String);

impl CommitId {
    /// Reads a whole id.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end();
        let good = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        good.then(|| Self(text.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The commit; none on a branch that has no commit yet.
    pub commit: Option<CommitId>,
    /// The branch without `refs/heads/`; none when `HEAD` is detached.
    pub branch: Option<String>,
}

impl Repository {
    /// Reads where the repository stands. Files are read directly; git is asked where they are in another format.
    pub fn head(&self) -> Result<Head, Error> {
        match self.read_head() {
            Some(head) => Ok(head),
            None => self.ask_head(),
        }
    }

    fn read_head(&self) -> Option<Head> {
        if self.places.common.join("reftable").exists() {
            return None;
        }
        let text = read_text(&self.places.git_dir.join("HEAD"))?;
        let Some(name) = text.strip_prefix("ref:") else {
            return Some(Head { commit: Some(CommitId::parse(&text)?), branch: None });
        };
        let name = name.trim();
        let branch = Some(name.strip_prefix("refs/heads/")?.to_owned());
        match read_text(&self.places.common.join(name)) {
            Some(text) => Some(Head { commit: Some(CommitId::parse(&text)?), branch }),
            // A folder in its place means branches below that name; the branch itself can still be packed.
            None => Some(Head { commit: packed(&self.places.common, name), branch }),
        }
    }

    fn ask_head(&self) -> Result<Head, Error> {
        let branch = self.users_git().args(["symbolic-ref", "-q", "HEAD"]).answer("read HEAD")?;
        let commit = self.users_git().args(["rev-parse", "-q", "--verify", "HEAD^{commit}"]).answer("read HEAD")?;
        let text = |output: &[u8]| String::from_utf8_lossy(output).trim_end().to_owned();
        Ok(Head {
            commit: CommitId::parse(&text(&commit.output)),
            branch: text(&branch.output).strip_prefix("refs/heads/").map(str::to_owned),
        })
    }

    /// How many commits `HEAD` has now that it had not at `old`; all of them when there was none then.
    pub fn commits_since(&self, old: Option<&CommitId>) -> Result<u32, Error> {
        let Some(new) = self.head()?.commit else { return Ok(0) };
        if old == Some(&new) {
            return Ok(0);
        }
        let count = |arguments: &[String]| {
            let text = self.users_git().args(["rev-list", "--count"]).args(arguments).text("count commits")?;
            text.parse().map_err(|_| Error::Git { action: "count commits", message: text })
        };
        let Some(old) = old else { return count(&[new.to_string()]) };
        match count(&[new.to_string(), format!("^{old}")]) {
            // History was rewritten and the old commit thrown away: how many are new cannot be known, but one is.
            Err(Error::Git { .. }) => Ok(1),
            counted => counted,
        }
    }
}

pub(super) fn packed(common: &Path, name: &str) -> Option<CommitId> {
    let text = read_text(&common.join("packed-refs"))?;
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(_, found)| *found == name)
        .and_then(|(id, _)| CommitId::parse(id))
}
