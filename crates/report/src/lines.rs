//! The file of metrics: a line per loop, added in one write, read past whatever is broken.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use ralph_model::Timestamp;
use rustix::fs::OFlags;

use crate::error::{Error, Result};
use crate::record::Record;

/// What a file of metrics holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// The loops that ended in the asked-for period, in the order of the file.
    pub records: Vec<Record>,
    /// The numbers of the lines that are no record, counted from 1.
    pub broken: Vec<u64>,
}

/// Adds a line, making the file and its folders where they are missing.
///
/// The line goes out in a single append, which other writers cannot come between. A line that an earlier crash left
/// without its end is ended first, so that only that one is lost.
///
/// # Errors
/// When the file cannot be written, or is no ordinary file.
pub fn append(path: &Path, record: &Record) -> Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
    }
    let mut file = open(path, OpenOptions::new().read(true).append(true).create(true))?;
    if ends_inside_a_line(&mut file).map_err(Error::file("read", path))? {
        line.insert(0, b'\n');
    }
    let written = file.write(&line).map_err(Error::file("append to", path))?;
    if written < line.len() {
        // The next append ends the torn line; going on here could put another writer's line into its middle.
        let short = io::Error::new(io::ErrorKind::WriteZero, "only a part of the line was written");
        return Err(Error::file("append to", path)(short));
    }
    Ok(())
}

/// Reads the loops that ended at or after `since` and before `until`. Lines that are no record are counted and skipped,
/// empty ones do not count; a file that is not there holds nothing.
///
/// # Errors
/// When the file cannot be read, or is no ordinary file.
pub fn read(path: &Path, since: Option<Timestamp>, until: Option<Timestamp>) -> Result<Read> {
    let file = match open(path, OpenOptions::new().read(true)) {
        Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(Read::default()),
        file => file?,
    };
    let mut reader = BufReader::with_capacity(1 << 18, file);
    let mut found = Read::default();
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(Error::file("read", path))? == 0 {
            return Ok(found);
        }
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Record>(&line) {
            Ok(record) if since.is_some_and(|since| record.end_time < since) => {}
            Ok(record) if until.is_some_and(|until| record.end_time >= until) => {}
            Ok(record) => found.records.push(record),
            // Why a line is broken is not reported: it was torn by a crash or written by another program.
            Err(_) => found.broken.push(number),
        }
    }
}

fn open(path: &Path, options: &mut OpenOptions) -> Result<File> {
    // A link is not followed, and a pipe without a reader does not block.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let opened = options.custom_flags(flags.cast_signed()).open(path);
    let not_a_file = || Error::NotAFile { path: path.to_owned() };
    match opened {
        Ok(file) => {
            let is_file = file.metadata().map_err(Error::file("read", path))?.is_file();
            if is_file { Ok(file) } else { Err(not_a_file()) }
        }
        // The first for a link, the second for a pipe without a reader.
        Err(error)
            if matches!(
                rustix::io::Errno::from_io_error(&error),
                Some(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO)
            ) =>
        {
            Err(not_a_file())
        }
        Err(error) => Err(Error::file("open", path)(error)),
    }
}

fn ends_inside_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
