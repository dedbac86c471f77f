//! What is written into one file, as a text that goes in and one that comes out. Reads and writes no file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

/// How a file has what belongs into it. Records keep it, so that a later version can remove what an earlier one added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(crate) enum Content {
    File {
        text: String,
    },
    /// Values in JSON, which may have comments.
    Json {
        edits: Vec<JsonEdit>,
    },
    /// A table at the end of TOML.
    Toml {
        name: String,
        table: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(crate) enum JsonEdit {
    Member { path: Vec<String>, value: Value },
    Element { path: Vec<String>, value: Value },
}

/// Why a text cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    Broken(String),
    Taken(String),
    /// What is there is not what was written.
    Altered(String),
}

impl Content {
    /// The text with it. `former` is what an earlier version wrote.
    pub(crate) fn added(&self, text: Option<&str>, former: Option<&Self>) -> Result<String, Refusal> {
        let without = match former {
            Some(former) if former != self => former.removed(text.unwrap_or_default(), None)?,
            Some(_) | None => text.map(ToOwned::to_owned),
        };
        let is_ours = former.is_some();
        match self {
            Self::File { text: wanted } => match without {
                Some(there) if there != *wanted && !is_ours => Err(Refusal::Taken("another command /ralph".to_owned())),
                Some(_) | None => Ok(wanted.clone()),
            },
            Self::Json { edits } => json::add(without.as_deref().unwrap_or_default(), edits),
            Self::Toml { name, table } => add_table(without.as_deref().unwrap_or_default(), name, table),
        }
    }

    /// The text without it; none where nothing is left that anybody wrote. `before` is the text that it was added to.
    pub(crate) fn removed(&self, text: &str, before: Option<&str>) -> Result<Option<String>, Refusal> {
        match self {
            Self::File { text: wanted } if text == wanted => Ok(before.map(ToOwned::to_owned)),
            Self::File { .. } => Err(Refusal::Altered("the command /ralph".to_owned())),
            Self::Json { edits } => json::remove(text, edits, before).map(Some),
            Self::Toml { name, table } => remove_table(text, name, table).map(Some),
        }
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.added(Some(text), None).is_ok_and(|after| after == text)
    }
}

pub(crate) fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn parse(text: &str) -> Result<toml::Table, Refusal> {
    text.strip_prefix('\u{feff}').unwrap_or(text).parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Refusal::Broken(format!("is not valid TOML: line {line}: {}", error.message()))
    })
}

/// The value at a dotted name.
fn value<'a>(document: &'a toml::Table, name: &str) -> Option<&'a toml::Value> {
    let (table, key) = name.split_once('.')?;
    document.get(table)?.as_table()?.get(key)
}

fn add_table(text: &str, name: &str, table: &str) -> Result<String, Refusal> {
    let (document, wanted) = (parse(text)?, parse(table)?);
    match value(&document, name) {
        Some(there) if Some(there) == value(&wanted, name) => return Ok(text.to_owned()),
        Some(_) => return Err(Refusal::Taken(format!("[{name}]"))),
        None => {}
    }
    let end = line_end(text);
    let gap = match text {
        "" => String::new(),
        text if text.ends_with('\n') => end.to_owned(),
        _ => format!("{end}{end}"),
    };
    let after = format!("{text}{gap}{}", table.replace('\n', end));
    match parse(&after) {
        Ok(_) => Ok(after),
        // Such as an inline table, which no other table can extend.
        Err(_) => Err(Refusal::Broken(format!("cannot have a table [{name}]: add it yourself:\n{table}"))),
    }
}

fn remove_table(text: &str, name: &str, table: &str) -> Result<String, Refusal> {
    let (document, wanted) = (parse(text)?, parse(table)?);
    let end = line_end(text);
    let table = table.replace('\n', end);
    match (value(&document, name), text.split_once(&table)) {
        (None, _) => Ok(text.to_owned()),
        (Some(there), Some((front, back))) if Some(there) == value(&wanted, name) => {
            // The line that was added before it.
            let front = if front.ends_with(&format!("{end}{end}")) { &front[..front.len() - end.len()] } else { front };
            Ok(format!("{front}{back}"))
        }
        (Some(_), _) => Err(Refusal::Altered(format!("[{name}]"))),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
