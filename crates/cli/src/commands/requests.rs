//! `ralph show LOOP --requests`: what agents asked their model services, as it passed the gateway.

use std::path::Path;

use anyhow::Context as _;
use ralph_gateway::{RequestOutcome, RequestRecord};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::page::{Fit, Page, Table, cell};

/// One line of the list.
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

/// The list as JSON.
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

/// The list for people.
pub(super) fn as_text(path: &Path) -> anyhow::Result<Page> {
    let (lines, mut page) = (read(path)?, Page::default());
    if lines.is_empty() {
        page.line("no requests were recorded: none passed Ralph's gateway (see --meter)");
        return Ok(page);
    }
    let mut table = Table::new([
        ("#", Fit::Right),
        ("ITER", Fit::Right),
        ("MODEL", Fit::Name),
        ("STATUS", Fit::Left),
        ("IN", Fit::Right),
        ("CACHED", Fit::Right),
        ("OUT", Fit::Right),
        ("COST", Fit::Right),
        ("FIRST", Fit::Right),
        ("TOTAL", Fit::Right),
        ("RETRIES", Fit::Right),
        ("CONTEXT", Fit::Right),
    ]);
    lines.iter().for_each(|line| table.row(row(line).map(cell)));
    page.table(table);
    Ok(page)
}

fn row(Line { iteration, record, .. }: &Line) -> [String; 12] {
    let status = match (record.outcome, record.status) {
        (RequestOutcome::Refused, _) => "not covered".to_owned(),
        (RequestOutcome::Cut, _) => "cut off".to_owned(),
        (RequestOutcome::Answered | RequestOutcome::Failed, Some(status)) => status.to_string(),
        (RequestOutcome::Answered | RequestOutcome::Failed, None) => "no answer".to_owned(),
    };
    let model = match &record.answered_by {
        Some(other) => format!("{} ({other})", record.model),
        None => record.model.clone(),
    };
    let about = if record.is_estimate { "~" } else { "" };
    let millis = |millis: u64| format!("{}.{:03} s", millis / 1000, millis % 1000);
    [
        record.number.to_string(),
        iteration.to_string(),
        model,
        status,
        record.tokens.read().to_string(),
        record.tokens.cache_read.to_string(),
        record.tokens.output.to_string(),
        record.cost.map_or_else(|| "no price".to_owned(), |cost| format!("{about}{cost}")),
        record.first_byte_ms.map(millis).unwrap_or_default(),
        millis(record.duration_ms),
        record.retries.to_string(),
        record.context.map(|context| format!("{} %", context.percent())).unwrap_or_default(),
    ]
}
