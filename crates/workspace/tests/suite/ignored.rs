use std::fs;

use crate::support::{Fixture, id, names};

#[test]
fn ignore_files_count_at_every_level_with_and_without_git() {
    for fixture in [Fixture::new(), Fixture::repository(&[])] {
        fixture.write(".gitignore", "*.log\nbuild/\n!keep.log\n");
        fixture.write("a.log", "");
        fixture.write("keep.log", "");
        fixture.write("build/out", "");
        fixture.write("sub/.gitignore", "/local\n!b.log\n");
        fixture.write("sub/local", "");
        fixture.write("sub/b.log", "");
        fixture.write("sub/deep/local", "");
        fixture.write(".ralph/LEDGER.md", "");
        fixture.write("sub/.ralph/x", "");
        let mut workspace = fixture.open();
        let tree = workspace.snapshot(id(), "a").unwrap().tree;
        let expected = [".gitignore", "keep.log", "sub/.gitignore", "sub/.ralph/x", "sub/b.log", "sub/deep/local"];
        assert_eq!(names(&workspace, &tree), expected);
    }
}

#[test]
fn the_same_files_as_git_would_add() {
    let fixture = Fixture::repository(&[]);
    let rules = [
        "*.o",
        "/top",
        "doc/*.txt",
        "**/cache",
        "a/**/z",
        "[xy].c",
        "trail ",
        "!keep.o",
        "only/",
        "\\#hash",
        "foo/bar",
    ];
    fixture.write(".gitignore", rules.join("\n"));
    for path in [
        "m.o",
        "keep.o",
        "top",
        "s/top",
        "doc/a.txt",
        "doc/sub/b.txt",
        "cache/f",
        "s/cache/g",
        "a/z",
        "a/b/c/z",
        "x.c",
        "z.c",
        "trail",
        "only/f",
        "s/only",
        "#hash",
        "foo/bar/baz",
        "q/foo/bar",
        "S.O",
    ] {
        fixture.write(path, path);
    }
    let mut workspace = fixture.open();
    let tree = workspace.snapshot(id(), "a").unwrap().tree;
    fixture.git(&["add", "-A"]);
    assert_eq!(tree.0, fixture.git(&["write-tree"]));
}

#[test]
fn excludes_of_the_repository_and_of_the_user_count() {
    let fixture = Fixture::repository(&[("kept", "")]);
    fs::write(fixture.path(".git/info/exclude"), "private\n").unwrap();
    let global = fixture.folder.path().join("global");
    fs::write(&global, "*.swp\n").unwrap();
    fixture.write("private", "");
    fixture.write("x.swp", "");
    let mut options = fixture.options();
    options.global_excludes = Some(global);
    let mut workspace = ralph_workspace::Workspace::open(options).unwrap();
    let before = workspace.snapshot(id(), "a").unwrap().tree;
    assert_eq!(names(&workspace, &before), ["kept"]);
    // Neither hiding by editing nor uncovering by deleting works while the workspace is open.
    fs::write(fixture.path(".git/info/exclude"), "new\n").unwrap();
    fixture.write("new", "");
    let after = workspace.snapshot(id(), "b").unwrap().tree;
    assert_eq!(names(&workspace, &after), ["kept", "new"]);
}

#[test]
fn a_workspace_below_the_top_of_a_repository_obeys_the_rules_above() {
    let fixture = Fixture::repository(&[
        (".gitignore", "*.log\n/pkg/a/dist\n"),
        ("pkg/.gitignore", "a/tmp\n"),
        ("pkg/a/x.log", "t"),
    ]);
    for path in ["pkg/a/dist/f", "pkg/a/tmp", "pkg/a/y.log", "pkg/a/src", "pkg/a/sub/dist"] {
        fixture.write(path, "");
    }
    let mut options = fixture.options();
    options.root = fixture.path("pkg/a");
    let mut workspace = ralph_workspace::Workspace::open(options).unwrap();
    let tree = workspace.snapshot(id(), "a").unwrap().tree;
    // `x.log` is ignored and tracked.
    assert_eq!(names(&workspace, &tree), ["src", "sub/dist", "x.log"]);
}

#[test]
fn tracked_stays_tracked() {
    let fixture = Fixture::repository(&[
        (".gitignore", "secret\nvendor/\n"),
        ("secret", "1"),
        ("vendor/lib/a", "1"),
        ("plain", "1"),
    ]);
    fixture.write("vendor/lib/untracked", "");
    fixture.write("loose", "1");
    let mut workspace = fixture.open();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    let expected = [".gitignore", "loose", "plain", "secret", "vendor/lib/a"];
    assert_eq!(names(&workspace, &start), expected);
    workspace.set_start(&start).unwrap();
    // The agent hides what it is about to change, and drops it from the index.
    fixture.write(".gitignore", "*\n");
    fixture.git(&["rm", "-q", "--cached", "plain"]);
    fixture.write("loose", "2");
    fixture.write("plain", "2");
    fixture.write("new", "hidden");
    let after = workspace.snapshot(id(), "after").unwrap().tree;
    assert_eq!(names(&workspace, &after), expected);
    let changed: Vec<String> =
        workspace.changes(&start, &after).unwrap().into_iter().map(|change| change.path).collect();
    assert_eq!(changed, [".gitignore", "loose", "plain"]);
    // After a resume the start is told again.
    drop(workspace);
    let mut workspace = fixture.open();
    workspace.set_start(&start).unwrap();
    assert_eq!(workspace.snapshot(id(), "resumed").unwrap().tree, after);
}

#[test]
fn a_changed_rule_is_obeyed_at_once_and_taken_back_at_once() {
    let fixture = Fixture::new();
    fixture.write("d/e/a.tmp", "");
    fixture.write("d/e/b", "");
    let mut workspace = fixture.open();
    let all = workspace.snapshot(id(), "1").unwrap().tree;
    fixture.write("d/.gitignore", "*.tmp\n");
    let fewer = workspace.snapshot(id(), "2").unwrap().tree;
    assert_eq!(names(&workspace, &fewer), ["d/.gitignore", "d/e/b"]);
    fixture.write("d/.gitignore", "#.tmp\n");
    let more = workspace.snapshot(id(), "3").unwrap().tree;
    assert_eq!(names(&workspace, &more), ["d/.gitignore", "d/e/a.tmp", "d/e/b"]);
    fs::remove_file(fixture.path("d/.gitignore")).unwrap();
    assert_eq!(workspace.snapshot(id(), "4").unwrap().tree, all);
}

/// What an earlier process found in the index and in the start is used as long as both are the same.
#[test]
fn what_is_tracked_is_remembered_until_the_index_changes() {
    let fixture = Fixture::repository(&[(".gitignore", "*.log\n"), ("a.log", "1"), ("plain", "1")]);
    fixture.write("b.log", "ignored");
    let start = fixture.open().snapshot(id(), "start").unwrap().tree;
    let look = || {
        // Longer than the clock of a file system may lag behind: an index that just changed is not remembered.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut workspace = fixture.open();
        workspace.set_start(&start).unwrap();
        let tree = workspace.snapshot(id(), "now").unwrap().tree;
        names(&workspace, &tree)
    };
    for _ in 0..2 {
        assert_eq!(look(), [".gitignore", "a.log", "plain"]);
    }
    let state = fixture.open().git_dir().to_owned();
    assert!(state.join("ralph-index").is_file() && state.join("ralph-start").is_file());
    fixture.git(&["add", "-f", "b.log"]);
    assert_eq!(look(), [".gitignore", "a.log", "b.log", "plain"]);
    // Lists that are broken are made again.
    for name in ["ralph-index", "ralph-start"] {
        std::fs::write(state.join(name), "x").unwrap();
    }
    assert_eq!(look(), [".gitignore", "a.log", "b.log", "plain"]);
}

#[test]
fn the_next_process_asks_again_what_belongs_to_the_tree_where_that_is_decided_otherwise() {
    let fixture = Fixture::repository(&[("a/b", "1"), (".gitignore", "*.log\n")]);
    fixture.write("a/x.log", "1");
    let seen = || {
        // What was just changed would be looked at in any case.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut workspace = fixture.open();
        let tree = workspace.snapshot(id(), "seen").unwrap().tree;
        names(&workspace, &tree)
    };
    assert_eq!(seen(), [".gitignore", "a/b"]);
    assert_eq!(seen(), [".gitignore", "a/b"]);
    fixture.write(".git/info/exclude", "b\n");
    fixture.git(&["add", "-f", "a/x.log"]);
    assert_eq!(seen(), [".gitignore", "a/b", "a/x.log"], "both are tracked");
    fixture.git(&["rm", "-q", "--cached", "a/b", "a/x.log"]);
    assert_eq!(seen(), [".gitignore"]);
    fixture.write(".git/info/exclude", "");
    assert_eq!(seen(), [".gitignore", "a/b"]);
    fixture.write(".gitignore", "");
    assert_eq!(seen(), [".gitignore", "a/b", "a/x.log"]);
}
