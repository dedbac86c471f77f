//! Reads globs the way a `.gitignore` is read. Knows nothing about projects.

use std::collections::HashMap;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ralph_model::{Pin, PinKind};

/// Pins that can be asked which of them counts for a path.
#[derive(Debug, Clone)]
pub struct PinSet {
    pins: Vec<Pin>,
    matcher: Gitignore,
    /// The pin of each glob. Of two with the same glob the later would win in any case.
    by_glob: HashMap<String, usize>,
}

impl PinSet {
    /// Reads pins. A glob that cannot be read matches nothing: the code that takes globs from users checks them.
    #[must_use]
    pub fn new(pins: &[Pin]) -> Self {
        let globs: Vec<String> = pins.iter().map(|pin| pin.glob.clone()).collect();
        let by_glob = pins.iter().enumerate().map(|(at, pin)| (line(&pin.glob).to_owned(), at)).collect();
        Self { pins: pins.to_vec(), matcher: matcher(&globs), by_glob }
    }

    /// The pin that counts for a file, given relative to the workspace and separated by `/`. The nearest folder that any
    /// pin covers decides, and of the pins for it the last.
    #[must_use]
    pub fn pin(&self, path: &str) -> Option<&Pin> {
        let mut found = None;
        for (prefix, is_folder) in prefixes(path) {
            match self.matcher.matched(Path::new(prefix), is_folder) {
                Match::Ignore(glob) => {
                    let pin = self.by_glob.get(line(glob.original()));
                    let kind = pin.and_then(|at| self.pins.get(*at)).map(|pin| pin.kind);
                    // What is found by its name is ordinary source, unless its folder is pinned.
                    if kind != Some(PinKind::Modules) || found.is_none() {
                        found = pin;
                    }
                }
                Match::Whitelist(_) => found = None,
                Match::None => {}
            }
        }
        found.and_then(|at| self.pins.get(*at))
    }
}

/// A glob as a `.gitignore` reads it: blanks at the end count only when they are escaped.
fn line(glob: &str) -> &str {
    if glob.ends_with("\\ ") { glob } else { glob.trim_end() }
}

/// Whether globs that are read like a `.gitignore` cover a path.
#[must_use]
pub fn allows(globs: &[String], path: &str) -> bool {
    covers(&matcher(globs), path)
}

pub(crate) fn covered<'f>(globs: &[&str], files: &'f [String]) -> impl Iterator<Item = &'f String> {
    let matcher = matcher(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>());
    files.iter().filter(move |file| covers(&matcher, file))
}

/// Whether globs cover any of these files.
pub(crate) fn covers_any(globs: &[&str], files: &[String]) -> bool {
    covered(globs, files).next().is_some()
}

fn covers(matcher: &Gitignore, path: &str) -> bool {
    let mut covered = false;
    for (prefix, is_folder) in prefixes(path) {
        match matcher.matched(Path::new(prefix), is_folder) {
            Match::Ignore(_) => covered = true,
            Match::Whitelist(_) => covered = false,
            Match::None => {}
        }
    }
    covered
}

fn matcher(globs: &[String]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(".");
    for glob in globs {
        // One bad line must not take the others with it.
        if builder.add_line(None, glob).is_err() {
            continue;
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The folders on the way to a path, then the path itself.
fn prefixes(path: &str) -> impl Iterator<Item = (&str, bool)> {
    let path = path.trim_start_matches("./").trim_matches('/');
    path.match_indices('/').map(|(at, _)| (&path[..at], true)).chain(std::iter::once((path, false)))
}

#[cfg(test)]
#[path = "pinset_tests.rs"]
mod tests;
