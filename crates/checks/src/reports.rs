//! Finds the test reports that a check wrote, and counts them. Reports from before the check are none of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ignore::WalkBuilder;
use ignore::gitignore::Gitignore;
use ralph_model::TestTally;

use crate::count;
use crate::expectation::{matcher, matches};

/// Entries that are looked at below a glob; a tree with more is searched only so far.
const MAX_ENTRIES: usize = 200_000;
/// Bytes that are read of a report.
const MAX_SIZE: u64 = 32 * 1024 * 1024;
/// File systems stamp with a coarser clock than the one that the start is taken from.
const CLOCK_SLACK: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Before {
    directory: PathBuf,
    patterns: Vec<Pattern>,
    extra: Vec<PathBuf>,
    stamps: HashMap<PathBuf, Stamp>,
    started: SystemTime,
}

#[derive(Debug)]
struct Pattern {
    matcher: Gitignore,
    base: PathBuf,
}

/// What changes when a file is written again. A time alone could have been set by anyone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(data: &Metadata) -> Self {
        Self {
            inode: data.ino(),
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }
}

impl Before {
    /// Remembers which reports there are, and deletes the extra ones. The error holds the glob that is none.
    pub(crate) fn look(
        directory: &Path,
        globs: &[String],
        extra: Vec<PathBuf>,
    ) -> Result<Self, (String, ignore::Error)> {
        let pattern = |glob: &String| match matcher(glob) {
            Ok(matcher) => Ok(Pattern { matcher, base: directory.join(literal(glob)) }),
            Err(error) => Err((glob.clone(), error)),
        };
        let patterns = globs.iter().map(pattern).collect::<Result<Vec<_>, _>>()?;
        for path in &extra {
            // One that stays is recognised as old by its stamp.
            let _ = fs::remove_file(path);
        }
        let started = SystemTime::now();
        let mut before = Self { directory: directory.to_owned(), patterns, extra, stamps: HashMap::new(), started };
        before.stamps = before.files().into_iter().map(|(path, data)| (path, Stamp::of(&data))).collect();
        before.started = SystemTime::now();
        Ok(before)
    }

    pub(crate) fn count(&self) -> Option<TestTally> {
        let earliest = self.started.checked_sub(CLOCK_SLACK).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut all: Option<TestTally> = None;
        for (path, data) in self.files() {
            let rewritten = self.stamps.get(&path) != Some(&Stamp::of(&data));
            if !rewritten || data.modified().is_ok_and(|modified| modified < earliest) {
                continue;
            }
            if let Some(tally) = read(&path).and_then(|xml| count::report(&xml)) {
                all = Some(sum(all.unwrap_or_default(), tally));
            }
        }
        all
    }

    fn files(&self) -> BTreeMap<PathBuf, Metadata> {
        let mut found = BTreeMap::new();
        for path in &self.extra {
            // A link could lead to any file, and reading a pipe would never end.
            if let Ok(data) = fs::symlink_metadata(path)
                && data.is_file()
            {
                found.insert(path.clone(), data);
            }
        }
        for pattern in &self.patterns {
            let walk = WalkBuilder::new(&pattern.base)
                .standard_filters(false)
                .follow_links(false)
                .filter_entry(|entry| !matches!(entry.file_name().to_str(), Some(".git" | "node_modules")))
                .build();
            // What cannot be read, or went away in the meantime, is no report.
            for entry in walk.take(MAX_ENTRIES).flatten() {
                let relative = entry.path().strip_prefix(&self.directory).ok().and_then(Path::to_str);
                let wanted = relative.is_some_and(|relative| matches(&pattern.matcher, relative));
                if !wanted || !entry.file_type().is_some_and(|kind| kind.is_file()) {
                    continue;
                }
                if let Ok(data) = entry.metadata() {
                    found.insert(entry.into_path(), data);
                }
            }
        }
        found
    }
}

/// The folders at the start of a glob that hold no wildcard.
fn literal(glob: &str) -> PathBuf {
    let glob = glob.trim_start_matches("./").trim_start_matches('/');
    // Without a slash it matches in every folder.
    if !glob.contains('/') {
        return PathBuf::new();
    }
    glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{', '\\'])).collect()
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = vec![];
    fs::File::open(path).ok()?.take(MAX_SIZE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn sum(one: TestTally, other: TestTally) -> TestTally {
    TestTally {
        passed: one.passed.saturating_add(other.passed),
        failed: one.failed.saturating_add(other.failed),
        skipped: one.skipped.saturating_add(other.skipped),
        failing: both(one.failing, other.failing, TestTally::MAX_NAMES),
        names: both(one.names, other.names, TestTally::MAX_TESTS),
    }
}

fn both(one: Vec<String>, other: Vec<String>, most: usize) -> Vec<String> {
    let all: BTreeSet<String> = one.into_iter().chain(other).collect();
    all.into_iter().take(most).collect()
}

/// The tally of a check of which two sources tell, such as its output and its reports.
///
/// They tell of the same tests, so they are not added. Reports are asked for on purpose and go first, unless the output
/// knows of more failures or more tests: a failure must not get lost because one of two runners writes no report. Names
/// are those of both: each has its own form of them, and the next run may have one source only.
pub(crate) fn choose(output: Option<TestTally>, reports: Option<TestTally>) -> Option<TestTally> {
    let total = |tally: &TestTally| tally.passed.saturating_add(tally.failed).saturating_add(tally.skipped);
    match (output, reports) {
        (Some(output), Some(reports)) => {
            let more =
                output.failed > reports.failed || (output.failed == reports.failed && total(&output) > total(&reports));
            let (mut chosen, other) = if more { (output, reports) } else { (reports, output) };
            chosen.names = both(chosen.names, other.names, TestTally::MAX_TESTS);
            Some(chosen)
        }
        (output, reports) => reports.or(output),
    }
}

#[cfg(test)]
#[path = "reports_tests.rs"]
mod tests;
