//! From words to a complete configuration: reads the files, asks for approval where it is needed, and resolves. Starts
//! nothing.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ralph_config::skills::{self, Found, Lookup};
use ralph_config::trust::{Asking, Question};
use ralph_config::{Approval, FILE_NAME, Inputs, Layers, Repository, RepositoryFile, Resolved, resolve};
use ralph_model::ConfigError;
use ralph_store::StoreHandle;

use crate::{Error, Host, RunRequest};

/// The folder to work in: the one that is given, or the project that the current folder belongs to.
pub fn workspace(given: Option<&Path>, current: &Path) -> Result<PathBuf, Error> {
    match given {
        Some(given) => existing_folder(&current.join(given)),
        None => existing_folder(current).map(project),
    }
}

/// The nearest folder with a `ralph.toml`, up to the root of the git repository; else the folder itself. Files of other users
/// than the folder's owner and root do not count: anybody can write some above a folder in `/tmp`.
fn project(folder: PathBuf) -> PathBuf {
    let owner = |path: &Path| path.symlink_metadata().ok().map(|about| about.uid());
    let own = owner(&folder);
    let has = |folder: &Path, name: &str| owner(&folder.join(name)).is_some_and(|user| user == 0 || Some(user) == own);
    let depth = folder.ancestors().position(|above| has(above, ".git")).unwrap_or(0);
    let nearest = folder.ancestors().take(depth + 1).find(|above| has(above, FILE_NAME)).map(Path::to_owned);
    nearest.unwrap_or(folder)
}

/// Absolute and without links, so that approvals and locks mean the same folder by any name.
pub fn existing_folder(path: &Path) -> Result<PathBuf, Error> {
    let wrong = |source: io::Error| {
        let problem = format!("{}: {source}", path.display());
        Error::from(ConfigError::new("workspace", problem, "a folder that exists"))
    };
    let canonical = path.canonicalize().map_err(wrong)?;
    if canonical.is_dir() { Ok(canonical) } else { Err(wrong(io::ErrorKind::NotADirectory.into())) }
}

impl Host {
    /// Reads, asks and resolves. `workspace` comes from [`workspace`].
    ///
    /// # Errors
    /// When the configuration is wrong or not approved; nothing was started.
    pub(crate) async fn resolve(
        &self,
        request: &RunRequest,
        workspace: &Path,
        store: &StoreHandle,
        mut asking: Asking<'_>,
    ) -> Result<Resolved, Error> {
        let user = self.user_settings()?;
        let repository = self.repository(workspace, store, &mut asking).await?;
        let layers = Layers { caller: &request.settings, repository: repository.as_ref(), user: &user };
        let skill = match layers.skill() {
            Some(name) => {
                let found = self.skill(&name, workspace, store, &mut asking).await;
                Some(found.map_err(|error| match error {
                    Error::Skill(skills::Error::Rule(rule)) => layers.skill_in_its_place(rule).into(),
                    error => error,
                })?)
            }
            None => None,
        };
        let deep_debug = match layers.wants_deep_debug() {
            true => Some(self.skill(skills::DEEP_DEBUG, workspace, store, &mut asking).await?.skill),
            false => None,
        };
        let (home, installed) = (self.user_home(), self.usable_agents(&user));
        let for_loops = skill.as_ref().map_or(Ok(()), Found::require_loops);
        let inputs = Inputs {
            objective: request.objective.clone(),
            workspace,
            home: &home,
            current: &self.current,
            skill,
            deep_debug,
            race: request.race,
            agent: request.agent.clone(),
            installed: &installed,
        };
        let resolved = resolve(layers, inputs)?;
        if resolved.config.max_iterations > 1 {
            for_loops?;
        }
        Ok(resolved)
    }

    async fn repository(
        &self,
        workspace: &Path,
        store: &StoreHandle,
        asking: &mut Asking<'_>,
    ) -> Result<Option<Repository>, Error> {
        let Some(file) = RepositoryFile::read(workspace)? else { return Ok(None) };
        let approval = match Question::about_file(&file, workspace) {
            Some(question) => {
                question.ensure(store, asking, self.now()).await?;
                Approval::Given
            }
            None => Approval::Missing,
        };
        Ok(Some(file.with(approval)))
    }

    async fn skill(
        &self,
        name: &str,
        workspace: &Path,
        store: &StoreHandle,
        asking: &mut Asking<'_>,
    ) -> Result<Found, Error> {
        match skills::find(name, &self.dirs.skills(), workspace)? {
            Lookup::Ready(found) => Ok(found),
            Lookup::NeedsApproval(candidate) => {
                let question = Question::about_skill(&candidate, workspace);
                question.ensure(store, asking, self.now()).await?;
                Ok(candidate.approved())
            }
        }
    }
}

#[cfg(test)]
#[path = "prepare_tests.rs"]
mod tests;
