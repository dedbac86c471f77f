//! Source code as trees, read by the parser of its language. Judges nothing.
//!
//! A language is a grammar, a query file and a row in [`LANGUAGES`]. The captures of a query file become [`marks`] on nodes:
//!
//! | capture | meaning |
//! |---|---|
//! | `test`, `test.name` | a test, and the node that names it |
//! | `suite` | a block that holds tests and definitions |
//! | `body` | a block of statements that run |
//! | `closed` | a node in which an addition could change what the old code shows |
//! | `assert` | an assertion |
//! | `exit` | a statement or call that ends or skips a test early |
//! | `table`, `loop` | rows that are one test each, and rows that a test goes through; a list or the name of one |
//! | `names`, `params` | a list of names that an import or a function binds; `names` also marks a string of names |
//! | `define`, `define.name` | a definition that may join a suite, and the names it binds |
//! | `receiver` | the type that a method is defined for, which has to be new as well |
//! | `assign`, `member` | the target of an assignment, and an expression that reads a member |
//! | `reach`, `shared`, `reserved` | code that reaches other tests; names that all code shares; names that a runner looks for |
//! | `decorator`, `fine` | a decorator, and one that is welcome on any function |
//! | `function` | code that runs only when it is called |
//! | `literal`, `operator`, `judge` | what can be changed so that an assertion no longer holds |
//! | `import` | an import |

mod tidy;
mod token;

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use tree_sitter::{Parser, Query, QueryCursor, StreamingIterator as _, Tree};

use crate::pattern::Pattern;

/// Files above this are not read.
pub(crate) const MAX_SIZE: usize = 1024 * 1024;
/// Trees that are deeper are not read: they are walked recursively.
const MAX_DEPTH: usize = 400;

/// What a query says about a node.
pub(crate) mod marks {
    pub(crate) const NAMES: [&str; 25] = [
        "test",
        "test.name",
        "suite",
        "body",
        "closed",
        "assert",
        "exit",
        "table",
        "loop",
        "names",
        "params",
        "define",
        "define.name",
        "receiver",
        "assign",
        "member",
        "reach",
        "shared",
        "reserved",
        "decorator",
        "fine",
        "function",
        "literal",
        "operator",
        "judge",
    ];
    pub(crate) const TEST: u32 = 1;
    pub(crate) const TEST_NAME: u32 = 1 << 1;
    pub(crate) const SUITE: u32 = 1 << 2;
    pub(crate) const BODY: u32 = 1 << 3;
    pub(crate) const CLOSED: u32 = 1 << 4;
    pub(crate) const ASSERT: u32 = 1 << 5;
    pub(crate) const EXIT: u32 = 1 << 6;
    pub(crate) const TABLE: u32 = 1 << 7;
    pub(crate) const LOOP: u32 = 1 << 8;
    pub(crate) const NAMES_LIST: u32 = 1 << 9;
    pub(crate) const PARAMS: u32 = 1 << 10;
    pub(crate) const DEFINE: u32 = 1 << 11;
    pub(crate) const DEFINED: u32 = 1 << 12;
    pub(crate) const RECEIVER: u32 = 1 << 13;
    pub(crate) const ASSIGN: u32 = 1 << 14;
    pub(crate) const MEMBER: u32 = 1 << 15;
    pub(crate) const REACH: u32 = 1 << 16;
    pub(crate) const SHARED: u32 = 1 << 17;
    pub(crate) const RESERVED: u32 = 1 << 18;
    pub(crate) const DECORATOR: u32 = 1 << 19;
    pub(crate) const FINE: u32 = 1 << 20;
    pub(crate) const FUNCTION: u32 = 1 << 21;
    pub(crate) const LITERAL: u32 = 1 << 22;
    pub(crate) const OPERATOR: u32 = 1 << 23;
    pub(crate) const JUDGE: u32 = 1 << 24;
}

pub(crate) struct Language {
    pub(crate) extensions: &'static [&'static str],
    grammar: fn() -> tree_sitter::Language,
    query: &'static str,
    /// Texts that are one token, as long as no code is inside of them.
    strings: &'static [&'static str],
    /// Tokens that end statements and mean nothing where the tree shows the statements.
    ends: &'static [&'static str],
    compiled: OnceLock<(tree_sitter::Language, Query)>,
}

macro_rules! language {
    ($extensions:expr, $grammar:expr, $file:literal, $strings:expr, $ends:expr) => {
        Language {
            extensions: &$extensions,
            grammar: || $grammar.into(),
            query: include_str!(concat!("syntax/", $file, ".scm")),
            strings: &$strings,
            ends: &$ends,
            compiled: OnceLock::new(),
        }
    };
}

static LANGUAGES: [Language; 8] = [
    language!(["py", "pyi"], tree_sitter_python::LANGUAGE, "python", ["string"], [";"]),
    language!(
        ["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
        tree_sitter_typescript::LANGUAGE_TSX,
        "tsx",
        ["string", "template_string", "regex"],
        [";"]
    ),
    language!(["rs"], tree_sitter_rust::LANGUAGE, "rust", ["string_literal", "raw_string_literal", "char_literal"], []),
    language!(
        ["go"],
        tree_sitter_go::LANGUAGE,
        "go",
        ["interpreted_string_literal", "raw_string_literal", "rune_literal"],
        [";", "\n", "\0"]
    ),
    language!(["java"], tree_sitter_java::LANGUAGE, "java", ["string_literal", "character_literal"], []),
    language!(["rb"], tree_sitter_ruby::LANGUAGE, "ruby", ["string", "simple_symbol", "regex"], [";"]),
    language!(["php"], tree_sitter_php::LANGUAGE_PHP, "php", ["string", "encapsed_string"], []),
    language!(["c", "h"], tree_sitter_c::LANGUAGE, "c", ["string_literal", "char_literal"], []),
];

impl Language {
    /// The language of a file, by its name.
    pub(crate) fn of(path: &str) -> Option<&'static Self> {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        LANGUAGES.iter().find(|language| language.extensions.contains(&extension))
    }

    #[expect(clippy::expect_used, reason = "query files are constants; a test compiles each")]
    fn compiled(&'static self) -> &'static (tree_sitter::Language, Query) {
        self.compiled.get_or_init(|| {
            let grammar = (self.grammar)();
            let query = Query::new(&grammar, self.query).expect("the query file fits its grammar");
            (grammar, query)
        })
    }
}

/// What becomes of a file with errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errors {
    Refuse,
    InItems,
}

/// A node of a tree: a token, or a list of nodes.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) kind: &'static str,
    pub(crate) is_named: bool,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) parent: usize,
    pub(crate) children: Vec<usize>,
    pub(crate) marks: u32,
}

/// A file as a tree, without comments that no tool obeys and without punctuation that means nothing.
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(crate) nodes: Vec<Node>,
    pub(crate) language: &'static Language,
    /// Whether types are erased from it before it runs: in JavaScript the same text compares values.
    has_types: bool,
    /// Nodes that were left out, each with the part that is in its place.
    lifted: HashMap<usize, usize>,
}

/// Whether a comment tells a tool what to do.
pub(crate) fn is_directive(comment: &str) -> bool {
    const STARTS: [&str; 5] = ["//line ", "/*line ", "//export ", "//go:", "# frozen_string_literal"];
    const WORDS: [&str; 29] = [
        "type:",
        "noqa",
        "pragma",
        "pylint:",
        "mypy:",
        "pyright:",
        "ruff:",
        "isort:",
        "coding:",
        "coding=",
        "nosec",
        "fmt:",
        "go:build",
        "go:generate",
        "go:embed",
        "go:linkname",
        "+build",
        "nolint",
        "@ts-",
        "istanbul",
        "eslint",
        "@jest-",
        "@vitest-",
        "c8 ignore",
        "v8 ignore",
        "@flow",
        "@jsx",
        "sourcemappingurl",
        "biome-ignore",
    ];
    let lower = comment.to_lowercase();
    // Everybody reads sources so.
    let lower = lower.replace("coding: utf-8", "").replace("coding:utf-8", "").replace("coding=utf-8", "");
    STARTS.iter().any(|start| lower.starts_with(start)) || WORDS.iter().any(|word| lower.contains(word))
}

/// What a comment tells PHPUnit about the test behind it: which rows it gets, and what it depends on.
fn annotations(comment: &str) -> impl Iterator<Item = &str> {
    const STEERING: [&str; 9] = [
        "@dataProvider",
        "@test",
        "@depends",
        "@requires",
        "@before",
        "@after",
        "@runIn",
        "@expected",
        "@doesNotPerform",
    ];
    let has_rows = comment.contains("@testWith");
    let lines = comment.lines().map(|line| line.trim_matches(['/', '*', ' ', '\t']));
    lines.filter_map(move |line| {
        let steering = STEERING.iter().filter_map(|word| line.find(word)).min();
        // Rows go on below.
        steering.or_else(|| (has_rows && !line.is_empty()).then_some(0)).map(|start| &line[start..])
    })
}

/// The text of a file, if it is one, short enough, and means the same to every reader of lines.
pub(crate) fn readable(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_SIZE)?;
    // A form feed alone in a line is a page of an old style.
    let text = text.replace("\r\n", "\n").replace("\n\u{c}\n", "\n\n");
    // What some reader takes for the end of a line or of the file, or for a blank.
    let is_odd = |c: char| matches!(c, '\0' | '\u{4}' | '\u{b}'..='\r' | '\u{1a}'..='\u{1f}' | '\u{7f}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    (!text.contains(is_odd)).then_some(text)
}

/// What runs the tests of C that it is given.
const RUN_TESTS: [&str; 6] =
    ["RUN_TEST(", "tcase_add_test(", "cmocka_unit_test(", "CU_add_test(", "CU_ADD_TEST(", "mu_run_test("];

impl<'a> Source<'a> {
    pub(crate) const ROOT: usize = 0;

    /// Reads a file; `None` where its language is unknown, or where the parser finds an error.
    pub(crate) fn parse(path: &str, text: &'a str) -> Option<Self> {
        Self::read(path, text, Errors::Refuse)
    }

    /// Reads Rust or C of which some item cannot be parsed: that item is one token.
    pub(crate) fn parse_items(path: &str, text: &'a str) -> Option<Self> {
        Self::read(path, text, Errors::InItems)
    }

    fn read(path: &str, text: &'a str, errors: Errors) -> Option<Self> {
        let language = Language::of(path)?;
        let (grammar, query) = language.compiled();
        let mut parser = Parser::new();
        parser.set_language(grammar).ok()?;
        let tree = parser.parse(text, None)?;
        if tree.root_node().has_error() && errors == Errors::Refuse {
            return None;
        }
        let has_types = path.rsplit_once('.').is_some_and(|(_, extension)| extension.contains("ts"));
        let mut source = Self { text, nodes: Vec::new(), language, has_types, lifted: HashMap::new() };
        let places = source.build(&tree)?;
        source.mark(query, &tree, &places);
        source.mark_providers();
        Some(source)
    }

    /// Copies the tree, as far as it means something.
    fn build(&mut self, tree: &Tree) -> Option<HashMap<usize, usize>> {
        let mut places = HashMap::new();
        let mut open: Vec<usize> = Vec::new();
        let mut cursor = tree.walk();
        loop {
            let node = cursor.node();
            let parent = open.last().copied().unwrap_or(Self::ROOT);
            let mut descend = false;
            if open.len() > MAX_DEPTH {
                return None;
            }
            if node.is_error() || node.is_missing() || self.is_uncertain(&node) {
                return None;
            }
            if open.is_empty() || self.counts(&node, parent) {
                let at = self.nodes.len();
                places.entry(node.id()).or_insert(at);
                if at > 0 {
                    self.nodes[parent].children.push(at);
                }
                let (start, end) = (node.start_byte(), node.end_byte());
                let kind = self.language.compiled().0.node_kind_for_id(node.kind_id())?;
                let is_named = node.is_named();
                self.nodes.push(Node { kind, is_named, start, end, parent, children: Vec::new(), marks: 0 });
                let is_open = kind != "variable_name" && !node.has_error()
                    || matches!(kind, "source_file" | "translation_unit" | "mod_item" | "declaration_list");
                descend = node.child_count() > 0 && is_open && !self.is_plain_string(&node) && self.is_covered(&node);
            }
            if descend && cursor.goto_first_child() {
                open.push(self.nodes.len() - 1);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return Some(places);
                }
                if let Some(closed) = open.pop() {
                    self.tidy(closed);
                }
            }
        }
    }

    /// Whether readers could take it for different things.
    fn is_uncertain(&self, node: &tree_sitter::Node<'_>) -> bool {
        match node.kind() {
            "html_comment" => true,
            // Scripts of JavaScript take these for comments, and modules do not.
            "<" | "--" => ["<!--", "-->"].iter().any(|mark| self.text[node.start_byte()..].starts_with(mark)),
            // Newer versions of Python read on where older ones end the string.
            "interpolation" if self.language.extensions.contains(&"py") => {
                let text = &self.text[node.byte_range()];
                let quote = node.parent().map_or("", |string| &self.text[string.byte_range()]);
                let quote = quote.trim_start_matches(|c: char| c.is_ascii_alphabetic()).chars().next();
                text.contains(['\\', '#']) || quote.is_some_and(|quote| text.contains(quote))
            }
            _ => false,
        }
    }

    fn counts(&self, node: &tree_sitter::Node<'_>, parent: usize) -> bool {
        let text = &self.text[node.byte_range()];
        let parent_kind = self.nodes[parent].kind;
        match node.kind() {
            kind if kind.ends_with("comment") => self.is_obeyed(text, parent),
            // What separates the parts of a loop's head.
            kind if self.language.ends.contains(&kind) => matches!(parent_kind, "for_clause" | "for_statement"),
            "empty_statement" if text == ";" => false,
            "line_continuation" => false,
            _ => node.child_count() > 0 || !text.trim().is_empty() || text.is_empty() && node.is_named(),
        }
    }

    /// Whether a comment tells a tool what to do, or says what an example of Go has to print.
    fn is_obeyed(&self, comment: &str, parent: usize) -> bool {
        let in_example = || {
            self.ancestors(parent).any(|at| {
                let node = &self.nodes[at];
                node.kind == "function_declaration" && self.text[node.start..].starts_with("func Example")
            })
        };
        // Go goes by the newer line where there is one.
        let is_outdated = self.language.extensions == ["go"]
            && comment.starts_with(token::OLDER_BUILD_LINE)
            && self.text.lines().any(|line| line.starts_with("//go:build "));
        if is_outdated {
            return false;
        }
        is_directive(comment)
            || (self.language.extensions == ["go"] && (in_example() || self.text.contains("import \"C\"")))
            || (self.language.extensions == ["rs"] && self.has_doc_tests(comment))
            || (self.language.extensions == ["php"] && annotations(comment).next().is_some())
    }

    /// Code in the documentation of Rust is tested.
    fn has_doc_tests(&self, comment: &str) -> bool {
        (comment.starts_with("///") || comment.starts_with("//!")) && self.text.contains("```")
    }

    /// Whether there is nothing but blanks between the parts of a node.
    fn is_covered(&self, node: &tree_sitter::Node<'_>) -> bool {
        let mut cursor = node.walk();
        let mut end = node.start_byte();
        node.children(&mut cursor).all(|child| {
            let gap = &self.text[end.min(child.start_byte())..child.start_byte()];
            end = child.end_byte();
            gap.trim_matches(|c: char| c.is_whitespace() || c == '\\').is_empty()
        }) && self.text[end..node.end_byte().max(end)].trim().is_empty()
    }

    /// Whether a string has no code in it.
    fn is_plain_string(&self, node: &tree_sitter::Node<'_>) -> bool {
        let code = |child: tree_sitter::Node<'_>| matches!(child.kind(), "interpolation" | "template_substitution");
        let plain = |child: tree_sitter::Node<'_>| {
            let kind = child.kind();
            !child.is_named()
                || ["content", "fragment", "escape", "start", "end", "pattern", "flags"]
                    .iter()
                    .any(|part| kind.contains(part))
        };
        self.language.strings.contains(&node.kind())
            && (0..node.child_count()).all(|at| node.child(at).is_none_or(|child| !code(child) && plain(child)))
    }

    fn mark(&mut self, query: &Query, tree: &Tree, places: &HashMap<usize, usize>) {
        let names = query.capture_names();
        let bit = |name: &str| marks::NAMES.iter().position(|known| *known == name).map_or(0, |at| 1 << at);
        let bits: Vec<u32> = names.iter().map(|name| bit(name)).collect();
        let mut cursor = QueryCursor::new();
        let mut matches = cursor.matches(query, tree.root_node(), self.text.as_bytes());
        while let Some(found) = matches.next() {
            for capture in found.captures() {
                let index = usize::try_from(capture.index).unwrap_or(usize::MAX);
                if let (Some(place), Some(bit)) = (places.get(&capture.node.id()), bits.get(index)) {
                    let mut place = Some(place);
                    while let Some(at) = place {
                        self.nodes[*at].marks |= bit;
                        place = self.lifted.get(at);
                    }
                }
            }
        }
        self.nodes[Self::ROOT].marks |= marks::SUITE;
    }

    /// Marks what the data providers of PHPUnit return: their names say nothing, and a comment or an attribute refers to them.
    fn mark_providers(&mut self) {
        static PROVIDER: Pattern = Pattern::new(r"(?:@dataProvider\s+|DataProvider\(\s*['\x22])(\w+)");
        if self.language.extensions != ["php"] {
            return;
        }
        let names: HashSet<&str> =
            PROVIDER.captures_iter(self.text).filter_map(|found| found.get(1)).map(|name| name.as_str()).collect();
        let is_provider = |name: &usize| names.contains(self.raw(*name));
        let returned = |name: usize| {
            let method = self.nodes[name].parent;
            let mut returns = self.walk(method).filter(|at| self.nodes[*at].kind == "return_statement");
            let only = returns.next().filter(|_| returns.next().is_none())?;
            self.nodes[only].children.iter().copied().find(|at| self.nodes[*at].kind == "array_creation_expression")
        };
        let tables: Vec<usize> =
            self.marked(Self::ROOT, marks::DEFINED).filter(is_provider).filter_map(returned).collect();
        for table in tables {
            self.nodes[table].marks |= marks::TABLE;
        }
    }

    pub(crate) fn has(&self, at: usize, mark: u32) -> bool {
        self.nodes[at].marks & mark != 0
    }

    pub(crate) fn is_leaf(&self, at: usize) -> bool {
        self.nodes[at].children.is_empty()
    }

    /// The text of a node as it stands there.
    pub(crate) fn raw(&self, at: usize) -> &'a str {
        &self.text[self.nodes[at].start..self.nodes[at].end]
    }

    pub(crate) fn is_comment(&self, at: usize) -> bool {
        self.nodes[at].kind.ends_with("comment")
    }

    /// The nodes around a node, the nearest first.
    pub(crate) fn ancestors(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at), |at| (*at != Self::ROOT).then(|| self.nodes[*at].parent))
    }

    /// A node and everything in it, in order.
    pub(crate) fn walk(&self, at: usize) -> impl Iterator<Item = usize> {
        let mut open = vec![at];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(self.nodes[next].children.iter().rev());
            Some(next)
        })
    }

    pub(crate) fn marked(&self, at: usize, mark: u32) -> impl Iterator<Item = usize> {
        self.walk(at).filter(move |node| self.has(*node, mark))
    }

    /// Tokens of a node, with the structure that only the tree shows.
    pub(crate) fn shape(&self, at: usize) -> Vec<String> {
        let mut shape = Vec::new();
        self.add_shape(at, &mut shape);
        shape
    }

    fn add_shape(&self, at: usize, shape: &mut Vec<String>) {
        let node = &self.nodes[at];
        if node.children.is_empty() {
            return shape.push(self.token(at));
        }
        shape.push(format!("({}", node.kind));
        for child in &node.children {
            self.add_shape(*child, shape);
        }
        shape.push(")".to_owned());
    }

    /// Texts of all tokens of a node.
    pub(crate) fn tokens(&self, at: usize) -> Vec<String> {
        self.walk(at).filter(|at| self.is_leaf(*at)).map(|at| self.token(at)).collect()
    }

    /// Whether a leaf is a name.
    pub(crate) fn is_name(&self, at: usize) -> bool {
        let kind = self.nodes[at].kind;
        self.is_leaf(at)
            && (kind.contains("identifier")
                || matches!(kind, "name" | "constant" | "instance_variable" | "variable_name"))
    }

    /// The name of a test as a runner prints it: without the quotes around it, and without what escapes those inside.
    pub(crate) fn unquoted(&self, at: usize) -> String {
        let mut inner = self.raw(at).trim_start_matches(':');
        let quote = inner.chars().next().filter(|first| ['"', '\'', '`'].contains(first));
        // Python and Java have three of them.
        while let Some(less) = quote.and_then(|quote| inner.strip_prefix(quote)?.strip_suffix(quote)) {
            inner = less;
        }
        ['"', '\'', '`']
            .iter()
            .fold(inner.to_owned(), |name, quote| name.replace(&format!("\\{quote}"), &quote.to_string()))
    }

    /// Tests, with their names, in the order of the file.
    pub(crate) fn tests(&self) -> Vec<(usize, String)> {
        let named = |at: usize| {
            let name = self
                .marked(at, marks::TEST_NAME)
                .find(|name| self.ancestors(*name).find(|up| self.has(*up, marks::TEST)) == Some(at));
            // `it { is_expected.to eq(5) }` gets its name from what it expects.
            let unnamed = || (self.language.extensions == ["rb"]).then(|| (at, "is expected %".to_owned()));
            name.map(|name| (at, self.unquoted(name))).or_else(unnamed)
        };
        let mut tests: Vec<(usize, String)> = self.marked(Self::ROOT, marks::TEST).filter_map(named).collect();
        if self.language.extensions.contains(&"c") {
            tests.extend(
                self.run_tests().filter(|(at, _)| !tests.iter().any(|(known, _)| known == at)).collect::<Vec<_>>(),
            );
        }
        tests
    }

    /// Functions of C that are given to what runs tests: `RUN_TEST(adds)`.
    fn run_tests(&self) -> impl Iterator<Item = (usize, String)> {
        // Of a function with a macro in its head only the text is known.
        let given = RUN_TESTS.iter().flat_map(|name| self.text.match_indices(name));
        let given = given.filter_map(|(at, name)| self.text[at + name.len()..].split(')').next());
        let names: HashSet<&str> =
            given.flat_map(|list| list.split(|c: char| !c.is_alphanumeric() && c != '_')).collect();
        let defined = self.marked(Self::ROOT, marks::DEFINED).filter(move |at| names.contains(self.raw(*at)));
        defined.filter_map(|at| {
            let function = self.ancestors(at).find(|up| self.nodes[*up].kind == "function_definition")?;
            Some((function, self.raw(at).to_owned()))
        })
    }
}

#[cfg(test)]
#[path = "syntax_tests.rs"]
mod tests;
