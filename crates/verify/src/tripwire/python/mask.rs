//! Blanks out comments and strings of Python, so that what stands at the left edge is code.

/// The text with the same length and the same lines, or nothing when a string does not end or the last line goes on.
pub(super) fn mask(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut masked = bytes.to_vec();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'#' => line_end(bytes, at),
            b'"' | b'\'' => string(bytes, at, *byte)?,
            _ => {
                at += 1;
                continue;
            }
        };
        for byte in masked.get_mut(at..end)? {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    let masked = String::from_utf8(masked).ok()?;
    (!masked.trim_end().ends_with('\\')).then_some(masked)
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    bytes.iter().skip(from).position(|byte| *byte == b'\n').map_or(bytes.len(), |ahead| from + ahead)
}

fn string(bytes: &[u8], from: usize, quote: u8) -> Option<usize> {
    let triple = [quote; 3];
    let is_triple = bytes.get(from..from + 3) == Some(&triple);
    let mut at = from + if is_triple { 3 } else { 1 };
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            b'\n' if !is_triple => return None,
            _ if is_triple && bytes.get(at..at + 3) == Some(&triple) => return Some(at + 3),
            byte if byte == quote && !is_triple => return Some(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
