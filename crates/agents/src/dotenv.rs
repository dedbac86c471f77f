//! Reads `.env` files as the package does that Gemini CLI reads them with. Pure: sets no variable, expands nothing.

/// Quotes that a value can stand in.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The variables of a `.env` file, in their order.
#[must_use]
pub fn variables(text: &str) -> Vec<(String, String)> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut found = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        match assignment(rest) {
            Some((name, value, left)) => {
                found.push((name, value));
                rest = left;
            }
            None => rest = line(rest).1,
        }
    }
    found
}

/// Every name that could be one of a variable in a `.env` file, and some that are none: for callers that need all of them.
pub(crate) fn possible_names(text: &str) -> Vec<String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let word = &rest[start..];
        let (name, left) = word.split_at(word.find(|character| !is_part(character)).unwrap_or(word.len()));
        if left.trim_start().starts_with(['=', ':']) {
            names.push(name.to_owned());
        }
        rest = left;
    }
    names
}

/// A name, its value, and what follows their line.
fn assignment(text: &str) -> Option<(String, String, &str)> {
    let text = text.trim_start();
    let text = match text.strip_prefix("export") {
        Some(after) if after.starts_with(char::is_whitespace) => after.trim_start(),
        _ => text,
    };
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_.-".contains(c)))?;
    let (name, rest) = text.split_at(end);
    let rest = match (rest.trim_start().strip_prefix('='), rest.strip_prefix(':')) {
        _ if name.is_empty() => return None,
        (Some(value), _) => value,
        (None, Some(value)) if value.starts_with(char::is_whitespace) => value,
        (None, _) => return None,
    };
    let (value, left) = quoted(rest.trim_start()).unwrap_or_else(|| {
        let (this, left) = line(rest);
        let value = this.split('#').next().unwrap_or(this).trim();
        let escapes = value.starts_with('"');
        (expanded(unwrapped(value), escapes), left)
    });
    Some((name.to_owned(), value, left))
}

/// A value in quotes, which may go over several lines, where nothing but a comment follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|first| QUOTES.contains(first))?;
    let mut escaped = false;
    let end = text.char_indices().skip(1).find_map(|(at, character)| {
        let closes = character == quote && !escaped;
        escaped = character == '\\' && !escaped;
        closes.then_some(at)
    })?;
    let (behind, left) = line(&text[end + 1..]);
    let behind = behind.trim();
    if !behind.is_empty() && !behind.starts_with('#') {
        return None;
    }
    Some((expanded(&text[1..end], quote == '"'), left))
}

/// A value with the breaks of lines that double quotes allow.
fn expanded(value: &str, escapes: bool) -> String {
    if escapes { value.replace("\\n", "\n").replace("\\r", "\r") } else { value.to_owned() }
}

/// A value without the quotes around it.
fn unwrapped(value: &str) -> &str {
    let inside = |quote: &char| value.strip_prefix(*quote)?.strip_suffix(*quote);
    QUOTES.iter().find_map(inside).unwrap_or(value)
}

/// The first line, and the others.
fn line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

#[cfg(test)]
#[path = "dotenv_tests.rs"]
mod tests;
