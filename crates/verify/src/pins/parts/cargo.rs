//! `Cargo.toml`: targets, profiles, patches and where dependencies come from. Versions and what describes a package are
//! free.

use toml::{Table, Value};

use super::toml_parts::{Comparison, get, keys};
use super::{Parts, unreadable, verdict};

/// Tables that count as a whole.
const WHOLE: [&[&str]; 8] = [
    &["patch"],
    &["replace"],
    &["lints"],
    &["workspace", "lints"],
    &["workspace", "default-members"],
    &["package", "name"],
    &["package", "build"],
    &["package", "workspace"],
];
/// Switches of a package that decide which tests there are.
const AUTOMATIC: [&str; 5] = ["autotests", "autobins", "autoexamples", "autobenches", "autolib"];
/// Settings of a target that decide whether and how it is tested.
const TARGET: [&str; 6] = ["path", "test", "harness", "doctest", "bench", "required-features"];
/// Settings of a profile that change how fast the code is, not what it does.
const SPEED: [&str; 8] =
    ["opt-level", "lto", "codegen-units", "debug", "strip", "incremental", "split-debuginfo", "rpath"];
/// Where a dependency comes from.
const ORIGIN: [&str; 8] = ["path", "git", "branch", "tag", "rev", "registry", "registry-index", "package"];
/// Crates whose macros judge in the place of the usual ones.
const JUDGES: [&str; 4] = ["pretty_assertions", "pretty-assertions", "similar_asserts", "similar-asserts"];
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

pub(super) fn compare(before: &str, now: Option<&str>) -> Parts {
    let Ok(old) = before.parse::<Table>() else { return super::whole(before.as_bytes(), now.map(str::as_bytes)) };
    let Some(now) = now else { return Parts::Gone { restored: before.as_bytes().to_vec() } };
    let Ok(new) = now.parse::<Table>() else { return unreadable(before, "TOML") };
    let mut comparison = Comparison::new(old, new);
    for path in WHOLE {
        comparison.pin(path);
    }
    for name in AUTOMATIC {
        comparison.pin(&["package", name]);
    }
    library(&mut comparison);
    for kind in ["bin", "test", "example", "bench"] {
        targets(&mut comparison, kind);
    }
    profiles(&mut comparison);
    members(&mut comparison);
    origins(&mut comparison);
    let what = std::mem::take(&mut comparison.what);
    verdict(what, || comparison.text(before))
}

/// The library, under its name: integration tests import it by that, and no dependency may take it.
fn library(comparison: &mut Comparison) {
    let name =
        |table: &Table, of: &str| get(table, &[of, "name"]).and_then(Value::as_str).map(|name| name.replace('-', "_"));
    let own = name(&comparison.before, "lib").or_else(|| name(&comparison.before, "package"));
    let now = name(&comparison.now, "lib");
    if now != name(&comparison.before, "lib") && now != own {
        comparison.put_back(&["lib", "name"]);
    }
    for dependency in keys(&comparison.now, &["dependencies"]) {
        let path = ["dependencies", dependency.as_str()];
        if Some(dependency.replace('-', "_")) == own && get(&comparison.before, &path).is_none() {
            comparison.put_back(&path);
        }
    }
    for name in TARGET {
        let (old, new) = (get(&comparison.before, &["lib", name]), get(&comparison.now, &["lib", name]));
        // A path that says what holds anyway.
        let usual = name == "path" && old.is_none() && new.and_then(Value::as_str) == Some("src/lib.rs");
        if old != new && !usual {
            comparison.put_back(&["lib", name]);
        }
    }
}

/// `[[test]]` and its like: each that was there is as it was, and a new one switches nothing off.
fn targets(comparison: &mut Comparison, kind: &str) {
    let list = |table: &Table| get(table, &[kind]).and_then(Value::as_array).cloned().unwrap_or_default();
    let name = |target: &Value| target.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let settings = |target: &Value| TARGET.map(|setting| target.get(setting).cloned());
    let (old, new) = (list(&comparison.before), list(&comparison.now));
    let kept = old
        .iter()
        .all(|target| new.iter().any(|other| name(other) == name(target) && settings(other) == settings(target)));
    let harmless = new.iter().all(|target| {
        old.iter().any(|other| name(other) == name(target)) || is_plain_target(kind, &name(target), target)
    });
    if !kept || !harmless {
        comparison.put_back(&[kind]);
    }
}

fn is_plain_target(kind: &str, name: &str, target: &Value) -> bool {
    let on = |setting: &str| target.get(setting).is_none_or(|value| value.as_bool() == Some(true));
    let features = target.get("required-features").is_none() || matches!(kind, "bin" | "example");
    // By its path a target could stand for a file of another name that cargo would have found.
    let path = target.get("path").and_then(Value::as_str).is_none_or(|path| {
        kind != "test" || (path.starts_with("tests/") && path.split(['/', '.']).any(|it| it == name))
    });
    // Benchmarks usually have a harness of their own.
    let harness = on("harness") || kind == "bench";
    (on("test") || matches!(kind, "example" | "bench")) && harness && features && path
}

fn profiles(comparison: &mut Comparison) {
    let mut names = keys(&comparison.before, &["profile"]);
    names.extend(keys(&comparison.now, &["profile"]));
    names.sort();
    names.dedup();
    for name in names {
        let strict = |table: &Table| {
            let mut profile = get(table, &["profile", &name]).and_then(Value::as_table).cloned().unwrap_or_default();
            profile.retain(|key, _| !SPEED.contains(&key));
            profile
        };
        if strict(&comparison.before) != strict(&comparison.now) {
            comparison.put_back(&["profile", &name]);
        }
    }
}

/// Members of a workspace may join and not leave.
fn members(comparison: &mut Comparison) {
    let list = |table: &Table, name: &str| -> Vec<Value> {
        get(table, &["workspace", name]).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let lost = |from: &[Value], to: &[Value]| from.iter().any(|member| !to.contains(member));
    if lost(&list(&comparison.before, "members"), &list(&comparison.now, "members")) {
        comparison.put_back(&["workspace", "members"]);
    }
    if lost(&list(&comparison.now, "exclude"), &list(&comparison.before, "exclude")) {
        comparison.put_back(&["workspace", "exclude"]);
    }
}

/// A dependency that was there comes from where it came from; its version is free.
fn origins(comparison: &mut Comparison) {
    let mut tables: Vec<Vec<String>> = DEPENDENCIES.iter().map(|name| vec![(*name).to_owned()]).collect();
    tables.push(vec!["workspace".to_owned(), "dependencies".to_owned()]);
    let mut targets = keys(&comparison.before, &["target"]);
    targets.extend(keys(&comparison.now, &["target"]));
    targets.sort();
    targets.dedup();
    for target in targets {
        tables.extend(DEPENDENCIES.iter().map(|name| vec!["target".to_owned(), target.clone(), (*name).to_owned()]));
    }
    for table in tables {
        let table: Vec<&str> = table.iter().map(String::as_str).collect();
        for name in JUDGES {
            let path: Vec<&str> = table.iter().copied().chain([name]).collect();
            let from = get(&comparison.now, &path);
            let elsewhere = from.is_some_and(|from| ORIGIN.iter().any(|origin| from.get(origin).is_some()));
            if elsewhere && get(&comparison.before, &path).is_none() {
                comparison.put_back(&path);
            }
        }
        if table.last() == Some(&"dev-dependencies") {
            only_for_tests(comparison, &table);
        }
        for name in keys(&comparison.before, &table) {
            let path: Vec<&str> = table.iter().copied().chain([name.as_str()]).collect();
            // A dependency that is gone is not there to deceive anybody.
            let Some(new) = get(&comparison.now, &path) else { continue };
            let Some(old) = get(&comparison.before, &path) else { continue };
            let shared = new.get("workspace").is_some();
            if !shared && ORIGIN.iter().any(|origin| old.get(origin) != new.get(origin)) {
                comparison.put_back(&path);
            }
        }
    }
}

/// Tests are built with the features that everybody gets: a package is no dependency of its own tests, and a local one has no more
/// features there than elsewhere.
fn only_for_tests(comparison: &mut Comparison, table: &[&str]) {
    let own = get(&comparison.now, &["package", "name"]).and_then(Value::as_str).unwrap_or_default().to_owned();
    for name in keys(&comparison.now, table) {
        let path: Vec<&str> = table.iter().copied().chain([name.as_str()]).collect();
        let Some(new) = get(&comparison.now, &path) else { continue };
        let text = |key: &str| new.get(key).and_then(Value::as_str);
        let is_own = name == own
            || text("package") == Some(own.as_str())
            || text("path").is_some_and(|path| crate::pins::path::join("", path).is_some_and(|path| path.is_empty()));
        let usual = get(&comparison.now, &["dependencies", name.as_str()]);
        let features = |value: Option<&Value>| -> Vec<Value> {
            value.and_then(|value| value.get("features")).and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let is_local = text("path").is_some() || new.get("workspace").is_some();
        let has_more = usual.is_some() && is_local && {
            let (usual, old) = (features(usual), features(get(&comparison.before, &path)));
            features(Some(new)).iter().any(|feature| !usual.contains(feature) && !old.contains(feature))
        };
        if (is_own && get(&comparison.before, &path) != Some(new)) || has_more {
            comparison.put_back(&path);
        }
    }
}
