//! What tests of a file have in common: their class, and lists that several of them go through.

use std::collections::HashSet;

use super::{ChangeableTest, TestClass, with_decorators};
use crate::syntax::{Source, marks};

/// The class of a test, and whether its decorators can skip it.
pub(super) fn class_of(source: &Source<'_>, at: usize) -> Option<(TestClass, bool)> {
    let is_class = |up: &usize| matches!(source.nodes[*up].kind, "class_definition" | "class_declaration" | "class");
    let class = source.ancestors(at).find(is_class)?;
    let name = source.nodes[class].children.iter().find(|child| source.has(**child, marks::DEFINED))?;
    let skips = |at: &usize| source.nodes[*at].kind == "decorator" && source.raw(*at).contains("skip");
    let around = &source.nodes[with_decorators(source, class)];
    let is_run = source.nodes[class]
        .children
        .iter()
        .any(|child| source.nodes[*child].kind == "argument_list" && source.raw(*child).contains("TestCase"));
    let class = TestClass { name: source.raw(*name).to_owned(), is_run };
    Some((class, around.children.iter().any(skips)))
}

/// Notes which tests name a list that is changed for another test, and so fail with it.
pub(super) fn share_tables(source: &Source<'_>, tests: &mut [(usize, ChangeableTest)]) {
    let mut changed: Vec<(&str, String)> = Vec::new();
    for (at, test) in &*tests {
        let own = &source.nodes[with_decorators(source, *at)];
        let edits = test.places.iter().flat_map(|place| &place.ways).flat_map(|way| &way.edits);
        let outside = edits.map(|edit| edit.start).filter(|place| !(own.start..own.end).contains(place));
        let outside: Vec<usize> = outside.collect();
        let names = if outside.is_empty() { HashSet::new() } else { lists_around(source, &outside) };
        changed.extend(names.into_iter().map(|name| (name, test.name.clone())));
    }
    if changed.is_empty() {
        return;
    }
    for (at, test) in tests {
        let leaves = source.walk(with_decorators(source, *at)).filter(|leaf| source.is_leaf(*leaf));
        let used: HashSet<&str> = leaves.map(|leaf| source.raw(leaf)).collect();
        let others = changed.iter().filter(|(name, other)| used.contains(name) && *other != test.name);
        test.fails_with.extend(others.map(|(_, other)| other.clone()));
    }
}

/// The names of what is defined with these places in it.
fn lists_around<'a>(source: &Source<'a>, places: &[usize]) -> HashSet<&'a str> {
    let names = source.marked(Source::ROOT, marks::DEFINED | marks::ASSIGN).filter(|at| source.is_name(*at));
    let defined: Vec<usize> = names.collect();
    let around = |place: &usize| {
        let is_around =
            |at: &&usize| source.nodes[**at].start < *place && *place < source.nodes[source.nodes[**at].parent].end;
        defined.iter().rfind(is_around).map(|at| source.raw(*at))
    };
    places.iter().filter_map(around).collect()
}
