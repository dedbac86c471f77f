//! What a command shows: lines, named fields and tables, laid out for the width of the output they go to.

use ralph_model::{Millis, Money};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use crate::screen::dollars;
use crate::style::{Look, PLAIN, QUIET, TITLE, ansi, columns, fit, fit_middle};

/// The width of the names of fields.
const NAMES: usize = 11;
/// A last column that would be narrower gets lines of its own.
const LEAST_WORDS: usize = 24;
/// The same for a text that is cut.
const LEAST_CUT: usize = 16;
/// What programs get of a text that is cut.
const MAX_CUT: usize = 50;
/// Names are cut to no less.
const LEAST_NAME: usize = 8;
/// Where a last column begins that has lines of its own.
const BELOW: usize = 4;
/// Between two columns.
const GAP: usize = 2;

#[derive(Debug, Default)]
pub(crate) struct Page(Vec<Block>);

#[derive(Debug)]
enum Block {
    Line(Line<'static>, usize),
    Whole(Line<'static>),
    Table(Table),
}

impl Page {
    /// Adds a line. What does not fit continues two columns to the right of its beginning.
    pub(crate) fn line(&mut self, line: impl Into<Line<'static>>) {
        let line = line.into();
        let indent = line.to_string().bytes().take_while(|byte| *byte == b' ').count();
        self.0.push(Block::Line(line, indent + 2));
    }

    /// Adds a line whose continuation begins in the column `hang`.
    pub(crate) fn hanging(&mut self, hang: usize, line: impl Into<Line<'static>>) {
        self.0.push(Block::Line(line.into(), hang));
    }

    /// Adds a line that is never broken.
    pub(crate) fn whole(&mut self, line: impl Into<Line<'static>>) {
        self.0.push(Block::Whole(line.into()));
    }

    /// Adds a line for each of a text.
    pub(crate) fn text(&mut self, indent: usize, text: &str, style: Style) {
        for line in text.lines() {
            self.0.push(Block::Line(Line::styled(format!("{:indent$}{line}", ""), style), indent));
        }
    }

    /// Adds a value with its name; a value of several lines stays one block.
    pub(crate) fn field(&mut self, name: &str, value: &str, style: Style) {
        for (number, part) in value.lines().enumerate() {
            let name = if number == 0 { name } else { "" };
            let name = Span::styled(format!("  {name:NAMES$}"), QUIET);
            self.0.push(Block::Line(Line::from(vec![name, Span::styled(part.to_owned(), style)]), NAMES + 2));
        }
    }

    pub(crate) fn table(&mut self, table: Table) {
        self.0.push(Block::Table(table));
    }

    pub(crate) fn lines(self, look: Look) -> Vec<String> {
        let block = |block| match block {
            Block::Line(line, hang) => look.lines(line, hang),
            Block::Whole(line) => vec![ansi(&line, look.colours)],
            Block::Table(table) => table.lines(look),
        };
        self.0.into_iter().flat_map(block).collect()
    }
}

impl From<Table> for Page {
    fn from(table: Table) -> Self {
        Self(vec![Block::Table(table)])
    }
}

/// How the cells of a column are placed, and what becomes of them where there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// They stay whole.
    Left,
    /// Figures: they stay whole, at the right.
    Right,
    /// Names: cut in the middle.
    Name,
    /// The last column: cut at the end.
    Cut,
    /// The last column: wrapped, or on lines of their own below the row.
    Words,
}

#[derive(Debug)]
pub(crate) struct Table {
    fits: Vec<Fit>,
    has_head: bool,
    rows: Vec<Vec<Span<'static>>>,
}

impl Table {
    /// A table with titles; where all are empty it has none.
    pub(crate) fn new<const N: usize>(titles: [(&'static str, Fit); N]) -> Self {
        let fits = titles.iter().map(|(_, fit)| *fit).collect();
        let head: Vec<Span<'static>> =
            titles.iter().map(|(title, _)| Span::styled(*title, QUIET.patch(TITLE))).collect();
        let has_head = titles.iter().any(|(title, _)| !title.is_empty());
        Self { fits, has_head, rows: if has_head { vec![head] } else { Vec::new() } }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [Span<'static>; N]) {
        self.rows.push(cells.into());
    }

    fn lines(mut self, look: Look) -> Vec<String> {
        let last = self.fits.len().saturating_sub(1);
        if self.fits[last] == Fit::Cut && look.columns.is_none() {
            self.rows.iter_mut().for_each(|row| row[last].content = fit(&row[last].content, MAX_CUT).into());
        }
        let widest = |place: usize| self.rows.iter().map(|row| columns(&row[place].content)).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..self.fits.len()).map(widest).collect();
        let mut is_below = false;
        if let Some(room) = look.columns {
            let over = |widths: &[usize]| (widths.iter().sum::<usize>() + GAP * last).saturating_sub(room);
            let spare = match self.fits[last] {
                Fit::Words => widths[last].saturating_sub(LEAST_WORDS),
                Fit::Cut => widths[last].saturating_sub(LEAST_CUT),
                Fit::Left | Fit::Right | Fit::Name => 0,
            };
            for place in (0..widths.len()).filter(|place| self.fits[*place] == Fit::Name) {
                let excess = over(&widths).saturating_sub(spare);
                widths[place] -= excess.min(widths[place].saturating_sub(LEAST_NAME));
            }
            is_below = matches!(self.fits[last], Fit::Words | Fit::Cut) && over(&widths) > spare;
            widths[last] = widths[last].saturating_sub(over(&widths));
            if is_below {
                widths[last] = room.saturating_sub(BELOW);
            }
        }
        let hang = if is_below { BELOW } else { widths[..last].iter().map(|width| width + GAP).sum() };
        let mut lines = Vec::new();
        for (number, mut row) in self.rows.into_iter().enumerate() {
            let below = if is_below { row.pop() } else { None };
            let mut spans = Vec::new();
            for ((cell, fits), width) in row.into_iter().zip(&self.fits).zip(&widths) {
                let text = shortened(&cell.content, *fits, *width);
                let pad = Span::raw(" ".repeat(width.saturating_sub(columns(&text))));
                let text = Span::styled(text, cell.style);
                spans.extend(if *fits == Fit::Right { [pad, text] } else { [text, pad] });
                spans.push(Span::raw(" ".repeat(GAP)));
            }
            // Blanks at the end are no part of the line.
            while spans.last().is_some_and(|span| span.content.trim().is_empty()) {
                spans.pop();
            }
            lines.extend(look.lines(Line::from(spans), hang));
            if let Some(cell) = below.filter(|cell| !cell.content.is_empty() && (number > 0 || !self.has_head)) {
                let text = format!("{:BELOW$}{}", "", shortened(&cell.content, self.fits[last], widths[last]));
                lines.extend(look.lines(Line::styled(text, cell.style), BELOW));
            }
        }
        lines
    }
}

fn shortened(text: &str, fits: Fit, width: usize) -> String {
    match fits {
        Fit::Name => fit_middle(text, width),
        Fit::Cut => fit(text, width),
        Fit::Left | Fit::Right | Fit::Words => text.to_owned(),
    }
}

/// What something cost, in a table; a dash where nothing was counted.
pub(crate) fn cost(amount: Money) -> String {
    if amount == Money::ZERO { "-".to_owned() } else { dollars(amount) }
}

/// How long ago something was, in a table: one unit is enough.
pub(crate) fn age(time: Millis) -> String {
    match time.0 / 1000 {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..172_800 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// A cell without a meaning of its own.
pub(crate) fn cell(text: impl Into<String>) -> Span<'static> {
    Span::styled(text.into(), PLAIN)
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
