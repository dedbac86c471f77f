//! What manifests and settings say about where tests are and how they run. Reads the texts that it is given.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use toml::Table;

use crate::pattern::pattern;
use crate::tripwire::plant::File;
use crate::tripwire::text::{file_name, folder};

/// Manifests and settings by the folder that they stand in.
#[derive(Debug, Default)]
pub(crate) struct Project<'a> {
    cargo: BTreeMap<&'a str, Table>,
    package: BTreeMap<&'a str, Value>,
    /// Settings of pytest, as text.
    pytest: Vec<&'a str>,
    /// Settings of runners of JavaScript, as text.
    javascript: Vec<&'a str>,
}

/// How the names of settings of runners of JavaScript start.
const JAVASCRIPT: &[&str] = &["jest.config.", "vitest.config.", "vite.config.", ".mocharc"];

/// What cargo does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CargoTarget {
    /// It stands in a package's folder of integration tests.
    pub(crate) is_integration: bool,
    /// Its tests run, and under the usual harness.
    pub(crate) runs_tests: bool,
}

impl<'a> Project<'a> {
    pub(crate) fn read(files: &[&File<'a>]) -> Self {
        let mut project = Self::default();
        for file in files {
            let Ok(text) = std::str::from_utf8(file.content) else { continue };
            let place = folder(file.path);
            match file_name(file.path) {
                "Cargo.toml" => {
                    if let Ok(manifest) = text.parse::<Table>() {
                        project.cargo.insert(place, manifest);
                    }
                }
                "package.json" => {
                    if let Ok(manifest) = serde_json::from_str(text) {
                        project.package.insert(place, manifest);
                        project.javascript.push(text);
                    }
                }
                "pyproject.toml" | "pytest.ini" | ".pytest.ini" | "setup.cfg" | "tox.ini" => project.pytest.push(text),
                name if JAVASCRIPT.iter().any(|start| name.starts_with(start)) => project.javascript.push(text),
                _ => {}
            }
        }
        project
    }

    /// What cargo does with the file at a path.
    pub(crate) fn cargo_target(&self, path: &str) -> CargoTarget {
        let nearest = nearest(&self.cargo, path);
        let inside = nearest.map_or(path, |(place, _)| relative(place, path));
        let is_integration = inside.starts_with("tests/");
        let Some((_, manifest)) = nearest else { return CargoTarget { is_integration, runs_tests: true } };
        let runs_tests = if is_integration { runs_integration(manifest, inside) } else { runs_unit(manifest, inside) };
        CargoTarget { is_integration, runs_tests }
    }

    /// The folders of packages in which cargo finds integration tests by itself.
    pub(crate) fn cargo_packages(&self) -> Vec<&'a str> {
        let finds = |manifest: &&Table| {
            let package = manifest.get("package").and_then(toml::Value::as_table);
            package.is_some_and(|package| package.get("autotests").and_then(toml::Value::as_bool) != Some(false))
        };
        self.cargo.iter().filter(|(_, manifest)| finds(manifest)).map(|(place, _)| *place).collect()
    }

    /// Whether Node takes a plain `.js` file at a path for an ES module.
    pub(crate) fn is_module(&self, path: &str) -> bool {
        nearest(&self.package, path)
            .and_then(|(_, manifest)| manifest.get("type").and_then(Value::as_str))
            .is_some_and(|kind| kind == "module")
    }

    /// Whether a setting gives up a run of JavaScript after a failure.
    pub(crate) fn bails(&self) -> bool {
        static BAIL: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\bbail["']?\s*:\s*(?:true|[1-9])"#));
        self.javascript.iter().any(|text| BAIL.is_match(text))
    }

    /// A value that a setting of pytest has, such as `addopts`, in all files that have it.
    pub(crate) fn pytest(&self, setting: &str) -> Vec<String> {
        self.pytest.iter().filter_map(|text| value(text, setting)).collect()
    }
}

/// The manifest of the innermost folder that a path lies in.
fn nearest<'m, 'a, T>(manifests: &'m BTreeMap<&'a str, T>, path: &str) -> Option<(&'a str, &'m T)> {
    manifests
        .iter()
        .filter(|(place, _)| place.is_empty() || path.strip_prefix(**place).is_some_and(|rest| rest.starts_with('/')))
        .max_by_key(|(place, _)| place.len())
        .map(|(place, manifest)| (*place, manifest))
}

fn relative<'p>(place: &str, path: &'p str) -> &'p str {
    path.strip_prefix(place).map_or(path, |rest| rest.trim_start_matches('/'))
}

fn is_off(target: &toml::Value, key: &str) -> bool {
    target.get(key).and_then(toml::Value::as_bool) == Some(false)
}

fn runs_integration(manifest: &Table, inside: &str) -> bool {
    let rest = inside.strip_prefix("tests/").unwrap_or(inside);
    // `tests/cart.rs` and `tests/cart/main.rs` with all that lies beside it are the target `cart`.
    let stem = rest.split('/').next().unwrap_or(rest);
    let stem = stem.strip_suffix(".rs").unwrap_or(stem);
    let listed = manifest.get("test").and_then(toml::Value::as_array).into_iter().flatten().find(|target| {
        let text = |key: &str| target.get(key).and_then(toml::Value::as_str);
        match text("path") {
            Some(path) => path == inside || (path.ends_with("/main.rs") && inside.starts_with(folder(path))),
            None => text("name") == Some(stem),
        }
    });
    match listed {
        Some(target) => !is_off(target, "harness") && !is_off(target, "test"),
        None => !manifest.get("package").is_some_and(|package| is_off(package, "autotests")),
    }
}

fn runs_unit(manifest: &Table, inside: &str) -> bool {
    let is_program = inside.starts_with("src/bin/") || inside == "src/main.rs";
    let library = manifest.get("lib").filter(|_| !is_program);
    !library.is_some_and(|library| is_off(library, "harness") || is_off(library, "test"))
}

/// `addopts = -x -q`, with lists and quotes of TOML and with lines that go on, as words with blanks between.
fn value(text: &str, setting: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| {
        !line.trim_start().strip_prefix(setting).is_some_and(|rest| rest.trim_start().starts_with('='))
    });
    let (_, first) = lines.next()?.split_once('=')?;
    let mut words = first.trim().to_owned();
    for line in lines {
        let is_open_list = words.starts_with('[') && !words.contains(']');
        let goes_on = line.starts_with([' ', '\t']) && !line.contains('=');
        if !is_open_list && !goes_on {
            break;
        }
        words = format!("{words} {}", line.trim());
    }
    let is_list = words.starts_with('[');
    let words = words.trim_matches(['[', ']', ' ']);
    if is_list {
        // Each element stays one word.
        return Some(words.split(',').map(str::trim).collect::<Vec<_>>().join(" "));
    }
    let unquoted = words.strip_prefix('"').and_then(|words| words.strip_suffix('"'));
    Some(unquoted.or_else(|| words.strip_prefix('\'')?.strip_suffix('\'')).unwrap_or(words).to_owned())
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
