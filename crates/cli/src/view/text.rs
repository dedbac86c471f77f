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

/// The text, or as much of both ends as fits.
pub(super) fn fit_middle(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let head = fit(text, room.div_ceil(2) + 1);
    let (mut tail, mut used) = (Vec::new(), columns(&head));
    for c in text.chars().rev() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        tail.push(c);
    }
    head.chars().chain(tail.into_iter().rev()).collect()
}

/// The text in lines that are no wider than so many columns, broken between words; later ones are indented.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    const INDENT: &str = "    ";
    if columns(text) <= width || width < 20 {
        return vec![text.to_owned()];
    }
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        let is_first = line.trim().is_empty();
        if !is_first && columns(&line) + 1 + columns(word) > width {
            lines.push(std::mem::replace(&mut line, format!("{INDENT}{word}")));
        } else {
            line.push_str(if line.is_empty() && lines.is_empty() && word.is_empty() {
                " "
            } else if is_first {
                ""
            } else {
                " "
            });
            line.push_str(word);
        }
    }
    lines.push(line);
    lines
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
