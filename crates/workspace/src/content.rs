//! Ids of contents that are read from files, piece by piece. Keeps nothing.

use std::io::{self, Read, Write};

use sha1::{Digest, Sha1};

use crate::object::{Id, Kind};

/// Copies a content of this size and gives the id that git gives to it.
pub(crate) fn copy(source: &mut impl Read, size: u64, target: &mut impl Write) -> io::Result<Id> {
    let mut hash = Sha1::new();
    hash.update(Kind::Blob.header(size));
    let mut buffer = vec![0; (size as usize).clamp(1, 1 << 16)];
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(Id(hash.finalize().into())),
            count => {
                hash.update(&buffer[..count]);
                target.write_all(&buffer[..count])?;
            }
        }
    }
}

/// The id that git gives to a content of this size.
pub(crate) fn hash(source: &mut impl Read, size: u64) -> io::Result<Id> {
    copy(source, size, &mut io::sink())
}
