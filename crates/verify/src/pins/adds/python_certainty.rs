//! Whether the lexer certainly read Python as Python does. Judges nothing else.
//!
//! Refused are names that are not plain ASCII (Python takes several spellings for one name), numbers that run into a
//! word (`0or x`), and strings with fields that do not end before the string does (newer versions read on).

use super::tokens::skips_quoted;

/// Whether every token is what it seems.
pub(crate) fn is_certain(tokens: &[String]) -> bool {
    tokens.iter().all(|token| {
        let Some(first) = token.chars().next() else { return true };
        let quote = token.find(['"', '\'']).filter(|_| token.ends_with(['"', '\'']));
        match quote {
            _ if first == '#' => true,
            Some(quote) => !token[..quote].contains(['f', 'F', 't', 'T']) || fields_are_closed(&token[quote..]),
            None if first.is_ascii_digit() => is_number(token),
            None => token.is_ascii(),
        }
    })
}

fn is_number(token: &str) -> bool {
    let token = token.to_ascii_lowercase();
    let all = |digits: &str, known: fn(char) -> bool| digits.chars().all(|c| c == '_' || known(c));
    match token.get(..2) {
        Some("0x") => return all(&token[2..], |c| c.is_ascii_hexdigit()),
        Some("0o") | Some("0b") => return all(&token[2..], |c| c.is_ascii_digit()),
        _ => {}
    }
    let real = token.strip_suffix('j').unwrap_or(&token);
    let (digits, exponent) = real.split_once('e').unwrap_or((real, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let digit = |c: char| c.is_ascii_digit();
    all(&digits.replace('.', ""), digit) && !exponent.is_empty() && all(exponent, digit)
}

/// Whether each field of a formatted string ends inside of it. From its first quote.
fn fields_are_closed(text: &str) -> bool {
    let mut depth = 0_usize;
    let mut letters = text.chars().peekable();
    let mut quotes = text.chars().take_while(|c| matches!(c, '"' | '\'')).count();
    // The quotes of an empty string are its end as well.
    if quotes == 2 || quotes > 3 {
        return quotes == text.len();
    }
    while quotes > 0 {
        letters.next();
        quotes -= 1;
    }
    while let Some(letter) = letters.next() {
        match letter {
            '{' if depth == 0 && letters.peek() == Some(&'{') => {
                letters.next();
            }
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '\\' if depth > 0 => return false,
            '\\' if matches!(letters.next(), Some('{' | 'N')) => return false,
            quote @ ('"' | '\'') if depth > 0 && !skips_quoted(&mut letters, quote) => return false,
            '#' if depth > 0 => return false,
            _ => {}
        }
    }
    depth == 0
}
