//! Text to values, with the place of every key. Refuses what it does not know.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::NEVER_IN_A_FILE;
use super::{Error, Key, Layer, Location, Places};

/// A configuration file as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub layer: Layer,
    /// The keys that it sets, in the order of the file.
    pub present: Vec<Present>,
}

/// A key that a file sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Present {
    pub key: Key,
    /// As it is written there, with dots between tables.
    pub name: String,
    pub at: Location,
    value: Range<usize>,
    source: String,
}

impl Present {
    pub fn value(&self) -> serde_json::Value {
        let table = toml::from_str::<serde_json::Value>(&format!("value = {}", self.source));
        table.map_or(serde_json::Value::Null, |mut table| table["value"].take())
    }
}

impl Document {
    /// Where the value of a key is, for messages about it; none when the file does not set it.
    pub fn location(&self, key: Key) -> Option<&Location> {
        self.present.iter().find(|present| present.key == key).map(|present| &present.at)
    }
}

/// Reads the text of the file at `path`; the path is for messages only.
pub fn parse(path: &Path, text: &str) -> Result<Document, Error> {
    // Windows editors put a byte order mark first; TOML does not know it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table = DeTable::parse(text).map_err(|error| Error::Syntax {
        at: Location::new(path, text, error.span().unwrap_or_default()),
        message: error.message().to_owned(),
    })?;
    let mut walk = Walk { path, text, present: Vec::new() };
    walk.table(&[], table.get_ref())?;
    let mut present = walk.present;
    present.sort_by_key(|present| present.value.start);
    let mut layer = Layer::deserialize(toml::Deserializer::from(table)).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let inside = |present: &&Present| present.value.contains(&span.start);
        let found = present.iter().find(inside).or(present.first());
        Error::Value {
            at: Location::new(path, text, span),
            key: found.map_or_else(String::new, |present| present.name.clone()),
            message: plain(error.message()),
            example: found.map_or("", |present| present.key.example()),
        }
    })?;
    layer.places = Places::File(present.iter().map(|present| (present.key, present.at.clone())).collect());
    Ok(Document { layer, present })
}

struct Walk<'a> {
    path: &'a Path,
    text: &'a str,
    present: Vec<Present>,
}

impl Walk<'_> {
    fn table(&mut self, prefix: &[&str], table: &DeTable<'_>) -> Result<(), Error> {
        for (name, value) in table.iter() {
            let at = Location::new(self.path, self.text, name.span());
            let path: Vec<&str> = prefix.iter().copied().chain([name.get_ref().as_ref()]).collect();
            self.entry(&path, at, value)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &[&str], at: Location, value: &Spanned<DeValue<'_>>) -> Result<(), Error> {
        let full = path.join(".");
        let is_named = |key: &Key| matches(*key, path) == Match::Whole || key.alias().as_deref() == Some(full.as_str());
        if let Some(key) = Key::ALL.iter().copied().find(is_named) {
            let at = Location::new(self.path, self.text, value.span());
            let source = self.text.get(value.span()).unwrap_or_default().to_owned();
            self.present.push(Present { key, name: full, at, value: value.span(), source });
            return Ok(());
        }
        let Some(parent) = Key::ALL.iter().copied().find(|key| matches(*key, path) == Match::Start) else {
            return Err(unknown(path, full, at));
        };
        if parent.segments().nth(path.len() - 1) == Some("*") && !is_name(parent, path[path.len() - 1]) {
            let name = path[path.len() - 1].to_owned();
            return Err(Error::AgentName { at, name });
        }
        match value.get_ref() {
            // It would do nothing, which is not what its author meant.
            DeValue::Table(inner) if inner.is_empty() => Err(Error::Value {
                at,
                key: full,
                message: "the table is empty: set a key in it or remove it".to_owned(),
                example: parent.example(),
            }),
            DeValue::Table(inner) => self.table(path, inner),
            _ => Err(Error::Value { at, key: full, message: "must be a table".to_owned(), example: parent.example() }),
        }
    }
}

/// What the deserializer says, without names of Rust's types.
fn plain(message: &str) -> String {
    let expected = |text: &str| {
        text.replace("u32", "a whole number").replace("u64", "a whole number").replace("a boolean", "true or false")
    };
    match message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected ")) {
        Some((found, kind)) => format!("expected {}, found {found}", expected(kind)),
        None => message.replace("unknown variant", "unknown value"),
    }
}

fn unknown(path: &[&str], key: String, at: Location) -> Error {
    if let Some((_, why)) = NEVER_IN_A_FILE.iter().find(|(name, _)| *name == key) {
        return Error::NeverInAFile { at, key, why };
    }
    let (typed, prefix) = path.split_last().map_or(("", path), |(last, prefix)| (*last, prefix));
    let nearest = Key::nearest(prefix, typed);
    let nearest = prefix.iter().copied().chain([nearest]).collect::<Vec<_>>().join(".");
    Error::UnknownKey { at, key, nearest }
}

#[derive(PartialEq, Eq)]
enum Match {
    /// The path names this key.
    Whole,
    /// The path names a table that this key is in.
    Start,
    /// Neither.
    No,
}

fn matches(key: Key, path: &[&str]) -> Match {
    let mut segments = key.segments();
    if !path.iter().all(|part| segments.next().is_some_and(|segment| segment == "*" || segment == *part)) {
        return Match::No;
    }
    if segments.next().is_none() { Match::Whole } else { Match::Start }
}

/// Whether a name that the user chooses may stand there: of an agent, or of a model as services write it.
fn is_name(key: Key, name: &str) -> bool {
    let signs = if key.name().starts_with("prices.") { "-_./:@[]" } else { "-_." };
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || signs.contains(c))
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
