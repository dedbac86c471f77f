//! Ids of contents that are read from files, piece by piece. Keeps nothing.

use std::io::{self, Read, Write};

use rustix::fs::Stat;
use sha1::{Digest, Sha1};

use crate::object::{Id, Kind};
use crate::stamp::Stamp;
use crate::stop::Poll;

/// Copies a content of this size and gives the id that git gives to it.
pub(crate) fn copy(source: &mut impl Read, size: u64, target: &mut impl Write, poll: &Poll) -> io::Result<Id> {
    let mut hash = Sha1::new();
    hash.update(Kind::Blob.header(size));
    let mut buffer = vec![0; (size as usize).clamp(1, 1 << 16)];
    loop {
        poll.check_io()?;
        match source.read(&mut buffer)? {
            0 => return Ok(Id(hash.finalize().into())),
            count => {
                hash.update(&buffer[..count]);
                target.write_all(&buffer[..count])?;
            }
        }
    }
}

/// The bytes that the file system has allocated for a file.
pub(crate) const fn allocated(stat: &Stat) -> u64 {
    (stat.st_blocks as u64).saturating_mul(512)
}

/// The id that git gives to a content of this size.
pub(crate) fn hash(source: &mut impl Read, size: u64, poll: &Poll) -> io::Result<Id> {
    copy(source, size, &mut io::sink(), poll)
}

/// Larger files are known by what the file system says about them: reading one can take hours, a sparse one of a few blocks
/// too.
pub(crate) const MAX_FILE: u64 = 1 << 30;

/// No limit leaves smaller files out.
pub(crate) const MIN_LIMIT: u64 = 1 << 20;

/// What stands in a tree for a file that is too large to be read, or that takes more of the disk than `max` bytes: a sparse file
/// counts by what is allocated for it. A write to the file changes this text, because no program can set the time of the last
/// change.
pub(crate) fn large(stamp: &Stamp, allocated: u64, max: u64) -> Option<Vec<u8>> {
    let Stamp { device, inode, size, modified, changed, .. } = stamp;
    (*size > MAX_FILE || allocated.min(*size) > max).then(|| {
        let facts = format!("{size} bytes, inode {inode} of device {device}, modified {modified}, changed {changed}");
        format!("ralph: this file was too large to be recorded ({facts})\n").into_bytes()
    })
}
