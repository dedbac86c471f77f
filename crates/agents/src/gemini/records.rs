//! Follows the records that the program keeps of its chats: one file for the run, one for each of its own helpers. Whoever can
//! write there chooses what lies there, so that nothing but plain files is opened, and no more than a bounded amount is read.
//!
//! ```text
//!   tmp/PROJECT/chats/session-TIME-FIRST8.jsonl     the chat of the session whose id begins with FIRST8
//!   tmp/PROJECT/chats/SESSION/HELPER.jsonl          the chats of its helpers
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{Links, open_plain};
use crate::record::Record;

/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 4096;
/// Files that are followed at once.
const MAX_FILES: usize = 64;
/// Bytes that are read of all files each time: a record holds the files that were read and written.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// Characters of a session's id that a file's name ends with.
const SHORT: usize = 8;

pub(crate) struct Records {
    projects: PathBuf,
    session: Option<String>,
    /// The folder with the chats of this workspace, once it is known.
    chats: Option<PathBuf>,
    /// None for one that cannot be read: then it is not tried again.
    files: Vec<(PathBuf, Option<Record>)>,
}

impl Records {
    /// The records below the program's folder of settings.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { projects: folder.join("tmp"), session: None, chats: None, files: Vec::new() }
    }

    pub(crate) fn session(&mut self, id: &str) {
        let is_plain = id.len() >= SHORT && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_plain && self.session.is_none() {
            self.session = Some(id.to_owned());
        }
    }

    /// Passes on each whole line that was written since the last time.
    pub(crate) fn read(&mut self, mut line: impl FnMut(&str)) {
        let Some(session) = self.session.clone() else { return };
        self.find(&session);
        let mut left = MAX_BYTES;
        for record in self.files.iter_mut().filter_map(|(_, record)| record.as_mut()) {
            record.read(&mut left, &mut line);
        }
    }

    /// Looks for files that were not there before.
    fn find(&mut self, session: &str) {
        let end = format!("-{}.jsonl", &session[..SHORT]);
        let is_main = |path: &Path| {
            path.file_name().is_some_and(|name| {
                let name = name.to_string_lossy();
                name.starts_with("session-") && name.ends_with(&end)
            })
        };
        if self.chats.is_none() {
            let mut all = entries(&self.projects).map(|project| project.join("chats"));
            self.chats = all.find(|chats| entries(chats).any(|path| is_main(&path)));
        }
        let Some(chats) = &self.chats else { return };
        let main = entries(chats).filter(|path| is_main(path));
        let helpers =
            entries(&chats.join(session)).filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
        let found: Vec<PathBuf> = main.chain(helpers).collect();
        for path in found {
            if self.files.len() < MAX_FILES && self.files.iter().all(|(known, _)| *known != path) {
                let record = open_plain(&path, Links::Refuse).ok().map(Record::new);
                self.files.push((path, record));
            }
        }
    }
}

/// What lies in a folder, as far as it can be seen. A folder that is not there yet is an empty one.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.take(MAX_ENTRIES).filter_map(|entry| entry.ok().map(|entry| entry.path()))
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
