//! Prohibited paths: remembers every file that they cover, notices when one differs, saves what the agent did and puts the
//! files back. Decides nothing about the loop.
//!
//! The guard sees what git does not: ignored and untracked files, files behind symbolic links, permissions. It compares
//! with the loop's start, so that a change is a change whether it was committed, hard-linked or hidden by an ignore rule.
//! A link is followed only while it is the link of the baseline: one that an agent made or moved is a violation itself,
//! and what it leads to is neither watched nor touched. A git directory below a prohibited path is passed by only where it was
//! there at the start, because every use of git changes it; pipes, sockets and devices count by being there.

mod baseline;
mod compare;
mod judge;
mod patch;
mod pins;
mod restore;
mod walk;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use baseline::Baseline;
pub(crate) use baseline::{Bytes, write_durably};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
pub(crate) use patch::keep as keep_patch;
pub use pins::{Offence, PinBaseline, Pins};
use ralph_model::{LoopId, Violation};
pub(crate) use walk::Watch;
use walk::{Layer, Sort};

use crate::quote::unquote;
use crate::rules::Folder;
use crate::{Error, Snapshot, Workspace};

/// Links in a row that the kernel follows.
const MAX_LINKS: usize = 40;

/// Globs that say which paths an agent must leave alone, as in a `.gitignore`: `.env` matches in every folder,
/// `migrations/**` from the workspace's root, `!migrations/README.md` allows again. The last glob that matches decides.
#[derive(Debug, Clone)]
pub struct Guard {
    key: String,
    matcher: Gitignore,
    covers: HashMap<String, Arc<Cover>>,
    /// Matches folders that lead to what an anchored glob covers.
    leads: Gitignore,
    leads_to: HashMap<String, Arc<Cover>>,
}

/// A glob and what is remembered of the files that it covers.
#[derive(Debug)]
struct Cover {
    glob: Arc<str>,
    care: Care,
}

/// What is remembered of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Care {
    /// Its content, so that it can be put back.
    Keep,
    /// What tells it from another content.
    Compare,
    Notice,
    /// The same, where no glob covers its folder.
    Glance,
}

impl Guard {
    /// Reads globs; the error names the one that is wrong.
    pub fn new(globs: &[String]) -> Result<Self, Error> {
        let lines: Vec<(&str, Care)> = globs.iter().map(|glob| (glob.as_str(), Care::Keep)).collect();
        Self::read(&lines)
    }

    fn read(lines: &[(&str, Care)]) -> Result<Self, Error> {
        let mut matcher = GitignoreBuilder::new(".");
        let mut leads = GitignoreBuilder::new(".");
        // A bracket that is never closed is a typing error here, not a strange name.
        matcher.allow_unclosed_class(false);
        let (mut covers, mut leads_to) = (HashMap::new(), HashMap::new());
        for (glob, care) in lines {
            let wrong = |why: String| Error::Glob { glob: (*glob).to_owned(), why };
            // The glob is named already.
            let unread = |error: ignore::Error| match error {
                ignore::Error::Glob { err, .. } => wrong(err),
                error => wrong(error.to_string()),
            };
            if glob.trim().trim_start_matches('!').is_empty() {
                return Err(wrong("it is empty".to_owned()));
            }
            matcher.add_line(None, glob).map_err(unread)?;
            let cover = Arc::new(Cover { glob: Arc::from(*glob), care: *care });
            for folder in leading_folders(glob, *care) {
                leads.add_line(None, &folder).map_err(unread)?;
                leads_to.entry(folder).or_insert_with(|| Arc::clone(&cover));
            }
            covers.insert(as_read(glob).to_owned(), cover);
        }
        let built = |builder: &GitignoreBuilder| {
            let globs: Vec<&str> = lines.iter().map(|(glob, _)| *glob).collect();
            builder.build().map_err(|error| Error::Glob { glob: globs.join(" "), why: error.to_string() })
        };
        let key = lines.iter().map(|(glob, care)| format!("{care:?} {glob}\n")).collect();
        Ok(Self { key, matcher: built(&matcher)?, covers, leads: built(&leads)?, leads_to })
    }

    /// The glob that prohibits a path, absolute or relative to `root`: by its name, or by where its links lead.
    pub fn forbids(&self, root: &Path, path: &Path) -> Option<String> {
        let mut path = lexical(&root.join(path));
        for _ in 0..MAX_LINKS {
            if let Some(glob) = self.forbids_resolved(root, &path) {
                return Some(glob);
            }
            // A write to a link that leads to nothing makes its target.
            let target = path.read_link().ok().filter(|_| !path.exists())?;
            path = lexical(&path.parent()?.canonicalize().ok()?.join(target));
        }
        None
    }

    fn forbids_resolved(&self, root: &Path, lexical: &Path) -> Option<String> {
        let below = |root: &Path, path: &Path| {
            path.strip_prefix(root).ok().and_then(Path::to_str).and_then(|path| self.prohibits(path))
        };
        below(root, lexical).or_else(|| below(&root.canonicalize().ok()?, &real(lexical)?))
    }

    /// The glob that prohibits a path relative to the workspace, if one does.
    pub fn prohibits(&self, path: &str) -> Option<String> {
        self.covers(&unquote(path)).map(|cover| cover.glob.to_string())
    }

    /// The glob that prohibits a path relative to the workspace, as it is in a tree.
    pub(crate) fn prohibits_bytes(&self, path: &[u8]) -> Option<String> {
        self.covers(path).map(|cover| cover.glob.to_string())
    }

    /// The glob that covers a file.
    fn covers(&self, path: &[u8]) -> Option<Arc<Cover>> {
        let mut inside = None;
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            inside = self.cover(&path[..at], Folder::Yes, inside.as_ref());
        }
        self.cover(path, Folder::No, inside.as_ref())
    }

    /// The glob that covers a path, given the one that covers its folder.
    fn cover(&self, path: &[u8], folder: Folder, inside: Option<&Arc<Cover>>) -> Option<Arc<Cover>> {
        match self.matcher.matched(Path::new(OsStr::from_bytes(path)), folder == Folder::Yes) {
            Match::Ignore(glob) => {
                let cover = self.covers.get(glob.original());
                match inside {
                    Some(inside) if cover.is_some_and(|cover| cover.care == Care::Glance) => Some(Arc::clone(inside)),
                    _ => cover.cloned(),
                }
            }
            Match::Whitelist(_) => None,
            Match::None => inside.cloned(),
        }
    }

    /// The glob that covers a folder itself, or everything in it.
    fn folder_cover(&self, path: &[u8], inside: Option<&Arc<Cover>>) -> Option<Arc<Cover>> {
        // `src/auth/**` covers what is in `src/auth`; to its permissions that makes no difference.
        let something = [path, b"/\x01"].concat();
        self.cover(path, Folder::Yes, inside).or_else(|| self.cover(&something, Folder::No, None))
    }

    /// The glob that a folder leads to: `src` leads to `src/auth/**`.
    fn lead(&self, path: &[u8]) -> Option<Arc<Cover>> {
        match self.leads.matched(Path::new(OsStr::from_bytes(path)), true) {
            Match::Ignore(glob) => self.leads_to.get(glob.original()).cloned(),
            Match::None | Match::Whitelist(_) => None,
        }
    }
}

/// A line as the matcher remembers it.
fn as_read(glob: &str) -> &str {
    if glob.ends_with("\\ ") { glob } else { glob.trim_end() }
}

/// The folders on the way to what an anchored glob covers, as globs. After a `**` the way is anywhere; to what is only
/// compared it leads all the same, because that lies in folders that are passed by: `**/node_modules/jest/**`.
fn leading_folders(glob: &str, care: Care) -> Vec<String> {
    let body = glob.trim_end_matches('/');
    if glob.starts_with(['!', '#']) || !body.contains('/') {
        return Vec::new();
    }
    let (start, body) = match body.strip_prefix("**/") {
        Some(rest) if care == Care::Compare => ("**/", rest),
        _ => ("/", body.trim_start_matches('/')),
    };
    let parts: Vec<&str> = body.split('/').collect();
    let known = parts.iter().position(|part| part.contains("**")).unwrap_or(parts.len() - 1);
    (1..=known.min(parts.len() - 1)).map(|count| format!("{start}{}", parts[..count].join("/"))).collect()
}

impl Workspace {
    /// Remembers every prohibited file as it is now, with its content, in a folder of the loop's own.
    pub fn guard_baseline(&mut self, guard: &Guard, dir: &Path) -> Result<Baseline, Error> {
        baseline::take(self, guard, Sort::Prohibited, dir)
    }

    /// What differs from the baseline, sorted by path.
    pub fn guard_check(&mut self, guard: &Guard, baseline: &Baseline) -> Result<Vec<Violation>, Error> {
        let now = walk::walk(self, Layer::new(guard, Sort::Prohibited, Some(baseline)), None)?;
        Ok(compare::compare(baseline, &now).into_iter().map(compare::Offence::into_violation).collect())
    }

    /// Takes a snapshot as [`Workspace::snapshot_recent`] does, and says what differs from the baseline, sorted by path. One look at
    /// the workspace serves both, and [`Workspace::pins_check`] where it follows with the pins that are given.
    pub fn snapshot_guarded(
        &mut self,
        (loop_id, label): (LoopId, &str),
        most: Duration,
        guard: &Guard,
        baseline: &Baseline,
        pinned: Option<(&Pins, &PinBaseline)>,
    ) -> Result<(Snapshot, Vec<Violation>), Error> {
        self.watch.pinned = None;
        let snapshot = self.snapshot_recent(loop_id, label, most)?;
        let prohibited = Layer::new(guard, Sort::Prohibited, Some(baseline));
        let now = match pinned {
            None => {
                let [now] = walk::walk_looked(self, [prohibited])?;
                now
            }
            Some((pins, pin_baseline)) => {
                let [now, pinned] = walk::walk_looked(self, [prohibited, pins.layer(Some(&pin_baseline.0))])?;
                self.watch.pinned = Some((pins.guard.key.clone(), pinned));
                now
            }
        };
        let violations = compare::compare(baseline, &now).into_iter().map(compare::Offence::into_violation).collect();
        Ok((snapshot, violations))
    }

    /// Saves what differs from the baseline as a patch, then makes it as it was, and says what differed. Nothing is changed
    /// before it is saved, so that repeating it after a crash completes it and loses nothing; a patch that is there already
    /// is added to.
    pub fn guard_restore(&mut self, guard: &Guard, baseline: &Baseline, patch: &Path) -> Result<Vec<Violation>, Error> {
        let restored = restore::restore(self, guard, baseline, patch);
        self.forget_look();
        restored
    }
}

/// The path without `.` and `..`, by its text alone.
/// Whether a path, absolute or relative to `root`, is `folder` or in it: by its name, or by where its links lead.
pub fn leads_into(folder: &Path, root: &Path, path: &Path) -> bool {
    let written = root.join(path);
    let folders = [Some(lexical(folder)), real(folder)];
    // A tool may resolve `..` in the text, or leave that to the system, which follows links first.
    let places = [Some(lexical(&written)), real(&lexical(&written)), real(&written)];
    places.iter().flatten().any(|place| folders.iter().flatten().any(|folder| place.starts_with(folder)))
}

/// A path with its links followed, as far as it exists: what does not exist yet has a folder that does.
fn real(path: &Path) -> Option<PathBuf> {
    let mut rest = PathBuf::new();
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let (folder, below) =
            path.ancestors().find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)))?;
        let mut names = below.components();
        let Some(name) = names.next() else { return Some(lexical(&folder.join(rest))) };
        rest = names.as_path().join(rest);
        // A link that leads to nothing: a write makes its target.
        match folder.join(name).read_link() {
            Ok(target) => path = folder.join(target),
            Err(_) => return Some(lexical(&folder.join(name).join(rest))),
        }
    }
    None
}

fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
#[path = "../guard_tests.rs"]
mod tests;
