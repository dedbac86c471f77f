//! Changes tests in place, under their own names and in their own form, so that what they expect no longer holds. Runs nothing.
//!
//! Each assertion is changed by itself, in several ways, the one that a runner could tell from the original last: an expected
//! literal, the rows of a table, an operator, what is given to the code, another exception or assertion function.

mod heads;
mod shared;
mod sides;
mod tables;

use std::collections::HashSet;

use crate::syntax::{Source, marks, readable};
pub use heads::defined_tests;
use heads::{expected_failure, has_to_fail, head_has, is_skipped, is_test, with_decorators};
use sides::{Condition, conditions, denies, expectation, literals, outer_arguments};
use tables::{compared, last_values, tables};

/// Functions that expect an exception or a warning, and classes that stand for another one.
const RAISES: [(&str, [&str; 2]); 11] = [
    ("raises", ["BufferError", "EOFError"]),
    ("assertRaises", ["BufferError", "EOFError"]),
    ("assertRaisesRegex", ["BufferError", "EOFError"]),
    ("warns", ["ImportWarning", "BytesWarning"]),
    ("deprecated_call", ["ImportWarning", "BytesWarning"]),
    ("assertWarns", ["ImportWarning", "BytesWarning"]),
    ("assertWarnsRegex", ["ImportWarning", "BytesWarning"]),
    ("assertThrows", ["java.util.ConcurrentModificationException.class", "java.nio.BufferOverflowException.class"]),
    (
        "assertThrowsExactly",
        ["java.util.ConcurrentModificationException.class", "java.nio.BufferOverflowException.class"],
    ),
    ("expectException", ["\\UnderflowException::class", "\\OverflowException::class"]),
    ("assert_raises", ["FloatDomainError", "EncodingError"]),
];
/// Assertion functions, and what is asserted when their names are exchanged.
const OPPOSITES: [(&str, &str); 54] = [
    ("TEST_ASSERT_TRUE", "TEST_ASSERT_FALSE"),
    ("TEST_ASSERT_NULL", "TEST_ASSERT_NOT_NULL"),
    ("TEST_ASSERT_EQUAL", "TEST_ASSERT_NOT_EQUAL"),
    ("ck_assert_int_eq", "ck_assert_int_ne"),
    ("ck_assert_str_eq", "ck_assert_str_ne"),
    ("assert_int_equal", "assert_int_not_equal"),
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
    ("assertEmpty", "assertNotEmpty"),
    ("assertCount", "assertNotCount"),
    ("assertInstanceOf", "assertNotInstanceOf"),
    ("assertStringContainsString", "assertStringNotContainsString"),
    ("assertStringStartsWith", "assertStringStartsNotWith"),
    ("assertStringEndsWith", "assertStringEndsNotWith"),
    ("assertMatchesRegularExpression", "assertDoesNotMatchRegularExpression"),
    ("assertArrayHasKey", "assertArrayNotHasKey"),
    ("assertEqualsWithDelta", "assertNotEqualsWithDelta"),
    ("assert_predicate", "refute_predicate"),
    ("assert_match", "refute_match"),
    ("assert_in_delta", "refute_in_delta"),
    ("assert_instance_of", "refute_instance_of"),
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
    /// The class that defines it, where there is one.
    pub class: Option<TestClass>,
    /// Where it can be changed so that it must fail; nowhere, at times.
    pub places: Vec<Place>,
    /// Its head says that it does not always run.
    pub may_be_skipped: bool,
    /// Other tests of the file that it calls, or whose table it goes through as well: it fails with them.
    pub fails_with: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestClass {
    pub name: String,
    /// It is run by itself, and not only where another one inherits it.
    pub is_run: bool,
}

/// An assertion that can be changed, each in ways of its own: a test may be made to pass at one of them only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Whether it is reached in any case.
    pub(crate) is_always: bool,
    /// The best way to change it first.
    ways: Vec<Way>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Way {
    edits: Vec<Edit>,
    shows: Shows,
}

/// What a way to change an assertion shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    /// Another value is expected: without doubt the assertion has to fail.
    Value,
    /// Something that is no value of the same kind is expected: it has to fail, and says nothing about values of that kind.
    OtherKind,
    /// Another value, which may be one that does not matter.
    LikelyValue,
    /// Something else is given to the code, which may do the same with it.
    Input,
    /// The opposite is asserted: it has to fail, and says nothing about values.
    Opposite,
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

    /// The lines that a way changes, each by its start.
    pub(crate) fn lines(&self, way: usize, content: &[u8]) -> Vec<usize> {
        let start = |edit: &Edit| content[..edit.start].iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        self.ways.get(way).map_or_else(Vec::new, |way| way.edits.iter().map(start).collect())
    }

    pub(crate) fn shows(&self, way: usize) -> Option<Shows> {
        self.ways.get(way).map(|way| way.shows)
    }

    /// Whether the first change leaves no doubt: it is the other side of an equality.
    pub(crate) fn is_sure(&self) -> bool {
        self.is_always && matches!(self.shows(0), Some(Shows::Value | Shows::OtherKind))
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
    // Macros in the head of one function of C do not hide the others.
    let parsed = if path.ends_with(".c") { Source::parse_items(path, &text) } else { Source::parse(path, &text) };
    let Some(source) = parsed else { return Vec::new() };
    let original = original.and_then(readable);
    let is_original = |at: usize| original.as_ref().is_none_or(|original| original.contains(source.raw(at)));
    let helpers = helpers(&source);
    let all: HashSet<String> = source.tests().into_iter().map(|(_, name)| name).collect();
    let is_meant = |at: usize| !head_has(&source, at, &has_to_fail) || expected_failure(&source, at).is_some();
    let tests = source.tests().into_iter().filter(|(at, _)| is_test(&source, *at) && is_meant(*at));
    let mut tests: Vec<(usize, ChangeableTest)> = tests
        .map(|(at, name)| {
            let places = match expected_failure(&source, at) {
                Some((start, end, text)) => {
                    let edits = vec![Edit { start, end, text }];
                    vec![Place { is_always: true, ways: vec![Way { edits, shows: Shows::Value }] }]
                }
                None => places(&source, with_decorators(&source, at), seed, &is_original, &helpers),
            };
            let is_call = |leaf: &usize| {
                let after = source.text[source.nodes[*leaf].end..].trim_start();
                let called = source.raw(*leaf);
                source.is_name(*leaf) && after.starts_with('(') && called != name && all.contains(called)
            };
            let fails_with = source.walk(at).filter(is_call).map(|leaf| source.raw(leaf).to_owned()).collect();
            let (class, is_class_skipped) = shared::class_of(&source, at).unzip();
            let may_be_skipped = head_has(&source, at, &is_skipped) || is_class_skipped == Some(true);
            (at, ChangeableTest { name, class, places, may_be_skipped, fails_with })
        })
        // One that only holds other tests fails with them.
        .filter(|(at, test)| !test.places.is_empty() || !source.marked(*at, marks::TEST).any(|inner| inner != *at))
        .collect();
    shared::share_tables(&source, &mut tests);
    tests.into_iter().map(|(_, test)| test).collect()
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

/// Whether an assertion judges something: not one that holds other tests, prints, or fails in any case.
fn is_judging(source: &Source<'_>, at: usize) -> bool {
    const OTHERS: [&str; 14] = [
        "t.Run",
        "b.Run",
        "t.Log",
        "t.Logf",
        "t.Helper",
        "t.Parallel",
        "t.test",
        "t.plan",
        "t.end",
        "fail",
        "t.fail",
        "self.fail",
        "flunk",
        "assert.fail",
    ];
    let text = source.raw(at).trim_start();
    let text = text.strip_prefix("await ").unwrap_or(text);
    let text = text.strip_prefix("Assert.").or_else(|| text.strip_prefix("$this->")).unwrap_or(text);
    source.has(at, marks::ASSERT)
        && !text.split_once('(').is_some_and(|(callee, _)| OTHERS.contains(&callee.trim_end()))
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
    let mut edits: Vec<&Edit> =
        places.iter().filter_map(|(place, way)| place.ways.get(*way)).flat_map(|way| &way.edits).collect();
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
    // What a test inside this one asserts is its own, also where its title is computed.
    let own = source.marked(test, marks::TEST).next();
    let is_inner =
        |up: &usize| source.raw(*up).starts_with("t.test(") || (source.has(*up, marks::TEST) && Some(*up) != own);
    let hides = |up: &usize| is_inner(up) || (is_judging(source, *up) && !is_sub_test(*up));
    let is_conditional = |up: &usize| {
        let kind = source.nodes[*up].kind;
        kind.starts_with("if")
            || ["else", "elif", "except", "catch", "rescue", "match_arm", "case"].iter().any(|word| kind.contains(word))
    };
    let is_assert = |at: &usize| is_judging(source, *at) || calls(source, *at, helpers);
    let all = source
        .walk(test)
        .filter(is_assert)
        .filter(|at| is_original(*at) && !is_sub_test(*at) && !inside(*at).iter().any(hides));
    let may_not = |at: &usize| inside(*at).iter().any(is_conditional) || !source.has(*at, marks::ASSERT);
    let (maybe, always): (Vec<usize>, Vec<usize>) = all.partition(may_not);
    let tables = tables(source, test);
    // The column that a condition compares with, or else the last value of each row; none where that says nothing.
    let rows_of = |condition: &Condition<'_>| {
        if denies(source, condition) || other_exception(source, condition.at).is_some() {
            return Vec::new();
        }
        let compared = compared(source, test, &condition.judged, &tables, seed);
        compared.unwrap_or_else(|| last_values(source, &tables, seed))
    };
    let place = |conditions: &[Condition<'_>], is_always: bool, rows: &[Edit]| {
        let way = |shows| Way { edits: Vec::new(), shows };
        let mut ways =
            [Shows::LikelyValue, Shows::LikelyValue, Shows::LikelyValue, Shows::Input, Shows::Opposite].map(way);
        for condition in conditions {
            let (edits, shows) = expectation(source, test, condition, &tables, seed);
            ways[0].edits.extend(edits);
            ways[0].shows = if ways[0].shows == Shows::LikelyValue { shows } else { ways[0].shows };
            ways[1].shows = ways[0].shows;
            let judged = &condition.judged;
            let operators = judged.iter().flat_map(|part| source.marked(*part, marks::OPERATOR));
            if let Some(operator) = operators.min_by_key(|at| source.ancestors(*at).count()) {
                ways[2].edits.extend(swapped(source, operator, &OPERATORS));
                let is_own = judged.contains(&source.nodes[operator].parent) || judged.contains(&operator);
                ways[2].shows = if is_own { Shows::Opposite } else { Shows::LikelyValue };
            }
            let (input, _) = literals(source, condition);
            ways[3].edits.extend(input.and_then(|literal| changed_literal(source, literal, seed)));
            if let Some(edit) = other_exception(source, condition.at) {
                ways[4] = Way { edits: vec![edit], shows: Shows::Value };
            } else {
                ways[4].edits.extend(negated(source, condition.at, judged));
            }
        }
        // What is compared with a literal is not in the table.
        if ways[0].edits.is_empty() {
            ways[1].edits = rows.to_vec();
        }
        // The code may give the same for another input.
        if ways[..3].iter().any(|way| !way.edits.is_empty()) {
            ways[3].edits.clear();
        }
        let mut distinct: Vec<Way> = Vec::new();
        for way in ways.into_iter().filter(|way| !way.edits.is_empty()) {
            if !distinct.iter().any(|other| other.edits == way.edits) {
                distinct.push(way);
            }
        }
        Place { is_always, ways: distinct }
    };
    // One row at a time: another one that fails would hide one that cannot.
    let places = |at: &usize, is_always: bool| -> Vec<Place> {
        let one = |condition: &Condition<'_>| -> Vec<Place> {
            let (one, rows) = (std::slice::from_ref(condition), rows_of(condition));
            match expectation(source, test, condition, &tables, seed).0.is_empty() && rows.len() > 1 {
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
        true => {
            let all: Vec<Condition<'_>> = maybe.iter().flat_map(|at| conditions(source, *at)).collect();
            let rows = last_values(source, &tables, seed);
            let holds_tests = source.marked(test, marks::TEST).any(|inner| Some(inner) != own);
            match all.is_empty() {
                true if holds_tests => Vec::new(),
                true => rows.chunks(1).map(|row| place(&all, true, row)).collect(),
                false => vec![place(&all, true, &rows)],
            }
        }
    };
    let others = printed(source, test).into_iter().chain(caught(source, test));
    let others = others.map(|edit| Way { edits: vec![edit], shows: Shows::Value });
    let others = others.map(|way| Place { is_always: true, ways: vec![way] });
    places.into_iter().filter(|place| !place.ways.is_empty()).chain(others).collect()
}

/// Where a test fails unless an exception is caught: fails there as well.
fn caught<'a>(source: &'a Source<'_>, test: usize) -> impl Iterator<Item = Edit> + 'a {
    const FAILS: [&str; 5] = ["fail(", "Assert.fail(", "Assertions.fail(", "$this->fail(", "assert.fail("];
    let child = |at: usize, kinds: &[&str]| {
        source.nodes[at].children.iter().copied().find(|child| kinds.contains(&source.nodes[*child].kind))
    };
    let blocks: &[&str] = &["block", "statement_block", "compound_statement"];
    source.walk(test).filter(|at| source.nodes[*at].kind == "try_statement").filter_map(move |at| {
        let last = source.nodes[child(at, blocks)?].children.iter().copied().rfind(|it| source.nodes[*it].is_named)?;
        let fails = FAILS.iter().any(|name| source.raw(last).starts_with(name));
        let caught = child(child(at, &["catch_clause"])?, blocks).filter(|_| fails)?;
        let start = source.nodes[caught].start + 1;
        Some(Edit { start, end: start, text: format!(" {}", source.raw(last)) })
    })
}

/// What an example of Go has to print, with something more.
fn printed(source: &Source<'_>, test: usize) -> Option<Edit> {
    let comments: Vec<usize> = source.walk(test).filter(|at| source.is_comment(*at)).collect();
    let is_example = source.raw(test).starts_with("func Example");
    comments.iter().find(|at| is_example && source.raw(**at).to_lowercase().contains("output:"))?;
    let end = source.nodes[*comments.last()?].end;
    Some(Edit { start: end, end, text: "7".to_owned() })
}

/// Expects another exception, where an assertion expects one.
fn other_exception(source: &Source<'_>, at: usize) -> Option<Edit> {
    let call = match source.nodes[at].kind {
        "with_statement" => source.walk(at).find(|up| source.nodes[*up].kind == "call")?,
        _ => at,
    };
    let callee = source.raw(call).split(['(', ' ']).next()?.rsplit(['.', '>', ':']).next()?.trim();
    let (_, others) = RAISES.iter().find(|(name, _)| *name == callee)?;
    let list = outer_arguments(source, call, &["argument_list", "arguments"])?;
    let is_class = |child: &usize| source.nodes[*child].is_named && !source.has(*child, marks::LITERAL);
    let class = source.nodes[list].children.iter().copied().find(is_class)?;
    let other = others.iter().find(|other| **other != source.raw(class))?;
    let node = &source.nodes[class];
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
            // What is parsed has to stay what it is: JSON with another value.
            let inner = text[..end].trim_start_matches(|c: char| c.is_alphabetic() || c == quote);
            if inner.starts_with(['{', '['])
                && let Some(edit) = changed_inside(node.start, &text[..end])
            {
                return Some(edit);
            }
            format!("{}{}{}", &text[..end], char::from(*letters.get(index)?), &text[end..])
        }
        _ if node.kind == "simple_symbol" && text.ends_with(|c: char| c.is_alphanumeric()) => format!("{text}b"),
        _ => return None,
    };
    Some(Edit { start: node.start, end: node.end, text: replacement })
}

/// The last letter or digit of a text as another one.
fn changed_inside(start: usize, text: &str) -> Option<Edit> {
    let at = text.rfind(|c: char| c.is_ascii_alphanumeric()).filter(|at| !text[..*at].ends_with('\\'))?;
    let other = match text.as_bytes()[at] {
        b'9' => '8',
        b'z' => 'y',
        b'Z' => 'Y',
        byte => char::from(byte + 1),
    };
    Some(Edit { start: start + at, end: start + at + 1, text: other.to_string() })
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
    if source.nodes[at].kind == "if_statement" && source.language.extensions == ["go"] {
        let head = source.nodes[at].children.iter().copied().filter(|child| source.nodes[*child].is_named);
        let condition = head.take_while(|child| source.nodes[*child].kind != "block").last()?;
        let is_turned = source.nodes[condition].children.iter().any(|child| source.has(*child, marks::OPERATOR));
        let node = &source.nodes[condition];
        return (!is_turned).then(|| Edit {
            start: node.start,
            end: node.end,
            text: format!("!({})", source.raw(condition)),
        });
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
    // JUnit 3 does not have it, and one function that is not there keeps all tests from being compiled.
    let is_newer = ["@Test", "@ParameterizedTest", "org.junit."].iter().any(|mark| source.text.contains(mark));
    if source.language.extensions == ["java"] && edit.text.trim() == "assertNotEquals" && !is_newer {
        return None;
    }
    // What Java imports by its name has no opposite in the file.
    let import = format!(".{};", &source.text[edit.start..edit.end]);
    let imports = source.text.lines().filter_map(|line| line.strip_prefix("import static "));
    let class = imports.filter_map(|line| line.strip_suffix(import.as_str())).next();
    let text = edit.text.trim();
    Some(Edit { text: class.map_or_else(|| text.to_owned(), |class| format!("{class}.{text}")), ..edit })
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
