//! `pyproject.toml`: what configures test tools and what is executed when a package is built. Dependencies are free.

use toml::{Table, Value};

use super::toml_parts::{Comparison, get, keys};
use super::{Parts, unreadable, verdict};
use crate::pins::expand::Expanded;

/// What counts whether it was there or not.
const ALWAYS: [&[&str]; 20] = [
    &["tool", "pytest"],
    &["tool", "coverage"],
    &["tool", "tox"],
    &["tool", "nox"],
    &["tool", "hatch", "envs"],
    &["tool", "poe"],
    &["tool", "taskipy"],
    &["tool", "pdm", "scripts"],
    &["tool", "rye", "scripts"],
    &["tool", "pixi", "tasks"],
    &["tool", "hypothesis"],
    &["tool", "uv", "env-file"],
    &["tool", "poetry", "plugins", "pytest11"],
    &["project", "entry-points", "pytest11"],
    &["project", "scripts", "pytest"],
    &["project", "scripts", "python"],
    &["project", "scripts", "tox"],
    &["project", "scripts", "nox"],
    &["build-system", "build-backend"],
    &["build-system", "backend-path"],
];
/// What counts where it was there, or where a command uses the tool.
const TOOLS: [(&str, &str); 8] = [
    ("ruff", "ruff"),
    ("mypy", "mypy"),
    ("pyright", "pyright"),
    ("basedpyright", "basedpyright"),
    ("black", "black"),
    ("isort", "isort"),
    ("pylint", "pylint"),
    ("flake8", "flake8"),
];

pub(super) fn compare(before: &str, now: Option<&str>, texts: &[Expanded]) -> Parts {
    let Ok(old) = before.parse::<Table>() else { return super::whole(before.as_bytes(), now.map(str::as_bytes)) };
    let Some(now) = now else {
        let pinned = ALWAYS.iter().any(|path| get(&old, path).is_some())
            || TOOLS.iter().any(|(table, _)| get(&old, &["tool", table]).is_some());
        return if pinned { Parts::Gone { restored: before.as_bytes().to_vec() } } else { Parts::Untouched };
    };
    let Ok(new) = now.parse::<Table>() else { return unreadable(before, "TOML") };
    let mut comparison = Comparison::new(old, new);
    for path in ALWAYS {
        let fresh_backend = path[0] == "build-system" && get(&comparison.before, &["build-system"]).is_none();
        if fresh_backend && path[1] == "build-backend" {
            // To make a package of a project that was none is honest work.
            continue;
        }
        comparison.pin(path);
    }
    for (table, program) in TOOLS {
        let used = texts.iter().any(|text| {
            text.text.split(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).any(|word| word == program)
        });
        if used || get(&comparison.before, &["tool", table]).is_some() {
            comparison.pin(&["tool", table]);
        }
    }
    sources(&mut comparison, before);
    let what = std::mem::take(&mut comparison.what);
    verdict(what, || comparison.text(before))
}

/// Where dependencies come from: those that the file named before come from where they came from.
fn sources(comparison: &mut Comparison, before: &str) {
    let table = ["tool", "uv", "sources"];
    let mut names = keys(&comparison.before, &table);
    names.extend(keys(&comparison.now, &table));
    names.sort();
    names.dedup();
    for name in names {
        let path = [table[0], table[1], table[2], name.as_str()];
        let known = before.contains(name.as_str());
        let (old, new) = (get(&comparison.before, &path), get(&comparison.now, &path));
        if known && new.is_some() && old != new {
            comparison.put_back(&path);
        }
    }
    for table in [&["tool", "poetry", "dependencies"][..], &["tool", "poetry", "group", "dev", "dependencies"][..]] {
        for name in keys(&comparison.before, table) {
            let path: Vec<&str> = table.iter().copied().chain([name.as_str()]).collect();
            let origin = |value: Option<&Value>| {
                ["path", "git", "url"].map(|key| value.and_then(|value| value.get(key)).cloned())
            };
            let new = get(&comparison.now, &path);
            if new.is_some() && origin(get(&comparison.before, &path)) != origin(new) {
                comparison.put_back(&path);
            }
        }
    }
}
