//! Whether the lexer certainly read JavaScript as JavaScript does. Judges nothing else.
//!
//! A slash divides or begins a regular expression, and a `<` compares or begins an element, depending on what is before
//! it; taken for the wrong one, what follows is text here and code there. Refused is each whose meaning takes more than
//! a look at the tokens before it, and with them a field of a template with a slash in it, a class in a class of a
//! regular expression, an escape in a name, and a comment of HTML.

use super::tokens::{has, is_name, skips_quoted};

/// Words that a value follows, always.
const OPERATORS: [&str; 12] =
    ["return", "typeof", "instanceof", "in", "new", "delete", "void", "throw", "case", "do", "else", "extends"];
/// Words that a value follows in one place and not in another, or that end a statement.
const UNCLEAR: [&str; 30] = [
    "as",
    "async",
    "await",
    "break",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "enum",
    "export",
    "finally",
    "for",
    "function",
    "get",
    "if",
    "import",
    "is",
    "keyof",
    "let",
    "of",
    "satisfies",
    "set",
    "static",
    "switch",
    "try",
    "var",
    "while",
    "yield",
];

/// Whether every token is what it seems.
pub(crate) fn is_certain(tokens: &[String]) -> bool {
    // For each open bracket whether it holds a condition, and whether the last one closed did.
    let mut open: Vec<bool> = Vec::new();
    let mut condition = false;
    for (at, token) in tokens.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at)).map_or("", String::as_str);
        match token.as_str() {
            "(" => open.push(matches!(before(1), "if" | "while" | "for" | "with" | "await")),
            ")" => condition = open.pop().unwrap_or(true),
            "\\" => return false,
            comment if comment.starts_with("//") || comment.starts_with("/*") => {}
            token if token.starts_with('/') || token == "<" => {
                if !is_clear(token, before(1), before(2), condition) {
                    return false;
                }
            }
            template if template.starts_with('`') => {
                if !fields_are_plain(template) {
                    return false;
                }
            }
            string if string.starts_with('"') => {}
            other => {
                if !other.is_ascii() {
                    return false;
                }
            }
        }
    }
    !has(tokens, &["<", "!", "-", "-"]) && !has(tokens, &["-", "-", ">"])
}

/// Whether a slash, a regular expression or a `<` is what the lexer took it for.
fn is_clear(token: &str, last: &str, before_last: &str, condition: bool) -> bool {
    let regular = token.len() > 1;
    let member = matches!(before_last, "." | "#");
    let expected = match last {
        "" | ";" | "(" | "[" | "{" | "," | "=" | ":" | "?" | "&" | "|" | "^" | "~" | "%" | "*" => true,
        ")" if condition => return false,
        ")" | "]" => false,
        ">" if before_last == "=" => true,
        "+" | "-" if before_last != last => true,
        "!" if !ends_value(before_last) => true,
        name if is_name(name) && member => false,
        name if OPERATORS.contains(&name) => true,
        name if UNCLEAR.contains(&name) => return false,
        name if is_name(name) => false,
        number if number.starts_with(|c: char| c.is_ascii_digit()) => false,
        comment if comment.starts_with("//") || comment.starts_with("/*") => return false,
        text if text.starts_with(['"', '`']) || (text.starts_with('/') && text.len() > 1) => false,
        _ => return false,
    };
    regular == expected && (!regular || !is_nested(token))
}

/// Whether a value may end with a token.
pub(super) fn ends_value(token: &str) -> bool {
    !OPERATORS.contains(&token)
        && (is_name(token)
            || matches!(token, ")" | "]" | "}")
            || token.starts_with(['"', '`'])
            || token.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a regular expression has a class in a class, which only some of its flags allow.
fn is_nested(regular: &str) -> bool {
    let (mut class, mut escaped) = (false, false);
    for letter in regular.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if class => return true,
            '[' => class = true,
            ']' => class = false,
            _ => {}
        }
    }
    false
}

/// Whether no field of a template has a slash in it: a comment or a regular expression could hide its end.
fn fields_are_plain(template: &str) -> bool {
    let first = template.find("${").unwrap_or(template.len());
    let last = template.rfind('}').unwrap_or(first).max(first);
    let fields = &template[first..last];
    // A slash between two fields is text.
    let mut depth = 0_usize;
    let mut letters = fields.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if depth == 0 => {
                letters.next();
            }
            '$' if depth == 0 && letters.peek() == Some(&'{') => {
                letters.next();
                depth = 1;
            }
            '{' if depth > 0 => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '/' | '\\' | '`' if depth > 0 => return false,
            quote @ ('"' | '\'') if depth > 0 && !skips_quoted(&mut letters, quote) => return false,
            _ => {}
        }
    }
    true
}
