//! Whether new code ends early, or changes what the old code uses. No proof that it does not: a test that runs can do anything.

use std::collections::HashSet;

use super::{Pair, Place, is_plain_name};
use crate::syntax::{Source, is_directive, marks};

/// Comments for tools that concern the line they are on, or the one below: welcome in new code.
const OF_THE_LINE: [&str; 11] = [
    "# noqa",
    "# type:",
    "# pragma: no cover",
    "# pylint: disable",
    "# nosec",
    "// eslint-disable-line",
    "// eslint-disable-next-line",
    "// @ts-expect-error",
    "// @ts-ignore",
    "// biome-ignore",
    "//nolint",
];
impl Pair<'_> {
    /// Whether new code ends or skips what it stands in.
    pub(super) fn exits(&self, at: usize) -> bool {
        let new = self.new;
        // A new test may be skipped itself.
        let is_test = |exit: usize| {
            let parent = new.nodes[exit].parent;
            new.has(exit, marks::TEST) || new.has(parent, marks::DEFINE | marks::DECORATOR)
        };
        let inside = |exit: usize| new.ancestors(exit).take_while(|up| *up != new.nodes[at].parent);
        let is_deferred = |exit: usize| {
            !new.nodes[exit].kind.starts_with("return")
                && inside(exit).any(|up| new.nodes[up].kind == "defer_statement")
        };
        new.marked(at, marks::EXIT)
            .filter(|exit| !is_test(*exit))
            .any(|exit| is_deferred(exit) || !inside(exit).any(|up| new.has(up, marks::FUNCTION)))
    }

    /// Whether new code leaves alone what the old code uses, as far as that can be seen.
    pub(super) fn is_harmless(&self, at: usize, place: Place) -> bool {
        let new = self.new;
        let own: HashSet<&str> = new.marked(at, marks::DEFINED).map(|name| new.raw(name)).collect();
        let is_python = new.nodes[Source::ROOT].kind == "module";
        new.walk(at).all(|node| {
            let is_fine = match new.is_comment(node) {
                true => {
                    !is_directive(new.raw(node)) || OF_THE_LINE.iter().any(|start| new.raw(node).starts_with(start))
                }
                false => !new.is_name(node) || is_plain_name(new.raw(node).trim_start_matches(['@', '$', ':'])),
            };
            is_fine
                && !new.has(node, marks::REACH)
                && (!new.has(node, marks::ASSIGN)
                    || self
                        .targets(node)
                        .into_iter()
                        .all(|(root, member)| self.may_assign(root, member, place, &own, is_python)))
        })
    }

    /// The names that an assignment changes, each with its member where it is one of a thing.
    fn targets(&self, at: usize) -> Vec<(usize, Option<usize>)> {
        let new = self.new;
        if new.has(at, marks::MEMBER) {
            let mut leaves = new.walk(at).filter(|leaf| new.is_leaf(*leaf) && new.nodes[*leaf].is_named);
            let root = leaves.next();
            return root.map(|root| (root, leaves.next().or(Some(root)))).into_iter().collect();
        }
        match new.is_leaf(at) {
            true => vec![(at, None)],
            false => new.nodes[at]
                .children
                .iter()
                .filter(|child| new.nodes[**child].is_named)
                .flat_map(|child| self.targets(*child))
                .collect(),
        }
    }

    fn may_assign(
        &self,
        root: usize,
        member: Option<usize>,
        place: Place,
        own: &HashSet<&str>,
        is_python: bool,
    ) -> bool {
        let new = self.new;
        let name = new.raw(root);
        let is_self = matches!(name, "self" | "this" | "$this" | "cls");
        let member_is_fresh = || member.is_some_and(|member| self.is_fresh(new.raw(member)));
        // Variables of the environment are those of one process, and its tests have to pass without the new ones.
        if name == "process" && place == Place::Free && member.is_some_and(|member| new.raw(member) == "env") {
            return true;
        }
        if name == "_" && new.language.extensions == ["go"] {
            return true;
        }
        if new.has(root, marks::SHARED) || (!new.is_name(root) && !is_self) {
            return false;
        }
        // Each test of Ruby has an instance of its own.
        let is_of_instance = new.nodes[root].kind == "instance_variable";
        if is_of_instance && place != Place::Between && new.ancestors(root).any(|up| new.has(up, marks::TEST)) {
            return true;
        }
        match (place, member) {
            (Place::Between, Some(_)) => !self.used.contains(name) || (is_self && member_is_fresh()),
            (Place::Between, None) => !self.used.contains(name),
            (Place::End, _) if is_self => member_is_fresh(),
            (Place::Free, _) if is_self => true,
            (Place::End | Place::Free, Some(_)) => {
                own.contains(name) || !self.bound.contains(name) || self.is_parameter(root)
            }
            (Place::End | Place::Free, None) if is_python => {
                let in_function = new.ancestors(root).any(|up| new.has(up, marks::FUNCTION));
                in_function || !self.used.contains(name)
            }
            (Place::End | Place::Free, None) => {
                let is_local = self.local.contains(name) && !self.old_binds(name);
                own.contains(name) || is_local || (!self.used.contains(name) && !self.old_binds(name))
            }
        }
    }

    /// Whether a name is that of a parameter of a function around it.
    fn is_parameter(&self, name: usize) -> bool {
        let new = self.new;
        let is_named = |list: &usize| {
            new.nodes[*list].kind.contains("parameter")
                && new.walk(*list).any(|leaf| new.is_name(leaf) && new.raw(leaf) == new.raw(name))
        };
        let mut functions = new.ancestors(name).filter(|up| new.has(*up, marks::FUNCTION));
        functions.any(|function| new.nodes[function].children.iter().any(is_named))
    }

    /// Whether the old file binds a name for all of its code.
    fn old_binds(&self, name: &str) -> bool {
        self.used.contains(name) && self.bound.contains(name)
    }
}
