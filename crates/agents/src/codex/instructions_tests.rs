use std::fs;
use std::os::unix::fs::symlink;

use super::*;

#[test]
fn instructions_come_from_the_root_of_the_repository_down() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("repository/a/b");
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir(root.path().join("repository/.git")).unwrap();
    fs::write(root.path().join("AGENTS.md"), "outside").unwrap();
    fs::write(root.path().join("repository/AGENTS.md"), "first\n").unwrap();
    fs::write(inner.join("AGENTS.md"), "not this").unwrap();
    fs::write(inner.join("AGENTS.override.md"), "second").unwrap();
    let text = of(&inner).unwrap();
    assert!(text.contains("<INSTRUCTIONS>\nfirst\n\nsecond\n</INSTRUCTIONS>"), "{text}");
}

#[test]
fn a_folder_without_a_repository_has_its_own_alone() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("a");
    fs::create_dir(&inner).unwrap();
    fs::write(root.path().join("AGENTS.md"), "outside").unwrap();
    assert_eq!(of(&inner), None);
    fs::write(inner.join("AGENTS.md"), " \n").unwrap();
    assert_eq!(of(&inner), None, "nothing in it");
}

#[test]
fn links_are_followed_inside_the_project_only() {
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("project");
    fs::create_dir(&project).unwrap();
    fs::write(root.path().join("key"), "secret").unwrap();
    fs::write(project.join("CLAUDE.md"), "shared").unwrap();
    symlink(root.path().join("key"), project.join("AGENTS.override.md")).unwrap();
    symlink("CLAUDE.md", project.join("AGENTS.md")).unwrap();
    let text = of(&project).unwrap();
    assert!(text.contains("shared") && !text.contains("secret"), "{text}");
}

#[test]
fn a_long_file_is_cut_at_a_character() {
    let project = tempfile::tempdir().unwrap();
    fs::write(project.path().join("AGENTS.md"), "ü".repeat(MAX)).unwrap();
    let text = of(project.path()).unwrap();
    assert!(text.len() < MAX + 500);
}
