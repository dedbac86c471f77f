//! Items of Rust: where each begins and ends, its attributes, its name. Judges nothing.

use crate::syntax::Source;

/// An item: a function, a module, an import.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// First byte, attributes included, comments not.
    pub(crate) start: usize,
    /// Where the attributes end and the item itself begins.
    pub(crate) head: usize,
    /// First byte after it.
    pub(crate) end: usize,
    /// Tokens of each outer attribute, without `#[` and `]`.
    pub(crate) attributes: Vec<String>,
    /// The word that says what it is: `fn`, `mod`, `use`, `macro_rules`; empty for a macro.
    pub(crate) keyword: &'static str,
    pub(crate) name: String,
    /// All tokens after the attributes.
    pub(crate) code: Vec<String>,
    /// What is in a module that has its content here.
    pub(crate) module: Option<Module>,
    pub(crate) node: usize,
}

/// The content of a file or of a module with a body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Module {
    /// Tokens of each inner attribute, and where it is.
    pub(crate) inner: Vec<(String, usize, usize)>,
    pub(crate) items: Vec<Item>,
    /// Where the content ends: before the closing brace.
    pub(crate) end: usize,
}

impl Module {
    pub(crate) fn read(source: &Source<'_>) -> Self {
        Self::of(source, Source::ROOT, source.text.len())
    }

    fn of(source: &Source<'_>, at: usize, end: usize) -> Self {
        let mut module = Self { end, ..Self::default() };
        let (mut attributes, mut start) = (Vec::new(), None);
        for child in source.nodes[at].children.iter().copied() {
            let node = &source.nodes[child];
            let attribute = || {
                let inside = node.children.iter().find(|part| source.nodes[**part].kind == "attribute");
                inside.map_or_else(String::new, |inside| source.tokens(*inside).join(" "))
            };
            match node.kind {
                "inner_attribute_item" => module.inner.push((attribute(), node.start, node.end)),
                "attribute_item" => {
                    attributes.push(attribute());
                    start.get_or_insert(node.start);
                }
                kind if kind.ends_with("comment") || !node.is_named || kind == "shebang" => {}
                _ => {
                    let start = start.take().unwrap_or(node.start);
                    module.items.push(Item::of(source, child, start, std::mem::take(&mut attributes)));
                }
            }
        }
        module
    }

    pub(crate) fn holds_tests(&self) -> bool {
        self.items.iter().any(|item| item.is_test() || item.module.as_ref().is_some_and(Self::holds_tests))
    }
}

impl Item {
    fn of(source: &Source<'_>, at: usize, start: usize, attributes: Vec<String>) -> Self {
        let node = &source.nodes[at];
        let child =
            |kinds: &[&str]| node.children.iter().copied().rfind(|child| kinds.contains(&source.nodes[*child].kind));
        let first =
            |kinds: &[&str]| node.children.iter().copied().find(|child| kinds.contains(&source.nodes[*child].kind));
        let keyword = match node.kind {
            "function_item" | "function_signature_item" => "fn",
            "mod_item" => "mod",
            "struct_item" => "struct",
            "enum_item" => "enum",
            "union_item" => "union",
            "trait_item" => "trait",
            "type_item" => "type",
            "const_item" => "const",
            "static_item" => "static",
            "macro_definition" => "macro_rules",
            "use_declaration" => "use",
            "impl_item" => "impl",
            "extern_crate_declaration" => "extern crate",
            "foreign_mod_item" => "extern",
            _ => "",
        };
        let name = match keyword {
            "use" | "impl" | "extern" => None,
            "extern crate" => child(&["identifier"]),
            "" => source.walk(at).find(|leaf| source.is_name(*leaf)),
            _ => first(&["identifier", "type_identifier"]),
        };
        let body = child(&["declaration_list"]).filter(|_| keyword == "mod");
        Self {
            start,
            head: node.start,
            end: node.end,
            attributes,
            keyword,
            name: name.map_or_else(String::new, |name| source.raw(name).to_owned()),
            code: source.tokens(at),
            module: body.map(|body| Module::of(source, body, source.nodes[body].end.saturating_sub(1))),
            node: at,
        }
    }

    /// Whether it is compiled for tests only, or is a test.
    pub(crate) fn is_test(&self) -> bool {
        self.attributes.iter().any(|attribute| is_test_attribute(attribute))
    }
}

fn is_test_attribute(attribute: &str) -> bool {
    let path_end = attribute.find(['(', '=']).unwrap_or(attribute.len());
    let last = attribute[..path_end].split_whitespace().next_back().unwrap_or_default();
    match last {
        "cfg" => {
            let words: Vec<&str> = attribute[path_end..].split_whitespace().collect();
            // What is also there without tests is source.
            words.contains(&"test") && !words.contains(&"not") && !words.contains(&"any")
        }
        "rstest" | "test_case" | "case" | "quickcheck" | "bench" | "proptest" | "test_matrix" | "test_log" => true,
        other => other == "test" || other.ends_with("_test"),
    }
}

pub(crate) fn is_name(token: &str) -> bool {
    let token = token.strip_prefix("r#").unwrap_or(token);
    !token.starts_with(|c: char| c.is_numeric()) && token.chars().all(|c| c == '_' || c.is_alphanumeric())
}

/// One name that an import brings in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    /// From where, with ` as ` where it is renamed: `std::fmt::Debug`, `super::*`.
    pub(crate) path: String,
    /// The name; `*` for all.
    pub(crate) name: String,
}

/// What an import brings in, by its tokens.
pub(crate) fn uses(code: &[String]) -> Vec<Use> {
    let start = code.iter().position(|token| token == "use").map_or(0, |at| at + 1);
    let tokens: Vec<&str> = code[start..].iter().map(String::as_str).take_while(|token| *token != ";").collect();
    let mut found = Vec::new();
    let mut prefixes: Vec<String> = Vec::new();
    let mut path = String::new();
    let mut renamed: Option<String> = None;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            "{" => prefixes.push(std::mem::take(&mut path)),
            "," | "}" => {
                end_of_use(&prefixes, &mut path, &mut renamed, &mut found);
                if token == "}" {
                    prefixes.pop();
                }
            }
            "as" => renamed = tokens.next().map(str::to_owned),
            part => path.push_str(part),
        }
    }
    end_of_use(&prefixes, &mut path, &mut renamed, &mut found);
    found
}

fn end_of_use(prefixes: &[String], path: &mut String, renamed: &mut Option<String>, found: &mut Vec<Use>) {
    let last = std::mem::take(path);
    let renamed = renamed.take();
    if last.is_empty() {
        return;
    }
    let whole = format!("{}{last}", prefixes.concat());
    let whole = whole.trim_start_matches("::");
    // `fmt::{self}` is `fmt`.
    let whole = whole.strip_suffix("::self").unwrap_or(whole).to_owned();
    let name = whole.rsplit("::").next().unwrap_or_default().to_owned();
    found.push(match renamed {
        Some(name) => Use { path: format!("{whole} as {name}"), name },
        None => Use { path: whole, name },
    });
}

#[cfg(test)]
#[path = "rust_items_tests.rs"]
mod tests;
