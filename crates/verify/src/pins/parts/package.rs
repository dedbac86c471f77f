//! `package.json`: scripts, settings of runners, and where dependencies come from. Versions are free.

use super::{Parts, unreadable, verdict};
use crate::pins::expand::{Expanded, scripts_of};
use crate::pins::json::Json;
use crate::pins::path;
use crate::pins::question::starts;

/// Settings of runners and of what rewrites tests before they run.
const SETTINGS: [&str; 18] = [
    "jest",
    "mocha",
    "vitest",
    "babel",
    "ava",
    "tap",
    "c8",
    "nyc",
    "postcss",
    "eslintConfig",
    "eslintIgnore",
    "prettier",
    "standard",
    "xo",
    "type",
    "imports",
    "config",
    "browserslist",
];
/// The first of them are of runners.
const RUNNER_SETTINGS: usize = 9;
/// Scripts that no check runs, unless a command names them.
const FREE: [&str; 14] = [
    "dev",
    "start",
    "serve",
    "preview",
    "storybook",
    "deploy",
    "release",
    "publish",
    "watch",
    "clean",
    "docs",
    "format",
    "prepublishOnly",
    "version",
];
const DEPENDENCIES: [&str; 4] = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
/// Conditions of entry points that everybody has.
const CONDITIONS: [&str; 6] = ["types", "import", "require", "node", "browser", "default"];
/// Members that put another package in the place of one.
const OVERRIDES: [&str; 2] = ["overrides", "resolutions"];
/// Packages that judge tests: a copy from elsewhere is not one of them.
const RUNNERS: [&str; 12] =
    ["jest", "vitest", "mocha", "chai", "expect", "ava", "tap", "tape", "ts-jest", "babel-jest", "ts-node", "tsx"];

pub(super) fn compare(file: &str, before: &str, now: Option<&str>, texts: &[Expanded]) -> Parts {
    let Some(old @ Json::Object(_)) = Json::parse(before) else {
        return super::whole(before.as_bytes(), now.map(str::as_bytes));
    };
    let Some(now) = now else { return Parts::Gone { restored: before.as_bytes().to_vec() } };
    let Some(new @ Json::Object(_)) = Json::parse(now) else { return unreadable(before, "JSON") };
    let mut comparison = Comparison { restored: new.clone(), old, new, what: Vec::new() };
    comparison.scripts(&used_scripts(file, texts));
    for name in SETTINGS {
        comparison.pin(name);
    }
    let (before, now) = (conditions(comparison.old.get("exports")), conditions(comparison.new.get("exports")));
    if now.iter().any(|condition| !before.contains(condition) && !CONDITIONS.contains(&condition.as_str())) {
        // Tests that import the package by its name would get other code than everybody else.
        comparison.pin("exports");
    }
    comparison.workspaces();
    comparison.origins();
    let Comparison { what, restored, .. } = comparison;
    verdict(what, || restored.write())
}

/// Conditions under which entry points are what they are: keys of `exports` that are no paths.
fn conditions(exports: Option<&Json>) -> Vec<String> {
    let Some(exports @ Json::Object(members)) = exports else { return Vec::new() };
    let own = exports.keys().into_iter().filter(|key| !key.starts_with('.'));
    own.chain(members.iter().flat_map(|(_, value)| conditions(Some(value)))).collect()
}

/// A new manifest may say everything except what configures a runner.
pub(super) fn compare_new(now: &str) -> Parts {
    let Some(new @ Json::Object(_)) = Json::parse(now) else { return unreadable("{}", "JSON") };
    let mut comparison = Comparison { restored: new.clone(), old: Json::Object(Vec::new()), new, what: Vec::new() };
    for name in &SETTINGS[..RUNNER_SETTINGS] {
        comparison.pin(name);
    }
    let Comparison { what, restored, .. } = comparison;
    verdict(what, || restored.write())
}

/// Scripts of this file that the commands run.
fn used_scripts(file: &str, texts: &[Expanded]) -> Vec<String> {
    let folder = path::parent(file);
    let mut names: Vec<String> = Vec::new();
    for simple in starts(texts) {
        // A command in a folder further down finds this file too, and so does one that is pointed here.
        if matches!(
            simple.program(),
            "npm" | "pnpm" | "yarn" | "bun" | "npm-run-all" | "run-s" | "run-p" | "concurrently"
        ) && (simple.folder.starts_with(folder) || simple.arguments().any(|word| word.contains(folder)))
        {
            names.extend(scripts_of(&simple));
        }
    }
    names.sort();
    names.dedup();
    names
}

struct Comparison {
    old: Json,
    new: Json,
    restored: Json,
    what: Vec<String>,
}

fn same(one: Option<&Json>, other: Option<&Json>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.same(other),
        _ => false,
    }
}

impl Comparison {
    fn pin(&mut self, name: &str) {
        if !same(self.old.get(name), self.new.get(name)) {
            self.what.push(name.to_owned());
            self.restored.set(name, self.old.get(name).cloned());
        }
    }

    /// Puts back a member of a member, or takes it out.
    fn put_back(&mut self, table: &str, name: &str) {
        self.what.push(format!("{table}.{name}"));
        let old = self.old.get(table).and_then(|inner| inner.get(name)).cloned();
        let mut inner = self.restored.get(table).cloned().unwrap_or_else(|| Json::Object(Vec::new()));
        if !matches!(inner, Json::Object(_)) {
            inner = Json::Object(Vec::new());
        }
        inner.set(name, old);
        self.restored.set(table, Some(inner));
    }

    fn scripts(&mut self, used: &[String]) {
        let names = |package: &Json| package.get("scripts").map(Json::keys).unwrap_or_default();
        let (old, new) = (names(&self.old), names(&self.new));
        let script = |package: &Json, name: &str| package.get("scripts").and_then(|scripts| scripts.get(name)).cloned();
        for name in &old {
            let free = FREE.contains(&name.as_str()) && !used.contains(name);
            if !free && !same(script(&self.old, name).as_ref(), script(&self.new, name).as_ref()) {
                self.put_back("scripts", name);
            }
        }
        for name in new.iter().filter(|name| !old.contains(name)) {
            let base = name.strip_prefix("pre").or_else(|| name.strip_prefix("post")).unwrap_or_default();
            let wraps =
                !base.is_empty() && (used.iter().chain(&old).any(|other| other == base)) && !FREE.contains(&base);
            if wraps || used.contains(name) {
                self.put_back("scripts", name);
            }
        }
    }

    /// Workspaces may join and not leave.
    fn workspaces(&mut self) {
        let list = |package: &Json| match package.get("workspaces") {
            Some(Json::List(members)) => members.clone(),
            Some(object) => match object.get("packages") {
                Some(Json::List(members)) => members.clone(),
                _ => Vec::new(),
            },
            None => Vec::new(),
        };
        let new = list(&self.new);
        if list(&self.old).iter().any(|member| !new.iter().any(|other| other.same(member))) {
            self.what.push("workspaces".to_owned());
            self.restored.set("workspaces", self.old.get("workspaces").cloned());
        }
    }

    /// A dependency that was there, and every runner, comes from a registry by its own name.
    fn origins(&mut self) {
        let was_there: Vec<String> =
            DEPENDENCIES.iter().filter_map(|table| self.old.get(table)).flat_map(Json::keys).collect();
        let tables = DEPENDENCIES.into_iter().chain(OVERRIDES);
        for table in tables {
            for name in self.new.get(table).map(Json::keys).unwrap_or_default() {
                let value = |package: &Json| package.get(table).and_then(|inner| inner.get(&name)).cloned();
                let (old, new) = (value(&self.old), value(&self.new));
                let judged =
                    was_there.contains(&name) || RUNNERS.contains(&name.as_str()) || OVERRIDES.contains(&table);
                let elsewhere = new.as_ref().is_some_and(is_from_elsewhere);
                if judged && elsewhere && !same(old.as_ref(), new.as_ref()) {
                    self.put_back(table, &name);
                }
            }
        }
    }
}

/// Whether a version leads away from the registry, or to a package by another name.
fn is_from_elsewhere(version: &Json) -> bool {
    match version {
        Json::Text(_) => {
            let version = version.as_text().unwrap_or_default();
            let version = version.trim();
            let starts = [
                "file:", "link:", "portal:", "git", "npm:", "http:", "https:", "patch:", "exec:", "./", "../", "/",
                "~/",
            ];
            // `user/repository` is short for a repository on a code host.
            starts.iter().any(|start| version.starts_with(start))
                || (version.contains('/') && !version.starts_with("workspace:"))
        }
        // Overrides may be nested.
        Json::Object(members) => members.iter().any(|(_, value)| is_from_elsewhere(value)),
        Json::List(_) | Json::Plain(_) => false,
    }
}
