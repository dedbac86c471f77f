//! Python, for comparing formats.

use super::{is_directive, name_length, number_length, squeezed};

/// Words that are no values: a bracket after them is no call.
const KEYWORDS: [&str; 27] = [
    "and", "as", "assert", "async", "await", "case", "del", "elif", "else", "except", "for", "from", "if", "import",
    "in", "is", "lambda", "match", "not", "or", "print", "raise", "return", "while", "with", "yield", "exec",
];

/// A bracket that is open.
struct Open {
    /// It follows a value: a call or a subscript.
    after_value: bool,
    mark: char,
    commas: usize,
}

/// Tokens that mean something, with the depth of each logical line; `None` for what is not understood.
pub(crate) fn code(text: &str) -> Option<Vec<String>> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new(), open: Vec::new(), indents: vec![0] };
    lexer.run()?;
    lexer.open.is_empty().then_some(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<String>,
    open: Vec<Open>,
    indents: Vec<usize>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn run(&mut self) -> Option<()> {
        let mut line_starts = true;
        while self.at < self.text.len() {
            if line_starts {
                line_starts = false;
                self.indent()?;
                continue;
            }
            let rest = self.rest();
            let first = rest.chars().next()?;
            match first {
                '\n' => {
                    self.at += 1;
                    // Inside brackets a line goes on.
                    if self.open.is_empty() {
                        line_starts = true;
                        self.end_line();
                    }
                }
                '#' => {
                    let end = rest.find('\n').unwrap_or(rest.len());
                    if is_directive(&rest[..end]) {
                        self.tokens.push(squeezed(&rest[..end]));
                    }
                    self.at += end;
                }
                '\\' if rest.starts_with("\\\n") => self.at += 2,
                '\\' if rest.starts_with("\\\r\n") => self.at += 3,
                c if c.is_whitespace() || c == '\u{feff}' => self.at += c.len_utf8(),
                _ => self.token(rest, first)?,
            }
        }
        self.end_line();
        Some(())
    }

    fn end_line(&mut self) {
        if self.tokens.last().is_some_and(|last| last != "\n") {
            self.tokens.push("\n".to_owned());
        }
    }

    /// Notes how deep a line is, when there is anything on it.
    fn indent(&mut self) -> Option<()> {
        let rest = self.rest();
        let blanks = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\x0c')).count();
        let content = &rest[blanks..];
        self.at += blanks;
        if content.is_empty() || content.starts_with(['\n', '#', '\r']) {
            return Some(());
        }
        let column =
            rest[..blanks].bytes().fold(0, |column, byte| if byte == b'\t' { column / 8 * 8 + 8 } else { column + 1 });
        if self.indents.last().is_some_and(|last| column > *last) {
            self.indents.push(column);
        }
        while self.indents.last().is_some_and(|last| column < *last) {
            self.indents.pop();
        }
        if self.indents.last() != Some(&column) {
            return None;
        }
        self.tokens.push(format!("\t{}", self.indents.len()));
        Some(())
    }

    fn value_before(&self) -> bool {
        self.tokens.last().is_some_and(|last| {
            !KEYWORDS.contains(&last.as_str())
                && !last.starts_with('\t')
                && last.chars().next_back().is_some_and(|c| c == '_' || c.is_alphanumeric() || ")]}\"'".contains(c))
        })
    }

    fn token(&mut self, rest: &'a str, first: char) -> Option<()> {
        if let Some((token, length)) = string(rest)? {
            self.tokens.push(token);
            self.at += length;
            return Some(());
        }
        let length = match first {
            '(' | '[' | '{' => {
                self.open.push(Open { after_value: self.value_before(), mark: first, commas: 0 });
                1
            }
            ')' | ']' | '}' => {
                let open = self.open.pop()?;
                let matching = matches!((open.mark, first), ('(', ')') | ('[', ']') | ('{', '}'));
                if !matching {
                    return None;
                }
                // In `(1,)` and `x[1,]` the comma makes a tuple.
                let means_nothing = match open.mark {
                    '(' => open.after_value || open.commas > 1,
                    '[' => !open.after_value || open.commas > 1,
                    _ => true,
                };
                if means_nothing && self.tokens.last().is_some_and(|last| last == ",") {
                    self.tokens.pop();
                }
                1
            }
            ',' => {
                if let Some(open) = self.open.last_mut() {
                    open.commas += 1;
                }
                1
            }
            c if c.is_ascii_digit() => number_length(rest),
            c if c == '_' || c.is_alphabetic() => name_length(rest, &[]),
            c => c.len_utf8(),
        };
        self.tokens.push(rest[..length].to_owned());
        self.at += length;
        Some(())
    }
}

/// The string that a text begins with, and its length; nothing when it begins with something else, `None` when it is not
/// closed.
fn string(text: &str) -> Option<Option<(String, usize)>> {
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (prefix, body) = text.split_at(letters);
    let known = matches!(
        prefix.to_lowercase().as_str(),
        "" | "r" | "b" | "u" | "f" | "t" | "br" | "rb" | "fr" | "rf" | "tr" | "rt"
    );
    let Some(quote) = body.chars().next().filter(|c| known && matches!(c, '"' | '\'')) else { return Some(None) };
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let fence = if body.starts_with(&triple) { triple.as_str() } else { &triple[..1] };
    let mut at = fence.len();
    let bytes = body.as_bytes();
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            b'\n' if fence.len() == 1 => return None,
            _ if body.get(at..).is_some_and(|rest| rest.starts_with(fence)) => break,
            _ => at += 1,
        }
    }
    let content = body.get(fence.len()..at)?;
    let length = letters + at + fence.len();
    // Which quotes there are means nothing unless something depends on them.
    let plain = fence.len() == 1 && !content.contains(['"', '\'', '\\', '{']);
    let written = if plain { format!("{prefix}\"{content}\"") } else { text.get(..length)?.to_owned() };
    Some(Some((written, length)))
}
