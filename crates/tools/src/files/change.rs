//! `fs_writeFile`, `fs_edit`, `fs_mkdir`, `fs_move` and `fs_delete`.

use std::ops::ControlFlow;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, RenameFlags, renameat_with, unlinkat};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::Deserialize;

use super::count;
use super::root::{Access, Root, Target};
use super::walk::{Entry, Ignored, walk};
use crate::Effect::Writes;
use crate::Outcome;
use crate::registry::{Answer, Context, Registry};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Write {
    /// Relative to the workspace. Missing folders are made.
    path: String,
    /// The whole content.
    content: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// Relative to the workspace.
    path: String,
    /// The exact text to replace, which has to occur once.
    old: String,
    /// The text instead.
    new: String,
    /// Replaces every occurrence.
    all: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Move {
    /// Relative to the workspace.
    from: String,
    /// The new path; nothing may be there.
    to: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct One {
    /// Relative to the workspace.
    path: String,
}

pub(super) fn register(registry: &mut Registry, root: &Arc<Root>) {
    registry.add_blocking(
        root,
        "fs_writeFile",
        Writes,
        "Writes a file: makes it, or replaces its whole content.",
        write,
    );
    registry.add_blocking(root, "fs_edit", Writes, "Replaces an exact piece of text in a file.", edit);
    registry.add_blocking(root, "fs_mkdir", Writes, "Makes a folder, with those above it.", make_folder);
    registry.add_blocking(root, "fs_move", Writes, "Moves or renames a file or folder. Replaces nothing.", rename);
    registry.add_blocking(root, "fs_delete", Writes, "Deletes a file, a link or an empty folder.", delete);
}

fn write(root: &Root, Write { path, content }: Write, _: &Context) -> Answer {
    let target = root.target(&path)?;
    target.write(content.as_bytes())?;
    let done = if target.stat.is_some() { "replaced" } else { "created" };
    Ok(Outcome::noted(format!("{done} {} ({})", target.path.display(), count(content.lines().count(), "line"))))
}

fn edit(root: &Root, Edit { path, old, new, all }: Edit, _: &Context) -> Answer {
    if old.is_empty() {
        return Err("old is empty: write the whole file with fs_writeFile".to_owned());
    }
    if old == new {
        return Err("old and new are the same".to_owned());
    }
    let text = root.find(&path, Access::Write)?.text()?;
    let times = match (text.matches(old.as_str()).count(), all.unwrap_or_default()) {
        (0, _) => return Err(format!("{path} does not contain that text: read the file and copy it exactly")),
        (times @ 2.., false) => {
            return Err(format!("{path} contains that text {times} times: add lines around it, or set all"));
        }
        (times, _) => times,
    };
    let target = root.target(&path)?;
    target.write(text.replace(old.as_str(), &new).as_bytes())?;
    Ok(Outcome::noted(format!("edited {} ({})", target.path.display(), count(times, "replacement"))))
}

fn make_folder(root: &Root, One { path }: One, _: &Context) -> Answer {
    Ok(Outcome::noted(format!("made the folder {}", root.folder(&path)?.display())))
}

fn rename(root: &Root, Move { from, to }: Move, _: &Context) -> Answer {
    let source = root.entry(&from)?;
    let target = root.target(&to)?;
    if target.stat.is_some() {
        return Err(format!("{to} exists: delete it first, or choose another name"));
    }
    if is_folder(&source) {
        // What may not be changed may not be moved away or arrive with its folder either.
        let mut refused = None;
        walk(&source.folder, source.name.as_ref(), Ignored::Visit, &mut |entry: Entry<'_>| {
            let places = [source.path.join(entry.path), target.path.join(entry.path)];
            let error = places.iter().find_map(|place| Some((root.judge(place, Access::Write).err()?, place)));
            match error {
                None => ControlFlow::Continue(()),
                Some((error, place)) => {
                    refused = Some(error.text(&place.display().to_string()));
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(refused) = refused {
            return Err(refused);
        }
    }
    let moved = renameat_with(&source.folder, &source.name, &target.folder, &target.name, RenameFlags::NOREPLACE);
    moved.map_err(|errno| format!("could not move {from} to {to}: {}", std::io::Error::from(errno)))?;
    Ok(Outcome::noted(format!("moved {} to {}", source.path.display(), target.path.display())))
}

fn delete(root: &Root, One { path }: One, _: &Context) -> Answer {
    let target = root.entry(&path)?;
    let flags = if is_folder(&target) { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    match unlinkat(&target.folder, &target.name, flags) {
        Ok(()) => Ok(Outcome::noted(format!("deleted {}", target.path.display()))),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Err(format!("{path} is not empty: delete what is in it first")),
        Err(errno) => Err(format!("could not delete {path}: {}", std::io::Error::from(errno))),
    }
}

fn is_folder(target: &Target) -> bool {
    target.stat.as_ref().is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}
