//! Keeps an agent from changing how it works: says when its settings are used, and tells what became of them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError};

use ralph_model::{AgentSpec, Attempt, Sandboxing};

use super::Context;
use crate::error::Error;
use crate::settings_snapshot::{Report, SettingsSnapshot, Shared, Tree, recover};

/// Paths that are named in a warning.
const MAX_NAMED: usize = 5;

const LOST_TASK: Error = Error::Vanished("reading the agent's settings");

/// What runs while a repository is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// An agent, which may outlive a Ralph that dies.
    Agent,
    Checks,
}

/// What steers the user's own git, from one agent to the next.
#[derive(Default)]
pub(super) struct Steering {
    /// As it was last found.
    known: Arc<SettingsSnapshot>,
    /// Its copy on disk, which stays there until a rest or the end of the loop.
    shared: Option<Shared>,
}

impl Steering {
    fn release(&mut self) -> Result<(), Error> {
        self.shared.take().map_or(Ok(()), Shared::release)
    }
}

/// However the loop ends: a copy without an owner would be put back over what the user changes later.
impl Drop for Steering {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            tracing::warn!(error = error.chain(), "the copy of the repository's settings could not be removed");
        }
    }
}

#[derive(Default)]
pub(super) struct RepositoryGuard {
    pub(super) shared: Option<Shared>,
    steering: Arc<SettingsSnapshot>,
    links: SettingsSnapshot,
    /// The folders that it belongs to, as the kernel knows them: another one in their place is left alone.
    folders: Vec<(PathBuf, Option<(u64, u64)>)>,
}

impl RepositoryGuard {
    /// The first of its folders that was deleted or replaced since; one that was not there does not count.
    fn lost(&self) -> Option<&Path> {
        let is_lost = |(path, known): &&(PathBuf, Option<(u64, u64)>)| known.is_some() && identity(path) != *known;
        self.folders.iter().find(is_lost).map(|(path, _)| path.as_path())
    }

    fn is_there(&self) -> bool {
        self.lost().is_none() && self.folders.iter().all(|(_, known)| known.is_some())
    }
}

fn identity(folder: &Path) -> Option<(u64, u64)> {
    let about = fs::symlink_metadata(folder).ok().filter(fs::Metadata::is_dir)?;
    Some((about.dev(), about.ino()))
}

impl Context {
    /// What says how the agent works is kept from here on. Not for one that keeps the user's settings: it may change them, too.
    pub(super) async fn use_settings(&self, agent: &AgentSpec, attempt: Attempt) -> Result<Option<Shared>, Error> {
        if agent.user_settings || self.config.sandbox == Sandboxing::Off {
            return Ok(None);
        }
        let mut roots = (self.services.kept)(agent);
        roots.sort();
        roots.dedup();
        if roots.is_empty() {
            return Ok(None);
        }
        let folder = self.services.home.kept_settings_of(&roots);
        let aside = self.folder.settings(attempt).join("before");
        let place = aside.display().to_string();
        let entered = tokio::task::spawn_blocking(move || {
            // Not kept in memory: there may be much of it.
            Shared::enter(&folder, &roots, &aside, &SettingsSnapshot::default())
        })
        .await;
        let (shared, found) = entered.map_err(|_| LOST_TASK)??;
        self.warn_of_settings(
            "the agent's settings were changed by another agent, which is running or whose Ralph died, and were restored",
            &found.report,
            &place,
        );
        let told = &mut *self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let gaps: Vec<String> = found.gaps.into_iter().filter(|gap| told.insert(gap.clone())).collect();
        if !gaps.is_empty() {
            self.services.warn(format!(
                "changes to some of the agent's own settings cannot be restored, because there are too many or they cannot be \
                 read ({}): {}",
                gaps.len(),
                named(&gaps)
            ));
        }
        Ok(Some(shared))
    }

    /// What makes the user's own git run programs is kept from here on: a process that runs in the workspace can write it, and the
    /// user's next git call would carry it out, outside of any sandbox.
    pub(super) async fn guard_repository(&self, runs: Runs, attempt: Attempt) -> Result<RepositoryGuard, Error> {
        let Some(repository) = self.repository.clone() else { return Ok(RepositoryGuard::default()) };
        let (steering, links) = (repository.steering(), repository.links());
        let (home, folder) = (self.services.home.clone(), self.folder.settings(attempt).join("git"));
        // Worktrees share most of it: a loop in another one must not take a change for the original.
        let is_shared = runs == Runs::Agent || !links.is_empty();
        let (known, held) = {
            let mut kept = self.steering();
            (Arc::clone(&kept.known), is_shared.then(|| kept.shared.take()).flatten())
        };
        let taken = tokio::task::spawn_blocking(move || {
            let (kept, before) = (home.kept_settings_of(&steering), folder.join("before"));
            let (shared, steering) = match held {
                Some(shared) if shared.is_in(&kept) => {
                    let found = shared.again(&steering, &before, &known)?;
                    (Some(shared), found.kept)
                }
                held if is_shared => {
                    held.map_or(Ok(()), Shared::release)?;
                    let (shared, found) = Shared::enter(&kept, &steering, &before, &known)?;
                    (Some(shared), found.kept)
                }
                _ => (None, Arc::new(SettingsSnapshot::take_again(&steering, &known))),
            };
            let folders = repository.folders().into_iter().map(|folder| (folder.clone(), identity(&folder))).collect();
            Ok::<_, Error>(RepositoryGuard { folders, shared, steering, links: SettingsSnapshot::take(&links) })
        });
        let guard = taken.await.map_err(|_| LOST_TASK)??;
        if guard.shared.is_some() {
            self.steering().known = Arc::clone(&guard.steering);
        }
        Ok(guard)
    }

    fn steering(&self) -> MutexGuard<'_, Steering> {
        self.steering.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing runs for a while: what the user changes meanwhile is no agent's work, even if Ralph dies.
    pub(super) async fn release_repository(&self) {
        let mut kept = std::mem::take(&mut *self.steering());
        let released = tokio::task::spawn_blocking(move || kept.release()).await;
        if let Err(error) = released.map_err(|_| LOST_TASK).flatten() {
            self.services.warn(format!("the copy of the repository's settings was not removed: {}", error.chain()));
        }
    }

    /// Makes it what it was, and says so.
    pub(super) async fn restore_repository(&self, guard: RepositoryGuard, tree: Tree, attempt: Attempt) {
        let aside = self.folder.settings(attempt).join("git");
        let place = aside.display().to_string();
        if let Some(lost) = guard.lost() {
            self.services.warn(format!(
                "{} was deleted or replaced: the history, branches and stashes that were only there are gone; `ralph rewind {} \
                 --to start` restores the files of the workspace",
                lost.display(),
                self.loop_id.short()
            ));
        }
        let restored = tokio::task::spawn_blocking(move || {
            // An agent that deleted or replaced the whole repository has left nothing that git could read there.
            if !guard.is_there() {
                guard.shared.map_or(Ok(()), Shared::forget)?;
                return Ok((None, Report::default()));
            }
            let mut report = guard.links.put_back(&aside);
            let (shared, rest) = match guard.shared {
                Some(shared) if tree == Tree::Gone => shared.stay(&aside, &guard.steering)?,
                Some(shared) => (None, shared.leave(tree, &aside, Some(&guard.steering))?),
                None => (None, guard.steering.put_back(&aside)),
            };
            report.add(rest);
            Ok::<_, Error>((shared, report))
        });
        match restored.await.map_err(|_| LOST_TASK).flatten() {
            Ok((shared, report)) => {
                if shared.is_some() {
                    self.steering().shared = shared;
                }
                self.warn_of_settings(
                    "configuration or hooks of the repository, which your own git would use, changed and were restored",
                    &report,
                    &place,
                );
            }
            Err(error) => self.services.warn(format!("the repository's settings were not restored: {}", error.chain())),
        }
    }

    pub(super) async fn put_settings_back(&self, settings: Option<Shared>, tree: Tree, attempt: Attempt) {
        let Some(settings) = settings else { return };
        let aside = self.folder.settings(attempt);
        let place = aside.display().to_string();
        let left = tokio::task::spawn_blocking(move || settings.leave(tree, &aside, None)).await;
        match left.map_err(|_| LOST_TASK).flatten() {
            Ok(report) => self.warn_of_settings(
                "the agent's own settings changed while it ran, and were restored",
                &report,
                &place,
            ),
            // The copy of them stays for the next start of an agent.
            Err(error) => self.services.warn(format!("the agent's settings were not restored: {}", error.chain())),
        }
    }

    /// Puts settings back that agents of a Ralph that died have changed, whichever they were.
    pub(crate) async fn recover_settings(&self) {
        let (all, aside) = (self.services.home.kept_settings(), self.folder.settings_left_behind());
        let place = aside.display().to_string();
        let found = tokio::task::spawn_blocking(move || recover(&all, &aside)).await;
        match found.map_err(|_| LOST_TASK).flatten() {
            Ok(report) => self.warn_of_settings(
                "an agent's settings were changed by an agent that is running or whose Ralph died, and were restored",
                &report,
                &place,
            ),
            Err(error) => self.services.warn(format!("an agent's settings were not restored: {}", error.chain())),
        }
    }

    fn warn_of_settings(&self, what: &str, report: &Report, place: &str) {
        let (changed, lost) = (&report.changed, &report.lost);
        if !changed.is_empty() {
            let all = if report.unsaved == 0 { "" } else { ", as far as there is room" };
            let (count, named) = (changed.len(), named(changed));
            self.services.warn(format!("{what} ({count}): {named}; the changed versions are in {place}{all}"));
        }
        if !lost.is_empty() {
            let (count, named) = (lost.len(), named(lost));
            self.services.warn(format!(
                "some settings of an agent changed and could not be restored ({count}): {named}; review them before you use \
                 that agent"
            ));
        }
    }
}

fn named(paths: &[String]) -> String {
    let more = if paths.len() > MAX_NAMED { ", …" } else { "" };
    format!("{}{more}", paths[..paths.len().min(MAX_NAMED)].join(", "))
}
