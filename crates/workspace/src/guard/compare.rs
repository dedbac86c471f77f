//! What differs between the baseline and now. Looks at records only.

use ralph_model::{ChangeKind, Violation};

use super::baseline::{Baseline, Behind, Content, Record, What};
use super::walk::Found;
use crate::quote::quote;

#[derive(Debug, Clone)]
pub(super) struct Offence {
    pub(super) path: Vec<u8>,
    pub(super) kind: ChangeKind,
    pub(super) before: Option<Record>,
    pub(super) now: Option<Record>,
}

impl Offence {
    pub(super) fn into_violation(self) -> Violation {
        let record = self.before.or(self.now);
        let glob = record.map(|record| record.glob.to_string()).unwrap_or_default();
        Violation { path: quote(&self.path), glob, kind: self.kind, commit: None }
    }
}

/// Every offence, sorted by path.
pub(super) fn compare(baseline: &Baseline, now: &Found) -> Vec<Offence> {
    let mut paths: Vec<&Vec<u8>> = baseline.records.keys().chain(now.records.keys()).collect();
    paths.sort();
    paths.dedup();
    let mut hidden = now.closed.clone();
    // A link to a folder that is gone hides what was behind it: that is not deleted, it cannot be seen.
    for (path, record) in &baseline.records {
        let same = now.records.get(path).is_some_and(|found| found.what == record.what);
        if matches!(record.what, What::Link { .. }) && !same {
            hidden.push(path.clone());
        }
    }
    let mut offences = Vec::new();
    for path in paths {
        let (before, found) = (baseline.records.get(path), now.records.get(path));
        if found.is_none() && hidden.iter().any(|folder| is_below(path, folder)) {
            continue;
        }
        if let Some(kind) = difference(before, found) {
            let before = before.filter(|record| record.what != What::Special).cloned();
            offences.push(Offence { path: path.clone(), kind, before, now: found.cloned() });
        }
    }
    offences
}

pub(super) fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}

pub(super) fn difference(before: Option<&Record>, now: Option<&Record>) -> Option<ChangeKind> {
    // A pipe or a socket of the start may go, and is nothing to anything that takes its place.
    let is_special = |record: &&Record| record.what == What::Special;
    match (before.filter(|record| !is_special(record)), now) {
        (None, Some(now)) if is_special(&now) && before.is_some() => None,
        (None, None) => None,
        // Folders come and go with their files.
        (None, Some(Record { what: What::Folder { .. }, .. }))
        | (Some(Record { what: What::Folder { .. }, .. }), None) => None,
        (None, Some(_)) => Some(ChangeKind::Added),
        (Some(_), None) => Some(ChangeKind::Deleted),
        (Some(before), Some(now)) if before.through != now.through => Some(ChangeKind::Modified),
        (Some(before), Some(now)) => match (&before.what, &now.what) {
            (What::File(before), What::File(now)) => contents(before, now),
            (What::Folder { mode: before }, What::Folder { mode: now }) => (before != now).then_some(ChangeKind::Mode),
            (
                What::Link { target: before, behind: old, folder: led },
                What::Link { target: now, behind: new, folder: leads },
            ) => {
                if before == now && led == leads {
                    behind(old.as_ref(), new.as_ref())
                } else {
                    Some(ChangeKind::Modified)
                }
            }
            (What::Folder { .. }, What::File(_) | What::Link { .. } | What::Special) => Some(ChangeKind::Added),
            (What::File(_), What::Link { .. } | What::Folder { .. } | What::Special)
            | (What::Link { .. }, What::File(_) | What::Folder { .. } | What::Special)
            | (What::Special, _) => Some(ChangeKind::Modified),
        },
    }
}

fn behind(before: Option<&Behind>, now: Option<&Behind>) -> Option<ChangeKind> {
    match (before, now) {
        (None, None) => None,
        (Some(before), Some(now)) if before.real == now.real => contents(&before.content, &now.content),
        _ => Some(ChangeKind::Modified),
    }
}

fn contents(before: &Content, now: &Content) -> Option<ChangeKind> {
    match (before.id, now.id) {
        (Some(before), Some(now)) if before != now => Some(ChangeKind::Modified),
        _ if before.mode != now.mode => Some(ChangeKind::Mode),
        // Readable then and not now, with the same permissions: something else keeps the content from view.
        (Some(_), None) => Some(ChangeKind::Modified),
        _ => None,
    }
}
