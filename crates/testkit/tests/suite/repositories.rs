//! Throwaway repositories and the fingerprint of a git directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ralph_testkit::{Fingerprint, Repo};

#[test]
fn two_repositories_with_the_same_story_are_the_same() {
    let tell = || {
        let repo = Repo::init();
        repo.write("src/a.rs", "fn main() {}\n");
        repo.commit("second");
        repo
    };
    let (one, two) = (tell(), tell());
    assert_eq!(one.head(), two.head());
    assert_eq!(
        one.git(["log", "--format=%an <%ae> %cn %at %s"]),
        concat!(
            "Test Author <author@example.invalid> Test Committer 1767268860 second\n",
            "Test Author <author@example.invalid> Test Committer 1767268800 first",
        )
    );
}

#[test]
fn they_are_gone_afterwards() {
    let repo = Repo::init();
    let (inside, outside) = (repo.path().to_owned(), repo.outside().to_owned());
    assert!(inside.join(".git").is_dir() && inside.starts_with(outside.canonicalize().unwrap()));
    drop(repo);
    assert!(!inside.exists() && !outside.exists());
}

#[test]
fn every_shape_is_what_git_says_it_is() {
    assert!(!Repo::plain().exists(".git"));

    let unborn = Repo::unborn();
    assert!(!unborn.shell("git rev-parse --verify HEAD").status.success());
    assert_eq!(unborn.git(["symbolic-ref", "HEAD"]), "refs/heads/main");

    let repo = Repo::init();
    let first = repo.head();
    repo.branch("topic");
    assert_eq!(repo.git(["branch", "--show-current"]), "topic");
    repo.detach();
    assert_eq!(repo.git(["branch", "--show-current"]), "");
    assert_eq!(repo.head(), first);
    repo.checkout("main");

    repo.write("README.md", "changed");
    repo.write("untracked", "");
    repo.stash();
    assert_eq!(repo.git(["status", "--porcelain"]), "");
    assert_eq!(repo.git(["stash", "list"]).lines().count(), 1);

    let worktree = repo.worktree("feature/one");
    assert!(worktree.join(".git").is_file());
    assert!(!worktree.starts_with(repo.path()));

    let other = Repo::init();
    repo.submodule(&other, "libs/other");
    assert!(repo.path().join("libs/other/.git").is_file());
    assert!(repo.git(["submodule", "status"]).contains("libs/other"));
}

#[test]
fn configuration_of_the_machine_does_not_reach_them() {
    let repo = Repo::init();
    let seen = repo.git(["config", "--list", "--show-scope"]);
    assert!(seen.lines().all(|line| line.starts_with("local\t")), "{seen}");
    // Also through a shell, which keeps the home folder.
    let seen = repo.shell("git config --list --show-scope");
    assert!(String::from_utf8(seen.stdout).unwrap().lines().all(|line| line.starts_with("local\t")));
}

#[test]
#[should_panic(expected = "`git log nonexistent --` failed with exit status: 128: fatal: bad revision 'nonexistent'")]
fn a_failing_git_says_what_it_said() {
    Repo::init().git(["log", "nonexistent", "--"]);
}

#[test]
fn a_fingerprint_sees_every_change_but_the_exclude_file() {
    let repo = Repo::init();
    let before = repo.fingerprint();
    let git = repo.git_directory();
    before.assert_same(&repo.fingerprint());
    assert_eq!(before.hash(), repo.fingerprint().hash());

    fs::write(git.join("info/exclude"), ".ralph/\n").unwrap();
    before.assert_same(&repo.fingerprint());

    let hook = git.join("hooks/pre-commit");
    let changes: [(&str, &dyn Fn(), &str); 5] = [
        ("a new file", &|| fs::write(&hook, "#!/bin/sh\n").unwrap(), "added hooks/pre-commit"),
        (
            "a mode",
            &|| fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap(),
            "changed hooks/pre-commit",
        ),
        ("one byte", &|| fs::write(&hook, "#!/bin/SH\n").unwrap(), "changed hooks/pre-commit"),
        ("a link", &|| std::os::unix::fs::symlink("HEAD", git.join("link")).unwrap(), "added link"),
        ("a folder", &|| fs::create_dir(git.join("refs/heads/empty")).unwrap(), "added refs/heads/empty"),
    ];
    for (what, change, said) in changes {
        let old = repo.fingerprint();
        change();
        let new = repo.fingerprint();
        assert!(old.differences(&new).iter().any(|line| line.starts_with(said)), "{what}: {:?}", old.differences(&new));
        assert_ne!(old.hash(), new.hash(), "{what}");
    }
    let old = repo.fingerprint();
    fs::remove_file(&hook).unwrap();
    assert_eq!(old.differences(&repo.fingerprint()), ["removed hooks/pre-commit"]);
}

#[test]
#[should_panic(expected = "the git directory changed:\nchanged ")]
fn a_change_fails_the_test() {
    let repo = Repo::init();
    let before = repo.fingerprint();
    repo.git(["config", "core.editor", "true"]);
    before.assert_same(&repo.fingerprint());
}

#[test]
fn sockets_and_pipes_do_not_block_a_fingerprint() {
    let repo = Repo::init();
    assert!(repo.shell("mkfifo .git/pipe").status.success());
    let with = repo.fingerprint();
    fs::remove_file(repo.git_directory().join("pipe")).unwrap();
    assert_eq!(with.differences(&repo.fingerprint()), ["removed pipe"]);
}

#[test]
fn the_git_file_of_a_worktree_has_one_too() {
    let repo = Repo::init();
    let worktree = repo.worktree("topic");
    let file = Fingerprint::of(worktree.join(".git"));
    fs::write(worktree.join(".git"), "gitdir: elsewhere\n").unwrap();
    assert_eq!(file.differences(&Fingerprint::of(worktree.join(".git"))).len(), 1);
}

#[test]
fn folders_are_in_memory_where_the_machine_has_such_a_place() {
    let folder = ralph_testkit::scratch();
    assert_eq!(folder.path().starts_with("/dev/shm"), Path::new("/dev/shm").is_dir());
}
