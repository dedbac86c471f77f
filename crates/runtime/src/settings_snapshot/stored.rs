//! Remembered settings as one file: a line that lists them, then their contents in that order. Knows nothing of who uses it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Kept, Root, SettingsSnapshot, Stamp};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct List {
    version: u32,
    roots: Vec<ListedRoot>,
}

#[derive(Serialize, Deserialize)]
struct ListedRoot {
    // Of the system's own kind, here and below: a name need not be text.
    path: OsString,
    whole: bool,
    kept: Vec<(OsString, Listed)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Listed {
    File {
        size: u64,
        mode: u32,
        #[serde(default)]
        stamp: Option<Stamp>,
    },
    Link(OsString),
    Folder,
    Large(Stamp),
    Other,
}

impl From<&Kept> for Listed {
    fn from(kept: &Kept) -> Self {
        match kept {
            Kept::File { content, mode, stamp } => {
                Self::File { size: content.len() as u64, mode: *mode, stamp: *stamp }
            }
            Kept::Link(target) => Self::Link(target.clone().into_os_string()),
            Kept::Folder => Self::Folder,
            Kept::Large(stamp) => Self::Large(*stamp),
            Kept::Other => Self::Other,
        }
    }
}

impl SettingsSnapshot {
    /// Writes everything down; the file is there whole or not at all.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let new = path.with_extension("new");
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        let mut out = BufWriter::new(file);
        let roots = self.roots.iter().map(|root| ListedRoot {
            path: root.path.clone().into_os_string(),
            whole: root.whole,
            kept: root.kept.iter().map(|(path, kept)| (path.clone().into_os_string(), kept.into())).collect(),
        });
        serde_json::to_writer(&mut out, &List { version: VERSION, roots: roots.collect() })?;
        out.write_all(b"\n")?;
        for kept in self.roots.iter().flat_map(|root| root.kept.values()) {
            if let Kept::File { content, .. } = kept {
                out.write_all(content)?;
            }
        }
        out.into_inner()?.sync_all()?;
        fs::rename(&new, path)?;
        sync_folder(path)
    }

    /// Reads what was written down, if anything was.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut file = match File::open(path) {
            Ok(file) => BufReader::new(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut line = Vec::new();
        file.read_until(b'\n', &mut line)?;
        let list: List = serde_json::from_slice(&line)?;
        if list.version != VERSION {
            return Err(io::Error::other(format!("it has version {}, this Ralph reads {VERSION}", list.version)));
        }
        let mut roots = Vec::new();
        for listed in list.roots {
            let mut kept = BTreeMap::new();
            for (path, entry) in listed.kept {
                kept.insert(path.into(), read_one(entry, &mut file)?);
            }
            roots.push(Root { path: listed.path.into(), whole: listed.whole, kept });
        }
        Ok(Some(Self { roots }))
    }
}

fn read_one(listed: Listed, file: &mut BufReader<File>) -> io::Result<Kept> {
    Ok(match listed {
        Listed::File { size, mode, stamp } => {
            let mut content = Vec::new();
            file.take(size).read_to_end(&mut content)?;
            if content.len() as u64 != size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Kept::File { content, mode, stamp }
        }
        Listed::Link(target) => Kept::Link(target.into()),
        Listed::Folder => Kept::Folder,
        Listed::Large(stamp) => Kept::Large(stamp),
        Listed::Other => Kept::Other,
    })
}

/// Forgets what was written down, for good.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => sync_folder(path),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}
