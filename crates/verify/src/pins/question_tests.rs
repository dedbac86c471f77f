use ralph_model::PinKind;

use crate::pins::PinSet;
use crate::pins::testing::{Little, globs_of};

#[test]
fn the_users_globs_freeze_and_take_out_again() {
    let little = Little::new(&[("Cargo.toml", ""), ("src/lib.rs", ""), ("src/api.rs", ""), ("tests/it.rs", "")]);
    let little = little.protect(&["src/api.rs", "docs/**", "conftest.py", "!tests/it.rs", "!.cargo/**"]);
    little.expect(
        "cargo test",
        "src/api.rs Frozen
         src/lib.rs Parts
         docs/a.md Frozen
         tests/it.rs -
         .cargo/config.toml -
         build.rs Steering",
    );
}

#[test]
fn a_users_glob_does_not_soften_what_steers() {
    let little = Little::new(&[("a.py", "")]).protect(&["tests/**", "*.py"]);
    little.expect("pytest", "tests/conftest.py Steering\nconftest.py Steering\na.py Frozen\npytest.py Absent");
}

#[test]
fn every_glob_can_be_read_and_says_why() {
    let little = Little::new(&[
        ("Cargo.toml", ""),
        ("package.json", r#"{"scripts": {"test": "vitest"}}"#),
        ("go.mod", ""),
        ("a.py", ""),
        ("odd [name]{x}.sh", ""),
        ("tests/test_a.py", ""),
    ])
    .ignored(&["node_modules/vitest/a.js", ".venv/pyvenv.cfg", ".venv/bin/python"])
    .path(".venv/bin:bin:/usr/bin:/bin:");
    let answer = little.ask(&["npm test && pytest && cargo test && go test && make && bash 'odd [name]{x}.sh'"]);
    for pin in &answer.pins {
        assert!(!pin.why.is_empty(), "{pin:?}");
        let mut builder = ignore::gitignore::GitignoreBuilder::new(".");
        builder.allow_unclosed_class(false);
        builder.add_line(None, &pin.glob).unwrap_or_else(|error| panic!("{}: {error}", pin.glob));
    }
    let set = PinSet::new(&answer.pins);
    assert_eq!(set.pin("odd [name]{x}.sh").map(|pin| pin.kind), Some(PinKind::Frozen));
    assert!(globs_of(&answer, PinKind::Installed).len() > 2);
}

#[test]
fn folders_of_path_in_the_workspace() {
    let little = Little::new(&[("a.py", ""), ("bin/tool", "")])
        .ignored(&[".venv/pyvenv.cfg", ".venv/bin/python", ".venv/bin/pytest"])
        .path(".venv/bin:bin:/usr/bin:/bin");
    little.expect(
        "pytest",
        "bin/tool Steering
         bin/new Steering
         .venv/bin/pytest Installed
         .venv/bin/sh Absent
         .venv/bin/black Installed",
    );
    let empty = Little::new(&[("a.py", "")]).path("/usr/bin:/bin:");
    empty.expect("pytest", "sh Absent\ngrep Absent\na.py -");
    assert!(empty.ask(&["pytest"]).notes.iter().any(|note| note.contains("PATH")));
}

#[test]
fn folders_set_apart_are_no_hiding_place() {
    // A folder that the snapshot has under such a name is source.
    let little = Little::new(&[
        ("Cargo.toml", ""),
        ("src/target/mod.rs", "#[test]\nfn a() {}\n"),
        ("pkg/venv/test_a.py", ""),
        ("tools/check.js", ""),
    ])
    .ignored(&["node_modules/own/a.js", "node_modules/tool/check.js"])
    .protect(&["node_modules/own/**"]);
    little.expect(
        "node node_modules/tool/check.js",
        "src/target/mod.rs Parts
         pkg/venv/test_a.py Frozen
         target/debug/conftest.py -
         node_modules/own/a.js Frozen
         node_modules/tool/check.js Frozen
         node_modules/other/conftest.py Packages",
    );
}
