//! JSON whose members keep their order, because in `exports` the order counts. Bounded in depth.

/// How deep values may be nested.
const MAX_DEPTH: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    /// `null`, `true`, `false` or a number, as written.
    Plain(String),
    /// A string, as written between its quotes: what is never decoded cannot be decoded differently by others.
    Text(String),
    /// `[…]`
    List(Vec<Json>),
    /// `{…}`: keys as written, in order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a whole text; `None` when it is not JSON.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text) };
        let value = reader.value(0)?;
        reader.blanks();
        reader.rest.is_empty().then_some(value)
    }

    /// The member of an object that counts: of several by the same name the last.
    pub(crate) fn member<'a>(members: &'a [(String, Self)], name: &str) -> Option<&'a Self> {
        members.iter().rev().find(|(key, _)| decoded(key) == name).map(|(_, value)| value)
    }

    /// A member of this value, when it is an object and has it.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => Self::member(members, name),
            Self::Plain(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// Keys of an object, decoded, in order; empty for everything else.
    pub(crate) fn keys(&self) -> Vec<String> {
        match self {
            Self::Object(members) => members.iter().map(|(key, _)| decoded(key)).collect(),
            Self::Plain(_) | Self::Text(_) | Self::List(_) => Vec::new(),
        }
    }

    /// Puts a member in place of the one by that name, or at the end; `None` takes it out.
    pub(crate) fn set(&mut self, name: &str, value: Option<Self>) {
        let Self::Object(members) = self else { return };
        match (members.iter().rposition(|(key, _)| decoded(key) == name), value) {
            (Some(at), Some(value)) => members[at].1 = value,
            (None, Some(value)) => members.push((encoded(name), value)),
            (_, None) => members.retain(|(key, _)| decoded(key) != name),
        }
    }

    pub(crate) fn as_text(&self) -> Option<String> {
        match self {
            Self::Text(raw) => Some(decoded(raw)),
            Self::Plain(_) | Self::List(_) | Self::Object(_) => None,
        }
    }

    /// Whether two values mean the same: the order of members does not count, escapes are read.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(a), Self::Plain(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => decoded(a) == decoded(b),
            (Self::List(a), Self::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Self::Object(_), Self::Object(_)) => {
                let (mut ours, mut theirs) = (self.keys(), other.keys());
                ours.sort();
                theirs.sort();
                ours == theirs
                    && ours.iter().all(|key| match (self.get(key), other.get(key)) {
                        (Some(a), Some(b)) => a.same(b),
                        _ => false,
                    })
            }
            _ => false,
        }
    }

    /// Writes it, indented by two.
    pub(crate) fn write(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out, 0);
        out.push('\n');
        out
    }

    fn write_to(&self, out: &mut String, depth: usize) {
        let indent = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        match self {
            Self::Plain(text) => out.push_str(text),
            Self::Text(raw) => {
                out.push('"');
                out.push_str(raw);
                out.push('"');
            }
            Self::List(values) => {
                out.push('[');
                for (at, value) in values.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    value.write_to(out, depth + 1);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    indent(out, depth + 1);
                    out.push('"');
                    out.push_str(key);
                    out.push_str("\": ");
                    value.write_to(out, depth + 1);
                }
                if !members.is_empty() {
                    indent(out, depth);
                }
                out.push('}');
            }
        }
    }
}

/// A string without its escapes. A lone surrogate is not text and becomes a replacement character.
fn decoded(raw: &str) -> String {
    if !raw.contains('\\') {
        return raw.to_owned();
    }
    let mut units: Vec<u16> = Vec::new();
    let mut characters = raw.chars();
    while let Some(c) = characters.next() {
        let c = match c {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('u') => {
                    let digits: String = characters.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xfffd));
                    continue;
                }
                Some(other) => other,
                None => break,
            },
            other => other,
        };
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16_lossy(&units)
}

fn encoded(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, what: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(what)?;
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.blanks();
        match self.rest.chars().next()? {
            '"' => self.string().map(|raw| Json::Text(raw.to_owned())),
            '[' => self.list(depth),
            '{' => self.object(depth),
            _ => self.plain(),
        }
    }

    fn plain(&mut self) -> Option<Json> {
        let end =
            self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        let known = matches!(word, "null" | "true" | "false");
        let number =
            || word.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) && word.parse::<f64>().is_ok();
        (known || number()).then(|| Json::Plain(word.to_owned()))
    }

    fn string(&mut self) -> Option<&'a str> {
        self.take('"')?;
        let mut escaped = false;
        for (at, byte) in self.rest.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    let (raw, rest) = self.rest.split_at(at);
                    self.rest = &rest[1..];
                    return Some(raw);
                }
                0..0x20 => return None,
                _ => {}
            }
        }
        None
    }

    fn list(&mut self, depth: usize) -> Option<Json> {
        self.take('[')?;
        let mut values = Vec::new();
        self.blanks();
        if self.take(']').is_some() {
            return Some(Json::List(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            self.blanks();
            if self.take(']').is_some() {
                return Some(Json::List(values));
            }
            self.take(',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.take('{')?;
        let mut members = Vec::new();
        self.blanks();
        if self.take('}').is_some() {
            return Some(Json::Object(members));
        }
        loop {
            self.blanks();
            let key = self.string()?.to_owned();
            self.blanks();
            self.take(':')?;
            members.push((key, self.value(depth + 1)?));
            self.blanks();
            if self.take('}').is_some() {
                return Some(Json::Object(members));
            }
            self.take(',')?;
        }
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
