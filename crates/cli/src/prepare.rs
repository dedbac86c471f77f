//! From words to a complete configuration: reads the files, asks for approval where it is needed, and resolves. Starts
//! nothing.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ralph_model::{Timestamp, exit_code};
use ralph_store::Store;

use crate::args::RunArgs;
use crate::places::Places;
use crate::screen::Asking;
use crate::settings::{
    self, Approval, Inputs, Key, Layer, Links, Repository, RepositoryFile, Resolved, deep_debug_wanted, resolve,
    skill_wanted,
};
use crate::skills::{self, Found, Lookup};
use crate::trust::{self, Question};

/// Why a loop cannot be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A file or a value is wrong.
    #[error(transparent)]
    Settings(#[from] settings::Error),
    /// The skill cannot be used.
    #[error(transparent)]
    Skill(#[from] skills::Error),
    /// Something of the repository is not approved.
    #[error(transparent)]
    Trust(#[from] trust::Error),
    /// The objective cannot be read.
    #[error("could not read the objective from {place}: {source}")]
    Objective { place: String, source: io::Error },
    /// The objective does not end within the limit.
    #[error(
        "the objective from {place} is larger than 1 MiB\n  \
         allowed: UTF-8 text of at most 1 MiB; put longer material into a file of the workspace and name that file"
    )]
    ObjectiveTooLarge { place: String },
    /// The folder to work in is not there.
    #[error("--workspace: {}: {source}\n  allowed: a folder that exists", .path.display())]
    Workspace { path: PathBuf, source: io::Error },
}

impl Error {
    /// The exit code: only a broken store is Ralph's own fault.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Trust(trust::Error::Store(_)) => exit_code::ERROR,
            Self::Settings(_)
            | Self::Skill(_)
            | Self::Trust(_)
            | Self::Objective { .. }
            | Self::ObjectiveTooLarge { .. }
            | Self::Workspace { .. } => exit_code::USAGE,
        }
    }
}

/// What preparing a loop needs besides its words.
pub(crate) struct Context<'a> {
    /// Where Ralph keeps things.
    pub(crate) places: &'a Places,
    /// The user's home folder.
    pub(crate) home: &'a Path,
    /// The current folder.
    pub(crate) current: &'a Path,
    /// Where approvals are remembered.
    pub(crate) store: &'a Store,
    /// Whether there is somebody to ask.
    pub(crate) asking: Asking<'a>,
    /// The time.
    pub(crate) now: Timestamp,
    /// The agents that are found on this computer, in the user's order.
    pub(crate) installed: &'a dyn Fn(&Layer) -> Vec<String>,
}

/// The user's own configuration; empty when there is none.
///
/// # Errors
/// When it cannot be read or understood.
pub(crate) fn user_settings(places: &Places) -> Result<Layer, settings::Error> {
    let path = places.config_file();
    let Some(bytes) = settings::read(&path, Links::Follow)? else { return Ok(Layer::default()) };
    let Ok(text) = String::from_utf8(bytes) else { return Err(settings::Error::NotText { path }) };
    let document = settings::parse(&path, &text)?;
    if let Some(message) = settings::listed::unknown_in_order(&document.layer) {
        let (key, line) = (Key::AgentOrder, document.line_of(Key::AgentOrder));
        return Err(settings::Error::Value { path, line, key: key.name().to_owned(), message, example: key.example() });
    }
    Ok(document.layer)
}

/// The folder to work in, absolute and without links, so that approvals and locks mean the same folder by any name.
///
/// # Errors
/// When it is not there or not a folder.
pub(crate) fn workspace(given: Option<&Path>, current: &Path) -> Result<PathBuf, Error> {
    let path = current.join(given.unwrap_or(Path::new("")));
    let wrong = |source| Error::Workspace { path: path.clone(), source };
    let canonical = path.canonicalize().map_err(wrong)?;
    if canonical.is_dir() { Ok(canonical) } else { Err(wrong(io::ErrorKind::NotADirectory.into())) }
}

/// The largest objective that is read: a device or a pipe may never end, and every prompt carries all of it.
const MAX_OBJECTIVE: u64 = 1 << 20;

/// The objective, byte for byte: from the words, from a file, or from `input` for `-`.
///
/// # Errors
/// When it cannot be read, is too large or is not UTF-8.
pub(crate) fn objective(args: &RunArgs, input: &mut dyn Read) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let (place, read) = match (&args.objective_file, args.objective.as_deref()) {
        (Some(file), _) => {
            let read = std::fs::File::open(file).and_then(|file| file.take(MAX_OBJECTIVE + 1).read_to_end(&mut bytes));
            (file.display().to_string(), read)
        }
        (None, Some("-")) => ("standard input".to_owned(), input.take(MAX_OBJECTIVE + 1).read_to_end(&mut bytes)),
        (None, given) => return Ok(given.unwrap_or_default().to_owned()),
    };
    match read {
        Err(source) => Err(Error::Objective { place, source }),
        Ok(_) if bytes.len() as u64 > MAX_OBJECTIVE => Err(Error::ObjectiveTooLarge { place }),
        Ok(_) => String::from_utf8(bytes).map_err(|_| {
            let source = io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
            Error::Objective { place, source }
        }),
    }
}

/// Reads, asks and resolves. `workspace` comes from [`workspace`], `objective` from [`objective`].
///
/// # Errors
/// When the configuration is wrong or not approved; nothing was started.
pub(crate) async fn prepare(
    args: &RunArgs,
    objective: String,
    workspace: &Path,
    mut context: Context<'_>,
) -> Result<Resolved, Error> {
    let user = user_settings(context.places)?;
    let repository = repository(workspace, &mut context).await?;
    let repository = repository.as_ref();
    let skill = match skill_wanted(args, &user, repository) {
        Some(name) => Some(skill_by_name(&name, workspace, &mut context).await?),
        None => None,
    };
    let deep_debug = match deep_debug_wanted(args, &user, repository) {
        true => Some(skill_by_name(skills::DEEP_DEBUG, workspace, &mut context).await?.skill),
        false => None,
    };
    let installed = (context.installed)(&user);
    let (home, current) = (context.home, context.current);
    let inputs = Inputs { objective, workspace, home, current, skill, deep_debug, installed: &installed };
    Ok(resolve(args, &user, repository, inputs)?)
}

async fn repository(workspace: &Path, context: &mut Context<'_>) -> Result<Option<Repository>, Error> {
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

async fn skill_by_name(name: &str, workspace: &Path, context: &mut Context<'_>) -> Result<Found, Error> {
    match skills::find(name, &context.places.skills(), workspace)? {
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
