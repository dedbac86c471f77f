//! The file that keeps what a program printed. Takes clean text only; cleaning is not its duty.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::spec::Recorded;

/// A log with a limit. Everything is handed to the system at once, so that others can follow the file and a killed
/// Ralph loses nothing of it; pieces are as large as a pipe delivers them, which makes a buffer pointless.
#[derive(Debug)]
pub struct Log {
    file: File,
    hash: Sha256,
    room: u64,
    limit: u64,
    dropped: u64,
}

impl Log {
    /// Creates the file, readable by its owner only, or empties it.
    pub fn create(path: &Path, limit: u64) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Self { file, hash: Sha256::new(), room: limit, limit, dropped: 0 })
    }

    /// Adds text, as far as there is room for it.
    pub fn append(&mut self, text: &str) -> io::Result<()> {
        if self.dropped > 0 {
            self.dropped += text.len() as u64;
            return Ok(());
        }
        let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(text.len());
        let (kept, rest) = text.split_at(text.floor_char_boundary(fits));
        self.write(kept.as_bytes())?;
        self.room -= kept.len() as u64;
        if !rest.is_empty() {
            self.dropped = rest.len() as u64;
            self.write(
                format!("\n[ralph: the log was cut here, after {} bytes]\n", self.limit - self.room).as_bytes(),
            )?;
        }
        Ok(())
    }

    /// Says what is missing, and closes the file. `bytes` is what the program wrote.
    pub fn finish(mut self, bytes: u64) -> io::Result<Recorded> {
        if self.dropped > 0 {
            self.write(format!("[ralph: {} more bytes were not kept]\n", self.dropped).as_bytes())?;
        }
        let sha256 = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Recorded { bytes, sha256, cut: self.dropped > 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        Ok(())
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
