//! Changes tests in place, under their own names and in their own form, so that what they expect no longer holds. Runs nothing.
//!
//! Each test has several changes, the one that a runner could tell from the original last: an expected literal, the rows of a
//! table, an operator, another assertion function.

use crate::syntax::{Source, marks, readable};

/// Words in the head of a test that does not run, or that has to fail.
const NOT_PLAIN: [&str; 12] = [
    "skip",
    "xfail",
    "todo",
    "fails",
    "failing",
    "ignore",
    "Ignore",
    "Disabled",
    "should_panic",
    "expectedFailure",
    "expected",
    "xit",
];
/// Assertion functions, and what is asserted when their names are exchanged.
const OPPOSITES: [(&str, &str); 28] = [
    ("assertEqual", "assertNotEqual"),
    ("assertEquals", "assertNotEquals"),
    ("assertSame", "assertNotSame"),
    ("assertTrue", "assertFalse"),
    ("assertIs", "assertIsNot"),
    ("assertIn", "assertNotIn"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertNull", "assertNotNull"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertAlmostEqual", "assertNotAlmostEqual"),
    ("assertRegex", "assertNotRegex"),
    ("assertContains", "assertNotContains"),
    ("assert_eq", "assert_ne"),
    ("assert_equal", "refute_equal"),
    ("assert_nil", "refute_nil"),
    ("assert_includes", "refute_includes"),
    ("assert_empty", "refute_empty"),
    ("assert", "refute"),
    ("to", "not_to"),
    ("Equal", "NotEqual"),
    ("Nil", "NotNil"),
    ("True", "False"),
    ("Error", "NoError"),
    ("Contains", "NotContains"),
    ("Empty", "NotEmpty"),
    ("equal", "notEqual"),
    ("strictEqual", "notStrictEqual"),
    ("deepStrictEqual", "notDeepStrictEqual"),
];
const OPERATORS: [(&str, &str); 8] = [
    ("==", "!="),
    ("===", "!=="),
    ("<", ">="),
    (">", "<="),
    ("is", "is not"),
    ("in", "not in"),
    ("not", " "),
    ("&&", "&& !"),
];

/// A test that can be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeableTest {
    /// Its name in the source.
    pub name: String,
    /// Whether the first change leaves no doubt: it is the other side of an equality.
    pub(crate) is_sure: bool,
    /// Edits for each way to change it, the best way first.
    ways: Vec<Vec<Edit>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

impl ChangeableTest {
    /// In how many ways it can be changed.
    #[must_use]
    pub fn ways(&self) -> usize {
        self.ways.len()
    }
}

/// The tests of a file that can be changed so that they must fail; none where the file cannot be parsed.
#[must_use]
pub fn changeable_tests(path: &str, content: &[u8], seed: u64) -> Vec<ChangeableTest> {
    let Some(text) = readable(content) else { return Vec::new() };
    // Most sources of Rust hold no tests: they need not be parsed.
    if path.ends_with(".rs") && !text.contains("test]") && !text.contains("test(") {
        return Vec::new();
    }
    let Some(source) = Source::parse(path, &text) else { return Vec::new() };
    let mut tests: Vec<ChangeableTest> = Vec::new();
    for (at, name) in source.tests().into_iter().filter(|(at, _)| runs(&source, *at)) {
        let whole = with_decorators(&source, at);
        let ways: Vec<Vec<Edit>> = ways(&source, whole, seed).into_iter().filter(|edits| !edits.is_empty()).collect();
        if !ways.is_empty() && !tests.iter().any(|test| test.name == name) {
            tests.push(ChangeableTest { name, is_sure: is_sure(&source, whole), ways });
        }
    }
    tests
}

/// A file with tests changed, each in one of its ways.
#[must_use]
pub fn change(content: &[u8], tests: &[(&ChangeableTest, usize)]) -> Option<Vec<u8>> {
    let mut text = readable(content)?;
    let mut edits: Vec<&Edit> = tests.iter().filter_map(|(test, way)| test.ways.get(*way)).flatten().collect();
    edits.sort_by_key(|edit| (edit.start, edit.end));
    edits.dedup();
    for edit in edits.into_iter().rev() {
        text.get(edit.start..edit.end)?;
        text.replace_range(edit.start..edit.end, &edit.text);
    }
    Some(text.into_bytes())
}

/// Whether a test runs and has to pass, as far as its head says.
fn runs(source: &Source<'_>, at: usize) -> bool {
    let whole = with_decorators(source, at);
    let body = source.marked(at, marks::BODY).next().map_or(source.nodes[at].end, |body| source.nodes[body].start);
    let first = attributes(source, at).first().map_or(source.nodes[whole].start, |first| source.nodes[*first].start);
    let name = source.marked(at, marks::TEST_NAME).next().map_or(body..body, |name| {
        let node = &source.nodes[name];
        node.start..node.end
    });
    let head = format!("{}{}", &source.text[first..name.start.max(first)], &source.text[name.end.min(body)..body]);
    let is_rust = source.nodes[at].kind == "function_item";
    !NOT_PLAIN.iter().any(|word| head.contains(word)) && (!is_rust || head.contains("test]") || head.contains("test("))
}

/// Attributes before a function of Rust.
fn attributes(source: &Source<'_>, at: usize) -> Vec<usize> {
    let siblings = &source.nodes[source.nodes[at].parent].children;
    let place = siblings.iter().position(|child| *child == at).unwrap_or(0);
    let mut before: Vec<usize> = siblings[..place]
        .iter()
        .rev()
        .take_while(|child| source.nodes[**child].kind == "attribute_item")
        .copied()
        .collect();
    before.reverse();
    before
}

fn with_decorators(source: &Source<'_>, at: usize) -> usize {
    let parent = source.nodes[at].parent;
    if source.nodes[parent].kind == "decorated_definition" { parent } else { at }
}

/// Edits for each way to change a test: an expected literal, table rows, an operator, another function.
fn ways(source: &Source<'_>, test: usize, seed: u64) -> [Vec<Edit>; 4] {
    let asserts: Vec<usize> = source
        .marked(test, marks::ASSERT)
        .filter(|at| {
            !source.ancestors(*at).skip(1).take_while(|up| *up != test).any(|up| source.has(up, marks::ASSERT))
        })
        .collect();
    let mut ways: [Vec<Edit>; 4] = Default::default();
    for at in &asserts {
        let judged = judged(source, *at);
        let literals = judged.iter().flat_map(|part| source.marked(*part, marks::LITERAL));
        let literal = literals.filter(|at| !is_inside_string(source, *at)).last();
        ways[0].extend(literal.and_then(|literal| changed_literal(source, literal, seed)));
        let operator = judged
            .iter()
            .flat_map(|part| source.marked(*part, marks::OPERATOR))
            .min_by_key(|at| source.ancestors(*at).count());
        ways[2].extend(operator.and_then(|operator| swapped(source, operator, &OPERATORS)));
        ways[3].extend(negated(source, *at, &judged));
    }
    let tables =
        source.marked(test, marks::TABLE | marks::LOOP).filter(|table| !source.is_leaf(*table) && !asserts.is_empty());
    for table in tables {
        for row in source.nodes[table].children.iter().filter(|row| source.nodes[**row].is_named) {
            let literal = source.marked(*row, marks::LITERAL).filter(|at| !is_inside_string(source, *at)).last();
            ways[1].extend(literal.and_then(|literal| changed_literal(source, literal, seed)));
        }
    }
    ways
}

/// Whether a test compares something with a literal for equality.
fn is_sure(source: &Source<'_>, test: usize) -> bool {
    const EQUAL: [&str; 15] = [
        "toBe(",
        "toEqual(",
        "toStrictEqual(",
        "assertEqual(",
        "assertEquals(",
        "assertSame(",
        "assert_eq!(",
        "assert_equal",
        "trictEqual(",
        "deepEqual(",
        ".equal(",
        ".Equal(",
        " == ",
        " === ",
        " eq(",
    ];
    const NEARLY: [&str; 5] = ["Almost", "approx", "Close", "Delta", "not"];
    let lists = ["argument_list", "arguments", "token_tree", "comparison_operator", "binary_expression"];
    source.marked(test, marks::ASSERT).any(|at| {
        let text = source.raw(at);
        let literals = judged(source, at).into_iter().flat_map(|part| source.marked(part, marks::LITERAL));
        let last = literals.filter(|at| !is_inside_string(source, *at)).last();
        let is_direct = |at: usize| lists.contains(&source.nodes[source.nodes[at].parent].kind);
        EQUAL.iter().any(|name| text.contains(name))
            && !NEARLY.iter().any(|name| text.contains(name))
            && last.is_some_and(is_direct)
    })
}

/// The parts of an assertion that decide, without a message.
fn judged(source: &Source<'_>, at: usize) -> Vec<usize> {
    let node = &source.nodes[at];
    let named = |at: usize| -> Vec<usize> {
        source.nodes[at].children.iter().copied().filter(|child| source.nodes[*child].is_named).collect()
    };
    match node.kind {
        "assert_statement" => named(at).into_iter().take(1).collect(),
        "if_statement" => named(at).into_iter().take_while(|child| source.nodes[*child].kind != "block").collect(),
        "with_statement" => Vec::new(),
        _ => {
            let lists = ["argument_list", "arguments", "token_tree"];
            let Some(list) = outer_arguments(source, at, &lists) else { return named(at) };
            let parts: Vec<usize> = match source.nodes[list].kind {
                "token_tree" => {
                    let one = source.raw(at).trim_start().starts_with("assert!")
                        || source.raw(at).trim_start().starts_with("debug_assert!");
                    first_groups(source, list, if one { 1 } else { 2 })
                }
                _ => named(list),
            };
            let is_text =
                |at: &usize| source.nodes[*at].kind.contains("string") || source.raw(*at).starts_with(['"', '\'', '`']);
            let is_list = source.nodes[list].kind != "token_tree";
            let without = if is_list && parts.len() >= 3 && parts.last().is_some_and(is_text) {
                &parts[..parts.len() - 1]
            } else if is_list && parts.len() == 2 && is_text(&parts[1]) && takes_condition(source.raw(at)) {
                &parts[..1]
            } else {
                &parts[..]
            };
            without.to_vec()
        }
    }
}

/// The arguments of the outermost call: of `expect(a).toBe(3)` those of `toBe`.
fn outer_arguments(source: &Source<'_>, at: usize, lists: &[&str]) -> Option<usize> {
    let children = &source.nodes[at].children;
    let own = children.iter().rev().copied().find(|child| lists.contains(&source.nodes[*child].kind));
    own.or_else(|| {
        children
            .iter()
            .find_map(|child| (source.nodes[*child].is_named).then(|| outer_arguments(source, *child, lists))?)
    })
}

/// The first arguments of a macro.
fn first_groups(source: &Source<'_>, list: usize, count: usize) -> Vec<usize> {
    let mut commas = 0;
    let inside = source.nodes[list].children.iter().copied().skip(1);
    inside
        .take_while(|child| {
            commas += usize::from(source.raw(*child) == ",");
            commas < count
        })
        .filter(|child| source.raw(*child) != ",")
        .collect()
}

/// Whether an assertion takes a condition and a message.
fn takes_condition(text: &str) -> bool {
    let callee = text.trim_start().split('(').next().unwrap_or_default();
    let last = callee.rsplit(['.', '>', ':']).next().unwrap_or_default();
    matches!(
        last,
        "assert"
            | "ok"
            | "assertTrue"
            | "assertFalse"
            | "isTrue"
            | "isFalse"
            | "True"
            | "False"
            | "true"
            | "false"
            | "notOk"
            | "assertIsNone"
            | "assertIsNotNone"
            | "assertNull"
            | "assertNotNull"
    )
}

fn is_inside_string(source: &Source<'_>, at: usize) -> bool {
    source.ancestors(at).skip(1).any(|up| matches!(source.nodes[up].kind, "interpolation" | "template_substitution"))
}

/// Another literal of the same kind and, where it is a number, of the same length.
fn changed_literal(source: &Source<'_>, at: usize, seed: u64) -> Option<Edit> {
    let node = &source.nodes[at];
    let text = source.raw(at);
    let replacement = match text {
        "true" => "false".to_owned(),
        "false" => "true".to_owned(),
        "True" => "False".to_owned(),
        "False" => "True".to_owned(),
        "None" | "nil" | "undefined" => "0".to_owned(),
        "null" if node.kind == "null" => "0".to_owned(),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            let skip =
                if text.get(1..2).is_some_and(|mark| "xXbBoO".contains(mark)) && text.starts_with('0') { 2 } else { 0 };
            let first = text[skip..].find(|c: char| c.is_ascii_digit())? + skip;
            let length = text[first..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - first);
            let last = first + length - 1;
            let digit = match text.as_bytes().get(last)? {
                b'0' => '1',
                digit => char::from(digit - 1),
            };
            format!("{}{digit}{}", &text[..last], &text[last + 1..])
        }
        _ if node.kind.contains("char") || node.kind == "rune_literal" => {
            let letter = text.chars().nth(1).filter(|letter| letter.is_ascii_alphanumeric() && text.len() == 3)?;
            format!("'{}'", if letter == 'b' { 'c' } else { 'b' })
        }
        _ if text.ends_with(['"', '\'', '`']) && text.len() >= 2 => {
            let letters = b"bcdefghklmnoprstuvwy";
            let index = usize::try_from((seed ^ u64::try_from(node.start).unwrap_or(0)) % 20).unwrap_or(0);
            let quote = text.chars().next_back()?;
            let width = if text.ends_with(&quote.to_string().repeat(3)) && text.len() >= 6 { 3 } else { 1 };
            let end = text.len() - width;
            format!("{}{}{}", &text[..end], char::from(*letters.get(index)?), &text[end..])
        }
        _ if node.kind == "simple_symbol" => format!("{text}b"),
        _ => return None,
    };
    Some(Edit { start: node.start, end: node.end, text: replacement })
}

/// The other of a pair of words.
fn swapped(source: &Source<'_>, at: usize, pairs: &[(&str, &str)]) -> Option<Edit> {
    let text = source.raw(at).split_whitespace().collect::<Vec<_>>().join(" ");
    let other = pairs.iter().find_map(|(one, other)| match text.as_str() {
        text if text == *one => Some(*other),
        text if text == *other => Some(*one),
        _ => None,
    });
    let node = &source.nodes[at];
    other.map(|other| Edit {
        start: node.start,
        end: node.end,
        text: format!(" {} ", other.trim_end()).replace("  ", " "),
    })
}

/// The opposite assertion.
fn negated(source: &Source<'_>, at: usize, judged: &[usize]) -> Option<Edit> {
    let before = |at: usize, text: &str| Edit {
        start: source.nodes[at].start,
        end: source.nodes[at].start,
        text: text.to_owned(),
    };
    if source.nodes[at].kind == "assert_statement" {
        let condition = *judged.first()?;
        let node = &source.nodes[condition];
        return Some(Edit { start: node.start, end: node.end, text: format!("not ({})", source.raw(condition)) });
    }
    let judges: Vec<usize> = source.marked(at, marks::JUDGE).collect();
    // `expect(a).toBe(3)`, and with `not.` before it.
    if let Some(judge) =
        judges.iter().find(|judge| source.raw(**judge).starts_with("to") && source.raw(**judge).len() > 2)
    {
        let not = judges.iter().find(|judge| source.raw(**judge) == "not");
        return Some(match not {
            Some(not) => Edit { start: source.nodes[*not].start, end: source.nodes[*judge].start, text: String::new() },
            None => before(*judge, "not."),
        });
    }
    let start = judged.first().map_or(0, |first| source.nodes[*first].start);
    let end = judged.last().map_or(0, |last| source.nodes[*last].end);
    let text = source.raw(at).trim_start();
    let takes =
        ["assert!", "debug_assert!", "assert(", "assert.ok(", "ok("].iter().any(|start| text.starts_with(start));
    if takes {
        return Some(Edit { start, end, text: format!("!({})", &source.text[start..end]) });
    }
    let edit = judges.iter().find_map(|judge| swapped(source, *judge, &OPPOSITES))?;
    Some(Edit { text: edit.text.trim().to_owned(), ..edit })
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
