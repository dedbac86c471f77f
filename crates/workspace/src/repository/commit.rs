//! Verified work as one commit on the user's branch. Plumbing only: nothing is staged that the loop did not change.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ralph_model::TreeHash;

use super::{CommitId, Repository};
use crate::difference::{Difference, compare};
use crate::git::{Call, Shadow};
use crate::object::{Id, Kind};
use crate::quote::quote;
use crate::stop::Poll;
use crate::{Error, Workspace};

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Author {
    pub name: String,
    pub email: String,
}

impl Default for Author {
    /// Ralph, for users without a configured name.
    fn default() -> Self {
        Self { name: "Ralph".to_owned(), email: "ralph@localhost".to_owned() }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    pub from: &'a TreeHash,
    pub to: &'a TreeHash,
    pub message: &'a str,
    /// Who it is by; without one, whom the repository's own configuration names, else Ralph.
    pub author: Option<&'a Author>,
}

impl Repository {
    /// Commits exactly the paths that differ between two snapshots, on top of the current commit of the current branch (or
    /// of a detached `HEAD`), and brings the index up to date for these paths. Other changes stay as they are, staged or
    /// not. Files in submodules and nested repositories are left to those. `None` when nothing differs from `HEAD`.
    pub fn commit_work(&self, workspace: &Workspace, work: Work<'_>) -> Result<Option<CommitId>, Error> {
        let lock = self.places.git_dir.join("index.lock");
        if lock.exists() {
            return Err(Error::IndexLocked { path: lock });
        }
        let differences =
            compare(&workspace.store, &workspace.git, &Id::parse(&work.from.0)?, &Id::parse(&work.to.0)?)?;
        let stop = Arc::new(workspace.stop.step());
        let shadow = Shadow::make(&self.scratch, &self.places)?;
        let head = self.head()?.commit;
        let index = shadow.dir().join("commit-index");
        // Objects go where the commit will need them; the configuration in force is the throwaway one.
        let git = || {
            self.git
                .own(shadow.dir())
                .env("GIT_OBJECT_DIRECTORY", self.objects())
                .env("GIT_WORK_TREE", &self.places.top)
                .env("GIT_INDEX_FILE", &index)
                .stoppable(&stop)
        };
        match &head {
            Some(commit) => git().args(["read-tree", commit.as_str()]).output("read the current commit")?,
            None => git().args(["read-tree", "--empty"]).output("start an empty commit")?,
        };
        let differences = self.own_paths(differences, git())?;
        if differences.is_empty() {
            return Ok(None);
        }
        self.refuse_filters(&differences, git())?;
        let entries = self.entries(workspace, &differences, shadow.dir(), &git, &stop)?;
        let update = ["update-index", "-z", "--add", "--remove", "--replace", "--index-info"];
        git().args(update).input(entries.clone()).output("add the changed files")?;
        let tree = git().args(["write-tree"]).text("write a tree")?;
        if let Some(commit) = &head
            && git().args(["rev-parse", &format!("{commit}^{{tree}}")]).text("read the current commit")? == tree
        {
            return Ok(None);
        }
        let author = match work.author {
            Some(author) => author.clone(),
            None => self.configured_author()?,
        };
        let signed = |call: Call| {
            call.env("GIT_AUTHOR_NAME", &author.name)
                .env("GIT_AUTHOR_EMAIL", &author.email)
                .env("GIT_COMMITTER_NAME", &author.name)
                .env("GIT_COMMITTER_EMAIL", &author.email)
        };
        let mut arguments = vec!["commit-tree".to_owned(), tree, "-F".to_owned(), "-".to_owned()];
        if let Some(commit) = &head {
            arguments.extend(["-p".to_owned(), commit.to_string()]);
        }
        let message = work.message.as_bytes().to_vec();
        let made = signed(git()).args(arguments).input(message).text("create the commit")?;
        let Some(commit) = CommitId::parse(&made) else {
            return Err(Error::Git { action: "create the commit", message: made });
        };
        // From here on it is finished: a branch without its index would show the work as undone.
        stop.check()?;
        // The old value makes sure that the branch was not moved meanwhile.
        let old = head.map_or_else(|| "0".repeat(commit.as_str().len()), |commit| commit.to_string());
        let subject = work.message.lines().next().unwrap_or_default();
        signed(self.users_git())
            .args(["update-ref", "-m", &format!("ralph: {subject}"), "HEAD", commit.as_str(), &old])
            .output("move the branch to the new commit")?;
        self.unfiltered_git()?.args(update).input(entries).output("bring the index up to date")?;
        Ok(Some(commit))
    }

    /// Leaves out what belongs to submodules and nested repositories.
    fn own_paths(&self, mut differences: Vec<Difference>, git: Call) -> Result<Vec<Difference>, Error> {
        let listed = git.args(["ls-files", "-z", "--stage"]).output("list the current commit")?;
        let mut links: Vec<Vec<u8>> = Vec::new();
        for line in listed.split(|byte| *byte == 0).filter(|line| line.starts_with(b"160000 ")) {
            links.extend(line.iter().position(|byte| *byte == b'\t').map(|tab| [&line[tab + 1..], b"/"].concat()));
        }
        let prefix = self.places.prefix_of(&self.root);
        differences.retain(|difference| {
            let path = [&prefix[..], &difference.path].concat();
            !links.iter().any(|link| path.starts_with(link)) && !self.is_nested(&difference.path)
        });
        Ok(differences)
    }

    /// Whether a folder between the workspace and the file has a repository of its own.
    fn is_nested(&self, path: &[u8]) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        folders.into_iter().any(|folder| self.root.join(folder).join(".git").symlink_metadata().is_ok())
    }

    /// A file that goes through a filter must be committed through it, and Ralph runs none.
    fn refuse_filters(&self, differences: &[Difference], git: Call) -> Result<(), Error> {
        let prefix = self.places.prefix_of(&self.root);
        let mut paths = Vec::new();
        for difference in differences.iter().filter(|difference| difference.new.is_some()) {
            paths.extend([&prefix[..], &difference.path, b"\0"].concat());
        }
        let answer = git
            .current_dir(&self.places.top)
            .args(["check-attr", "-z", "--stdin", "filter"])
            .input(paths)
            .output("read the attributes of the changed files")?;
        let fields: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
        for field in fields.chunks_exact(3) {
            if !matches!(field[2], b"unspecified" | b"unset" | b"set") {
                let filter = String::from_utf8_lossy(field[2]).into_owned();
                return Err(Error::Filtered { path: quote(field[0]), filter });
            }
        }
        Ok(())
    }

    /// The changed paths in the form of `update-index --index-info`, with their contents in the user's object store.
    fn entries(
        &self,
        workspace: &Workspace,
        differences: &[Difference],
        scratch: &Path,
        git: &dyn Fn() -> Call,
        stop: &Poll,
    ) -> Result<Vec<u8>, Error> {
        let folder = scratch.join("contents");
        fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
        let mut names = String::new();
        for (number, difference) in differences.iter().enumerate() {
            let Some((_, id)) = difference.new else { continue };
            stop.check()?;
            let content = workspace.store.read(&workspace.git, Kind::Blob, &id)?;
            let path = folder.join(number.to_string());
            fs::write(&path, content).map_err(Error::io("write", &path))?;
            names.push_str(&format!("{number}\n"));
        }
        let written = git()
            .current_dir(&folder)
            .args(["hash-object", "-w", "--no-filters", "--stdin-paths"])
            .input(names.into_bytes())
            .text("store the changed files")?;
        let mut ids = written.lines();
        let zero = "0".repeat(self.places.hash_digits());
        let prefix = self.places.prefix_of(&self.root);
        let mut entries = Vec::new();
        // Removals first: a file can take the place of a folder only when the folder's files are gone.
        for difference in differences.iter().filter(|difference| difference.new.is_none()) {
            entries.extend([format!("0 {zero}\t").as_bytes(), &prefix, &difference.path, b"\0"].concat());
        }
        for difference in differences {
            let Some((mode, _)) = difference.new else { continue };
            let id = ids.next().ok_or(Error::Git {
                action: "store the changed files",
                message: "it named fewer files than it was given".to_owned(),
            })?;
            let head = format!("{} {id}\t", mode.digits());
            entries.extend([head.as_bytes(), &prefix, &difference.path, b"\0"].concat());
        }
        Ok(entries)
    }

    fn configured_author(&self) -> Result<Author, Error> {
        let value = |name: &str| -> Result<Option<String>, Error> {
            let answer = self.users_git().args(["config", "--get", name]).answer("read the configuration")?;
            let text = String::from_utf8_lossy(&answer.output).trim().to_owned();
            Ok(Some(text).filter(|text| answer.code == Some(0) && !text.is_empty()))
        };
        Ok(match (value("user.name")?, value("user.email")?) {
            (Some(name), Some(email)) => Author { name, email },
            _ => Author::default(),
        })
    }
}
