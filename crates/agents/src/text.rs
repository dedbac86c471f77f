//! Reads and bounds texts that others chose, and keeps their names apart from Ralph's own.

use std::collections::VecDeque;

use serde_json::Value;

/// What Ralph calls the evidence of a check, of a report that cannot be used, and of what a stream shows as a whole.
const OWN: [&str; 4] = ["verify", REPORT, "stream", "more"];
pub(crate) const REPORT: &str = "report";

/// The text that a value is; empty where it is none.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The text below a name; empty where there is none.
pub(crate) fn field<'a>(value: &'a Value, name: &str) -> &'a str {
    text(&value[name])
}

/// The whole number below a name; nothing where there is none.
pub(crate) fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or(0)
}

/// The list that a value is; empty where it is none.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Remembers one more; the oldest is forgotten where there are as many as there may be.
pub(crate) fn remember<T>(known: &mut VecDeque<T>, new: T, most: usize) {
    if known.len() == most {
        known.pop_front();
    }
    known.push_back(new);
}

/// The beginning of a text that is longer than it needs to be.
pub(crate) fn short(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The end of a text that is longer than it may be, in bytes.
pub(crate) fn bounded(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.drain(..text.ceil_char_boundary(text.len() - most));
    }
    text
}

/// The text on one line, white space folded.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        let gap = usize::from(!line.is_empty());
        if count + gap + length > most {
            let room = most.saturating_sub(count + gap);
            if gap == 1 {
                line.push(' ');
            }
            line.extend(word.chars().take(room));
            line.push('…');
            break;
        }
        if gap == 1 {
            line.push(' ');
        }
        line.push_str(word);
        count += gap + length;
    }
    line
}

/// A prompt such that its first word is not taken for a command of the program's own.
pub(crate) fn no_command(prompt: &str) -> String {
    if prompt.starts_with('/') { format!("\n{prompt}") } else { prompt.to_owned() }
}

/// Whether a line of a failed call is what the system says where somebody is kept inside. Its own words only, as it writes them:
/// a test about permissions has them in other letters.
pub(crate) fn is_refused_by_sandbox(line: &str) -> bool {
    const WORDS: [&str; 3] = ["EACCES", "EPERM", "EROFS"];
    const SENTENCES: [&str; 3] = ["Permission denied", "Operation not permitted", "Read-only file system"];
    let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let says = || SENTENCES.iter().any(|sentence| line.contains(sentence));
    words.any(|word| WORDS.contains(&word)) || (says() && !line.contains("publickey"))
}

/// The name of a tool as it may stand beside what Ralph itself observed.
pub(crate) fn tool_name(name: String) -> String {
    let is_own = OWN.iter().any(|own| name.trim().eq_ignore_ascii_case(own));
    match name.trim() {
        "" => "tool".to_owned(),
        name if is_own => format!("agent's {name}"),
        _ => name,
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
