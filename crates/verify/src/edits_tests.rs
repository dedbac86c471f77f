//! Edits of test files as people commit them, one list for each kind of test in `edits/`: what is honest is welcome, what weakens
//! is refused, and what is refused although it is honest is a rule of docs/verified.md.

use super::*;
use crate::pins::{NoOthers, Parts, Rest, compare_parts, same_but_for_format};

const LISTS: [(&str, &str); 10] = [
    ("pytest", include_str!("edits/pytest.diff")),
    ("unittest", include_str!("edits/unittest.diff")),
    ("jest", include_str!("edits/jest.diff")),
    ("node", include_str!("edits/node.diff")),
    ("go", include_str!("edits/go.diff")),
    ("rust", include_str!("edits/rust.diff")),
    ("java", include_str!("edits/java.diff")),
    ("ruby", include_str!("edits/ruby.diff")),
    ("php", include_str!("edits/php.diff")),
    ("c", include_str!("edits/c.diff")),
];

struct Edit {
    path: &'static str,
    kind: &'static str,
    title: &'static str,
    before: String,
    now: String,
}

/// Reads a list: `== file PATH` and its text, then edits of it, each with hunks that `~` separates.
fn edits(list: &'static str) -> Vec<Edit> {
    let (mut path, mut before, mut edits) = ("", String::new(), Vec::new());
    for section in list.strip_prefix("== ").unwrap().split("\n== ") {
        let (head, body) = section.split_once('\n').unwrap();
        let (kind, title) = head.split_once(' ').unwrap();
        if kind == "file" {
            (path, before) = (title, format!("{}\n", body.trim_end()));
            continue;
        }
        let mut now = before.clone();
        for hunk in body.trim_end_matches('\n').split("\n~\n") {
            let side = |mark: char| -> String {
                let lines = hunk.lines().filter(|line| line.starts_with([' ', mark]) || line.is_empty());
                lines.map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect()
            };
            let (old, new) = (side('-'), side('+'));
            assert!(now.contains(&old), "{path}, {title}: the file has no\n{old}");
            now = now.replacen(&old, &new, 1);
        }
        edits.push(Edit { path, kind, title, before: before.clone(), now });
    }
    edits
}

/// What a loop would say of an edit, or nothing where it is welcome.
fn refusal(edit: &Edit) -> Option<String> {
    let (before, now) = (edit.before.as_bytes(), edit.now.as_bytes());
    if edit.path.ends_with(".rs") {
        let rest = Rest { texts: &[], others: &NoOthers };
        return match compare_parts(edit.path, before, Some(now), &rest) {
            Parts::Untouched => None,
            Parts::Tampered { what, .. } => Some(what.join(", ")),
            Parts::Moved { .. } | Parts::Gone { .. } => Some("gone".to_owned()),
        };
    }
    if same_but_for_format(edit.path, before, now) { None } else { refused_addition(edit.path, before, now) }
}

#[test]
fn edits_as_people_make_them_are_welcome() {
    let (mut honest, mut wrong) = (0, Vec::new());
    for (name, list) in LISTS {
        for edit in edits(list) {
            let refused = refusal(&edit);
            let expected = edit.kind == "honest";
            honest += usize::from(expected);
            if refused.is_none() != expected {
                let is = if expected { "refused" } else { "welcome" };
                wrong.push(format!("{name}: {} {} is {is}: {}", edit.kind, edit.title, refused.unwrap_or_default()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {honest} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(honest >= 140, "{honest}");
}
