//! The same code in another form: what formatters, linters and newer versions of languages and runners make of it, and what
//! judges more strictly than before.

use std::sync::LazyLock;

use regex::Regex;

use super::{Pair, Place};
use crate::pattern::{Pattern, pattern};
use crate::syntax::{Source, marks};

/// Assertions, each with one of another name that judges the same or more.
const NEWER: [(&str, &str); 16] = [
    ("assertEquals", "assertEqual"),
    ("assertNotEquals", "assertNotEqual"),
    ("assertRegexpMatches", "assertRegex"),
    ("assertRaisesRegexp", "assertRaisesRegex"),
    ("assertItemsEqual", "assertCountEqual"),
    ("assert_", "assertTrue"),
    ("toBeCalled", "toHaveBeenCalled"),
    ("toBeCalledWith", "toHaveBeenCalledWith"),
    ("toBeCalledTimes", "toHaveBeenCalledTimes"),
    ("lastCalledWith", "toHaveBeenLastCalledWith"),
    ("toThrowError", "toThrow"),
    ("equal", "strictEqual"),
    ("deepEqual", "deepStrictEqual"),
    ("toEqual", "toStrictEqual"),
    ("assertEquals", "assertSame"),
    ("unwrap", "expect"),
];
/// What fails a test of Go.
const FAILS: [&str; 4] = ["Error", "Errorf", "Fatal", "Fatalf"];
/// Assertions that judge one argument; what follows is a message.
const OF_ONE: [&str; 16] = [
    "assertTrue",
    "assertFalse",
    "assertIsNone",
    "assertIsNotNone",
    "assertNull",
    "assertNotNull",
    "assertEmpty",
    "assertNotEmpty",
    "ok",
    "assert",
    "debug_assert",
    "refute",
    "assert_nil",
    "refute_nil",
    "assert_empty",
    "refute_empty",
];
/// Assertions that judge two.
const OF_TWO: [&str; 33] = [
    "assertEqual",
    "assertEquals",
    "assertNotEqual",
    "assertNotEquals",
    "assertSame",
    "assertNotSame",
    "assertIs",
    "assertIsNot",
    "assertIn",
    "assertNotIn",
    "assertIsInstance",
    "assertGreater",
    "assertGreaterEqual",
    "assertLess",
    "assertLessEqual",
    "assertCountEqual",
    "assertListEqual",
    "assertDictEqual",
    "assertSetEqual",
    "assertTupleEqual",
    "assertMultiLineEqual",
    "assertCount",
    "assertInstanceOf",
    "assertArrayEquals",
    "equal",
    "strictEqual",
    "deepEqual",
    "deepStrictEqual",
    "assert_equal",
    "refute_equal",
    "assert_includes",
    "assert_eq",
    "assert_ne",
];

impl Pair<'_> {
    /// Whether a node of another kind is the old one in another form.
    pub(super) fn is_alike(&self, old: usize, new: usize) -> bool {
        let (before, now) = (&self.old.nodes[old], &self.new.nodes[new]);
        let (old_text, new_text) = (self.old.raw(old), self.new.raw(new));
        let declares = |kind: &str| matches!(kind, "variable_declaration" | "lexical_declaration");
        match (before.kind, now.kind) {
            (one, other) if declares(one) && declares(other) => self.all_extend(&before.children, &now.children),
            ("var" | "let", "let" | "const") => true,
            ("function_expression", "arrow_function") => self.became_arrow(old, new),
            ("identifier", "formal_parameters") => self.is_only_parameter(self.new, new, old_text),
            ("formal_parameters", "identifier") => self.is_only_parameter(self.old, old, new_text),
            // Keys need no quotes where they are names.
            ("string", "property_identifier") => self.old.unquoted(old) == new_text,
            ("property_identifier", "string") => self.new.unquoted(new) == old_text,
            ("string", "encapsed_string") | ("encapsed_string", "string") => {
                let is_plain = |text: &str| !text.contains(['\\', '$', '{']);
                is_plain(old_text) && is_plain(new_text) && self.old.unquoted(old) == self.new.unquoted(new)
            }
            ("interface_type", "type_identifier") => new_text == "any" && old_text.replace(' ', "") == "interface{}",
            ("identifier", "call") => {
                old_text == "raise_error"
                    && new_text.starts_with("raise_error")
                    && !self.is_negated(old)
                    && self.is_quiet(new)
            }
            (_, "await_expression") => now.children.len() == 2 && self.extends(old, now.children[1]),
            (_, "as_pattern") => {
                now.children.len() == 3
                    && self.extends(old, now.children[0])
                    && self.is_fresh(self.new.raw(now.children[2]))
            }
            (_, "decorated_definition") => self.is_marked(old, new),
            _ => self.is_constant(old, new) || self.is_named_value(old, new),
        }
    }

    /// Whether new code that is evaluated inside an old assertion leaves it alone.
    fn is_quiet(&self, at: usize) -> bool {
        !self.exits(at) && !self.ends_tests(at) && self.is_harmless(at, Place::Free)
    }

    /// Whether the old assertion holds where what it names does not.
    fn is_negated(&self, at: usize) -> bool {
        let old = self.old;
        let is_statement = |up: &usize| old.has(old.nodes[*up].parent, marks::BODY | marks::SUITE);
        let statement = old.ancestors(at).find(is_statement).unwrap_or(at);
        let chain = &old.text[old.nodes[statement].start..old.nodes[at].start];
        [".not.", "not_to", "to_not"].iter().any(|not| chain.contains(not))
    }

    fn all_extend(&self, old: &[usize], new: &[usize]) -> bool {
        old.len() == new.len() && old.iter().zip(new).all(|(old, new)| self.extends(*old, *new))
    }

    /// A function that has no need of its own `this`.
    fn became_arrow(&self, old: usize, new: usize) -> bool {
        let part = |source: &Source<'_>, at: usize, kinds: &[&str]| {
            source.nodes[at].children.iter().copied().find(|child| kinds.contains(&source.nodes[*child].kind))
        };
        let is_own = |at: usize| matches!(self.old.raw(at), "this" | "arguments" | "super");
        let has = |kind: &str| part(self.old, old, &[kind]).is_some();
        let same = |kinds: &[&str]| match (part(self.old, old, kinds), part(self.new, new, kinds)) {
            (Some(old), Some(new)) => self.extends(old, new),
            _ => false,
        };
        !self.old.walk(old).any(|at| self.old.is_leaf(at) && is_own(at))
            && !has("identifier")
            && (!has("async") || part(self.new, new, &["async"]).is_some())
            && same(&["formal_parameters", "identifier"])
            && same(&["statement_block"])
    }

    fn is_only_parameter(&self, source: &Source<'_>, at: usize, name: &str) -> bool {
        let parts = &source.nodes[at].children;
        parts.len() == 3
            && source.tokens(parts[1]) == [name]
            && source.nodes[source.nodes[at].parent].kind == "arrow_function"
    }

    /// Whether a test or class of Python has one more mark, which neither skips nor prepares it.
    pub(super) fn is_marked(&self, old: usize, new: usize) -> bool {
        // With literals alone: a mark that is called with a function is that function.
        static MARK: LazyLock<Regex> = LazyLock::new(|| {
            const VALUE: &str = r#"(?:\w+\s*=\s*)?(?:"[^"\\]*"|'[^'\\]*'|[\d_.]+|True|False|None)"#;
            pattern(&format!(
                r"^@\s*(?:pytest\.mark\.\w+|(?:(?:django\.test\.)?tag|pytest\.mark\.\w+)\(\s*(?:{VALUE}(?:\s*,\s*{VALUE})*\s*,?\s*)?\))$"
            ))
        });
        static STEERS: Pattern = Pattern::new(concat!(
            "skip|fail|flaky|rerun|retr|repeat|fixture|parametri|depend|order|only|warning|quarantine|todo|run|",
            "freez|time_machine|vcr|urls|ignore|mock|patch|env|settings"
        ));
        static REBOUND: Pattern = Pattern::new(
            r"\b(?:def|class|as)\s+(?:tag|pytest)\b|(?m:^\s*)(?:tag|pytest)\s*=[^=]|(?m:^\s*)from\s+(?:[^d\s]|d[^j\s])\S*\s+import\s[^\n]*\b(?:tag|pytest)\b",
        );
        if REBOUND.is_match(self.new.text) {
            return false;
        }
        fn split<'a>(source: &'a Source<'_>, at: usize, own: &'a [usize]) -> (&'a [usize], usize) {
            match source.nodes[at].children.split_last() {
                Some((last, decorators)) if source.nodes[at].kind == "decorated_definition" => (decorators, *last),
                _ => (&own[..0], own[0]),
            }
        }
        let (own, other) = ([old], [new]);
        let (before, definition) = split(self.old, old, &own);
        let (now, new_definition) = split(self.new, new, &other);
        let mut next = 0;
        let fits = now.iter().all(|decorator| {
            if before.get(next).is_some_and(|old| self.extends(*old, *decorator)) {
                next += 1;
                return true;
            }
            let text = self.new.raw(*decorator);
            MARK.is_match(text) && !STEERS.is_match(text) && self.is_quiet(*decorator)
        });
        fits && next == before.len() && now.len() > before.len() && self.extends(definition, new_definition)
    }

    /// Whether a name stands for the literal that was there, wherever it is bound.
    fn is_constant(&self, old: usize, new: usize) -> bool {
        let source = self.new;
        let name = source.raw(new);
        if !(self.old.has(old, marks::LITERAL) && self.old.is_leaf(old) && source.is_name(new) && self.is_fresh(name)) {
            return false;
        }
        let binds = |at: usize| source.has(at, marks::DEFINED | marks::ASSIGN);
        let is_rebound = |at: usize| {
            source.ancestors(at).skip(1).take(3).any(|up| {
                let kind = source.nodes[up].kind;
                let targets = ["for_in", "foreach", "range_clause", "list_literal"];
                kind.contains("parameter")
                    || kind.contains("pattern")
                    || targets.iter().any(|target| kind.starts_with(target))
            })
        };
        let uses: Vec<usize> =
            source.walk(Source::ROOT).filter(|at| source.is_name(*at) && source.raw(*at) == name).collect();
        uses.iter().any(|at| binds(*at))
            && uses.iter().all(|at| match binds(*at) {
                true => self.value_of(*at).is_some_and(|value| source.token(value) == self.old.token(old)),
                false => !is_rebound(*at),
            })
    }

    /// What a name is bound to, where that is one token.
    fn value_of(&self, name: usize) -> Option<usize> {
        let new = self.new;
        let holder = new.ancestors(name).skip(1).take(3).find(|up| self.bound_value(*up).is_some())?;
        let mut value = self.bound_value(holder)?;
        while let [only] = new.nodes[value].children[..] {
            value = only;
        }
        (new.is_leaf(value) && value != name).then_some(value)
    }

    /// The part of a declaration or assignment behind its sign.
    fn bound_value(&self, at: usize) -> Option<usize> {
        let new = self.new;
        let children = &new.nodes[at].children;
        let sign = children.iter().position(|child| matches!(new.raw(*child), "=" | ":="))?;
        let mut values = children[sign + 1..].iter().copied().filter(|value| new.nodes[*value].is_named);
        values.next().filter(|_| values.next().is_none())
    }

    /// Whether the value of a statement got a name that nothing uses yet.
    fn is_named_value(&self, old: usize, new: usize) -> bool {
        let source = self.new;
        let kind = source.nodes[new].kind;
        let declares = kind.contains("declaration")
            || kind == "assignment"
            || (kind == "expression_statement" && source.raw(new).starts_with('$'));
        let is_statement = |source: &Source<'_>, at: usize| {
            let node = &source.nodes[at];
            node.kind == "expression_statement"
                || source.nodes[node.parent].kind == "expression_statement"
                || source.has(node.parent, marks::BODY)
        };
        if !declares || !is_statement(self.old, old) {
            return false;
        }
        let Some(holder) = source.walk(new).take(4).find(|at| self.bound_value(*at).is_some()) else { return false };
        let Some(mut value) = self.bound_value(holder) else { return false };
        if source.nodes[value].kind == "expression_list" && source.nodes[value].children.len() == 1 {
            value = source.nodes[value].children[0];
        }
        let start = source.nodes[value].start;
        let bound: Vec<usize> = source
            .marked(new, marks::DEFINED | marks::ASSIGN)
            .filter(|at| source.nodes[*at].end <= start && source.is_leaf(*at))
            .collect();
        let expression = match self.old.nodes[old].kind {
            "expression_statement" => self.old.nodes[old].children.first().copied().unwrap_or(old),
            _ => old,
        };
        !bound.is_empty()
            && bound.iter().all(|name| source.is_name(*name) && self.is_fresh(source.raw(*name)))
            && self.extends(expression, value)
    }

    /// Whether a name is that of an assertion that judges the same as the old one, or more.
    pub(super) fn is_newer_name(&self, old: usize, new: usize) -> bool {
        let (before, now) = (self.old.raw(old), self.new.raw(new));
        let is_of_go = self.new.language.extensions == ["go"];
        let is_of_rust = self.new.language.extensions == ["rs"];
        // A plain name could be imported from anywhere.
        let parent = self.new.nodes[self.new.nodes[new].parent].kind;
        let is_member = ["member", "attribute", "selector", "scoped", "field", "method"];
        self.old.is_name(old)
            && is_member.iter().any(|kind| parent.contains(kind))
            && !self.is_negated(old)
            && match (before, now) {
                ("assert", "require") => is_of_go && self.new.text.contains("\"github.com/stretchr/testify/require\""),
                ("unwrap", "expect") => is_of_rust,
                _ if is_of_go => FAILS.contains(&before) && FAILS.contains(&now),
                _ => NEWER.contains(&(before, now)),
            }
    }

    /// Whether the arguments of a call are those of the old one, with another message or none.
    pub(super) fn differs_in_message(&self, old: usize, new: usize) -> bool {
        let (is_python, is_go) = (self.is_python(), self.old.language.extensions == ["go"]);
        if self.old.nodes[old].kind == "assert_statement" {
            let (before, now) = (&self.old.nodes[old].children, &self.new.nodes[new].children);
            let message = now.get(3).copied();
            return before.len() >= 2
                && self.all_extend(&before[..2], now.get(..2).unwrap_or_default())
                && message.is_none_or(|message| self.is_quiet(message));
        }
        if !matches!(self.old.nodes[old].kind, "argument_list" | "arguments" | "token_tree") {
            return false;
        }
        // There the message comes first.
        if ["org.junit.Assert", "junit.framework"].iter().any(|package| self.old.text.contains(package)) {
            return false;
        }
        let Some(count) = judged(self.old, old).filter(|_| judged(self.new, new).is_some()) else { return false };
        let (before, now) = (groups(self.old, old), groups(self.new, new));
        if before.len() < count || now.len() < count {
            return false;
        }
        let is_message = |source: &Source<'_>, group: Option<&Vec<usize>>| {
            let text = group.and_then(|group| group.first()).map_or("", |first| source.raw(*first));
            group.is_none() || is_python || is_go || text.starts_with(['"', '\'', '`'])
        };
        before[..count].iter().zip(&now).all(|(old, new)| self.all_extend(old, new))
            && is_message(self.old, before.get(count))
            && is_message(self.new, now.get(count))
            && now[count..].iter().flatten().all(|part| self.is_quiet(*part))
    }

    /// Whether a call says more than before about what has to be thrown, or how long a test may take.
    pub(super) fn says_more(&self, old: usize, new: usize) -> bool {
        if !matches!(self.old.nodes[old].kind, "argument_list" | "arguments") {
            return false;
        }
        let (before, now) = (groups(self.old, old), groups(self.new, new));
        let [.., last] = now.as_slice() else { return false };
        let last = last[0];
        let is_allowed = match (callee(self.old, old), before.len()) {
            ("raises" | "warns", _) => self.new.raw(last).starts_with("match="),
            ("toThrow" | "toThrowError", 0) | ("throws" | "rejects", 1) => true,
            _ => self.old.has(self.old.nodes[old].parent, marks::TEST) && self.new.nodes[last].kind == "number",
        };
        is_allowed
            && !self.is_negated(old)
            && now.len() == before.len() + 1
            && before.iter().zip(&now).all(|(old, new)| self.all_extend(old, new))
            && self.is_quiet(last)
    }
}

/// The name of what is called with a list of arguments.
fn callee<'a>(source: &Source<'a>, list: usize) -> &'a str {
    let text = &source.text[source.nodes[source.nodes[list].parent].start..source.nodes[list].start];
    let text = text.trim_end().trim_end_matches('!');
    text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// How many of the arguments an assertion judges, where that is known; what follows is a message.
fn judged(source: &Source<'_>, list: usize) -> Option<usize> {
    let name = callee(source, list);
    let start = source.nodes[source.nodes[list].parent].start;
    let whole = source.text[start..source.nodes[list].start].trim_end();
    let operand = whole.strip_suffix(name).unwrap_or_default();
    match source.language.extensions {
        ["go"] => match (operand, name) {
            ("t." | "tb." | "b." | "f.", name) if FAILS.contains(&name) => Some(0),
            ("assert." | "require.", "NoError" | "Error" | "Nil" | "NotNil" | "True" | "False" | "Empty") => Some(2),
            ("assert." | "require.", "Equal" | "NotEqual" | "Contains" | "Len" | "ErrorIs") => Some(3),
            _ => None,
        },
        ["rs"] if matches!(name, "unwrap" | "expect") => Some(0),
        _ if OF_ONE.contains(&name) => Some(1),
        _ => OF_TWO.contains(&name).then_some(2),
    }
}

/// The arguments in a list; in that of a macro one may be several tokens.
fn groups(source: &Source<'_>, list: usize) -> Vec<Vec<usize>> {
    let inside = source.nodes[list].children.iter().copied().filter(|child| !matches!(source.raw(*child), "(" | ")"));
    let inside: Vec<usize> = inside.collect();
    let groups = inside.split(|child| source.raw(*child) == ",").map(<[usize]>::to_vec);
    groups.filter(|group| !group.is_empty()).collect()
}
