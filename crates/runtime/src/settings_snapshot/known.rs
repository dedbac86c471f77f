//! What programs write among their settings in an ordinary run, and what of it says how they work. Plain facts.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

/// The file in which Claude Code keeps its state: a few keys of it steer, the rest is its login and changes in every run.
const STATE: &str = ".claude.json";

/// Keys that steer, at the top and in what is kept for a project.
const AT_THE_TOP: [&str; 9] = [
    "mcpServers",
    "hooks",
    "env",
    "apiKeyHelper",
    "statusLine",
    "permissions",
    "allowedTools",
    "enabledPlugins",
    "bypassPermissionsModeAccepted",
];
const PROJECTS: &str = "projects";
const IN_A_PROJECT: [&str; 11] = [
    "mcpServers",
    "hooks",
    "env",
    "permissions",
    "allowedTools",
    "mcpContextUris",
    "enabledMcpjsonServers",
    "disabledMcpjsonServers",
    "enableAllProjectMcpServers",
    "hasTrustDialogAccepted",
    "hasClaudeMdExternalIncludesApproved",
];

/// What a program makes by itself, from what is in it or from its service, whenever it finds something else: the name of a root,
/// and what is below. It is put back without a word.
const MADE_ANEW: [(&str, &str); 4] = [
    ("skills", ".system"),
    ("plugins", "store"),
    ("plugins", "install-counts-cache.json"),
    ("remote-settings.json", ""),
];

/// Settings into which OpenCode writes the address of their schema, or which it makes with nothing else in them.
const WITH_SCHEMA: [&str; 3] = ["opencode.json", "opencode.jsonc", "config.json"];
const SCHEMA: &str = "$schema";

/// The steering values of a file, by where they are.
pub(super) type Parts = BTreeMap<Vec<String>, Value>;

/// Whether only parts of a file say how a program works.
pub(super) fn is_state(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == STATE)
}

/// Whether a program makes this by itself.
pub(super) fn is_made_anew(root: &Path, relative: &Path) -> bool {
    MADE_ANEW.iter().any(|(folder, below)| root.ends_with(folder) && relative.starts_with(below))
}

/// Whether a program made this of its settings by itself, and they mean what they did. Nothing means what is not there.
pub(super) fn means_the_same(path: &Path, was: &[u8], is: &[u8]) -> bool {
    let is_known = path.file_name().is_some_and(|name| WITH_SCHEMA.iter().any(|known| name == *known));
    is_known && (without_schema(was).is_some_and(|was| Some(was) == without_schema(is)) || is_schema_added(was, is))
}

fn without_schema(text: &[u8]) -> Option<Map<String, Value>> {
    let mut settings = state(if text.is_empty() { b"{}" } else { text })?;
    settings.remove(SCHEMA);
    Some(settings)
}

/// Settings with comments are no JSON: there it is one piece of text more, at the very beginning.
fn is_schema_added(was: &[u8], is: &[u8]) -> bool {
    let added = |was: &str, is: &str| {
        let (before, rest) = is.split_once("\"$schema\"")?;
        let (address, rest) = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?.split_once('"')?;
        let after = rest.trim_start().trim_start_matches(',').trim_start();
        let is_plain = before.trim() == "{" && !address.contains('\\');
        Some(is_plain && was.trim_start().strip_prefix('{')?.trim_start() == after)
    };
    let texts = (str::from_utf8(was), str::from_utf8(is));
    matches!(texts, (Ok(was), Ok(is)) if added(was, is) == Some(true))
}

/// The parts of a state that steer. None of what is no state.
pub(super) fn parts(text: &[u8]) -> Option<Parts> {
    Some(parts_of(&state(text)?))
}

/// Programs pass over a mark at the beginning.
fn state(text: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)).ok()
}

fn parts_of(state: &Map<String, Value>) -> Parts {
    let mut parts = Parts::new();
    let mut pick = |map: &Map<String, Value>, keys: &[&str], place: &[&str]| {
        for key in keys {
            // Programs write what is empty as they please.
            if let Some(value) = map.get(*key).filter(|value| !is_nothing(value)) {
                parts.insert(place.iter().chain([key]).map(|&word| word.to_owned()).collect(), value.clone());
            }
        }
    };
    pick(state, &AT_THE_TOP, &[]);
    for (name, project) in state.get(PROJECTS).and_then(Value::as_object).into_iter().flatten() {
        if let Some(project) = project.as_object() {
            pick(project, &IN_A_PROJECT, &[PROJECTS, name]);
        }
    }
    parts
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(values) => values.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// The state with these steering parts instead of its own, and everything else as it is.
pub(super) fn with_parts(text: &[u8], was: &Parts) -> Option<Vec<u8>> {
    let mut state = state(text)?;
    let is = parts_of(&state);
    for place in is.keys().filter(|place| !was.contains_key(*place)) {
        change(&mut state, place, None);
    }
    for (place, value) in was.iter().filter(|(place, value)| is.get(*place) != Some(value)) {
        change(&mut state, place, Some(value));
    }
    serde_json::to_vec_pretty(&state).ok()
}

fn change(state: &mut Map<String, Value>, place: &[String], value: Option<&Value>) {
    let Some((key, folders)) = place.split_last() else { return };
    let mut map = state;
    for folder in folders {
        let entry = map.entry(folder.clone()).or_insert_with(|| Map::new().into());
        if !entry.is_object() {
            *entry = Map::new().into();
        }
        let Some(below) = entry.as_object_mut() else { return };
        map = below;
    }
    match value {
        Some(value) => map.insert(key.clone(), value.clone()),
        None => map.remove(key),
    };
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
