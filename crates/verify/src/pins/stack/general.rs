//! What every project has: fixtures and snapshots, shell tests, makefiles, continuous integration, linters.

use ralph_model::PinKind::{Frozen, Steering};

use super::grouped;
use crate::pins::expand::{JUSTFILES, MAKEFILES};
use crate::pins::path;
use crate::pins::pinset::covers_any;
use crate::pins::question::{Layers, Project, add as pin};

/// Folders whose content tests compare with, and files alike.
const DATA: [&str; 9] = [
    "fixtures/",
    "__fixtures__/",
    "__snapshots__/",
    "snapshots/",
    "golden/",
    "goldens/",
    "expected/",
    "*.snap",
    "*.golden",
];
/// Where tests lie and what they are called in languages that have no rules of their own here.
const TESTS: [&str; 14] = [
    "/test/",
    "/tests/",
    "/spec/",
    "/specs/",
    "/t/",
    "src/test/",
    "src/androidTest/",
    "*Test.{java,kt,kts,scala,groovy,cs,php,swift}",
    "*Tests.{java,kt,cs,swift}",
    "*Spec.{scala,groovy,kt,hs}",
    "*_spec.{rb,lua,c,cpp}",
    "*_test.{rb,c,cc,cpp,dart,exs,erl,ml,zig,lua}",
    "test_*.{rb,c,cc,cpp,lua,ml}",
    "*.feature",
];
const SHELL: [&str; 5] = ["test*.sh", "*_test.sh", "*-test.sh", "*.bats", "*.t"];
const CI: [&str; 11] = [
    "/.github/workflows/",
    "/.github/actions/",
    "/.gitlab-ci.yml",
    "/.circleci/",
    "/azure-pipelines.yml",
    "/Jenkinsfile",
    "/.travis.yml",
    "/.drone.yml",
    "/bitbucket-pipelines.yml",
    "/.buildkite/",
    "/.ci/",
];
/// Configuration of tools, and the words that start the tool.
const TOOLS: [(&[&str], &str, &[&str]); 12] = [
    (&["clippy.toml", ".clippy.toml"], "clippy configuration", &["clippy"]),
    (&["rustfmt.toml", ".rustfmt.toml"], "rustfmt configuration", &["fmt", "rustfmt"]),
    (&["deny.toml"], "cargo-deny configuration", &["deny", "cargo-deny"]),
    (&[".eslintrc*", "eslint.config.*", ".eslintignore"], "eslint configuration", &["eslint"]),
    (&[".prettierrc*", "prettier.config.*", ".prettierignore"], "prettier configuration", &["prettier"]),
    (&["biome.json", "biome.jsonc"], "biome configuration", &["biome"]),
    (&["ruff.toml", ".ruff.toml"], "ruff configuration", &["ruff"]),
    (&["mypy.ini", ".mypy.ini"], "mypy configuration", &["mypy", "dmypy"]),
    (&["pyrightconfig.json"], "pyright configuration", &["pyright", "basedpyright"]),
    (&[".flake8"], "flake8 configuration", &["flake8"]),
    (&[".pylintrc", "pylintrc"], "pylint configuration", &["pylint"]),
    (&[".golangci.y*ml", ".golangci.toml", ".golangci.json"], "golangci-lint configuration", &["golangci-lint"]),
];
/// Folders of packages and build output: tests in there are not the user's, and building changes them.
const APART: [&str; 10] =
    ["node_modules", "site-packages", ".venv", "venv", ".tox", ".nox", ".git", ".ralph", "__pycache__", ".next"];

pub(super) fn add(project: &Project<'_>, layers: &mut Layers) {
    for glob in TESTS.into_iter().filter(|glob| covers_any(&[glob], project.files)) {
        pin(&mut layers.tests, Frozen, "tests by location or name", glob);
    }
    if project.uses(&["prove"]) {
        pin(&mut layers.steering, Steering, "steers prove", ".proverc");
    }
    for glob in DATA {
        let name = glob.trim_end_matches('/');
        let there = project.files.iter().any(|file| {
            file.split('/').any(|part| part == name) || name.strip_prefix('*').is_some_and(|end| file.ends_with(end))
        });
        if there {
            pin(&mut layers.tests, Frozen, "data that tests compare against", glob);
        }
    }
    if project.has_extension(&["sh", "bats", "t"]) {
        for glob in SHELL {
            pin(&mut layers.tests, Frozen, "shell tests", glob);
        }
    }
    for glob in CI {
        if project.sources.has(glob.trim_matches('/')) {
            pin(&mut layers.tests, Frozen, "continuous integration", glob);
        }
    }
    for (globs, why, words) in TOOLS {
        let kind = if project.uses(words) { Steering } else { Frozen };
        let there = kind == Steering || covers_any(globs, project.files);
        if there {
            for glob in globs {
                pin(&mut layers.steering, kind, why, *glob);
            }
        }
    }
    let is_at_top = |file: &&String| matches!(path::parent(file), "" | ".config");
    for file in project.files.iter().filter(is_at_top) {
        if project.starts.iter().any(|simple| is_settings_of(path::name(file), simple.program())) {
            pin(&mut layers.steering, Frozen, "settings of a program of the check", path::exact(file));
        }
    }
    if project.uses(&["make", "gmake"]) {
        for glob in MAKEFILES.into_iter().chain(["*.mk"]) {
            pin(&mut layers.steering, Steering, "makefile of the check", glob);
        }
        for file in project.files.iter().filter(|file| MAKEFILES.contains(&path::name(file))) {
            for included in project.sources.read(file).iter().flat_map(|text| included(text)) {
                if let Some(included) = path::join(path::parent(file), &included) {
                    pin(&mut layers.steering, Steering, "included by the makefile", path::exact(&included));
                }
            }
        }
    }
    if project.uses(&["just"]) {
        for glob in JUSTFILES {
            pin(&mut layers.steering, Steering, "justfile of the check", glob);
        }
    }
    if project.uses(&["rake"]) {
        // `rakefile` is found before `Rakefile`.
        for glob in ["[rR]akefile", "[rR]akefile.rb", "/rakelib/**"] {
            pin(&mut layers.steering, Steering, "rakefile of the check", glob);
        }
    }
    if project.uses(&["task", "go-task"]) {
        for glob in ["[Tt]askfile.y*ml", "[Tt]askfile.dist.y*ml"] {
            pin(&mut layers.steering, Steering, "Taskfile of the check", glob);
        }
    }
    for name in APART {
        // Where the snapshot has such a folder it is one by another meaning.
        if !project.files.iter().any(|file| file.split('/').rev().skip(1).any(|part| part == name)) {
            pin(&mut layers.apart, Frozen, "packages and build output", format!("!**/{name}/**"));
        }
    }
    // A source may be called so too; what cargo fills is beside its manifest.
    let manifests = project.files.iter().filter(|file| path::name(file) == "Cargo.toml");
    let filled = manifests.map(|file| path::parent(file)).filter(|package| {
        let target = path::join(package, "target").unwrap_or_default() + "/";
        !project.files.iter().any(|file| file.starts_with(&target))
    });
    for glob in grouped(&filled.collect::<Vec<_>>(), "target/**") {
        pin(&mut layers.apart, Frozen, "packages and build output", format!("!{glob}"));
    }
}

/// Files that a makefile includes, whether they are there or not, and does not make itself.
fn included(text: &str) -> Vec<String> {
    let is_made = |name: &str| text.lines().any(|line| line.split(':').next().is_some_and(|it| it.trim() == name));
    let words = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("include" | "-include" | "sinclude")).then_some(words)
    });
    let plain = words.flatten().filter(|word| !word.contains(['$', '*', '?', '%']) && !is_made(word));
    plain.map(str::to_owned).collect()
}

/// Whether a file is called like the settings of a program: `.yamllint`, `.pre-commit-config.yaml`, `phpstan.neon`.
fn is_settings_of(file: &str, program: &str) -> bool {
    let name = file.trim_start_matches(['.', '_']);
    let Some(rest) =
        name.strip_prefix(program).filter(|_| program.len() > 2 && !name.contains("lock") && !name.ends_with(".cache"))
    else {
        return false;
    };
    let is_hidden = name.len() < file.len();
    let is_data = matches!(
        path::extension(file),
        "" | "yml" | "yaml" | "toml" | "json" | "jsonc" | "neon" | "ini" | "cfg" | "conf" | "xml" | "kdl"
    );
    match rest.is_empty() {
        true => is_hidden,
        false => {
            (is_hidden || is_data) && ["rc", "config", "file", ".", "-", "_"].iter().any(|it| rest.starts_with(it))
        }
    }
}

/// Whether a folder by this name holds packages or build output.
pub(crate) fn is_apart(name: &str) -> bool {
    name == "target" || APART.contains(&name)
}

/// Configuration that is pinned only where it is.
pub(super) fn freeze_existing(project: &Project<'_>, layers: &mut Layers, names: &[&str], why: &str) {
    for file in project.files.iter().filter(|file| names.contains(&path::name(file))) {
        pin(&mut layers.steering, Frozen, why, path::exact(file));
    }
}
