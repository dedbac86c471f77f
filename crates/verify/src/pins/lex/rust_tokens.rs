//! Tokens of Rust.

/// A token: what is neither blank nor comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What kind of token it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or keyword, raw ones too.
    Name,
    /// `'a`
    Lifetime,
    /// A string, character or number.
    Literal,
    /// One character of punctuation: `>>` are two, so that nobody has to take them apart.
    Mark,
}

/// All tokens of a text; `None` when a string, character or comment is not closed.
pub(crate) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut lexer = Lexer { text, at: 0 };
    // A first line `#!…` is for the kernel, unless it is `#![…]`.
    if text.starts_with("#!") && !text[2..].trim_start().starts_with('[') {
        lexer.skip_line();
    }
    let mut tokens = Vec::new();
    while lexer.blanks()? {
        let start = lexer.at;
        let kind = lexer.token()?;
        tokens.push(Token { kind, start, end: lexer.at });
    }
    Some(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// Skips blanks and comments; whether anything follows, or `None` when a comment is not closed.
    fn blanks(&mut self) -> Option<bool> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.skip_line();
            } else if trimmed.starts_with("/*") {
                self.block_comment()?;
            } else {
                return Some(!trimmed.is_empty());
            }
        }
    }

    fn block_comment(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        let mut depth = 0_usize;
        loop {
            match (bytes.get(self.at)?, bytes.get(self.at + 1)) {
                (b'/', Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Some(());
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    fn token(&mut self) -> Option<Kind> {
        let first = self.peek()?;
        if let Some(kind) = self.prefixed()? {
            return Some(kind);
        }
        match first {
            '"' => self.string(),
            '\'' => self.quote(),
            c if c.is_ascii_digit() => {
                self.number();
                Some(Kind::Literal)
            }
            c if is_name(c) => {
                self.name();
                Some(Kind::Name)
            }
            c => {
                self.at += c.len_utf8();
                Some(Kind::Mark)
            }
        }
    }

    /// `r"…"`, `br#"…"#`, `b'x'`, `c"…"`, `r#name`.
    fn prefixed(&mut self) -> Option<Option<Kind>> {
        let rest = self.rest();
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (prefix, after) = rest.split_at(letters);
        match prefix {
            "r" | "br" | "cr" => {
                let fence = after.bytes().take_while(|byte| *byte == b'#').count();
                if after[fence..].starts_with('"') {
                    let end = format!("\"{}", "#".repeat(fence));
                    let body = &after[fence + 1..];
                    let length = body.find(&end)?;
                    self.at += letters + fence + 1 + length + end.len();
                    return Some(Some(Kind::Literal));
                }
                if prefix == "r" && fence == 1 && after[1..].starts_with(is_name) {
                    self.at += 2;
                    self.name();
                    return Some(Some(Kind::Name));
                }
                Some(None)
            }
            "b" | "c" if after.starts_with('"') => {
                self.at += letters;
                Some(Some(self.string()?))
            }
            "b" if after.starts_with('\'') => {
                self.at += letters;
                Some(Some(self.character()?))
            }
            _ => Some(None),
        }
    }

    fn string(&mut self) -> Option<Kind> {
        self.at += 1;
        let mut escaped = false;
        for (at, c) in self.rest().char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    self.at += at + 1;
                    return Some(Kind::Literal);
                }
                _ => {}
            }
        }
        None
    }

    /// A character, or a lifetime: a lifetime has no quote after its first letter.
    fn quote(&mut self) -> Option<Kind> {
        let mut after = self.rest().chars().skip(1);
        let (first, second) = (after.next()?, after.next());
        if is_name(first) && second != Some('\'') {
            self.at += 1;
            self.name();
            return Some(Kind::Lifetime);
        }
        self.character()
    }

    fn character(&mut self) -> Option<Kind> {
        self.at += 1;
        let mut escaped = false;
        for (at, c) in self.rest().char_indices() {
            match c {
                '\n' => return None,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '\'' if at > 0 => {
                    self.at += at + 1;
                    return Some(Kind::Literal);
                }
                _ => {}
            }
        }
        None
    }

    fn number(&mut self) {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut end = 0;
        while let Some(byte) = bytes.get(end) {
            let exponent = end > 0
                && matches!(bytes[end - 1], b'e' | b'E')
                && matches!(byte, b'+' | b'-')
                && !rest.starts_with("0x");
            // `1..2` is a range and `1.max(2)` a call.
            let fraction =
                *byte == b'.' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) && !rest[..end].contains('.');
            if !(byte.is_ascii_alphanumeric() || *byte == b'_' || exponent || fraction) {
                break;
            }
            end += 1;
        }
        self.at += end.max(1);
    }

    fn name(&mut self) {
        let rest = self.rest();
        self.at += rest.find(|c: char| !(is_name(c) || c.is_numeric())).unwrap_or(rest.len());
    }
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}
