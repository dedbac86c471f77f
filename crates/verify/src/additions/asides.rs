//! Statements that say or tidy something and judge nothing, and blocks around old statements that forgive nothing.

use super::{Pair, Place, Room};
use crate::pattern::Pattern;
use crate::syntax::{Source, marks};

/// What is called to print, to log, to register what is done after a test, to call what a base class does around tests, or to
/// give a test more time.
static ASIDE: Pattern = Pattern::new(concat!(
    r"^(?:print|pprint|puts|pp?|f?printf|var_dump|print_r|(?:e?print(?:ln)?|dbg)!|console\.(?:log|debug|info|warn|error|table)|",
    r"(?:fmt|log)\.Print(?:ln|f)?|System\.(?:out|err)\.print(?:ln|f)?|",
    r"(?:self\.|this\.|\w+\.)?(?:_?log|_?logger|logging|LOG|LOGGER)(?:\.getLogger\([\w.]*\))?\.(?:debug|info|warn|warning|error|exception)|",
    r"t\.(?:diagnostic|comment|after|Cleanup)|(?:self|cls)\.add(?:Class)?Cleanup|request\.addfinalizer|this\.(?:timeout|slow)|jest\.setTimeout|",
    r"super\(\)\.(?:setUp|tearDown|setUpClass|tearDownClass|setup_method|teardown_method)|parent::(?:setUp|tearDown))$"
));
/// Words of stubs, which a hook would put in the place of what old tests call.
static STUBS: Pattern =
    Pattern::new("^allow$|(?i-u:mock|stub|spy|patch|fake|receive|overload|define_singleton_method)");
/// Words that undo stubs, or concern nothing but time.
static UNDOES_STUBS: Pattern = Pattern::new(
    "^(?:(?:clear|reset|restore)AllMocks|mock(?:Restore|Clear|Reset)|use(?:Fake|Real)Timers|unstubAll.*)$",
);

impl Pair<'_> {
    /// Whether a new statement only says or tidies something, or calls a new test of a program in C.
    pub(super) fn is_aside(&self, at: usize) -> bool {
        let new = self.new;
        match new.nodes[at].kind {
            "echo_statement" => return true,
            "defer_statement" => return self.is_clean_up(at),
            _ => {}
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

    /// Whether what Go does at the end of a test is in sight, or a usual way to tidy: a function of another name could recover.
    fn is_clean_up(&self, at: usize) -> bool {
        static TIDIES: Pattern = Pattern::new(concat!(
            r"^defer\s+(?:func\(|[\w.]+\.(?:Close|Remove|RemoveAll|R?Unlock|Stop|Done|Shutdown|Flush|Sync|Wait|Kill|",
            r"Unsetenv|Setenv|Chdir)\(|(?:cancel|stop)\(\)$)"
        ));
        let text = self.new.text;
        TIDIES.is_match(self.new.raw(at)) && !text.contains("func cancel(") && !text.contains("func stop(")
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
        static HOOK: Pattern = Pattern::new(
            r"(?m)^\s*(?:(?:before|after|setup|teardown)(?:Each|All)?\b|@(?:Before|After)(?:Each|All|Class)?\b|(?:protected |public |private |static |async )*(?:function|def) (?:set[uU]p|tear[dD]own))",
        );
        static ANNOTATED: Pattern = Pattern::new(r"@(?:[\w.]+\.)?(?:Before|After)\w*|#\[[^\]]*\b(?:Before|After)\w*");
        let text = self.new.raw(at).trim_start();
        let head = text.split('{').next().unwrap_or_default();
        let before = self.new.text[..self.new.nodes[at].start].trim_end();
        // PHPUnit reads the comment above a method.
        let comment = before.strip_suffix("*/").and_then(|before| before.rsplit("/**").next()).unwrap_or_default();
        HOOK.is_match(text)
            || ANNOTATED.is_match(head)
            || ["@before", "@after"].iter().any(|word| comment.contains(word))
    }

    pub(super) fn stubs(&self, at: usize) -> bool {
        let new = self.new;
        let is_stub = |text: &str| STUBS.is_match(text) && !UNDOES_STUBS.is_match(text);
        new.walk(at).any(|part| {
            let node = &new.nodes[part];
            node.kind == "singleton_method" || (new.is_leaf(part) && new.is_name(part) && is_stub(new.raw(part)))
        })
    }

    /// A statement of a whole file that concerns how it is read: strict types of PHP, a time limit, `private` behind all old code.
    pub(super) fn is_setting(&self, at: usize, is_last: bool) -> bool {
        static SETTING: Pattern = Pattern::new(
            r"^(?:declare\(strict_types=1\);?|jest\.setTimeout\([\d_ *]+\);?|# frozen_string_literal: true)$",
        );
        let text = self.new.raw(at).trim();
        SETTING.is_match(text) || (is_last && text == "private" && self.new.nodes[at].kind == "identifier")
    }

    /// The statements in a block that forgives nothing, and those that run after it: `try` with `finally` alone, a part of a
    /// test with a name of its own.
    fn unwrapped(&self, at: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        static PART: Pattern = Pattern::new(r"^self\.subTest\((?:[^()]|\([^()]*\))*\)$");
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
