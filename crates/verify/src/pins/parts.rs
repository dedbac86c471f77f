//! Compares files of which only parts count, and says what a file has to be for the check.

mod cargo;
mod go_mod;
mod package;
mod pyproject;
mod rust;
mod setup_cfg;
mod toml_parts;

use crate::pins::expand::Expanded;
use crate::pins::path;

/// What became of the pinned parts of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parts {
    Untouched,
    Tampered {
        /// Which, and what happened, in a few words each.
        what: Vec<String>,
        /// What the file has to be for the check: as it is now, with the pinned parts put back.
        restored: Vec<u8>,
    },
    /// The file is gone, and another that is new has all of them.
    Moved {
        to: String,
    },
    /// The file is gone and its pinned parts with it.
    Gone {
        restored: Vec<u8>,
    },
}

pub trait Others {
    /// Their paths, relative to the workspace.
    fn paths(&self) -> Vec<String>;
    fn read(&self, path: &str) -> Option<Vec<u8>>;
}

/// No other files.
#[derive(Debug, Clone, Copy)]
pub struct NoOthers;

impl Others for NoOthers {
    fn paths(&self) -> Vec<String> {
        Vec::new()
    }

    fn read(&self, _path: &str) -> Option<Vec<u8>> {
        None
    }
}

/// What a comparison may look at besides the file.
#[derive(Clone, Copy)]
pub struct Rest<'a> {
    /// What the commands execute: scripts that they use may not appear.
    pub texts: &'a [Expanded],
    /// Files that are new: tests may have moved there.
    pub others: &'a dyn Others,
}

/// Whether the parts of a file that a verdict depends on are as they were.
///
/// What counts in a file follows from its name. A file whose parts are unknown, or that could not be read before, counts
/// as a whole.
pub fn compare_parts(path: &str, before: &[u8], now: Option<&[u8]>, rest: &Rest<'_>) -> Parts {
    if now == Some(before) {
        return Parts::Untouched;
    }
    let Ok(before_text) = std::str::from_utf8(before) else { return whole(before, now) };
    let now_text = now.map(String::from_utf8_lossy);
    let now_text = now_text.as_deref();
    match path::name(path) {
        name if name.ends_with(".rs") => rust::compare(path, before_text, now_text, rest.others),
        "package.json" => package::compare(path, before_text, now_text, rest.texts),
        "Cargo.toml" => cargo::compare(before_text, now_text),
        "pyproject.toml" => pyproject::compare(before_text, now_text, rest.texts),
        "setup.cfg" => setup_cfg::compare(before_text, now_text),
        "go.mod" => go_mod::compare(before_text, now_text),
        _ => whole(before, now),
    }
}

/// Whether a manifest that was not there has parts that a verdict depends on: what it says about packages is free.
pub fn compare_new(path: &str, now: &[u8], texts: &[Expanded]) -> Parts {
    match path::name(path) {
        "package.json" => package::compare_new(&String::from_utf8_lossy(now)),
        "pyproject.toml" | "setup.cfg" => compare_parts(path, b"", Some(now), &Rest { texts, others: &NoOthers }),
        _ => whole(b"", Some(now)),
    }
}

/// A source of Rust as it is now, with its tests as they were; nothing where it is no such source.
#[must_use]
pub fn without_new_tests(path: &str, before: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    let (before, now) = (std::str::from_utf8(before).ok()?, std::str::from_utf8(now).ok()?);
    path.ends_with(".rs").then(|| rust::without_new_tests(path, before, now))?.map(String::into_bytes)
}

/// What a new source of Rust has that judges in the place of the usual macros.
#[must_use]
pub fn new_judges(path: &str, content: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(content).ok().filter(|text| path.ends_with(".rs") && text.contains("assert"));
    text.map(|text| rust::new_judges(path, text)).unwrap_or_default()
}

/// The whole file counts.
fn whole(before: &[u8], now: Option<&[u8]>) -> Parts {
    match now {
        None => Parts::Gone { restored: before.to_vec() },
        Some(_) => Parts::Tampered { what: vec!["the file".to_owned()], restored: before.to_vec() },
    }
}

/// A file that cannot be read as what it is.
fn unreadable(before: &str, language: &str) -> Parts {
    Parts::Tampered {
        what: vec![format!("the file no longer parses as {language}")],
        restored: before.as_bytes().to_vec(),
    }
}

fn verdict(what: Vec<String>, restored: impl FnOnce() -> String) -> Parts {
    if what.is_empty() { Parts::Untouched } else { Parts::Tampered { what, restored: restored().into_bytes() } }
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
#[cfg(test)]
#[path = "parts_rust_tests.rs"]
mod tests_of_rust;
