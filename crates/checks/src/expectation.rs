//! Compares what was expected with what was observed. Looks at nothing itself but at task lists.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ralph_model::{Change, ChangeKind, Checklist, Expectation, ToolEvidence};

/// What was seen of a delegation from outside.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    pub evidence: &'a [ToolEvidence],
    pub changed: &'a [Change],
    /// Commits that the repository did not have at the start.
    pub new_commits: u32,
    /// Whether nothing is left uncommitted; nothing where there is no repository.
    pub clean: Option<bool>,
    pub root: &'a Path,
    /// What was asked for: items of its task list stay to be done if they are removed from the file.
    pub objective: &'a str,
}

/// Whether an expectation is met, or why not.
///
/// # Errors
/// The sentence that stands in a `[MISSING]` line. A `command:` cannot be judged without running it, so that it is
/// never met here; [`crate::Checker::expectations`] runs it.
pub fn evaluate(expectation: &Expectation, observed: &Observed<'_>) -> Result<(), String> {
    match expectation {
        Expectation::Tool(name) => tool(name, observed.evidence),
        Expectation::Commit if observed.new_commits > 0 => Ok(()),
        Expectation::Commit => Err("no commit created".to_owned()),
        Expectation::File(glob) => file(glob, observed.changed),
        Expectation::CleanTree => match observed.clean {
            Some(true) => Ok(()),
            Some(false) => Err("uncommitted changes are left".to_owned()),
            None => Err("this is no git repository, so there is no clean tree".to_owned()),
        },
        Expectation::Checklist(name) => checklist(name, observed),
        Expectation::Command(_) => Err("the command was not run".to_owned()),
    }
}

/// How much of a task list is read, and how many of its items are named.
const MAX_CHECKLIST: u64 = 1 << 20;
const MAX_OPEN: usize = 5;

fn checklist(name: &str, observed: &Observed<'_>) -> Result<(), String> {
    let path = observed.root.join(name);
    let mut bytes = Vec::new();
    // A named pipe would never end.
    let is_file = fs::metadata(&path).is_ok_and(|data| data.is_file());
    let read = is_file.then(|| File::open(&path).and_then(|file| file.take(MAX_CHECKLIST).read_to_end(&mut bytes)));
    if read.is_none_or(|read| read.is_err()) {
        return Err(format!("{name} is not in the workspace, or it cannot be read: the task list has to be there"));
    }
    let list = Checklist::parse(&String::from_utf8_lossy(&bytes)).with_removed(&Checklist::parse(observed.objective));
    let (done, all) = list.tally();
    if done == all {
        return Ok(());
    }
    let mut open: Vec<&str> = list.open().take(MAX_OPEN).collect();
    if all - done > open.len() {
        open.push("…");
    }
    Err(format!("{done} of {all} done; open: {}", open.join("; ")))
}

fn tool(name: &str, evidence: &[ToolEvidence]) -> Result<(), String> {
    let mut calls = evidence.iter().filter(|call| call.tool == name).peekable();
    if calls.peek().is_none() {
        return Err(format!("{name} was not called"));
    }
    let mut waits = false;
    for call in calls {
        if call.success && !call.is_pending() {
            return Ok(());
        }
        waits |= call.is_pending();
    }
    Err(if waits { format!("{name} waits for approval") } else { format!("{name} was called and did not succeed") })
}

fn file(glob: &str, changed: &[Change]) -> Result<(), String> {
    let matcher = matcher(glob).map_err(|why| format!("`{glob}` is not a glob: {why}"))?;
    let matches = |change: &&Change| matches(&matcher, &change.path);
    let mut deleted = false;
    for change in changed.iter().filter(matches) {
        match change.kind {
            ChangeKind::Added | ChangeKind::Modified | ChangeKind::Mode => return Ok(()),
            ChangeKind::Deleted => deleted = true,
        }
    }
    Err(match deleted {
        true => format!("a file that matches {glob} was deleted, none was added or changed"),
        false => format!("no file that matches {glob} was added or changed"),
    })
}

/// A glob as people know it from `.gitignore`: without a slash it matches a name in any folder, a folder stands for
/// everything in it.
pub(crate) fn matcher(glob: &str) -> Result<Gitignore, ignore::Error> {
    let mut builder = GitignoreBuilder::new("");
    // These two mean something else in the file that the syntax comes from.
    let escaped = if glob.starts_with(['!', '#']) { format!("\\{glob}") } else { glob.to_owned() };
    builder.add_line(None, escaped.strip_prefix("./").unwrap_or(&escaped))?;
    builder.build()
}

pub(crate) fn matches(matcher: &Gitignore, path: &str) -> bool {
    // The matcher refuses absolute paths by panicking.
    let path = path.trim_start_matches('/');
    !path.is_empty() && matcher.matched_path_or_any_parents(path, false).is_ignore()
}

#[cfg(test)]
#[path = "expectation_tests.rs"]
mod tests;
