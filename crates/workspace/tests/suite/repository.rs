use std::fs;

use ralph_workspace::repository::{Author, CommitId, Need, Work};
use ralph_workspace::{Error, Repository, StopFlag};

use crate::support::{Fixture, git_program, id, run_git, user_git};

fn commit(fixture: &Fixture, act: impl FnOnce(&Fixture)) -> Option<CommitId> {
    let mut workspace = fixture.open();
    let from = workspace.snapshot(id(), "from").unwrap().tree;
    act(fixture);
    let to = workspace.snapshot(id(), "to").unwrap().tree;
    let work = Work { from: &from, to: &to, message: "Fix it\n\nWith care.\n", author: None };
    fixture.repo().commit_work(&workspace, work).unwrap()
}

#[test]
fn head_is_read_in_every_form() {
    let fixture = Fixture::new();
    assert!(Repository::find(&fixture.root, &git_program(), &fixture.state).is_none());
    fixture.git(&["init", "-q", "-b", "feature/x"]);
    let unborn = fixture.repo().head().unwrap();
    assert_eq!((unborn.commit, unborn.branch.as_deref()), (None, Some("feature/x")));
    assert_eq!(fixture.repo().commits_since(None).unwrap(), 0);
    fixture.git(&["commit", "-q", "--allow-empty", "-m", "1"]);
    let first = fixture.git(&["rev-parse", "HEAD"]);
    let loose = fixture.repo().head().unwrap();
    assert_eq!(loose.commit.as_ref().map(CommitId::as_str), Some(first.as_str()));
    fixture.git(&["pack-refs", "--all"]);
    assert_eq!(fixture.repo().head().unwrap(), loose);
    fixture.git(&["checkout", "-q", "--detach"]);
    let detached = fixture.repo().head().unwrap();
    assert_eq!((detached.commit, detached.branch), (loose.commit, None));
    let tree = fixture.folder.path().join("tree");
    fixture.git(&["worktree", "add", "-q", "-b", "side", tree.to_str().unwrap()]);
    let side = Repository::find(&tree, &git_program(), &fixture.state).unwrap();
    assert_eq!(side.head().unwrap().branch.as_deref(), Some("side"));
}

#[test]
fn a_repository_with_other_formats_is_asked_through_git() {
    for format in [&["--ref-format=reftable"][..], &["--object-format=sha256"]] {
        let fixture = Fixture::new();
        let mut arguments = vec!["init", "-q", "-b", "main"];
        arguments.extend(format);
        // Older versions of git know no reftable.
        if !user_git(&fixture.root).args(&arguments).output().unwrap().status.success() {
            assert_eq!(format, ["--ref-format=reftable"]);
            continue;
        }
        fixture.write("a", "1");
        fixture.git(&["add", "a"]);
        fixture.git(&["commit", "-q", "-m", "1"]);
        let head = fixture.repo().head().unwrap();
        assert_eq!(
            head.commit.as_ref().map(CommitId::as_str),
            Some(fixture.git(&["rev-parse", "HEAD"]).as_str()),
            "{format:?}"
        );
        assert_eq!(head.branch.as_deref(), Some("main"));
        assert!(fixture.repo().is_clean().unwrap(), "{format:?}");
        let made = commit(&fixture, |fixture| fixture.write("b", "2")).unwrap();
        assert_eq!(made.as_str(), fixture.git(&["rev-parse", "HEAD"]));
        assert_eq!(fixture.git(&["status", "--porcelain"]), "");
        assert_eq!(fixture.repo().commits_since(head.commit.as_ref()).unwrap(), 1);
    }
}

#[test]
fn commits_are_counted_even_when_history_was_rewritten() {
    let fixture = Fixture::repository(&[]);
    let old = fixture.repo().head().unwrap().commit;
    assert_eq!(fixture.repo().commits_since(old.as_ref()).unwrap(), 0);
    for message in ["2", "3"] {
        fixture.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }
    assert_eq!(fixture.repo().commits_since(old.as_ref()).unwrap(), 2);
    assert_eq!(fixture.repo().commits_since(None).unwrap(), 3);
    fixture.git(&["commit", "-q", "--allow-empty", "--amend", "-m", "other"]);
    assert_eq!(fixture.repo().commits_since(old.as_ref()).unwrap(), 2);
    let gone = CommitId::parse(&"1".repeat(40)).unwrap();
    assert_eq!(fixture.repo().commits_since(Some(&gone)).unwrap(), 1);
}

#[test]
fn clean_means_nothing_changed_staged_or_untracked() {
    let fixture = Fixture::repository(&[("a", "1"), (".gitignore", "ignored\n")]);
    let clean = || fixture.repo().is_clean().unwrap();
    assert!(clean());
    fixture.write("ignored", "");
    fixture.write(".ralph/LEDGER.md", "");
    assert!(clean());
    // Touched, not changed.
    fixture.write("a", "1");
    assert!(clean());
    fixture.write("a", "2");
    assert!(!clean());
    fixture.git(&["add", "a"]);
    assert!(!clean());
    fixture.git(&["reset", "-q", "--hard"]);
    assert!(clean());
    fixture.write("new", "");
    assert!(!clean());
    fs::remove_file(fixture.path("new")).unwrap();
    fs::remove_file(fixture.path("a")).unwrap();
    assert!(!clean());
    let unborn = Fixture::new();
    unborn.git(&["init", "-q"]);
    assert!(unborn.repo().is_clean().unwrap());
    unborn.write("x", "");
    assert!(!unborn.repo().is_clean().unwrap());
}

#[test]
fn a_commit_holds_exactly_the_work() {
    let fixture = Fixture::repository(&[("work", "1"), ("gone", "1"), ("mine", "1"), ("staged", "1"), ("d/x", "1")]);
    let before = fixture.git(&["rev-parse", "HEAD"]);
    // Uncommitted changes of the user, from before the loop.
    fixture.write("mine", "the user's own");
    fixture.write("staged", "the user's own");
    fixture.git(&["add", "staged"]);
    fixture.write("untracked", "the user's own");
    let made = commit(&fixture, |fixture| {
        fixture.write("work", "2");
        fixture.chmod("work", 0o755);
        fs::remove_file(fixture.path("gone")).unwrap();
        fixture.write("new\nfile", "3");
        fixture.link("work", "link");
        fs::remove_dir_all(fixture.path("d")).unwrap();
        fixture.write("d", "a file now");
    });
    assert_eq!(made.unwrap().as_str(), fixture.git(&["rev-parse", "HEAD"]));
    assert_eq!(fixture.git(&["rev-parse", "HEAD^"]), before);
    assert_eq!(fixture.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    let shown = fixture.git(&["show", "--format=%an <%ae>%n%B", "--name-status", "--no-renames", "HEAD"]);
    assert_eq!(
        shown,
        "Ralph <ralph@localhost>\nFix it\n\nWith care.\n\n\nA\td\nD\td/x\nD\tgone\nA\tlink\nA\t\"new\\nfile\"\nM\twork"
    );
    assert_eq!(fixture.git(&["status", "--porcelain"]), " M mine\nM  staged\n?? untracked");
    assert_eq!(fixture.git(&["fsck", "--strict"]), "");
    assert!(fixture.git(&["reflog"]).contains("ralph: Fix it"));
}

#[test]
fn a_detached_head_and_an_unborn_branch_take_a_commit() {
    let fixture = Fixture::repository(&[("a", "1")]);
    fixture.git(&["checkout", "-q", "--detach"]);
    let main = fixture.git(&["rev-parse", "main"]);
    commit(&fixture, |fixture| fixture.write("a", "2")).unwrap();
    assert_eq!(fixture.git(&["rev-parse", "main"]), main);
    assert_eq!(fixture.git(&["rev-parse", "HEAD^"]), main);

    let unborn = Fixture::new();
    unborn.git(&["init", "-q", "-b", "main"]);
    unborn.write("users", "1");
    let made = commit(&unborn, |fixture| fixture.write("a", "1")).unwrap();
    assert_eq!(unborn.git(&["rev-parse", "main"]), made.as_str());
    assert_eq!(unborn.git(&["ls-tree", "--name-only", "HEAD"]), "a");
    assert_eq!(unborn.git(&["status", "--porcelain"]), "?? users");
}

#[test]
fn nothing_to_commit_is_none() {
    let fixture = Fixture::repository(&[("a", "1")]);
    assert_eq!(commit(&fixture, |_| {}), None);
    // The agent committed it all itself.
    let made = commit(&fixture, |fixture| {
        fixture.write("a", "2");
        fixture.git(&["commit", "-q", "-a", "-m", "agent's"]);
    });
    assert_eq!(made, None);
}

#[test]
fn the_author_is_the_one_given_or_configured() {
    let fixture = Fixture::repository(&[("a", "1")]);
    fixture.git(&["config", "user.name", "Configured"]);
    fixture.git(&["config", "user.email", "c@example.com"]);
    commit(&fixture, |fixture| fixture.write("a", "2")).unwrap();
    assert_eq!(fixture.git(&["log", "-1", "--format=%an %ae %cn"]), "Configured c@example.com Configured");
    let mut workspace = fixture.open();
    let from = workspace.snapshot(id(), "from").unwrap().tree;
    fixture.write("a", "3");
    let to = workspace.snapshot(id(), "to").unwrap().tree;
    let author = Author { name: "Given".into(), email: "g@example.com".into() };
    let work = Work { from: &from, to: &to, message: "m", author: Some(&author) };
    fixture.repo().commit_work(&workspace, work).unwrap().unwrap();
    assert_eq!(fixture.git(&["log", "-1", "--format=%an %ae"]), "Given g@example.com");
}

#[test]
fn a_workspace_below_the_top_commits_its_own_paths() {
    let fixture = Fixture::repository(&[("top", "1"), ("pkg/a/x", "1")]);
    let mut options = fixture.options();
    options.root = fixture.path("pkg/a");
    let mut workspace = ralph_workspace::Workspace::open(options).unwrap();
    let from = workspace.snapshot(id(), "from").unwrap().tree;
    fixture.write("pkg/a/x", "2");
    fixture.write("top", "2");
    let to = workspace.snapshot(id(), "to").unwrap().tree;
    let repository = Repository::find(&fixture.path("pkg/a"), &git_program(), &fixture.state).unwrap();
    let work = Work { from: &from, to: &to, message: "m", author: None };
    repository.commit_work(&workspace, work).unwrap().unwrap();
    assert_eq!(fixture.git(&["show", "--format=", "--name-only", "HEAD"]), "pkg/a/x");
    assert_eq!(fixture.git(&["status", "--porcelain"]), " M top");
}

#[test]
fn a_locked_index_and_filtered_files_are_refused_before_anything_moves() {
    let fixture = Fixture::repository(&[("a", "1"), (".gitattributes", "*.bin filter=lfs\n")]);
    let head = fixture.git(&["rev-parse", "HEAD"]);
    let mut workspace = fixture.open();
    let from = workspace.snapshot(id(), "from").unwrap().tree;
    fixture.write("x.bin", "2");
    let to = workspace.snapshot(id(), "to").unwrap().tree;
    let work = Work { from: &from, to: &to, message: "m", author: None };
    let error = fixture.repo().commit_work(&workspace, work).unwrap_err();
    assert!(matches!(&error, Error::Filtered { path, filter } if path == "x.bin" && filter == "lfs"), "{error}");
    fixture.write(".git/index.lock", "");
    let error = fixture.repo().commit_work(&workspace, work).unwrap_err();
    assert!(matches!(&error, Error::IndexLocked { .. }), "{error}");
    fs::remove_file(fixture.path(".git/index.lock")).unwrap();
    assert_eq!(fixture.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn worktrees_come_and_go() {
    let fixture = Fixture::repository(&[("a", "1"), ("b.bin", "1")]);
    fixture.write("a", "dirty");
    let path = fixture.folder.path().join("race/one");
    let repository = fixture.repo();
    repository.add_worktree(&path, "ralph/0a1b2c3d", &StopFlag::default()).unwrap();
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "1");
    assert_eq!(run_git(&path, &["symbolic-ref", "--short", "HEAD"]), "ralph/0a1b2c3d");
    let mut options = fixture.options();
    options.root.clone_from(&path);
    options.state = fixture.folder.path().join("other-state");
    let mut workspace = ralph_workspace::Workspace::open(options).unwrap();
    let from = workspace.snapshot(id(), "from").unwrap().tree;
    fs::write(path.join("a"), "2").unwrap();
    let to = workspace.snapshot(id(), "to").unwrap().tree;
    let inside = Repository::find(&path, &git_program(), &fixture.state).unwrap();
    inside.commit_work(&workspace, Work { from: &from, to: &to, message: "m", author: None }).unwrap().unwrap();
    assert_eq!(fixture.git(&["show", "ralph/0a1b2c3d:a"]), "2");
    assert_eq!(fixture.read("a"), "dirty");
    let error = repository.add_worktree(&path, "ralph/0a1b2c3d", &StopFlag::default()).unwrap_err();
    assert!(error.to_string().contains("ralph/0a1b2c3d"), "{error}");
    fs::write(path.join("left"), "over").unwrap();
    repository.remove_worktree(&path).unwrap();
    assert!(!path.exists());
    assert!(fixture.git(&["branch", "--list", "ralph/*"]).contains("ralph/0a1b2c3d"));
}

#[test]
fn a_worktree_whose_making_is_stopped_leaves_nothing() {
    let fixture = Fixture::repository(&[("a", "1")]);
    for number in 0..20_000 {
        fixture.write(format!("many/{number}"), "x");
    }
    fixture.git(&["add", "-A"]);
    fixture.git(&["commit", "-qm", "many"]);
    let (path, stop) = (fixture.folder.path().join("one"), StopFlag::with_grace(std::time::Duration::ZERO));
    stop.request();
    let error = fixture.repo().add_worktree(&path, "ralph/0a1b2c3d", &stop).unwrap_err();
    assert!(matches!(error, ralph_workspace::Error::Stopped), "{error}");
    assert!(!path.exists());
    assert_eq!(fixture.git(&["branch", "--list", "ralph/*"]), "");
    assert_eq!(fixture.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn without_git_the_error_says_why_and_what_to_do() {
    let fixture = Fixture::new();
    for (need, option) in [(Need::Commit, "--commit"), (Need::Worktree, "--worktree")] {
        let error = Repository::require(&fixture.root, &git_program(), &fixture.state, need).unwrap_err().to_string();
        assert!(error.contains(option) && error.contains("git init"), "{error}");
    }
    fixture.git(&["init", "-q"]);
    let error =
        fixture.repo().add_worktree(&fixture.path("w"), "ralph/x", &StopFlag::default()).unwrap_err().to_string();
    assert!(error.contains("first commit"), "{error}");
}
