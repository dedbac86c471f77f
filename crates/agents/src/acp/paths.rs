//! Which files a tool call names, as far as its own words tell. Touches no file.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::text::list;

/// How deep the input of a call is searched, and how many values of it: no tool nests its paths further.
const MAX_DEPTH: usize = 8;
const MAX_VALUES: usize = 10_000;
/// The longest path that Linux takes.
const MAX_PATH: usize = 4096;

/// What the names of fields end with whose values are paths, in lower case and without separators.
const ENDS: [&str; 12] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "uri",
    "uris",
    "url",
    "target",
    "destination",
    "directory",
];

/// Calls `found` for each path that a tool call names: its locations, its diffs, and the fields of its input that are named
/// like paths. Each comes as it was written, and once more without `.` and `..` where that differs.
pub(super) fn of_call(call: &Value, found: &mut dyn FnMut(&Path)) {
    let places = list(&call["locations"]).iter().chain(list(&call["content"]));
    for path in places.filter_map(|place| place.get("path").and_then(Value::as_str)) {
        one(path, found);
    }
    let mut left = MAX_VALUES;
    if let Some(input) = call.get("rawInput") {
        search(input, None, MAX_DEPTH, &mut left, found);
    }
}

/// `field` is the name of the nearest field around the value.
fn search(value: &Value, field: Option<&str>, depth: usize, left: &mut usize, found: &mut dyn FnMut(&Path)) {
    if depth == 0 || *left == 0 {
        return;
    }
    *left -= 1;
    match value {
        Value::String(text) if field.is_some_and(is_path_field) => one(text, found),
        Value::Array(values) => values.iter().for_each(|value| search(value, field, depth - 1, left, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                // A map from paths to changes is the input of some patch tools.
                if value.is_object() && name.contains(['/', '.']) {
                    one(name, found);
                }
                search(value, Some(name), depth - 1, left, found);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_path_field(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    ENDS.iter().any(|end| plain.ends_with(end))
}

fn one(text: &str, found: &mut dyn FnMut(&Path)) {
    let text = text.strip_prefix("file://").unwrap_or(text);
    if text.is_empty() || text.len() > MAX_PATH || text.contains(['\0', '\n']) {
        return;
    }
    let path = Path::new(text);
    found(path);
    let plain = without_dots(path);
    if plain != path {
        found(&plain);
    }
}

/// The path with `.` and `..` resolved by their words alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            Component::ParentDir if plain.has_root() => {}
            Component::ParentDir | Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
