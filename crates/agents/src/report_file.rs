//! The file in which a command reports its cost and its doings. Written by the agent, so nothing in it is trusted further
//! than its own cost, and nothing in it can make Ralph read another file.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use ralph_model::{Money, ToolEvidence, Usage};
use ralph_text::Redactor;
use serde::Deserialize;
use serde_json::Value;

use crate::files::{Links, open_plain, read_plain};

const MAX_BYTES: u64 = 1024 * 1024;
const MAX_EVIDENCE: usize = 1000;
/// Nothing costs as much; a larger figure is a mistake or a lie, and counts as no figure.
const MAX_COST: Money = Money::dollars(1_000_000);

/// What a command said about its own run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportFile {
    /// What the run has cost so far.
    pub cost: Option<Money>,
    pub usage: Usage,
    /// Its last message, when that is not its output.
    pub summary: Option<String>,
    pub evidence: Vec<ToolEvidence>,
    pub escalation: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(rename = "costUSD", alias = "costUsd", alias = "cost_usd", alias = "total_cost_usd")]
    cost: Option<Amount>,
    #[serde(alias = "input_tokens")]
    input_tokens: Option<u64>,
    #[serde(alias = "output_tokens")]
    output_tokens: Option<u64>,
    model: Option<String>,
    summary: Option<String>,
    escalation: Option<String>,
    #[serde(default, alias = "tool_evidence")]
    tool_evidence: Vec<ToolEvidence>,
    usage: Option<Box<Wire>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(f64),
    Text(String),
}

impl Amount {
    fn money(self) -> Option<Money> {
        match self {
            // A sum of floats has more digits than a micro-dollar can hold; rounding up never undercounts.
            Self::Number(number) if (0.0..MAX_COST.to_json_number()).contains(&number) => {
                Money::from_number(number).ok().or_else(|| Money::from_number((number * 1e6).ceil() / 1e6).ok())
            }
            Self::Number(_) => None,
            Self::Text(text) => text.parse().ok().filter(|amount| *amount < MAX_COST),
        }
    }
}

/// Reads the report as it is now.
///
/// # Errors
/// In words, when there is a file that cannot be used. No file at all is no error.
pub fn read_report(path: &Path) -> Result<Option<ReportFile>, String> {
    let file = match open_plain(path, Links::Refuse) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("the report file cannot be opened: {error}")),
    };
    let mut text = String::new();
    file.take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("the report file cannot be read: {error}"))?;
    if text.len() as u64 > MAX_BYTES {
        return Err("the report file is over 1 MiB".into());
    }
    if text.trim().is_empty() {
        return Ok(None);
    }
    let wire: Wire = serde_json::from_str(&text).map_err(|error| format!("the report file is not valid: {error}"))?;
    report(wire).map(Some)
}

/// Takes secrets out of a report that stays on disk, also those that JSON spells otherwise. What cannot be read is removed.
///
/// # Errors
/// When a report stays as it is.
pub fn redact_report(path: &Path, redactor: &Redactor) -> io::Result<()> {
    let text = match read_plain(path, Links::Refuse, MAX_BYTES + 1) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => return fs::remove_file(path),
    };
    let clean = match serde_json::from_str::<Value>(&text) {
        Ok(value) => redacted(value, redactor).to_string(),
        Err(_) => redactor.clean(&text).into_owned(),
    };
    // A new file: a link or a second name of the old one would carry the words elsewhere.
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(clean.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

fn redacted(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.clean(&text).into_owned()),
        Value::Array(values) => values.into_iter().map(|value| redacted(value, redactor)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (redactor.clean(&name).into_owned(), redacted(value, redactor)))
            .collect(),
        value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
    }
}

fn report(wire: Wire) -> Result<ReportFile, String> {
    let nested = wire.usage.map(|usage| *usage);
    let (nested_cost, nested_input, nested_output, nested_model) = nested
        .map_or((None, None, None, None), |usage| (usage.cost, usage.input_tokens, usage.output_tokens, usage.model));
    let cost = match wire.cost.or(nested_cost) {
        None => None,
        Some(amount) => Some(amount.money().ok_or("the report file contains a cost that is not an amount in dollars")?),
    };
    let mut evidence = wire.tool_evidence;
    evidence.truncate(MAX_EVIDENCE);
    Ok(ReportFile {
        cost,
        usage: Usage {
            window: None,
            model: wire.model.or(nested_model),
            input_tokens: wire.input_tokens.or(nested_input).unwrap_or(0),
            output_tokens: wire.output_tokens.or(nested_output).unwrap_or(0),
            ..Usage::default()
        },
        summary: wire.summary,
        evidence,
        escalation: wire.escalation.filter(|why| !why.trim().is_empty()),
    })
}

#[cfg(test)]
#[path = "report_file_tests.rs"]
mod tests;
