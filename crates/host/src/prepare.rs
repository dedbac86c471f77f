//! From words to a complete configuration: reads the files, asks for approval where it is needed, and resolves. Starts
//! nothing.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ralph_config::skills::{self, Found, Lookup};
use ralph_config::trust::{Asking, Question};
use ralph_config::{
    Approval, FILE_NAME, Inputs, Layer, Layers, Repository, RepositoryFile, Resolved, read_user, resolve,
};
use ralph_model::{ConfigError, Timestamp};
use ralph_store::StoreHandle;

use crate::{Dirs, Error, RunRequest};

/// What preparing a loop needs besides the request.
pub(crate) struct Context<'a, 'b> {
    pub(crate) dirs: &'a Dirs,
    pub(crate) home: &'a Path,
    pub(crate) current: &'a Path,
    pub(crate) store: &'a StoreHandle,
    pub(crate) asking: Asking<'b>,
    pub(crate) now: Timestamp,
    /// The agents that are found on this computer, in the user's order.
    pub(crate) installed: &'a (dyn Fn(&Layer) -> Vec<String> + Sync),
}

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

/// Reads, asks and resolves. `workspace` comes from [`workspace`].
///
/// # Errors
/// When the configuration is wrong or not approved; nothing was started.
pub(crate) async fn prepare(
    request: &RunRequest,
    workspace: &Path,
    mut context: Context<'_, '_>,
) -> Result<Resolved, Error> {
    let user = read_user(&context.dirs.config_file())?;
    let repository = repository(workspace, &mut context).await?;
    let layers = Layers { caller: &request.settings, repository: repository.as_ref(), user: &user };
    let skill = match layers.skill() {
        Some(name) => Some(skill_by_name(&name, workspace, &mut context).await.map_err(|error| match error {
            Error::Skill(skills::Error::Rule(rule)) => layers.skill_in_its_place(rule).into(),
            error => error,
        })?),
        None => None,
    };
    let deep_debug = match layers.wants_deep_debug() {
        true => Some(skill_by_name(skills::DEEP_DEBUG, workspace, &mut context).await?.skill),
        false => None,
    };
    let installed = (context.installed)(&user);
    let (home, current) = (context.home, context.current);
    let (objective, race, agent) = (request.objective.clone(), request.race, request.agent.clone());
    let for_loops = skill.as_ref().map_or(Ok(()), Found::require_loops);
    let inputs = Inputs { objective, workspace, home, current, skill, deep_debug, race, agent, installed: &installed };
    let resolved = resolve(layers, inputs)?;
    if resolved.config.max_iterations > 1 {
        for_loops?;
    }
    Ok(resolved)
}

async fn repository(workspace: &Path, context: &mut Context<'_, '_>) -> Result<Option<Repository>, Error> {
    let Some(file) = RepositoryFile::read(workspace)? else { return Ok(None) };
    let approval = match Question::about_file(&file, workspace) {
        Some(question) => {
            question.ensure(context.store, &mut context.asking, context.now).await?;
            Approval::Given
        }
        None => Approval::Missing,
    };
    Ok(Some(file.with(approval)))
}

async fn skill_by_name(name: &str, workspace: &Path, context: &mut Context<'_, '_>) -> Result<Found, Error> {
    match skills::find(name, &context.dirs.skills(), workspace)? {
        Lookup::Ready(found) => Ok(found),
        Lookup::NeedsApproval(candidate) => {
            let question = Question::about_skill(&candidate, workspace);
            question.ensure(context.store, &mut context.asking, context.now).await?;
            Ok(candidate.approved())
        }
    }
}

#[cfg(test)]
#[path = "prepare_tests.rs"]
mod tests;
