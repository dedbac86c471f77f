//! What tells the content of a file from another, read only where its times do not vouch for it.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::Errno;

use super::{Keep, Walk};
use crate::Error;
use crate::content::{allocated, hash, large};
use crate::guard::Care;
use crate::guard::baseline::Content;
use crate::object::{Id, Kind};
use crate::stamp::Stamp;
use crate::stop::Poll;

/// Larger files are never held in memory as a whole.
const LARGE: u64 = 32 << 20;
/// How files are opened: never through a link, and without waiting for the other end of a pipe.
pub(super) const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Content {
    pub(super) const fn for_care(self, care: Care) -> Self {
        match care {
            Care::Keep | Care::Compare => self,
            Care::Notice | Care::Glance => Self { id: None, ..self },
        }
    }
}

impl Walk<'_> {
    /// A file's permissions and content; `None` when it is no file any more.
    pub(super) fn content(
        &mut self,
        path: &[u8],
        stamp: Stamp,
        care: Care,
        opening: impl Fn() -> Result<OwnedFd, Errno>,
        keep: &mut Keep<'_>,
    ) -> Result<Option<Content>, Error> {
        let mode = stamp.mode & 0o7777;
        if matches!(care, Care::Notice | Care::Glance) {
            return Ok(Some(Content { mode, id: None }));
        }
        let keep = if care == Care::Keep { keep } else { &mut None };
        if keep.is_none()
            && let Some((seen, id)) = self.contents.get(path)
            && *seen == stamp
        {
            return Ok(Some(Content { mode, id: Some(*id) }));
        }
        if let Some(text) = large(&stamp, 0, self.max_file) {
            return self.large(path, &stamp, text, keep).map(Some);
        }
        let mut file = match opening() {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
            Err(Errno::ACCESS | Errno::PERM) => return Ok(Some(Content { mode, id: None })),
            Err(errno) => return Err(self.failed(path, errno)),
        };
        let found = fstat(&file).map_err(|errno| self.failed(path, errno))?;
        let stamp = Stamp::of(&found);
        if FileType::from_raw_mode(stamp.mode) != FileType::RegularFile {
            return Ok(None);
        }
        if let Some(text) = large(&stamp, allocated(&found), self.max_file) {
            return self.large(path, &stamp, text, keep).map(Some);
        }
        let id = read(&mut file, stamp.size, keep, &self.full(path), &self.poll)?;
        self.contents.remove(path);
        if !stamp.is_racy(self.started) {
            self.contents.insert(path.to_vec(), (stamp, id));
        }
        Ok(Some(Content { mode: stamp.mode & 0o7777, id: Some(id) }))
    }

    /// A file that is too large to be read.
    fn large(&mut self, path: &[u8], stamp: &Stamp, text: Vec<u8>, keep: &mut Keep<'_>) -> Result<Content, Error> {
        self.large.insert(path.to_vec());
        let id = match keep {
            Some((store, batch)) => batch.add_large(store, text)?,
            None => Id::of(Kind::Blob, &text),
        };
        Ok(Content { mode: stamp.mode & 0o7777, id: Some(id) })
    }
}

/// The id of a file's content, kept where contents are kept.
fn read(file: &mut File, size: u64, keep: &mut Keep<'_>, path: &Path, poll: &Poll) -> Result<Id, Error> {
    if let Some((store, batch)) = keep {
        if size > LARGE {
            let changed = || std::io::Error::other("the file changed while it was read");
            return store.stream_blob(file, size, poll)?.ok_or_else(|| Error::io("read", path)(changed()));
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(Error::io("read", path))?;
        let id = Id::of(Kind::Blob, &content);
        batch.add(store, Kind::Blob, id, content)?;
        return Ok(id);
    }
    hash(file, size, poll).map_err(Error::io("read", path))
}
