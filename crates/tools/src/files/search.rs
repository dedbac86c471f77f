//! `fs_glob` and `fs_grep`. What git ignores is not searched.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use ignore::overrides::{Override, OverrideBuilder};
use regex::Regex;
use rustix::fs::{Mode, OFlags, openat};
use schemars::JsonSchema;
use serde::Deserialize;

use super::root::{Access, Root};
use super::walk::{Entry, Ignored, walk};
use super::{count, is_binary};
use crate::Effect::Reads;
use crate::registry::{Answer, Context, Registry};
use crate::{MAX_TEXT, Outcome};

/// What is left of [`MAX_TEXT`] for a note at the end.
const ROOM: usize = MAX_TEXT - 300;
/// Of a line that matches, the most characters that are shown.
const MAX_LINE: usize = 300;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Glob {
    /// For example `**/*.rs` or `src/*.ts`, relative to the workspace.
    pattern: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Grep {
    /// A regular expression for one line.
    pattern: String,
    /// A file or folder, relative to the workspace.
    path: Option<String>,
    /// Only files that match, for example `*.rs`.
    glob: Option<String>,
}

pub(super) fn register(registry: &mut Registry, root: &Arc<Root>) {
    let description = "Finds files by their path. Files that git ignores are left out.";
    registry.add_blocking(root, "fs_glob", Reads, description, glob);
    let description = "Searches files for a regular expression. Files that git ignores and binary files are left out.";
    registry.add_blocking(root, "fs_grep", Reads, description, grep);
}

fn glob(root: &Root, Glob { pattern }: Glob, context: &Context) -> Answer {
    let wanted = globs(&pattern)?;
    let mut found = Lines::default();
    each_file(root, ".", context, &mut |entry, path| {
        if wanted.matched(path, false).is_whitelist() && entry.is_file {
            found.push(&path.display().to_string());
        }
    })?;
    Ok(found.outcome(|number| format!("found {} for {pattern}", count(number, "file")), ""))
}

fn grep(root: &Root, Grep { pattern, path, glob }: Grep, context: &Context) -> Answer {
    let expression = Regex::new(&pattern).map_err(|error| format!("the pattern is no regular expression: {error}"))?;
    let wanted = glob.as_deref().map(globs).transpose()?;
    let path = path.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned());
    let (mut found, mut files, mut skipped) = (Lines::default(), 0, 0);
    let mut search = |name: &str, bytes: &[u8]| {
        let before = found.all;
        for (number, line) in String::from_utf8_lossy(bytes).lines().enumerate() {
            if expression.is_match(line) {
                let line: String = line.chars().take(MAX_LINE).collect();
                found.push(&format!("{name}:{}: {line}", number + 1));
            }
        }
        files += usize::from(found.all > before);
    };
    let start = root.find(&path, Access::Read)?;
    if start.is_folder() {
        each_file(root, &path, context, &mut |entry, path| {
            if !entry.is_file || wanted.as_ref().is_some_and(|wanted| !wanted.matched(path, false).is_whitelist()) {
                return;
            }
            match entry.read() {
                Ok(bytes) if is_binary(&bytes) => {}
                Ok(bytes) => search(&path.display().to_string(), &bytes),
                Err(_) => skipped += 1,
            }
        })?;
    } else {
        search(&start.path.display().to_string(), start.text()?.as_bytes());
    }
    let note = if skipped > 0 {
        format!("[{} could not be read or are too large]", count(skipped, "file"))
    } else {
        String::new()
    };
    let summary = |number| format!("found {} of {pattern} in {}", count(number, "line"), count(files, "file"));
    Ok(found.outcome(summary, &note))
}

/// Visits every file below a folder, with its path relative to the workspace.
fn each_file(
    root: &Root,
    path: &str,
    context: &Context,
    visit: &mut dyn FnMut(&Entry<'_>, &PathBuf),
) -> Result<(), String> {
    let start = root.find(path, Access::Read)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = start.open(flags).and_then(|fd| openat(&fd, ".", flags, Mode::empty()));
    let fd = opened.map_err(|errno| format!("could not open {path}: {}", std::io::Error::from(errno)))?;
    walk(&fd, ".".as_ref(), Ignored::Skip, &mut |entry: Entry<'_>| {
        if context.stop.borrow().is_some() {
            return ControlFlow::Break(());
        }
        visit(&entry, &start.path.join(entry.path));
        ControlFlow::Continue(())
    });
    Ok(())
}

/// As on a command line: without a slash in any folder, with one from the workspace on.
fn globs(pattern: &str) -> Result<Override, String> {
    let failed = |error| format!("`{pattern}` is no glob: {error}");
    let mut builder = OverrideBuilder::new("");
    builder.add(pattern.trim_start_matches("./")).map_err(failed)?;
    builder.build().map_err(failed)
}

/// Lines that are found, of which as many are kept as are shown.
#[derive(Default)]
struct Lines {
    text: String,
    all: usize,
    shown: usize,
}

impl Lines {
    fn push(&mut self, line: &str) {
        self.all += 1;
        if self.shown + 1 == self.all && self.text.len() + line.len() < ROOM {
            self.text.push_str(line);
            self.text.push('\n');
            self.shown += 1;
        }
    }

    fn outcome(mut self, summary: impl Fn(usize) -> String, note: &str) -> Outcome {
        if self.all > self.shown {
            let more = self.all - self.shown;
            self.text.push_str(&format!("[{more} more; at most {MAX_TEXT} bytes are shown: search for less]\n"));
        }
        self.text.push_str(note);
        let summary = summary(self.all);
        let text = if self.text.is_empty() { "nothing found".to_owned() } else { self.text };
        Outcome::done(summary, text)
    }
}
