//! Reads JSON in pieces. Knows no report, and keeps no more than one text and the way to it.

use crate::text::start;

/// Bytes kept of one text, more than of any name.
const MAX_LENGTH: usize = 1000;
/// Levels that are followed; JSON of more is no report.
const MAX_DEPTH: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Item,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Key,
    Text,
    End,
}

/// It is not JSON, from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken<'a>(pub(super) &'a str);

#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// The way to the value that is being read, without the outermost object itself.
    path: Vec<Step>,
    open: Vec<Container>,
    state: State,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    List,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Value,
    /// A value or the end of a list comes.
    FirstValue,
    Key,
    /// The name of a member or the end of an object comes.
    FirstKey,
    Colon,
    /// A comma or the end of an object or a list comes.
    After,
    /// In a number or a word such as `true`.
    Word,
    Text(Role, Escape),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Began,
    /// The digits of `\u00e9` so far and their number. A pair of them that stands for one character becomes two marks.
    Unicode(u32, u8),
}

impl Scanner {
    /// The way to the value that was completed last.
    pub(super) fn path(&self) -> &[Step] {
        &self.path
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Reads on until something is completed or nothing is left. Gives what is left.
    pub(super) fn next<'a>(&mut self, text: &'a str) -> Result<(&'a str, Option<Token>), Broken<'a>> {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            match self.state {
                State::Text(role, Escape::None) => {
                    let end = rest.find(['"', '\\', '\n']).unwrap_or(rest.len());
                    self.keep(&rest[..end]);
                    rest = &rest[end..];
                    if let Some(after) = rest.strip_prefix('"') {
                        return Ok((after, Some(self.text_ended(role))));
                    } else if let Some(after) = rest.strip_prefix('\\') {
                        self.state = State::Text(role, Escape::Began);
                        rest = after;
                    } else if !rest.is_empty() {
                        return Err(Broken(rest));
                    }
                }
                State::Text(role, escape) => {
                    let escape = self.escaped(escape, c).ok_or(Broken(rest))?;
                    self.state = State::Text(role, escape);
                    rest = after;
                }
                State::Word if c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-') => rest = after,
                State::Word => self.state = State::After,
                _ if c.is_ascii_whitespace() => rest = after,
                _ => {
                    self.state = self.sign(c).ok_or(Broken(rest))?;
                    rest = after;
                    if matches!(c, '}' | ']') {
                        return Ok((rest, Some(Token::End)));
                    }
                }
            }
        }
        Ok((rest, None))
    }

    /// What comes after a sign outside texts and words; nothing when it has no place there.
    fn sign(&mut self, c: char) -> Option<State> {
        match (self.state, c) {
            (State::Value | State::FirstValue, '{') => self.begin(Container::Object),
            (State::Value | State::FirstValue, '[') => self.begin(Container::List),
            (State::Value | State::FirstValue, '"') => Some(self.text_began(Role::Value)),
            (State::Value | State::FirstValue, '-' | '0'..='9' | 't' | 'f' | 'n') => Some(State::Word),
            (State::Key | State::FirstKey, '"') => Some(self.text_began(Role::Key)),
            (State::Colon, ':') => Some(State::Value),
            (State::After, ',') => match self.open.last()? {
                Container::Object => {
                    self.path.pop();
                    Some(State::Key)
                }
                Container::List => Some(State::Value),
            },
            (State::After | State::FirstKey, '}') => self.end(Container::Object),
            (State::After | State::FirstValue, ']') => self.end(Container::List),
            _ => None,
        }
    }

    fn begin(&mut self, container: Container) -> Option<State> {
        if self.open.len() == MAX_DEPTH {
            return None;
        }
        self.open.push(container);
        match container {
            Container::Object => Some(State::FirstKey),
            Container::List => {
                self.path.push(Step::Item);
                Some(State::FirstValue)
            }
        }
    }

    /// Ends the innermost object or list, to which the path leads then.
    fn end(&mut self, container: Container) -> Option<State> {
        if self.open.pop()? != container {
            return None;
        }
        // An object without members has no name of one on the path.
        if self.state != State::FirstKey {
            self.path.pop();
        }
        Some(State::After)
    }

    fn text_began(&mut self, role: Role) -> State {
        self.text.clear();
        State::Text(role, Escape::None)
    }

    fn text_ended(&mut self, role: Role) -> Token {
        match role {
            Role::Key => {
                self.state = State::Colon;
                self.path.push(Step::Key(self.text.clone()));
                Token::Key
            }
            Role::Value => {
                self.state = State::After;
                Token::Text
            }
        }
    }

    /// Takes a character of an escape; nothing when it has no place there.
    fn escaped(&mut self, escape: Escape, c: char) -> Option<Escape> {
        let meant = match (escape, c) {
            (Escape::Unicode(code, digits), _) => {
                let code = code * 16 + c.to_digit(16)?;
                if digits < 3 {
                    return Some(Escape::Unicode(code, digits + 1));
                }
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            (_, 'u') => return Some(Escape::Unicode(0, 0)),
            (_, '"' | '\\' | '/') => c,
            (_, 'n') => '\n',
            (_, 't') => '\t',
            (_, 'r') => '\r',
            (_, 'b') => '\u{8}',
            (_, 'f') => '\u{c}',
            _ => return None,
        };
        self.keep(meant.encode_utf8(&mut [0; 4]));
        Some(Escape::None)
    }

    fn keep(&mut self, text: &str) {
        self.text.push_str(start(text, MAX_LENGTH - self.text.len()));
    }
}
