//! Text that a terminal, a log and a browser can show as it is: nothing in it moves, hides or reorders anything.
//! Removes nothing: what would act becomes visible instead.

use std::borrow::Cow;
use std::fmt::Write;

/// Makes text harmless.
///
/// Control characters become their pictures (escape becomes `␛`), characters that are invisible or change the
/// direction of writing become their number (`<U+202E>`). Every kind of line end becomes `\n`; tabs stay.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if first_suspect(text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    append(text, &mut LineEnd::Open, &mut out);
    Cow::Owned(out)
}

/// [`sanitize`] for bytes that come in pieces: decodes UTF-8 across their borders, and shows as `\u{FFFD}` what is none.
#[derive(Debug, Default)]
pub struct SanitizeStream {
    /// The beginning of a character whose rest has not come yet.
    partial: Vec<u8>,
    line_end: LineEnd,
}

/// Whether the last character was a carriage return, whose line feed would be the same line end.
#[derive(Debug, Default, PartialEq, Eq)]
enum LineEnd {
    #[default]
    Open,
    Returned,
}

impl SanitizeStream {
    /// What can be shown of these bytes: they themselves where all of them can, else in `out`, whose content is replaced.
    pub fn pass<'a>(&mut self, bytes: &'a [u8], out: &'a mut String) -> &'a str {
        if self.partial.is_empty()
            && self.line_end == LineEnd::Open
            && first_suspect(bytes).is_none()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return text;
        }
        out.clear();
        self.push(bytes, out);
        out
    }

    /// Appends to `out` what can be shown of these bytes.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        let mut rest = bytes;
        // At most three bytes wait, and one more may show that they are no character: so few are joined one by one.
        while let Some((&byte, after)) = rest.split_first().filter(|_| !self.partial.is_empty()) {
            self.partial.push(byte);
            rest = after;
            let joined = std::mem::take(&mut self.partial);
            self.decode(&joined, out);
        }
        self.decode(rest, out);
    }

    /// Appends what is left when no more bytes come.
    pub fn finish(&mut self, out: &mut String) {
        if !self.partial.is_empty() {
            self.partial.clear();
            append("\u{FFFD}", &mut self.line_end, out);
        }
    }

    fn decode(&mut self, mut bytes: &[u8], out: &mut String) {
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(text) => return append(text, &mut self.line_end, out),
                Err(error) => error,
            };
            let (valid, invalid) = bytes.split_at(error.valid_up_to());
            // The part is valid by the error's own word, so that the fallback is never taken.
            append(std::str::from_utf8(valid).unwrap_or_default(), &mut self.line_end, out);
            let Some(length) = error.error_len() else {
                self.partial.extend_from_slice(invalid);
                return;
            };
            append("\u{FFFD}", &mut self.line_end, out);
            bytes = &invalid[length..];
        }
    }
}

fn append(text: &str, line_end: &mut LineEnd, out: &mut String) {
    let mut rest = text;
    if *line_end == LineEnd::Returned && !rest.is_empty() {
        *line_end = LineEnd::Open;
        rest = rest.strip_prefix('\n').unwrap_or(rest);
    }
    while let Some(at) = first_suspect(rest.as_bytes()) {
        // A suspect is never the middle of a character, so that both cuts are on borders.
        out.push_str(&rest[..at]);
        let mut characters = rest[at..].chars();
        let Some(character) = characters.next() else { return };
        rest = characters.as_str();
        match character {
            '\r' if rest.is_empty() => {
                out.push('\n');
                *line_end = LineEnd::Returned;
            }
            '\r' => {
                out.push('\n');
                rest = rest.strip_prefix('\n').unwrap_or(rest);
            }
            '\0'..='\u{1F}' => out.push(char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{FFFD}')),
            '\u{7F}' => out.push('\u{2421}'),
            _ if acts_unseen(character) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "<U+{:04X}>", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push_str(rest);
}

/// Where the first character begins that has to be looked at closely.
fn first_suspect(bytes: &[u8]) -> Option<usize> {
    // One by one first: in text that is full of suspects, the next one is near.
    let near = bytes.len().min(16);
    if let Some(at) = bytes[..near].iter().position(|&byte| is_suspect(byte)) {
        return Some(at);
    }
    // Then in blocks without branches, which the compiler turns into vector instructions.
    let (blocks, _) = bytes[near..].as_chunks::<64>();
    let any = |block: &[u8; 64], is: fn(u8) -> bool| block.iter().fold(false, |any, &byte| any | is(byte));
    let clean = blocks.iter().take_while(|block| !any(block, is_unusual) || !any(block, is_suspect)).count();
    let from = near + clean * 64;
    bytes[from..].iter().position(|&byte| is_suspect(byte)).map(|at| from + at)
}

/// Whatever is neither plain ASCII nor a line end: quicker to tell than a suspect, and true of each of them.
const fn is_unusual(byte: u8) -> bool {
    // Taken as signed, the upper half of all bytes is below the blank as well.
    ((byte.cast_signed() < 0x20) & (byte != b'\n')) | (byte == 0x7F)
}

/// Control characters, and the first bytes of the characters that [`acts_unseen`] knows.
const fn is_suspect(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t')
        | (byte == 0x7F)
        | (byte == 0xC2)
        | (byte == 0xCD)
        | (byte == 0xD8)
        | (byte >= 0xE1 && byte <= 0xE3)
        | (byte == 0xEF)
        | (byte == 0xF3)
}

/// Characters that are invisible where they should be seen, break lines, or change the direction of what follows.
const fn acts_unseen(character: char) -> bool {
    matches!(character,
        // The second set of control characters; U+009B alone starts a terminal sequence.
        '\u{80}'..='\u{9F}'
        // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Khmer fillers, Mongolian separators.
        | '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        // Zero width, marks of direction, line and paragraph separators, embeddings and overrides.
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        // Joiners, invisible operators, isolates, deprecated format characters.
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FFA0}'
        // Variation selectors, but for the two that choose how a symbol looks and are common in plain output.
        | '\u{FE00}'..='\u{FE0D}' | '\u{E0100}'..='\u{E01EF}'
        // Byte order mark, annotations, tags (a whole invisible alphabet).
        | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod tests;
