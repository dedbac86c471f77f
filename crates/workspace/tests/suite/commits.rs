//! Prohibited paths in commits.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ralph_model::{ChangeKind, Violation};
use ralph_workspace::repository::CommitWatch;
use ralph_workspace::{Baseline, Guard, Repository};

use crate::support::{Fixture, git_program};

/// A repository under watch.
struct Watched {
    fixture: Fixture,
    repository: Repository,
    guard: Guard,
    baseline: Baseline,
    watch: CommitWatch,
}

impl Watched {
    fn new(fixture: Fixture) -> Self {
        let repository = fixture.repo();
        Self::of(fixture, repository)
    }

    fn of(fixture: Fixture, repository: Repository) -> Self {
        let guard = Guard::new(&["src/auth/**".to_owned(), ".env".to_owned()]).unwrap();
        let baseline = fixture.open().guard_baseline(&guard, &fixture.state.join("loop/guard")).unwrap();
        let watch = CommitWatch::since(repository.head().unwrap());
        Self { fixture, repository, guard, baseline, watch }
    }

    fn look(&mut self) -> Vec<Violation> {
        self.watch.look(&self.repository, &self.guard, &self.baseline).unwrap()
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.fixture.git(arguments)
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Commits a new prohibited file, and takes it back in the workspace and in the next commit.
    fn offend_and_hide(&self) -> String {
        self.fixture.write("src/auth/a.rs", "x\n");
        let offence = self.commit("offence");
        fs::remove_file(self.fixture.path("src/auth/a.rs")).unwrap();
        self.commit("hide");
        offence
    }

    fn kept(&self, violations: &[Violation]) -> String {
        let patch = self.fixture.state.join("loop/offence.patch");
        self.watch.keep(&self.repository, violations, &patch).unwrap();
        String::from_utf8(fs::read(patch).unwrap()).unwrap()
    }
}

fn project() -> Watched {
    Watched::new(Fixture::repository(&[("src/auth/login.rs", "fn login() {}\n"), ("README.md", "x\n")]))
}

fn violation(path: &str, kind: ChangeKind, commit: &str) -> Violation {
    Violation { path: path.to_owned(), glob: "src/auth/**".to_owned(), kind, commit: Some(commit.to_owned()) }
}

#[test]
fn a_change_that_a_later_commit_took_back_is_found_and_kept() {
    let mut watched = project();
    assert_eq!(watched.look(), []);
    let offence = watched.offend_and_hide();
    let found = watched.look();
    assert_eq!(found, [violation("src/auth/a.rs", ChangeKind::Added, &offence)]);
    let patch = watched.kept(&found);
    assert!(patch.contains("+++ b/src/auth/a.rs") && patch.contains("+x"), "{patch}");
    // Kept twice is kept once.
    assert_eq!(watched.kept(&found), patch);
    // Who takes the commits back is free of it.
    watched.git(&["reset", "-q", "--hard", "HEAD~2"]);
    assert_eq!(watched.look(), []);
}

#[test]
fn every_kind_of_change_is_found_in_the_newest_commit_that_has_it() {
    let mut watched = project();
    let login = watched.fixture.path("src/auth/login.rs");
    fs::set_permissions(&login, fs::Permissions::from_mode(0o755)).unwrap();
    let mode = watched.commit("mode");
    assert_eq!(watched.look(), [violation("src/auth/login.rs", ChangeKind::Mode, &mode)]);
    fs::remove_file(&login).unwrap();
    let deleted = watched.commit("deleted");
    assert_eq!(watched.look(), [violation("src/auth/login.rs", ChangeKind::Deleted, &deleted)]);
    watched.fixture.write("src/auth/login.rs", "other\n");
    watched.fixture.write("src/auth/with\nline", "strange\n");
    let modified = watched.commit("modified");
    watched.fixture.write("README.md", "honest\n");
    watched.commit("honest");
    let found = watched.look();
    let expected = [
        violation("src/auth/login.rs", ChangeKind::Modified, &modified),
        violation(r#""src/auth/with\nline""#, ChangeKind::Added, &modified),
    ];
    assert_eq!(found, expected);
    let patch = watched.kept(&found);
    assert!(patch.contains("+other") && patch.contains("+strange") && !patch.contains("honest"), "{patch}");
}

#[test]
fn what_is_committed_as_it_was_is_no_offence() {
    let fixture = Fixture::repository(&[("src/auth/login.rs", "fn login() {}\n")]);
    fixture.git(&["checkout", "-q", "-b", "old"]);
    fixture.write("old.txt", "old\n");
    fixture.git(&["add", "-A"]);
    fixture.git(&["commit", "-q", "-m", "old"]);
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("src/auth/login.rs", "fn login() { newer() }\n");
    fixture.git(&["commit", "-q", "-a", "-m", "newer"]);
    // Left uncommitted by the user.
    fixture.write(".env", "KEY=1\n");
    fixture.write("src/auth/draft.rs", "draft\n");
    let mut watched = Watched::new(fixture);
    watched.git(&["commit", "-q", "--amend", "-m", "reworded"]);
    assert_eq!(watched.look(), [], "a commit of the user's, reworded");
    watched.commit("everything");
    assert_eq!(watched.look(), [], "what the user had left uncommitted");
    watched.git(&["merge", "-q", "--no-edit", "old"]);
    assert_eq!(watched.look(), [], "a branch from before the newest change");
}

#[test]
fn a_commit_that_head_has_left_is_still_on_the_branch() {
    let mut watched = project();
    let start = watched.git(&["rev-parse", "HEAD"]);
    watched.fixture.write("src/auth/a.rs", "x\n");
    let offence = watched.commit("offence");
    watched.git(&["checkout", "-q", "--detach", &start]);
    let expected = [violation("src/auth/a.rs", ChangeKind::Added, &offence)];
    assert_eq!(watched.look(), expected);
    watched.git(&["pack-refs", "--all"]);
    assert_eq!(watched.look(), expected);
    watched.git(&["branch", "-q", "-D", "main"]);
    assert_eq!(watched.look(), []);
}

#[test]
fn a_merge_that_changes_more_than_it_merges_is_found() {
    let mut watched = project();
    watched.git(&["checkout", "-q", "-b", "side"]);
    watched.fixture.write("side.txt", "side\n");
    watched.commit("side");
    watched.git(&["checkout", "-q", "main"]);
    watched.git(&["merge", "-q", "--no-ff", "--no-commit", "side"]);
    watched.fixture.write("src/auth/login.rs", "evil\n");
    let merge = watched.commit("merge");
    watched.git(&["checkout", "-q", "HEAD~1", "--", "src/auth/login.rs"]);
    watched.commit("hide");
    assert_eq!(watched.look(), [violation("src/auth/login.rs", ChangeKind::Modified, &merge)]);
}

#[test]
fn nothing_in_the_git_directory_hides_a_commit_or_runs() {
    let mut watched = project();
    let start = watched.git(&["rev-parse", "HEAD"]);
    let offence = watched.offend_and_hide();
    let head = watched.git(&["rev-parse", "HEAD"]);
    let canary = watched.fixture.folder.path().join("canary");
    let run = format!("touch {}", canary.display());
    for (name, value) in [
        ("diff.external", run.as_str()),
        ("diff.evil.textconv", &run),
        ("diff.evil.command", &run),
        ("core.fsmonitor", &run),
        ("core.pager", &run),
    ] {
        watched.git(&["config", name, value]);
    }
    let git = watched.fixture.path(".git");
    fs::create_dir_all(git.join("info")).unwrap();
    fs::write(git.join("info/attributes"), "* diff=evil\n").unwrap();
    fs::write(git.join("info/grafts"), format!("{head} {start}\n")).unwrap();
    watched.git(&["replace", &offence, &start]);
    fs::write(git.join("shallow"), format!("{head}\n")).unwrap();
    let found = watched.look();
    assert_eq!(found, [violation("src/auth/a.rs", ChangeKind::Added, &offence)]);
    assert!(watched.kept(&found).contains("+x"));
    assert!(!canary.exists());
}

#[test]
fn the_start_may_be_gone_and_may_never_have_been() {
    let mut watched = project();
    watched.git(&["checkout", "-q", "--orphan", "fresh"]);
    let honest = watched.commit("everything anew");
    watched.git(&["branch", "-q", "-D", "main"]);
    watched.git(&["reflog", "expire", "--expire=now", "--all"]);
    watched.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(watched.look(), []);
    let offence = watched.offend_and_hide();
    let found = watched.look();
    assert_eq!(found, [violation("src/auth/a.rs", ChangeKind::Added, &offence)], "not {honest}");
    assert!(watched.kept(&found).contains("+x"));

    let fixture = Fixture::new();
    fixture.git(&["init", "-q", "-b", "main"]);
    fixture.write("src/auth/login.rs", "before\n");
    let mut unborn = Watched::new(fixture);
    unborn.commit("first");
    assert_eq!(unborn.look(), []);
    let offence = unborn.offend_and_hide();
    assert_eq!(unborn.look(), [violation("src/auth/a.rs", ChangeKind::Added, &offence)]);
}

#[test]
fn paths_are_those_of_the_workspace() {
    let fixture = Fixture::repository(&[("src/auth/outside.rs", "x\n"), ("work/README.md", "x\n")]);
    let top = fixture.root.clone();
    let inner = Fixture { root: top.join("work"), ..fixture };
    let repository = Repository::find(&inner.root, &git_program(), &inner.state);
    fs::create_dir_all(&inner.state).unwrap();
    let mut watched = Watched::of(inner, repository.unwrap());
    fs::write(top.join("src/auth/outside.rs"), "not in the workspace\n").unwrap();
    watched.fixture.write("src/auth/a.rs", "inside\n");
    watched.git(&["add", "-A", ".."]);
    watched.git(&["commit", "-q", "-m", "both"]);
    let offence = watched.git(&["rev-parse", "HEAD"]);
    let found = watched.look();
    assert_eq!(found, [violation("src/auth/a.rs", ChangeKind::Added, &offence)]);
    let patch = watched.kept(&found);
    assert!(patch.contains("+++ b/src/auth/a.rs") && !patch.contains("outside"), "{patch}");
}
