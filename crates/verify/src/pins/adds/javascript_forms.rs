//! Forms of statements of JavaScript and TypeScript, from the lexer's tokens. Judges no name.

use super::javascript_certainty::ends_value;
use super::tokens::{closing, has_any, is_name, is_quoted, split};

/// What declares tests.
const TESTS: [&str; 11] =
    ["test", "it", "describe", "suite", "context", "specify", "xit", "xtest", "xdescribe", "xcontext", "bench"];
/// Blocks that tests may join.
const BLOCKS: [&str; 3] = ["describe", "suite", "context"];
/// Members of those that declare one test or block, and leave the others alone.
const MODIFIERS: [&str; 11] =
    ["each", "for", "skip", "todo", "concurrent", "sequential", "failing", "fails", "skipIf", "runIf", "serial"];
/// Those of them that are called before the test is.
const TWICE: [&str; 4] = ["each", "for", "skipIf", "runIf"];
/// Words that a statement does not end with: something has to follow.
const UNFINISHED: [&str; 28] = [
    "abstract",
    "async",
    "asserts",
    "class",
    "const",
    "declare",
    "default",
    "else",
    "enum",
    "export",
    "function",
    "get",
    "implements",
    "import",
    "infer",
    "interface",
    "is",
    "keyof",
    "let",
    "module",
    "namespace",
    "readonly",
    "set",
    "static",
    "type",
    "unique",
    "using",
    "var",
];

/// Stands in an import of one name; no token is empty.
const PART: &str = "";

fn at(tokens: &[String], place: usize) -> &str {
    tokens.get(place).map_or("", String::as_str)
}

fn is_arrow(tokens: &[String], place: usize) -> bool {
    at(tokens, place) == "=" && at(tokens, place + 1) == ">"
}

/// Whether a line break made two statements of one.
pub(super) fn is_dangling(tokens: &[String]) -> bool {
    let end = tokens.iter().rposition(|token| !is_comment(token)).map_or(0, |last| last + 1);
    let tokens = &tokens[..end];
    let Some(last) = tokens.last() else { return false };
    let head = || {
        let open = opening(tokens)?;
        let before = |back: usize| open.checked_sub(back).map_or("", |place| at(tokens, place));
        let word = if before(1) == "await" { before(2) } else { before(1) };
        Some(matches!(word, "if" | "while" | "for" | "with") && before(2) != ".")
    };
    let member = matches!(at(tokens, end.saturating_sub(2)), "." | "as");
    (UNFINISHED.contains(&last.as_str()) && !member) || (last == ")" && head() != Some(false))
}

/// Where the bracket opened that the last token closes.
fn opening(tokens: &[String]) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().rev() {
        match token.as_str() {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(place);
        }
    }
    None
}

pub(super) fn is_comment(token: &str) -> bool {
    token.starts_with("//") || token.starts_with("/*")
}

/// Where the body of a block opens and closes that tests may join.
pub(super) fn describe(tokens: &[String]) -> Option<(usize, usize)> {
    if !BLOCKS.contains(&at(tokens, 0)) {
        return None;
    }
    let call = tokens.iter().position(|token| token == "(")?;
    let plain = tokens[1..call].chunks(2).all(|pair| at(pair, 0) == "." && is_name(at(pair, 1)));
    if !plain || closing(tokens, call)? + 1 != tokens.len() {
        return None;
    }
    let mut place = call + 1;
    while place + 1 < tokens.len() {
        match at(tokens, place) {
            "{" if callback_before(tokens, place) => return Some((place, closing(tokens, place)?)),
            "(" | "[" | "{" => place = closing(tokens, place)?,
            _ => {}
        }
        place += 1;
    }
    None
}

/// Whether what opens at a place is the body of a function without parameters.
fn callback_before(tokens: &[String], place: usize) -> bool {
    let before = &tokens[..place];
    let ends = |words: &[&str]| before.len() >= words.len() && before[before.len() - words.len()..] == *words;
    let at_argument = |length: usize| {
        let begin = before.len() - length;
        let begin = if begin > 0 && before[begin - 1] == "async" { begin - 1 } else { begin };
        begin > 0 && matches!(before[begin - 1].as_str(), "," | "(")
    };
    (ends(&["(", ")", "=", ">"]) && at_argument(4)) || (ends(&["function", "(", ")"]) && at_argument(3))
}

/// An import or require as one for each name; `None` for everything else.
pub(super) fn imports(tokens: &[String]) -> Option<Vec<Vec<String>>> {
    match at(tokens, 0) {
        "import" => static_imports(tokens),
        "const" | "let" | "var" => requires(tokens),
        _ => None,
    }
}

/// `import a, { b as c } from "m"`.
fn static_imports(tokens: &[String]) -> Option<Vec<Vec<String>>> {
    let from = tokens.iter().rposition(|token| token == "from")?;
    if !at(tokens, from + 1).starts_with('"') || from < 2 {
        return None;
    }
    // `import type { a }`, but not `import type from "m"`.
    let typed = at(tokens, 1) == "type" && from > 2 && at(tokens, 2) != ",";
    let start = if typed { 2 } else { 1 };
    let mut parts = Vec::new();
    for piece in split(&tokens[start..from], ",")? {
        let named = at(piece, 0) == "{" && closing(piece, 0)? + 1 == piece.len();
        let names = if named { split(&piece[1..piece.len() - 1], ",")? } else { vec![piece] };
        for name in names {
            let known = match name {
                [star, r#as, name] if star == "*" => r#as == "as" && is_name(name) && !named,
                [name] => is_name(name),
                name => named && name.iter().all(|token| is_name(token) || is_quoted(token)),
            };
            if !known {
                return None;
            }
            let mut part: Vec<String> = tokens[..start].to_vec();
            part.push(PART.to_owned());
            part.extend(named.then(|| "{".to_owned()));
            part.extend_from_slice(name);
            part.extend_from_slice(&tokens[from..]);
            parts.push(part);
        }
    }
    (!parts.is_empty()).then_some(parts)
}

/// `const { a, b: c } = require("m")`, or with `await import`. One name alone stays as it is.
fn requires(tokens: &[String]) -> Option<Vec<Vec<String>>> {
    if at(tokens, 1) != "{" {
        return None;
    }
    let close = closing(tokens, 1)?;
    let source = &tokens[close + 1..];
    if !is_source(source) {
        return None;
    }
    let names = split(&tokens[2..close], ",")?;
    let known = |name: &[String]| match name {
        [name] => is_name(name),
        [member, colon, name] => is_name(member) && colon == ":" && is_name(name),
        _ => false,
    };
    if names.is_empty() || !names.iter().all(|name| known(name)) {
        return None;
    }
    Some(names.into_iter().map(|name| [&tokens[..2], name, &tokens[close..]].concat()).collect())
}

/// `= require("m")`, `= await import("m")`, with members behind it.
fn is_source(tokens: &[String]) -> bool {
    let rest = match tokens {
        [equals, require, rest @ ..] if equals == "=" && require == "require" => rest,
        [equals, wait, import, rest @ ..] if equals == "=" && wait == "await" && import == "import" => rest,
        _ => return false,
    };
    at(rest, 0) == "("
        && is_quoted(at(rest, 1))
        && at(rest, 2) == ")"
        && rest[3..].chunks(2).all(|pair| at(pair, 0) == "." && is_name(at(pair, 1)))
}

/// Whether a statement imports one name, as [`imports`] writes it, or requires one.
pub(super) fn is_import(tokens: &[String]) -> bool {
    match at(tokens, 0) {
        "import" => tokens.iter().any(|token| token == PART),
        "const" | "let" | "var" if at(tokens, 1) == "{" => requires(tokens).is_some_and(|parts| parts.len() == 1),
        "const" | "let" | "var" => is_name(at(tokens, 1)) && tokens.len() > 2 && is_source(&tokens[2..]),
        _ => false,
    }
}

/// Names that a statement of a known form binds where it stands.
pub(super) fn bound(tokens: &[String]) -> Vec<&str> {
    let before = |word: &str| {
        let end = tokens.iter().rposition(|token| token == word).unwrap_or(0);
        tokens[..end].last().map(String::as_str)
    };
    let name = match at(tokens, 0) {
        "import" => before("from"),
        "const" | "let" | "var" if at(tokens, 1) == "{" => before("}"),
        "const" | "let" | "var" | "class" | "interface" | "type" => tokens.get(1).map(String::as_str),
        "async" | "function" => {
            tokens.iter().map(String::as_str).find(|token| !matches!(*token, "async" | "function" | "*"))
        }
        _ => None,
    };
    name.into_iter().collect()
}

/// What a test or block is called, when that is written there.
pub(super) fn title(tokens: &[String]) -> Option<&str> {
    let call = tokens.iter().position(|token| token == "(").filter(|_| TESTS.contains(&at(tokens, 0)))?;
    // Of `test.each(rows)("title", …)` the second call has it.
    let twice = tokens[..call].iter().any(|token| TWICE.contains(&token.as_str()));
    let call = if twice && !at(tokens, call - 1).starts_with('`') { closing(tokens, call)? + 1 } else { call };
    Some(at(tokens, call + 1)).filter(|title| title.starts_with(['"', '`']))
}

/// Whether a statement has a form in which new ones are welcome, imports aside.
pub(super) fn welcome_form(tokens: &[String]) -> bool {
    match at(tokens, 0) {
        "const" | "let" => is_helper(tokens),
        "function" => is_function(tokens),
        "async" => at(tokens, 1) == "function" && is_function(&tokens[1..]),
        "class" | "interface" => {
            let body = tokens.iter().position(|token| token == "{");
            is_name(at(tokens, 1)) && body.and_then(|body| closing(tokens, body)) == Some(tokens.len() - 1)
        }
        "type" => is_type(tokens),
        name => TESTS.contains(&name) && is_test(tokens),
    }
}

/// `type name = …` without anything that could be code of its own: a line break may end the type.
fn is_type(tokens: &[String]) -> bool {
    let assignments = tokens.iter().filter(|token| *token == "=").count();
    let known = |token: &String| {
        let mark =
            matches!(token.as_str(), "=" | "{" | "}" | "[" | "]" | "<" | ">" | "|" | "&" | ":" | ";" | "," | "?" | ".");
        mark || is_name(token) || is_quoted(token)
    };
    is_name(at(tokens, 1))
        && assignments == 1
        && tokens.iter().all(known)
        && !has_any(tokens, &["new", "delete", "throw", "await", "yield", "debugger"])
}

/// A call of `test` and its like that is all of the statement.
fn is_test(tokens: &[String]) -> bool {
    let mut place = 1;
    let mut calls = 1;
    while at(tokens, place) == "." {
        if !MODIFIERS.contains(&at(tokens, place + 1)) {
            return false;
        }
        if TWICE.contains(&at(tokens, place + 1)) {
            calls = 2;
        }
        place += 2;
    }
    for call in (1..=calls).rev() {
        if call == 2 && at(tokens, place).starts_with('`') {
            place += 1;
        } else if let Some(close) =
            Some(place).filter(|place| at(tokens, *place) == "(").and_then(|open| closing(tokens, open))
        {
            place = close + 1;
        } else {
            return false;
        }
    }
    place == tokens.len()
}

/// A function that is all of the tokens, from `function` on.
fn is_function(tokens: &[String]) -> bool {
    let Some(open) = tokens.iter().position(|token| token == "(") else { return false };
    let Some(close) = closing(tokens, open) else { return false };
    body_is_last(tokens, close + 1, |place| at(tokens, place) == "{")
}

/// Whether, after a type that is no object, a body begins that ends with the tokens.
fn body_is_last(tokens: &[String], from: usize, begins: impl Fn(usize) -> bool) -> bool {
    let mut place = from;
    if at(tokens, place) == ":" {
        while place < tokens.len() && !begins(place) {
            if matches!(at(tokens, place), "{" | "(") {
                return false;
            }
            place += 1;
        }
    }
    begins(place) && closing(tokens, place) == Some(tokens.len() - 1)
}

/// `const name = …` with a function or a literal.
fn is_helper(tokens: &[String]) -> bool {
    if !is_name(at(tokens, 1)) || !matches!(at(tokens, 2), "=" | ":") {
        return false;
    }
    let mut equals = 2;
    while equals < tokens.len() && (at(tokens, equals) != "=" || is_arrow(tokens, equals)) {
        match at(tokens, equals) {
            "(" | "[" | "{" => match closing(tokens, equals) {
                Some(close) => equals = close,
                None => return false,
            },
            _ => {}
        }
        equals += 1;
    }
    let Some(value) = tokens.get(equals + 1..) else { return false };
    let value = if at(value, 0) == "async" { &value[1..] } else { value };
    // Behind a comma would stand another name.
    let alone = split(value, ",").is_some_and(|pieces| pieces.len() == 1);
    alone && (is_arrow_function(value) || (at(value, 0) == "function" && is_function(value)) || is_literal(value))
}

fn is_arrow_function(value: &[String]) -> bool {
    let mut place = match at(value, 0) {
        "(" => match closing(value, 0) {
            Some(close) => close + 1,
            None => return false,
        },
        name if is_name(name) => 1,
        _ => return false,
    };
    if at(value, place) == ":" {
        while place < value.len() && !is_arrow(value, place) {
            if matches!(at(value, place), "{" | "(") {
                return false;
            }
            place += 1;
        }
    }
    let body = place + 2;
    is_arrow(value, place) && body < value.len() && is_one_body(value, body)
}

/// Whether the rest is the body of an arrow function, which runs when the function is called. A line break may end an
/// expression before what cannot go on with it.
fn is_one_body(value: &[String], body: usize) -> bool {
    let mut place = body;
    while place < value.len() {
        let last = at(value, place - 1);
        match at(value, place) {
            "{" if last != ">" || closing(value, place) != Some(value.len() - 1) => return false,
            "~" => return false,
            "!" if ends_value(last) && !matches!(at(value, place + 1), "=" | ".") => return false,
            sign @ ("+" | "-") if at(value, place + 1) == sign => return false,
            "(" | "[" | "{" => match closing(value, place) {
                Some(close) => place = close,
                None => return false,
            },
            _ => {}
        }
        place += 1;
    }
    true
}

fn is_literal(value: &[String]) -> bool {
    let value = if value.ends_with(&["as".to_owned(), "const".to_owned()]) { &value[..value.len() - 2] } else { value };
    let marks = ["[", "]", "{", "}", ",", ":", "-", "true", "false", "null", "undefined"];
    !value.is_empty()
        && value.iter().enumerate().all(|(place, token)| {
            let key = is_name(token)
                && place > 0
                && matches!(at(value, place - 1), "{" | ",")
                && at(value, place + 1) == ":";
            marks.contains(&token.as_str())
                || key
                || token.starts_with('"')
                || token.starts_with(|c: char| c.is_ascii_digit())
                || (token.starts_with('`') && !token.contains("${"))
        })
        // What follows a closing bracket directly would read from it.
        && !value.windows(2).any(|pair| matches!(pair[0].as_str(), "]" | "}") && matches!(pair[1].as_str(), "[" | "{"))
        && !has_any(value, &["__proto__"])
}
