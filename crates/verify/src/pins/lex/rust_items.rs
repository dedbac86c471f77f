//! Items of Rust, as far as they have to be told apart: where each begins and ends, its attributes, its name.

use super::rust_tokens::{Kind, Token};

/// How deep modules may be nested.
const MAX_DEPTH: usize = 40;

/// An item: a function, a module, an import.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// First byte, attributes included, comments not.
    pub(crate) start: usize,
    /// Where the attributes end and the item itself begins.
    pub(crate) head: usize,
    /// First byte after it.
    pub(crate) end: usize,
    /// Tokens of each outer attribute, without `#[` and `]`.
    pub(crate) attributes: Vec<String>,
    /// The word that says what it is: `fn`, `mod`, `use`, `macro_rules`; empty for what is not known.
    pub(crate) keyword: String,
    /// The name, where it has one.
    pub(crate) name: String,
    /// All tokens after the attributes, without trailing commas.
    pub(crate) code: Vec<String>,
    /// What is in a module that has its content here.
    pub(crate) module: Option<Module>,
}

/// The content of a file or of a module with a body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Module {
    /// Tokens of each inner attribute, and where it is.
    pub(crate) inner: Vec<(String, usize, usize)>,
    pub(crate) items: Vec<Item>,
    /// Where the content ends: before the closing brace.
    pub(crate) end: usize,
}

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// For each opening bracket the index of its closing one.
    closing: Vec<usize>,
}

impl<'a> Parser<'a> {
    /// `None` when brackets do not match.
    pub(super) fn new(text: &'a str, tokens: &'a [Token]) -> Option<Self> {
        let mut closing = vec![0; tokens.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Mark) {
            match &text[token.start..token.end] {
                "(" | "[" | "{" => open.push(at),
                close @ (")" | "]" | "}") => {
                    let from = open.pop()?;
                    let opened = &text[tokens[from].start..tokens[from].end];
                    if !matches!((opened, close), ("(", ")") | ("[", "]") | ("{", "}")) {
                        return None;
                    }
                    closing[from] = at;
                }
                _ => {}
            }
        }
        open.is_empty().then_some(Self { text, tokens, closing })
    }

    pub(super) fn file(&self) -> Option<Module> {
        self.module(0, self.tokens.len(), self.text.len(), 0)
    }

    fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.text[token.start..token.end])
    }

    fn module(&self, from: usize, to: usize, end: usize, depth: usize) -> Option<Module> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut module = Module { end, ..Module::default() };
        let mut at = from;
        while at < to {
            if self.word(at) == "#" && self.word(at + 1) == "!" && self.word(at + 2) == "[" {
                let close = self.closing[at + 2];
                let code = self.code(at + 3, close).join(" ");
                module.inner.push((code, self.tokens[at].start, self.tokens[close].end));
                at = close + 1;
                continue;
            }
            let (item, next) = self.item(at, to, depth)?;
            module.items.push(item);
            at = next;
        }
        Some(module)
    }

    fn item(&self, from: usize, to: usize, depth: usize) -> Option<(Item, usize)> {
        let mut at = from;
        let mut attributes = Vec::new();
        while at < to && self.word(at) == "#" && self.word(at + 1) == "[" {
            let close = self.closing[at + 1];
            attributes.push(self.code(at + 2, close).join(" "));
            at = close + 1;
        }
        let head = at.min(to - 1);
        let (keyword, name) = self.head(at, to);
        let ends_with_semicolon = matches!(keyword, "use" | "const" | "static" | "type" | "let" | "extern crate");
        let mut body = None;
        while at < to {
            match self.word(at) {
                ";" => {
                    at += 1;
                    break;
                }
                "{" if !ends_with_semicolon => {
                    body = Some((at, self.closing[at]));
                    at = self.closing[at] + 1;
                    break;
                }
                "{" | "(" | "[" if self.tokens[at].kind == Kind::Mark => at = self.closing[at] + 1,
                _ => at += 1,
            }
        }
        // Always forward, whatever stands there.
        let next = at.max(from + 1);
        let module = match body {
            Some((open, close)) if keyword == "mod" => {
                Some(self.module(open + 1, close, self.tokens[close].start, depth + 1)?)
            }
            _ => None,
        };
        let item = Item {
            start: self.tokens[from].start,
            head: self.tokens[head].start,
            end: self.tokens[next - 1].end,
            attributes,
            keyword: keyword.to_owned(),
            name: name.to_owned(),
            code: self.code(head, next),
            module,
        };
        Some((item, next))
    }

    /// The keyword and the name of the item that begins here.
    fn head(&self, from: usize, to: usize) -> (&'a str, &'a str) {
        let mut at = from;
        while at < to {
            let word = self.word(at);
            match word {
                "pub" if self.word(at + 1) == "(" => at = self.closing[at + 1] + 1,
                "extern" if self.word(at + 1) == "crate" => {
                    let renamed = self.word(at + 3) == "as";
                    return ("extern crate", self.word(if renamed { at + 4 } else { at + 2 }));
                }
                "const" if matches!(self.word(at + 1), "fn" | "unsafe" | "async" | "extern") => at += 1,
                "pub" | "unsafe" | "async" | "default" | "extern" | "auto" | "safe" => at += 1,
                "static" if self.word(at + 1) == "mut" => return ("static", self.word(at + 2)),
                "fn" | "mod" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" | "macro" => {
                    return (word, self.word(at + 1));
                }
                "use" | "impl" | "let" => return (word, ""),
                "macro_rules" => return (word, self.word(at + 2)),
                _ if self.tokens[at].kind == Kind::Literal => at += 1,
                _ => return ("", word),
            }
        }
        ("", "")
    }

    /// Tokens without what rustfmt puts in and takes out: trailing commas, braces around the only expression of a match
    /// arm or closure.
    pub(super) fn code(&self, from: usize, to: usize) -> Vec<String> {
        let mut code = Vec::with_capacity(to.saturating_sub(from));
        let mut unwrapped: Vec<(usize, After)> = Vec::new();
        for at in from..to {
            let word = self.word(at);
            match word {
                "," if matches!(self.word(at + 1), ")" | "]" | "}" | ">") => {}
                "{" if at > from
                    && let Some(after) = self.wraps(at) =>
                {
                    unwrapped.push((self.closing[at], after))
                }
                "}" if unwrapped.last().is_some_and(|(close, _)| *close == at) => {
                    let arm = unwrapped.pop().is_some_and(|(_, after)| after == After::Arrow);
                    // Without its braces an arm ends with a comma.
                    if arm && !matches!(self.word(at + 1), "," | "}" | ")" | "]") {
                        code.push(",".to_owned());
                    }
                }
                word => code.push(word.to_owned()),
            }
        }
        code
    }

    /// What stands before a brace that holds one expression and could be left out.
    fn wraps(&self, open: usize) -> Option<After> {
        let arrow = open >= 2
            && self.word(open - 1) == ">"
            && self.word(open - 2) == "="
            && self.tokens[open - 2].end == self.tokens[open - 1].start;
        let after = match self.word(open - 1) {
            "|" => After::Bar,
            _ if arrow => After::Arrow,
            _ => return None,
        };
        let close = self.closing[open];
        let mut at = open + 1;
        while at < close {
            match self.word(at) {
                ";" => return None,
                "(" | "[" | "{" => at = self.closing[at] + 1,
                _ => at += 1,
            }
        }
        (open + 1 < close).then_some(after)
    }
}

/// What stands before a brace that could be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// `=>`
    Arrow,
    /// `|` of a closure.
    Bar,
}
