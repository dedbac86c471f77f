//! Changes tests in place, under their own names and in their own form, so that what they expect no longer holds. Runs nothing.
//!
//! Each assertion is changed by itself, in several ways, the one that a runner could tell from the original last: an expected
//! literal, the rows of a table, an operator, what is given to the code, another exception or assertion function.

mod heads;
mod sides;

use std::collections::HashSet;

use crate::syntax::{Source, marks, readable};
pub use heads::defined_tests;
use heads::{has_to_fail, head_has, is_skipped, is_test, with_decorators};
use sides::{Condition, conditions, expectation, is_inside_string, literals, outer_arguments};

/// Functions of Python that expect an exception or a warning, and classes that stand for another one.
const RAISES: [(&str, [&str; 2]); 7] = [
    ("raises", ["BufferError", "EOFError"]),
    ("assertRaises", ["BufferError", "EOFError"]),
    ("assertRaisesRegex", ["BufferError", "EOFError"]),
    ("warns", ["ImportWarning", "BytesWarning"]),
    ("deprecated_call", ["ImportWarning", "BytesWarning"]),
    ("assertWarns", ["ImportWarning", "BytesWarning"]),
    ("assertWarnsRegex", ["ImportWarning", "BytesWarning"]),
];
/// Assertion functions, and what is asserted when their names are exchanged.
const OPPOSITES: [(&str, &str); 35] = [
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
    ("throws", "doesNotThrow"),
    ("rejects", "doesNotReject"),
    ("equal", "notEqual"),
    ("strictEqual", "notStrictEqual"),
    ("deepStrictEqual", "notDeepStrictEqual"),
    ("match", "doesNotMatch"),
    ("above", "most"),
    ("below", "least"),
    ("assertGreater", "assertLessEqual"),
    ("assertLess", "assertGreaterEqual"),
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeableTest {
    pub name: String,
    /// Where it can be changed so that it must fail; nowhere, at times.
    pub places: Vec<Place>,
    /// Its head says that it does not always run.
    pub may_be_skipped: bool,
}

/// An assertion that can be changed, each in ways of its own: a test may be made to pass at one of them only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Whether the first change leaves no doubt: it is the other side of an equality.
    pub(crate) is_sure: bool,
    /// Whether it is reached in any case.
    pub(crate) is_always: bool,
    /// Edits for each way to change it, the best way first.
    ways: Vec<Vec<Edit>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

impl Place {
    /// In how many ways it can be changed.
    pub fn ways(&self) -> usize {
        self.ways.len()
    }
}

/// The tests of a file that have to pass; none where the file cannot be parsed. Only assertions that `original`
/// has are changed, where there is one.
pub fn changeable_tests(path: &str, content: &[u8], original: Option<&[u8]>, seed: u64) -> Vec<ChangeableTest> {
    let Some(text) = readable(content) else { return Vec::new() };
    // Most sources of Rust hold no tests: they need not be parsed.
    if path.ends_with(".rs") && !text.contains("test]") && !text.contains("test(") {
        return Vec::new();
    }
    let Some(source) = Source::parse(path, &text) else { return Vec::new() };
    let original = original.and_then(readable);
    let is_original = |at: usize| original.as_ref().is_none_or(|original| original.contains(source.raw(at)));
    let helpers = helpers(&source);
    let tests =
        source.tests().into_iter().filter(|(at, _)| is_test(&source, *at) && !head_has(&source, *at, &has_to_fail));
    tests
        .map(|(at, name)| {
            let places = places(&source, with_decorators(&source, at), seed, &is_original, &helpers);
            ChangeableTest { name, places, may_be_skipped: head_has(&source, at, &is_skipped) }
        })
        .collect()
}

/// Functions of the file that judge: calls of them are assertions.
fn helpers<'a>(source: &Source<'a>) -> HashSet<&'a str> {
    let tests: HashSet<usize> = source.tests().into_iter().map(|(at, _)| at).collect();
    let functions = source.marked(Source::ROOT, marks::FUNCTION).filter(|at| !tests.contains(at));
    let judges = |at: &usize| {
        let raises = source.walk(*at).any(|it| source.is_leaf(it) && source.raw(it) == "AssertionError");
        raises || source.marked(*at, marks::ASSERT).next().is_some()
    };
    let is_name = |at: &usize| source.has(*at, marks::DEFINED) && source.is_name(*at);
    functions
        .filter(judges)
        .filter_map(|at| source.nodes[at].children.iter().copied().find(is_name))
        .map(|at| source.raw(at))
        .collect()
}

/// Whether a node is a call of one of these functions.
fn calls(source: &Source<'_>, at: usize, helpers: &HashSet<&str>) -> bool {
    let node = &source.nodes[at];
    matches!(node.kind, "call" | "call_expression" | "function_call_expression" | "method_invocation")
        && node.children.first().is_some_and(|callee| helpers.contains(source.raw(*callee)))
}

/// A file with tests changed, each at one place in one of its ways.
pub fn change(content: &[u8], places: &[(&Place, usize)]) -> Option<Vec<u8>> {
    let mut text = readable(content)?;
    let mut edits: Vec<&Edit> = places.iter().filter_map(|(place, way)| place.ways.get(*way)).flatten().collect();
    edits.sort_by_key(|edit| (edit.start, edit.end));
    edits.dedup();
    for edit in edits.into_iter().rev() {
        text.get(edit.start..edit.end)?;
        text.replace_range(edit.start..edit.end, &edit.text);
    }
    Some(text.into_bytes())
}

/// The places of a test that can be changed: its assertions that are reached in any case; all at once where there is none.
fn places(
    source: &Source<'_>,
    test: usize,
    seed: u64,
    is_original: &dyn Fn(usize) -> bool,
    helpers: &HashSet<&str>,
) -> Vec<Place> {
    let inside = |at: usize| source.ancestors(at).skip(1).take_while(|up| *up != test).collect::<Vec<usize>>();
    let is_sub_test = |at: usize| source.nodes[at].kind == "with_statement" && source.raw(at).contains("subTest(");
    let hides = |up: &usize| source.has(*up, marks::ASSERT) && !is_sub_test(*up);
    let is_conditional = |up: &usize| {
        let kind = source.nodes[*up].kind;
        kind.starts_with("if")
            || ["else", "elif", "except", "catch", "rescue", "match_arm", "case"].iter().any(|word| kind.contains(word))
    };
    let is_assert = |at: &usize| source.has(*at, marks::ASSERT) || calls(source, *at, helpers);
    let all = source
        .walk(test)
        .filter(is_assert)
        .filter(|at| is_original(*at) && !is_sub_test(*at) && !inside(*at).iter().any(hides));
    let may_not = |at: &usize| inside(*at).iter().any(is_conditional) || !source.has(*at, marks::ASSERT);
    let (maybe, always): (Vec<usize>, Vec<usize>) = all.partition(may_not);
    let (rows, rows_end) = rows(source, test, seed);
    let last = if rows_end { last_columns(source, test) } else { Vec::new() };
    let place = |conditions: &[Condition<'_>], is_always: bool, rows: &[Edit]| {
        let mut ways: [Vec<Edit>; 5] = Default::default();
        let mut is_any_sure = false;
        for condition in conditions {
            let (edits, is_sure) = expectation(source, test, condition, &last, seed);
            ways[0].extend(edits);
            is_any_sure |= is_sure;
            let judged = &condition.judged;
            let operators = judged.iter().flat_map(|part| source.marked(*part, marks::OPERATOR));
            let operator = operators.min_by_key(|at| source.ancestors(*at).count());
            ways[2].extend(operator.and_then(|operator| swapped(source, operator, &OPERATORS)));
            let (input, _) = literals(source, condition);
            ways[3].extend(input.and_then(|literal| changed_literal(source, literal, seed)));
            ways[4].extend(other_exception(source, condition.at).or_else(|| negated(source, condition.at, judged)));
        }
        // What is compared with a literal is not in the table.
        if ways[0].is_empty() {
            ways[1] = rows.to_vec();
        }
        // The code may give the same for another input.
        if ways[..3].iter().any(|edits| !edits.is_empty()) {
            ways[3].clear();
        }
        let mut distinct: Vec<Vec<Edit>> = Vec::new();
        for edits in ways.into_iter().filter(|edits| !edits.is_empty()) {
            if !distinct.contains(&edits) {
                distinct.push(edits);
            }
        }
        Place { is_sure: is_always && is_any_sure, is_always, ways: distinct }
    };
    // One row at a time: another one that fails would hide one that cannot.
    let places = |at: &usize, is_always: bool| -> Vec<Place> {
        let one = |condition: &Condition<'_>| -> Vec<Place> {
            let one = std::slice::from_ref(condition);
            match expectation(source, test, condition, &last, seed).0.is_empty() && rows.len() > 1 {
                true => rows.iter().map(|row| place(one, is_always, std::slice::from_ref(row))).collect(),
                false => vec![place(one, is_always, &rows)],
            }
        };
        conditions(source, *at).iter().flat_map(one).collect()
    };
    let places: Vec<Place> = match always.is_empty() {
        false => {
            always.iter().flat_map(|at| places(at, true)).chain(maybe.iter().flat_map(|at| places(at, false))).collect()
        }
        true => vec![place(&maybe.iter().flat_map(|at| conditions(source, *at)).collect::<Vec<_>>(), true, &rows)],
    };
    places.into_iter().filter(|place| !place.ways.is_empty()).collect()
}

/// Changes the last value in every row of the tables of a test; and whether that is, or is in, the last column of each.
fn rows(source: &Source<'_>, test: usize, seed: u64) -> (Vec<Edit>, bool) {
    let named = |at: usize| source.nodes[at].children.iter().copied().filter(|child| source.nodes[*child].is_named);
    let tables = source.marked(test, marks::TABLE | marks::LOOP).filter(|table| !source.is_leaf(*table));
    let (mut edits, mut are_last) = (Vec::new(), true);
    for row in tables.flat_map(named) {
        let literal = source.marked(row, marks::LITERAL).filter(|at| !is_inside_string(source, *at)).last();
        let edit = literal.and_then(|literal| changed_literal(source, literal, seed));
        let column = named(row).next_back().map_or(0, |column| source.nodes[column].start);
        are_last &= edit.as_ref().is_some_and(|edit| edit.start >= column);
        edits.extend(edit);
    }
    (edits, are_last)
}

/// The names that the last column of a table has in a test: its last parameter, and the last name that a loop gives a value to.
fn last_columns<'a>(source: &Source<'a>, test: usize) -> Vec<&'a str> {
    let last = |at: usize| {
        let names = source.walk(at).filter(|at| source.is_leaf(*at) && source.nodes[*at].kind == "identifier");
        names.last().map(|name| source.raw(name))
    };
    let parameters = source.walk(test).find(|at| source.nodes[*at].kind.contains("parameters"));
    let loops = source.marked(test, marks::LOOP).filter(|table| !source.is_leaf(*table)).filter_map(|table| {
        let head = source.ancestors(table).find(|up| source.nodes[*up].kind.starts_with("for"))?;
        source.nodes[head].children.iter().copied().find(|child| source.nodes[*child].is_named)
    });
    parameters.into_iter().chain(loops).filter_map(last).collect()
}

/// Expects another exception, where an assertion of Python expects one.
fn other_exception(source: &Source<'_>, at: usize) -> Option<Edit> {
    let head = |up: &usize| source.nodes[*up].kind == "call";
    let call = match source.nodes[at].kind {
        "with_statement" => source.walk(at).find(head)?,
        "call" => at,
        _ => return None,
    };
    let callee = source.raw(call).split('(').next()?.rsplit('.').next()?.trim();
    let (_, others) = RAISES.iter().find(|(name, _)| *name == callee)?;
    let list = outer_arguments(source, call, &["argument_list"])?;
    let class = *source.nodes[list].children.iter().find(|child| source.nodes[**child].is_named)?;
    let node = &source.nodes[class];
    let other = others.iter().find(|other| **other != source.raw(class))?;
    Some(Edit { start: node.start, end: node.end, text: (*other).to_owned() })
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
        // Go would not compile it.
        "nil" if source.language.extensions.contains(&"go") => return None,
        "None" | "nil" | "undefined" => "0".to_owned(),
        "null" if node.kind == "null" => "0".to_owned(),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            let skip =
                if text.get(1..2).is_some_and(|mark| "xXbBoO".contains(mark)) && text.starts_with('0') { 2 } else { 0 };
            let first = text[skip..].find(|c: char| c.is_ascii_digit())? + skip;
            let is_digit = |c: char| c.is_ascii_digit() || c == '_';
            let length = text[first..].find(|c: char| !is_digit(c)).unwrap_or(text.len() - first);
            let last = text[..first + length].rfind(|c: char| c.is_ascii_digit())?;
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

/// A literal that is far from this one: no tolerance and no list makes up for it.
fn far_literal(source: &Source<'_>, at: usize) -> Option<Edit> {
    let (node, text) = (&source.nodes[at], source.raw(at));
    let is_decimal = text.starts_with(|c: char| c.is_ascii_digit())
        && !text.get(1..2).is_some_and(|mark| "xXbBoO".contains(mark))
        && (!text.starts_with('0') || text.len() == 1 || text.starts_with("0."));
    if is_decimal {
        let text = format!("70000{}{text}", if text.starts_with('0') { "" } else { "0" });
        return Some(Edit { start: node.start, end: node.end, text });
    }
    let quote = text.chars().next_back().filter(|quote| matches!(quote, '"' | '\''))?;
    let is_short = text.len() >= 2 && !text.ends_with(&quote.to_string().repeat(3));
    is_short.then(|| Edit { start: node.start, end: node.end, text: format!("{}qvkx{quote}", &text[..text.len() - 1]) })
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
