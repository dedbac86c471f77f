use std::fs;

use ralph_model::ChangeKind::{Added, Deleted, Mode, Modified};
use ralph_workspace::{Error, Guard};

use crate::support::{Fixture, changed, id};

#[test]
fn every_change_is_undone_and_named() {
    let fixture = Fixture::new();
    fixture.write("edited", "1");
    fixture.write("removed/deep/file", "2");
    fixture.write("tool", "3");
    fixture.chmod("tool", 0o755);
    fixture.write("plain", "4");
    fixture.write("was-file", "5");
    fixture.write("was-folder/x", "6");
    fixture.link("plain", "link");
    fixture.write("was-file-2", "7");
    let mut workspace = fixture.open();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    fixture.write("edited", "changed");
    fs::remove_dir_all(fixture.path("removed")).unwrap();
    fixture.chmod("tool", 0o644);
    fixture.chmod("plain", 0o755);
    fs::remove_file(fixture.path("was-file")).unwrap();
    fixture.write("was-file/sub/y", "y");
    fs::remove_dir_all(fixture.path("was-folder")).unwrap();
    fixture.write("was-folder", "z");
    fs::remove_file(fixture.path("link")).unwrap();
    fixture.write("link", "no link any more");
    fs::remove_file(fixture.path("was-file-2")).unwrap();
    fixture.link("plain", "was-file-2");
    fixture.write("new/folder/file", "n");
    let done = workspace.restore(&start).unwrap();
    let expected = [
        changed("edited", Modified),
        changed("link", Modified),
        changed("new/folder/file", Deleted),
        changed("plain", Mode),
        changed("removed/deep/file", Added),
        changed("tool", Mode),
        changed("was-file", Added),
        changed("was-file-2", Modified),
        changed("was-file/sub/y", Deleted),
        changed("was-folder", Deleted),
        changed("was-folder/x", Added),
    ];
    assert_eq!(done, expected);
    assert_eq!(workspace.snapshot(id(), "back").unwrap().tree, start);
    assert!(!fixture.path("new").exists());
    assert_eq!(workspace.restore(&start).unwrap(), []);
    assert_eq!((fixture.mode("tool"), fixture.mode("plain") & 0o111), (0o755, 0));
}

#[test]
fn ignored_files_are_never_touched() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "ignored\n*.cache\n");
    fixture.write("d/a", "1");
    let mut workspace = fixture.open();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    fixture.write("ignored", "precious");
    fixture.write("new/x.cache", "precious");
    fixture.write("new/y", "made by the agent");
    // In the way of a folder that must come back.
    fs::remove_dir_all(fixture.path("d")).unwrap();
    fixture.write(".gitignore", "ignored\n*.cache\nd\n");
    fixture.write("d", "in the way");
    workspace.restore(&start).unwrap();
    assert_eq!(fixture.read("ignored"), "precious");
    assert_eq!(fixture.read("new/x.cache"), "precious");
    assert!(!fixture.path("new/y").exists());
    assert_eq!(fixture.read("d/a"), "1");
    assert_eq!(fixture.read(".ralph/kept/d.1"), "in the way");
    assert_eq!(workspace.snapshot(id(), "back").unwrap().tree, start);
}

#[test]
fn a_link_planted_by_the_agent_leads_nowhere() {
    let fixture = Fixture::new();
    let outside = fixture.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a"), "untouched").unwrap();
    fixture.write("d/a", "1");
    fixture.write("f", "2");
    let mut workspace = fixture.open();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    fs::remove_dir_all(fixture.path("d")).unwrap();
    fixture.link(&outside, "d");
    fs::remove_file(fixture.path("f")).unwrap();
    fixture.link(outside.join("a"), "f");
    fixture.link(&outside, ".ralph");
    workspace.restore(&start).unwrap();
    assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "untouched");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(workspace.snapshot(id(), "back").unwrap().tree, start);
    assert!(fixture.path("d").symlink_metadata().unwrap().is_dir());
}

#[test]
fn files_that_became_ignored_are_saved_before_they_are_put_back() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    let mut workspace = fixture.open();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    fixture.write(".gitignore", "a\n");
    fixture.write("a", "2");
    let done = workspace.restore(&start).unwrap();
    assert_eq!(done, [changed(".gitignore", Deleted), changed("a", Modified)]);
    assert_eq!(fixture.read("a"), "1");
}

#[test]
fn permissions_other_than_the_execute_bit_are_kept() {
    let fixture = Fixture::new();
    fixture.write("private", "1");
    fixture.chmod("private", 0o600);
    let mut workspace = fixture.open();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    fixture.write("private", "2");
    fixture.chmod("private", 0o700);
    workspace.restore(&start).unwrap();
    assert_eq!((fixture.read("private").as_str(), fixture.mode("private")), ("1", 0o600));
}

#[test]
fn a_snapshot_of_an_earlier_process_can_be_restored() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    let start = fixture.open().snapshot(id(), "start").unwrap().tree;
    fixture.write("a", "2");
    fixture.write("b", "2");
    fixture.open().restore(&start).unwrap();
    assert_eq!(fixture.read("a"), "1");
    assert!(!fixture.path("b").exists());
}

#[test]
fn a_folder_that_took_the_place_of_the_workspace_is_left_alone() {
    let fixture = Fixture::new();
    fixture.write("a", "1");
    let guard = Guard::new(&[".env".to_owned()]).unwrap();
    let mut workspace = fixture.open();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    let baseline = workspace.guard_baseline(&guard, &fixture.state.join("guard")).unwrap();
    let aside = fixture.folder.path().join("aside");
    let victim = fixture.folder.path().join("victim");
    fs::rename(&fixture.root, &aside).unwrap();
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join(".env"), "somebody else's").unwrap();
    for place in ["link", "folder"] {
        match place {
            "link" => std::os::unix::fs::symlink(&victim, &fixture.root).unwrap(),
            _ => {
                fs::remove_file(&fixture.root).unwrap();
                fs::rename(&victim, &fixture.root).unwrap();
            }
        }
        let refused = |error: Error| assert!(matches!(error, Error::Replaced { .. }), "{place}: {error}");
        refused(workspace.restore(&start).unwrap_err());
        refused(workspace.snapshot(id(), "later").unwrap_err());
        refused(workspace.guard_check(&guard, &baseline).unwrap_err());
        refused(workspace.guard_restore(&guard, &baseline, &fixture.state.join("patch")).unwrap_err());
        assert_eq!(fs::read_dir(&fixture.root).unwrap().count(), 1, "{place}");
        assert_eq!(fixture.read(".env"), "somebody else's");
    }
    fs::rename(&fixture.root, &victim).unwrap();
    fs::rename(&aside, &fixture.root).unwrap();
    assert_eq!(workspace.snapshot(id(), "back").unwrap().tree, start);
}
