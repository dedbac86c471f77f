//! Blanks out comments and literals of Rust, so that braces and attributes that are left are code.

/// The text with the same length and the same lines, or nothing when a literal or a comment does not end.
pub(super) fn mask(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut masked = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match literal(bytes, at)? {
            None => {
                at += 1;
                continue;
            }
            Some(end) => end.min(bytes.len()),
        };
        for byte in masked.get_mut(at..end)? {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    // Outside of literals and comments Rust has no bytes beyond ASCII, but in names.
    Some(String::from_utf8_lossy(&masked).into_owned()).filter(|masked| masked.len() == text.len())
}

/// Where a comment or a literal that starts at a place ends; the outer nothing when it does not.
#[expect(clippy::option_option, reason = "no literal here and a literal without an end are different answers")]
fn literal(bytes: &[u8], at: usize) -> Option<Option<usize>> {
    let next = |ahead: usize| bytes.get(at + ahead).copied();
    let is_start = at == 0 || !bytes.get(at - 1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    match (next(0), next(1)) {
        (Some(b'/'), Some(b'/')) => Some(Some(find(bytes, at, b"\n").unwrap_or(bytes.len()))),
        (Some(b'/'), Some(b'*')) => comment(bytes, at).map(Some),
        (Some(b'"'), _) => quoted(bytes, at + 1, b'"').map(Some),
        (Some(b'b' | b'c'), Some(b'"')) if is_start => quoted(bytes, at + 2, b'"').map(Some),
        (Some(b'b'), Some(b'\'')) if is_start => quoted(bytes, at + 2, b'\'').map(Some),
        (Some(b'r'), Some(b'"' | b'#')) if is_start => raw(bytes, at + 1),
        (Some(b'b' | b'c'), Some(b'r')) if is_start && matches!(next(2), Some(b'"' | b'#')) => raw(bytes, at + 2),
        (Some(b'\''), Some(b'\\')) => quoted(bytes, at + 1, b'\'').map(Some),
        (Some(b'\''), Some(first)) => {
            // A quote one character on closes a character; else it is a lifetime.
            let width = match first {
                0x00..=0x7F => 1,
                0x80..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xFF => 4,
            };
            Some((next(1 + width) == Some(b'\'')).then_some(at + width + 2))
        }
        _ => Some(None),
    }
}

fn quoted(bytes: &[u8], from: usize, quote: u8) -> Option<usize> {
    let mut at = from;
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// `"…"` with any number of `#` around it; names such as `r#type` are none.
#[expect(clippy::option_option, reason = "no literal here and a literal without an end are different answers")]
fn raw(bytes: &[u8], from: usize) -> Option<Option<usize>> {
    let hashes = bytes.iter().skip(from).take_while(|byte| **byte == b'#').count();
    if bytes.get(from + hashes) != Some(&b'"') {
        return Some(None);
    }
    let mut close = vec![b'"'];
    close.resize(hashes + 1, b'#');
    find(bytes, from + hashes + 1, &close).map(|at| Some(at + close.len()))
}

fn comment(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut depth, mut at) = (0_u32, from);
    loop {
        match (*bytes.get(at)?, bytes.get(at + 1)) {
            (b'/', Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (b'*', Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    bytes.get(from..)?.windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
