//! Paths as text that can be turned back into the same bytes. Touches no file.
//!
//! A path that is ordinary text stands for itself. One with control or invisible characters, quotation marks, backslashes
//! or bytes that are no UTF-8 is written as git writes it: in quotation marks, with `\n`, `\"`, `\\` and octal escapes.

use std::borrow::Cow;

/// The path for people and JSON.
pub(crate) fn quote(path: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(path)
        && !text.chars().any(|c| acts_unseen(c) || c == '"' || c == '\\')
    {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => quoted.push_str("\\\""),
                '\\' => quoted.push_str("\\\\"),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\r' => quoted.push_str("\\r"),
                c if acts_unseen(c) => {
                    let mut bytes = [0; 4];
                    push_octal(&mut quoted, c.encode_utf8(&mut bytes).as_bytes());
                }
                c => quoted.push(c),
            }
        }
        push_octal(&mut quoted, chunk.invalid());
    }
    quoted.push('"');
    quoted
}

/// Control characters, and invisible ones, and those that change the direction of writing: in a prompt or a listing a name
/// could say more with them than it shows.
fn acts_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{AD}' | '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
        || matches!(c, '\u{FEFF}' | '\u{E0000}'..='\u{E007F}')
}

fn push_octal(quoted: &mut String, bytes: &[u8]) {
    for byte in bytes {
        quoted.push('\\');
        for shift in [6, 3, 0] {
            quoted.push(char::from(b'0' + (byte >> shift & 7)));
        }
    }
}

/// The bytes of a path that [`quote`] wrote. Text that is no valid quotation stands for itself.
pub(crate) fn unquote(text: &str) -> Cow<'_, [u8]> {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner.and_then(unescape) {
        Some(path) => Cow::Owned(path),
        None => Cow::Borrowed(text.as_bytes()),
    }
}

fn unescape(inner: &str) -> Option<Vec<u8>> {
    let mut path = Vec::with_capacity(inner.len());
    let mut bytes = inner.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            path.push(byte);
            continue;
        }
        path.push(match bytes.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            escaped @ (b'"' | b'\\') => escaped,
            high @ b'0'..=b'3' => {
                let mut value = high - b'0';
                for _ in 0..2 {
                    let digit = bytes.next().filter(|digit| (b'0'..=b'7').contains(digit))?;
                    value = value * 8 + (digit - b'0');
                }
                value
            }
            _ => return None,
        });
    }
    Some(path)
}

#[cfg(test)]
#[path = "quote_tests.rs"]
mod tests;
