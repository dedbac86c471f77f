//! Rust sources, as far as tests have to be told from the rest.

use super::rust_items::Parser;
pub(crate) use super::rust_items::{Item, Module};
use super::rust_tokens::tokens;

/// A Rust file that could be read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) file: Module,
}

impl Source {
    /// `None` when strings, comments or brackets are not closed.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let tokens = tokens(text)?;
        let file = Parser::new(text, &tokens)?.file()?;
        Some(Self { file })
    }

    /// Whether there are tests in it.
    pub(crate) fn holds_tests(&self) -> bool {
        module_holds_tests(&self.file)
    }
}

/// Whether a module has tests in it.
pub(crate) fn module_holds_tests(module: &Module) -> bool {
    module.items.iter().any(|item| item.is_test() || item.module.as_ref().is_some_and(module_holds_tests))
}

impl Item {
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

/// Tokens of a text, for comparing; `None` when it cannot be read.
pub(crate) fn code(text: &str) -> Option<Vec<String>> {
    let tokens = tokens(text)?;
    Some(Parser::new(text, &tokens)?.code(0, tokens.len()))
}

/// Whether a token is a name.
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
#[path = "rust_tests.rs"]
mod tests;
