//! Pinned files: remembers what a verdict depends on, and says what of it is not as it was. Puts nothing back.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ralph_model::{ChangeKind, Pin, PinKind};

use super::baseline::{self, Baseline};
use super::walk::{Layer, Sort, walk};
use super::{Care, Guard, judge};
use crate::quote::{quote, unquote};
use crate::{Error, Placement, Workspace};

/// Globs that say which files a verdict depends on, each with what may not happen to them. They are read like the lines of
/// a `.gitignore`; the last one that matches a path decides.
#[derive(Debug, Clone)]
pub struct Pins {
    pub(super) guard: Guard,
    pub(super) kinds: Vec<PinKind>,
    /// Of pins with the same glob the last.
    numbers: HashMap<Arc<str>, usize>,
}

impl Pins {
    /// Reads pins; the error names the glob that is wrong.
    pub fn new(pins: &[Pin]) -> Result<Self, Error> {
        let globs: Vec<(String, Care)> = pins
            .iter()
            .map(|pin| match pin.kind {
                PinKind::Frozen | PinKind::Steering => (pin.glob.clone(), Care::Keep),
                PinKind::Installed | PinKind::Packages => (pin.glob.clone(), Care::Compare),
                PinKind::Absent | PinKind::Built => (pin.glob.clone(), Care::Notice),
                PinKind::Modules => (pin.glob.clone(), Care::Glance),
                // The parts are compared by the caller; here such a file is free again.
                PinKind::Parts => (format!("!{}", pin.glob.trim_start_matches('!')), Care::Notice),
            })
            .collect();
        let lines: Vec<(&str, Care)> = globs.iter().map(|(glob, care)| (glob.as_str(), *care)).collect();
        let guard = Guard::read(&lines)?;
        let numbers = globs.iter().enumerate().map(|(number, (glob, _))| (Arc::from(glob.as_str()), number)).collect();
        Ok(Self { guard, kinds: pins.iter().map(|pin| pin.kind).collect(), numbers })
    }

    /// The number of the pin that counts for a path relative to the workspace, if one does. Pins of
    /// [`PinKind::Parts`] are never the answer.
    pub fn find(&self, path: &str) -> Option<usize> {
        self.find_bytes(&unquote(path))
    }

    pub(super) fn find_bytes(&self, path: &[u8]) -> Option<usize> {
        self.guard.covers(path).and_then(|cover| self.number(&cover.glob))
    }

    pub(super) fn number(&self, glob: &str) -> Option<usize> {
        self.numbers.get(glob).copied()
    }

    pub(super) fn layer<'a>(&'a self, baseline: Option<&'a Baseline>) -> Layer<'a> {
        Layer::new(&self.guard, Sort::Pinned, baseline)
    }
}

/// Every pinned file as it was at the loop's start. Contents of frozen and steering files are in a git directory beside
/// the list, which plain git can read.
pub struct PinBaseline(pub(super) Baseline);

impl PinBaseline {
    /// Opens the baseline that [`Workspace::pins_baseline`] left in a folder.
    pub fn load(dir: &Path) -> Result<Self, Error> {
        Baseline::load(dir).map(Self)
    }

    /// The paths that were pinned and there, written as in [`ralph_model::Change`], sorted.
    pub fn paths(&self) -> Vec<String> {
        self.0.records.keys().map(|path| quote(path)).collect()
    }

    /// How many files and links there were.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Links to more than can be watched: pinned files behind them are not.
    pub fn unwatched(&self) -> Vec<String> {
        self.0.unwatched.iter().map(|path| quote(path)).collect()
    }

    /// What was at a path at the start; `None` where that was not kept.
    pub fn placement(&self, workspace: &Workspace, path: &str) -> Result<Option<Placement>, Error> {
        match self.0.records.get(&*unquote(path)) {
            None => Ok(Some(Placement::Absent)),
            Some(record) => judge::placement(&self.0, &workspace.git, record),
        }
    }
}

/// Something about pinned files that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offence {
    /// Where, relative to the workspace, written as in [`ralph_model::Change`]. A file behind a link of the start is named
    /// by its real place, where that is in the workspace.
    pub path: String,
    /// What happened. A file that a link of the agent's hides is modified; one that permissions hide has another mode.
    pub kind: ChangeKind,
    /// The number of the pin that counts for it.
    pub pin: usize,
    /// What has to be there instead. `None` when it cannot be put back: it was not kept, or is outside the workspace.
    pub restored: Option<Placement>,
}

impl Workspace {
    /// Remembers every pinned file as it is now, in a folder of the loop's own: contents of frozen and steering files,
    /// hashes of installed ones, names of the rest.
    pub fn pins_baseline(&mut self, pins: &Pins, dir: &Path) -> Result<PinBaseline, Error> {
        baseline::take(self, &pins.guard, Sort::Pinned, dir).map(PinBaseline)
    }

    /// What is not as it was, sorted by path.
    pub fn pins_check(&mut self, pins: &Pins, baseline: &PinBaseline) -> Result<Vec<Offence>, Error> {
        let now = match self.watch.pinned.take() {
            Some((key, now)) if key == pins.guard.key => now,
            _ => walk(self, pins.layer(Some(&baseline.0)), None)?,
        };
        judge::judge(self, pins, &baseline.0, &now)
    }
}
