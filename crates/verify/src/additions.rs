//! Whether a test file was only extended. When in doubt it was not. Executes nothing.
//!
//! Everything that was there is still there, in order, in the same block. What is new is
//! - a definition in a block of definitions: a test, a helper, an import, a type, a constant, under a name that the old code
//!   does not use;
//! - a statement in a block that runs: an assertion or a fresh variable anywhere, and anything at the end of a test, as long
//!   as it cannot end or skip the test early;
//! - a row of a table: of a parametrisation, or of a list that nothing but loops goes through;
//! - a name in an import or a parametrisation, with its value in each row.
//!
//! A new test is free in what it does while it runs, as one in a new file is, except that it may not plainly change what the
//! old tests use. Code in which an addition could help the old one, such as a block that has to raise, stays as it is.

mod alike;
mod asides;
mod reach;
mod small;

use std::collections::HashSet;

use crate::syntax::{Source, is_directive, marks, readable};
use small::used;

/// Fixtures of pytest that change nothing for the others.
const FIXTURES: [&str; 7] = ["tmp_path", "tmpdir", "tmp_path_factory", "capsys", "caplog", "request", "subtests"];
/// What lists of rows are called in trees.
const LISTS: [&str; 9] = [
    "list",
    "dictionary",
    "tuple",
    "array",
    "literal_value",
    "array_expression",
    "array_creation_expression",
    "element_value_array_initializer",
    "token_tree",
];
/// What may stand between a list and the name that it is bound to.
const WRAPPERS: [&str; 13] = [
    "const_item",
    "static_item",
    "composite_literal",
    "expression_list",
    "reference_expression",
    "as_expression",
    "satisfies_expression",
    "assignment",
    "variable_declarator",
    "var_spec",
    "short_var_declaration",
    "let_declaration",
    "macro_invocation",
];

/// Whether a test file is as it was, apart from additions.
pub fn only_adds_tests(path: &str, before: &[u8], now: &[u8]) -> bool {
    refused_addition(path, before, now).is_none()
}

/// Why a changed test file is more than an extended one: the test that is gone or changed, where it is one.
pub fn refused_addition(path: &str, before: &[u8], now: &[u8]) -> Option<String> {
    let unknown = || Some(String::new());
    let (Some(before), Some(now)) = (readable(before), readable(now)) else { return unknown() };
    let Some(old) = Source::parse(path, &before) else { return unknown() };
    let Some(new) = Source::parse(path, &now) else { return Some("no longer parses".to_owned()) };
    let pair = Pair::new(&old, &new);
    if pair.keeps_directive() && pair.extends(Source::ROOT, Source::ROOT) {
        return None;
    }
    let tests = new.tests();
    let lost = old.tests().into_iter().find_map(|(test, name)| {
        let twins: Vec<usize> = tests.iter().filter(|(_, other)| *other == name).map(|(twin, _)| *twin).collect();
        let is_there = twins.iter().any(|twin| pair.extends(test, *twin));
        let became = if twins.is_empty() { "is gone" } else { "changed" };
        (!is_there).then(|| format!("test `{name}` {became}"))
    });
    Some(lost.unwrap_or_else(|| "code around the tests changed".to_owned()))
}

pub(crate) struct Pair<'s> {
    old: &'s Source<'s>,
    new: &'s Source<'s>,
    /// Names that the old code uses anywhere, also in strings that are lists of names.
    used: HashSet<&'s str>,
    /// Names that the old or the new file binds for all of its code.
    bound: HashSet<&'s str>,
    /// Names of the old code that functions bind for themselves, or that the file leaves for tests to fill.
    local: HashSet<&'s str>,
    /// Lists that nothing but loops and parametrisations go through.
    tables: HashSet<&'s str>,
    /// Types that only the new file has.
    types: HashSet<&'s str>,
}

/// What may join a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Suite,
    /// Statements; `last` where nothing runs after the last one.
    Body {
        last: bool,
    },
    Rows {
        at_end_only: bool,
    },
    /// One row: values for names that are new.
    Row {
        positional: bool,
    },
    Names,
    Params,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Old code runs after it.
    Between,
    /// It is the end of an old test.
    End,
    /// It is a new test or definition.
    Free,
}

impl<'s> Pair<'s> {
    pub(crate) fn new(old: &'s Source<'s>, new: &'s Source<'s>) -> Self {
        let mut pair = Self {
            old,
            new,
            used: used(old),
            bound: HashSet::new(),
            local: HashSet::new(),
            tables: HashSet::new(),
            types: HashSet::new(),
        };
        for (source, is_old) in [(old, true), (new, false)] {
            for name in source.marked(Source::ROOT, marks::DEFINED) {
                let parent = source.nodes[name].parent;
                let is_empty = source.nodes[parent].kind == "variable_declarator"
                    && !source.nodes[parent].children.iter().any(|child| source.raw(*child) == "=");
                match is_local(source, name) || is_empty {
                    false => {
                        pair.bound.insert(source.raw(name));
                    }
                    true if is_old => {
                        pair.local.insert(source.raw(name));
                    }
                    true => {}
                }
                if !is_old && source.nodes[parent].kind == "type_spec" && !pair.used.contains(source.raw(name)) {
                    pair.types.insert(source.raw(name));
                }
            }
        }
        let rows = marks::TABLE | marks::LOOP;
        let is_use = |name: &&str, at: usize| old.is_name(at) && old.raw(at) == *name;
        let looped = old.marked(Source::ROOT, rows).filter(|at| old.is_name(*at)).map(|at| old.raw(at));
        pair.tables = looped
            .filter(|name| {
                old.walk(Source::ROOT)
                    .filter(|at| is_use(name, *at))
                    .all(|at| old.has(at, rows) || old.has(at, marks::DEFINED | marks::ASSIGN))
            })
            .collect();
        pair
    }

    /// A string alone at the start of JavaScript is an instruction for its engine.
    fn keeps_directive(&self) -> bool {
        let first = |source: &Source<'_>| source.nodes[Source::ROOT].children.first().copied();
        let is_directive = |at: usize| {
            let children = &self.old.nodes[at].children;
            self.old.nodes[at].kind == "expression_statement"
                && children.len() == 1
                && self.old.nodes[children[0]].kind == "string"
        };
        match (first(self.old), first(self.new)) {
            (Some(old), Some(new)) if is_directive(old) => self.extends(old, new),
            _ => true,
        }
    }

    /// Whether a node of the new file is one of the old with additions.
    pub(crate) fn extends(&self, old: usize, new: usize) -> bool {
        let (before, now) = (&self.old.nodes[old], &self.new.nodes[new]);
        if before.kind != now.kind {
            return self.is_alike(old, new);
        }
        if before.children.is_empty() && now.children.is_empty() {
            let more_names = || {
                self.old.has(old, marks::NAMES_LIST)
                    && is_subsequence(&names_in(self.old.raw(old)), &names_in(self.new.raw(new)))
            };
            return self.old.token(old) == self.new.token(new) || more_names() || self.is_newer_name(old, new);
        }
        if self.old.has(old, marks::DECORATOR | marks::CLOSED) != self.new.has(new, marks::DECORATOR | marks::CLOSED) {
            return false;
        }
        if self.differs_in_message(old, new) || self.says_more(old, new) || self.has_more_tagged_rows(old, new) {
            return true;
        }
        if before.kind == "decorated_definition" && now.children.len() > before.children.len() {
            return self.is_marked(old, new);
        }
        match self.room(old, new) {
            Some(Room::Names) => self.names_grow(old, new),
            Some(room) => self.grows(old, new, room),
            None if self.became_async(old, new) => {
                before.children.iter().zip(&now.children[1..]).all(|(old, new)| self.extends(*old, *new))
            }
            None => {
                before.children.len() == now.children.len()
                    && before.children.iter().zip(&now.children).all(|(old, new)| self.extends(*old, *new))
            }
        }
    }

    fn room(&self, at: usize, new: usize) -> Option<Room> {
        let old = self.old;
        if old.has(at, marks::CLOSED) || self.new.has(new, marks::CLOSED) {
            return None;
        }
        if old.has(at, marks::SUITE) {
            return Some(Room::Suite);
        }
        if old.has(at, marks::BODY) {
            let last = !old.ancestors(at).skip(1).any(|up| old.has(up, marks::BODY));
            return Some(Room::Body { last });
        }
        if self.is_table(at) {
            return Some(Room::Rows { at_end_only: self.may_end_early(at) });
        }
        let near = old.ancestors(at).skip(1).take(2);
        let is_fields = old.nodes[at].kind == "field_declaration_list"
            && old.ancestors(at).any(|up| old.nodes[up].children.iter().any(|body| self.is_table(*body)));
        if is_fields || (!old.is_leaf(at) && near.into_iter().any(|up| self.is_table(up)) && is_row(old.nodes[at].kind))
        {
            return Some(Room::Row { positional: self.has_more_parameters(at, new) });
        }
        if old.has(at, marks::NAMES_LIST) {
            return Some(Room::Names);
        }
        let is_of_test = || old.ancestors(at).skip(1).take(3).any(|up| old.has(up, marks::TEST));
        (old.has(at, marks::PARAMS) && is_of_test()).then_some(Room::Params)
    }

    /// Whether a node is a list of rows.
    fn is_table(&self, at: usize) -> bool {
        let old = self.old;
        if !LISTS.contains(&old.nodes[at].kind) {
            return false;
        }
        if old.has(at, marks::TABLE | marks::LOOP) {
            return true;
        }
        let wrapped = old.ancestors(at).skip(1).take_while(|up| WRAPPERS.contains(&old.nodes[*up].kind)).last();
        wrapped.is_some_and(|up| {
            let name = old.marked(up, marks::DEFINED | marks::ASSIGN).find(|name| old.is_name(*name));
            name.is_some_and(|name| old.nodes[name].end <= old.nodes[at].start && self.tables.contains(old.raw(name)))
        })
    }

    /// Whether a row could keep a loop from reaching those behind it.
    fn may_end_early(&self, table: usize) -> bool {
        let old = self.old;
        let ends = |row: usize| {
            old.ancestors(row).find(|up| old.nodes[*up].kind.contains("for")).is_some_and(|over| {
                old.marked(over, marks::EXIT).any(|exit| {
                    !old.ancestors(exit).take_while(|up| *up != over).any(|up| old.has(up, marks::FUNCTION))
                })
            })
        };
        match old.has(table, marks::TABLE | marks::LOOP) {
            true => old.has(table, marks::LOOP) && !old.has(table, marks::TABLE) && ends(table),
            false => old.marked(Source::ROOT, marks::LOOP).any(ends),
        }
    }

    /// Whether the parametrisation around a row names more parameters than before.
    fn has_more_parameters(&self, old: usize, new: usize) -> bool {
        let count = |source: &Source<'_>, at: usize| {
            let names = source.ancestors(at).find_map(|up| {
                source.nodes[up]
                    .children
                    .iter()
                    .find(|child| source.is_leaf(**child) && source.has(**child, marks::NAMES_LIST))
            });
            names.map(|names| names_in(source.raw(*names)).len())
        };
        matches!((count(self.old, old), count(self.new, new)), (Some(before), Some(now)) if now > before)
    }

    fn grows(&self, old: usize, new: usize, room: Room) -> bool {
        let is_top = old == Source::ROOT && room == Room::Suite;
        if is_top && !self.keeps_imports() {
            return false;
        }
        // Imports may come in another order.
        let rest = |source: &Source<'_>, at: usize| -> Vec<usize> {
            let children = source.nodes[at].children.iter().copied();
            children.filter(|child| !(is_top && small::is_import(source, *child))).collect()
        };
        let before = rest(self.old, old);
        self.grows_through(&before, 0, &rest(self.new, new), room, old) == Some(before.len())
    }

    /// How many of the old children there are up to the end of the new ones; nothing where something else is among them.
    fn grows_through(&self, before: &[usize], from: usize, now: &[usize], room: Room, old: usize) -> Option<usize> {
        let mut next = from;
        let (mut behind_comment, mut behind_new_comment) = (false, false);
        for child in now {
            if before.get(next).is_some_and(|first| self.extends(*first, *child)) {
                if behind_new_comment {
                    return None;
                }
                behind_comment = self.new.is_comment(*child);
                next += 1;
                continue;
            }
            if let Some(reached) = self.grows_inside(before, next, *child, room, old) {
                next = reached;
                continue;
            }
            let is_last = before[next..].iter().all(|rest| !self.old.nodes[*rest].is_named);
            // Nothing comes between a comment for a tool and what it is for.
            if behind_comment || !self.is_welcome(*child, room, is_last, old) {
                return None;
            }
            behind_new_comment = self.new.is_comment(*child) && !self.is_setting(*child, false);
        }
        Some(next)
    }

    fn is_welcome(&self, at: usize, room: Room, is_last: bool, within: usize) -> bool {
        let new = self.new;
        if matches!(room, Room::Suite) && self.is_setting(at, is_last) {
            return true;
        }
        if new.is_comment(at) {
            // It says something about a new test of PHP.
            return matches!(room, Room::Suite) && new.language.extensions == ["php"] && !is_directive(new.raw(at));
        }
        let is_mark = !new.nodes[at].is_named && new.is_leaf(at);
        let place = |last: bool| if is_last && last { Place::End } else { Place::Between };
        match room {
            Room::Suite | Room::Body { .. } if self.is_docstring(at) => true,
            Room::Suite if is_last && self.is_main_block(at) => true,
            Room::Suite => !is_mark && self.is_new_definition(at, within),
            Room::Body { last } => !is_mark && self.is_new_statement(at, place(last)),
            Room::Rows { .. } | Room::Row { .. } | Room::Names | Room::Params if is_mark => {
                matches!(new.raw(at), "," | "(" | ")")
            }
            Room::Rows { at_end_only } => {
                (is_last || !at_end_only)
                    && !self.exits(at)
                    && self.is_harmless(at, Place::Free)
                    && self.has_new_key(at, within)
            }
            Room::Row { positional } => {
                let key = new.walk(at).find(|leaf| new.is_leaf(*leaf));
                let is_keyed = ["pair", "keyed_element", "field_declaration", "array_element_initializer"]
                    .contains(&new.nodes[at].kind);
                let fresh_key =
                    is_keyed && key.is_some_and(|key| names_in(new.raw(key)).iter().all(|name| self.is_fresh(name)));
                (fresh_key || (positional && is_last)) && self.is_harmless(at, Place::Free)
            }
            Room::Names => {
                (self.own_names(at).next().is_some() || new.nodes[at].kind == "import_spec")
                    && self.names_are_fresh(at)
                    && self.is_harmless(at, Place::Free)
            }
            Room::Params => {
                let names: Vec<usize> = new.walk(at).filter(|leaf| new.is_name(*leaf)).collect();
                names.iter().all(|name| self.is_new_in(new.raw(*name), within) && self.is_given(*name))
            }
        }
    }

    fn is_fresh(&self, name: &str) -> bool {
        name == "_" || (is_plain_name(name) && !self.used.contains(name))
    }

    /// Whether a node binds only names that the old code does not use and that no runner looks for.
    fn names_are_fresh(&self, at: usize) -> bool {
        let new = self.new;
        self.own_names(at).all(|name| {
            let text = new.raw(name).trim_start_matches(':');
            (self.is_fresh(text) || self.is_imported_again(name))
                && (!new.has(name, marks::RESERVED) || self.is_from_known_library(name))
        })
    }

    /// Whether Python imports more of a package that it had imported: `import a` and `import a.b` bind the same.
    fn is_imported_again(&self, name: usize) -> bool {
        let is_plain = |source: &Source<'_>, at: usize| {
            let parent = source.nodes[at].parent;
            source.nodes[parent].kind == "dotted_name"
                && source.nodes[source.nodes[parent].parent].kind == "import_statement"
        };
        let old = self.old;
        let again = |at: usize| old.raw(at) == self.new.raw(name) && is_plain(old, at);
        is_plain(self.new, name) && old.marked(Source::ROOT, marks::DEFINED).any(again)
    }

    /// Names that a definition binds where it stands.
    fn own_names(&self, at: usize) -> impl Iterator<Item = usize> {
        let new = self.new;
        new.marked(at, marks::DEFINED).filter(move |name| {
            let owner = new.nodes[*name].parent;
            *name == at
                || !new
                    .ancestors(owner)
                    .skip(1)
                    .take_while(|up| *up != new.nodes[at].parent)
                    .any(|up| new.has(up, marks::FUNCTION | marks::SUITE))
        })
    }

    fn is_new_definition(&self, at: usize, suite: usize) -> bool {
        let new = self.new;
        let in_class = self.old.nodes[self.old.nodes[suite].parent].kind.contains("class") && suite != Source::ROOT;
        let is_hook = in_class && self.is_hook_of_class(at);
        if !new.has(at, marks::DEFINE) || !(is_hook || self.names_are_fresh(at)) {
            return false;
        }
        // Whatever a pattern binds has to be known.
        if matches!(new.nodes[at].kind, "lexical_declaration" | "variable_declaration")
            && self.own_names(at).next().is_none()
        {
            return false;
        }
        let whole = [at];
        let parts = || whole.iter().chain(&new.nodes[at].children).copied();
        let is_test = parts().any(|part| new.has(part, marks::TEST));
        let name = self.own_names(at).next().map_or("", |name| new.raw(name));
        let is_function = parts().any(|part| new.has(part, marks::FUNCTION));
        // Tests may carry any decorator.
        let is_decorated = parts().any(|part| new.has(part, marks::DECORATOR) && !new.has(part, marks::FINE));
        if is_decorated && !is_test && !name.starts_with("Test") {
            return false;
        }
        let is_private = || (name.starts_with('_') && is_function) || new.raw(at).trim_start().starts_with("private");
        if in_class && !is_test && !is_hook && !is_private() && !self.is_member(at, name, is_function) {
            return false;
        }
        let is_around = is_hook || self.is_around_tests(at);
        if is_around && (self.ends_tests(at) || self.stubs(at)) {
            return false;
        }
        let receivers = new.marked(at, marks::RECEIVER).all(|receiver| self.types.contains(new.raw(receiver)));
        receivers
            && self.only_defines(at)
            && self.loop_only_defines(at)
            && self.has_new_title(at, suite)
            && !self.exits(at)
            && self.is_harmless(at, if is_around { Place::End } else { Place::Free })
    }

    /// Whether the body of a new class or block does nothing but define: it runs as soon as the file is loaded.
    fn only_defines(&self, at: usize) -> bool {
        let new = self.new;
        let is_nothing = |child: usize| {
            let node = &new.nodes[child];
            node.kind == "pass_statement"
                || !node.is_named
                || (node.kind == "expression_statement"
                    && matches!(new.raw(child).chars().next(), Some('"' | '\'' | '.')))
                || new.is_comment(child)
        };
        let is_class_like = |suite: usize| !new.nodes[new.nodes[suite].parent].kind.contains("function");
        new.marked(at, marks::SUITE).filter(|suite| is_class_like(*suite)).all(|suite| {
            let children = &new.nodes[suite].children;
            children.iter().all(|child| new.has(*child, marks::DEFINE) || is_nothing(*child))
        })
    }

    /// Whether no old test or block beside a new one has its title.
    fn has_new_title(&self, at: usize, suite: usize) -> bool {
        fn title<'a>(source: &Source<'a>, at: usize) -> Option<&'a str> {
            let is_call = matches!(source.nodes[at].kind, "expression_statement" | "call");
            let string = source.walk(at).find(|leaf| source.nodes[*leaf].kind.contains("string"))?;
            is_call.then(|| source.raw(string))
        }
        let own = title(self.new, at);
        own.is_none() || self.old.nodes[suite].children.iter().all(|old| title(self.old, *old) != own)
    }

    fn is_new_statement(&self, at: usize, place: Place) -> bool {
        if self.exits(at) || !self.is_harmless(at, place) {
            return false;
        }
        place != Place::Between
            || self.is_assertion(at)
            || self.is_declaration(at)
            || self.holds_assertions(at)
            || self.is_aside(at)
    }

    fn is_assertion(&self, at: usize) -> bool {
        let new = self.new;
        let mut named = new.nodes[at].children.iter().filter(|child| new.nodes[**child].is_named);
        let is_wrapper = matches!(new.nodes[at].kind, "expression_statement" | "await" | "await_expression");
        let only = named.next().filter(|_| is_wrapper && named.next().is_none());
        (new.has(at, marks::ASSERT) && !self.has_open_body(at)) || only.is_some_and(|only| self.is_assertion(*only))
    }

    fn has_open_body(&self, at: usize) -> bool {
        self.new.nodes[at].kind.starts_with("with") && self.new.marked(at, marks::BODY).next().is_some()
    }

    /// A fresh variable, or a fresh member of the test itself.
    fn is_declaration(&self, at: usize) -> bool {
        let new = self.new;
        let kind = new.nodes[at].kind;
        let only = new.nodes[at].children.first().map_or("", |child| new.nodes[*child].kind);
        let declares = |kind: &str| kind.contains("declaration") || kind.starts_with("assignment");
        let is_function = kind.starts_with("function") || kind.starts_with("class");
        (declares(kind) || (kind == "expression_statement" && declares(only)))
            && !is_function
            && self.names_are_fresh_to_use(at)
    }

    fn names_are_fresh_to_use(&self, at: usize) -> bool {
        self.own_names(at).all(|name| self.is_fresh(self.new.raw(name)))
    }

    /// A loop, condition or block around assertions and fresh variables.
    fn holds_assertions(&self, at: usize) -> bool {
        let new = self.new;
        let mut bodies = new.marked(at, marks::BODY).filter(|body| {
            !new.ancestors(*body)
                .skip(1)
                .take_while(|up| *up != at)
                .any(|up| new.has(up, marks::BODY | marks::FUNCTION))
        });
        let is_control = ["for", "if", "with", "while", "expression_statement"]
            .iter()
            .any(|start| new.nodes[at].kind.starts_with(start));
        let mut any = false;
        let all = bodies.all(|body| {
            any = true;
            let statements =
                new.nodes[body].children.iter().filter(|child| new.nodes[**child].is_named && !new.is_comment(**child));
            statements
                .into_iter()
                .all(|statement| new.has(body, marks::CLOSED) || self.is_new_statement(*statement, Place::Between))
        });
        is_control && any && all
    }
}

/// The names of a list in a string: `"a, b"`, `"pkg.name"`.
fn names_in(text: &str) -> Vec<&str> {
    let inner = text.trim_matches(|c: char| matches!(c, '"' | '\'' | '`'));
    inner.split([',', '.']).map(str::trim).filter(|name| !name.is_empty()).collect()
}

fn is_subsequence(old: &[&str], new: &[&str]) -> bool {
    let mut new = new.iter();
    old.iter().all(|old| new.any(|new| new == old))
}

/// Whether a name looks the same to everybody.
fn is_plain_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '?' | '!'))
}

fn is_row(kind: &str) -> bool {
    LISTS.contains(&kind) || matches!(kind, "object" | "dictionary" | "hash" | "tuple_expression")
}

/// Whether a name is bound inside a function.
fn is_local(source: &Source<'_>, name: usize) -> bool {
    source.ancestors(source.nodes[name].parent).skip(1).any(|up| source.has(up, marks::FUNCTION))
}

#[cfg(test)]
#[path = "additions_tests.rs"]
mod tests;
