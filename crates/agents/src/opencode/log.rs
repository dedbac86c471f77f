//! A line of OpenCode's log: `timestamp=… level=INFO run=… message="stream error" session.id=… error.error="…"`.

/// Fields of one line that are read. No line of the program has as many.
const MAX_FIELDS: usize = 64;

/// The fields of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    fields: Vec<(String, String)>,
}

impl Entry {
    /// Reads a line, unless it is none of the log's.
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut rest = line.strip_prefix("timestamp=").map(|_| line)?;
        let mut fields = Vec::new();
        while fields.len() < MAX_FIELDS {
            rest = rest.trim_start();
            let Some((name, back)) = rest.split_once('=') else { break };
            let (value, back) = value(back);
            fields.push((name.to_owned(), value));
            rest = back;
        }
        Some(Self { fields })
    }

    /// A field; what is absent is empty.
    pub(super) fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// All that fields below a name say, such as `error.type` and `error.message` below `error`.
    pub(super) fn below(&self, name: &str) -> String {
        let below = self.fields.iter().filter(|(known, _)| known.strip_prefix(name).is_some_and(is_below));
        below.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(": ")
    }
}

fn is_below(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('.')
}

/// A value at the beginning of a text, and what comes after it. One that is quoted may end with the line.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(' ').unwrap_or(text.len());
        let (plain, back) = text.split_at(end);
        return (plain.to_owned(), back);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, quoted.get(at + 1..).unwrap_or("")),
            '\\' => match characters.next() {
                Some((_, 'n' | 't' | 'r')) => value.push(' '),
                Some((_, escaped)) => value.push(escaped),
                None => break,
            },
            plain => value.push(plain),
        }
    }
    (value, "")
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
