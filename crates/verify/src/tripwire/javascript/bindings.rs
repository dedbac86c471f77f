//! Which names a file gives to what it imports.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

static IMPORT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?m)^\s*import\s+([\w\s{},*$]+?)\s*from\s*["']([^"']+)["']"#));

static REQUIRE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?m)^\s*(?:const|let|var)\s+([\w$]+|\{[\w\s,:$]*\})\s*=\s*require\(\s*["']([^"']+)["']\s*\)(\.\w+)?"#)
});

/// What a file calls the parts of a module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bindings {
    /// The module as a whole, or its default export.
    pub(super) whole: Option<String>,
    /// Its parts, by the names that the module gives them.
    parts: BTreeMap<String, String>,
}

impl Bindings {
    /// What a file imports from any of several modules; nothing when it imports none of them.
    pub(super) fn of(text: &str, modules: &[&str]) -> Option<Self> {
        let mut all: Option<Self> = None;
        for captures in IMPORT.captures_iter(text) {
            let (Some(clause), Some(module)) = (captures.get(1), captures.get(2)) else { continue };
            if modules.contains(&module.as_str()) && !clause.as_str().starts_with("type ") {
                all.get_or_insert_default().clause(clause.as_str(), " as ");
            }
        }
        for captures in REQUIRE.captures_iter(text) {
            let (Some(clause), Some(module)) = (captures.get(1), captures.get(2)) else { continue };
            if modules.contains(&module.as_str()) {
                let bindings = all.get_or_insert_default();
                match captures.get(3).map(|part| part.as_str()) {
                    None => bindings.clause(clause.as_str(), ":"),
                    Some(".strict" | ".default") => bindings.whole = Some(clause.as_str().to_owned()),
                    Some(part) => {
                        bindings.parts.insert(part.trim_start_matches('.').to_owned(), clause.as_str().to_owned());
                    }
                }
            }
        }
        all
    }

    /// The local name of the first of several parts that the file has.
    pub(super) fn named(&self, parts: &[&str]) -> Option<String> {
        parts.iter().find_map(|part| self.parts.get(*part).cloned())
    }

    /// Every part with its local name.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().map(|(part, local)| (part.as_str(), local.as_str()))
    }

    /// `whole, { part, other as local }` or `* as whole`
    fn clause(&mut self, clause: &str, renames: &str) {
        let (before, parts) = match clause.split_once('{') {
            Some((before, parts)) => (before, parts.trim_end().trim_end_matches('}')),
            None => (clause, ""),
        };
        let whole = before.trim().trim_end_matches(',').trim();
        let whole = whole.strip_prefix('*').map_or(whole, |rest| rest.trim().trim_start_matches("as ").trim());
        if !whole.is_empty() {
            self.whole = Some(whole.to_owned());
        }
        for part in parts.split(',').map(str::trim).filter(|part| !part.is_empty() && !part.starts_with("type ")) {
            let (name, local) = part.split_once(renames).unwrap_or((part, part));
            match name.trim() {
                "default" | "strict" => self.whole = Some(local.trim().to_owned()),
                name => {
                    self.parts.insert(name.to_owned(), local.trim().to_owned());
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "bindings_tests.rs"]
mod tests;
