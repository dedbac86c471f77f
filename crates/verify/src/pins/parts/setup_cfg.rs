//! `setup.cfg`: sections that configure test tools.

use super::{Parts, verdict};

/// Whether a section configures test tools.
fn is_pinned(section: &str) -> bool {
    let first = section.split([':', '-']).next().unwrap_or(section);
    matches!(section, "tool:pytest" | "options.entry_points")
        || matches!(first, "pytest" | "aliases" | "coverage" | "tox" | "testenv" | "nosetests" | "flake8" | "mypy")
        || matches!(first, "pylint" | "pycodestyle" | "isort" | "pydocstyle")
}

/// A section: its name, its lines as written with the header, and what counts of them.
struct Section<'a> {
    name: &'a str,
    text: Vec<&'a str>,
}

impl Section<'_> {
    /// Lines without blanks at the end, empty lines and comments. Blanks at the start continue a value.
    fn content(&self) -> Vec<&str> {
        let lines = self.text.iter().skip(1).map(|line| line.trim_end());
        lines.filter(|line| !line.is_empty() && !line.trim_start().starts_with(['#', ';'])).collect()
    }
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections = vec![Section { name: "", text: vec![""] }];
    for line in text.lines() {
        match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, _)) => sections.push(Section { name: name.trim(), text: vec![line] }),
            None => {
                if let Some(section) = sections.last_mut() {
                    section.text.push(line);
                }
            }
        }
    }
    sections
}

pub(super) fn compare(before: &str, now: Option<&str>) -> Parts {
    let old = sections(before);
    let pinned: Vec<&Section<'_>> = old.iter().filter(|section| is_pinned(section.name)).collect();
    let Some(now) = now else {
        return if pinned.is_empty() { Parts::Untouched } else { Parts::Gone { restored: before.as_bytes().to_vec() } };
    };
    let new = sections(now);
    let content = |all: &[Section<'_>], name: &str| -> Vec<Vec<String>> {
        let same = all.iter().filter(|section| section.name == name);
        same.map(|section| section.content().into_iter().map(str::to_owned).collect()).collect()
    };
    let mut names: Vec<&str> =
        old.iter().chain(&new).map(|section| section.name).filter(|name| is_pinned(name)).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| content(&old, name) != content(&new, name));
    let what = names.iter().map(|name| format!("[{name}]")).collect();
    verdict(what, || {
        let kept = new.iter().filter(|section| !is_pinned(section.name)).chain(pinned.iter().copied());
        let mut text = String::new();
        for (at, line) in kept.flat_map(|section| section.text.iter()).enumerate() {
            // The first line is the header of what stands before all sections.
            if at > 0 {
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    })
}
