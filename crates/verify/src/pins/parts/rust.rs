//! Tests in Rust files: each item of test code that was there is there, token for token, and nothing new stands for what it
//! uses.

use std::collections::HashSet;

use super::{Others, Parts, verdict, whole};
use crate::additions::Pair;
use crate::pins::rust_items::{Item, Module, Use, is_name, uses};
use crate::pins::stack::is_test_file;
use crate::syntax::Source;

/// Macros that judge; a new one by such a name judges differently.
const JUDGES: [&str; 12] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "assert_matches",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "panic",
    "unreachable",
    "todo",
    "unimplemented",
    "matches",
];
/// Attributes that change no test.
const HARMLESS: [&str; 9] = ["allow", "expect", "warn", "deny", "forbid", "doc", "rustfmt", "must_use", "inline"];
/// Inner attributes that switch code off or tests around.
const SWITCHES: [&str; 6] =
    ["cfg", "cfg_attr", "test_runner", "no_main", "reexport_test_harness_main", "custom_test_frameworks"];
/// Words that a name follows which they define.
const DEFINING: [&str; 10] = ["fn", "mod", "struct", "enum", "union", "trait", "type", "const", "static", "macro"];

/// Whether code is there for tests only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Source,
    Tests,
}

/// An item of test code and the modules around it, each with what could switch it off.
struct Pinned<'a> {
    place: Vec<String>,
    item: &'a Item,
}

impl Pinned<'_> {
    fn key(&self) -> (&[String], Vec<&str>, &[String]) {
        (&self.place, attributes(self.item), &self.item.code)
    }
}

pub(super) fn compare(path: &str, before: &str, now: Option<&str>, others: &dyn Others) -> Parts {
    let Some(old_source) = Source::parse_items(path, before) else {
        return whole(before.as_bytes(), now.map(str::as_bytes));
    };
    let old = Module::read(&old_source);
    let region = region_of(path);
    let pinned = collect(&old, region);
    let Some(now) = now else {
        return match (pinned.is_empty(), moved(path, &pinned, others)) {
            (true, _) => Parts::Untouched,
            (false, Some(to)) => Parts::Moved { to },
            (false, None) => Parts::Gone { restored: before.as_bytes().to_vec() },
        };
    };
    let Some(new_source) = Source::parse_items(path, now) else { return unreadable(before, &old, now, region) };
    let new = Module::read(&new_source);
    let pair = Pair::new(&old_source, &new_source);
    let mut what = switches(&old, &new, &pinned);
    what.extend(missing(&pinned, &collect(&new, region), Some(&pair)));
    let intruders = intruders(&old, &pinned, &new, region);
    what.extend(intruders.iter().map(|(what, _)| what.clone()));
    what.extend(judges(&old, &new).into_iter().map(|item| format!("a new `{}!`", introduced(item).join("`, `"))));
    let split = split(&old, &new, region);
    let is_split = !split.is_empty();
    what.extend(split);
    let mut seen = HashSet::new();
    what.retain(|what| seen.insert(what.clone()));
    verdict(what, || match region {
        Region::Source if !is_split => restore(before, &old, now, &new, &intruders),
        // Which of two codes is meant cannot be said.
        Region::Source | Region::Tests => before.to_owned(),
    })
}

/// A source as it is now, with its tests as they were: without new ones, and without what was added to old ones.
pub(super) fn without_new_tests(path: &str, before: &str, now: &str) -> Option<String> {
    let (old_source, new_source) = (Source::parse_items(path, before)?, Source::parse_items(path, now)?);
    let (old, new) = (Module::read(&old_source), Module::read(&new_source));
    if region_of(path) == Region::Tests || !old.holds_tests() {
        return None;
    }
    let is_new = |item: &&Item| {
        item.is_test() && !old.items.iter().any(|other| other.keyword == item.keyword && other.name == item.name)
    };
    let added: Vec<(String, &Item)> = new.items.iter().filter(is_new).map(|item| (String::new(), item)).collect();
    Some(restore(before, &old, now, &new, &added)).filter(|text| text != now)
}

/// Code that is another one for tests than for everybody else, where it was not before.
fn split(old: &Module, new: &Module, region: Region) -> Vec<String> {
    if region == Region::Tests {
        return Vec::new();
    }
    let before = conditions(old);
    conditions(new).into_iter().filter(|condition| !before.contains(condition)).collect()
}

/// Where a source asks whether it is compiled for tests. Helpers for tests under names of their own are none of these.
fn conditions(module: &Module) -> Vec<String> {
    fn walk<'a>(module: &'a Module, items: &mut Vec<&'a Item>) {
        for item in &module.items {
            match &item.module {
                Some(inner) if !item.is_test() => {
                    items.push(item);
                    walk(inner, items);
                }
                _ => items.push(item),
            }
        }
    }
    let mut items = Vec::new();
    walk(module, &mut items);
    let functions = |item: &&Item| -> Vec<String> {
        item.code.windows(2).filter(|pair| pair[0] == "fn").map(|pair| pair[1].clone()).collect()
    };
    let plain = || items.iter().filter(|item| !item.is_test() && item.module.is_none());
    let named: Vec<String> = plain().flat_map(functions).collect();
    let mut found = Vec::new();
    for item in &items {
        if item.is_test() {
            let doubled = functions(item).into_iter().find(|name| item.keyword == "impl" && named.contains(name));
            found.extend(doubled.map(|name| format!("a second `{name}` for tests")));
            continue;
        }
        for attribute in &item.attributes {
            let has = |word: &str| attribute.split_whitespace().any(|other| other == word);
            let is_other = match first_word(attribute) {
                "cfg" => has("not"),
                "cfg_attr" => has("path"),
                _ => false,
            };
            if is_other && has("test") {
                found.push(format!("`#[{}]` on {}", squeezed(attribute), label(item)));
            }
        }
        if item.module.is_none() {
            found.extend(asked_in(item, &named));
        }
    }
    found
}

/// Where the code of an item asks whether it is compiled for tests.
fn asked_in(item: &Item, named: &[String]) -> Vec<String> {
    const BEFORE: [&str; 13] =
        ["]", "#", "[", "inline", "must_use", "pub", "(", "crate", "super", ")", "const", "async", "unsafe"];
    let code: Vec<&str> = item.code.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for at in (0..code.len()).filter(|at| matches!(code[*at], "cfg" | "cfg_attr")) {
        let group = code[at + 1..].iter().take_while(|token| !matches!(**token, "]" | "{" | ";")).copied();
        let group: Vec<&str> = group.take(40).collect();
        if !group.contains(&"test") || !group.first().is_some_and(|first| matches!(*first, "(" | "!")) {
            continue;
        }
        let after = &code[(at + 1 + group.len()).min(code.len())..];
        // A member of its own for tests: `#[cfg(test)] fn with_seed(…)`, `#[cfg(test)] calls: usize`.
        let is_member = matches!(item.keyword, "impl" | "trait" | "struct" | "enum" | "union")
            && group[0] == "("
            && !group.contains(&"not")
            && code[at] == "cfg";
        let head = after.iter().position(|token| !BEFORE.contains(token));
        let name = head.filter(|head| after[*head] == "fn").and_then(|head| after.get(head + 1).copied());
        let is_double = name.is_some_and(|name| named.iter().filter(|other| *other == name).count() > 1);
        let in_body = matches!(item.keyword, "impl" | "trait") && name.is_none();
        if !is_member || is_double || in_body {
            found.push(format!("`cfg(test)` in {}", label(item)));
        }
    }
    found
}

/// Whether an item is another with assertions, rows or cases added.
fn extends(old: &Item, new: &Item, pair: &Pair<'_>) -> bool {
    let may_panic = old.attributes.iter().any(|attribute| first_word(attribute) == "should_panic");
    let mut more = attributes(new);
    for attribute in attributes(old) {
        let is_told = || more.iter().any(|other| other.starts_with("should_panic ( expected"));
        if attribute == "should_panic" && is_told() {
            continue;
        }
        match more.iter().position(|other| *other == attribute) {
            Some(at) => drop(more.remove(at)),
            None => return false,
        }
    }
    let is_case = |attribute: &&str| matches!(first_word(attribute), "case" | "test_case");
    // It has to panic with this text now.
    if let (true, [expected]) = (may_panic, more.as_slice())
        && expected.starts_with("should_panic ( expected")
    {
        return old.code == new.code;
    }
    !may_panic
        && matches!(old.keyword, "fn" | "const" | "static")
        && more.iter().all(is_case)
        && pair.extends(old.node, new.node)
}

fn region_of(path: &str) -> Region {
    if is_test_file(path) { Region::Tests } else { Region::Source }
}

fn collect(module: &Module, region: Region) -> Vec<Pinned<'_>> {
    fn walk<'a>(module: &'a Module, region: Region, place: &mut Vec<String>, pinned: &mut Vec<Pinned<'a>>) {
        for item in &module.items {
            let region = if item.is_test() { Region::Tests } else { region };
            match &item.module {
                Some(inner) => {
                    place.push(header(item, inner));
                    walk(inner, region, place, pinned);
                    place.pop();
                }
                None if region == Region::Tests => pinned.push(Pinned { place: place.clone(), item }),
                None => {}
            }
        }
    }
    let mut pinned = Vec::new();
    walk(module, region, &mut Vec::new(), &mut pinned);
    pinned
}

/// A module as far as it decides whether its content is compiled.
fn header(item: &Item, module: &Module) -> String {
    let inner = module.inner.iter().map(|(attribute, ..)| attribute).filter(|attribute| is_switch(attribute));
    let outer = attributes(item);
    let all: Vec<&str> = outer.into_iter().chain(inner.map(String::as_str)).collect();
    format!("{} mod {}", all.join(" "), item.name)
}

fn first_word(attribute: &str) -> &str {
    attribute.split_whitespace().next().unwrap_or_default()
}

fn is_switch(attribute: &str) -> bool {
    SWITCHES.iter().any(|switch| first_word(attribute) == *switch || attribute.contains("custom_test_frameworks"))
}

/// Attributes that count, in an order of their own.
fn attributes(item: &Item) -> Vec<&str> {
    let all = item.attributes.iter().map(String::as_str);
    let mut attributes: Vec<&str> = all.filter(|attribute| !HARMLESS.contains(&first_word(attribute))).collect();
    attributes.sort_unstable();
    attributes
}

fn same(one: &Item, other: &Item) -> bool {
    one.code == other.code && attributes(one) == attributes(other)
}

/// Inner attributes of the file that switch its tests off.
fn switches(old: &Module, new: &Module, pinned: &[Pinned<'_>]) -> Vec<String> {
    if pinned.is_empty() {
        return Vec::new();
    }
    fresh_switches(old, new).map(|(attribute, ..)| format!("a new `#![{}]`", squeezed(attribute))).collect()
}

fn fresh_switches<'a>(old: &'a Module, new: &'a Module) -> impl Iterator<Item = &'a (String, usize, usize)> {
    let fresh = new.inner.iter().filter(|(attribute, ..)| is_switch(attribute));
    fresh.filter(|(attribute, ..)| !old.inner.iter().any(|(other, ..)| other == attribute))
}

fn squeezed(tokens: &str) -> String {
    tokens.replace(" (", "(").replace("( ", "(").replace(" )", ")").replace(" ,", ",")
}

fn missing(pinned: &[Pinned<'_>], there: &[Pinned<'_>], pair: Option<&Pair<'_>>) -> Vec<String> {
    let mut what = Vec::new();
    let names = used_names(pinned);
    let kept: HashSet<(&[String], Vec<&str>, &[String])> = there.iter().map(Pinned::key).collect();
    for old in pinned {
        let here = || there.iter().filter(|new| new.place == old.place);
        if kept.contains(&old.key()) {
            continue;
        }
        if old.item.keyword == "use" {
            // Imports may be merged, split, sorted, and dropped when nothing needs them.
            let now: Vec<Use> =
                here().filter(|new| new.item.keyword == "use").flat_map(|new| uses(&new.item.code)).collect();
            let lost = uses(&old.item.code)
                .into_iter()
                .find(|import| import.name != "*" && names.contains(import.name.as_str()) && !now.contains(import));
            what.extend(lost.map(|import| format!("`use {}` is gone", import.path)));
            continue;
        }
        let mut twins =
            there.iter().filter(|new| new.item.keyword == old.item.keyword && new.item.name == old.item.name);
        let twin = twins.next();
        let extended = |new: &Pinned<'_>, pair: &Pair<'_>| new.place == old.place && extends(old.item, new.item, pair);
        if matches!((twin, pair), (Some(new), Some(pair)) if extended(new, pair)) {
            continue;
        }
        what.push(match twin {
            Some(new) if new.place != old.place && same(old.item, new.item) => {
                format!("{} is in another module or under other attributes", label(old.item))
            }
            Some(new) if new.item.code == old.item.code => format!("attributes of {} changed", label(old.item)),
            Some(_) => format!("{} changed", label(old.item)),
            None => format!("{} is gone", label(old.item)),
        });
    }
    what
}

fn label(item: &Item) -> String {
    let is_test = item.keyword == "fn" && item.is_test();
    match (item.keyword, item.name.as_str()) {
        ("fn", name) if is_test => format!("test `{name}`"),
        ("", name) => format!("`{name}!`"),
        (keyword, "") => {
            format!("`{keyword} {}`", item.code.iter().skip(1).take(4).cloned().collect::<Vec<_>>().join(" "))
        }
        (keyword, name) => format!("`{keyword} {name}`"),
    }
}

/// Names that test code uses, apart from its imports.
fn used_names<'a>(pinned: &'a [Pinned<'_>]) -> HashSet<&'a str> {
    let items = pinned.iter().filter(|pinned| pinned.item.keyword != "use");
    items.flat_map(|pinned| pinned.item.code.iter()).map(String::as_str).filter(|token| is_name(token)).collect()
}

/// New items among test code that stand for something which the old code uses: a function by the name of the one under
/// test would hide what `use super::*` brings in.
fn intruders<'a>(old: &Module, pinned: &[Pinned<'_>], new: &'a Module, region: Region) -> Vec<(String, &'a Item)> {
    let mut known: HashSet<(Vec<String>, &str, &str)> = HashSet::new();
    each(old, region, &mut Vec::new(), &mut |place, item| {
        known.insert((place.to_vec(), item.keyword, &item.name));
    });
    let places: HashSet<&[String]> = pinned.iter().map(|pinned| pinned.place.as_slice()).collect();
    let names = used_names(pinned);
    let imports: Vec<(&[String], Use)> = pinned
        .iter()
        .filter(|pinned| pinned.item.keyword == "use")
        .flat_map(|pinned| uses(&pinned.item.code).into_iter().map(|import| (pinned.place.as_slice(), import)))
        .collect();
    let mut what = Vec::new();
    let mut judge = |place: &[String], item: &'a Item| {
        // One that was there and is another now is missed already.
        let same_name = !item.name.is_empty()
            && !item.keyword.is_empty()
            && known.contains(&(place.to_vec(), item.keyword, item.name.as_str()));
        let known = same_name || pinned.iter().any(|old| old.place == place && same(old.item, item));
        if known || !places.contains(place) {
            return;
        }
        if item.attributes.iter().any(|attribute| first_word(attribute) == "macro_use") {
            what.push((format!("a new `#[macro_use]` on {}", label(item)), item));
        }
        if item.keyword == "use" {
            let old: Vec<&Use> = imports.iter().filter(|(at, _)| *at == place).map(|(_, import)| import).collect();
            let bad = uses(&item.code).into_iter().find(|import| !is_welcome(import, &old, &names));
            what.extend(bad.map(|import| (format!("a new `use {}` among the tests", import.path), item)));
        } else if let Some(name) = introduced(item).into_iter().find(|name| names.contains(name.as_str())) {
            what.push((format!("a new `{name}` among the tests, which use that name"), item));
        }
    };
    each(new, region, &mut Vec::new(), &mut judge);
    what
}

/// Visits every item of test code, modules included, with the modules around it.
fn each<'a>(module: &'a Module, region: Region, place: &mut Vec<String>, visit: &mut dyn FnMut(&[String], &'a Item)) {
    for item in &module.items {
        let inside = if item.is_test() { Region::Tests } else { region };
        // A module for tests among sources is no test code itself; what is in it is.
        if region == Region::Tests || (inside == Region::Tests && item.module.is_none()) {
            visit(place, item);
        }
        if let Some(inner) = &item.module {
            place.push(header(item, inner));
            each(inner, inside, place, visit);
            place.pop();
        }
    }
}

/// Whether an import changes nothing for the code that was there.
fn is_welcome(import: &Use, old: &[&Use], names: &HashSet<&str>) -> bool {
    if old.contains(&import) {
        return true;
    }
    let first = import.path.split("::").next().unwrap_or_default();
    let standard = is_standard(first);
    if import.name == "*" {
        return standard || import.path == "super::*" || import.path.ends_with("::prelude::*");
    }
    // Spelled out what a star brought in already.
    let parent = import.path.rsplit_once("::").map_or("", |(parent, _)| parent);
    let spelled_out = !import.path.contains(" as ") && old.iter().any(|old| old.path == format!("{parent}::*"));
    !names.contains(import.name.as_str()) || spelled_out || (standard && !import.path.contains(" as "))
}

/// Whether everybody knows what a crate's names mean.
fn is_standard(name: &str) -> bool {
    matches!(name, "std" | "core" | "alloc" | "pretty_assertions" | "similar_asserts")
}

/// Names that an item brings into its module.
fn introduced(item: &Item) -> Vec<String> {
    match item.keyword {
        "use" => uses(&item.code).into_iter().map(|import| import.name).collect(),
        "impl" => Vec::new(),
        // A macro may define whatever it is given.
        "" => item
            .code
            .windows(2)
            .filter(|pair| DEFINING.contains(&pair[0].as_str()))
            .map(|pair| pair[1].clone())
            .collect(),
        _ => vec![item.name.clone()],
    }
}

/// New items anywhere in a file that take the name of a macro that judges.
fn judges<'a>(old: &Module, new: &'a Module) -> Vec<&'a Item> {
    fn walk<'a>(module: &'a Module, items: &mut Vec<&'a Item>) {
        for item in &module.items {
            items.push(item);
            if let Some(inner) = &item.module {
                walk(inner, items);
            }
        }
    }
    let (mut before, mut now) = (Vec::new(), Vec::new());
    walk(old, &mut before);
    walk(new, &mut now);
    now.retain(|item| {
        let bad = match item.keyword {
            "macro_rules" | "macro" => JUDGES.contains(&item.name.as_str()),
            "use" => uses(&item.code).iter().any(|import| {
                let first = import.path.split("::").next().unwrap_or_default();
                JUDGES.contains(&import.name.as_str()) && !is_standard(first)
            }),
            _ => false,
        };
        bad && !before.iter().any(|old| same(old, item))
    });
    now
}

/// Macros of a new file that judge in the place of the usual ones.
pub(super) fn new_judges(path: &str, text: &str) -> Vec<String> {
    let Some(source) = Source::parse_items(path, text) else { return Vec::new() };
    let file = Module::read(&source);
    // What it imports is for itself.
    let judges = judges(&Module::default(), &file).into_iter().filter(|item| item.keyword != "use");
    judges.map(|item| format!("a new `{}!`", introduced(item).join("`, `"))).collect()
}

/// A new file that has all of them.
fn moved(path: &str, pinned: &[Pinned<'_>], others: &dyn Others) -> Option<String> {
    others.paths().into_iter().filter(|other| other.ends_with(".rs") && other != path).find(|other| {
        let Some(bytes) = others.read(other) else { return false };
        let text = String::from_utf8_lossy(&bytes);
        let Some(source) = Source::parse_items(other, &text) else { return false };
        let file = Module::read(&source);
        fresh_switches(&Module::default(), &file).next().is_none()
            && missing(pinned, &collect(&file, region_of(other)), None).is_empty()
            && intruders(&Module::default(), pinned, &file, region_of(other)).is_empty()
    })
}

/// What is not closed now does not compile either, so the tests are put into it and it goes on not compiling. With every
/// test still there in its old words, nothing happened to them.
fn unreadable(before: &str, old: &Module, now: &str, region: Region) -> Parts {
    let tests: Vec<&str> = top_tests(old).map(|item| &before[item.start..item.end]).collect();
    let restored = match region {
        Region::Tests => before.to_owned(),
        Region::Source if tests.iter().all(|test| now.contains(test)) => return Parts::Untouched,
        Region::Source => format!("{now}\n{}\n", tests.join("\n")),
    };
    Parts::Tampered {
        what: vec!["the tests, in a file that no longer parses as Rust".to_owned()],
        restored: restored.into_bytes(),
    }
}

fn top_tests(module: &Module) -> impl Iterator<Item = &Item> {
    module.items.iter().filter(|item| item.is_test() || item.module.as_ref().is_some_and(Module::holds_tests))
}

/// The file as it is now with its test code as it was.
fn restore(before: &str, old: &Module, now: &str, new: &Module, intruders: &[(String, &Item)]) -> String {
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    put_back(before, old, new, &mut edits);
    for item in judges(old, new).into_iter().chain(intruders.iter().map(|(_, item)| *item)) {
        edits.push((item.start, item.end, String::new()));
    }
    // The outermost first, so that an edit inside another is known; then from the end, so that places before stay what
    // they are.
    edits.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
    let mut outermost: Vec<(usize, usize, String)> = Vec::new();
    for edit in edits {
        if outermost.last().is_none_or(|(_, end, _)| *end <= edit.0) {
            outermost.push(edit);
        }
    }
    let mut text = now.to_owned();
    for (start, end, replacement) in outermost.into_iter().rev() {
        text.replace_range(start..end, &replacement);
    }
    text
}

fn put_back(before: &str, old: &Module, new: &Module, edits: &mut Vec<(usize, usize, String)>) {
    for (_, start, end) in fresh_switches(old, new) {
        edits.push((*start, *end, String::new()));
    }
    let mut lost = String::new();
    for item in top_tests(old) {
        let text = &before[item.start..item.end];
        let named = |other: &&Item| other.keyword == item.keyword && other.name == item.name;
        let twin = new.items.iter().find(|other| same(item, other));
        let twin = twin.or_else(|| new.items.iter().filter(|_| !item.name.is_empty()).find(named));
        match twin {
            None => {
                lost.push('\n');
                lost.push_str(text);
                lost.push('\n');
            }
            Some(twin) if same(item, twin) => {}
            Some(twin) => match (&item.module, &twin.module) {
                (Some(inner), Some(now)) if !item.is_test() => {
                    if attributes(item) != attributes(twin) {
                        edits.push((twin.start, twin.head, before[item.start..item.head].to_owned()));
                    }
                    put_back(before, inner, now, edits);
                }
                _ => edits.push((twin.start, twin.end, text.to_owned())),
            },
        }
    }
    if !lost.is_empty() {
        edits.push((new.end, new.end, lost));
    }
}
