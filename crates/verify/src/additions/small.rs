//! Small additions that are no statement of their own: a docstring, a message, a name in an import, a row between backquotes.

use std::collections::HashSet;

use super::{FIXTURES, Pair, Place, Room, is_plain_name, names_in};
use crate::syntax::{Source, marks};

/// Names that classes of tests inherit from their runner.
const INHERITED: [&str; 12] = [
    "run",
    "debug",
    "id",
    "fail",
    "skipTest",
    "subTest",
    "failureException",
    "addCleanup",
    "doCleanups",
    "countTestCases",
    "defaultTestResult",
    "shortDescription",
];
/// What a runner calls around the tests of a class: in the confirming run the old tests have to pass without it.
const HOOKS: [&str; 15] = [
    "setUp",
    "tearDown",
    "setUpClass",
    "tearDownClass",
    "setUpTestData",
    "asyncSetUp",
    "asyncTearDown",
    "setUpBeforeClass",
    "tearDownAfterClass",
    "setup",
    "teardown",
    "setup_method",
    "teardown_method",
    "setup_class",
    "teardown_class",
];

pub(super) fn is_import(source: &Source<'_>, at: usize) -> bool {
    let kinds = [
        "import_statement",
        "import_from_statement",
        "future_import_statement",
        "import_declaration",
        "namespace_use_declaration",
    ];
    kinds.contains(&source.nodes[at].kind)
}

/// Names that a source uses anywhere, also in strings that are lists of names.
pub(super) fn used<'s>(source: &'s Source<'s>) -> HashSet<&'s str> {
    let is_python = source.nodes[Source::ROOT].kind == "module";
    // The package of `from calc import add` is no name of the file.
    let is_package = |at: usize| {
        let parent = source.nodes[at].parent;
        source.nodes[parent].kind == "dotted_name"
            && source.nodes[source.nodes[parent].parent].kind == "import_from_statement"
            && !source.has(at, marks::DEFINED)
    };
    // Fixtures and parameters of pytest are named in strings.
    let may_name = |at: usize| {
        !is_python
            || source.ancestors(at).any(|up| source.nodes[up].kind == "decorator")
            || source.ancestors(at).any(|up| source.nodes[up].kind == "call" && source.raw(up).contains("fixture"))
    };
    let mut used = HashSet::new();
    for at in source.walk(Source::ROOT).filter(|at| source.is_leaf(*at)) {
        let text = source.raw(at);
        if source.is_name(at) && !is_package(at) {
            used.insert(text);
        } else if source.nodes[at].kind.contains("string") && may_name(at) {
            let names = names_in(text);
            if names.iter().all(|name| is_plain_name(name)) {
                used.extend(names);
            }
        }
    }
    used
}

impl Pair<'_> {
    pub(super) fn is_python(&self) -> bool {
        self.new.nodes[Source::ROOT].kind == "module"
    }

    /// Whether a new parameter hides nothing from the function that it is for.
    pub(super) fn is_new_in(&self, name: &str, params: usize) -> bool {
        let function = self.old.nodes[params].parent;
        let is_used = |at: usize| self.old.is_name(at) && self.old.raw(at) == name;
        self.is_fresh(name) || (!self.is_python() && is_plain_name(name) && !self.old.walk(function).any(is_used))
    }

    /// Whether a new parameter comes from the parametrisation of the test, or from a fixture that changes nothing.
    pub(super) fn is_given(&self, parameter: usize) -> bool {
        let new = self.new;
        let name = new.raw(parameter);
        let is_python = new.ancestors(parameter).any(|up| new.nodes[up].kind == "function_definition");
        let named = |up: usize| {
            new.marked(up, marks::NAMES_LIST)
                .any(|names| new.is_leaf(names) && names_in(new.raw(names)).contains(&name))
        };
        !is_python
            || FIXTURES.contains(&name)
            || new.ancestors(parameter).any(|up| new.nodes[up].kind == "decorated_definition" && named(up))
    }

    /// A string alone means nothing in Python.
    pub(super) fn is_docstring(&self, at: usize) -> bool {
        let node = &self.new.nodes[at];
        let is_string = |child: &usize| self.new.nodes[*child].kind == "string" && self.new.is_leaf(*child);
        self.is_python()
            && node.kind == "expression_statement"
            && node.children.len() == 1
            && is_string(&node.children[0])
    }

    /// What runs only when the file is started as a program: `if __name__ == "__main__": unittest.main()`.
    pub(super) fn is_main_block(&self, at: usize) -> bool {
        let new = self.new;
        let text: String = new.raw(at).split_whitespace().collect::<String>().replace('"', "'");
        let starts = ["if__name__=='__main__':unittest.main(", "if__name__=='__main__':pytest.main("];
        let body = new.marked(at, marks::BODY).next();
        self.is_python()
            && starts.iter().any(|start| text.starts_with(start))
            && text.ends_with(')')
            && body.is_some_and(|body| new.nodes[body].children.len() == 1)
    }

    /// Whether a new loop over values does nothing but define a test for each.
    pub(super) fn loop_only_defines(&self, at: usize) -> bool {
        let new = self.new;
        let is_loop = new.nodes[at].kind == "for_in_statement" || new.raw(at).contains(".forEach(");
        let is_test = || {
            new.marked(at, marks::BODY).next().is_none_or(|body| {
                new.ancestors(body).skip(1).take_while(|up| *up != at).any(|up| new.has(up, marks::TEST))
            })
        };
        if !is_loop || is_test() {
            return true;
        }
        let body = new.marked(at, marks::BODY).next();
        body.is_none_or(|body| {
            let children = new.nodes[body].children.iter();
            children.filter(|child| new.nodes[**child].is_named).all(|child| new.has(*child, marks::DEFINE))
        })
    }

    /// Whether only `async` was put before the function of a test.
    pub(super) fn became_async(&self, old: usize, new: usize) -> bool {
        let (before, now) = (&self.old.nodes[old], &self.new.nodes[new]);
        let is_of_test = || self.old.ancestors(old).skip(1).take(2).any(|up| self.old.has(up, marks::TEST));
        matches!(before.kind, "arrow_function" | "function_expression")
            && now.children.len() == before.children.len() + 1
            && self.new.raw(now.children[0]) == "async"
            && is_of_test()
    }

    /// Whether a table between backquotes has more rows: "test.each`a | b ${1} | ${2}`".
    pub(super) fn has_more_tagged_rows(&self, old: usize, new: usize) -> bool {
        let callee = self.old.raw(self.old.nodes[old].parent).split('`').next().unwrap_or_default().trim_end();
        if self.old.nodes[old].kind != "template_string" || !(callee.ends_with(".each") || callee.ends_with(".for")) {
            return false;
        }
        let values = |source: &Source<'_>, at: usize| -> Vec<usize> {
            let children = source.nodes[at].children.iter().copied();
            children.filter(|child| source.nodes[*child].kind == "template_substitution").collect()
        };
        let heading = |text: &str| {
            let line = text.trim_start_matches('`').trim_start().lines().next().unwrap_or_default();
            line.split('|').map(|name| name.trim().to_owned()).collect::<Vec<_>>()
        };
        let (before, now) = (values(self.old, old), values(self.new, new));
        let columns = heading(self.old.raw(old));
        columns == heading(self.new.raw(new))
            && now.len() > before.len()
            && now.len() % columns.len() == 0
            && before.iter().zip(&now).all(|(old, new)| self.extends(*old, *new))
            && now[before.len()..].iter().all(|value| !self.exits(*value) && self.is_harmless(*value, Place::Free))
    }

    /// Whether the names of an import or a pattern are all there in any order, apart from those that nothing uses any more.
    pub(super) fn names_grow(&self, old: usize, new: usize) -> bool {
        let split = |source: &Source<'_>, at: usize| -> (Vec<usize>, Vec<usize>) {
            let children = source.nodes[at].children.iter().copied().filter(|child| source.raw(*child) != ",");
            // In Go the paths of imports are names, and those are not marked.
            let is_name = |child: &usize| {
                source.nodes[*child].kind == "import_spec" || source.marked(*child, marks::DEFINED).next().is_some()
            };
            children.partition(is_name)
        };
        let ((names, rest), (new_names, new_rest)) = (split(self.old, old), split(self.new, new));
        let is_kept =
            |name: &usize| new_names.iter().any(|other| self.extends(*name, *other)) || self.is_unused(self.old, *name);
        let is_old = |other: &usize| names.iter().any(|name| self.extends(*name, *other));
        if names.is_empty() {
            return self.grows(old, new, Room::Names);
        }
        rest.len() == new_rest.len()
            && rest.iter().zip(&new_rest).all(|(old, new)| self.extends(*old, *new))
            && names.iter().all(is_kept)
            && new_names.iter().all(|name| is_old(name) || self.is_welcome(*name, Room::Names, true, old))
    }

    /// Whether no code of the new file uses what a node of the old one binds.
    fn is_unused(&self, old: &Source<'_>, at: usize) -> bool {
        let new = self.new;
        let mut names = old.marked(at, marks::DEFINED).peekable();
        names.peek().is_some()
            && names.all(|name| {
                let is_use =
                    |leaf: usize| new.is_name(leaf) && new.raw(leaf) == old.raw(name) && !new.has(leaf, marks::DEFINED);
                !new.walk(Source::ROOT).any(is_use)
            })
    }

    /// Whether the imports at the top are all there in any order, apart from those that nothing uses any more.
    pub(super) fn keeps_imports(&self) -> bool {
        let imports = |source: &Source<'_>| -> Vec<usize> {
            source.nodes[Source::ROOT].children.iter().copied().filter(|child| is_import(source, *child)).collect()
        };
        let (before, now) = (imports(self.old), imports(self.new));
        let bound = |source: &Source<'_>, all: &[usize]| -> HashSet<String> {
            all.iter().flat_map(|at| bindings(source, *at)).map(|(what, _)| what).collect()
        };
        let (old_names, new_names) = (bound(self.old, &before), bound(self.new, &now));
        let is_kept = |old: &usize| {
            let names = bindings(self.old, *old);
            now.iter().any(|new| self.extends(*old, *new))
                || self.is_unused(self.old, *old)
                || self.old.nodes[*old].kind == "future_import_statement"
                || (!names.is_empty()
                    && names.iter().all(|(what, at)| new_names.contains(what) || self.is_unused(self.old, *at)))
        };
        let is_fine = |new: &usize| {
            let names = bindings(self.new, *new);
            before.iter().any(|old| self.extends(*old, *new))
                || self.is_welcome(*new, Room::Suite, false, Source::ROOT)
                || (!names.is_empty()
                    && self.is_harmless(*new, Place::Free)
                    && names.iter().all(|(what, at)| old_names.contains(what) || self.names_are_fresh(*at)))
        };
        before.iter().all(is_kept) && now.iter().all(is_fine)
    }

    /// Whether a new row of a dictionary has a key that no old one has.
    pub(super) fn has_new_key(&self, at: usize, table: usize) -> bool {
        let new = self.new;
        if self.old.nodes[table].kind != "dictionary" {
            return true;
        }
        let key = |source: &Source<'_>, row: usize| source.nodes[row].children.first().map(|key| source.tokens(*key));
        new.nodes[at].kind == "pair"
            && self.old.nodes[table].children.iter().all(|row| key(self.old, *row) != key(new, at))
    }

    /// Whether a new method prepares the tests of its class.
    pub(super) fn is_hook_of_class(&self, at: usize) -> bool {
        let names: Vec<&str> = self.own_names(at).map(|name| self.new.raw(name)).collect();
        !names.is_empty()
            && names.iter().all(|name| HOOKS.contains(name) && self.is_fresh(name))
            && self.new.nodes[at].kind != "class_declaration"
    }

    /// Whether a class of tests gets a helper, a fixture or a value of its own.
    pub(super) fn is_member(&self, at: usize, name: &str, is_function: bool) -> bool {
        let asserts = name
            .strip_prefix("assert")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_'));
        let kind = self.new.nodes[at].kind;
        let is_value = match self.is_python() {
            true => kind == "expression_statement",
            false => kind.contains("declaration") || kind == "method",
        };
        (is_function || is_value) && !name.starts_with("test") && !asserts && !INHERITED.contains(&name)
    }

    /// Whether an import of Java brings an assertion of a library that everybody knows.
    pub(super) fn is_from_known_library(&self, name: usize) -> bool {
        let known = ["org.junit.", "org.assertj.", "org.hamcrest.", "org.mockito.", "com.google.common.truth."];
        let import = self.new.ancestors(name).find(|up| self.new.nodes[*up].kind == "import_declaration");
        import.is_some_and(|import| {
            let words: Vec<&str> = self.new.raw(import).split_whitespace().collect();
            words.get(2).is_some_and(|path| words[1] == "static" && known.iter().any(|start| path.starts_with(start)))
        })
    }
}

/// What an import of Python or JavaScript binds: where it comes from, under which name, and the node of that.
fn bindings(source: &Source<'_>, import: usize) -> Vec<(String, usize)> {
    let parts = &source.nodes[import].children;
    let squeezed = |at: usize| source.raw(at).split_whitespace().collect::<Vec<_>>().join(" ");
    let is_name = |at: &usize| matches!(source.nodes[*at].kind, "dotted_name" | "aliased_import");
    let clause = parts.iter().copied().find(|part| source.nodes[*part].kind == "import_clause");
    match (source.nodes[import].kind, clause, parts.as_slice()) {
        ("import_statement", None, _) => {
            parts.iter().copied().filter(is_name).map(|name| (format!("import {}", squeezed(name)), name)).collect()
        }
        ("import_from_statement", _, [_, module, _, names @ ..]) => {
            let from = squeezed(*module);
            names.iter().copied().filter(is_name).map(|name| (format!("{from} {}", squeezed(name)), name)).collect()
        }
        ("import_statement", Some(clause), [.., from]) => {
            let from = source.token(*from);
            let named = |at: &usize| matches!(source.nodes[*at].kind, "import_specifier" | "namespace_import");
            let default = source.nodes[clause].children.iter().copied().filter(|at| source.is_name(*at));
            let default = default.map(|at| (format!("{from} default {}", source.raw(at)), at));
            let named = source.walk(clause).filter(named).map(|at| (format!("{from} {}", squeezed(at)), at));
            default.chain(named).collect()
        }
        _ => Vec::new(),
    }
}
