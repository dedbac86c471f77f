//! What manifests and settings say.

use super::*;

fn project<'a>(files: &'a [(&'a str, &'a str)]) -> Project<'a> {
    let files: Vec<File<'_>> = files.iter().map(|(path, text)| File { path, content: text.as_bytes() }).collect();
    Project::read(&files.iter().collect::<Vec<_>>())
}

#[test]
fn targets_without_harness_or_tests_run_none() {
    let manifest = "[package]\nname = \"shop\"\n[[test]]\nname = \"bare\"\nharness = false\n[[test]]\nname = \"own\"\npath = \"tests/other/main.rs\"\ntest = false\n";
    let files = [("crates/shop/Cargo.toml", manifest)];
    let project = project(&files);
    let runs = |path: &str| project.cargo_target(path).runs_tests;
    assert!(runs("crates/shop/tests/cart.rs"));
    assert!(runs("crates/shop/src/lib.rs"));
    assert!(!runs("crates/shop/tests/bare.rs"));
    assert!(!runs("crates/shop/tests/other/part.rs"));
    assert!(runs("tests/bare.rs"), "of another package");
    assert!(project.cargo_target("crates/shop/tests/cart.rs").is_integration);
    assert!(!project.cargo_target("crates/shop/src/tests/cart.rs").is_integration);
}

#[test]
fn a_package_may_find_no_tests_by_itself_and_a_library_may_have_none() {
    let manifest = "[package]\nname = \"shop\"\nautotests = false\n[lib]\ntest = false\n[[test]]\nname = \"cart\"\n";
    let files = [("Cargo.toml", manifest)];
    let project = project(&files);
    let runs = |path: &str| project.cargo_target(path).runs_tests;
    assert!(runs("tests/cart.rs"));
    assert!(!runs("tests/shop.rs"));
    assert!(!runs("src/cart.rs"));
    assert!(runs("src/main.rs"));
    assert!(project.cargo_packages().is_empty());
}

#[test]
fn the_nearest_manifest_says_what_a_script_is() {
    let files = [("package.json", "{\"type\": \"module\"}"), ("old/package.json", "{}"), ("older/package.json", "no")];
    let project = project(&files);
    assert!(project.is_module("test/cart.js"));
    assert!(!project.is_module("old/test/cart.js"));
    assert!(project.is_module("older/test/cart.js"));
}

#[test]
fn settings_of_pytest_are_read_in_every_form() {
    let cases = [
        ("pytest.ini", "[pytest]\naddopts = -x -q\n", "-x -q"),
        ("pytest.ini", "[pytest]\naddopts =\n    -x\n    -q\nmarkers = slow\n", " -x -q"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-x -q\"\n", "-x -q"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = [\n  \"-x\",\n  \"-q\"\n]\n", "\"-x\" \"-q\""),
    ];
    for (path, text, expected) in cases {
        let files = [(path, text)];
        assert_eq!(project(&files).pytest("addopts"), [expected.trim()], "{text}");
        assert!(project(&files).pytest("testpaths").is_empty());
    }
}

#[test]
fn a_setting_may_give_up_a_run() {
    for text in ["{\"jest\": {\"bail\": true}}", "{\"mocha\": {\"bail\": 1}}"] {
        assert!(project(&[("package.json", text)]).bails(), "{text}");
    }
    assert!(project(&[("vitest.config.ts", "export default { test: { bail: 1 } }")]).bails());
    assert!(!project(&[("vitest.config.ts", "export default { test: { bail: 0 } }")]).bails());
    assert!(!project(&[("other.ts", "bail: 1")]).bails());
}
