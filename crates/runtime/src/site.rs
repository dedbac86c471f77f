//! Takes a workspace, so that no other loop works in it. Decides nothing about the loop.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_model::{LoopId, Timestamp};
use ralph_store::StoreHandle;
use ralph_workspace::{Holder, Lock, Options, Repository, Since, StopFlag, Workspace, exclude_ralph_folder};
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::home::Home;
use crate::open::start_blocking;
use crate::services::{Services, ensure_not_elsewhere};
use crate::session::SessionRecord;
use crate::stops::Stops;

/// How long the processes of a Ralph that died may take to end before a new one gives up waiting.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A workspace that no other loop works in.
pub(crate) struct Site {
    pub(crate) lock: Lock,
    pub(crate) workspace: Workspace,
    pub(crate) repository: Option<Repository>,
}

/// What a workspace is opened with.
#[derive(Debug, Clone)]
pub struct SiteOptions {
    pub home: Home,
    pub git: PathBuf,
    /// The user's own file of ignored paths.
    pub excludes: Option<PathBuf>,
    pub now: fn() -> Timestamp,
}

impl SiteOptions {
    pub(crate) fn of(services: &Services) -> Self {
        let Services { home, git, user_git, now, .. } = services;
        Self { home: home.clone(), git: git.clone(), excludes: user_git.excludes.clone(), now: *now }
    }
}

/// A workspace that is being taken, on a thread of its own: what a dead process left behind may take seconds to end, Ctrl-C is heard
/// meanwhile, and the journal is read.
pub struct TakenSite {
    loop_id: LoopId,
    root: PathBuf,
    task: JoinHandle<Result<Attempt, Error>>,
}

/// A workspace that was taken or refused, and what people should know.
type Attempt = (Result<Site, Error>, Vec<String>);

impl TakenSite {
    /// Takes the workspace of a loop in a session, unless another machine works on that.
    ///
    /// # Errors
    /// When the loop is unknown, or its workspace is gone or not this machine's to take.
    pub async fn of_session(
        options: SiteOptions,
        record: &SessionRecord,
        machine: &ralph_store::Machine,
        store: &StoreHandle,
        stops: &Stops,
    ) -> Result<Self, Error> {
        let entry = store.run(record.loop_id).await?;
        ensure_not_elsewhere(&entry, machine, (options.now)())?;
        let root = PathBuf::from(&entry.workspace);
        if !root.is_dir() {
            return Err(Error::Gone { loop_id: record.loop_id, workspace: entry.workspace });
        }
        Ok(Self::start(options, record.loop_id, root, stops.flag()))
    }

    pub(crate) fn start(options: SiteOptions, loop_id: LoopId, root: PathBuf, stop: StopFlag) -> Self {
        let folder = root.clone();
        let task = start_blocking(move || {
            let mut warnings = Vec::new();
            let site = Site::take_now(&options, loop_id, &folder, stop, &mut warnings);
            Ok((site, warnings))
        });
        Self { loop_id, root, task }
    }

    pub(crate) async fn finish(self, services: &Services) -> Result<Site, Error> {
        let (site, warnings) = self.task.await.map_err(|_| Error::Vanished("taking the workspace"))??;
        warnings.into_iter().for_each(|warning| services.warn(warning));
        let site = site?;
        // The lock is free between two hooks of a loop in a session.
        SessionRecord::refuse_other(services, self.loop_id, &self.root).await?;
        Ok(site)
    }
}

impl Site {
    pub(crate) async fn take(services: &Services, loop_id: LoopId, root: &Path, stop: StopFlag) -> Result<Self, Error> {
        TakenSite::start(SiteOptions::of(services), loop_id, root.to_owned(), stop).finish(services).await
    }

    fn take_now(
        options: &SiteOptions,
        loop_id: LoopId,
        root: &Path,
        stop: StopFlag,
        warnings: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let SiteOptions { home, git, excludes, now } = options;
        fs::read_dir(root).map_err(Error::file(root))?;
        let state = home.workspace(root);
        Home::make_private(&state)?;
        let workspace = root.to_string_lossy().into_owned();
        let holder = Holder { loop_id, pid: std::process::id(), started_at: now(), workspace };
        let lock = Lock::take(&state, &holder, TIMEOUT)?;
        // A Ralph that died could not do it itself.
        let former = lock.former().map(|former| home.loop_folder(former).clear_attempts());
        if let Some(Err(error)) = former {
            warnings.push(format!("files of an earlier agent run could not be removed: {}", error.chain()));
        }
        if let Err(error) = exclude_ralph_folder(root) {
            warnings.push(format!("`.ralph/` could not be excluded from git: {error}"));
        }
        let (git, global_excludes) = (git.clone(), excludes.clone());
        let options = Options { root: root.to_owned(), state: state.clone(), git: git.clone(), global_excludes, stop };
        let mut workspace = Workspace::open(options)?;
        take_out(&home.swap_record(root), &mut workspace, warnings)?;
        let repository =
            Repository::find(root, &git, &state).map(|repository| repository.with_global_excludes(excludes.clone()));
        Ok(Self { lock, workspace, repository })
    }
}

/// A Ralph that died while checks ran left other files in the place of the workspace's own: those come back, and that is said.
fn take_out(record: &Path, workspace: &mut Workspace, warnings: &mut Vec<String>) -> Result<(), Error> {
    let is_pending = fs::read_dir(record).is_ok_and(|mut entries| entries.next().is_some());
    let changed = workspace.swap_out(record, Since::Crash)?;
    if is_pending {
        warnings.push(
            "a Ralph that died while checks ran had put protected or planted files in place; the workspace has its own files \
             again, as the agent left them"
                .to_owned(),
        );
    }
    warnings.extend(
        changed.into_iter().map(|path| {
            format!("{path} was changed since then: it stays as it is, the former version is in .ralph/kept")
        }),
    );
    Ok(())
}

/// Takes out what a Ralph that died left in a workspace, for commands that change it without a loop.
pub fn take_out_leftovers(home: &Home, workspace: &mut Workspace, root: &Path) -> Result<Vec<String>, Error> {
    Ok(workspace.swap_out(&home.swap_record(root), Since::Crash)?)
}
