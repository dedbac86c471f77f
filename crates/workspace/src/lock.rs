//! One loop per workspace. Holds a file lock; never ends or judges another process beyond whether it lives.
//!
//! The lock is the kernel's, on `lock` in the state folder, and belongs to the open file. Its descriptor is handed to the
//! supervisor of every agent, so that it lives as long as any of them: when Ralph is killed, its supervisor still ends
//! the agent's processes, and the next Ralph gets the lock only when that is done. The file's content only names the holder.
//!
//! The workspace's own folder is locked besides, in the same way: a Ralph that keeps its state elsewhere knows nothing of
//! the file.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ralph_model::{LoopId, Timestamp};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::store::make_private_folder;

/// How long to wait between two looks at a lock that is about to be free.
const PAUSE: Duration = Duration::from_millis(10);

/// How long another Ralph's lock on the folder is given to go away: a second start is refused within a second.
const ELSEWHERE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    pub loop_id: LoopId,
    pub pid: u32,
    pub started_at: Timestamp,
    pub workspace: String,
}

/// What the file holds: the holder and when its process started, because process numbers come round again.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    #[serde(flatten)]
    holder: Holder,
    #[serde(default)]
    process_started: Option<u64>,
}

/// Why a workspace could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "loop {} is already running in {} (process {}); wait for it, or stop it with `ralph stop {}`",
        holder.loop_id.short(), holder.workspace, holder.pid, holder.loop_id.short()
    )]
    Held { holder: Holder },
    #[error("an earlier loop in this workspace has ended, but processes of its agent are still running{}; end them, then try again", named(holder.as_ref()))]
    Survivor { holder: Option<Holder> },
    #[error(
        "a loop with another RALPH_HOME is running in {}; wait for it, or stop it there with `ralph stop`",
        workspace.display()
    )]
    Elsewhere { workspace: PathBuf },
    /// The lock file cannot be used.
    #[error(transparent)]
    Unusable(#[from] Error),
}

fn named(holder: Option<&Holder>) -> String {
    holder.map(|holder| format!(" (loop {}, process {})", holder.loop_id, holder.pid)).unwrap_or_default()
}

/// A workspace that is taken. It is free again when this and every copy of its descriptor are closed.
#[derive(Debug)]
pub struct Lock {
    file: Arc<OwnedFd>,
    /// None where the file system locks no folders.
    folder: Option<Arc<OwnedFd>>,
    former: Option<LoopId>,
}

impl Lock {
    /// Takes the workspace that `state` belongs to. Refused at once while the holder's process lives; when only what it
    /// left behind still holds the lock, waits for that up to `patience`.
    pub fn take(state: &Path, holder: &Holder, patience: Duration) -> Result<Self, LockError> {
        make_private_folder(state)?;
        let path = state.join("lock");
        let mut file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(Error::io("open", &path))?;
        let deadline = Instant::now() + patience;
        let mut looks = 0;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(Error::io("lock", &path)(errno).into()),
            }
            // Unreadable for a moment: a process that has just taken the lock has not written its name yet.
            let record = read(&mut file, &path)?;
            looks += 1;
            match record {
                // Once may be somebody who only asks, see [`holder`].
                Some(record) if lives(&record) && looks > 1 => return Err(LockError::Held { holder: record.holder }),
                Some(record) if lives(&record) => thread::sleep(PAUSE),
                record if Instant::now() >= deadline => {
                    return Err(LockError::Survivor { holder: record.map(|record| record.holder) });
                }
                _ => thread::sleep(PAUSE),
            }
        }
        let folder = take_folder(Path::new(&holder.workspace), patience.min(ELSEWHERE))?;
        let former = read(&mut file, &path)?.map(|record| record.holder.loop_id);
        write(&mut file, &path, holder)?;
        tracing::debug!(path = ?path, looks, locks_folder = folder.is_some(), "workspace locked");
        Ok(Self { file: Arc::new(file.into()), folder, former })
    }

    /// The loop that held the workspace before. Nothing of it runs any more.
    pub const fn former(&self) -> Option<LoopId> {
        self.former
    }

    /// The open files that are the lock. A process with copies holds the workspace.
    pub fn descriptors(&self) -> Vec<Arc<OwnedFd>> {
        std::iter::once(&self.file).chain(&self.folder).map(Arc::clone).collect()
    }
}

/// Locks the workspace's folder, as far as its file system can do that.
fn take_folder(workspace: &Path, patience: Duration) -> Result<Option<Arc<OwnedFd>>, LockError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = open(workspace, flags, Mode::empty()) else { return Ok(None) };
    let deadline = Instant::now() + patience;
    loop {
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(Arc::new(folder))),
            Err(Errno::WOULDBLOCK) if Instant::now() >= deadline => {
                return Err(LockError::Elsewhere { workspace: workspace.to_owned() });
            }
            Err(Errno::WOULDBLOCK) => thread::sleep(PAUSE),
            Err(Errno::INTR) => {}
            Err(_) => return Ok(None),
        }
    }
}

/// Who holds or last held the workspace that `state` belongs to, if its process lives.
pub fn holder(state: &Path) -> Result<Option<Holder>, Error> {
    let path = state.join("lock");
    let mut file = match fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("open", path)(error)),
    };
    // Shared, so that two who ask do not take each other for a holder.
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(None),
        Err(Errno::WOULDBLOCK) => Ok(read(&mut file, &path)?.filter(lives).map(|record| record.holder)),
        Err(errno) => Err(Error::io("lock", path)(errno)),
    }
}

fn read(file: &mut fs::File, path: &PathBuf) -> Result<Option<Record>, Error> {
    let mut text = String::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut text));
    read.map_err(Error::io("read", path))?;
    Ok(serde_json::from_str(&text).ok())
}

fn write(file: &mut fs::File, path: &PathBuf, holder: &Holder) -> Result<(), Error> {
    let record = Record { holder: holder.clone(), process_started: started(holder.pid).map(|(_, ticks)| ticks) };
    let text = serde_json::to_vec(&record).map_err(|error| Error::io("write", path)(std::io::Error::from(error)))?;
    let written = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).and_then(|_| file.write_all(&text));
    written.map_err(Error::io("write", path))
}

/// Whether the very process lives that wrote the record.
fn lives(record: &Record) -> bool {
    match started(record.holder.pid) {
        // A zombie does nothing any more; it waits for its parent only.
        Some(('Z' | 'X', _)) | None => false,
        Some((_, ticks)) => record.process_started.is_none_or(|then| then == ticks),
    }
}

/// State and start time of a process, in the kernel's ticks since boot.
fn started(pid: u32) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before the last parenthesis can contain anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}
