//! The widgets of the live view. Each is a row that draws itself with ratatui, so that other screens can place the same ones.

use ralph_model::{Money, Timestamp};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;

use crate::screen::dollars;
use crate::style::{BAD, BUSY, GOOD, PLAIN, QUIET, TITLE, WARN, columns, fit_middle, fit_words};

use super::state::{Recent, View};

/// The width of the names at the left.
const NAMES: u16 = 11;
/// From nothing failing to the most that ever failed.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const WIDEST_GAUGE: usize = 30;

#[derive(Debug, Clone)]
pub(super) enum Row {
    /// What it is about, and for how long.
    Head {
        title: String,
        elapsed: String,
    },
    Field(&'static str, Line<'static>),
    /// As many names as fit, after a text.
    Names(&'static str, String, Vec<String>),
    /// What failed after each iteration.
    Failing(Vec<Option<u32>>),
    /// What is spent of what may be.
    Cost {
        spent: Money,
        most: Money,
    },
    Candidate(Candidate, Widths),
    Recent(Recent),
}

impl Row {
    /// The money of agents that nobody counts.
    pub(super) fn unmetered() -> Self {
        Self::Field("cost", Line::raw("not metered"))
    }
}

/// What one candidate of a race does.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) number: u32,
    pub(super) agent: String,
    pub(super) iteration: String,
    pub(super) what: String,
    pub(super) failing: String,
    pub(super) cost: String,
    pub(super) style: Style,
}

/// The widths of the columns of all candidates; none for a column that is left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Widths {
    pub(super) names: usize,
    pub(super) iteration: usize,
    pub(super) failing: usize,
    pub(super) cost: usize,
}

/// Rows below each other: those that are always there, and the newest of what happened.
#[derive(Debug, Default)]
pub(super) struct Panel {
    pub(super) rows: Vec<Row>,
    pub(super) recent: Vec<Row>,
}

impl Panel {
    /// As much of it as there are rows for.
    pub(super) fn fitted(mut self, rows: usize) -> Self {
        let room = rows.saturating_sub(self.rows.len()).max(1);
        let recent = self.recent.split_off(self.recent.len().saturating_sub(room));
        self.rows.extend(recent);
        self.rows.truncate(rows);
        Self { rows: self.rows, recent: Vec::new() }
    }

    /// Draws it into a buffer of its own.
    pub(super) fn drawn(self, width: usize, rows: usize) -> Buffer {
        let panel = self.fitted(rows);
        let size = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
        let mut buffer = Buffer::empty(Rect::new(0, 0, size(width), size(panel.rows.len())));
        panel.render(buffer.area, &mut buffer);
        buffer
    }
}

impl Widget for Panel {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        for (row, place) in self.rows.into_iter().zip(area.rows()) {
            row.render(place, buffer);
        }
    }
}

impl Widget for Row {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        match self {
            Self::Head { title, elapsed } => {
                let [left, _, right] =
                    Layout::horizontal([Constraint::Fill(1), Constraint::Length(2), length(&elapsed)]).areas(area);
                // A narrow terminal shows what it is about, not for how long.
                let is_narrow = left.width < 12;
                put(Line::styled(title, TITLE), if is_narrow { area } else { left }, buffer);
                put(Line::styled(elapsed, TITLE), if is_narrow { Rect::ZERO } else { right }, buffer);
            }
            Self::Field(name, line) => put(line, named(name, area, buffer), buffer),
            Self::Names(name, before, names) => {
                let place = named(name, area, buffer);
                let room = usize::from(place.width).saturating_sub(columns(&before));
                put(Line::raw(before + &some_of(&names, room)), place, buffer);
            }
            Self::Failing(values) => {
                let place = named("failing", area, buffer);
                let width = usize::from(place.width);
                let bars = sparkline(&values, (width / 2).max(8));
                let numbers = newest(&values, width.saturating_sub(columns(&bars) + 2));
                let style = if values.last() == Some(&Some(0)) { GOOD } else { BAD };
                put(Line::from(vec![Span::styled(bars, style), Span::raw(format!("  {numbers}"))]), place, buffer);
            }
            Self::Cost { spent, most } => {
                let place = named("cost", area, buffer);
                let text = format!("  {} of {}", dollars(spent), dollars(most));
                let room = usize::from(place.width).saturating_sub(columns(&text)).min(WIDEST_GAUGE);
                let filled = share(spent, most, room);
                // The same four fifths at which the loop gives its alert.
                let style = if most > Money::ZERO && spent >= most.percent(80) { WARN } else { PLAIN };
                let bar = Span::styled("█".repeat(filled), style);
                let rest = Span::styled("░".repeat(room - filled), QUIET);
                put(Line::from(vec![bar, rest, Span::styled(text, style)]), place, buffer);
            }
            Self::Candidate(Candidate { number, agent, iteration, what, failing, cost, style }, widths) => {
                let Widths { names, iteration: runs, failing: tests, cost: money } = widths;
                let failing = if tests == 0 { String::new() } else { format!("{failing:>tests$}  ") };
                let right = format!("{failing}{cost:>money$}");
                let left = format!("{number}  {}", fit_middle(&agent, names));
                let left = format!("{left:width$}  {iteration:>runs$}  ", width = names + 3);
                let [place, _, end] =
                    Layout::horizontal([Constraint::Fill(1), Constraint::Length(2), length(&right)]).areas(area);
                let is_narrow = place.width < 12;
                let room = usize::from(if is_narrow { area.width } else { place.width });
                let left = format!("{left}{}", fit_words(&what, room.saturating_sub(columns(&left))));
                put(Line::styled(left, style), if is_narrow { area } else { place }, buffer);
                put(Line::styled(right, style), if is_narrow { Rect::ZERO } else { end }, buffer);
            }
            Self::Recent(Recent { failed, text }) => {
                let (mark, style) = if failed { ('✗', BAD) } else { ('>', QUIET) };
                put(Line::styled(format!("{mark} {text}"), style), area, buffer);
            }
        }
    }
}

fn length(text: &str) -> Constraint {
    Constraint::Length(u16::try_from(columns(text)).unwrap_or(u16::MAX))
}

/// Draws the name of a field and gives the place of its value.
fn named(name: &'static str, area: Rect, buffer: &mut Buffer) -> Rect {
    let [left, right] =
        Layout::horizontal([Constraint::Length(NAMES.min(area.width)), Constraint::Fill(1)]).areas(area);
    put(Line::styled(name, QUIET), left, buffer);
    right
}

/// Draws a line, with a mark where it was cut.
fn put(line: Line<'_>, area: Rect, buffer: &mut Buffer) {
    let is_cut = line.width() > usize::from(area.width);
    (&line).render(area, buffer);
    if !is_cut || area.is_empty() {
        return;
    }
    let (last, row) = (area.right() - 1, area.y);
    // Half of a wide character would be left.
    if last > area.x && columns(buffer[(last - 1, row)].symbol()) > 1 {
        buffer[(last - 1, row)].set_symbol(" ");
    }
    buffer[(last, row)].set_symbol("…");
}

/// As many names as fit, and how many more there are.
fn some_of(names: &[String], width: usize) -> String {
    let mut shown = String::new();
    for (place, name) in names.iter().enumerate() {
        let left = names.len() - place - 1;
        let more = if left > 0 { format!(" and {left} more") } else { String::new() };
        let room = width.saturating_sub(columns(&more));
        let longer = if shown.is_empty() { fit_middle(name, room.max(8)) } else { format!("{shown}, {name}") };
        if columns(&longer) > room && !shown.is_empty() {
            return format!("{shown} and {} more", left + 1);
        }
        shown = longer;
    }
    shown
}

/// One column for each value; the newest when there is not room for all. What is not known is a dot. The lowest bar is for zero alone, so
/// that "one left" and "none left" never look the same.
fn sparkline(values: &[Option<u32>], width: usize) -> String {
    let most = u64::from(values.iter().copied().flatten().max().unwrap_or(0).max(1));
    let bar = |value: u32| {
        let height = (u64::from(value) * (BARS.len() as u64 - 1)).div_ceil(most);
        usize::try_from(height).ok().and_then(|height| BARS.get(height)).copied().unwrap_or('█')
    };
    values[values.len().saturating_sub(width)..].iter().map(|value| value.map_or('·', bar)).collect()
}

/// The newest numbers, as far as there is room.
fn newest(values: &[Option<u32>], room: usize) -> String {
    let mut shown = String::new();
    for value in values.iter().rev() {
        let number = value.map_or_else(|| "?".to_owned(), |value| value.to_string());
        let longer = if shown.is_empty() { number } else { format!("{number} → {shown}") };
        if columns(&longer) > room {
            break;
        }
        shown = longer;
    }
    shown
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

pub(super) fn loop_panel(view: &View, now: Timestamp) -> Panel {
    let title = format!("ralph {}  {}", view.run.loop_id.short(), view.objective);
    let elapsed = view.ended_at.unwrap_or(now).since(view.opened_at).to_string();
    let iteration = format!("{}/{}  {}", view.run.iteration, view.run.max_iterations, view.doing_words(now));
    let mut rows = vec![Row::Head { title, elapsed }, Row::Field("iteration", Line::raw(iteration))];
    if let Some(waiting) = view.waiting_words(now) {
        rows.push(Row::Field("waiting", Line::styled(waiting, BUSY)));
    }
    if !view.run.failing.is_empty() {
        rows.push(Row::Failing(view.run.failing.clone()));
    }
    if !view.failing_tests.is_empty() {
        rows.push(Row::Names("tests", String::new(), view.failing_tests.clone()));
    }
    if let Some((iteration, files)) = &view.changed {
        let before = format!("iteration {iteration}: {}: ", crate::screen::counted(files.len(), "file", "files"));
        rows.push(match files.is_empty() {
            true => Row::Field("diff", Line::raw(format!("iteration {iteration}: nothing changed"))),
            false => Row::Names("diff", before, files.clone()),
        });
    }
    rows.push(match view.run.metered {
        true => Row::Cost { spent: view.spent(), most: view.run.max_cost },
        false => Row::unmetered(),
    });
    if let Some((passed, text)) = &view.verdict {
        rows.push(Row::Field("verdict", Line::styled(text.clone(), if *passed { GOOD } else { BAD })));
    }
    Panel { rows, recent: view.recent.iter().cloned().map(Row::Recent).collect() }
}

#[cfg(test)]
#[path = "widgets_tests.rs"]
mod tests;
