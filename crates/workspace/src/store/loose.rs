//! Objects as single files. Chooses neither what is written nor when.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha1::{Digest, Sha1};

use super::{Durability, Store, make_private_folder};
use crate::Error;
use crate::object::{Id, Kind};
use crate::stop::Poll;

fn path(objects: &Path, id: &Id) -> PathBuf {
    let hex = id.hex();
    objects.join(&hex[..2]).join(&hex[2..])
}

/// Whether a file for the object exists. An empty one is what a power loss can leave behind.
pub(super) fn is_there(objects: &Path, id: &Id) -> bool {
    fs::metadata(path(objects, id)).is_ok_and(|found| found.len() > 0)
}

/// The content of an object, if it is here and whole.
pub(super) fn read(objects: &Path, kind: Kind, id: &Id) -> Result<Option<Vec<u8>>, Error> {
    let path = path(objects, id);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let mut whole = Vec::new();
    if ZlibDecoder::new(file).read_to_end(&mut whole).is_err() {
        return Ok(None);
    }
    let Some(end) = whole.iter().position(|byte| *byte == 0) else { return Ok(None) };
    if whole[..=end] != kind.header((whole.len() - end - 1) as u64) {
        return Ok(None);
    }
    let content = whole.split_off(end + 1);
    Ok((Id::of(kind, &content) == *id).then_some(content))
}

/// How large an object may be that [`Small::Plain`] means: a block of the disk.
const MAX_PLAIN: usize = 4096;

/// What becomes of small objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Small {
    /// They are written as they are: to compress a few costs more time than the disk saves, and a file takes up a whole block.
    Plain,
    /// They are compressed: there are many.
    Compressed,
}

/// A compressor that can be used again and again: making one costs more than most objects.
#[derive(Default)]
pub(super) struct Deflater(Option<ZlibEncoder<Vec<u8>>>);

impl Deflater {
    /// Compresses the parts, one after the other, as one stream.
    pub(super) fn deflate(&mut self, small: Small, parts: &[&[u8]]) -> io::Result<Vec<u8>> {
        if small == Small::Plain
            && let Some(stored) = stored(parts)
        {
            return Ok(stored);
        }
        let encoder = self.0.get_or_insert_with(|| ZlibEncoder::new(Vec::new(), Compression::fast()));
        for part in parts {
            encoder.write_all(part)?;
        }
        encoder.reset(Vec::new())
    }
}

/// The parts as a stream of one block that is not compressed, if there is little of them.
fn stored(parts: &[&[u8]]) -> Option<Vec<u8>> {
    let size: usize = parts.iter().map(|part| part.len()).sum();
    let length = u16::try_from(size).ok().filter(|_| size <= MAX_PLAIN)?;
    // The header of zlib, and of the last block.
    let mut stream = vec![0x78, 0x01, 0x01];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    parts.iter().for_each(|part| stream.extend_from_slice(part));
    let (mut a, mut b) = (1u32, 0u32);
    for byte in parts.iter().copied().flatten() {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    stream.extend((b << 16 | a).to_be_bytes());
    Some(stream)
}

impl Store {
    pub(super) fn write_loose(
        &self,
        deflater: &mut Deflater,
        kind: Kind,
        id: &Id,
        content: &[u8],
    ) -> Result<(), Error> {
        let packed = deflater
            .deflate(Small::Plain, &[&kind.header(content.len() as u64), content])
            .map_err(Error::io("compress an object for", &self.objects))?;
        let temporary = self.write_temporary(|file| file.write_all(&packed))?;
        self.place(&temporary, id)
    }

    /// Writes a file's content as one object without holding it in memory. `None` when the file does not have `size`
    /// bytes, because it changed meanwhile.
    pub(crate) fn stream_blob(&self, file: &mut File, size: u64, poll: &Poll) -> Result<Option<Id>, Error> {
        let (temporary, target) = self.temporary()?;
        let mut encoder = ZlibEncoder::new(io::BufWriter::new(target), Compression::fast());
        let mut hash = Sha1::new();
        let mut buffer = vec![0; 1 << 20];
        let mut seen = 0;
        let header = Kind::Blob.header(size);
        hash.update(&header);
        let written: io::Result<Option<Id>> = (|| {
            encoder.write_all(&header)?;
            // One that grows while it is read has no end.
            while seen <= size {
                poll.check_io()?;
                let count = file.read(&mut buffer)?;
                if count == 0 {
                    break;
                }
                hash.update(&buffer[..count]);
                encoder.write_all(&buffer[..count])?;
                seen += count as u64;
            }
            if seen != size {
                return Ok(None);
            }
            let target = encoder.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
            if self.durability == Durability::Power {
                target.sync_all()?;
            }
            Ok(Some(Id(hash.finalize().into())))
        })();
        match written {
            Ok(Some(id)) => self.place(&temporary, &id).map(|()| Some(id)),
            Ok(None) => fs::remove_file(&temporary).map(|()| None).map_err(Error::io("remove", &temporary)),
            Err(source) => {
                let _ = fs::remove_file(&temporary);
                Err(Error::io("write", temporary)(source))
            }
        }
    }

    fn place(&self, temporary: &Path, id: &Id) -> Result<(), Error> {
        let path = path(&self.objects, id);
        let placed = match fs::rename(temporary, &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some(folder) = path.parent() {
                    make_private_folder(folder)?;
                }
                fs::rename(temporary, &path)
            }
            done => done,
        };
        placed.map_err(Error::io("write", path))
    }
}
