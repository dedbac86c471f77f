//! Whether anything is left uncommitted.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::Repository;
use crate::Error;
use crate::git::Shadow;

impl Repository {
    /// Whether nothing is left uncommitted: no change, nothing staged, no untracked file that is not ignored. Files behind a
    /// filter count as unchanged while their times agree with the index, because the filter is not run.
    pub fn is_clean(&self) -> Result<bool, Error> {
        let shadow = Shadow::make(&self.scratch, &self.places)?;
        let exclude = self.places.common.join("info/exclude");
        if exclude.is_file() {
            let info = shadow.dir().join("info");
            let copied = std::fs::create_dir_all(&info).and_then(|()| std::fs::copy(&exclude, info.join("exclude")));
            copied.map_err(Error::io("copy", &exclude))?;
        }
        let git = || {
            self.git
                .own(shadow.dir())
                .env("GIT_WORK_TREE", &self.places.top)
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&self.objects()))
                .current_dir(&self.places.top)
        };
        let empty_tree = || {
            let hash = git().args(["hash-object", "-t", "tree", "--stdin", "-w"]).input(Vec::new());
            hash.text("create an empty tree")
        };
        let head = match self.head()?.commit {
            Some(commit) => commit.to_string(),
            None => empty_tree()?,
        };
        // Refreshing writes the copied index only: times that differ without content that differs are no change.
        git().args(["update-index", "-q", "--refresh", "--ignore-submodules"]).answer("compare files")?;
        let quiet = ["--quiet", "--no-ext-diff", "--ignore-submodules=dirty"];
        for command in [["diff-index", "--cached", &head].as_slice(), ["diff-files"].as_slice()] {
            let mut arguments = vec![command[0]];
            arguments.extend(quiet);
            arguments.extend(&command[1..]);
            let answer = git().args(&arguments).answer("compare files")?;
            match answer.code {
                Some(0) => {}
                Some(1) => return Ok(false),
                _ => return Err(Error::Git { action: "compare files", message: answer.message }),
            }
        }
        let mut others = git();
        if let Some(excludes) = &self.excludes {
            let mut setting = OsString::from("core.excludesFile=");
            setting.push(excludes);
            others = others.args([OsStr::new("-c"), &setting]);
        }
        let untracked = others
            .args(["ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory"])
            .output("list untracked files")?;
        let own = [self.places.prefix_of(&self.root), b".ralph/".to_vec()].concat();
        Ok(untracked.split(|byte| *byte == 0).all(|path| path.is_empty() || path == own))
    }
}

/// Git splits the variable at colons unless a path is quoted.
pub(super) fn quoted(path: &Path) -> OsString {
    let mut text = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text.push(b'"');
    OsString::from_vec(text)
}
