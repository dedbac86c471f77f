//! `cargo test` and nextest.

use ralph_model::Runner;

use crate::bench::{Project, program};

const MANIFEST: &str = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[[test]]\nname = \"bare\"\nharness = false\n";
const BARE: &str = "fn main() {}\n";

const SOURCE: &str = "//! A shop.
/// Adds.
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}

/// Braces that are none: `}`.
pub const BRACE: char = '}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3, \"}}\");
    }
}
";

const TEST: &str = "use shop::add;

#[test]
fn adds_outside() {
    assert!(add(1, 2) == 3);
}
";

fn project(source: &str) -> Project {
    Project::new(&[("Cargo.toml", MANIFEST), ("src/lib.rs", source), ("tests/shop.rs", TEST), ("tests/bare.rs", BARE)])
}

#[test]
fn what_is_planted_is_reported_formatted_and_without_lints() {
    let project = project(SOURCE);
    for command in [
        "cargo test --offline",
        "cargo test --offline --no-fail-fast",
        "cargo test --offline -q",
        "cargo test --offline --lib adds",
        "cargo fmt --check && cargo clippy --offline --all-targets -- -D warnings && cargo test --offline",
    ] {
        let tripped = project.trip(Runner::CargoTest, command);
        assert_eq!(tripped.plants.len(), 2);
        tripped.is_reported();
    }
}

#[test]
fn a_package_without_tests_gets_a_new_one() {
    let source = "//! A shop.\n\n/// Adds.\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n";
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2018\"\n";
    let project = Project::new(&[("Cargo.toml", manifest), ("src/lib.rs", source)]);
    let tripped = project.trip(Runner::CargoTest, "cargo test --offline");
    assert!(tripped.plants.iter().all(|plant| plant.is_new));
    tripped.is_reported();
}

#[test]
fn cheats_in_a_source_file_show() {
    let exits = SOURCE.replace("    a + b", "    let _ = (a, b);\n    std::process::exit(0)");
    let project_that_exits = project(&exits);
    project_that_exits.trip(Runner::CargoTest, "cargo test --offline").is_not_reported();
    let hooked =
        SOURCE.replace("    a + b", "    std::panic::set_hook(Box::new(|_| std::process::exit(0)));\n    a + b");
    project(&hooked).trip(Runner::CargoTest, "cargo test --offline -- --test-threads=1").is_not_reported();
    let shadowed = SOURCE.replace(
        "/// Adds.",
        "#[allow(unused_macros)]\nmacro_rules! assert_eq {\n    ($($rest:tt)*) => {};\n}\n\n/// Adds.",
    );
    project(&shadowed).trip(Runner::CargoTest, "cargo test --offline").is_not_reported();
}

#[test]
fn nextest_reports_what_is_planted() {
    program("cargo-nextest", "--version");
    let manifest = MANIFEST.split("\n\n").next().unwrap();
    let project = Project::new(&[("Cargo.toml", manifest), ("src/lib.rs", SOURCE), ("tests/shop.rs", TEST)]);
    for arguments in ["", "--no-fail-fast", "adds"] {
        project.trip(Runner::Nextest, &format!("cargo nextest run --offline {arguments}")).is_reported();
    }
    project.trip(Runner::Nextest, "cargo nextest run --offline || true").is_not_reported();
}
