//! Prohibited files as they were at the loop's start, on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Guard;
use super::walk::Walk;
use crate::object::{Id, Kind};
use crate::quote::{quote, unquote};
use crate::store::{Batch, Durability, Store, create_private, make_private_folder};
use crate::{Error, Workspace};

const VERSION: u32 = 1;
const FILE: &str = "baseline.json";

/// Every prohibited file as it was at the loop's start. Contents are in a git directory beside the list, which plain git
/// can read.
pub struct Baseline {
    pub(super) records: BTreeMap<Vec<u8>, Record>,
    pub(super) store: Store,
}

/// One prohibited path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The glob that covers it.
    pub(super) glob: String,
    /// What is there.
    #[serde(flatten)]
    pub(super) what: What,
    /// Where it really is, when a link leads to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) through: Option<Through>,
}

/// A place behind a link to a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Through {
    /// The folder that the link leads to, without links in its path.
    pub(super) base: Bytes,
    /// The path below it.
    pub(super) below: Bytes,
}

/// What a path is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(super) enum What {
    /// A regular file.
    File(Content),
    /// A symbolic link.
    Link {
        /// Where it points.
        target: Bytes,
        /// The file that it leads to, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        behind: Option<Behind>,
        /// The folder that it leads to, where there is one, without links in its path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<Bytes>,
    },
    /// A folder, for its permissions.
    Folder {
        /// All permission bits.
        mode: u32,
    },
}

/// A regular file's permissions and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Content {
    /// All permission bits.
    pub(super) mode: u32,
    /// None when it may not be read.
    #[serde(with = "hex")]
    pub(super) id: Option<Id>,
}

/// The file behind a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Behind {
    /// Its path, without links.
    pub(super) real: Bytes,
    /// What it is.
    #[serde(flatten)]
    pub(super) content: Content,
}

/// A path in JSON, quoted where it is no text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&quote(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(unquote(&String::deserialize(deserializer)?).into_owned()))
    }
}

mod hex {
    use super::{Deserialize, Deserializer, Id, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(id: &Option<Id>, serializer: S) -> Result<S::Ok, S::Error> {
        id.map(|id| id.hex()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Id>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| Id::parse(&text).map_err(serde::de::Error::custom)).transpose()
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    files: Vec<StoredRecord>,
}

#[derive(Serialize, Deserialize)]
struct StoredRecord {
    path: Bytes,
    #[serde(flatten)]
    record: Record,
}

impl Baseline {
    /// Opens the baseline that [`Workspace::guard_baseline`] left in a folder.
    pub fn load(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(FILE);
        let wrong = |why: String| Error::Baseline { path: path.clone(), why };
        let text = fs::read(&path).map_err(|error| wrong(error.to_string()))?;
        let stored: Stored = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if stored.version != VERSION {
            return Err(wrong(format!("it has version {}, this Ralph reads {VERSION}", stored.version)));
        }
        let records = stored.files.into_iter().map(|stored| (stored.path.0, stored.record)).collect();
        Ok(Self { records, store: Store::open(&store_of(dir), Durability::Power)? })
    }

    /// How many prohibited files and links there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.values().filter(|record| !matches!(record.what, What::Folder { .. })).count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this very link was there at the start, so that it may be followed.
    pub(super) fn has_link(&self, path: &[u8], link: &Bytes) -> bool {
        matches!(self.records.get(path), Some(Record { what: What::Link { target, .. }, .. }) if target == link)
    }

    /// Whether it led to this very folder. A link on the way that an agent changed can make it lead anywhere.
    pub(super) fn led_to(&self, path: &[u8], place: &Bytes) -> bool {
        let record = self.records.get(path);
        matches!(record, Some(Record { what: What::Link { folder: Some(folder), .. }, .. }) if folder == place)
    }
}

fn store_of(dir: &Path) -> PathBuf {
    dir.join("git")
}

/// Takes the baseline. The list is written last: with it everything is there, without it nothing is promised.
pub(super) fn take(workspace: &mut Workspace, guard: &Guard, dir: &Path) -> Result<Baseline, Error> {
    make_private_folder(dir)?;
    let store = Store::open(&store_of(dir), Durability::Power)?;
    let mut batch = Batch::new();
    let seen = Walk::new(workspace, guard, None)?.run(Some((&store, &mut batch)))?;
    // An empty store would be all the same to git, but an object shows that writing works before a loop relies on it.
    batch.add(&store, Kind::Tree, Id::EMPTY_TREE, Vec::new())?;
    batch.finish(&store)?;
    let records: BTreeMap<Vec<u8>, Record> = seen.records;
    let files = records.iter().map(|(path, record)| StoredRecord { path: Bytes(path.clone()), record: record.clone() });
    let stored = Stored { version: VERSION, files: files.collect() };
    let path = dir.join(FILE);
    let text = serde_json::to_vec(&stored).map_err(|error| Error::io("write", &path)(std::io::Error::from(error)))?;
    write_durably(&path, &text)?;
    Ok(Baseline { records, store })
}

/// Replaces a file in one step that survives a power loss.
pub(super) fn write_durably(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::Io { action: "write", path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let temporary = folder.join(name);
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut file = create_private(&temporary).map_err(failed)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&temporary, path).map_err(failed)?;
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}
