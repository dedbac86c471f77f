//! Files that the settings of runners name, in configuration files, on command lines and in variables: they steer the runner, whatever
//! they are called.

use std::collections::BTreeSet;

use ralph_model::{PinKind, Runner};

use crate::pattern::Pattern;
use crate::pins::expand::Expanded;
use crate::pins::named::looks_like_check;
use crate::pins::path;
use crate::pins::question::{Layers, Project, add};
use crate::pins::stack::is_apart;
use crate::pins::words::Simple;
use crate::syntax::Source;

/// What the names of configuration files of JavaScript runners start with.
const SCRIPTED: [&str; 13] = [
    "jest.config.",
    "vitest.config.",
    "vitest.workspace.",
    "vite.config.",
    "babel.config.",
    ".babelrc",
    ".mocharc",
    ".nycrc",
    ".c8rc",
    ".taprc",
    "ava.config.",
    "karma.conf.",
    "tsconfig",
];
/// Members of a `package.json` that configure runners.
const SECTIONS: [&str; 8] = ["jest", "mocha", "vitest", "babel", "ava", "tap", "c8", "nyc"];
/// Settings that name the work, or files that are only looked at.
const OF_THE_WORK: [&str; 22] = [
    "entry",
    "input",
    "build",
    "server",
    "preview",
    "css",
    "define",
    "optimizeDeps",
    "coverage",
    "collectCoverageFrom",
    "exclude",
    "excludes",
    "ignore",
    "watch",
    "watchFiles",
    "watchPathIgnorePatterns",
    "forceRerunTriggers",
    "references",
    "outDir",
    "outFile",
    "tsBuildInfoFile",
    "typeRoots",
];
/// Settings that put one module in the place of another: either may be the work.
const MAPS: [&str; 3] = ["moduleNameMapper", "alias", "paths"];
/// Words in the names of modules that stand for others in tests.
const STAND_INS: [&str; 6] = ["mock", "stub", "fake", "shim", "setup", "transform"];
/// Options whose value is loaded before the tests, or in the place of a part of the runner.
const PRELOADS: [&str; 22] = [
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "--preload",
    "--file",
    "--setupFiles",
    "--setupFilesAfterEnv",
    "--globalSetup",
    "--globalTeardown",
    "--resolver",
    "--transform",
    "--transformer",
    "--runner",
    "--testRunner",
    "--testEnvironment",
    "--environment",
    "--reporter",
    "--reporters",
    "--env-file",
    "--bootstrap",
];
/// Configuration files of pytest.
pub(crate) const OF_PYTEST: [&str; 7] =
    ["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml"];
/// Endings that a name in the settings may leave out.
const ENDINGS: [&str; 9] = ["", ".js", ".cjs", ".mjs", ".ts", ".mts", ".json", "/index.js", "/index.ts"];
/// How many files are read for what they name.
const MAX_READ: usize = 400;

pub(crate) fn add_all(project: &Project<'_>, texts: &[Expanded], layers: &mut Layers) {
    let mut named = Named { project, files: BTreeSet::new(), read: BTreeSet::new(), open: Vec::new() };
    let is_open = |file: &&String| !file.split('/').any(is_apart);
    for file in project.files.iter().filter(is_open) {
        named.look_at(file);
    }
    for simple in &project.starts {
        named.command(simple);
    }
    for text in texts {
        named.variables(text);
    }
    let mut read = 0;
    while let Some(file) = named.open.pop().filter(|_| read < MAX_READ) {
        read += 1;
        named.imports(&file);
    }
    for file in named.files {
        add(&mut layers.named, PinKind::Frozen, "named by the settings of the runner", path::exact(&file));
    }
}

struct Named<'a> {
    project: &'a Project<'a>,
    files: BTreeSet<String>,
    /// Settings that others loaded.
    read: BTreeSet<String>,
    /// Settings in JavaScript that may load others.
    open: Vec<String>,
}

impl Named<'_> {
    fn look_at(&mut self, file: &str) {
        let name = path::name(file);
        if name == "conftest.py" || (name.ends_with(".py") && name.starts_with("test")) {
            self.plugins(file);
        } else if OF_PYTEST.contains(&name) {
            if let Some(text) = self.project.sources.read(file) {
                self.options_of_pytest(path::parent(file), &text.replace(['"', '\'', ',', '[', ']', '='], " "));
            }
        } else if name == "package.json" || SCRIPTED.iter().any(|start| name.starts_with(start)) {
            let of_vite = name.starts_with("vite.config.") && !self.project.runners.contains(&Runner::Vitest);
            if !of_vite && let Some(text) = self.project.sources.read(file) {
                self.settings(file, &text);
            }
        }
    }

    /// Every file of the workspace that settings in JavaScript, JSON or YAML name.
    fn settings(&mut self, file: &str, text: &str) {
        let (folder, name) = (path::parent(file), path::name(file));
        let is_code = matches!(path::extension(file), "js" | "mjs" | "cjs" | "ts" | "mts" | "cts");
        let text = if is_code { text.to_owned() } else { format!("({text})") };
        let Some(source) = Source::parse("settings.ts", &text) else {
            for word in text.split(|c: char| c.is_whitespace() || "\"'`,()[]{}".contains(c)) {
                self.path(folder, word, false);
            }
            return;
        };
        if is_code {
            self.open.push(file.to_owned());
        }
        let strings: Vec<usize> = source
            .walk(Source::ROOT)
            .filter(|at| source.is_leaf(*at) && matches!(source.nodes[*at].kind, "string" | "template_string"))
            .collect();
        let keys = |at: usize| -> Vec<String> {
            let pairs = source.ancestors(at).filter(|up| source.nodes[*up].kind == "pair");
            pairs.filter_map(|pair| source.nodes[pair].children.first().map(|key| source.unquoted(*key))).collect()
        };
        let roots: Vec<String> = strings
            .iter()
            .filter(|at| keys(**at).first().is_some_and(|key| key == "rootDir"))
            .filter_map(|at| path::join(folder, &source.unquoted(*at)))
            .collect();
        for at in strings {
            let keys = keys(at);
            let is_key = source.nodes[source.nodes[at].parent].kind == "pair"
                && source.nodes[source.nodes[at].parent].children.first() == Some(&at);
            let is_of_work = keys.iter().any(|key| OF_THE_WORK.contains(&key.as_str()))
                || (name == "package.json" && !keys.last().is_some_and(|key| SECTIONS.contains(&key.as_str())))
                || (name.starts_with("tsconfig") && keys.iter().any(|key| matches!(key.as_str(), "include" | "files")));
            if is_key || is_of_work {
                continue;
            }
            let is_map = keys.iter().any(|key| MAPS.contains(&key.as_str()));
            let word = source.unquoted(at);
            for folder in roots.iter().map(String::as_str).chain([folder]) {
                self.path(folder, &word, is_map);
            }
        }
    }

    /// A word that may name a file.
    fn path(&mut self, folder: &str, word: &str, is_map: bool) {
        let word = word.trim_start_matches("<rootDir>").trim_start_matches('/');
        if word.is_empty() || word.starts_with('-') || word.contains(['*', '$', '\n', ' ']) {
            return;
        }
        for ending in ENDINGS {
            let Some(file) = path::join(folder, &format!("{word}{ending}")) else { return };
            if self.project.has(&file) || (word.contains('/') && self.project.sources.has_file(&file)) {
                let stands_in = || STAND_INS.iter().any(|word| file.to_ascii_lowercase().contains(word));
                if !is_map || stands_in() || looks_like_check(&file) {
                    self.name(file);
                }
                return;
            }
        }
    }

    fn name(&mut self, file: String) {
        let is_manifest =
            matches!(path::name(&file), "package.json" | "Cargo.toml" | "pyproject.toml" | "setup.cfg" | "go.mod");
        if !is_manifest && !file.split('/').any(is_apart) {
            self.files.insert(file);
        }
    }

    /// Settings that settings load: `module.exports = require('./config/jest.base')`.
    fn imports(&mut self, file: &str) {
        static LOADED: Pattern =
            Pattern::new(r#"(?:require\(|require\.resolve\(|from|import\(?)\s*['"](\.[^'"\n]+)['"]"#);
        let Some(text) = self.project.sources.read(file) else { return };
        for found in LOADED.captures_iter(&text).filter_map(|found| found.get(1)) {
            let (folder, word) = (path::parent(file), found.as_str());
            let files = ENDINGS.iter().filter_map(|ending| path::join(folder, &format!("{word}{ending}")));
            let Some(loaded) = files.into_iter().find(|file| self.project.has(file)) else { continue };
            if self.read.insert(loaded.clone())
                && let Some(text) = self.project.sources.read(&loaded)
            {
                self.name(loaded.clone());
                self.settings(&loaded, &text);
            }
        }
    }

    /// Plugins that a file of pytest names: `pytest_plugins = ["support.fixtures"]`.
    fn plugins(&mut self, file: &str) {
        static PLUGINS: Pattern =
            Pattern::new(r"(?m)^pytest_plugins\b[^=\n]*\+?=\s*(\[[^\]]*\]|\([^)]*\)|\{[^}]*\}|[^\n]*)");
        let Some(text) = self.project.sources.read(file).filter(|text| text.contains("pytest_plugins")) else { return };
        for list in PLUGINS.captures_iter(&text).filter_map(|found| found.get(1)) {
            for word in list.as_str().split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))) {
                self.module(path::parent(file), word);
            }
        }
    }

    /// `-p support.fixtures` among options of pytest.
    fn options_of_pytest(&mut self, folder: &str, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            match *word {
                "-p" => self.module(folder, words.get(at + 1).copied().unwrap_or_default()),
                "DJANGO_SETTINGS_MODULE" | "--ds" => {
                    let module = words.get(at + 1).copied().unwrap_or_default();
                    if looks_like_check(module) {
                        self.module(folder, module);
                    }
                }
                other => {
                    if let Some(module) = other.strip_prefix("-p").filter(|module| !module.is_empty()) {
                        self.module(folder, module);
                    }
                }
            }
        }
    }

    /// A module of Python, where it is one of the workspace.
    fn module(&mut self, folder: &str, name: &str) {
        if name.is_empty() || name.starts_with('.') {
            return;
        }
        let inside = name.replace('.', "/");
        let folders = [folder, "", "src", "lib", "tests", "test"];
        let files = folders.iter().flat_map(|folder| {
            [format!("{inside}.py"), format!("{inside}/__init__.py")].map(|file| path::join(folder, &file))
        });
        let found: Vec<String> = files.flatten().filter(|file| self.project.has(file)).collect();
        for file in found {
            if self.files.insert(file.clone()) {
                self.plugins(&file);
            }
        }
    }

    fn command(&mut self, simple: &Simple) {
        if simple.words.iter().any(|word| matches!(path::name(word), "pytest" | "py.test")) {
            self.options_of_pytest(&simple.folder, &simple.words.join(" "));
        }
        for (at, word) in simple.words.iter().enumerate().skip(1) {
            let value = match word.split_once('=') {
                Some((option, value)) if PRELOADS.contains(&option) => value,
                None if PRELOADS.contains(&word.as_str()) => simple.words.get(at + 1).map_or("", String::as_str),
                _ => continue,
            };
            for word in value.split(',') {
                self.path(&simple.folder, word, false);
            }
        }
    }

    /// Variables that name what is loaded first: `NODE_OPTIONS="--require ./hooks.js" mocha`.
    fn variables(&mut self, text: &Expanded) {
        static VARIABLES: Pattern = Pattern::new(
            r#"\b(NODE_OPTIONS|PYTEST_ADDOPTS|PYTEST_PLUGINS|RUBYOPT|PERL5OPT|BASH_ENV|PYTHONSTARTUP|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER)=("[^"\n]*"|'[^'\n]*'|[^\s;&|]+)"#,
        );
        for found in VARIABLES.captures_iter(&text.text) {
            let value = found[2].trim_matches(['"', '\'']);
            match &found[1] {
                "PYTEST_PLUGINS" => value.split(',').for_each(|word| self.module(&text.folder, word)),
                "PYTEST_ADDOPTS" => self.options_of_pytest(&text.folder, value),
                _ => {
                    for word in value.split([' ', '=', ',']) {
                        self.path(&text.folder, word.strip_prefix("-r").unwrap_or(word), false);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
