//! New objects of one snapshot on their way to the disk. Decides between loose objects and a pack.

use std::collections::HashSet;

use super::loose::{Deflater, Small};
use super::pack::PackWriter;
use super::{Durability, Store};
use crate::Error;
use crate::object::{Id, Kind};

/// From this many new objects on, one pack is cheaper than a file for each.
const MAX_LOOSE: usize = 48;
/// From this many bytes on, new objects go to the disk instead of waiting in memory.
const MAX_WAITING: usize = 16 << 20;

/// Collects objects until they are written together. Kept between snapshots for its compressor, which is dear to make.
pub(crate) struct Batch {
    deflater: Deflater,
    waiting: Vec<(Id, Kind, Vec<u8>)>,
    waiting_bytes: usize,
    pack: Option<PackWriter>,
    queued: HashSet<Id>,
}

/// How much a finished batch wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Loose,
    Packed,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self {
            deflater: Deflater::default(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            pack: None,
            queued: HashSet::new(),
        }
    }

    /// Takes an object that the store may not have yet. It is certain to be there after [`Batch::finish`].
    pub(crate) fn add(&mut self, store: &Store, kind: Kind, id: Id, content: Vec<u8>) -> Result<(), Error> {
        if self.queued.contains(&id) || store.has(kind, &id)? {
            return Ok(());
        }
        self.queued.insert(id);
        self.waiting_bytes += content.len();
        self.waiting.push((id, kind, content));
        let many = self.waiting.len() > MAX_LOOSE || self.waiting_bytes > MAX_WAITING;
        if self.pack.is_some() || many { self.pack_waiting(store, Small::Compressed) } else { Ok(()) }
    }

    /// Takes what stands for a file that is too large to be read.
    pub(crate) fn add_large(&mut self, store: &Store, text: Vec<u8>) -> Result<Id, Error> {
        let id = Id::of(Kind::Blob, &text);
        store.note_large(id)?;
        self.add(store, Kind::Blob, id, text)?;
        Ok(id)
    }

    fn pack_waiting(&mut self, store: &Store, small: Small) -> Result<(), Error> {
        let mut pack = match self.pack.take() {
            Some(pack) => pack,
            None => PackWriter::create(store)?,
        };
        for (id, kind, content) in self.waiting.drain(..) {
            pack.add((&mut self.deflater, small), kind, id, &content)?;
        }
        self.waiting_bytes = 0;
        if pack.is_full() {
            pack.finish(store)?;
        } else {
            self.pack = Some(pack);
        }
        Ok(())
    }

    pub(crate) fn finish(&mut self, store: &Store) -> Result<Written, Error> {
        // The first snapshot of a loop queues every file, others a few.
        self.queued = HashSet::new();
        self.waiting_bytes = 0;
        // A durable store pays for every file with a flush, so that even two objects are cheaper together.
        let together = store.durability == Durability::Power && self.waiting.len() > 1;
        if self.pack.is_some() {
            self.pack_waiting(store, Small::Compressed)?;
        } else if together {
            self.pack_waiting(store, Small::Plain)?;
        }
        if let Some(pack) = self.pack.take() {
            pack.finish(store)?;
            return Ok(Written::Packed);
        }
        for (id, kind, content) in self.waiting.drain(..) {
            store.write_loose(&mut self.deflater, kind, &id, &content)?;
            if kind == Kind::Tree {
                store.keep_tree(id, &content);
            }
        }
        Ok(Written::Loose)
    }
}
