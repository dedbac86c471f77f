//! JavaScript and TypeScript, for comparing formats.

use super::{end_of_quoted, is_directive, name_length, number_length, squeezed};

/// Words after which a slash begins a regular expression and a `<` an element.
const OPERATORS: [&str; 18] = [
    "return",
    "typeof",
    "instanceof",
    "in",
    "of",
    "new",
    "delete",
    "void",
    "throw",
    "case",
    "do",
    "else",
    "yield",
    "await",
    "default",
    "extends",
    "as",
    "satisfies",
];
/// Words that never begin a statement.
const INFIX: [&str; 9] = ["in", "of", "instanceof", "as", "satisfies", "else", "catch", "finally", "while"];
/// Words that a line break ends.
const RESTRICTED: [&str; 5] = ["return", "break", "continue", "throw", "yield"];
/// How deep templates may be nested.
const MAX_DEPTH: usize = 20;

#[derive(Debug, Default)]
struct Between {
    line_break: bool,
    semicolon: bool,
}

/// Tokens that mean something; `None` for what is not understood, elements of JSX among it.
pub(crate) fn code(text: &str) -> Option<Vec<String>> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new() };
    let mut between = Between::default();
    // A line that is for the kernel.
    if text.starts_with("#!") {
        lexer.at = text.find('\n').unwrap_or(text.len());
    }
    while lexer.at < text.len() {
        if !lexer.blank(&mut between)? {
            let token = lexer.token()?;
            lexer.separate(&between, &token);
            between = Between::default();
            lexer.tokens.push(token);
        }
    }
    Some(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<String>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips one blank, comment or semicolon; whether there was one.
    fn blank(&mut self, between: &mut Between) -> Option<bool> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        if first.is_whitespace() || first == '\u{feff}' {
            between.line_break |= matches!(first, '\n' | '\u{2028}' | '\u{2029}');
            self.at += first.len_utf8();
        } else if first == ';' {
            between.semicolon = true;
            self.at += 1;
        } else if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            self.comment(&rest[..end]);
            self.at += end;
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/")? + 4;
            between.line_break |= rest[..end].contains('\n');
            self.comment(&rest[..end]);
            self.at += end;
        } else {
            return Some(false);
        }
        Some(true)
    }

    fn comment(&mut self, comment: &str) {
        if is_directive(comment) {
            self.tokens.push(squeezed(comment));
        }
    }

    /// Marks the end of a statement where there certainly is one.
    fn separate(&mut self, between: &Between, next: &str) {
        let Some(last) = self.tokens.last() else { return };
        // A comma before a closing bracket means nothing, except in `[,]`.
        if last == "," && matches!(next, ")" | "]" | "}") {
            let before = self.tokens.len().checked_sub(2).and_then(|at| self.tokens.get(at)).map_or("", String::as_str);
            if !matches!(before, "," | "[" | "(" | "{") {
                self.tokens.pop();
            }
            return;
        }
        let ends = if between.semicolon {
            next != "}"
        } else if between.line_break {
            RESTRICTED.contains(&last.as_str()) || (self.operand_before() && starts_statement(next))
        } else {
            false
        };
        if ends {
            self.tokens.push(";".to_owned());
        }
    }

    /// Whether the last token ends a value, so that an operator may follow.
    fn operand_before(&self) -> bool {
        self.tokens.last().is_some_and(|last| {
            !OPERATORS.contains(&last.as_str())
                && last.chars().next_back().is_some_and(|c| {
                    c.is_alphanumeric()
                        || matches!(c, '_' | '$' | ')' | ']' | '}' | '"' | '`')
                        || (c == '/' && last.len() > 1)
                })
        })
    }

    fn token(&mut self) -> Option<String> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        let length = match first {
            '\'' | '"' => {
                let end = end_of_quoted(&rest[1..], first)?;
                self.at += end + 2;
                return Some(unquoted(&rest[1..=end]));
            }
            '`' => template(rest, 0)?,
            '/' if !self.operand_before() || self.tokens.last().is_some_and(|last| last == "}") => regular(rest)?,
            '<' if !self.operand_before() => return None,
            c if c.is_ascii_digit() => number_length(rest),
            c if c == '_' || c == '$' || c.is_alphabetic() => name_length(rest, &['$']),
            c => c.len_utf8(),
        };
        self.at += length;
        Some(rest[..length].to_owned())
    }
}

fn starts_statement(token: &str) -> bool {
    !INFIX.contains(&token)
        && token.chars().next().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '"' | '@' | '#'))
}

/// A string in double quotes whatever its quotes were.
fn unquoted(content: &str) -> String {
    format!("\"{}\"", content.replace("\\'", "'").replace("\\\"", "\""))
}

fn regular(text: &str) -> Option<usize> {
    let mut class = false;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '/' if !class => {
                let flags = text[at + 1..].bytes().take_while(u8::is_ascii_alphabetic).count();
                return Some(at + 1 + flags);
            }
            _ => {}
        }
    }
    None
}

/// Bytes of a template, what it holds included.
fn template(text: &str, depth: usize) -> Option<usize> {
    if depth > MAX_DEPTH {
        return None;
    }
    let bytes = text.as_bytes();
    let mut at = 1;
    let mut braces = 0_usize;
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            b'`' if braces == 0 => return Some(at + 1),
            b'`' => at += template(text.get(at..)?, depth + 1)?,
            b'$' if braces == 0 && bytes.get(at + 1) == Some(&b'{') => {
                braces = 1;
                at += 2;
            }
            b'{' if braces > 0 => {
                braces += 1;
                at += 1;
            }
            b'}' if braces > 0 => {
                braces -= 1;
                at += 1;
            }
            quote @ (b'"' | b'\'') if braces > 0 => at += end_of_quoted(text.get(at + 1..)?, quote as char)? + 2,
            _ => at += 1,
        }
    }
}
