//! The project's own instructions (`AGENTS.md`), as Codex would read them. It reads none in a workspace that it may not trust.

use std::path::Path;

use crate::files::{Links, read_plain, within};

/// The names of such a file, the first that exists counts.
const NAMES: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];
/// Bytes in all, as Codex has it.
const MAX: usize = 32 * 1024;
/// Folders above the workspace that are looked into.
const MAX_FOLDERS: usize = 32;

/// The instructions from the root of the repository down to the workspace, if there are any.
pub(crate) fn of(directory: &Path) -> Option<String> {
    let directory = directory.canonicalize().ok()?;
    let above: Vec<&Path> = directory.ancestors().take(MAX_FOLDERS).collect();
    let root = above.iter().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    let top = *above.get(root)?;
    let mut text = String::new();
    for folder in above.iter().take(root + 1).rev() {
        let part = NAMES.iter().filter_map(|name| within(top, &folder.join(name))).find_map(|path| read(&path));
        if let Some(part) = part {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(part.trim_end());
        }
    }
    truncate(&mut text, MAX);
    let has_words = !text.trim().is_empty();
    has_words
        .then(|| format!("# AGENTS.md instructions for {}\n\n<INSTRUCTIONS>\n{text}\n</INSTRUCTIONS>", top.display()))
}

fn read(path: &Path) -> Option<String> {
    read_plain(path, Links::Refuse, MAX as u64).ok().filter(|text| !text.trim().is_empty())
}

fn truncate(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
    }
}

#[cfg(test)]
#[path = "instructions_tests.rs"]
mod tests;
