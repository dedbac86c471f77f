use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use ralph_model::ChangeKind::{Added, Deleted, Mode, Modified};
use ralph_workspace::Error;

use crate::support::{Fixture, assert_sound, changed, id, names, own_git, run_git};

#[test]
fn a_snapshot_is_a_commit_that_plain_git_can_read() {
    let fixture = Fixture::new();
    fixture.write("src/main.rs", "fn main() {}\n");
    fixture.write("run.sh", "#!/bin/sh\n");
    fixture.chmod("run.sh", 0o755);
    fixture.link("run.sh", "link");
    let mut workspace = fixture.open();
    let snapshot = workspace.snapshot(id(), "1/before").unwrap();
    assert_sound(&workspace);
    let reference = format!("refs/ralph/{}/1/before", id());
    assert_eq!(own_git(&workspace, &["rev-parse", &reference]), snapshot.commit);
    assert_eq!(own_git(&workspace, &["rev-parse", &format!("{reference}^{{tree}}")]), snapshot.tree.0);
    let listed = own_git(&workspace, &["ls-tree", "-r", "--format=%(objectmode) %(path)", &snapshot.tree.0]);
    assert_eq!(listed, "120000 link\n100755 run.sh\n100644 src/main.rs");
    assert_eq!(workspace.file_at(&snapshot.tree, "src/main.rs").unwrap().unwrap(), b"fn main() {}\n");
    assert_eq!(workspace.file_at(&snapshot.tree, "link").unwrap().unwrap(), b"run.sh");
    for missing in ["src", "src/other.rs", "run.sh/x", ""] {
        assert_eq!(workspace.file_at(&snapshot.tree, missing).unwrap(), None, "{missing}");
    }
}

#[test]
fn an_unchanged_workspace_gives_the_same_tree_and_commit() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    let mut workspace = fixture.open();
    let first = workspace.snapshot(id(), "one").unwrap();
    let second = workspace.snapshot(id(), "two").unwrap();
    assert_eq!(first, second);
    let labels: Vec<String> = workspace.refs(id()).unwrap().into_iter().map(|found| found.label).collect();
    assert_eq!(labels, ["one", "two"]);
}

#[test]
fn every_kind_of_change_is_seen_and_named() {
    let fixture = Fixture::new();
    for name in ["edited", "removed", "mode", "d/kept", "d.x", "d-x", "file-to-folder", "folder-to-file/x", "to-link"] {
        fixture.write(name, name);
    }
    let mut workspace = fixture.open();
    let before = workspace.snapshot(id(), "before").unwrap().tree;
    fixture.write("edited", "other!");
    fs::remove_file(fixture.path("removed")).unwrap();
    fixture.chmod("mode", 0o755);
    fixture.write("d/e/new", "new");
    fs::remove_file(fixture.path("file-to-folder")).unwrap();
    fixture.write("file-to-folder/y", "y");
    fs::remove_dir_all(fixture.path("folder-to-file")).unwrap();
    fixture.write("folder-to-file", "x");
    fs::remove_file(fixture.path("to-link")).unwrap();
    fixture.link("edited", "to-link");
    let after = workspace.snapshot(id(), "after").unwrap().tree;
    let expected = [
        changed("d/e/new", Added),
        changed("edited", Modified),
        changed("file-to-folder", Deleted),
        changed("file-to-folder/y", Added),
        changed("folder-to-file", Added),
        changed("folder-to-file/x", Deleted),
        changed("mode", Mode),
        changed("removed", Deleted),
        changed("to-link", Modified),
    ];
    assert_eq!(workspace.changes(&before, &after).unwrap(), expected);
    assert_eq!(workspace.changes(&after, &after).unwrap(), []);
    // What was seen last is listed from memory, everything else from the objects.
    for tree in [&before, &after] {
        let listed = own_git(&workspace, &["ls-tree", "-r", "--name-only", &tree.0]);
        assert_eq!(workspace.list(tree).unwrap().join("\n"), listed);
    }
    assert_sound(&workspace);
}

#[test]
fn an_edit_that_keeps_size_and_modification_time_is_seen() {
    let fixture = Fixture::new();
    fixture.write("a", "1111");
    let mut workspace = fixture.open();
    let before = workspace.snapshot(id(), "before").unwrap().tree;
    let time = fs::metadata(fixture.path("a")).unwrap().modified().unwrap();
    for content in ["2222", "3333", "4444"] {
        fixture.write("a", content);
        fs::File::options().write(true).open(fixture.path("a")).unwrap().set_modified(time).unwrap();
        let after = workspace.snapshot(id(), "after").unwrap().tree;
        assert_eq!(workspace.file_at(&after, "a").unwrap().unwrap(), content.as_bytes());
        assert_ne!(before, after);
    }
}

#[test]
fn the_next_process_knows_what_the_last_one_saw() {
    let fixture = Fixture::new();
    for number in 0..200 {
        fixture.write(format!("d{}/f{number}", number % 7), number.to_string());
    }
    let first = fixture.open().snapshot(id(), "a").unwrap();
    fixture.write("d1/f1", "changed while nobody looked");
    let mut workspace = fixture.open();
    let second = workspace.snapshot(id(), "b").unwrap();
    assert_eq!(workspace.changes(&first.tree, &second.tree).unwrap(), [changed("d1/f1", Modified)]);
    fs::write(fixture.state.join("git/ralph-scan"), "nonsense").unwrap();
    drop(workspace);
    fs::write(fixture.state.join("git/ralph-scan"), "nonsense").unwrap();
    assert_eq!(fixture.open().snapshot(id(), "c").unwrap().tree, second.tree);
}

#[test]
fn many_new_files_become_one_pack_and_stay_readable() {
    let fixture = Fixture::new();
    for number in 0..500 {
        fixture.write(format!("d{}/f{number}", number % 20), format!("content {number}\n").repeat(number % 50));
    }
    let mut workspace = fixture.open();
    let tree = workspace.snapshot(id(), "a").unwrap().tree;
    assert_sound(&workspace);
    let packs = fs::read_dir(workspace.git_dir().join("objects/pack")).unwrap().count();
    let loose: u32 = own_git(&workspace, &["count-objects"]).split(' ').next().unwrap().parse().unwrap();
    assert!(packs == 2 && loose < 10, "{packs} {loose}");
    for number in [0, 1, 77, 499] {
        let expected = format!("content {number}\n").repeat(number % 50).into_bytes();
        assert_eq!(workspace.file_at(&tree, &format!("d{}/f{number}", number % 20)).unwrap().unwrap(), expected);
    }
}

#[test]
fn objects_that_git_repacked_as_deltas_are_still_read() {
    let fixture = Fixture::new();
    let mut text: String = (0..2000).map(|line| format!("line {line}\n")).collect();
    fixture.write("big", &text);
    let mut workspace = fixture.open();
    let first = workspace.snapshot(id(), "a").unwrap().tree;
    let before = text.clone();
    text.push_str("one more\n");
    fixture.write("big", &text);
    let second = workspace.snapshot(id(), "b").unwrap().tree;
    own_git(&workspace, &["repack", "-q", "-a", "-d", "-f"]);
    let workspace = fixture.open();
    assert_eq!(workspace.file_at(&first, "big").unwrap().unwrap(), before.as_bytes());
    assert_eq!(workspace.file_at(&second, "big").unwrap().unwrap(), text.as_bytes());
}

#[test]
fn a_large_file_is_streamed_and_equal_to_what_git_would_store() {
    let fixture = Fixture::new();
    let content: Vec<u8> =
        (0..(33 << 20) as u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fixture.write("large", &content);
    let mut workspace = fixture.open();
    let tree = workspace.snapshot(id(), "a").unwrap().tree;
    let expected = run_git(&fixture.root, &["hash-object", "--no-filters", "large"]);
    assert_eq!(own_git(&workspace, &["rev-parse", &format!("{tree}:large")]), expected);
    assert_eq!(workspace.file_at(&tree, "large").unwrap().unwrap(), content);
}

#[test]
fn names_of_every_kind_survive() {
    let fixture = Fixture::new();
    let odd: [&[u8]; 7] =
        [b"a b", b"new\nline", "grüße".as_bytes(), b"\xff\xfe", b"quote\"\\", b"-dash", b"tab\t/in\x01ner"];
    for name in odd {
        fixture.write(OsStr::from_bytes(name), name);
    }
    let mut workspace = fixture.open();
    let empty = ralph_model::TreeHash("4b825dc642cb6eb9a060e54bf8d69288fbee4904".into());
    let tree = workspace.snapshot(id(), "a").unwrap().tree;
    assert_sound(&workspace);
    let changes = workspace.changes(&empty, &tree).unwrap();
    assert_eq!(changes.len(), odd.len());
    let mut contents: Vec<Vec<u8>> =
        changes.iter().map(|change| workspace.file_at(&tree, &change.path).unwrap().unwrap()).collect();
    contents.sort();
    let mut expected: Vec<Vec<u8>> = odd.iter().map(|name| name.to_vec()).collect();
    expected.sort();
    assert_eq!(contents, expected);
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    assert!(
        paths.contains(&"grüße") && paths.contains(&r#""\377\376""#) && paths.contains(&r#""new\nline""#),
        "{paths:?}"
    );
}

#[test]
fn links_are_recorded_and_never_followed_even_in_circles() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.folder.path().join("outside")).unwrap();
    fs::write(fixture.folder.path().join("outside/secret"), "x").unwrap();
    fixture.link(fixture.folder.path().join("outside"), "out");
    fixture.link("b", "a");
    fixture.link("a", "b");
    fixture.link("..", "d/up");
    fixture.link("nowhere", "dangling");
    let mut workspace = fixture.open();
    let tree = workspace.snapshot(id(), "a").unwrap().tree;
    assert_eq!(names(&workspace, &tree), ["a", "b", "d/up", "dangling", "out"]);
}

#[test]
fn pipes_sockets_and_empty_folders_are_no_part_of_a_tree() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    fs::create_dir_all(fixture.path("empty/er")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("socket")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(fixture.path("pipe")).status().unwrap();
    assert!(made.success());
    let mut workspace = fixture.open();
    let tree = workspace.snapshot(id(), "a").unwrap().tree;
    assert_eq!(names(&workspace, &tree), ["a"]);
    fs::remove_file(fixture.path("a")).unwrap();
    assert_eq!(workspace.snapshot(id(), "b").unwrap().tree.0, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    assert_sound(&workspace);
}

#[test]
fn files_that_come_and_go_during_the_scan_are_no_error() {
    let fixture = Fixture::new();
    for number in 0..300 {
        fixture.write(format!("d{}/f{number}", number % 10), "x");
    }
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let path = fixture.path(&format!("d{}/f{}", number % 10, number % 300));
                let _ = fs::remove_file(&path);
                let _ = fs::create_dir(&path);
                let _ = fs::remove_dir(&path);
                let _ = fs::write(&path, number.to_string());
                number += 1;
            }
        });
        let mut workspace = fixture.open();
        let found: Result<Vec<_>, _> = (0..30).map(|_| workspace.snapshot(id(), "busy")).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        found.unwrap();
    });
    let mut workspace = fixture.open();
    let quiet = workspace.snapshot(id(), "quiet").unwrap().tree;
    assert_eq!(names(&workspace, &quiet).len(), 300);
    assert_sound(&workspace);
}

#[test]
fn a_diff_applies_with_git_and_is_binary_safe() {
    let fixture = Fixture::new();
    fixture.write("text", "one\ntwo\n");
    fixture.write("gone", "x\n");
    let mut workspace = fixture.open();
    let before = workspace.snapshot(id(), "a").unwrap().tree;
    fixture.write("text", "one\nthree\n");
    fixture.write("binary", [0u8, 255, 1, 2, 0]);
    fixture.write(OsStr::from_bytes(b"n\xffme\n"), "odd\n");
    fs::remove_file(fixture.path("gone")).unwrap();
    fixture.chmod("text", 0o755);
    let after = workspace.snapshot(id(), "b").unwrap().tree;
    let patch = workspace.diff(&before, &after).unwrap();
    let other = Fixture::new();
    other.write("text", "one\ntwo\n");
    other.write("gone", "x\n");
    let file = other.folder.path().join("patch");
    fs::write(&file, patch).unwrap();
    other.git(&["apply", file.to_str().unwrap()]);
    assert_eq!(other.open().snapshot(id(), "x").unwrap().tree, after);
}

#[test]
fn labels_and_hashes_that_make_no_sense_are_refused() {
    let fixture = Fixture::new();
    let mut workspace = fixture.open();
    for label in ["", "..", "a/../b", "a b", "/a", "a/", ".hidden", "x.lock", "a\nb", "-x"] {
        assert!(matches!(workspace.snapshot(id(), label), Err(Error::Label(_))), "{label}");
    }
    let tree = ralph_model::TreeHash("main".into());
    assert!(matches!(workspace.changes(&tree, &tree), Err(Error::NotAnId(_))));
    let missing = ralph_model::TreeHash("1".repeat(40));
    assert!(workspace.restore(&missing).unwrap_err().to_string().contains("missing or broken"));
}

#[test]
fn the_state_is_private_and_may_lie_in_the_workspace() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    let mut options = fixture.options();
    options.state = fixture.path("tool/state");
    let mut workspace = ralph_workspace::Workspace::open(options).unwrap();
    let first = workspace.snapshot(id(), "a").unwrap();
    assert_eq!(workspace.snapshot(id(), "b").unwrap().tree, first.tree);
    assert_eq!(names(&workspace, &first.tree), ["a"]);
    let mode = |path: &str| fs::metadata(fixture.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("tool/state"), mode("tool/state/git")), (0o700, 0o700));
}

#[test]
fn a_full_disk_is_an_error_and_the_next_snapshot_is_whole() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    let mut workspace = fixture.open();
    workspace.snapshot(id(), "a").unwrap();
    fixture.write("b/c", "2");
    // No object can be stored: neither the folder of the content's id nor that of any other can be made.
    let objects = workspace.git_dir().join("objects");
    let aside = workspace.git_dir().join("aside");
    fs::rename(&objects, &aside).unwrap();
    assert!(workspace.snapshot(id(), "b").is_err());
    fs::rename(&aside, &objects).unwrap();
    let tree = workspace.snapshot(id(), "c").unwrap().tree;
    assert_eq!(names(&workspace, &tree), ["a", "b/c"]);
    assert_sound(&workspace);
}

#[test]
fn a_pipe_in_place_of_a_file_of_the_repository_blocks_nothing() {
    let fixture = Fixture::repository(&[("a", "1")]);
    for path in [".git/info/exclude", "pipe/.git", "pipe/.gitignore"] {
        let path = fixture.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }
    let mut workspace = fixture.open();
    let tree = workspace.snapshot(id(), "a").unwrap().tree;
    assert_eq!(names(&workspace, &tree), ["a"]);
    let mut options = fixture.options();
    options.root = fixture.path("pipe");
    ralph_workspace::Workspace::open(options).unwrap();
}

#[test]
fn handles_can_move_between_threads() {
    fn movable<T: Send>() {}
    movable::<ralph_workspace::Workspace>();
    movable::<ralph_workspace::Baseline>();
    movable::<ralph_workspace::Guard>();
    movable::<ralph_workspace::Lock>();
    movable::<ralph_workspace::Repository>();
}

#[test]
fn a_recent_look_counts_until_files_are_swapped() {
    let fixture = Fixture::repository(&[("a.txt", "a"), ("b.txt", "b")]);
    let mut workspace = fixture.open();
    let hour = std::time::Duration::from_secs(3600);
    let first = workspace.snapshot_recent(id(), "one", hour).unwrap().tree;
    fixture.write("a.txt", "another");
    assert_eq!(workspace.snapshot_recent(id(), "two", hour).unwrap().tree, first);
    let second = workspace.snapshot_recent(id(), "three", std::time::Duration::ZERO).unwrap().tree;
    assert_ne!(second, first, "one that is too old does not");
    let record = fixture.state.join("swap");
    let entries = [("b.txt".to_owned(), ralph_workspace::Placement::Absent)];
    workspace.swap_in(&entries, &record).unwrap();
    assert_ne!(workspace.snapshot_recent(id(), "four", hour).unwrap().tree, second);
    workspace.swap_out(&record, ralph_workspace::Since::Check).unwrap();
    assert_eq!(workspace.snapshot_recent(id(), "five", hour).unwrap().tree, second);
}
