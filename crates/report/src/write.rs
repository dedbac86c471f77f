//! Puts a report on disk, whole or not at all.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::chart;
use crate::date::day_start;
use crate::error::{Error, Result};
use crate::markdown::{Heading, markdown};
use crate::summary::Summary;

/// Writes `ralph-report-D.md` and the chart it shows, `ralph-report-D.svg`, into a folder, and gives their paths in that
/// order. Older ones of the same day are replaced. `period` says in words which loops the report is about.
///
/// # Errors
/// [`Error::Date`] for a date that is none; else when the folder does not take the files.
pub fn write(folder: &Path, date: &str, period: &str, summary: &Summary, broken: usize) -> Result<(PathBuf, PathBuf)> {
    day_start(date)?;
    fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
    let chart = format!("ralph-report-{date}.svg");
    let report = markdown(summary, Heading { date, period, chart: &chart, broken });
    // The chart first: a report never points to one that is not there.
    let drawn = replace(folder.join(&chart), &chart::svg(summary))?;
    let written = replace(folder.join(format!("ralph-report-{date}.md")), &report)?;
    Ok((written, drawn))
}

fn replace(path: PathBuf, text: &str) -> Result<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".ralph-report-")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(Error::file("create a file in", folder))?;
    file.write_all(text.as_bytes()).map_err(Error::file("write", &path))?;
    file.as_file().sync_data().map_err(Error::file("write", &path))?;
    file.persist(&path).map_err(|error| Error::file("replace", &path)(error.error))?;
    Ok(path)
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
