//! Finds the records of a run's threads below Codex's sessions folder and follows them as they grow. Opens plain files of the
//! right name only, through no link, reads a bounded piece at a time, and waits for nothing.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use ralph_model::Timestamp;
use rustix::fs::{Dir, Mode, OFlags};

use super::rollout::{MAX_THREADS, Opening, Rollouts};
use crate::record::Record;
use crate::transcript::Transcript;

/// Bytes of one record that are read in one look. A thread writes far less in that time.
const MAX_PER_LOOK: u64 = 4 * 1024 * 1024;
/// Bytes of one record that are read at the end, when a long thread was taken up again.
const MAX_AT_END: u64 = 256 * 1024 * 1024;
/// Bytes of the first line, which holds the instructions to the model.
const MAX_OPENING: u64 = 512 * 1024;
/// Records that are looked into for threads of this run.
const MAX_STRANGERS: usize = 4096;
/// Names in one folder.
const MAX_NAMES: usize = 50_000;
/// Other threads are looked for in one look of so many.
const LOOKS: u32 = 4;
const DAY: i64 = 86_400_000;

/// The records of one run.
pub(crate) struct Files {
    sessions: PathBuf,
    main: String,
    /// When the run began: no thread of its own is older, except the one that it takes up again.
    start: Timestamp,
    followed: Vec<Followed>,
    /// Names of records that belong to somebody else.
    strangers: HashSet<String>,
    looks: u32,
}

struct Followed {
    thread: String,
    folder: OwnedFd,
    name: String,
    record: Record,
}

impl Files {
    /// `main` is the thread that the run is about.
    pub(crate) fn new(sessions: PathBuf, main: &str, start: Timestamp) -> Option<Self> {
        begun(main)?;
        Some(Self { sessions, main: main.to_owned(), start, followed: Vec::new(), strangers: HashSet::new(), looks: 0 })
    }

    /// Reads what was written since the last look.
    pub(crate) fn look(&mut self, rollouts: &mut Rollouts, transcript: &mut Transcript) {
        if !self.has_main() || self.looks.is_multiple_of(LOOKS) {
            self.find(rollouts, transcript);
        }
        self.looks = self.looks.wrapping_add(1);
        self.read(MAX_PER_LOOK, rollouts, transcript);
    }

    /// Reads all that is left.
    pub(crate) fn drain(&mut self, rollouts: &mut Rollouts, transcript: &mut Transcript) {
        self.find(rollouts, transcript);
        self.read(MAX_AT_END, rollouts, transcript);
    }

    fn read(&mut self, most: u64, rollouts: &mut Rollouts, transcript: &mut Transcript) {
        for followed in &mut self.followed {
            followed.record.read(&mut most.clone(), |line| rollouts.line(&followed.thread, line, transcript));
            if !followed.is_whole() {
                transcript.lost_count("its usage record was changed from outside");
            }
        }
    }

    /// Looks for the record of the main thread, and for those of threads that came out of it.
    fn find(&mut self, rollouts: &mut Rollouts, transcript: &mut Transcript) {
        let mut days = days(transcript.now());
        // A thread that is taken up again is recorded where it began.
        if !self.has_main()
            && let Some(begun) = begun(&self.main)
        {
            days.extend(self::days(begun));
        }
        days.sort();
        days.dedup();
        for day in days {
            let Some((folder, names)) = self.folder(&day) else { continue };
            for name in names {
                let Some(thread) = thread_of(&name) else { continue };
                if thread == self.main {
                    if !self.has_main() {
                        self.follow(&folder, &name, thread);
                    }
                } else if begun(thread).is_some_and(|begun| begun >= self.start) {
                    self.stranger(&folder, &name, thread, rollouts, transcript);
                }
            }
        }
    }

    /// A record that began during the run, and may be of a thread that came out of it.
    fn stranger(
        &mut self,
        folder: &OwnedFd,
        name: &str,
        thread: &str,
        rollouts: &mut Rollouts,
        transcript: &mut Transcript,
    ) {
        if rollouts.knows(thread) || self.strangers.contains(name) {
            return;
        }
        if self.strangers.len() == MAX_STRANGERS || self.followed.len() == MAX_THREADS {
            // It may be one of this run, and nobody looks.
            transcript.lost_count("it has more threads than Ralph can follow");
            return;
        }
        let Some(line) = plain(folder, name).and_then(first_line) else { return };
        let is_ours = Opening::of(&line).is_some_and(|opening| {
            opening.id == thread
                && (opening.session == self.main || opening.parent.is_some_and(|parent| rollouts.knows(&parent)))
        });
        if is_ours && rollouts.begin(thread).is_some() {
            self.follow(folder, name, thread);
        } else {
            self.strangers.insert(name.to_owned());
        }
    }

    fn has_main(&self) -> bool {
        self.followed.iter().any(|followed| followed.thread == self.main)
    }

    fn follow(&mut self, folder: &OwnedFd, name: &str, thread: &str) {
        let (Some(file), Ok(folder)) = (plain(folder, name), folder.try_clone()) else { return };
        let (thread, name) = (thread.to_owned(), name.to_owned());
        self.followed.push(Followed { thread, folder, name, record: Record::new(file) });
    }

    /// The folder of a day and the names in it.
    fn folder(&self, day: &[String; 3]) -> Option<(OwnedFd, Vec<String>)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = rustix::fs::open(&self.sessions, flags, Mode::empty()).ok()?;
        for part in day {
            folder = rustix::fs::openat(&folder, part.as_str(), flags | OFlags::NOFOLLOW, Mode::empty()).ok()?;
        }
        let names = Dir::read_from(&folder).ok()?.take(MAX_NAMES).filter_map(|entry| {
            let entry = entry.ok()?;
            Some(entry.file_name().to_str().ok()?.to_owned())
        });
        let mut names: Vec<String> = names.collect();
        // Parents before children: their names begin with the time.
        names.sort_unstable();
        Some((folder, names))
    }
}

impl Followed {
    /// Whether nobody but Codex has written to it.
    fn is_whole(&self) -> bool {
        let found = rustix::fs::statat(&self.folder, self.name.as_str(), rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        self.record.is_whole(found.ok().map(|found| found.st_ino))
    }
}

/// Opens a plain file, through no link and without waiting for the writer of a pipe.
fn plain(folder: &OwnedFd, name: &str) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?);
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}

/// The first line, once it is whole.
fn first_line(file: File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(MAX_OPENING).read_to_end(&mut bytes).ok()?;
    let end = bytes.iter().position(|byte| *byte == b'\n');
    // A line that is too long is nobody's; one that is not whole yet is looked at again.
    let is_over = bytes.len() as u64 == MAX_OPENING;
    match end {
        Some(end) => Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned()),
        None => is_over.then(String::new),
    }
}

/// The thread in the name of a record: `rollout-2026-11-15T15-02-51-THREAD.jsonl`.
fn thread_of(name: &str) -> Option<&str> {
    let stem = name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    stem.get(stem.len().checked_sub(36)?..).filter(|id| begun(id).is_some())
}

/// When a thread began: its name is a UUID of version 7, which begins with the time in milliseconds.
fn begun(id: &str) -> Option<Timestamp> {
    let is_id = id.len() == 36 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let (high, low) = (id.get(..8)?, id.get(9..13)?);
    is_id.then(|| i64::from_str_radix(&format!("{high}{low}"), 16).ok().map(Timestamp)).flatten()
}

/// The folders in which a record of that time can be: they are named after the day where the user is.
fn days(at: Timestamp) -> Vec<[String; 3]> {
    let day = |millis: i64| {
        let date = Timestamp(millis).utc_date();
        let mut parts = date.split('-').map(str::to_owned);
        Some([parts.next()?, parts.next()?, parts.next()?])
    };
    [at.0.saturating_sub(DAY), at.0, at.0.saturating_add(DAY)].into_iter().filter_map(day).collect()
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
