//! Which tests run and have to pass, as far as their heads and what is around them say.

use crate::syntax::{Source, marks, readable};

/// Words in the head of a test that has to fail.
const HAS_TO_FAIL: [&str; 5] = ["xfail", "fails", "failing", "should_panic", "expectedfailure"];
/// Words in the head of a test that may not run, besides those that start with `skip`.
const NOT_RUN: [&str; 7] = ["todo", "fixme", "ignore", "ignored", "disabled", "xit", "xtest"];

/// Names of the tests of a file that run whenever the file is loaded; none where that cannot be said.
#[must_use]
pub fn defined_tests(path: &str, content: &[u8]) -> Vec<String> {
    // What a setting or a platform may leave out.
    const CONDITIONAL: [&str; 16] = [
        "pytest.skip(",
        "SkipTest",
        "skipTest",
        "testing.Short",
        "this.skip(",
        " t.skip(",
        "#[cfg(",
        "cfg_attr",
        "go:build",
        "+build",
        "importorskip",
        "allow_module_level",
        "__test__",
        "load_tests",
        "pytestmark",
        ".only(",
    ];
    let text = readable(content).map(|text| text.replace("#[cfg(test)]", ""));
    let Some(text) = text.filter(|text| !CONDITIONAL.iter().any(|word| text.contains(word))) else { return Vec::new() };
    let Some(source) = Source::parse(path, &text) else { return Vec::new() };
    let is_collected = |at: usize| {
        source.ancestors(at).skip(1).all(|up| {
            let head = source.raw(up).split(['\n', '{']).next().unwrap_or_default();
            match source.nodes[up].kind {
                // A base class or a mixin is collected with those that inherit from it.
                "class_definition" | "class_declaration" | "class" => {
                    head.contains("Test") && !["Base", "Mixin", "abstract"].iter().any(|word| head.contains(word))
                }
                "decorated_definition" | "call_expression" | "call" => {
                    !["skip", "todo", "xdescribe", "xcontext", "runIf"].iter().any(|word| head.contains(word))
                }
                kind if kind.contains("function") => {
                    source.nodes[up].children.iter().any(|body| source.has(*body, marks::SUITE))
                }
                kind => !kind.starts_with("if") && !kind.contains("for") && !kind.contains("try"),
            }
        })
    };
    let runs = |at: usize| {
        let may_skip = source.marked(at, marks::EXIT).any(|exit| source.raw(exit).to_lowercase().contains("skip"));
        let is_parametrised = source.marked(with_decorators(&source, at), marks::TABLE).next().is_some();
        is_test(&source, at)
            && is_collected(with_decorators(&source, at))
            && !may_skip
            && !is_parametrised
            && !head_has(&source, at, &is_skipped)
            && !head_has(&source, at, &has_to_fail)
    };
    let tests = source.tests().into_iter().filter(|(at, _)| runs(*at)).map(|(_, name)| name);
    tests.filter(|name| !name.contains(['%', '$', '{', '\\'])).collect()
}

pub(super) fn has_to_fail(word: &str) -> bool {
    HAS_TO_FAIL.contains(&word)
}

pub(super) fn is_skipped(word: &str) -> bool {
    word.starts_with("skip") || NOT_RUN.contains(&word)
}

/// Whether a function of Rust is a test; in other languages the query has said so.
pub(super) fn is_test(source: &Source<'_>, at: usize) -> bool {
    let is_test = |attribute: &usize| {
        let text = source.raw(*attribute);
        text.contains("test]") || text.contains("test(")
    };
    source.nodes[at].kind != "function_item" || attributes(source, at).iter().any(is_test)
}

/// Whether the head of a test has such a word. Names of parameters and texts say nothing.
pub(super) fn head_has(source: &Source<'_>, at: usize, is_meant: &dyn Fn(&str) -> bool) -> bool {
    let whole = with_decorators(source, at);
    let body = source.marked(at, marks::BODY).next().map_or(source.nodes[at].end, |body| source.nodes[body].start);
    let name = source.marked(at, marks::TEST_NAME).next();
    let says_so = |leaf: usize| {
        let node = &source.nodes[leaf];
        let is_silent =
            |up: usize| source.nodes[up].kind.contains("parameters") || source.nodes[up].kind.contains("string");
        let is_head = node.end <= body
            && Some(leaf) != name
            && !source.ancestors(leaf).take_while(|up| *up != whole).any(is_silent);
        let word = source.raw(leaf).trim_start_matches(':').to_ascii_lowercase();
        // `@Test(expected = …)` of JUnit.
        let is_expected = word == "expected" && source.nodes[node.parent].kind == "element_value_pair";
        is_head && (is_meant(&word) || (is_expected && is_meant("failing")))
    };
    let leaves = |at: usize| source.walk(at).filter(|node| source.is_leaf(*node));
    attributes(source, at).into_iter().flat_map(leaves).chain(leaves(whole)).any(says_so)
}

/// What the head of a test says that has to panic or throw, and what to say instead so that it fails.
pub(super) fn expected_failure(source: &Source<'_>, at: usize) -> Option<(usize, usize, String)> {
    let panics = attributes(source, at).into_iter().find(|attribute| source.raw(*attribute).contains("should_panic"));
    if let Some(attribute) = panics {
        return Some((source.nodes[attribute].start, source.nodes[attribute].end, String::new()));
    }
    let is_expected = |pair: &usize| {
        source.nodes[*pair].kind == "element_value_pair"
            && source.raw(*pair).starts_with("expected")
            && source.raw(*pair).ends_with(".class")
    };
    let pair = source.walk(at).find(is_expected)?;
    let value = &source.nodes[*source.nodes[pair].children.last()?];
    Some((value.start, value.end, "java.util.ConcurrentModificationException.class".to_owned()))
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

pub(super) fn with_decorators(source: &Source<'_>, at: usize) -> usize {
    let parent = source.nodes[at].parent;
    if source.nodes[parent].kind == "decorated_definition" { parent } else { at }
}
