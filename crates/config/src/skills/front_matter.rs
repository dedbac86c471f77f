//! The head of a `SKILL.md`: the small part of YAML that such files use. Other tools put keys of their own there, so
//! what is not known is passed over.

use std::collections::BTreeMap;

/// Keys and values between two lines of `---`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    values: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    List(Vec<String>),
}

impl FrontMatter {
    /// Splits a file into its head and the text after it. A file without a head is all text.
    pub fn split(file: &str) -> Result<(Self, &str), String> {
        let file = file.strip_prefix('\u{feff}').unwrap_or(file);
        let mut rest = file;
        if next_line(&mut rest) != Some("---") {
            return Ok((Self::default(), file));
        }
        let mut lines = Vec::new();
        loop {
            match next_line(&mut rest) {
                Some("---") => return Ok((Self::parse(&lines), rest)),
                Some(line) => lines.push(line),
                None => return Err("its front matter has no end: add a line `---` after it".to_owned()),
            }
        }
    }

    /// The text of a key, when it has one that is not empty.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.values.get(key)? {
            Value::Text(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            Value::List(_) => None,
        }
    }

    /// The list of a key; a single text is a list of one.
    pub fn list(&self, key: &str) -> Vec<String> {
        match self.values.get(key) {
            Some(Value::List(items)) => items.clone(),
            Some(Value::Text(text)) if !text.is_empty() => vec![text.clone()],
            Some(Value::Text(_)) | None => Vec::new(),
        }
    }

    fn parse(lines: &[&str]) -> Self {
        let mut values = BTreeMap::new();
        let mut at = 0;
        while at < lines.len() {
            let line = lines[at];
            at += 1;
            let belongs =
                |line: &&&str| line.trim().is_empty() || line.starts_with([' ', '\t']) || line.starts_with("- ");
            let block: Vec<&str> = lines[at..].iter().take_while(belongs).map(|line| line.trim()).collect();
            at += block.len();
            if line.starts_with([' ', '\t', '#']) {
                continue;
            }
            let Some((key, value)) = line.split_once(':') else { continue };
            values.insert(key.trim().to_owned(), Self::value(value.trim(), &block));
        }
        Self { values }
    }

    fn value(inline: &str, block: &[&str]) -> Value {
        let items: Vec<String> = block.iter().filter_map(|line| line.strip_prefix("- ")).map(unquote).collect();
        match inline {
            "" if !items.is_empty() => Value::List(items),
            // `>` folds lines into one and `|` keeps them; a plain text may go on in indented lines.
            "|" | "|-" | "|+" => Value::Text(block.join("\n").trim().to_owned()),
            "" | ">" | ">-" | ">+" => Value::Text(folded(block)),
            list if list.starts_with('[') && list.ends_with(']') => {
                Value::List(inline_items(&list[1..list.len() - 1]).filter(|item| !item.is_empty()).collect())
            }
            text if block.iter().all(|line| line.is_empty()) => Value::Text(unquote(text)),
            text => Value::Text(unquote(&format!("{text} {}", folded(block)))),
        }
    }
}

fn folded(block: &[&str]) -> String {
    block.iter().filter(|line| !line.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

/// The items of an inline list: a comma inside quotes belongs to its item.
fn inline_items(list: &str) -> impl Iterator<Item = String> {
    let (mut quote, mut is_start) = (None, true);
    list.split(move |c: char| {
        match quote {
            None if is_start && matches!(c, '"' | '\'') => quote = Some(c),
            Some(open) if c == open => quote = None,
            _ => {}
        }
        let is_end = c == ',' && quote.is_none();
        is_start = is_end || (is_start && c == ' ');
        is_end
    })
    .map(unquote)
}

fn unquote(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner.to_owned();
        }
    }
    // A comment after a plain value begins with a blank and a hash.
    text.split_once(" #").map_or(text, |(value, _)| value.trim_end()).to_owned()
}

/// Takes one line, without its end and without blanks after it.
fn next_line<'a>(rest: &mut &'a str) -> Option<&'a str> {
    if rest.is_empty() {
        return None;
    }
    let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
    *rest = after;
    Some(line.trim_end())
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
