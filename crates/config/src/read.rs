//! Reads a small file once. What is checked is what is read: every question is put to the open file, never to its name
//! a second time.

use std::io::{self, Read as _};
use std::path::Path;

use ralph_agents::files::{Links, open};

use super::{Error, MAX_BYTES};

/// Reads a file whole; none when there is no such file.
///
/// # Errors
/// When it is not an ordinary file, too large, or not readable.
pub fn read(path: &Path, links: Links) -> Result<Option<Vec<u8>>, Error> {
    let not_ordinary = |what| Error::NotOrdinary { path: path.to_owned(), what };
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    let file = match open(path, links) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(not_ordinary("is a symbolic link"));
        }
        Err(source) => return Err(unreadable(source)),
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(not_ordinary("is not an ordinary file"));
    }
    // The size is only a hint for a file that grows meanwhile; the reader's limit decides.
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(not_ordinary("is larger than 256 KiB"));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
