//! Many objects in one file with an index, in git's format version 2, without deltas.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Crc;
use flate2::read::ZlibDecoder;

use sha1::{Digest, Sha1};

use super::Store;
use super::loose::{Deflater, Small};
use crate::Error;
use crate::object::{Id, Kind};

/// Offsets above 2 GiB need another table in the index; a new pack is simpler.
const FULL: u64 = 1 << 30;
const INDEX_HEADER: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FANOUT: usize = 8;
const NAMES: usize = FANOUT + 256 * 4;

pub(super) struct PackWriter {
    temporary: PathBuf,
    file: BufWriter<File>,
    offset: u64,
    objects: Vec<(Id, u32, u32)>,
    buffer: Vec<u8>,
}

impl PackWriter {
    pub(super) fn create(store: &Store) -> Result<Self, Error> {
        let (temporary, file) = store.temporary()?;
        let mut file = BufWriter::with_capacity(1 << 18, file);
        file.write_all(&header(0)).map_err(Error::io("write", &temporary))?;
        Ok(Self { temporary, file, offset: 12, objects: Vec::new(), buffer: Vec::new() })
    }

    /// Whether the next object belongs into another pack.
    pub(super) const fn is_full(&self) -> bool {
        self.offset > FULL
    }

    pub(super) fn add(
        &mut self,
        (deflater, small): (&mut Deflater, Small),
        kind: Kind,
        id: Id,
        content: &[u8],
    ) -> Result<(), Error> {
        self.buffer.clear();
        let mut size = content.len() as u64;
        let mut byte = kind.number() << 4 | (size & 15) as u8;
        size >>= 4;
        while size > 0 {
            self.buffer.push(byte | 0x80);
            byte = (size & 0x7f) as u8;
            size >>= 7;
        }
        self.buffer.push(byte);
        self.buffer.extend(deflater.deflate(small, &[content]).map_err(Error::io("compress", &self.temporary))?);
        let mut crc = Crc::new();
        crc.update(&self.buffer);
        self.file.write_all(&self.buffer).map_err(Error::io("write", &self.temporary))?;
        // The limit of a pack keeps every offset below 2^31.
        self.objects.push((id, crc.sum(), self.offset as u32));
        self.offset += self.buffer.len() as u64;
        Ok(())
    }

    /// Completes the pack and makes it part of the store.
    pub(super) fn finish(mut self, store: &Store) -> Result<(), Error> {
        let checksum = self.seal().map_err(Error::io("write", &self.temporary))?;
        self.objects.sort_unstable_by_key(|object| object.0);
        let index = self.index(&checksum);
        let folder = store.objects.join("pack");
        let name = format!("pack-{}", checksum.hex());
        let (pack_path, index_path) = (folder.join(format!("{name}.pack")), folder.join(format!("{name}.idx")));
        fs::rename(&self.temporary, &pack_path).map_err(Error::io("write", &pack_path))?;
        // The index goes last: without it git takes no notice of the pack.
        let (index_temporary, mut file) = store.temporary()?;
        file.write_all(&index).and_then(|()| file.sync_all()).map_err(Error::io("write", &index_temporary))?;
        fs::rename(&index_temporary, &index_path).map_err(Error::io("write", &index_path))?;
        store.packs().extend(Pack::open(&index_path)?.map(Arc::new));
        Ok(())
    }

    /// Writes the number of objects and the checksum.
    fn seal(&mut self) -> io::Result<Id> {
        self.file.flush()?;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header(self.objects.len() as u32))?;
        let mut hash = Sha1::new();
        let mut reader = BufReader::with_capacity(1 << 18, File::open(&self.temporary)?);
        io::copy(&mut reader, &mut hash)?;
        let checksum = Id(hash.finalize().into());
        file.seek(SeekFrom::End(0))?;
        file.write_all(&checksum.0)?;
        file.sync_all()?;
        Ok(checksum)
    }

    fn index(&self, checksum: &Id) -> Vec<u8> {
        let mut index = INDEX_HEADER.to_vec();
        for first in 0..=255u8 {
            let below = self.objects.partition_point(|object| object.0.0[0] <= first);
            index.extend((below as u32).to_be_bytes());
        }
        index.extend(self.objects.iter().flat_map(|object| object.0.0));
        index.extend(self.objects.iter().flat_map(|object| object.1.to_be_bytes()));
        index.extend(self.objects.iter().flat_map(|object| object.2.to_be_bytes()));
        index.extend(checksum.0);
        let own = Sha1::digest(&index);
        index.extend(own);
        index
    }
}

fn header(objects: u32) -> [u8; 12] {
    let mut header = *b"PACK\0\0\0\x02\0\0\0\0";
    header[8..].copy_from_slice(&objects.to_be_bytes());
    header
}

pub(super) struct Pack {
    index_path: PathBuf,
    index: Vec<u8>,
    count: usize,
    file: File,
}

impl Pack {
    /// Opens a pack by its index. `None` when it is not one that Ralph can read: git is asked then.
    pub(super) fn open(index_path: &Path) -> Result<Option<Self>, Error> {
        let index = fs::read(index_path).map_err(Error::io("read", index_path))?;
        let Some(count) = index.get(NAMES - 4..NAMES).map(be32) else { return Ok(None) };
        if index[..8] != INDEX_HEADER || index.len() < NAMES + count * 28 + 40 {
            return Ok(None);
        }
        let path = index_path.with_extension("pack");
        let file = File::open(&path).map_err(Error::io("read", path))?;
        Ok(Some(Self { index_path: index_path.to_owned(), index, count, file }))
    }

    pub(super) fn index(&self) -> &Path {
        &self.index_path
    }

    pub(super) fn find(&self, id: &Id) -> Option<u64> {
        let fanout = |first: usize| be32(&self.index[FANOUT + first * 4..][..4]);
        let first = id.0[0] as usize;
        let (mut low, mut high) = (if first == 0 { 0 } else { fanout(first - 1) }, fanout(first).min(self.count));
        while low < high {
            let middle = (low + high) / 2;
            match self.index[NAMES + middle * 20..][..20].cmp(&id.0[..]) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let offset = be32(&self.index[NAMES + self.count * 24 + middle * 4..][..4]);
                    return (offset < 1 << 31).then_some(offset as u64);
                }
            }
        }
        None
    }

    /// The content of an object; `None` when it is not here, is stored as a delta or is broken.
    pub(super) fn read(&self, kind: Kind, id: &Id) -> Result<Option<Vec<u8>>, Error> {
        let Some(offset) = self.find(id) else { return Ok(None) };
        let mut reader = BufReader::with_capacity(8192, At { file: &self.file, offset });
        let mut content = Vec::new();
        let whole: io::Result<bool> = (|| {
            let mut byte = [0];
            reader.read_exact(&mut byte)?;
            let number = byte[0] >> 4 & 7;
            while byte[0] & 0x80 != 0 {
                reader.read_exact(&mut byte)?;
            }
            if number != kind.number() {
                return Ok(false);
            }
            ZlibDecoder::new(reader).read_to_end(&mut content)?;
            Ok(Id::of(kind, &content) == *id)
        })();
        match whole {
            Ok(true) => Ok(Some(content)),
            // A broken pack is no reason to give up: the object may be elsewhere, and else it is reported as broken.
            Ok(false) | Err(_) => Ok(None),
        }
    }
}

fn be32(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |value, byte| value << 8 | *byte as usize)
}

/// Reads from a place in a file without moving the file's own position, which other threads share.
struct At<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
