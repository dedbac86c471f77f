//! The worktree of a loop that does not work in the user's own folder.

use std::io;
use std::path::{Path, PathBuf};

use ralph_model::LoopId;
use ralph_workspace::{Repository, StopFlag};

use crate::error::Error;
use crate::home::Home;
use crate::open::blocking;
use crate::services::Services;

/// Removes the worktree and the branch of a loop that did not begin.
pub(crate) async fn discard(services: &Services, repository: &Repository, loop_id: LoopId) {
    let (top, repository) = (services.home.worktree(loop_id), repository.clone());
    let branch = format!("ralph/{}", loop_id.short());
    if let Err(error) = blocking(move || Ok(repository.discard_worktree(&top, &branch)?)).await {
        services.warn(format!("the worktree of a loop that did not begin stays: {}", error.chain()));
    }
}

/// Makes the loop's worktree, and gives the folder in it that corresponds to the one the loop was started for.
pub(crate) async fn make(
    services: &Services,
    repository: &Repository,
    loop_id: LoopId,
    origin: &Path,
    stop: StopFlag,
) -> Result<PathBuf, Error> {
    let top = services.home.worktree(loop_id);
    Home::make_private(&services.home.root().join("worktrees"))?;
    let folder = match origin.strip_prefix(repository.top()) {
        Ok(below) if !below.as_os_str().is_empty() => top.join(below),
        Ok(_) | Err(_) => top.clone(),
    };
    let repository = repository.clone();
    blocking(move || {
        let branch = format!("ralph/{}", loop_id.short());
        repository.add_worktree(&top, &branch, &stop)?;
        if !folder.is_dir() {
            repository.discard_worktree(&top, &branch)?;
            let why =
                "the current commit does not contain this folder, so a worktree would not either: commit it first";
            return Err(Error::file(&folder)(io::Error::other(why)));
        }
        Ok(folder)
    })
    .await
}
