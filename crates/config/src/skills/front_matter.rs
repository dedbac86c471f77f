//! The head of a `SKILL.md`: YAML between two lines of `---`. Other tools put keys of their own there, so unknown keys are
//! ignored.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The keys that Ralph reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FrontMatter {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) promise: Option<String>,
    pub(super) verify: Option<String>,
    pub(super) supports_ralph: Option<bool>,
    pub(super) task_types: Option<OneOrMore>,
}

/// A list; a single text is a list of one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl FrontMatter {
    pub(super) fn split(file: &str) -> Result<(Self, &str), String> {
        split(file)
    }

    pub(super) fn task_types(&self) -> Vec<String> {
        match &self.task_types {
            None => Vec::new(),
            Some(OneOrMore::One(one)) => vec![one.clone()],
            Some(OneOrMore::More(more)) => more.clone(),
        }
    }
}

/// Splits a file into its head and the text after it. A file without a head is all text.
pub fn split<T: DeserializeOwned + Default>(file: &str) -> Result<(T, &str), String> {
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    let Some(head) = file.strip_prefix("---").and_then(after_line_end) else { return Ok((T::default(), file)) };
    let mut at = 0;
    for line in head.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return parse(&head[..at]).map(|front| (front, &head[at + line.len()..]));
        }
        at += line.len();
    }
    Err("its front matter has no end: add a line `---` after it".to_owned())
}

fn parse<T: DeserializeOwned + Default>(yaml: &str) -> Result<T, String> {
    if yaml.trim().is_empty() {
        return Ok(T::default());
    }
    serde_saphyr::from_str(yaml).map_err(|error| {
        let place = error.location().map(|at| format!(" in line {}", at.line() + 1)).unwrap_or_default();
        let why = error.without_snippet().to_string();
        let why = why.lines().next().unwrap_or_default().trim_end_matches(':');
        format!("its front matter is not valid YAML{place}: {why}; put values that contain `: ` in quotation marks")
    })
}

/// What follows the end of a line; none where the line has more than blanks.
fn after_line_end(rest: &str) -> Option<&str> {
    let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
    line.trim().is_empty().then_some(after)
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
