use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    for (name, mode) in [("cargo", 0o755), ("npm", 0o755), ("notes", 0o644)] {
        let path = folder.path().join("bin").join(name);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    folder
}

#[test]
fn only_a_plain_word_that_is_nowhere_is_missing() {
    let folder = folder();
    let path = format!("/nowhere/at/all:{}", folder.path().join("bin").display());
    for command in [
        "cargo test",
        "  npm test",
        "cd sub && cargo test",
        "[ -f x ]",
        "./run.sh",
        "bin/x",
        "CI=1 crago test",
        "$RUNNER test",
        "(crago test)",
        "crago;",
        "\"crago\" test",
        "if true; then crago; fi",
        "! crago",
        "",
        "   ",
        ". ./env",
        "export A=1",
        "~/x",
        "crago>log",
    ] {
        assert_eq!(first_word_missing(command, &path, folder.path()), None, "{command}");
    }
    let missing = first_word_missing("crago test", &path, folder.path()).unwrap();
    assert_eq!(missing.to_string(), "`crago` was not found on PATH; did you mean `cargo`?");
    let missing = first_word_missing("pytest -q", &path, folder.path()).unwrap();
    assert_eq!(missing.to_string(), "`pytest` was not found on PATH; install it or give its path");
    assert!(
        first_word_missing("notes", &path, folder.path()).is_some(),
        "a file that cannot be executed is no program"
    );
}

#[test]
fn a_relative_folder_on_the_path_starts_at_the_directory() {
    let folder = folder();
    assert_eq!(first_word_missing("cargo test", "bin", folder.path()), None);
    assert!(first_word_missing("cargo test", "bin", Path::new("/nowhere")).is_some());
    assert_eq!(first_word_missing("cargo test", "", folder.path()), None);
}

#[test]
fn one_slip_is_one_letter() {
    for (one, other, wanted) in [
        ("crago", "cargo", true),
        ("carg", "cargo", true),
        ("carggo", "cargo", true),
        ("cergo", "cargo", true),
        ("argo", "cargo", true),
        ("cargo", "cargo", false),
        ("crgao", "cargo", false),
        ("go", "cargo", false),
    ] {
        assert_eq!(is_one_slip(one, other), wanted, "{one} {other}");
    }
}
