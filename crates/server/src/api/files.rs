//! Files of runs: on this machine, and in a database that several servers share.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use axum::body::{Body, Bytes};
use futures_util::stream::try_unfold;
use ralph_api::Problem;
use ralph_model::RunId;
use tokio::io::AsyncReadExt as _;

use crate::app::App;
use crate::call::{Answer, text};
use crate::problem::Refusal;

/// Bytes of a file that are in memory at once.
const CHUNK: usize = 64 * 1024;
/// Bytes of a piece in the database.
const PART: usize = 256 * 1024;
/// The largest file that is kept in the database. A larger one is only on the machine of the server that it was sent to.
const MAX_SHARED: u64 = 16 * 1024 * 1024;

pub(super) enum Found {
    Here(PathBuf),
    /// In the database, with its first piece.
    Shared {
        run: RunId,
        sha256: String,
        first: Vec<u8>,
    },
}

pub(super) fn not_here(what: &str) -> Refusal {
    Problem::new(404, "not-found", format!("{what} is not on this machine")).into()
}

/// Looks for a file of a run by its name. In a shared database the newest content is found, whichever server it was sent to.
pub(super) async fn find(app: &App, run: RunId, name: &str) -> Result<Option<Found>, Refusal> {
    if app.board().is_shared() {
        let recorded = app.store().artifacts(run).await?.into_iter().find(|artifact| artifact.name == name);
        if let Some(sha256) = recorded.map(|artifact| artifact.sha256)
            && let Some(first) = app.board().part(run, &sha256, 0).await?
        {
            return Ok(Some(Found::Shared { run, sha256, first }));
        }
    }
    Ok(inside(app.options.home.loop_folder(run).root(), name).map(Found::Here))
}

/// Keeps a file in the database, where servers share one. The first piece comes last: with it the file is there.
pub(super) async fn share(app: &App, run: RunId, sha256: &str, file: &Path) -> Result<(), Refusal> {
    let failed = |error: io::Error| Refusal::internal(format!("could not read a file that was sent: {error}"));
    let mut file = File::open(file).map_err(failed)?;
    if !app.board().is_shared() || file.metadata().map_err(failed)?.len() > MAX_SHARED {
        return Ok(());
    }
    let mut read = || {
        let mut piece = Vec::with_capacity(PART);
        (&mut file).take(PART as u64).read_to_end(&mut piece).map_err(failed).map(|_| piece)
    };
    let first = read()?;
    for part in 1.. {
        let piece = read()?;
        if piece.is_empty() {
            break;
        }
        app.board().put_part((run, sha256), part, piece, app.now()).await?;
    }
    app.board().put_part((run, sha256), 0, first, app.now()).await?;
    Ok(())
}

pub(super) async fn serve(app: &App, found: Found, media: &'static str) -> Answer {
    match found {
        Found::Here(path) => {
            let file = tokio::fs::File::open(&path).await.map_err(|_| not_here("the file"))?;
            let chunks = try_unfold(file, |mut file| async move {
                let mut chunk = vec![0; CHUNK];
                let count = file.read(&mut chunk).await?;
                chunk.truncate(count);
                Ok::<_, io::Error>((count > 0).then(|| (Bytes::from(chunk), file)))
            });
            text(media, Body::from_stream(chunks))
        }
        Found::Shared { run, sha256, first } => {
            let start = (app.clone(), sha256, Some(first), 0);
            let parts = try_unfold(start, move |(app, sha256, first, part)| async move {
                let piece = match first {
                    Some(first) => Some(first),
                    None => app.board().part(run, &sha256, part).await.map_err(io::Error::other)?,
                };
                Ok::<_, io::Error>(piece.map(|piece| (Bytes::from(piece), (app, sha256, None, part + 1))))
            });
            text(media, Body::from_stream(parts))
        }
    }
}

/// A journal that came from elsewhere must not name a file outside of its loop.
pub(super) fn inside(root: &Path, file: &str) -> Option<PathBuf> {
    let relative = Path::new(file);
    let is_inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    let path = root.join(relative);
    let is_file = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    (is_inside && is_file).then_some(path)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
