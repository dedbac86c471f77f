//! Lines, definitions, imports and constants of Python, from the lexer's tokens. Judges nothing.

use super::tokens::{closing, is_name, split};

/// A logical line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Where it starts among the tokens.
    pub(super) start: usize,
    /// How deep it is; none for a comment alone.
    pub(super) depth: Option<usize>,
    /// What is on it, without depth and end.
    pub(super) code: &'a [String],
}

impl<'a> Line<'a> {
    pub(super) fn first(&self) -> &'a str {
        self.code.first().map_or("", String::as_str)
    }

    /// The last token that is no comment.
    pub(super) fn last(&self) -> &'a str {
        self.code.iter().rfind(|token| !token.starts_with('#')).map_or("", String::as_str)
    }
}

pub(super) fn lines(tokens: &[String]) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    tokens.split_inclusive(|token| token == "\n").map(move |line| {
        let code = line.strip_suffix(&["\n".to_owned()]).unwrap_or(line);
        let depth = code.first().and_then(|first| first.strip_prefix('\t')).and_then(|depth| depth.parse().ok());
        let code = if depth.is_some() { &code[1..] } else { code };
        start += line.len();
        Line { start: start - line.len(), depth, code }
    })
}

/// The line, when there is one only.
pub(super) fn single(tokens: &[String]) -> Option<Line<'_>> {
    let mut lines = lines(tokens);
    lines.next().filter(|_| lines.next().is_none())
}

/// A function or a class.
pub(super) struct Definition<'a> {
    pub(super) decorators: Vec<&'a [String]>,
    pub(super) is_class: bool,
    pub(super) name: &'a str,
    /// What follows the name on its line.
    rest: &'a [String],
}

impl<'a> Definition<'a> {
    pub(super) fn read(tokens: &'a [String]) -> Option<Self> {
        let mut decorators = Vec::new();
        let line = lines(tokens).find(|line| {
            let decorates = line.first() == "@";
            decorators.extend(decorates.then_some(line.code));
            !decorates
        });
        let code = line?.code;
        let code = code.strip_prefix(&["async".to_owned()]).unwrap_or(code);
        let (keyword, code) = code.split_first()?;
        let (name, rest) = code.split_first()?;
        let known = matches!(keyword.as_str(), "def" | "class") && is_name(name);
        known.then_some(Self { decorators, is_class: keyword == "class", name, rest })
    }

    /// What a class is derived from; `None` where that is more than a list of classes.
    pub(super) fn bases(&self) -> Option<Vec<&'a [String]>> {
        match self.rest.first().map(String::as_str) {
            Some("(") => split(&self.rest[1..closing(self.rest, 0)?], ","),
            Some(":") => Some(Vec::new()),
            _ => None,
        }
    }
}

/// One name that an import binds, as [`imports`] writes it.
pub(super) struct Import<'a> {
    pub(super) bound: &'a str,
    tokens: &'a [String],
}

impl<'a> Import<'a> {
    pub(super) fn read(tokens: &'a [String]) -> Option<Self> {
        let bound = match tokens {
            [from, .., bound] if from == "from" => bound,
            [import, .., r#as, bound] if import == "import" && r#as == "as" => bound,
            [import, bound, ..] if import == "import" => bound,
            _ => return None,
        };
        Some(Self { bound, tokens })
    }

    /// Whether it binds one name, and changes how nothing is read.
    pub(super) fn is_harmless(&self) -> bool {
        is_name(self.bound) && self.tokens.get(1).is_none_or(|module| module != "__future__")
    }

    /// `import a.b`, which binds `a`.
    pub(super) fn is_plain(&self) -> bool {
        self.tokens.first().is_some_and(|first| first == "import") && !self.tokens.iter().any(|token| token == "as")
    }

    /// Whether both bind the same package.
    pub(super) fn binds_as(&self, other: &Self) -> bool {
        self.is_plain() && other.is_plain() && self.bound == other.bound
    }
}

/// An import as one import for each name; `None` for everything else.
pub(super) fn imports(tokens: &[String]) -> Option<Vec<Vec<String>>> {
    let line = single(tokens)?;
    let known = |token: &String| is_name(token) || matches!(token.as_str(), "." | "," | "(" | ")" | "*");
    if !line.code.iter().all(known) {
        return None;
    }
    let (from, list) = match line.first() {
        "import" => line.code.split_at(1),
        "from" => line.code.split_at(line.code.iter().position(|token| token == "import")? + 1),
        _ => return None,
    };
    let list = match list.first().map(String::as_str) {
        Some("(") if closing(list, 0) == Some(list.len() - 1) => &list[1..list.len() - 1],
        _ => list,
    };
    let names = split(list, ",")?;
    (!names.is_empty()).then(|| names.into_iter().map(|name| [from, name].concat()).collect())
}

/// The name that a line binds to a literal.
pub(super) fn constant(tokens: &[String]) -> Option<&str> {
    let line = single(tokens)?;
    let equals = line.code.iter().position(|token| token == "=")?;
    let name = line.code.first().filter(|name| is_name(name))?;
    let annotated = line.code.get(1).is_some_and(|mark| mark == ":" || mark == "=");
    let value = &line.code[equals + 1..];
    (annotated && !value.is_empty() && value.iter().all(|token| is_literal(token))).then_some(name)
}

fn is_literal(token: &str) -> bool {
    let prefixed = token.trim_start_matches(['r', 'R', 'b', 'B', 'u', 'U']);
    matches!(token, "True" | "False" | "None" | "(" | ")" | "[" | "]" | "{" | "}" | "," | ":" | "-" | ".")
        || prefixed.starts_with(['"', '\''])
        || token.starts_with(|c: char| c.is_ascii_digit())
}
