use std::fs;

use ralph_workspace::Placement;

use crate::support::Fixture;

const IGNORE: &str = "local/\n*.log\nnode_modules/\n.venv/\ntarget/\n__pycache__/\n";

fn project() -> Fixture {
    Fixture::repository(&[(".gitignore", IGNORE), ("src/lib.rs", "a"), ("src/deep/more.rs", "b")])
}

/// The digest after a new look at the workspace, as after checks.
fn digest(workspace: &mut ralph_workspace::Workspace) -> String {
    workspace.scan_tree().unwrap();
    workspace.untracked_digest().unwrap()
}

#[test]
fn only_what_is_neither_tree_nor_by_product_counts() {
    let fixture = project();
    let mut workspace = fixture.open();
    let start = digest(&mut workspace);
    fixture.write("src/lib.rs", "other");
    fixture.write("src/deep/new.rs", "");
    fixture.write("target/debug/app", "");
    fixture.write("src/__pycache__/lib.pyc", "");
    assert_eq!(digest(&mut workspace), start);
    fixture.write("local/settings.py", "x");
    let with_settings = digest(&mut workspace);
    assert_ne!(with_settings, start);
    fixture.write("local/settings.py", "longer");
    let with_longer = digest(&mut workspace);
    assert_ne!(with_longer, with_settings);
    assert_eq!(digest(&mut fixture.open()), with_longer, "another process sees the same");
}

#[test]
fn an_ignored_file_in_a_folder_of_the_tree_counts() {
    let fixture = project();
    let mut workspace = fixture.open();
    let start = digest(&mut workspace);
    fixture.write("src/deep/notes.log", "x");
    let with_notes = digest(&mut workspace);
    assert_ne!(with_notes, start);
    // Neither the names of a folder nor its times change with the content of a file.
    fixture.write("src/deep/notes.log", "longer");
    let with_longer = digest(&mut workspace);
    assert_ne!(with_longer, with_notes);
    fs::remove_file(fixture.path("src/deep/notes.log")).unwrap();
    assert_eq!(digest(&mut workspace), start);
    fixture.write(".gitignore", format!("{IGNORE}more.rs\nlib.rs\n"));
    assert_eq!(digest(&mut workspace), start, "what is tracked belongs to the tree, whatever is ignored");
}

#[test]
fn installed_packages_count_by_name() {
    let fixture = project();
    let mut workspace = fixture.open();
    fixture.write("node_modules/left-pad/index.js", "");
    fixture.write(".venv/lib/python3.11/site-packages/six.py", "");
    let before = digest(&mut workspace);
    fixture.write("node_modules/left-pad/index.js", "changed");
    assert_eq!(digest(&mut workspace), before);
    fixture.write(".venv/lib/python3.11/site-packages/attrs.py", "");
    let with_attrs = digest(&mut workspace);
    assert_ne!(with_attrs, before);
    fixture.write("node_modules/right-pad/index.js", "");
    assert_ne!(digest(&mut workspace), with_attrs);
}

#[test]
fn it_is_about_the_files_of_the_workspace_and_not_about_swapped_ones() {
    let fixture = project();
    let mut workspace = fixture.open();
    fixture.write("src/conftest.log", "of the agent");
    let before = digest(&mut workspace);
    let record = fixture.state.join("swap");
    workspace.swap_in(&[("src/conftest.log".to_owned(), Placement::Absent)], &record).unwrap();
    let swapped = digest(&mut workspace);
    assert_ne!(swapped, before);
    workspace.swap_out(&record, ralph_workspace::Since::Check).unwrap();
    let after = workspace.untracked_digest().unwrap();
    assert_ne!(after, swapped);
    assert_eq!(digest(&mut workspace), after);
}

#[test]
fn the_state_of_ralph_does_not_count() {
    let mut fixture = project();
    fixture.state = fixture.root.join("state");
    let mut workspace = fixture.open();
    let before = digest(&mut workspace);
    fixture.write("state/git/objects/some", "x");
    assert_eq!(digest(&mut workspace), before);
}
