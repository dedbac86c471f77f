//! Swapping in: look, save, then change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::crash_point;
use super::plan::{Ancestor, Contents, Item, Placed, Plan, Record, Saved};
use super::state::{Looker, State, look, modified};
use crate::content::MAX_FILE;
use crate::guard::Bytes;
use crate::object::{Id, Kind};
use crate::place::{Permissions, Place};
use crate::placement::path_of;
use crate::quote::quote;
use crate::stamp::Instant;
use crate::stop::Poll;
use crate::store::make_private_folder;
use crate::{Error, Placement};

type Wanted<'a> = BTreeMap<Vec<u8>, &'a Placement>;

pub(super) fn swap_in(place: &Place, entries: &[(String, Placement)], record: &Path, poll: &Poll) -> Result<(), Error> {
    let wanted = wanted(entries)?;
    let record = Record::at(record);
    if record.plan()?.is_some() {
        return Err(Error::Swapped { record: record.dir().to_owned() });
    }
    if wanted.is_empty() {
        return Ok(());
    }
    crash_point()?;
    let plan = prepare(place, &wanted, &record, poll)?;
    crash_point()?;
    for item in &plan.items {
        poll.check()?;
        enter(place, &record, &plan, item, wanted.get(&item.path.0).copied())?;
        crash_point()?;
    }
    // A folder that is empty now would still be found by a name; it comes back with what was in it.
    let known: BTreeSet<&[u8]> = plan.folders.iter().map(|folder| &folder.path.0[..]).collect();
    for item in plan.items.iter().filter(|item| item.placed == Placed::Absent && item.saved != Saved::Absent) {
        place.prune(&item.path.0, |folder| known.contains(folder))?;
        crash_point()?;
    }
    Ok(())
}

/// The entries by path, without those that others imply.
fn wanted(entries: &[(String, Placement)]) -> Result<Wanted<'_>, Error> {
    let mut wanted = Wanted::new();
    for (path, placement) in entries {
        wanted.insert(path_of(path)?, placement);
    }
    let paths: Vec<Vec<u8>> = wanted.keys().cloned().collect();
    for path in &paths {
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let Some(above) = wanted.get(&path[..at]).copied() else { continue };
            match (above, wanted.get(path).copied()) {
                (_, None) => {}
                // Nothing can be below a file or below nothing.
                (_, Some(Placement::Absent)) => drop(wanted.remove(path)),
                // To make room for what is below is to remove what is there.
                (Placement::Absent, Some(_)) => drop(wanted.remove(&path[..at])),
                (Placement::File { .. } | Placement::Link { .. }, Some(_)) => {
                    return Err(Error::Placement {
                        path: quote(path),
                        why: "a file is requested where a folder is needed",
                    });
                }
            }
        }
    }
    Ok(wanted)
}

/// Saves everything and writes the plan.
fn prepare(place: &Place, wanted: &Wanted<'_>, record: &Record, poll: &Poll) -> Result<Plan, Error> {
    let mut plan = Plan::new(format!("{}-{}", std::process::id(), Instant::now().nanoseconds()));
    let mut opened: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    while let Some((path, mode)) = closed(place, wanted, poll)? {
        if opened.insert(path.clone(), mode).is_some() {
            return Err(Error::Placement { path: quote(&path), why: "its folder cannot be opened" });
        }
        // Its permissions are on the disk before they are changed.
        plan.folders.push(Ancestor { path: Bytes(path.clone()), mode });
        record.write(&plan)?;
        crash_point()?;
        place.open_up(&path)?;
        crash_point()?;
    }
    let mut folders: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    let mut made = BTreeSet::new();
    let mut items: BTreeMap<Vec<u8>, Item> = BTreeMap::new();
    let mut contents = record.contents()?;
    crash_point()?;
    let mut looker = Looker::new(place)?;
    for (path, placement) in wanted {
        poll.check()?;
        let mut state = looker.look(path)?;
        for step in looker.steps.iter().rev() {
            // A list that names a folder names those above it.
            if folders.insert(path[..step.length].to_vec(), step.mode).is_some() {
                break;
            }
        }
        let there = looker.steps.last().map_or(0, |step| step.length);
        if **placement != Placement::Absent {
            if let State::Blocked(length) = state {
                let (mut obstacle, _) = look(place, &path[..length])?;
                let saved = save(place, &path[..length], &mut obstacle, None, &mut contents, &mut folders, poll)?;
                let item = Item { path: Bytes(path[..length].to_vec()), saved, placed: Placed::Folder };
                items.entry(path[..length].to_vec()).or_insert(item);
            }
            let missing = path.iter().enumerate().skip(there + 1).filter(|(_, byte)| **byte == b'/');
            made.extend(missing.map(|(at, _)| path[..at].to_vec()));
        }
        let saved = save(place, path, &mut state, Some(placement), &mut contents, &mut folders, poll)?;
        items.insert(path.clone(), Item { path: Bytes(path.clone()), saved, placed: placed(placement) });
    }
    contents.finish()?;
    crash_point()?;
    // What was opened is listed with the permissions that it had before.
    folders.extend(opened);
    made.retain(|folder| !items.contains_key(folder));
    plan.folders = folders.into_iter().map(|(path, mode)| Ancestor { path: Bytes(path), mode }).collect();
    plan.made = made.into_iter().map(Bytes).collect();
    plan.items = items.into_values().collect();
    record.write(&plan)?;
    Ok(plan)
}

/// A folder on the way that is closed, if there is one.
fn closed(place: &Place, wanted: &Wanted<'_>, poll: &Poll) -> Result<Option<(Vec<u8>, u32)>, Error> {
    let mut looker = Looker::new(place)?;
    for path in wanted.keys() {
        poll.check()?;
        if let State::Closed(length, mode) = looker.look(path)? {
            return Ok(Some((path[..length].to_vec(), mode)));
        }
    }
    Ok(None)
}

/// How what is at a path is saved before `placement` takes its place.
fn save(
    place: &Place,
    path: &[u8],
    state: &mut State,
    placement: Option<&Placement>,
    contents: &mut Contents,
    folders: &mut BTreeMap<Vec<u8>, u32>,
    poll: &Poll,
) -> Result<Saved, Error> {
    Ok(match state {
        State::Absent | State::Blocked(_) | State::Closed(..) => Saved::Absent,
        State::Link(target, modified) => Saved::Link { target: target.clone(), modified: *modified },
        // Where nothing takes its place it is moved, which takes no longer for a large file than for a small one.
        State::File(stat, _) if placement == Some(&Placement::Absent) || stat.st_size as u64 > MAX_FILE => Saved::Aside,
        State::File(stat, Some(file)) => {
            let (at, size, id) = contents.add(file, stat.st_size as u64, &place.full(path), poll)?;
            Saved::File { at, size, id, mode: stat.st_mode & 0o7777, modified: modified(stat) }
        }
        State::Folder(mode) => {
            // A folder that is read-only has to be opened to be moved.
            folders.insert(path.to_vec(), *mode);
            Saved::Aside
        }
        State::File(_, None) | State::Special => Saved::Aside,
    })
}

fn placed(placement: &Placement) -> Placed {
    match placement {
        Placement::Absent => Placed::Absent,
        Placement::File { content, mode } => {
            Placed::File { id: Id::of(Kind::Blob, content).hex(), mode: mode & 0o7777 }
        }
        Placement::Link { target } => Placed::Link { target: Bytes(target.clone()) },
    }
}

fn enter(place: &Place, record: &Record, plan: &Plan, item: &Item, placement: Option<&Placement>) -> Result<(), Error> {
    let path = &item.path.0;
    let (mut state, _) = look(place, path)?;
    if state.is_placed(&item.placed).map_err(Error::io("read", place.full(path)))? {
        return Ok(());
    }
    match &item.saved {
        Saved::Aside => {
            if let State::Folder(_) = state {
                place.open_up(path)?;
                crash_point()?;
            }
            move_aside(place, record, plan, path)?;
            crash_point()?;
        }
        Saved::File { .. } | Saved::Link { .. } if matches!(item.placed, Placed::Absent | Placed::Folder) => {
            place.unlink(path)?;
            crash_point()?;
        }
        Saved::Absent | Saved::File { .. } | Saved::Link { .. } => {}
    }
    match placement {
        None => place.make_folder(path),
        Some(Placement::Absent) => Ok(()),
        Some(Placement::File { content, mode }) => place.write_file(path, content, Permissions::Exact(mode & 0o7777)),
        Some(Placement::Link { target }) => place.write_link(path, target),
    }
}

/// The name under which a path is moved aside.
pub(super) fn aside_name(plan: &Plan, path: &[u8]) -> String {
    let number = plan.items.binary_search_by(|item| item.path.0[..].cmp(path)).unwrap_or_default();
    format!("{}-{number}", plan.token)
}

/// Moves something out of the way: into the record where that is on the same file system, else into `.ralph`.
fn move_aside(place: &Place, record: &Record, plan: &Plan, path: &[u8]) -> Result<(), Error> {
    let name = aside_name(plan, path);
    let folder = record.aside();
    make_private_folder(&folder)?;
    let found = fs::metadata(&folder).map_err(Error::io("read", &folder))?;
    if found.dev() == place.identity()?.0 && place.move_out(path, &folder, &name)? {
        return Ok(());
    }
    place.move_to_own(path, &name)
}
