//! The forms in which a known value turns up: as it is, inside JSON, in an address, in hexadecimal, in base64.

use super::swallow::Class;
use crate::escapes;

/// Values shorter than this are words that happen to be secret; replacing them would garble everything.
pub(super) const SHORTEST: usize = 8;
/// So many characters of a base64 form are looked for; what follows them is swallowed. It keeps the automaton small.
const MAX_BASE64: usize = 16;

pub(super) struct Form {
    pub(super) bytes: Vec<u8>,
    /// What follows belongs to the secret as long as it is of this class.
    pub(super) rest: Option<Class>,
}

pub(super) fn forms(value: &[u8]) -> Vec<Form> {
    // The stream has lost its escapes and carriage returns before it is searched.
    let stripped = escapes::strip(value);
    let whole = [
        json_escaped(&stripped),
        json_escaped(value),
        percent_encoded(&stripped, b"0123456789ABCDEF"),
        percent_encoded(&stripped, b"0123456789abcdef"),
        hexadecimal(value, b"0123456789ABCDEF"),
        hexadecimal(value, b"0123456789abcdef"),
        // A JSON string inside of another.
        json_escaped(&json_escaped(&stripped)),
        stripped,
    ];
    let mut forms: Vec<Form> = whole.into_iter().map(|bytes| Form { bytes, rest: None }).collect();
    // A value in the middle of a longer text begins at any of three places in a group of characters.
    for alphabet in [b"+/", b"-_"] {
        forms.extend((0..3).map(|offset| Form { bytes: base64(value, offset, *alphabet), rest: Some(Class::Base64) }));
    }
    forms.retain(|form| form.bytes.len() >= SHORTEST);
    forms
}

/// How a value looks inside a JSON string.
fn json_escaped(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            _ => out.push(byte),
        }
    }
    out
}

/// How a value looks in an address.
fn percent_encoded(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => out.push(byte),
            byte => out.extend([b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]),
        }
    }
    out
}

fn hexadecimal(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    value.iter().flat_map(|byte| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]).collect()
}

/// The first base64 characters that depend on the value alone, `offset` bytes into a text.
fn base64(value: &[u8], offset: usize, last: [u8; 2]) -> Vec<u8> {
    let (from, to) = ((8 * offset).div_ceil(6), 8 * (offset + value.len()) / 6);
    let byte = |at: usize| at.checked_sub(offset).and_then(|at| value.get(at)).copied().unwrap_or(0);
    let six_bits = |at: usize| {
        let pair = u16::from_be_bytes([byte(at * 6 / 8), byte(at * 6 / 8 + 1)]);
        (pair >> (10 - at * 6 % 8) & 63).to_be_bytes()[1]
    };
    let character = |six: u8| match six {
        0..26 => b'A' + six,
        26..52 => b'a' + six - 26,
        52..62 => b'0' + six - 52,
        62 => last[0],
        _ => last[1],
    };
    (from..to.min(from + MAX_BASE64)).map(|at| character(six_bits(at))).collect()
}
