//! Text that fits: measured in columns, cut at characters, on one line, inert.

use ralph_text::sanitize;
use unicode_width::UnicodeWidthChar as _;

/// One line of harmless text.
pub(super) fn flat(text: &str) -> String {
    // A selector for the coloured form of a character makes it wider on some terminals and not on others.
    let kept =
        text.chars().filter(|c| *c != '\u{fe0f}').map(|c| if c == '\t' || c == '\n' || c == '\r' { ' ' } else { c });
    sanitize(&kept.collect::<String>()).into_owned()
}

/// How many columns the text takes.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text, or as much of its start as fits, with a mark where it was cut.
pub(super) fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut fitting = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        fitting.push(c);
    }
    if width > 0 {
        fitting.push('…');
    }
    fitting
}

/// Left and right on one line; the left one is cut to make room.
pub(super) fn spread(left: &str, right: &str, width: usize) -> String {
    let room = width.saturating_sub(columns(right) + 2);
    if room < 12 {
        return fit(left, width);
    }
    let left = fit(left, room);
    let gap = width.saturating_sub(columns(&left) + columns(right));
    format!("{left}{}{right}", " ".repeat(gap))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
