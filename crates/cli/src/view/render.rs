//! The view as lines of text. Pure: the same view, width and time give the same lines.

use ralph_model::{Money, Timestamp};

use crate::screen::dollars;

use super::sparkline::sparkline;
use super::state::{Doing, Verdict, View};
use super::text::{columns, fit, spread};

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

/// The lines of the view, none wider than `width` columns.
pub(super) fn render(view: &View, width: usize, now: Timestamp, colours: Colours) -> Vec<String> {
    let paint = |style, text: String| painted(style, text, colours);
    let title = format!("ralph {}  {}", view.run.loop_id.short(), view.objective);
    let mut lines = vec![head(&title, Some(view.opened_at), view.ended_at.unwrap_or(now), width, colours)];
    let iteration = format!("{}/{}  {}", view.run.iteration, view.run.max_iterations, doing(view, now));
    lines.push(named("iteration", &iteration, width));
    if !view.run.failing.is_empty() {
        lines.push(named("failing", &failing(view, width.saturating_sub(NAMES)), width));
    }
    lines.push(cost(view.spent(), view.run.max_cost, width, colours));
    match &view.verdict {
        Verdict::None => {}
        Verdict::Passed(text) => lines.push(paint(Style::Green, named("verdict", text, width))),
        Verdict::Failed(text) => lines.push(paint(Style::Red, named("verdict", text, width))),
    }
    if !view.activity.is_empty() {
        lines.push(paint(Style::Dim, fit(&format!("> {}", view.activity), width)));
    }
    lines
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
        Doing::Agent { since } => format!("{} works, {}", view.run.agent, now.since(*since)),
        Doing::Check { .. } | Doing::Nothing => phase(view, now),
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
