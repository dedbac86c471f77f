//! The scripts of a `package.json` or a `composer.json`.

use super::Expanded;
use crate::pins::Sources;
use crate::pins::json::Json;
use crate::pins::path;
use crate::pins::words::Simple;

/// Scripts that a package manager runs, with those that it runs before and after them.
pub(super) fn behind(sources: &dyn Sources, simple: &Simple) -> Vec<Expanded> {
    let manifest = if simple.program() == "composer" { "composer.json" } else { "package.json" };
    let Some(package) = nearest(sources, &place(simple), manifest) else { return Vec::new() };
    let file = path::join(&package, manifest).unwrap_or_default();
    let Some(Json::Object(members)) = sources.read(&file).as_deref().and_then(Json::parse) else { return Vec::new() };
    let Some(Json::Object(scripts)) = Json::member(&members, "scripts") else { return Vec::new() };
    let mut texts = Vec::new();
    for name in scripts_of(simple) {
        for name in [format!("pre{name}"), name.clone(), format!("post{name}")] {
            let script = Json::member(scripts, &name);
            let lines = match script {
                Some(Json::List(lines)) => lines.iter().filter_map(Json::as_text).collect(),
                script => script.and_then(Json::as_text).into_iter().collect::<Vec<_>>(),
            };
            // `@php vendor/bin/phpunit` and `@lint` of Composer.
            let plain = |line: String| match line.strip_prefix('@') {
                Some(line) if line.starts_with("php ") => line.to_owned(),
                Some(script) => format!("composer run {script}"),
                None => line,
            };
            for text in lines.into_iter().map(plain) {
                texts.push(Expanded { text, from: Some(file.clone()), folder: package.clone() });
            }
        }
    }
    texts
}

/// Names of the scripts that a command runs, whether they exist or not.
pub(crate) fn scripts_of(simple: &Simple) -> Vec<String> {
    let program = simple.program();
    let words = plain(simple);
    match (program, words.as_slice()) {
        ("npm-run-all" | "run-s" | "run-p", names) => names.iter().map(|name| (*name).to_owned()).collect(),
        ("concurrently", texts) => {
            texts.iter().filter_map(|text| text.strip_prefix("npm:")).map(str::to_owned).collect()
        }
        (_, ["run" | "run-script" | "rum" | "urn", name, ..]) => vec![(*name).to_owned()],
        ("npm" | "pnpm", ["test" | "t" | "tst", ..]) => vec!["test".to_owned()],
        ("npm" | "pnpm", ["start" | "stop" | "restart", ..]) => vec![words[0].to_owned()],
        ("npm", ["it" | "install-test" | "cit" | "install-ci-test", ..]) => vec!["test".to_owned()],
        ("npm" | "pnpm" | "yarn" | "bun", ["install" | "ci" | "i", ..]) => {
            ["preinstall", "install", "postinstall", "prepare"].map(str::to_owned).to_vec()
        }
        ("yarn", ["workspace", _, name, ..]) => vec![(*name).to_owned()],
        // Both run a script of that name where there is one.
        ("yarn" | "pnpm" | "composer", [name, ..]) => vec![(*name).to_owned()],
        _ => Vec::new(),
    }
}

/// Words that are neither options nor their values.
fn plain(simple: &Simple) -> Vec<&str> {
    let mut words = Vec::new();
    let mut arguments = simple.arguments();
    while let Some(word) = arguments.next() {
        match word {
            "--" => break,
            "-C" | "--prefix" | "--cwd" | "--dir" | "-w" | "--workspace" | "--filter" | "-F" => {
                arguments.next();
            }
            option if option.starts_with('-') => {}
            word => words.push(word),
        }
    }
    words
}

/// The folder that the package manager is pointed at.
fn place(simple: &Simple) -> String {
    let words: Vec<&str> = simple.arguments().collect();
    let to = words.iter().enumerate().find_map(|(at, word)| match *word {
        "-C" | "--prefix" | "--cwd" | "--dir" => words.get(at + 1).copied(),
        other => ["--prefix=", "--cwd=", "--dir="].iter().find_map(|option| other.strip_prefix(option)),
    });
    to.and_then(|to| path::join(&simple.folder, to)).unwrap_or_else(|| simple.folder.clone())
}

/// The folder itself or the nearest above it that has a manifest.
fn nearest(sources: &dyn Sources, from: &str, manifest: &str) -> Option<String> {
    let mut place = from;
    loop {
        if sources.has_file(&path::join(place, manifest)?) {
            return Some(place.to_owned());
        }
        if place.is_empty() {
            return None;
        }
        place = path::parent(place);
    }
}
