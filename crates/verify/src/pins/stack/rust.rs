//! Rust: integration tests, tests inside sources, what steers cargo.

use ralph_model::PinKind::{Frozen, Parts, Steering};

use super::general::freeze_existing;
use super::grouped;
use crate::pins::path;
use crate::pins::question::{Layers, Project, add as pin};
use crate::pins::rust_items::Module;
use crate::syntax::Source;
use ralph_model::TestLanguage;

/// Sources that are read to find out whether they hold tests; in a larger project all are taken to.
const MAX_READ: usize = 3000;

pub(super) fn add(project: &Project<'_>, layers: &mut Layers) {
    let packages: Vec<&str> =
        project.files.iter().filter(|file| path::name(file) == "Cargo.toml").map(|file| path::parent(file)).collect();
    let used = project.runs(TestLanguage::Rust);
    if packages.is_empty() && !used && !project.uses(&["cargo", "rustc"]) {
        return;
    }
    let with = |place: &str, end: &str| -> Vec<&str> {
        let has =
            |package: &&str| project.files.iter().any(|file| is_below(file, package, place) && file.ends_with(end));
        packages.iter().copied().filter(has).collect()
    };
    for place in ["tests", "benches"] {
        let there = with(place, "");
        for glob in grouped(&there, &format!("{place}/**")) {
            pin(&mut layers.tests, Frozen, "support files of Rust tests", glob);
        }
        for glob in grouped(&there, &format!("{place}/**/*.rs")) {
            pin(&mut layers.parts, Parts, "Rust tests", glob);
        }
    }
    // All of them: files without tests are compared too, and differ in nothing.
    for glob in grouped(&with("src", ".rs"), "src/**/*.rs") {
        pin(&mut layers.parts, Parts, "tests inside Rust sources", glob);
    }
    let outside = project.files.iter().filter(|file| file.ends_with(".rs") && path::name(file) != "build.rs");
    let outside = outside.filter(|file| {
        !packages.iter().any(|package| ["src", "tests", "benches"].iter().any(|place| is_below(file, package, place)))
    });
    for file in outside.take(MAX_READ) {
        if is_test_file(file) || project.sources.read(file).is_some_and(|text| holds_tests(&text)) {
            pin(&mut layers.parts, Parts, "tests inside Rust sources", path::exact(file));
        }
    }
    for glob in grouped(&packages, "Cargo.toml") {
        pin(&mut layers.parts, Parts, "cargo targets, profiles and patches", glob);
    }
    // Cargo looks for them from the folder that it is started in upwards.
    for glob in ["**/.cargo/{config,config.toml}", "**/.config/nextest.toml", "**/{rust-toolchain,rust-toolchain.toml}"]
    {
        pin(&mut layers.steering, Steering, "steers cargo", glob);
    }
    for glob in grouped(&packages, "build.rs") {
        pin(&mut layers.steering, Steering, "runs while the tests are built", glob);
    }
    freeze_existing(project, layers, &["rust-toolchain", "rust-toolchain.toml"], "steers cargo");
}

fn is_below(file: &str, package: &str, place: &str) -> bool {
    let rest = if package.is_empty() {
        Some(file)
    } else {
        file.strip_prefix(package).and_then(|rest| rest.strip_prefix('/'))
    };
    rest.and_then(|rest| rest.strip_prefix(place)).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether everything in a Rust file is test code, by its name.
pub(crate) fn is_test_file(file: &str) -> bool {
    let stem = path::name(file).trim_end_matches(".rs");
    file.split('/').rev().skip(1).any(|part| matches!(part, "tests" | "benches"))
        || matches!(stem, "tests" | "test")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
}

/// Whether a Rust text has tests in it; one that cannot be read is taken to.
fn holds_tests(text: &str) -> bool {
    text.contains("test") && Source::parse_items("a.rs", text).is_none_or(|source| Module::read(&source).holds_tests())
}
