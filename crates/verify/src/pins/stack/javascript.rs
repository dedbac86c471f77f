//! JavaScript and TypeScript: tests and what they need, what steers the runners, installed runners.

use std::collections::{BTreeMap, BTreeSet};

use ralph_model::PinKind::{Absent, Frozen, Installed, Modules, Parts, Steering};

use super::{any_of, shadow};
use crate::pattern::Pattern;
use crate::pins::path;
use crate::pins::question::{Layers, Project, add as pin};
use crate::pins::words::Simple;
use ralph_model::{Runner, TestLanguage};

const CODE: [&str; 8] = ["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"];
const TESTS: [&str; 8] =
    ["*.test.*", "*.spec.*", "*-test.{js,mjs,cjs,ts}", "__tests__/", "__mocks__/", "test/", "tests/", "spec/"];
/// Files that steer whether they exist or not.
const STEERING: [(&str, &str); 14] = [
    ("jest.config.*", "steers jest"),
    ("jest.setup.*", "executed by jest"),
    ("vitest.config.*", "steers vitest"),
    ("vitest.workspace.*", "steers vitest"),
    (".mocharc*", "steers mocha"),
    ("babel.config.*", "rewrites the tests"),
    (".babelrc*", "rewrites the tests"),
    (".swcrc", "rewrites the tests"),
    (".npmrc", "configures npm: can set the shell of scripts"),
    (".yarnrc*", "steers yarn"),
    (".pnpmfile.*", "executed by pnpm"),
    ("bunfig.toml", "steers bun"),
    (".pnp.*", "executed by yarn"),
    ("pnpm-workspace.yaml", "configures pnpm: can set the shell of scripts"),
];
/// Files that a tool loads where they are, and the words that start the tool.
const LOADED: [(&[&str], &[&str]); 6] = [
    (&["vite.config.*", "postcss.config.*", ".postcssrc*", ".env.test", ".env.test.local"], &["vitest"]),
    (&["tsconfig.json", "/tsconfig*.json"], &["ts-node", "tsx", "ts-mocha"]),
    (&[".nycrc*", "nyc.config.*", ".istanbul.yml"], &["nyc"]),
    (&[".c8rc*"], &["c8"]),
    (&["karma.conf.*", "playwright.config.*", "cypress.config.*"], &["karma", "playwright", "cypress"]),
    (&["lerna.json", "nx.json", "turbo.json"], &["lerna", "nx", "turbo"]),
];
/// Files that are pinned where they are: people add them in honest work.
const EXISTING: [&str; 12] = [
    ".nycrc",
    ".nycrc.json",
    ".nycrc.yml",
    ".c8rc",
    ".c8rc.json",
    ".env",
    ".env.test",
    ".env.ci",
    ".taprc",
    "karma.conf.js",
    "playwright.config.ts",
    "playwright.config.js",
];
/// A runner by the words that start it, and the packages that it is made of.
const PACKAGES: [(&[&str], &[&str]); 12] = [
    (&["jest", "react-scripts"], &["jest", "jest-*", "@jest", "expect", "babel-jest", "ts-jest", "react-scripts"]),
    (&["vitest"], &["vitest", "@vitest", "vite", "vite-node", "chai", "tinypool"]),
    (&["mocha", "_mocha"], &["mocha", "chai"]),
    (&["ava"], &["ava"]),
    (&["tape"], &["tape"]),
    (&["tap"], &["tap", "@tapjs"]),
    (&["tsx"], &["tsx"]),
    (&["ts-node"], &["ts-node"]),
    (&["tsc"], &["typescript"]),
    (&["eslint"], &["eslint", "@eslint"]),
    (&["nyc", "c8"], &["nyc", "c8"]),
    (&["cross-env", "npm-run-all", "run-s", "run-p", "concurrently"], &["cross-env", "npm-run-all", "concurrently"]),
];

pub(super) fn add(project: &Project<'_>, layers: &mut Layers) {
    let used = project.runs(TestLanguage::JavaScript) || project.uses(&["node", "npm", "pnpm", "yarn", "npx", "bun"]);
    let sources = project.has_extension(&CODE);
    if !used && !sources && !project.has_name(&["package.json"]) {
        return;
    }
    for glob in TESTS {
        pin(&mut layers.tests, Frozen, "JavaScript tests and their support files", glob);
    }
    for (glob, why) in STEERING {
        pin(&mut layers.steering, Steering, why, glob);
    }
    for (globs, words) in LOADED {
        if project.uses(words) {
            for glob in globs {
                pin(&mut layers.steering, Steering, "read by the runner where it is", *glob);
            }
        }
    }
    modules(project, layers);
    if project.files.iter().any(|file| is_test(file)) && !project.has_name(&["package.json"]) {
        pin(&mut layers.parts, Steering, "settings of runners", "/package.json");
    }
    for file in project.files {
        let name = path::name(file);
        if name == "package.json" {
            pin(&mut layers.parts, Parts, "scripts and runner settings of npm", path::exact(file));
        } else if EXISTING.contains(&name) {
            pin(&mut layers.steering, Frozen, "read by runners", path::exact(file));
        } else if name.starts_with("tsconfig") && name.ends_with(".json") {
            pin(&mut layers.steering, Frozen, "steers the TypeScript compiler", path::exact(file));
        }
    }
    installed(project, layers);
}

/// Sources that an import without an ending finds before others by the same name.
fn modules(project: &Project<'_>, layers: &mut Layers) {
    let typed = project.has_extension(&["ts", "mts", "cts", "tsx"]);
    let globs = [
        (typed, "*.{js,mjs,cjs,jsx}"),
        (project.has_extension(&["tsx"]), "*.ts"),
        (project.has_extension(&["jsx"]), "*.{js,mjs}"),
        (project.runners.contains(&Runner::Vitest), "*.mjs"),
    ];
    let why = "imported before a module by the same name";
    for (_, glob) in globs.iter().filter(|(applies, _)| *applies) {
        pin(&mut layers.modules, Modules, why, *glob);
    }
    // `calc.js` is found before `calc/index.js`.
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let is_index = |file: &&String| CODE.contains(&path::extension(file)) && path::name(file).starts_with("index.");
    for folder in
        project.files.iter().filter(is_index).map(|file| path::parent(file)).filter(|folder| !folder.is_empty())
    {
        folders.entry(path::parent(folder)).or_default().insert(path::name(folder));
    }
    for (parent, names) in folders.into_iter().take(MAX_TESTS) {
        let names: Vec<String> = names.into_iter().map(|name| path::exact(name)[1..].to_owned()).collect();
        let glob = format!("{}.{}", any_of(&names), any_of(&CODE));
        pin(&mut layers.modules, Modules, why, path::below(parent, &glob));
    }
}

/// Runners in `node_modules`, at the top and beside each `package.json`.
fn installed(project: &Project<'_>, layers: &mut Layers) {
    let folders = project.files.iter().filter(|file| path::name(file) == "package.json").map(|file| path::parent(file));
    let mut places: Vec<String> = folders.filter_map(|folder| path::join(folder, "node_modules")).collect();
    places.push("node_modules".to_owned());
    places.sort();
    places.dedup();
    let bins: Vec<String> = places.iter().take(MAX_BINS).map(|place| format!("{place}/.bin")).collect();
    places.retain(|place| project.sources.has_folder(place));
    let known: Vec<(&[&str], &[&str])> = PACKAGES.into_iter().filter(|(words, _)| project.uses(words)).collect();
    let libraries = libraries(project);
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for place in places {
        let mut here: Vec<String> = known
            .iter()
            .flat_map(|(_, packages)| packages.iter().copied())
            .chain(libraries.iter().map(String::as_str))
            .filter(|package| package.contains('*') || project.sources.has(&format!("{place}/{package}")))
            .map(str::to_owned)
            .collect();
        here.sort();
        here.dedup();
        found.push((place, here));
    }
    let names: Vec<&String> = found.iter().flat_map(|(_, here)| here).filter(|name| !name.contains('*')).collect();
    if !names.is_empty() {
        // A second copy nearer to the tests would be found first.
        let mut names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let why = "would shadow the installed runner";
        for glob in by_scope(&names) {
            pin(&mut layers.installed, Absent, why, format!("**/node_modules/{glob}/**"));
            pin(&mut layers.installed, Absent, why, format!("**/node_modules/{glob}"));
        }
    }
    let mut words: Vec<&str> = known.iter().flat_map(|(words, _)| words.iter().copied()).collect();
    words.extend(project.starts.iter().map(Simple::program).filter(|program| !program.is_empty()));
    words.sort_unstable();
    words.dedup();
    for (place, here) in found {
        let bins: Vec<String> = words
            .iter()
            .filter(|word| project.sources.has(&format!("{place}/.bin/{word}")))
            .map(|word| path::exact(word)[1..].to_owned())
            .collect();
        if !bins.is_empty() {
            let why = "program of the checks";
            pin(&mut layers.installed, Installed, why, path::below(&place, &format!(".bin/{}", any_of(&bins))));
        }
        if here.iter().any(|name| !name.contains('*')) {
            let why = "installed runner or library of JavaScript tests";
            for glob in by_scope(&here) {
                pin(&mut layers.installed, Installed, why, path::below(&place, &format!("{glob}/**")));
                // A link, as pnpm makes them.
                pin(&mut layers.installed, Installed, why, path::below(&place, &glob));
            }
        }
    }
    for place in bins {
        for glob in shadow::program_names(project, &place) {
            // Scripts of npm look here first.
            pin(&mut layers.installed, Absent, "would shadow a program of the checks", glob);
        }
    }
}

/// Globs for packages, one for each scope: alternatives of a glob have no slash in them.
fn by_scope<T: AsRef<str>>(names: &[T]) -> Vec<String> {
    let mut scopes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in names.iter().map(AsRef::as_ref) {
        let (scope, package) = name.find('/').map_or(("", name), |at| name.split_at(at + 1));
        scopes.entry(scope).or_default().push(package);
    }
    scopes.iter().map(|(scope, packages)| format!("{scope}{}", any_of(packages))).collect()
}

fn is_test(file: &str) -> bool {
    let name = path::name(file);
    let code = CODE.contains(&path::extension(file));
    let folder = file.split('/').any(|part| ["test", "tests", "__tests__", "spec"].contains(&part));
    code && (folder || name.contains(".test.") || name.contains(".spec.") || name.contains("-test."))
}

/// Packages that test files import: what a test compares with is as good as the test.
fn libraries(project: &Project<'_>) -> Vec<String> {
    static IMPORT: Pattern = Pattern::new(r#"(?:require\(|from|import\(?)\s*['"]((?:@[\w.-]+/)?[\w.-]+)"#);
    let mut names: Vec<String> = Vec::new();
    for text in
        project.files.iter().filter(|file| is_test(file)).take(MAX_TESTS).filter_map(|file| project.sources.read(file))
    {
        let found = IMPORT.captures_iter(&text).filter_map(|found| found.get(1));
        names.extend(found.map(|name| name.as_str().to_owned()).filter(|name| !name.starts_with('.')));
    }
    names.sort();
    names.dedup();
    names.truncate(MAX_LIBRARIES);
    names
}

/// Test files that are read for what they import.
const MAX_TESTS: usize = 300;
/// Folders of programs that are watched.
const MAX_BINS: usize = 50;
/// Packages that are watched for their sake.
const MAX_LIBRARIES: usize = 40;
