//! Offending content as a patch that `git apply` takes, and that nothing is ever lost from.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use super::baseline::{Record, What, write_durably};
use super::compare::Offence;
use crate::Error;
use crate::git::Git;
use crate::object::{Files, Id, Kind, Mode, tree_of};
use crate::quote::quote;
use crate::store::{Batch, Store, make_private_folder};
use crate::workspace::patch;

const SECTION: &[u8] = b"diff --git ";
const NOTE: &[u8] = b"# ";
/// Git reads no trees that are nested deeper.
const MAX_DEPTH: usize = 2_000;

/// Writes the patch of all offences, whose contents are in the store. What an earlier run wrote stays in it.
pub(super) fn save(git: &Git, store: &Store, offences: &[Offence], path: &Path) -> Result<(), Error> {
    let mut batch = Batch::new();
    let side = |pick: fn(&Offence) -> Option<&Record>| {
        let files =
            offences.iter().filter_map(|offence| Some((offence.path.clone(), as_file(offence, pick(offence)?)?)));
        files.filter(|(path, _)| !is_too_deep(path)).collect::<Files>()
    };
    let mut tree = |files: Files| tree_of(&files, &mut |id, content| batch.add(store, Kind::Tree, id, content));
    let before = tree(without_conflicts(side(|offence| offence.before.as_ref())))?;
    let now = tree(without_conflicts(side(|offence| offence.now.as_ref())))?;
    batch.finish(store)?;
    let mut sections = split(&notes(offences, store));
    sections.extend(split(&patch(git, store, &before, &now)?));
    add(sections, path)
}

/// Adds a patch that git made to what is kept already.
pub(crate) fn keep(patch: &[u8], path: &Path) -> Result<(), Error> {
    add(split(patch), path)
}

fn add(sections: Vec<Vec<u8>>, path: &Path) -> Result<(), Error> {
    let mut content = match fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    // An agent can make any number of files, so that none is searched for in all that is kept.
    let mut known: HashSet<Vec<u8>> = split(&content).into_iter().collect();
    for section in sections {
        if !known.contains(&section) {
            content.extend_from_slice(&section);
            known.insert(section);
        }
    }
    if let Some(folder) = path.parent() {
        make_private_folder(folder)?;
    }
    write_durably(path, &content)
}

/// How a path stands in the patch. A link whose target is the same stands for the file behind it.
fn as_file(offence: &Offence, record: &Record) -> Option<(Mode, Id)> {
    match &record.what {
        What::File(content) => content.id.map(|id| (Mode::of_permissions(content.mode), id)),
        What::Link { target, behind, .. } => {
            let same_link = |other: &Option<Record>| matches!(other, Some(Record { what: What::Link { target: other, .. }, .. }) if other == target);
            if same_link(&offence.before) && same_link(&offence.now) {
                let content = behind.as_ref()?.content;
                content.id.map(|id| (Mode::of_permissions(content.mode), id))
            } else {
                Some((Mode::Link, Id::of(Kind::Blob, &target.0)))
            }
        }
        What::Folder { .. } | What::Special => None,
    }
}

/// A tree cannot hold a file and something below it; the file, being nearer to the root, explains the rest.
fn without_conflicts(files: Files) -> Files {
    let under_file =
        |path: &[u8]| path.iter().enumerate().any(|(at, byte)| *byte == b'/' && files.contains_key(&path[..at]));
    files.iter().filter(|(path, _)| !under_file(path)).map(|(path, file)| (path.clone(), *file)).collect()
}

fn is_too_deep(path: &[u8]) -> bool {
    path.iter().filter(|byte| **byte == b'/').count() > MAX_DEPTH
}

/// What a patch cannot say, as lines that `git apply` skips.
fn notes(offences: &[Offence], store: &Store) -> Vec<u8> {
    let mode = |record: &Option<Record>| match record.as_ref().map(|record| &record.what) {
        Some(What::File(content)) => Some(content.mode),
        Some(What::Link { behind: Some(behind), .. }) => Some(behind.content.mode),
        Some(What::Folder { mode }) => Some(*mode),
        Some(What::Link { behind: None, .. } | What::Special) | None => None,
    };
    let mut lines = String::new();
    for offence in offences {
        if let (Some(before), Some(now)) = (mode(&offence.before), mode(&offence.now))
            && before != now
        {
            lines.push_str(&format!("# permissions of {}: {before:04o} became {now:04o}\n", quote(&offence.path)));
        }
        let kept = offence.now.as_ref().filter(|_| is_too_deep(&offence.path));
        if let Some((_, id)) = kept.and_then(|record| as_file(offence, record)) {
            let (path, store) = (quote(&offence.path), store.dir().display());
            lines.push_str(&format!(
                "# nested too deeply for git: {path}; its content: git --git-dir='{store}' cat-file blob {}\n",
                id.hex()
            ));
        }
        if matches!(&offence.now, Some(Record { what: What::Special, .. })) {
            lines.push_str(&format!("# a pipe, a socket or a device at {}\n", quote(&offence.path)));
        }
    }
    if offences.iter().any(|offence| offence.path.split(|byte| *byte == b'/').any(|name| name == b".git")) {
        lines.push_str("# contains files inside a .git, which git applies only with --unsafe-paths\n");
    }
    lines.into_bytes()
}

/// The parts of a patch, one for each file and one for each note. Content never starts a line with these words: it is indented
/// or encoded.
fn split(patch: &[u8]) -> Vec<Vec<u8>> {
    let mut sections: Vec<Vec<u8>> = Vec::new();
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(SECTION) || line.starts_with(NOTE) || sections.is_empty() {
            sections.push(Vec::new());
        }
        if let Some(section) = sections.last_mut() {
            section.extend_from_slice(line);
        }
    }
    sections
}
