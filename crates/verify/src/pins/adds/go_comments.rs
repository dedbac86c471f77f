//! Comments of Go: removes those that mean nothing and turns the others into tokens, where they stand. Judges nothing.
//!
//! What a tool obeys becomes a raw string at the start of what follows it, and what an example is expected to print one
//! for each comment, with a mark where a blank line ends a group: the program `go` reads only the last group.

/// What gives away a comment that a tool obeys.
const DIRECTIVES: [&str; 6] = ["//go:", "//line ", "/*line ", "//export ", "//extern ", "// +build"];

/// The code without comments; `None` where a text is not closed.
pub(super) fn without_comments(text: &str) -> Option<String> {
    let mut code = String::with_capacity(text.len());
    let mut depth = 0_usize;
    // Whether the last thing was a comment with expected output, and how many lines ago.
    let mut expecting: Option<usize> = None;
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match first {
            '/' if rest.starts_with("//") || rest.starts_with("/*") => {
                let length = comment_length(rest)?;
                let comment = &rest[..length];
                let expected = depth > 0 && (expecting.is_some() || comment.to_lowercase().contains("output:"));
                if expected {
                    let gap = if expecting.is_some_and(|lines| lines > 1) { "\n" } else { "" };
                    code.push_str(&format!("\n{}\n", raw(&format!("{gap}{}", comment.trim_end()))));
                    expecting = Some(0);
                } else if is_directive(comment) {
                    // On one line with what follows: nothing may come between.
                    code.push_str(&raw(comment.trim_end()));
                    code.push(' ');
                    at += usize::from(rest[length..].starts_with('\n'));
                } else {
                    code.push(if comment.contains('\n') { '\n' } else { ' ' });
                }
                at += length;
                continue;
            }
            '"' | '\'' => quoted_length(rest, first)?,
            '`' => rest[1..].find('`')? + 2,
            first => first.len_utf8(),
        };
        match first {
            '\n' => expecting = expecting.map(|lines| lines + 1),
            first if first.is_whitespace() => {}
            '{' | '(' => depth += 1,
            '}' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !first.is_whitespace() {
            expecting = None;
        }
        code.push_str(&rest[..length]);
        at += length;
    }
    Some(code)
}

fn comment_length(rest: &str) -> Option<usize> {
    match rest.starts_with("//") {
        true => Some(rest.find('\n').unwrap_or(rest.len())),
        false => Some(rest[2..].find("*/")? + 4),
    }
}

fn is_directive(comment: &str) -> bool {
    DIRECTIVES.iter().any(|start| comment.starts_with(start))
        || comment.contains("nolint")
        || comment.contains("+build")
}

/// A token that no valid code has in such a place.
fn raw(comment: &str) -> String {
    format!("`{}`", comment.replace('`', "'"))
}

fn quoted_length(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return None,
            letter if letter == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}
