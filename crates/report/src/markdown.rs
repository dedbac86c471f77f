//! The report as people read it. Whatever comes from a record is text, never markup.

use std::fmt::Write as _;

use ralph_model::{Millis, Money};

use crate::alert::{COMPLETION_TARGET, STALL_TARGET};
use crate::date::DayNumber;
use crate::summary::{Group, Summary};
use crate::tally::Rate;

/// Rows of a table beyond these say more to a spreadsheet than to a reader.
const ROWS: usize = 20;
const DAYS: usize = 31;
const CELL: usize = 60;

/// What a report says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading<'a> {
    /// The day of the report, as `2026-11-15`.
    pub date: &'a str,
    /// Which loops it is about, in words, such as `since 2026-11-01`.
    pub period: &'a str,
    /// The chart, as a link relative to the report.
    pub chart: &'a str,
    /// How many lines of the metrics could not be read.
    pub broken: usize,
}

pub fn markdown(summary: &Summary, heading: Heading<'_>) -> String {
    let mut text = String::with_capacity(8 << 10);
    // Writing to a string does not fail.
    let _ = report(&mut text, summary, heading);
    text
}

fn report(out: &mut String, summary: &Summary, heading: Heading<'_>) -> std::fmt::Result {
    writeln!(out, "# Ralph report {}\n", sanitize(heading.date))?;
    writeln!(out, "{} {}.\n", plural(summary.loops, "finished loop"), sanitize(heading.period))?;
    alerts(out, summary, heading.broken)?;
    writeln!(out, "![Loops per day and their cost]({})\n", link(heading.chart))?;
    totals(out, summary)?;
    reasons(out, summary)?;
    crews(out, &summary.crews)?;
    groups(out, "By skill", "skill", &summary.by_skill)?;
    groups(out, "By agent", "agent", &summary.by_agent)?;
    days(out, summary)
}

fn crews(out: &mut String, crews: &Group) -> std::fmt::Result {
    if crews.loops == 0 {
        return Ok(());
    }
    let Group { loops, completed, cancelled, iterations, cost, .. } = crews;
    writeln!(out, "## Crews\n")?;
    writeln!(out, "| | |\n|---|---:|")?;
    writeln!(out, "| Crews | {loops} |\n| Answered | {completed} |\n| Cancelled | {cancelled} |")?;
    writeln!(out, "| Rounds | {iterations} |\n| Cost | {cost} |\n")
}

fn alerts(out: &mut String, summary: &Summary, broken: usize) -> std::fmt::Result {
    writeln!(out, "## Alerts\n")?;
    for alert in &summary.alerts {
        writeln!(out, "- {}", alert.words(named))?;
    }
    if broken > 0 {
        let lines = plural(broken as u64, "line");
        writeln!(
            out,
            "- {lines} of the metrics could not be read and {} left out.",
            if broken == 1 { "is" } else { "are" }
        )?;
    }
    if summary.alerts.is_empty() && broken == 0 {
        writeln!(out, "None.")?;
    }
    writeln!(out)
}

fn totals(out: &mut String, summary: &Summary) -> std::fmt::Result {
    let (iterations, cost, duration) = (summary.iterations, summary.cost_micros, summary.duration_millis);
    let tenths = iterations.mean_tenths();
    let left_out = match summary.cancelled {
        0 => String::new(),
        cancelled => format!(", without {}", plural(cancelled, "cancelled loop")),
    };
    let completion = format!("{} (target > {COMPLETION_TARGET} %{left_out})", summary.completion());
    let stall = format!("{} (target < {STALL_TARGET} %)", summary.stall());
    let rows = [
        ("Loops", summary.loops.to_string()),
        ("Completed", summary.completed.to_string()),
        ("… verified by checks", summary.verified.to_string()),
        ("… unverified, by the agent's claim alone", summary.unverified.to_string()),
        ("Aborted", summary.aborted.to_string()),
        ("Errors", summary.errors.to_string()),
        ("Completion rate", completion),
        ("Stall rate", stall),
        ("Iterations", format!("{} (mean {}.{}, p95 {})", iterations.total, tenths / 10, tenths % 10, iterations.p95)),
        ("Cost", format!("{} (mean {}, p95 {})", cents(cost.total), cents(cost.mean()), cents(cost.p95))),
        (
            "Time",
            format!("{} (mean {}, p95 {})", Millis(duration.total), Millis(duration.mean()), Millis(duration.p95)),
        ),
        ("False claims", format!("{} in {}", summary.false_claims, plural(summary.false_claim_loops, "loop"))),
        ("Tampered with", plural(summary.tampered_loops, "loop")),
        ("Tests fixed", summary.tests_fixed.to_string()),
        ("Files modified", summary.files_modified.to_string()),
        ("Tokens", format!("{} in, {} out", summary.input_tokens, summary.output_tokens)),
    ];
    writeln!(out, "## Totals\n\n| | |\n|---|---|")?;
    rows.iter().try_for_each(|(name, value)| writeln!(out, "| {name} | {value} |"))?;
    writeln!(out)
}

fn reasons(out: &mut String, summary: &Summary) -> std::fmt::Result {
    if summary.reasons.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Why loops were aborted\n\n| reason | loops | of all |\n|---|---:|---:|")?;
    for (reason, count) in summary.reasons.iter().take(ROWS) {
        let rate = Rate { part: *count, whole: summary.loops };
        writeln!(out, "| {} | {count} | {rate} |", named(reason))?;
    }
    more(out, summary.reasons.len(), ROWS, "reason")
}

fn groups(out: &mut String, title: &str, column: &str, groups: &[Group]) -> std::fmt::Result {
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(out, "## {title}\n\n| {column} | loops | completed | rate | verified | iterations | cost |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|")?;
    for group in groups.iter().take(ROWS) {
        let Group { name, loops, completed, verified, iterations, cost, cancelled: _ } = group;
        let (name, rate, cost) = (named(name), group.completion(), cents(cost.micros().unsigned_abs()));
        writeln!(out, "| {name} | {loops} | {completed} | {rate} | {verified} | {iterations} | {cost} |")?;
    }
    more(out, groups.len(), ROWS, column)
}

fn days(out: &mut String, summary: &Summary) -> std::fmt::Result {
    if summary.days.is_empty() {
        return Ok(());
    }
    writeln!(out, "## By day\n\n| day (UTC) | completed | aborted | errors | cost |\n|---|---:|---:|---:|---:|")?;
    for day in summary.days.iter().rev().take(DAYS) {
        let (date, cost) = (DayNumber::of(day.start).iso(), cents(day.cost.micros().unsigned_abs()));
        writeln!(out, "| {date} | {} | {} | {} | {cost} |", day.completed, day.aborted, day.errors)?;
    }
    more(out, summary.days.len(), DAYS, "day")
}

fn more(out: &mut String, all: usize, shown: usize, what: &str) -> std::fmt::Result {
    writeln!(out)?;
    match all.saturating_sub(shown) {
        0 => Ok(()),
        1 => writeln!(out, "And 1 more {what}.\n"),
        left => writeln!(out, "And {left} more {what}s.\n"),
    }
}

fn plural(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Rounded to the cent where there is one: sums and means of many loops need no millionths.
fn cents(micros: u64) -> Money {
    let rounded = if micros >= 10_000 { (micros + 5_000) / 10_000 * 10_000 } else { micros };
    Money::from_micros(i64::try_from(rounded).unwrap_or(i64::MAX))
}

fn named(name: &str) -> String {
    if name.is_empty() { "(none)".to_owned() } else { sanitize(name) }
}

/// Text that Markdown shows as it is: one line, bounded, without markup, HTML or control characters.
fn sanitize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut characters = text.chars().enumerate().peekable();
    while let Some((index, character)) = characters.next() {
        if index == CELL {
            out.push('…');
            break;
        }
        let after = characters.peek().map_or(' ', |(_, after)| *after);
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Inside a word it means nothing, and COST_LIMIT is read as text too.
            '_' if before.is_alphanumeric() && after.is_alphanumeric() => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => out.extend(['\\', character]),
            // Also the characters that turn the direction of the text around them.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
        before = character;
    }
    out
}

/// A relative link without the characters that would end it.
fn link(target: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    target.bytes().fold(String::new(), |mut out, byte| {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
