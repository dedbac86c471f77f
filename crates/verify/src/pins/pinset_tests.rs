use ralph_model::{Pin, PinKind};

use super::*;

fn globs(globs: &[&str]) -> Vec<String> {
    globs.iter().map(|glob| (*glob).to_owned()).collect()
}

#[test]
fn globs_are_read_like_a_gitignore() {
    for (lines, path, covered) in [
        (&["tests/**"][..], "tests/a.py", true),
        (&["tests/**"], "src/tests/a.py", false),
        (&["tests/"], "src/tests/deep/a.py", true),
        (&["*.snap"], "a/b.snap", true),
        (&["/a.py"], "b/a.py", false),
        (&["tests/", "!tests/keep.py"], "tests/keep.py", false),
        (&["tests/", "!tests/keep.py"], "tests/other.py", true),
        (&["!tests/keep.py", "tests/"], "tests/keep.py", false),
        (&["[", "*.py"], "a.py", true),
        (&[], "a.py", false),
    ] {
        assert_eq!(allows(&globs(lines), path), covered, "{lines:?} {path}");
    }
}

#[test]
fn the_last_pin_that_matches_counts() {
    let pin = |glob: &str, kind| Pin { glob: glob.to_owned(), kind, why: String::new() };
    let set = PinSet::new(&[
        pin("tests/", PinKind::Frozen),
        pin("!**/node_modules/**", PinKind::Frozen),
        pin("conftest.py", PinKind::Steering),
        pin("/node_modules/jest/**", PinKind::Installed),
    ]);
    let kind = |path: &str| set.pin(path).map(|pin| pin.kind);
    assert_eq!(kind("tests/a.py"), Some(PinKind::Frozen));
    assert_eq!(kind("./tests/a.py"), Some(PinKind::Frozen));
    assert_eq!(kind("tests/conftest.py"), Some(PinKind::Steering));
    assert_eq!(kind("node_modules/a/tests/b.js"), None);
    assert_eq!(kind("node_modules/jest/tests/b.js"), Some(PinKind::Installed));
    assert_eq!(kind("src/a.py"), None);
    let twice = PinSet::new(&[pin("a ", PinKind::Frozen), pin("[", PinKind::Frozen), pin("a", PinKind::Steering)]);
    assert_eq!(twice.pin("a").map(|pin| pin.kind), Some(PinKind::Steering));
}
