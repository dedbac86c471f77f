//! Go, for comparing formats.

use super::{end_of_quoted, is_directive, name_length, number_length, squeezed};

/// Tokens that mean something; `None` for what is not understood.
pub(crate) fn code(text: &str) -> Option<Vec<String>> {
    // Before `import "C"` a comment is C, and after `Output:` it is what a test expects.
    let comments_count = text.contains("import \"C\"") || text.to_lowercase().contains("output:");
    let mut tokens: Vec<String> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else { break };
        let length = if first == '\n' {
            if tokens.last().is_some_and(|last| ends_statement(last)) {
                tokens.push(";".to_owned());
            }
            1
        } else if first.is_whitespace() || first == '\u{feff}' {
            first.len_utf8()
        } else if rest.starts_with("//") || rest.starts_with("/*") {
            let end = match rest.starts_with("//") {
                true => rest.find('\n').unwrap_or(rest.len()),
                false => rest[2..].find("*/")? + 4,
            };
            if comments_count || is_directive(&rest[..end]) {
                tokens.push(squeezed(&rest[..end]));
            } else if rest[..end].contains('\n') && tokens.last().is_some_and(|last| ends_statement(last)) {
                tokens.push(";".to_owned());
            }
            end
        } else {
            let length = match first {
                '"' | '\'' => end_of_quoted(&rest[1..], first)? + 2,
                '`' => rest[1..].find('`')? + 2,
                c if c.is_ascii_digit() => number_length(rest),
                c if c == '_' || c.is_alphabetic() => name_length(rest, &[]),
                c => c.len_utf8(),
            };
            let token = &rest[..length];
            // Gofmt writes a list on one line or on several, with a comma at the end or without.
            while matches!(token, ")" | "}" | "]")
                && tokens.last().is_some_and(|last| matches!(last.as_str(), "," | ";"))
            {
                tokens.pop();
            }
            tokens.push(token.to_owned());
            length
        };
        at += length;
    }
    while tokens.last().is_some_and(|last| last == ";") {
        tokens.pop();
    }
    Some(tokens)
}

/// Whether a line break after this token ends a statement.
fn ends_statement(token: &str) -> bool {
    const OPEN: [&str; 20] = [
        "case",
        "chan",
        "const",
        "default",
        "defer",
        "else",
        "for",
        "func",
        "go",
        "goto",
        "if",
        "import",
        "interface",
        "map",
        "package",
        "range",
        "select",
        "struct",
        "switch",
        "type",
    ];
    !OPEN.contains(&token)
        && !token.starts_with("//")
        && token.chars().next_back().is_some_and(|c| c == '_' || c.is_alphanumeric() || ")]}\"'`+-".contains(c))
}
