//! Finds code of a repository that OpenCode would run as part of itself. Judges nothing of it and reads none of it.
//!
//! OpenCode has two readers of settings. The switches that keep a project's settings away hold for the older one; the newer one
//! looks for plugins in the folder it works in and in those above it, whatever it is told.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::settings::object;
use crate::files::{Links, MAX_BYTES, read_plain};
use crate::git::{self, Git};

/// Folders of which every file is a plugin or a tool.
const FOLDERS: [&str; 4] = ["plugin", "plugins", "tool", "tools"];
/// Files of settings, which can name plugins.
const FILES: [&str; 2] = ["opencode.json", "opencode.jsonc"];
/// The names under which they do.
const LISTS: [&str; 2] = ["plugin", "plugins"];

/// The first folder or file from which OpenCode would run code, for work in a folder. What lies in the user's home itself is the
/// user's own.
pub(crate) fn foreign(directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    searched(directory).into_iter().filter(|folder| Some(*folder) != home).find_map(in_folder)
}

fn in_folder(folder: &Path) -> Option<PathBuf> {
    let own = folder.join(".opencode");
    let has_any = |folder: &PathBuf| folder.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    let names_any = |file: &PathBuf| {
        // Whatever is no plain file hands nobody a list.
        read_plain(file, Links::Follow, MAX_BYTES).is_ok_and(|text| names_plugins(&text))
    };
    let filled = FOLDERS.iter().map(|name| own.join(name)).find(has_any);
    filled.or_else(|| [folder, &own].into_iter().flat_map(|at| FILES.map(|name| at.join(name))).find(names_any))
}

/// Whether settings name plugins. Those that cannot be read here may be readable there.
fn names_plugins(text: &str) -> bool {
    let is_empty = |list: &Value| match list {
        Value::Array(list) => list.is_empty(),
        Value::Null => true,
        _ => false,
    };
    match object(text) {
        Some(settings) => LISTS.iter().filter_map(|name| settings.get(*name)).any(|list| !is_empty(list)),
        None => text.len() as u64 >= MAX_BYTES || text.contains("plugin") || text.contains("\\u"),
    }
}

/// The folders that OpenCode looks into: up to the root of the repository, and all of them where there is none.
fn searched(directory: &Path) -> Vec<&Path> {
    let mut folders = Vec::new();
    let mut is_broken = false;
    for folder in directory.ancestors() {
        folders.push(folder);
        match git::at(folder) {
            Git::Here(_) if !is_broken => break,
            // git gives up there, and OpenCode takes the whole disk for the project.
            Git::Broken => is_broken = true,
            Git::Here(_) | Git::None => {}
        }
    }
    folders
}

#[cfg(test)]
#[path = "plugins_tests.rs"]
mod tests;
