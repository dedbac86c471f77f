//! The record of a swap on disk. Decides nothing.
//!
//! `swap.json` says what was at each path and what was put there; `saved` holds the contents one after the other; `aside`
//! holds what was moved. The list is written after the contents are on the disk and removed before they are.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::content;
use crate::guard::{Bytes, write_durably};
use crate::place::Modified;
use crate::stop::{Poll, StopFlag};
use crate::store::{create_private, make_private_folder};

const VERSION: u32 = 1;
const LIST: &str = "swap.json";
const CONTENTS: &str = "saved";
const ASIDE: &str = "aside";

/// Everything that is needed to undo a swap.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plan {
    version: u32,
    /// Part of the names of what is moved aside.
    pub(super) token: String,
    /// Every folder on the way to a path, with its permissions, shallow ones first.
    pub(super) folders: Vec<Ancestor>,
    /// Folders that the swap makes, shallow ones first.
    pub(super) made: Vec<Bytes>,
    /// The paths, sorted.
    pub(super) items: Vec<Item>,
}

impl Plan {
    pub(super) fn new(token: String) -> Self {
        Self { version: VERSION, token, ..Self::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ancestor {
    pub(super) path: Bytes,
    pub(super) mode: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Item {
    pub(super) path: Bytes,
    pub(super) saved: Saved,
    pub(super) placed: Placed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "was", rename_all = "camelCase")]
pub(super) enum Saved {
    Absent,
    File {
        at: u64,
        size: u64,
        id: String,
        mode: u32,
        modified: Modified,
    },
    Link {
        target: Bytes,
        modified: Modified,
    },
    /// Something that is moved aside whole.
    Aside,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub(super) enum Placed {
    Absent,
    File {
        id: String,
        mode: u32,
    },
    Link {
        target: Bytes,
    },
    /// A folder for other paths, where something else was.
    Folder,
}

pub(super) struct Record {
    dir: PathBuf,
}

impl Record {
    pub(super) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where things are moved to, on the record's file system.
    pub(super) fn aside(&self) -> PathBuf {
        self.dir.join(ASIDE)
    }

    pub(super) fn plan(&self) -> Result<Option<Plan>, Error> {
        let path = self.dir.join(LIST);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        let wrong = |why: String| Error::SwapRecord { path: path.clone(), why };
        let plan: Plan = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if plan.version != VERSION {
            return Err(wrong(format!("it has version {}, this Ralph reads {VERSION}", plan.version)));
        }
        Ok(Some(plan))
    }

    /// Writes the plan; from here on it counts.
    pub(super) fn write(&self, plan: &Plan) -> Result<(), Error> {
        make_private_folder(&self.dir)?;
        let path = self.dir.join(LIST);
        let text = serde_json::to_vec(plan).map_err(|error| Error::io("write", &path)(io::Error::from(error)))?;
        write_durably(&path, &text)
    }

    /// Everything is back: the list goes first, so that what is left of the record means nothing.
    pub(super) fn remove(&self) -> Result<(), Error> {
        let list = self.dir.join(LIST);
        fs::remove_file(&list).map_err(Error::io("remove", &list))?;
        File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(Error::io("write", &self.dir))?;
        self.tidy()
    }

    /// Removes what a finished or never begun swap left behind. What was moved aside is never removed with content in it.
    pub(super) fn tidy(&self) -> Result<(), Error> {
        for (path, removed) in [
            (self.dir.join(CONTENTS), fs::remove_file(self.dir.join(CONTENTS))),
            (self.aside(), fs::remove_dir(self.aside())),
        ] {
            match removed {
                Err(error)
                    if !matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::DirectoryNotEmpty
                    ) =>
                {
                    return Err(Error::io("remove", path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn contents(&self) -> Result<Contents, Error> {
        make_private_folder(&self.dir)?;
        self.tidy()?;
        let path = self.dir.join(CONTENTS);
        let file = create_private(&path).map_err(Error::io("create", &path))?;
        Ok(Contents { file, path, size: 0 })
    }

    /// Copies a saved content to a file.
    pub(super) fn copy(&self, at: u64, size: u64, id: &str, target: &mut File) -> Result<(), Error> {
        let path = self.dir.join(CONTENTS);
        let failed = |error: io::Error| Error::io("read", &path)(error);
        let mut source = File::open(&path).map_err(failed)?;
        source.seek(SeekFrom::Start(at)).map_err(failed)?;
        let found = content::copy(&mut source.take(size), size, target, &StopFlag::default().step()).map_err(failed)?;
        let broken = || Error::SwapRecord { path: path.clone(), why: "a saved content is damaged".to_owned() };
        if found.hex() == id { Ok(()) } else { Err(broken()) }
    }
}

pub(super) struct Contents {
    file: File,
    path: PathBuf,
    size: u64,
}

impl Contents {
    /// Saves a file; gives where it begins, its size and its id.
    pub(super) fn add(
        &mut self,
        source: &mut File,
        size: u64,
        from: &Path,
        poll: &Poll,
    ) -> Result<(u64, u64, String), Error> {
        let at = self.size;
        let mut counted = Counted { file: &mut self.file, count: 0 };
        let id = content::copy(source, size, &mut counted, poll).map_err(Error::io("save", from))?;
        if counted.count != size {
            return Err(Error::io("save", from)(io::Error::other("the file changed while it was read")));
        }
        self.size += size;
        Ok((at, size, id.hex()))
    }

    /// Makes sure that it is on the disk.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.file.sync_all().map_err(Error::io("write", &self.path))
    }
}

struct Counted<'a> {
    file: &'a mut File,
    count: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.count += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
