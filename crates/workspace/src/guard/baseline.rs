//! Watched files as they were at the loop's start, on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Guard;
use super::walk::{Layer, Sort, walk};
use crate::object::{Id, Kind, Mode};
use crate::quote::{quote, unquote};
use crate::store::{Batch, Durability, Store, create_private, make_private_folder};
use crate::{Error, Workspace};

const VERSION: u32 = 1;
const FILE: &str = "baseline.json";

/// Every prohibited file as it was at the loop's start. Contents are in a git directory beside the list, which plain git
/// can read.
pub struct Baseline {
    pub(super) records: BTreeMap<Vec<u8>, Record>,
    /// Folders of what tools make that were there, and whether they were passed by.
    pub(super) bulk: BTreeMap<Vec<u8>, Bulk>,
    /// Links that no glob covers, with their targets.
    pub(super) links: BTreeMap<Vec<u8>, Bytes>,
    pub(super) unwatched: BTreeSet<Vec<u8>>,
    /// Git directories below what is watched that were there: git changes them whenever it is used. `None` in a record that
    /// was made before they were looked at, as were files that are neither regular nor links.
    pub(super) repositories: Option<BTreeSet<Vec<u8>>>,
    pub(super) store: Store,
}

/// What was done about a folder of what tools make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Bulk {
    Passed,
    /// It was looked at like any other.
    Walked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(with = "shared")]
    pub(super) glob: Arc<str>,
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
    pub(super) below: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(super) enum What {
    File(Content),
    Link {
        target: Bytes,
        /// The file that it leads to, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        behind: Option<Behind>,
        /// The folder that it leads to, where there is one, without links in its path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<Bytes>,
    },
    Folder {
        mode: u32,
    },
    /// A pipe, a socket or a device. It has nothing that could be put back: only a new one is an offence.
    Special,
}

/// A regular file's permissions and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) mode: u32,
    /// None when it may not be read.
    #[serde(with = "hex")]
    pub(super) id: Option<Id>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Behind {
    /// Its path, without links.
    pub(super) real: Bytes,
    #[serde(flatten)]
    pub(super) content: Content,
}

/// A path in JSON, quoted where it is no text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

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

mod shared {
    use super::{Arc, Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        (**text).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Arc::from)
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
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    bulk: BTreeMap<Bytes, Bulk>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    links: BTreeMap<Bytes, Bytes>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    unwatched: BTreeSet<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repositories: Option<BTreeSet<Bytes>>,
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
        Ok(Self {
            records: stored.files.into_iter().map(|stored| (stored.path.0, stored.record)).collect(),
            bulk: stored.bulk.into_iter().map(|(path, bulk)| (path.0, bulk)).collect(),
            links: stored.links.into_iter().map(|(path, target)| (path.0, target)).collect(),
            unwatched: stored.unwatched.into_iter().map(|path| path.0).collect(),
            repositories: stored.repositories.map(|paths| paths.into_iter().map(|path| path.0).collect()),
            store: Store::open(&store_of(dir), Durability::Power)?,
        })
    }

    /// How many prohibited files and links there are.
    pub fn len(&self) -> usize {
        self.records.values().filter(|record| matches!(record.what, What::File(_) | What::Link { .. })).count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a path was at the start what a tree of git's says that it is: the digits of its mode and its id, or nothing.
    pub(crate) fn had(&self, path: &[u8], entry: Option<(&str, &str)>) -> bool {
        let then = match self.records.get(path).map(|record| &record.what) {
            Some(What::File(Content { mode, id: Some(id) })) => Some((Mode::of_permissions(*mode), *id)),
            Some(What::Link { target, .. }) => Some((Mode::Link, Id::of(Kind::Blob, &target.0))),
            // Not even Ralph may read it.
            Some(What::File(_)) => return false,
            Some(What::Folder { .. } | What::Special) | None => None,
        };
        match (then, entry) {
            (None, None) => true,
            (Some((mode, id)), Some((now, digits))) => mode.digits() == now && id.hex() == digits,
            _ => false,
        }
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
pub(super) fn take(workspace: &mut Workspace, guard: &Guard, sort: Sort, dir: &Path) -> Result<Baseline, Error> {
    make_private_folder(dir)?;
    let store = Store::open(&store_of(dir), Durability::Power)?;
    let mut batch = Batch::new();
    let found = walk(workspace, Layer::new(guard, sort, None), Some((&store, &mut batch)))?;
    // An empty store would be all the same to git, but an object shows that writing works before a loop relies on it.
    batch.add(&store, Kind::Tree, Id::EMPTY_TREE, Vec::new())?;
    batch.finish(&store)?;
    let bytes = |path: &Vec<u8>| Bytes(path.clone());
    let files = found.records.iter().map(|(path, record)| StoredRecord { path: bytes(path), record: record.clone() });
    let stored = Stored {
        version: VERSION,
        files: files.collect(),
        bulk: found.bulk.iter().map(|(path, bulk)| (bytes(path), *bulk)).collect(),
        links: found.links.iter().map(|(path, target)| (bytes(path), target.clone())).collect(),
        unwatched: found.unwatched.iter().map(bytes).collect(),
        repositories: Some(found.repositories.iter().map(bytes).collect()),
    };
    let path = dir.join(FILE);
    let text = serde_json::to_vec(&stored).map_err(|error| Error::io("write", &path)(std::io::Error::from(error)))?;
    write_durably(&path, &text)?;
    Ok(Baseline {
        records: found.records,
        bulk: found.bulk,
        links: found.links,
        unwatched: found.unwatched,
        repositories: Some(found.repositories),
        store,
    })
}

/// Replaces a file in one step that survives a power loss.
pub(crate) fn write_durably(path: &Path, content: &[u8]) -> Result<(), Error> {
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
