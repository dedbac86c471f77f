//! The content of files that changed.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::BorrowedFd;
use std::sync::LazyLock;

use rustix::fs::{FileType, Mode as Permissions, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

use super::{Scan, Seen};
use crate::Error;
use crate::content::{allocated, large};
use crate::object::{Id, Kind, Mode};
use crate::stamp::Stamp;

/// Stands in a tree for a file that may not be read. Restoring leaves such a file alone.
const MARKER: &[u8] = b"ralph: this file could not be read when the snapshot was taken\n";

pub(crate) static MARKER_ID: LazyLock<Id> = LazyLock::new(|| Id::of(Kind::Blob, MARKER));

/// Larger files are never held in memory as a whole.
const LARGE: u64 = 32 << 20;
/// How often a file that changes while it is read is read again before the last reading counts.
const READINGS: usize = 3;
/// How files are opened: never through a link, and without waiting for the other end of a pipe.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Scan<'_> {
    /// Looks at a file whose stamp is new; `None` when it is gone or no file any more. The path is the file's.
    pub(super) fn look(&mut self, fd: BorrowedFd<'_>, name: &CStr, stamp: Stamp) -> Result<Option<Seen>, Error> {
        let mode = match FileType::from_raw_mode(stamp.mode) {
            FileType::RegularFile => Mode::of_permissions(stamp.mode),
            FileType::Symlink => Mode::Link,
            _ => return Ok(None),
        };
        self.read += 1;
        if mode == Mode::Link {
            let target = match readlinkat(fd, name, Vec::new()) {
                Ok(target) => target.into_bytes(),
                Err(Errno::NOENT | Errno::INVAL) => return Ok(None),
                Err(errno) => return Err(self.failed("read", errno)),
            };
            let id = Id::of(Kind::Blob, &target);
            self.batch.add(self.store, Kind::Blob, id, target)?;
            return Ok(Some(Seen { stamp, racy: stamp.is_racy(self.started), mode, id }));
        }
        if let Some(id) = self.large(&stamp, 0)? {
            return Ok(Some(Seen { stamp, racy: false, mode, id }));
        }
        let mut file = match openat(fd, name, FILE, Permissions::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
            Err(Errno::ACCESS | Errno::PERM) => {
                self.closed.push(self.path.clone());
                let id = self.marker()?;
                return Ok(Some(Seen { stamp, racy: stamp.is_racy(self.started), mode, id }));
            }
            Err(errno) => return Err(self.failed("open", errno)),
        };
        self.read_file(&mut file)
    }

    fn read_file(&mut self, file: &mut File) -> Result<Option<Seen>, Error> {
        let mut reading = 1;
        loop {
            let found = fstat(&*file).map_err(|errno| self.failed("read", errno))?;
            let before = Stamp::of(&found);
            if FileType::from_raw_mode(before.mode) != FileType::RegularFile {
                return Ok(None);
            }
            if let Some(id) = self.large(&before, allocated(&found))? {
                return Ok(Some(Seen { stamp: before, racy: false, mode: Mode::of_permissions(before.mode), id }));
            }
            let read = if before.size > LARGE {
                self.store.stream_blob(file, before.size, &self.poll)?
            } else {
                let mut content = Vec::with_capacity(before.size as usize + 1);
                file.read_to_end(&mut content).map_err(|error| self.failed_to_read(error))?;
                let id = Id::of(Kind::Blob, &content);
                self.batch.add(self.store, Kind::Blob, id, content)?;
                Some(id)
            };
            let after = Stamp::of(&fstat(&*file).map_err(|errno| self.failed("read", errno))?);
            let settled = before == after;
            if let Some(id) = read
                && (settled || reading >= READINGS)
            {
                let racy = !settled || before.is_racy(self.started);
                return Ok(Some(Seen { stamp: after, racy, mode: Mode::of_permissions(after.mode), id }));
            }
            if reading > READINGS * 10 {
                let why = io::Error::other("the file changes faster than it can be read");
                return Err(self.failed_to_read(why));
            }
            reading += 1;
            file.seek(SeekFrom::Start(0)).map_err(|error| self.failed_to_read(error))?;
        }
    }

    /// The id of what stands for a file that is too large to be read, if it is.
    fn large(&mut self, stamp: &Stamp, allocated: u64) -> Result<Option<Id>, Error> {
        let Some(text) = large(stamp, allocated, self.max_file) else { return Ok(None) };
        self.large.push(self.path.clone());
        self.batch.add_large(self.store, text).map(Some)
    }

    /// The id of the content that stands for what may not be read.
    pub(super) fn marker(&mut self) -> Result<Id, Error> {
        self.batch.add(self.store, Kind::Blob, *MARKER_ID, MARKER.to_vec())?;
        Ok(*MARKER_ID)
    }

    fn failed_to_read(&self, source: io::Error) -> Error {
        use std::os::unix::ffi::OsStrExt;
        let path = self.root.join(std::ffi::OsStr::from_bytes(&self.path));
        Error::Io { action: "read", path, source }
    }
}

/// The content of a file that is meant to be small.
pub(super) fn read_small(fd: BorrowedFd<'_>, name: &CStr) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::from(openat(fd, name, FILE, Permissions::empty())?).take(LARGE).read_to_end(&mut content)?;
    Ok(content)
}
