//! The view as lines of text. Pure: the same view, width and time give the same lines.

use ralph_model::{Millis, Money, Timestamp};

use crate::screen::{counted, dollars};

use super::sparkline::sparkline;
use super::state::{Doing, Verdict, View};
use super::text::{columns, fit, fit_middle, spread};

/// Whether lines may carry colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colours {
    /// They may.
    On,
    /// The terminal or the user has none (`NO_COLOR`).
    Off,
}

#[derive(Clone, Copy)]
pub(super) enum Style {
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
}

/// The width of the names at the left.
const NAMES: usize = 11;

/// How long nothing may happen before the view says so.
const SILENCE: Millis = Millis(60_000);

/// The lines of the view, none wider than `width` columns. Of what happened last as much is shown as there are rows for.
pub(super) fn render(view: &View, width: usize, rows: usize, now: Timestamp, colours: Colours) -> Vec<String> {
    let paint = |style, text: String| painted(style, text, colours);
    let title = format!("ralph {}  {}", view.run.loop_id.short(), view.objective);
    let mut lines = vec![head(&title, Some(view.opened_at), view.ended_at.unwrap_or(now), width, colours)];
    let iteration = format!("{}/{}  {}", view.run.iteration, view.run.max_iterations, doing(view, now));
    lines.push(named("iteration", &iteration, width));
    if !view.run.failing.is_empty() {
        lines.push(named("failing", &failing(view, width.saturating_sub(NAMES)), width));
    }
    if !view.failing_tests.is_empty() {
        lines.push(named("tests", &names(&view.failing_tests, width.saturating_sub(NAMES)), width));
    }
    lines.push(cost(view.spent(), view.run.max_cost, width, colours));
    match &view.verdict {
        Verdict::None => {}
        Verdict::Passed(text) => lines.push(paint(Style::Green, named("verdict", text, width))),
        Verdict::Failed(text) => lines.push(paint(Style::Red, named("verdict", text, width))),
    }
    let room = rows.saturating_sub(lines.len()).max(1);
    let mut recent: Vec<(bool, &str)> = view.recent.iter().map(|(failed, text)| (*failed, text.as_str())).collect();
    if recent.is_empty() && !view.activity.is_empty() {
        recent.push((false, &view.activity));
    }
    for (failed, text) in recent.split_off(recent.len().saturating_sub(room)) {
        let (mark, style) = if failed { ('✗', Style::Red) } else { ('>', Style::Dim) };
        lines.push(paint(style, fit(&format!("{mark} {text}"), width)));
    }
    lines
}

/// As many names as fit, and how many more there are.
fn names(names: &[String], width: usize) -> String {
    let mut shown = String::new();
    for (place, name) in names.iter().enumerate() {
        let left = names.len() - place - 1;
        let more = if left > 0 { format!(" and {left} more") } else { String::new() };
        let longer = if shown.is_empty() { fit_middle(name, width) } else { format!("{shown}, {name}") };
        if columns(&longer) + columns(&more) > width && !shown.is_empty() {
            let left = names.len() - place;
            return format!("{shown} and {left} more");
        }
        shown = longer;
    }
    shown
}

/// What it is about, and for how long.
pub(super) fn head(title: &str, since: Option<Timestamp>, until: Timestamp, width: usize, colours: Colours) -> String {
    let elapsed = since.map(|since| until.since(since).to_string()).unwrap_or_default();
    painted(Style::Bold, spread(title, &elapsed, width), colours)
}

fn named(name: &str, text: &str, width: usize) -> String {
    fit(&format!("{name:NAMES$}{text}"), width)
}

fn doing(view: &View, now: Timestamp) -> String {
    let doing = match &view.doing {
        Doing::Agent { since } => {
            let spent = if view.running > Money::ZERO { format!(", {}", dollars(view.running)) } else { String::new() };
            let silent = now.since(view.heard_at);
            let silence = if silent >= SILENCE { format!(", no output for {silent}") } else { String::new() };
            format!("{} works, {}{spent}{silence}", view.run.agent, now.since(*since))
        }
        Doing::Check { .. } | Doing::Nothing => match view.changed {
            Some(files) => format!("{}, {} changed", phase(view, now), counted(files, "file", "files")),
            None => phase(view, now),
        },
    };
    if view.stopping && !view.is_over() { format!("{doing} (stopping)") } else { doing }
}

/// What is going on, without the agent's name.
pub(super) fn phase(view: &View, now: Timestamp) -> String {
    match (&view.doing, &view.run.waiting) {
        _ if view.is_over() => "ended".to_owned(),
        (Doing::Agent { since }, _) => format!("works {}", now.since(*since)),
        (Doing::Check { command, since }, _) => format!("check {}: {command}", now.since(*since)),
        (Doing::Nothing, Some(wait)) => format!("waits {}: {}", wait.until.since(now), wait.trouble.kind.words()),
        (Doing::Nothing, None) if view.run.phase == "baseline" => "starting".to_owned(),
        (Doing::Nothing, None) => "deciding".to_owned(),
    }
}

/// Bars, and the numbers of the newest ones as far as there is room.
fn failing(view: &View, width: usize) -> String {
    let bars = sparkline(&view.run.failing, (width / 2).max(8));
    let numbers: Vec<String> =
        view.run.failing.iter().map(|value| value.map_or_else(|| "?".to_owned(), |value| value.to_string())).collect();
    let room = width.saturating_sub(columns(&bars) + 2);
    let mut shown = String::new();
    for number in numbers.iter().rev() {
        let longer = if shown.is_empty() { number.clone() } else { format!("{number} → {shown}") };
        if columns(&longer) > room {
            break;
        }
        shown = longer;
    }
    format!("{bars}  {shown}")
}

/// A bar with what is spent of what may be.
pub(super) fn cost(spent: Money, most: Money, width: usize, colours: Colours) -> String {
    let text = format!("{} of {}", dollars(spent), dollars(most));
    let room = width.saturating_sub(NAMES + columns(&text) + 2).min(30);
    let filled = share(spent, most, room);
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(room - filled));
    let line = named("cost", &format!("{bar}  {text}"), width);
    // The same four fifths at which the loop gives its alert.
    let near = most > Money::ZERO && spent >= most.percent(80);
    if near { painted(Style::Yellow, line, colours) } else { line }
}

/// How many of `room` columns the part is of the whole: none only for nothing, all only for all.
fn share(part: Money, whole: Money, room: usize) -> usize {
    if part == Money::ZERO || whole == Money::ZERO || room == 0 {
        return 0;
    }
    if part >= whole {
        return room;
    }
    let columns = i128::from(part.micros()) * (room as i128) / i128::from(whole.micros());
    usize::try_from(columns).unwrap_or(room).clamp(1, room.saturating_sub(1).max(1))
}

pub(super) fn painted(style: Style, text: String, colours: Colours) -> String {
    let code = match style {
        Style::Bold => 1,
        Style::Dim => 2,
        Style::Green => 32,
        Style::Red => 31,
        Style::Yellow => 33,
    };
    match colours {
        Colours::On => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        Colours::Off => text,
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
