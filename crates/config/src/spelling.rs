//! How a caller writes the name of a key: as a flag, in a file, or in JSON.

use ralph_model::ConfigError;

use crate::Key;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `--max`
    Flag,
    /// `max_iterations`
    File,
    /// `maxIterations`
    Json,
}

/// What belongs to a request and to no file, as a flag.
const REQUEST: [(&str, &str); 6] = [
    ("objective", "OBJECTIVE"),
    ("request", "REQUEST"),
    ("workspace", "--workspace"),
    ("race", "--race"),
    ("older_than", "--older-than"),
    ("state_home", "RALPH_HOME"),
];

impl Spelling {
    /// The name of a key; none for what is no key.
    pub fn name(self, key: &str) -> Option<String> {
        let (name, flag) = match REQUEST.iter().find(|(name, _)| *name == key) {
            Some((name, flag)) => (*name, Some(*flag)),
            None => Key::ALL.iter().find(|known| known.name() == key).map(|known| (known.name(), known.flag()))?,
        };
        Some(match (self, flag) {
            (Self::Flag, Some(flag)) => flag.to_owned(),
            (Self::Json, _) => camel_case(name),
            (Self::Flag | Self::File, _) => name.to_owned(),
        })
    }

    /// A text in which keys are named as `@key`.
    pub fn text(self, text: &str) -> String {
        let mut spelled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('@') {
            let end = after.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(after.len());
            spelled.push_str(before);
            match self.name(&after[..end]) {
                Some(name) => spelled.push_str(&name),
                None => {
                    spelled.push('@');
                    spelled.push_str(&after[..end]);
                }
            }
            rest = &after[end..];
        }
        spelled + rest
    }

    /// A broken rule, as the caller writes its keys.
    pub fn rule(self, error: &ConfigError) -> String {
        let key = self.name(error.key).unwrap_or_else(|| self.text(error.key));
        let allowed = self.text(&error.allowed);
        // People read several ways out one after the other.
        let allowed = match allowed.matches("; ").count() {
            2.. if self == Self::Flag => format!("\n    {}", allowed.replace("; ", "\n    ")),
            _ => format!(" {allowed}"),
        };
        format!("{}\n  allowed:{allowed}", self.text(&error.sentence(&key)))
    }
}

/// `max_iterations` as `maxIterations`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut upper = false;
    let mut text = String::new();
    for c in name.chars() {
        if c == '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            text.push(c.to_ascii_uppercase());
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
#[path = "spelling_tests.rs"]
mod tests;
