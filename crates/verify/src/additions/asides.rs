//! Statements that say or tidy something and judge nothing, and blocks around old statements that forgive nothing.

use std::sync::LazyLock;

use regex::Regex;

use super::{Pair, Place, Room};
use crate::pattern::pattern;
use crate::syntax::{Source, marks};

/// What is called to print, to log, to register what is done after a test, to call what a base class does around tests, or to
/// give a test more time.
static ASIDE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:print|pprint|puts|pp?|f?printf|var_dump|print_r|(?:e?print(?:ln)?|dbg)!|console\.(?:log|debug|info|warn|error|table)|",
        r"(?:fmt|log)\.Print(?:ln|f)?|System\.(?:out|err)\.print(?:ln|f)?|",
        r"(?:self\.|this\.|\w+\.)?(?:_?log|_?logger|logging|LOG|LOGGER)(?:\.getLogger\([\w.]*\))?\.(?:debug|info|warn|warning|error|exception)|",
        r"t\.(?:diagnostic|comment|after|Cleanup)|(?:self|cls)\.add(?:Class)?Cleanup|request\.addfinalizer|this\.(?:timeout|slow)|jest\.setTimeout|",
        r"super\(\)\.(?:setUp|tearDown|setUpClass|tearDownClass|setup_method|teardown_method)|parent::(?:setUp|tearDown))$"
    ))
});
/// Words of stubs, which a hook would put in the place of what old tests call.
const STUBS: [&str; 5] = ["allow", "receive", "stub", "stub_const", "mockStatic"];

impl Pair<'_> {
    /// Whether a new statement only says or tidies something, or calls a new test of a program in C.
    pub(super) fn is_aside(&self, at: usize) -> bool {
        let new = self.new;
        if matches!(new.nodes[at].kind, "defer_statement" | "echo_statement") {
            return true;
        }
        let inner = match new.nodes[at].kind {
            "expression_statement" => new.nodes[at].children.first().copied().unwrap_or(at),
            _ => at,
        };
        let lists = ["argument_list", "arguments", "token_tree"];
        let is_list = |child: &usize| lists.contains(&new.nodes[*child].kind);
        let Some(list) = new.nodes[inner].children.iter().copied().find(is_list) else { return false };
        let callee = new.text[new.nodes[inner].start..new.nodes[list].start].trim();
        (ASIDE.is_match(callee) && !self.ends_tests(at)) || self.calls_new_test(callee, list)
    }

    fn calls_new_test(&self, callee: &str, list: usize) -> bool {
        let given = self.new.raw(list).trim_matches(['(', ')']).trim();
        let name = match callee {
            "RUN_TEST" | "run_test" | "TEST_RUN" => given,
            _ if given.is_empty() => callee,
            _ => return false,
        };
        self.new.nodes[Source::ROOT].kind == "translation_unit"
            && self.is_fresh(name)
            && self.new.tests().iter().any(|(_, test)| test == name)
    }

    /// Whether code, or a function in it, ends or skips the test that it runs in.
    pub(super) fn ends_tests(&self, at: usize) -> bool {
        let passes = ["return", "yield", "break", "continue", "next"];
        let new = self.new;
        new.marked(at, marks::EXIT).any(|exit| !passes.iter().any(|kind| new.nodes[exit].kind.starts_with(kind)))
    }

    /// Whether a new definition is what a runner calls around all tests beside it.
    pub(super) fn is_around_tests(&self, at: usize) -> bool {
        static HOOK: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"(?m)^\s*(?:(?:before|after|setup|teardown)(?:Each|All)?\b|@(?:Before|After)(?:Each|All|Class)?\b|(?:protected |public |private |static |async )*(?:function|def) (?:set[uU]p|tear[dD]own))",
            )
        });
        HOOK.is_match(self.new.raw(at).trim_start())
    }

    pub(super) fn stubs(&self, at: usize) -> bool {
        let new = self.new;
        new.walk(at).any(|leaf| new.is_leaf(leaf) && STUBS.contains(&new.raw(leaf)))
    }

    /// A statement of a whole file that concerns how it is read: strict types of PHP, a time limit, `private` behind all old code.
    pub(super) fn is_setting(&self, at: usize, is_last: bool) -> bool {
        static SETTING: LazyLock<Regex> = LazyLock::new(|| {
            pattern(r"^(?:declare\(strict_types=1\);?|jest\.setTimeout\([\d_ *]+\);?|# frozen_string_literal: true)$")
        });
        let text = self.new.raw(at).trim();
        SETTING.is_match(text) || (is_last && text == "private" && self.new.nodes[at].kind == "identifier")
    }

    /// The statements in a block that forgives nothing, and those that run after it: `try` with `finally` alone, a part of a
    /// test with a name of its own.
    fn unwrapped(&self, at: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        static PART: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:self\.subTest|subtests\.test)\("));
        let new = self.new;
        let parts = &new.nodes[at].children;
        let of_kind = |kinds: &[&str]| parts.iter().copied().find(|part| kinds.contains(&new.nodes[*part].kind));
        let statements = |block: usize| -> Vec<usize> {
            new.nodes[block].children.iter().copied().filter(|child| new.nodes[*child].is_named).collect()
        };
        let blocks = ["block", "statement_block", "compound_statement"];
        let body = of_kind(&blocks)?;
        match new.nodes[at].kind {
            "try_statement" => {
                let is_plain = parts.iter().filter(|part| new.nodes[**part].is_named).count() == 2;
                let last = of_kind(&["finally_clause"]).filter(|_| is_plain)?;
                let end =
                    new.nodes[last].children.iter().copied().find(|part| blocks.contains(&new.nodes[*part].kind))?;
                Some((statements(body), statements(end)))
            }
            "with_statement" => {
                let clause = of_kind(&["with_clause"])?;
                PART.is_match(new.raw(clause)).then(|| (statements(body), Vec::new()))
            }
            _ => None,
        }
    }

    /// How many of the old children are there after this new one, which stands around some of them; nothing where it may not.
    pub(super) fn grows_inside(
        &self,
        before: &[usize],
        next: usize,
        at: usize,
        room: Room,
        old: usize,
    ) -> Option<usize> {
        let (inside, after) = self.unwrapped(at).filter(|_| matches!(room, Room::Body { .. }))?;
        let reached = self.grows_through(before, next, &inside, room, old)?;
        let is_fine = after.iter().all(|statement| {
            !self.exits(*statement) && !self.ends_tests(*statement) && self.is_harmless(*statement, Place::End)
        });
        (reached > next && is_fine).then_some(reached)
    }
}
