//! How everything looks: a colour for each meaning, lines that break between words, names that are cut in their middle. The live view,
//! plain lines and every command use it, and nothing else writes colours.

use std::io::IsTerminal;
use std::ops::Range;
use std::os::fd::AsFd;

use ralph_text::sanitize;
use ralph_view::RunStatus;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use textwrap::WordSeparator;
use textwrap::wrap_algorithms::wrap_first_fit;
use unicode_width::UnicodeWidthChar as _;

/// What says nothing by its looks.
pub(crate) const PLAIN: Style = Style::new();
/// What a screen is about.
pub(crate) const TITLE: Style = Style::new().add_modifier(Modifier::BOLD);
/// What passes, works or is verified.
pub(crate) const GOOD: Style = Style::new().fg(Color::Green);
pub(crate) const BAD: Style = Style::new().fg(Color::Red);
/// What a person should look at.
pub(crate) const WARN: Style = Style::new().fg(Color::Yellow);
/// What is under way.
pub(crate) const BUSY: Style = Style::new().fg(Color::Cyan);
/// Names of fields, and what matters less.
pub(crate) const QUIET: Style = Style::new().add_modifier(Modifier::DIM);

/// Narrower terminals wrap by themselves.
const LEAST_WIDTH: usize = 20;

/// Whether text may carry colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    On,
    /// The output is no terminal, or the user wants none (`NO_COLOR`).
    Off,
}

/// What an output can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) colours: Colours,
    /// How many columns a line has; none where a program reads them.
    pub(crate) columns: Option<usize>,
}

impl Look {
    /// For programs: whole lines, no colour.
    pub(crate) const PLAIN: Self = Self { colours: Colours::Off, columns: None };

    /// What an output of this program can show.
    pub(crate) fn of(output: &(impl IsTerminal + AsFd)) -> Self {
        if !output.is_terminal() {
            return Self::PLAIN;
        }
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let colours = if is_set("NO_COLOR") || is_dumb() { Colours::Off } else { Colours::On };
        let size = rustix::termios::tcgetwinsize(output).ok().filter(|size| size.ws_col > 0);
        Self { colours, columns: Some(size.map_or(80, |size| usize::from(size.ws_col))) }
    }

    /// A line as this output shows it, broken where it has to be. Later parts begin in the column `hang`.
    pub(crate) fn lines(self, line: Line<'static>, hang: usize) -> Vec<String> {
        let lines = match self.columns {
            Some(columns) => wrap(line, columns, hang),
            None => vec![line],
        };
        lines.iter().map(|line| ansi(line, self.colours)).collect()
    }
}

/// Whether the terminal can neither move its cursor nor show colours.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}

/// The colour of how a run stands.
pub(crate) const fn of_status(status: RunStatus, verified: bool) -> Style {
    match (status, verified) {
        (RunStatus::Completed, true) => GOOD,
        (RunStatus::Completed, false) | (RunStatus::Interrupted | RunStatus::Waiting, _) => WARN,
        (RunStatus::Running, _) => BUSY,
        (RunStatus::Aborted | RunStatus::Error, _) => BAD,
    }
}

/// The line for a terminal: nothing in it acts but its colours.
pub(crate) fn ansi(line: &Line<'_>, colours: Colours) -> String {
    let mut text = String::new();
    for span in line {
        let codes = if colours == Colours::On { codes(line.style.patch(span.style)) } else { String::new() };
        text.push_str(&codes);
        text.push_str(&sanitize(&span.content));
        text.push_str(if codes.is_empty() { "" } else { "\u{1b}[0m" });
    }
    text
}

fn codes(style: Style) -> String {
    let colour = match style.fg {
        Some(Color::Red) => "\u{1b}[31m",
        Some(Color::Green) => "\u{1b}[32m",
        Some(Color::Yellow) => "\u{1b}[33m",
        Some(Color::Cyan) => "\u{1b}[36m",
        _ => "",
    };
    let is = |modifier, code| if style.add_modifier.contains(modifier) { code } else { "" };
    format!("{}{}{colour}", is(Modifier::BOLD, "\u{1b}[1m"), is(Modifier::DIM, "\u{1b}[2m"))
}

/// What was drawn, as lines without blanks at their ends.
pub(crate) fn drawn(buffer: &Buffer) -> Vec<Line<'static>> {
    let rows = buffer.content().chunks(usize::from(buffer.area.width).max(1));
    let lines = rows.map(|row| {
        let used = row.iter().rposition(|cell| cell.symbol() != " ").map_or(0, |last| last + 1);
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut covered = 0;
        for cell in &row[..used] {
            // A wide character covers the cell after it.
            if covered > 0 {
                covered -= 1;
                continue;
            }
            covered = columns(cell.symbol()).saturating_sub(1);
            match spans.last_mut() {
                Some(span) if span.style == cell.style() => span.content.to_mut().push_str(cell.symbol()),
                Some(_) | None => spans.push(Span::styled(cell.symbol().to_owned(), cell.style())),
            }
        }
        Line::from(spans)
    });
    lines.collect()
}

/// One line of harmless text.
pub(crate) fn flat(text: &str) -> String {
    // A selector for the coloured form of a character makes it wider on some terminals and not on others.
    let kept =
        text.chars().filter(|c| *c != '\u{fe0f}').map(|c| if c == '\t' || c == '\n' || c == '\r' { ' ' } else { c });
    sanitize(&kept.collect::<String>()).into_owned()
}

pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text, or as much of its start as fits, with a mark where it was cut.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mark = if width > 0 { "…" } else { "" };
    text[..end_of(text, width.saturating_sub(1))].to_owned() + mark
}

/// As [`fit`], cut between two words where that keeps at least half of the room.
pub(crate) fn fit_words(text: &str, width: usize) -> String {
    let cut = fit(text, width);
    let Some(kept) = cut.strip_suffix('…').filter(|_| cut != text) else { return cut };
    let is_between = text[kept.len()..].starts_with([' ', ':', ',', '/']);
    let end = kept.rfind(' ').filter(|end| !is_between && columns(&kept[..*end]) >= width / 2);
    format!("{}…", kept[..end.unwrap_or(kept.len())].trim_end_matches([' ', ':', ',']))
}

/// The text, or as much of both ends as fits: names differ at their ends.
pub(crate) fn fit_middle(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let head = fit(text, width.div_ceil(2));
    let left = width.saturating_sub(columns(&head));
    let tail: String = text.chars().rev().collect();
    head + &tail[..end_of(&tail, left)].chars().rev().collect::<String>()
}

/// The byte after the last character that fits.
fn end_of(text: &str, width: usize) -> usize {
    let ends = text.char_indices().scan(0, |used, (at, c)| {
        *used += c.width().unwrap_or(0);
        (*used <= width).then_some(at + c.len_utf8())
    });
    ends.last().unwrap_or(0)
}

/// The line in parts of at most so many columns, broken between words. A word that is longer stays whole: people copy paths.
pub(crate) fn wrap(line: Line<'static>, width: usize, hang: usize) -> Vec<Line<'static>> {
    let text = line.to_string();
    if columns(&text) <= width || width < LEAST_WIDTH {
        return vec![line];
    }
    let hang = hang.min(width - LEAST_WIDTH.min(width / 2));
    let words: Vec<_> = WordSeparator::AsciiSpace.find_words(&text).collect();
    #[expect(clippy::cast_precision_loss, reason = "columns of a terminal")]
    let widths = [width as f64, (width - hang) as f64];
    let mut at = 0;
    let parts = wrap_first_fit(&words, &widths).into_iter().map(|words| {
        let length: usize = words.iter().map(|word| word.word.len() + word.whitespace.len()).sum();
        let blank = words.last().map_or(0, |word| word.whitespace.len());
        let mut spans = part(&line, at..at + length - blank);
        if at > 0 {
            // A long word moves to the left before it leaves the screen.
            let room = width.saturating_sub(spans.iter().map(Span::width).sum());
            spans.insert(0, Span::raw(" ".repeat(hang.min(room))));
        }
        at += length;
        Line::from(spans).style(line.style)
    });
    parts.collect()
}

fn part(line: &Line<'_>, range: Range<usize>) -> Vec<Span<'static>> {
    let mut start = 0;
    let spans = line.iter().filter_map(|span| {
        let (first, last) = (range.start.max(start), range.end.min(start + span.content.len()));
        let cut =
            (first < last).then(|| Span::styled(span.content[first - start..last - start].to_owned(), span.style));
        start += span.content.len();
        cut
    });
    spans.collect()
}

#[cfg(test)]
#[path = "style_tests.rs"]
mod tests;
