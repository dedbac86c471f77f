//! Paints the view in place on a terminal. Uses no alternate screen and hides nothing: what was painted last stays
//! readable above the prompt, and lasting lines scroll up like any other output.

use std::io::{self, Write};

use crossterm::cursor::{MoveToColumn, MoveUp};
use crossterm::queue;
use crossterm::terminal::{Clear, ClearType};
use ralph_model::Timestamp;
use ratatui_core::text::Line;

use crate::style::{Colours, Look, ansi, drawn};

use super::scene::Scene;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

#[derive(Debug)]
pub(super) struct Painter<W: Write> {
    out: W,
    colours: Colours,
    /// The columns of each line that stands on the screen.
    painted: Vec<usize>,
}

impl<W: Write> Painter<W> {
    pub(super) fn new(out: W, colours: Colours) -> Self {
        Self { out, colours, painted: Vec::new() }
    }

    /// Prints a line while no view is painted.
    pub(super) fn print(&mut self, line: &str) -> io::Result<()> {
        self.out.write_all(format!("{line}\r\n").as_bytes())?;
        self.out.flush()
    }

    /// Paints the scene anew, below lines that stay.
    pub(super) fn paint(
        &mut self,
        lasting: Vec<Line<'static>>,
        scene: &Scene,
        size: Size,
        now: Timestamp,
    ) -> io::Result<()> {
        // The last column stays free: some terminals wrap as soon as it is used.
        let width = size.columns.saturating_sub(1).max(1);
        let lines = drawn(&scene.panel(width, now).drawn(width, size.rows.saturating_sub(1).max(1)));
        let look = Look { colours: self.colours, columns: Some(width) };
        // One write for all of it, so that the screen never shows half a view.
        let mut text: Vec<u8> = Vec::new();
        self.erase(&mut text, size)?;
        for line in lasting.into_iter().flat_map(|line| look.lines(line, 4)) {
            text.extend_from_slice(line.as_bytes());
            text.extend_from_slice(b"\r\n");
        }
        self.painted = lines.iter().map(Line::width).collect();
        let lines: Vec<String> = lines.iter().map(|line| ansi(line, self.colours)).collect();
        text.extend_from_slice(lines.join("\r\n").as_bytes());
        // The terminal shows a pressed Ctrl-C where the cursor is. At the end of a full line it would wrap, and nobody would
        // know that the view begins a row higher.
        text.push(b'\r');
        self.out.write_all(&text)?;
        self.out.flush()
    }

    /// Goes from the start of the last line to where the view began and clears from there. A terminal that became narrower
    /// has wrapped its lines.
    fn erase(&self, text: &mut Vec<u8>, size: Size) -> io::Result<()> {
        let above = self.painted.split_last().map_or(&[][..], |(_, above)| above);
        let rows: usize = above.iter().map(|width| width.div_ceil(size.columns.max(1)).max(1)).sum();
        let up = rows.min(size.rows.saturating_sub(1));
        if let Ok(up @ 1..) = u16::try_from(up) {
            queue!(text, MoveUp(up))?;
        }
        queue!(text, MoveToColumn(0), Clear(ClearType::FromCursorDown))
    }
}

impl<W: Write> Drop for Painter<W> {
    fn drop(&mut self) {
        // The cursor goes below the view, so that whatever comes next does not write into it. A terminal that is gone
        // needs no such care.
        if !self.painted.is_empty() {
            let _ = self.out.write_all(b"\x1b[0m\r\n").and_then(|()| self.out.flush());
        }
    }
}

#[cfg(test)]
#[path = "painter_tests.rs"]
mod tests;
