//! What is planted in whole projects.

use proptest::prelude::*;

use super::*;

fn planted(runners: &[Runner], commands: &[&str], files: &[(&str, &str)]) -> Vec<Plant> {
    let files: Vec<File<'_>> = files.iter().map(|(path, text)| File { path, content: text.as_bytes() }).collect();
    plants(runners, commands, &files, &[], 7)
}

const PYTHON: (&str, &str) = ("test_a.py", "def test_a():\n    assert True\n");
const SCRIPT: (&str, &str) = ("a.test.js", "test('a', () => {});\n");
const RUST: (&str, &str) = ("tests/a.rs", "#[test]\nfn a() {}\n");
const GO: (&str, &str) = ("a_test.go", "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n}\n");

#[test]
fn every_runner_gets_its_own_files() {
    let runners = [Runner::Pytest, Runner::Jest, Runner::CargoTest, Runner::GoTest];
    let plants = planted(&runners, &["make test"], &[PYTHON, SCRIPT, RUST, GO]);
    let found: Vec<(&str, Runner, bool)> =
        plants.iter().map(|plant| (plant.path.as_str(), plant.runner, plant.is_new)).collect();
    let expected = [
        ("tests/a.rs", Runner::CargoTest, false),
        ("test_a.py", Runner::Pytest, false),
        ("a.test.js", Runner::Jest, false),
        ("a_test.go", Runner::GoTest, false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_same_seed_plants_the_same_and_marks_are_unique() {
    let files = [PYTHON, ("test_b.py", PYTHON.1), SCRIPT];
    let one = planted(&[Runner::Pytest, Runner::Jest], &["make"], &files);
    assert_eq!(one, planted(&[Runner::Jest, Runner::Pytest], &["make"], &files));
    let mut marks: Vec<&String> = one.iter().flat_map(|plant| &plant.marks).collect();
    let all = marks.len();
    marks.sort();
    marks.dedup();
    assert_eq!(marks.len(), all);
}

#[test]
fn what_is_planted_does_not_give_itself_away() {
    for plant in
        planted(&[Runner::Pytest, Runner::Jest, Runner::CargoTest, Runner::GoTest], &[], &[PYTHON, SCRIPT, RUST, GO])
    {
        let text = String::from_utf8(plant.content).unwrap().to_lowercase();
        for word in ["ralph", "tripwire", "plant", "mark"] {
            assert!(!text.contains(word), "{text}");
        }
    }
}

#[test]
fn a_filter_that_nothing_passes_plants_nothing() {
    assert!(planted(&[Runner::Pytest], &["pytest -k 'a or b'"], &[PYTHON]).is_empty());
    assert!(planted(&[Runner::CargoTest], &["cargo test --doc"], &[RUST]).is_empty());
    assert!(planted(&[], &["make"], &[PYTHON]).is_empty());
}

#[test]
fn new_files_are_planted_only_where_there_are_no_tests() {
    let new = planted(&[Runner::Pytest], &["pytest"], &[("shop.py", "def add():\n    pass\n")]);
    assert!(matches!(new.as_slice(), [plant] if plant.is_new && plant.path.starts_with("test_")));
    let manifest = ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n");
    let root = ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n");
    let new = planted(&[Runner::CargoTest], &["cargo test"], &[manifest, root]);
    assert!(matches!(new.as_slice(), [plant] if plant.is_new && plant.path.starts_with("crates/a/tests/")));
    let old = planted(&[Runner::CargoTest], &["cargo test"], &[manifest, root, RUST]);
    assert!(old.iter().all(|plant| !plant.is_new));
}

#[test]
fn what_is_pinned_comes_before_what_the_tree_has() {
    let pinned = [File { path: "test_a.py", content: b"def test_pinned():\n    pass\n" }];
    let tree = [File { path: "test_a.py", content: b"def test_changed():\n    pass\n" }];
    let plants = plants(&[Runner::Pytest], &["pytest"], &pinned, &tree, 1);
    assert_eq!(plants.len(), 1);
    assert!(plants[0].content.starts_with(b"def test_pinned"));
}

#[test]
fn one_focused_file_of_mocha_focuses_all() {
    let files = [("test/a.js", "it.only('a', () => {});\n"), ("test/b.js", "it('b', () => {});\n")];
    for plant in planted(&[Runner::Mocha], &["mocha"], &files) {
        assert!(String::from_utf8(plant.content).unwrap().contains("\nit.only('"), "{}", plant.path);
    }
}

const PATHS: &[&str] = &[
    "tests/a.rs",
    "src/lib.rs",
    "test_a.py",
    "a.test.js",
    "a.test.ts",
    "a_test.go",
    "package.json",
    "Cargo.toml",
    "pytest.ini",
];

proptest! {
    #[test]
    fn planting_survives_any_bytes(content in proptest::collection::vec(any::<u8>(), 0..200), seed in any::<u64>()) {
        let files: Vec<File<'_>> = PATHS.iter().map(|path| File { path, content: &content }).collect();
        let _ = plants(&Runner::ALL, &[&String::from_utf8_lossy(&content)], &files, &files, seed);
    }

    #[test]
    fn planting_survives_any_text_of_the_right_kind(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("#[cfg(test)] mod tests {".to_owned()), Just("#[test]".to_owned()), Just("}".to_owned()),
                Just("def test_a():\n".to_owned()), Just("if __name__".to_owned()), Just("'''".to_owned()),
                Just("import { it } from 'vitest'\n".to_owned()), Just("it(".to_owned()), Just("func TestA(".to_owned()),
                Just("import \"testing\"\n".to_owned()), Just("package a\n".to_owned()), Just("addopts = ".to_owned()),
                "[ \\PC\n]{0,6}",
            ],
            0..12,
        ),
    ) {
        let content = parts.concat();
        let files: Vec<File<'_>> = PATHS.iter().map(|path| File { path, content: content.as_bytes() }).collect();
        for plant in plants(&Runner::ALL, &[&content], &files, &files, 1) {
            prop_assert!(!plant.marks.is_empty());
            prop_assert!(plant.content.len() > content.trim_end().len());
        }
    }
}
