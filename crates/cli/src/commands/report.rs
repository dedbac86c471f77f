//! `ralph report`: what many loops show together.

use std::borrow::Cow;

use jiff::civil::Date;
use ralph_model::{ConfigError, Money, Timestamp};
use ralph_report::{Group, Record, Spread, Summary, day_start, read, write};
use ralph_text::Redactor;
use ralph_view::{CrewsView, GroupView, ReportView, SpreadView};
use ralph_workspace::OwnFolder;
use ratatui_core::text::Line;

use crate::args::ReportArgs;
use crate::input::now;
use crate::page::Page;
use crate::screen::{Screen, dollars};
use crate::style::{PLAIN, TITLE, WARN};
use ralph_config::metrics_path;
use ralph_host::Host;

/// Days of a report where nobody names any.
const DAYS: i32 = 30;

/// Writes the report of a period beside its metrics, or prints its figures.
pub(crate) fn run(args: ReportArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let date = args.date.map_or_else(|| now().utc_date(), |date| date.to_string());
    let since = match (args.since, args.date) {
        (Some(since), _) => since.to_string(),
        (None, Some(day)) => day.to_string(),
        (None, None) => date.parse::<Date>()?.saturating_sub(jiff::Span::new().days(DAYS - 1)).to_string(),
    };
    if since > date {
        let allowed =
            "a day up to that of the report (--date)\n  example: ralph report --since 2026-11-01 --date 2026-11-15";
        return Err(ConfigError::new("--since", format!("{since} is after {date}"), allowed).into());
    }
    let metrics = match args.metrics {
        Some(path) => around.current.join(path),
        None => metrics_path(&around.user_settings()?, &around.folder()?),
    };
    let until = Timestamp(day_start(&date)?.0 + 86_400_000);
    let own = OwnFolder::of_file(&metrics)?;
    let shown = metrics.parent().unwrap_or(&around.current).to_owned();
    let folder = own.as_ref().map_or_else(|| shown.clone(), OwnFolder::path);
    let file = metrics.file_name().map_or_else(|| metrics.clone(), |name| folder.join(name));
    // People know the folder by its name, not by its descriptor.
    let named = |error: ralph_report::Error| match &own {
        Some(own) => anyhow::anyhow!(own.readable(&format!("{:#}", anyhow::Error::from(error)))),
        None => error.into(),
    };
    let mut found = read(&file, Some(day_start(&since)?), Some(until)).map_err(named)?;
    redact(&mut found.records, &around.redactor());
    let summary = Summary::of(&found.records);
    for line in found.broken.iter().take(5) {
        screen.say(&format!("warning: line {line} of {} is broken and was left out", metrics.display()))?;
    }
    if args.json {
        screen.json(&figures(&summary, since, date, found.broken.len()))?;
        return Ok(0);
    }
    let period = if since == date { format!("on {date}") } else { format!("from {since} to {date}") };
    let written = write(&folder, &date, &period, &summary, found.broken.len()).map_err(named)?;
    let [report, chart] = <[_; 2]>::from(written).map(|path| shown.join(path.file_name().unwrap_or_default()));
    let mut page = Page::default();
    let loops = if summary.loops == 1 { "loop" } else { "loops" };
    page.line(Line::styled(format!("{} finished {loops} {period}", summary.loops), TITLE));
    if summary.loops > 0 {
        page.field("completed", &format!("{}, {} of them verified", summary.completed, summary.verified), PLAIN);
        let reasons: Vec<String> = summary.reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        if !reasons.is_empty() {
            page.field("aborted", &reasons.join(", "), PLAIN);
        }
        if summary.errors > 0 {
            page.field("errors", &summary.errors.to_string(), PLAIN);
        }
        let cost = Money::from_micros(i64::try_from(summary.cost_micros.total).unwrap_or(i64::MAX));
        page.field("cost", &dollars(cost), PLAIN);
    }
    page.field("report", &report.display().to_string(), PLAIN);
    page.field("chart", &chart.display().to_string(), PLAIN);
    if summary.crews.loops > 0 {
        let (crews, answered) = (summary.crews.loops, summary.crews.completed);
        let crews = crate::screen::counted(crews, "finished crew", "finished crews");
        page.line(format!("{crews}, {answered} answered, {}", summary.crews.cost));
    }
    for alert in &summary.alerts {
        page.line(Line::styled(format!("  alert: {}", words_of(alert)), WARN));
    }
    screen.page(page)?;
    if summary.loops == 0 {
        screen.say(&format!("no loop ended in that period; the metrics are read from {}", metrics.display()))?;
    }
    Ok(0)
}

/// The metrics lie in the workspace, where agents write, and a report is passed on.
fn redact(records: &mut [Record], redactor: &Redactor) {
    for Record { agent, model, skill, task_type, abort_reason, .. } in records {
        for name in [model, skill, task_type, abort_reason].into_iter().flatten().chain([agent]) {
            if let Cow::Owned(clean) = redactor.text(name) {
                *name = clean;
            }
        }
    }
}

fn figures(summary: &Summary, since: String, date: String, broken_lines: usize) -> ReportView {
    let completion = summary.completion();
    ReportView {
        since,
        date,
        loops: summary.loops,
        completed: summary.completed,
        aborted: summary.aborted,
        errors: summary.errors,
        verified: summary.verified,
        unverified: summary.unverified,
        cancelled: summary.cancelled,
        completion_rate: ratio(completion.part, completion.whole),
        stall_rate: ratio(summary.stalled, summary.loops),
        iterations: spread(summary.iterations, 1.0),
        cost: spread(summary.cost_micros, 1e6),
        duration_seconds: spread(summary.duration_millis, 1e3),
        false_claims: summary.false_claims,
        tampered_loops: summary.tampered_loops,
        files_modified: summary.files_modified,
        tests_fixed: summary.tests_fixed,
        input_tokens: summary.input_tokens,
        output_tokens: summary.output_tokens,
        abort_reasons: summary.reasons.iter().cloned().collect(),
        by_skill: summary.by_skill.iter().map(group).collect(),
        by_agent: summary.by_agent.iter().map(group).collect(),
        crews: CrewsView {
            crews: summary.crews.loops,
            answered: summary.crews.completed,
            cancelled: summary.crews.cancelled,
            rounds: summary.crews.iterations,
            cost: summary.crews.cost,
        },
        alerts: summary.alerts.iter().map(words_of).collect(),
        broken_lines,
    }
}

/// The names in an alert go to a terminal or into JSON, which both take them as they are.
fn words_of(alert: &ralph_report::Alert) -> String {
    alert.words(str::to_owned)
}

/// Output only: figures for scripts may be floats, sums and comparisons never are.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53")]
fn spread(spread: Spread, unit: f64) -> SpreadView {
    SpreadView { total: spread.total as f64 / unit, mean: spread.mean() as f64 / unit, p95: spread.p95 as f64 / unit }
}

fn group(group: &Group) -> GroupView {
    let Group { loops, completed, verified, iterations, cost, .. } = *group;
    GroupView { name: group.name.clone(), loops, completed, verified, iterations, cost }
}
