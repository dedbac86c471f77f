//! What agents do to a repository must reach neither the snapshots nor Ralph.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_workspace::repository::Work;
use ralph_workspace::{Excluded, Guard, Workspace, exclude_ralph_folder};

use crate::support::{Fixture, assert_sound, fingerprint, id, names, run_git};

fn everything(fixture: &Fixture, workspace: &mut Workspace) {
    let guard = Guard::new(&[".env".to_owned(), "src/auth/**".to_owned()]).unwrap();
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    workspace.set_start(&start).unwrap();
    let baseline = workspace.guard_baseline(&guard, &fixture.state.join("guard")).unwrap();
    fixture.write("work", "agent's");
    fixture.write(".env", "changed");
    let after = workspace.snapshot(id(), "after").unwrap().tree;
    workspace.changes(&start, &after).unwrap();
    workspace.diff(&start, &after).unwrap();
    workspace.guard_check(&guard, &baseline).unwrap();
    workspace.guard_restore(&guard, &baseline, &fixture.state.join("patch")).unwrap();
    workspace.restore(&start).unwrap();
    let repository = fixture.repo();
    repository.head().unwrap();
    repository.commits_since(None).unwrap();
    repository.is_clean().unwrap();
}

#[test]
fn the_users_git_directory_is_byte_identical_afterwards() {
    let fixture = Fixture::repository(&[("a", "1"), ("src/auth/x", "1"), (".gitignore", ".env\n")]);
    fixture.write(".env", "1");
    fixture.write("a", "stashed");
    fixture.git(&["stash", "-q"]);
    fixture.write("staged", "s");
    fixture.git(&["add", "staged"]);
    fixture.write("a", "dirty");
    fixture.git(&["branch", "other"]);
    assert_eq!(exclude_ralph_folder(&fixture.root).unwrap(), Excluded::Added);
    let before = fingerprint(&fixture.path(".git"), &[]);
    everything(&fixture, &mut fixture.open());
    assert_eq!(exclude_ralph_folder(&fixture.root).unwrap(), Excluded::AlreadyThere);
    assert_eq!(fingerprint(&fixture.path(".git"), &[]), before);
    assert_eq!(fixture.read("a"), "dirty");
}

/// A program that leaves a trace when it runs, and passes its input on.
fn canary(fixture: &Fixture) -> (PathBuf, PathBuf) {
    let (program, trace) = (fixture.folder.path().join("canary"), fixture.folder.path().join("sang"));
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", trace.display())).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).unwrap();
    (program, trace)
}

fn plant(fixture: &Fixture, program: &Path) {
    let program = program.to_str().unwrap();
    for name in [
        "core.fsmonitor",
        "diff.external",
        "diff.x.command",
        "diff.x.textconv",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.a=b.smudge",
        "filter.y.process",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "gpg.program",
        "credential.helper",
        "merge.x.driver",
    ] {
        // The name stands in the command, so that a trace tells which trap sprang.
        fixture.git(&["config", name, &format!("{program} {name}")]);
    }
    fixture.git(&["config", "commit.gpgSign", "true"]);
    fixture.git(&["config", "filter.x.required", "true"]);
    for hook in
        ["pre-commit", "post-commit", "reference-transaction", "post-index-change", "post-checkout", "commit-msg"]
    {
        let path = fixture.path(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(program, path).unwrap();
    }
}

#[test]
fn nothing_that_a_repository_configures_is_executed() {
    let fixture = Fixture::repository(&[("a", "1"), ("src/auth/x", "1"), ("f.x", "1"), ("f.ab", "1"), ("f.y", "1")]);
    let (program, trace) = canary(&fixture);
    // Committed before the traps are set, so that making the fixture does not spring them.
    fixture.write(".gitattributes", "*.x filter=x diff=x merge=x\n*.y filter=y\n*.ab filter=a=b\n* diff=x\n");
    fixture.git(&["add", ".gitattributes"]);
    fixture.git(&["commit", "-q", "-m", "attributes"]);
    plant(&fixture, &program);
    fixture.write("f.x", "changed");
    let mut workspace = fixture.open();
    everything(&fixture, &mut workspace);
    let from = workspace.snapshot(id(), "from").unwrap().tree;
    fixture.write("plain", "work");
    let to = workspace.snapshot(id(), "to").unwrap().tree;
    let repository = fixture.repo();
    let work = Work { from: &from, to: &to, message: "work", author: None };
    repository.commit_work(&workspace, work).unwrap().unwrap();
    let worktree = fixture.folder.path().join("tree");
    repository.add_worktree(&worktree, "ralph/x", &ralph_workspace::StopFlag::default()).unwrap();
    assert_eq!(fs::read_to_string(worktree.join("f.x")).unwrap(), "1");
    repository.remove_worktree(&worktree).unwrap();
    assert!(!trace.exists(), "ran: {}", fs::read_to_string(&trace).unwrap());
    // The traps do work when git is run carelessly.
    fixture.git(&["status"]);
    assert!(trace.exists());
}

#[test]
fn snapshots_survive_what_agents_do_to_the_repository() {
    let fixture = Fixture::repository(&[("a", "1"), ("b", "1")]);
    let mut workspace = fixture.open();
    fixture.write("a", "2");
    let start = workspace.snapshot(id(), "start").unwrap().tree;
    workspace.set_start(&start).unwrap();
    fixture.git(&["stash", "-q"]);
    fixture.git(&["reset", "-q", "--hard"]);
    fixture.git(&["reflog", "expire", "--expire=now", "--all"]);
    fixture.git(&["gc", "-q", "--prune=now"]);
    let stashed = workspace.snapshot(id(), "stashed").unwrap().tree;
    assert_eq!(workspace.changes(&start, &stashed).unwrap().len(), 1);
    fs::remove_dir_all(fixture.path(".git")).unwrap();
    assert!(workspace.snapshot(id(), "no git").is_err());
    assert_eq!(workspace.snapshot(id(), "no-git").unwrap().tree, stashed);
    workspace.restore(&start).unwrap();
    assert_eq!(fixture.read("a"), "2");
    assert_sound(&workspace);
    drop(workspace);
    assert_eq!(fixture.open().snapshot(id(), "again").unwrap().tree, start);
}

#[test]
fn submodules_and_nested_repositories_count_with_their_files() {
    let library = Fixture::repository(&[("lib", "1")]);
    let fixture = Fixture::repository(&[("a", "1")]);
    fixture.git(&["submodule", "--quiet", "add", library.root.to_str().unwrap(), "sub"]);
    fixture.git(&["commit", "-q", "-m", "submodule"]);
    fs::create_dir(fixture.path("nested")).unwrap();
    run_git(&fixture.path("nested"), &["init", "-q"]);
    fixture.write("nested/n", "1");
    let mut workspace = fixture.open();
    let from = workspace.snapshot(id(), "a").unwrap().tree;
    assert_eq!(names(&workspace, &from), [".gitmodules", "a", "nested/n", "sub/lib"]);
    fixture.write("sub/lib", "2");
    fixture.write("nested/n", "2");
    fixture.write("a", "2");
    let to = workspace.snapshot(id(), "b").unwrap().tree;
    // They are changed files, but not files of this repository's next commit.
    assert_eq!(workspace.changes(&from, &to).unwrap().len(), 3);
    let work = Work { from: &from, to: &to, message: "work", author: None };
    fixture.repo().commit_work(&workspace, work).unwrap().unwrap();
    assert_eq!(fixture.git(&["show", "--format=", "--name-only", "HEAD"]), "a");
    assert!(fixture.git(&["ls-tree", "HEAD", "sub"]).starts_with("160000"));
}

#[test]
fn the_exclude_file_is_found_and_odd_ones_are_refused() {
    let plain = Fixture::new();
    assert_eq!(exclude_ralph_folder(&plain.root).unwrap(), Excluded::NoRepository);
    plain.write(".git/not-a-repository", "");
    assert_eq!(exclude_ralph_folder(&plain.root).unwrap(), Excluded::NoRepository);

    let fixture = Fixture::repository(&[("a", "1")]);
    fs::write(fixture.path(".git/info/exclude"), "no newline").unwrap();
    let worktree = fixture.folder.path().join("tree");
    fixture.git(&["worktree", "add", "-q", worktree.to_str().unwrap()]);
    assert_eq!(exclude_ralph_folder(&worktree).unwrap(), Excluded::Added);
    assert_eq!(fixture.read(".git/info/exclude"), "no newline\n.ralph/\n");
    fixture.write(".ralph/x", "");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    fs::create_dir_all(worktree.join(".ralph")).unwrap();
    fs::write(worktree.join(".ralph/x"), "").unwrap();
    assert_eq!(run_git(&worktree, &["status", "--porcelain"]), "");

    let victim = fixture.folder.path().join("victim");
    fs::write(&victim, "keys\n").unwrap();
    fs::remove_file(fixture.path(".git/info/exclude")).unwrap();
    fixture.link(&victim, ".git/info/exclude");
    assert!(exclude_ralph_folder(&fixture.root).unwrap_err().to_string().contains("exclude"));
    assert_eq!(fs::read_to_string(victim).unwrap(), "keys\n");
    fs::remove_dir_all(fixture.path(".git/info")).unwrap();
    assert_eq!(exclude_ralph_folder(&fixture.root).unwrap(), Excluded::Added);
}
