//! Artifacts: a row for each file of a run, and the content where several servers share the database.

use ralph_model::{Attempt, Iteration, RunId, Timestamp};

use super::session::{Session, values};
use crate::artifact::{Artifact, ArtifactKind};
use crate::error::Result;

pub(super) async fn record(session: &mut Session<'_>, run: RunId, artifacts: &[Artifact]) -> Result<()> {
    let row = "INSERT INTO artifacts (loop, name, kind, iteration, attempt, sha256, bytes, at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (loop, name) \
         DO UPDATE SET kind = $3, iteration = $4, attempt = $5, sha256 = $6, bytes = $7, at = $8";
    for Artifact { kind, name, iteration, attempt, sha256, bytes, at } in artifacts {
        let (iteration, attempt) = (iteration.map(|iteration| iteration.0), attempt.map(|attempt| attempt.0));
        let values = values![run, name.as_str(), kind.name(), iteration, attempt, sha256.as_str(), *bytes, *at];
        session.later(row, values).await?;
    }
    Ok(())
}

pub(super) async fn list(session: &mut Session<'_>, run: RunId) -> Result<Vec<Artifact>> {
    let all = "SELECT name, kind, iteration, attempt, sha256, bytes, at FROM artifacts WHERE loop = $1 ORDER BY name";
    let rows = session.rows(all, values![run]).await?;
    rows.iter()
        .map(|row| {
            Ok(Artifact {
                kind: row.parsed("kind", |name: &String| ArtifactKind::parse(name))?,
                name: row.get("name")?,
                iteration: row.small_or_null("iteration")?.map(Iteration),
                attempt: row.small_or_null("attempt")?.map(Attempt),
                sha256: row.get("sha256")?,
                bytes: row.count("bytes")?,
                at: row.get("at").map(Timestamp)?,
            })
        })
        .collect()
}

pub(super) async fn put_part(
    session: &mut Session<'_>,
    (run, sha256): (RunId, &str),
    part: u32,
    content: Vec<u8>,
    at: Timestamp,
) -> Result<()> {
    // Of the same hash, and so the same.
    let row = "INSERT INTO artifact_parts (loop, sha256, part, content, at) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (loop, sha256, part) DO NOTHING";
    session.execute(row, values![run, sha256, part, content, at]).await.map(drop)
}

pub(super) async fn part(session: &mut Session<'_>, run: RunId, sha256: &str, part: u32) -> Result<Option<Vec<u8>>> {
    let one = "SELECT content FROM artifact_parts WHERE loop = $1 AND sha256 = $2 AND part = $3";
    session.row(one, values![run, sha256, part]).await?.map(|row| row.get("content")).transpose()
}

pub(super) async fn forget_parts(session: &mut Session<'_>, before: Timestamp) -> Result<u64> {
    session.execute("DELETE FROM artifact_parts WHERE at < $1", values![before]).await
}
