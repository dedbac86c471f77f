//! Where the commits of a task come from: the repository of the worker's own workspace, or a cache of the repository that the task
//! names.
//!
//! A cache has no branches of tasks, but that of the task at hand and those of the tasks that it depends on: else every clone would
//! have the work of all tasks that the repository ever had.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_host::Host;
use ralph_model::TaskId;
use ralph_runtime::Home;
use ralph_workspace::Repository;
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::git::{Git, LIST_TIMEOUT, TIMEOUT, of_remote, shown};
use crate::place::{branch, remove};

/// How often a cache that another task uses is looked at.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// A cache with more packs is packed anew: each fetch adds one, and every clone copies them all.
pub(crate) const MAX_PACKS: usize = 20;

const TASKS: &str = "refs/heads/ralph/*";
/// All branches and tags, as they are named in the remote.
const ALL: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
/// The commit that is checked out in the remote, as the cache names it.
const HEAD: &str = "refs/ralph/head";

#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// A git directory of this machine with the commits.
    pub(crate) git_dir: PathBuf,
    pub(crate) remote: String,
    /// The commit that is checked out there.
    head: Option<String>,
    /// The file that is locked while the cache is changed or copied; none for a repository of the user's own.
    lock: Option<PathBuf>,
}

impl Source {
    pub(crate) async fn of_workspace(host: &Host, git: &Git, workspace: &Path) -> Result<Self, Error> {
        let scratch = host.home().workspace(workspace);
        let found = Repository::find(workspace, &host.git()?, &scratch);
        let folders = found.map(|repository| repository.folders()).unwrap_or_default();
        let (Some(own), Some(common)) = (folders.first(), folders.last()) else {
            return Err(Error::NoRepository { path: workspace.to_owned() });
        };
        let head = git.in_dir(own).args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        let head = head.run("read the current commit").await.ok();
        Ok(Self { git_dir: common.clone(), remote: common.to_string_lossy().into_owned(), head, lock: None })
    }

    /// The repository of a task, fetched anew into the cache, with the branches of these tasks as far as they exist.
    pub(crate) async fn of_address(host: &Host, git: &Git, address: &str, tasks: &[TaskId]) -> Result<Self, Error> {
        let caches = host.dirs.state.join("repositories");
        Home::make_private(&caches)?;
        let key: String =
            Sha256::digest(address.as_bytes()).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let (git_dir, lock) = (caches.join(format!("{key}.git")), Some(caches.join(format!("{key}.lock"))));
        let mut source = Self { git_dir, remote: address.to_owned(), head: None, lock };
        if tasks.is_empty() && source.is_made() {
            let _lock = source.lock(File::try_lock).await?;
            if let Ok(head) = source.fetch_known(git).await {
                return Ok(Self { head: Some(head), ..source });
            }
        }
        let branches: Vec<String> = tasks.iter().map(|task| format!("refs/heads/{}", branch(*task))).collect();
        let listed = git.call().args(["ls-remote", "--end-of-options", address, "HEAD"]).args(&branches);
        let listed = listed.within(LIST_TIMEOUT).run(&format!("fetch {}", shown(address))).await.map_err(of_remote)?;
        let listed: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once('\t')).collect();
        source.head = listed.iter().find(|(_, name)| *name == "HEAD").map(|(hash, _)| (*hash).to_owned());
        let is_there = |branch: &&String| listed.iter().any(|(_, name)| name == branch);
        let branches: Vec<String> = branches.iter().filter(is_there).map(|name| format!("+{name}:{name}")).collect();
        let _lock = source.lock(File::try_lock).await?;
        if let Err(error) = source.update(git, &branches).await {
            if error.is_remote_away() {
                return Err(error);
            }
            // The remote answers, so it is the cache: a git that was killed may leave locks and half-written files behind.
            tracing::warn!(%error, cache = %source.git_dir.display(), "a cache is made anew");
            remove(&source.git_dir).await?;
            source.update(git, &branches).await?;
        }
        Ok(source)
    }

    fn is_made(&self) -> bool {
        self.git_dir.join("HEAD").is_file()
    }

    /// Fetches what is new in one call, and gives the commit that is checked out there: most tasks need no branch of a task, and then
    /// nobody has to ask which of them there are.
    async fn fetch_known(&self, git: &Git) -> Result<String, Error> {
        let refs = [format!("+HEAD:{HEAD}"), ALL[0].to_owned(), ALL[1].to_owned(), format!("^{TASKS}")];
        self.fetch(git, LIST_TIMEOUT, &["--prune"], &refs).await?;
        self.pack(git).await?;
        let path = self.git_dir.join(HEAD);
        std::fs::read_to_string(&path).map(|head| head.trim().to_owned()).map_err(Error::file(path))
    }

    async fn update(&self, git: &Git, branches: &[String]) -> Result<(), Error> {
        if !self.is_made() {
            let make = git.call().args(["init", "--quiet", "--bare", "--template="]);
            let is_sha256 = self.head.as_ref().is_some_and(|head| head.len() == 64);
            let make = make.args(is_sha256.then_some("--object-format=sha256")).arg(&self.git_dir);
            make.run("make the cache of a repository").await?;
        }
        let refs = [ALL[0].to_owned(), ALL[1].to_owned(), format!("^{TASKS}")];
        self.fetch(git, TIMEOUT, &["--prune"], &refs).await?;
        if !branches.is_empty() {
            self.fetch(git, TIMEOUT, &[], branches).await?;
        }
        self.pack(git).await
    }

    async fn pack(&self, git: &Git) -> Result<(), Error> {
        let packs = std::fs::read_dir(self.git_dir.join("objects/pack")).into_iter().flatten().flatten();
        if packs.filter(|file| file.path().extension().is_some_and(|kind| kind == "pack")).count() > MAX_PACKS {
            let pack = git.in_dir(&self.git_dir).args(["repack", "-a", "-d", "-q", "--keep-unreachable"]);
            pack.run("pack the cache of a repository").await?;
        }
        Ok(())
    }

    async fn fetch(&self, git: &Git, within: Duration, options: &[&str], refs: &[String]) -> Result<(), Error> {
        let call = git.in_dir(&self.git_dir).args(["-c", "fetch.unpackLimit=1", "fetch", "--quiet", "--force"]);
        let call = call.arg("--no-write-fetch-head").args(options).args(["--end-of-options", &self.remote]).args(refs);
        call.within(within).run(&format!("fetch {}", shown(&self.remote))).await.map(drop).map_err(of_remote)
    }

    /// The commit that a task begins from.
    pub(crate) async fn base(&self, git: &Git, base_ref: Option<&str>) -> Result<String, Error> {
        let wanted = match (base_ref, &self.head) {
            (Some(wanted), _) => wanted,
            (None, Some(head)) => head,
            (None, None) => return Err(Error::Task(format!("{} has no commit yet", shown(&self.remote)))),
        };
        let find = || {
            let call = git.in_dir(&self.git_dir).args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
            call.arg(format!("{wanted}^{{commit}}")).run("find a commit")
        };
        if let Ok(found) = find().await {
            return Ok(found);
        }
        if self.lock.is_some() {
            // It may be the work of another task.
            let _lock = self.lock(File::try_lock).await?;
            self.fetch(git, TIMEOUT, &[], &[format!("+{TASKS}:{TASKS}")]).await?;
        }
        let missing = || format!("{} has no branch, tag or commit `{}`", shown(&self.remote), wanted.escape_debug());
        find().await.map_err(|_| Error::Task(missing()))
    }

    /// Keeps a cache as it is while it is copied.
    pub(crate) async fn lock_shared(&self) -> Result<Option<File>, Error> {
        self.lock(File::try_lock_shared).await
    }

    async fn lock(&self, take: impl Fn(&File) -> Result<(), TryLockError>) -> Result<Option<File>, Error> {
        let Some(path) = &self.lock else { return Ok(None) };
        let file = File::options().create(true).append(true).open(path).map_err(Error::file(path))?;
        loop {
            match take(&file) {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_INTERVAL).await,
                Err(TryLockError::Error(error)) => return Err(Error::file(path)(error)),
            }
        }
    }
}
