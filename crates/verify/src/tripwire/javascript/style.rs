//! How a file is written: modules, quotes, semicolons, indentation. Formatters and linters may run before the tests.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::tripwire::project::Project;
use crate::tripwire::text::{extension, indentation};

static IMPORTS: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?m)^\s*(?:import\s*(?:[\w{*]|["'])|export\s+[\w{*])"#));

/// How a file takes in other modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modules {
    /// `import`
    Es,
    /// `require`
    Common,
}

/// How a file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) modules: Modules,
    pub(super) quote: char,
    /// What ends a statement.
    pub(super) end: &'static str,
    pub(super) step: String,
}

impl Style {
    pub(super) fn of(path: &str, text: &str, project: &Project<'_>) -> Self {
        let modules = match extension(path) {
            "mjs" | "mts" => Modules::Es,
            "cjs" => Modules::Common,
            _ if IMPORTS.is_match(text) => Modules::Es,
            "ts" | "tsx" | "cts" if !text.contains("require(") => Modules::Es,
            _ if text.contains("require(") || text.contains("module.exports") => Modules::Common,
            _ if project.is_module(path) => Modules::Es,
            _ => Modules::Common,
        };
        let count = |letter: char| text.chars().filter(|other| *other == letter).count();
        let quote = if count('\'') > count('"') { '\'' } else { '"' };
        let lines = |end: &str| text.lines().filter(|line| line.trim_end().ends_with(end)).count();
        let end = if lines(";") == 0 && lines(")") > 0 { "" } else { ";" };
        Self { modules, quote, end, step: indentation(text, "  ").to_owned() }
    }

    /// One name of a module, under a name of its own.
    pub(super) fn named_import(&self, name: &str, local: &str, module: &str) -> String {
        let (quote, end) = (self.quote, self.end);
        match self.modules {
            Modules::Es => format!("import {{ {name} as {local} }} from {quote}{module}{quote}{end}\n"),
            Modules::Common => format!("const {{ {name}: {local} }} = require({quote}{module}{quote}){end}\n"),
        }
    }

    /// A module as a whole.
    pub(super) fn whole_import(&self, local: &str, module: &str) -> String {
        let (quote, end) = (self.quote, self.end);
        match self.modules {
            Modules::Es => format!("import {local} from {quote}{module}{quote}{end}\n"),
            Modules::Common => format!("const {local} = require({quote}{module}{quote}){end}\n"),
        }
    }
}
