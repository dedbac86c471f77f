//! `fs_listFiles` and `fs_readFile`.

use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, OFlags, statat};
use schemars::JsonSchema;
use serde::Deserialize;

use super::count;
use super::root::{Access, Root};
use crate::Effect::Reads;
use crate::registry::{Answer, Context, Registry};
use crate::{MAX_TEXT, Outcome};

/// The most entries of a folder that are listed.
const MAX_ENTRIES: usize = 1000;
/// What is left of [`MAX_TEXT`] for a note at the end.
const ROOM: usize = MAX_TEXT - 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// A folder, relative to the workspace; the workspace itself without one.
    path: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Read {
    /// Relative to the workspace.
    path: String,
    /// The first line, from 1.
    offset: Option<u32>,
    /// How many lines.
    limit: Option<u32>,
}

pub(super) fn register(registry: &mut Registry, root: &Arc<Root>) {
    let description = "Lists one folder: names, sizes in bytes; folders end with a slash.";
    registry.add_blocking(root, "fs_listFiles", Reads, description, list);
    registry.add_blocking(root, "fs_readFile", Reads, "Reads a text file, or some of its lines.", read);
}

fn list(root: &Root, List { path }: List, _: &Context) -> Answer {
    let path = path.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned());
    let found = root.find(&path, Access::Read)?;
    let failed = |error: rustix::io::Errno| format!("could not list {path}: {}", std::io::Error::from(error));
    let fd = found.open(OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC).map_err(failed)?;
    let mut lines = Vec::new();
    for entry in Dir::read_from(&fd).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy();
        if matches!(&*name, "." | ".." | ".git" | ".ralph") {
            continue;
        }
        let Ok(stat) = statat(&fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
        lines.push(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => format!("{name}/"),
            FileType::RegularFile => format!("{name} ({} bytes)", stat.st_size),
            FileType::Symlink => format!("{name} (link)"),
            _ => format!("{name} (not an ordinary file)"),
        });
    }
    lines.sort();
    let all = lines.len();
    lines.truncate(MAX_ENTRIES);
    if all > MAX_ENTRIES {
        lines.push(format!("[{} more; at most {MAX_ENTRIES} are listed]", all - MAX_ENTRIES));
    }
    let summary = format!("listed {}: {}", path, count(all, "entry").replace("entrys", "entries"));
    let text = if lines.is_empty() { "the folder is empty".to_owned() } else { lines.join("\n") };
    Ok(Outcome::done(summary, text))
}

fn read(root: &Root, Read { path, offset, limit }: Read, _: &Context) -> Answer {
    let found = root.find(&path, Access::Read)?;
    let text = found.text()?;
    let all = text.lines().count();
    let first = offset.unwrap_or(1).max(1) as usize;
    let most = limit.map_or(usize::MAX, |limit| limit as usize);
    if first > all && all > 0 {
        return Err(format!("{path} has {}: offset {first} is after its end", count(all, "line")));
    }
    let mut shown = String::new();
    let mut lines = 0;
    let mut is_cut = false;
    for line in text.split_inclusive('\n').skip(first - 1).take(most) {
        if shown.len() + line.len() > ROOM {
            // A single line can be longer than everything that is shown.
            if lines == 0 {
                shown.push_str(&line[..line.floor_char_boundary(ROOM)]);
                lines = 1;
                is_cut = true;
            }
            break;
        }
        shown.push_str(line);
        lines += 1;
    }
    let last = first - 1 + lines;
    let summary = if lines == all {
        format!("read {} ({})", found.path.display(), count(all, "line"))
    } else {
        format!("read lines {first} to {last} of {all} of {}", found.path.display())
    };
    if is_cut {
        shown.push_str(&format!("\n[line {last} is longer than the {ROOM} bytes that are shown]"));
    }
    if last < all {
        let shown_end = shown.trim_end_matches('\n').len();
        shown.truncate(shown_end);
        shown.push_str(&format!("\n[lines {first} to {last} of {all}; continue with offset {}]", last + 1));
    }
    Ok(Outcome::done(summary, if all == 0 { "the file is empty".to_owned() } else { shown }))
}
