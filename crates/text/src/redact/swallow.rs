//! Takes the rest of a secret away once it is known to be one. However long that is, it needs no memory.

/// What still belongs to a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swallow {
    Nothing,
    /// Everything up to the first byte outside of a class.
    Class(Class),
    /// A private key up to and with its last line.
    Key {
        seen: KeyEnd,
        escape: Escape,
        left: usize,
    },
}

/// Whether the byte that comes next is escaped, as in a JSON string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    Closed,
    /// The last byte was a backslash that begins an escape.
    Open,
}

/// The kinds of bytes that tokens are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// `A-Z 0-9`
    Capital,
    /// Letters, digits and `_`.
    Word,
    Alphanumeric,
    /// Those of a word and `-`.
    Dashed,
    /// Those and `.`.
    Dotted,
    /// What an `Authorization` header carries.
    Credential,
    /// That and `%`: a value in an address.
    Query,
    /// What base64 is made of, in both alphabets.
    Base64,
    /// What a password can have in it without quotes around.
    Password,
}

/// How much of the last line of a key has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyEnd {
    /// So many bytes of [`LAST_LINE`].
    Before(usize),
    /// All of them, and then so many dashes.
    Dashes(usize),
}

const LAST_LINE: &[u8] = b"-----END ";
const DASHES: usize = 5;
/// More than the longest key in use: a first line without a last one hides no more than this.
const MAX_KEY: usize = 16 << 10;

impl Class {
    pub(super) const fn has(self, byte: u8) -> bool {
        match self {
            Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Dashed => Self::Word.has(byte) || byte == b'-',
            Self::Dotted => Self::Dashed.has(byte) || byte == b'.',
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Credential => Self::Dotted.has(byte) || matches!(byte, b'~' | b'+' | b'/' | b'='),
            Self::Query => Self::Credential.has(byte) || byte == b'%',
            Self::Base64 => Self::Dashed.has(byte) || matches!(byte, b'+' | b'/' | b'='),
            Self::Password => {
                byte.is_ascii_graphic()
                    && !matches!(
                        byte,
                        b'"' | b'\''
                            | b'`'
                            | b'\\'
                            | b'<'
                            | b'>'
                            | b'('
                            | b')'
                            | b'['
                            | b']'
                            | b'{'
                            | b'}'
                            | b','
                            | b';'
                    )
            }
        }
    }
}

impl Swallow {
    pub(super) const fn key() -> Self {
        Self::Key { seen: KeyEnd::Before(0), escape: Escape::Closed, left: MAX_KEY }
    }

    /// Gives how many of these bytes belong to the secret, and remembers whether more may come. A backslash that turns out to
    /// belong to what comes after the secret is given back: without it, a quote would end a JSON string too early.
    pub(super) fn take(&mut self, data: &[u8], out: &mut Vec<u8>) -> usize {
        let taken = match self {
            Self::Nothing => return 0,
            Self::Class(class) => data.iter().position(|&byte| !class.has(byte)),
            Self::Key { seen, escape, left } => key(seen, escape, left, data),
        };
        match taken {
            Some(taken) => {
                if let Self::Key { escape: Escape::Open, .. } = self {
                    out.push(b'\\');
                }
                *self = Self::Nothing;
                taken
            }
            None => data.len(),
        }
    }
}

/// Where the key ends, if it ends in these bytes.
fn key(seen: &mut KeyEnd, escape: &mut Escape, left: &mut usize, data: &[u8]) -> Option<usize> {
    for (at, &byte) in data.iter().enumerate() {
        // A quote or a brace ends it: source code that names the first line of a key contains none.
        if *left == 0 || !in_key(byte) {
            return Some(at);
        }
        *left -= 1;
        *escape = if byte == b'\\' && *escape == Escape::Closed { Escape::Open } else { Escape::Closed };
        *seen = match *seen {
            KeyEnd::Before(count) if byte == LAST_LINE[count] && count + 1 == LAST_LINE.len() => KeyEnd::Dashes(0),
            KeyEnd::Before(count) if byte == LAST_LINE[count] => KeyEnd::Before(count + 1),
            // A sixth dash is as good as the fifth.
            KeyEnd::Before(DASHES) if byte == b'-' => KeyEnd::Before(DASHES),
            KeyEnd::Before(_) => KeyEnd::Before(usize::from(byte == b'-')),
            KeyEnd::Dashes(count) if byte == b'-' && count + 1 == DASHES => return Some(at + 1),
            KeyEnd::Dashes(count) => KeyEnd::Dashes(if byte == b'-' { count + 1 } else { 0 }),
        };
    }
    None
}

/// Base64, the headers of encrypted keys, line ends (also as JSON writes them), and what viewers put before lines.
fn in_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=-:,.()_\\|>#*".contains(&byte)
}
