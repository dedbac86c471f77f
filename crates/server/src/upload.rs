//! Files that callers send: written to disk as they arrive, and hashed on the way.

use std::io;

use axum::body::Body;
use axum::http::HeaderMap;
use http_body_util::{BodyExt as _, Limited};
use ralph_api::Problem;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;

use crate::app::App;
use crate::call::{check_head, unread};
use crate::problem::Refusal;
use crate::token::hex;

/// A file that was sent. It is gone with this value unless it is moved to its place.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) file: NamedTempFile,
    pub(crate) sha256: String,
}

/// Reads a file within the limits. It lies next to its later place, and is private to the user.
pub(crate) async fn read_file(app: &App, headers: &HeaderMap, body: Body) -> Result<Upload, Refusal> {
    let limits = &app.options.limits;
    check_head(headers, "application/octet-stream", limits.artifact_bytes)?;
    let folder = app.options.home.root().join("loops");
    let failed =
        |error: io::Error| Refusal::internal(format!("could not keep a file in {}: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let file = NamedTempFile::new_in(&folder).map_err(failed)?;
    let mut writer = tokio::fs::File::from_std(file.reopen().map_err(failed)?);
    let mut body = Limited::new(body, limits.artifact_bytes);
    let mut digest = Sha256::new();
    let read = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| unread(&*error, limits.artifact_bytes))?;
            if let Some(piece) = frame.data_ref() {
                digest.update(piece);
                writer.write_all(piece).await.map_err(failed)?;
            }
        }
        writer.flush().await.map_err(failed)?;
        writer.sync_all().await.map_err(failed)
    };
    match tokio::time::timeout(limits.upload_timeout, read).await {
        Ok(read) => read?,
        Err(_) => return Err(Problem::new(408, "timeout", "the body took too long to arrive").into()),
    }
    Ok(Upload { file, sha256: hex(&digest.finalize()) })
}
