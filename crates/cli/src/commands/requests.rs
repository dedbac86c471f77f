//! `ralph show LOOP --requests`: what agents asked their model services, as it passed the gateway.

use std::path::Path;

use anyhow::Context as _;
use ralph_gateway::{RequestOutcome, RequestRecord};
use ralph_view::dollars;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::page::{Fit, Page, Table, cell};

#[derive(Debug, Deserialize)]
struct Line {
    iteration: u32,
    agent: String,
    #[serde(flatten)]
    record: RequestRecord,
}

/// All requests of a loop, or none where nothing passed a gateway. A line that a newer version wrote is left out.
fn read(path: &Path) -> anyhow::Result<Vec<Line>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.with_context(|| format!("{} cannot be read", path.display()))?,
    };
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

pub(super) fn as_json(path: &Path) -> anyhow::Result<Value> {
    let lines = read(path)?.into_iter().map(|Line { iteration, agent, record }| {
        let mut value = serde_json::to_value(&record)?;
        value["iteration"] = iteration.into();
        value["agent"] = agent.into();
        value["costUSD"] = record.cost.map_or(Value::Null, |cost| json!(cost.to_json_number()));
        if let Some(object) = value.as_object_mut() {
            object.remove("cost");
        }
        Ok(value)
    });
    lines.collect::<anyhow::Result<Vec<Value>>>().map(Value::Array)
}

pub(super) fn as_text(path: &Path) -> anyhow::Result<Page> {
    let (lines, mut page) = (read(path)?, Page::default());
    if lines.is_empty() {
        page.line("no requests were recorded: none passed Ralph's gateway (see --meter)");
        return Ok(page);
    }
    // Wide enough for everything on a screen of 80 columns.
    let mut table = Table::new([
        ("#", Fit::Right),
        ("MODEL", Fit::Name),
        ("STATUS", Fit::Left),
        ("IN", Fit::Right),
        ("CACHED", Fit::Right),
        ("OUT", Fit::Right),
        ("COST", Fit::Right),
        ("FIRST", Fit::Right),
        ("TOTAL", Fit::Right),
        ("FULL", Fit::Right),
    ]);
    lines.iter().for_each(|line| table.row(row(line).map(cell)));
    page.table(table);
    Ok(page)
}

fn row(Line { iteration, record, .. }: &Line) -> [String; 10] {
    let status = match (record.outcome, record.status) {
        (RequestOutcome::Refused, _) => "unpaid".to_owned(),
        (RequestOutcome::Cut, _) => "cut".to_owned(),
        (RequestOutcome::Answered | RequestOutcome::Failed, Some(status)) => status.to_string(),
        (RequestOutcome::Answered | RequestOutcome::Failed, None) => "failed".to_owned(),
    };
    let status = if record.retries > 0 { format!("{status} ×{}", record.retries + 1) } else { status };
    let model = match &record.answered_by {
        Some(other) => format!("{} ({other})", record.model),
        None => record.model.clone(),
    };
    let about = if record.is_estimate { "~" } else { "" };
    let seconds = |millis: u64| format!("{}.{}s", millis / 1000, millis % 1000 / 100);
    [
        format!("{iteration}.{}", record.number),
        model,
        status,
        short(record.tokens.read()),
        short(record.tokens.cache_read),
        short(record.tokens.output),
        record.cost.map_or_else(|| "?".to_owned(), |cost| format!("{about}{}", dollars(cost))),
        record.first_byte_ms.map(seconds).unwrap_or_default(),
        seconds(record.duration_ms),
        record.context.map(|context| format!("{}%", context.percent())).unwrap_or_default(),
    ]
}

/// A number of tokens in at most five characters.
fn short(tokens: u64) -> String {
    match tokens {
        0..10_000 => tokens.to_string(),
        10_000..1_000_000 => format!("{}k", tokens / 1000),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
