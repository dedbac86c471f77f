//! Throwaway repositories, made with the real git and without any configuration of the machine.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::{Fingerprint, Fixture, canary, scratch, shell_quoted};

/// Noon of the first of January 2026, UTC: the time of the first commit of every repository.
const FIRST_COMMIT: u32 = 1_767_268_800;

/// The variables that make git behave alike everywhere: no configuration of machine or user, a fixed identity and time, no
/// questions. `HOME` leads nowhere, so leave it out for programs that need theirs.
pub fn git_environment() -> Vec<(&'static str, String)> {
    let date = format!("{FIRST_COMMIT} +0000");
    vec![
        ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ("GIT_TERMINAL_PROMPT", "0".to_owned()),
        ("GIT_AUTHOR_NAME", "Test Author".to_owned()),
        ("GIT_AUTHOR_EMAIL", "author@example.invalid".to_owned()),
        ("GIT_AUTHOR_DATE", date.clone()),
        ("GIT_COMMITTER_NAME", "Test Committer".to_owned()),
        ("GIT_COMMITTER_EMAIL", "committer@example.invalid".to_owned()),
        ("GIT_COMMITTER_DATE", date),
        ("HOME", "/nonexistent".to_owned()),
        // Holds the user's ignore and attributes files, which GIT_CONFIG_GLOBAL does not switch off.
        ("XDG_CONFIG_HOME", "/nonexistent".to_owned()),
        ("LC_ALL", "C".to_owned()),
    ]
}

/// A folder with a project in it, usually a git repository, that is removed when the value is dropped.
#[derive(Debug)]
pub struct Repo {
    scratch: TempDir,
    root: PathBuf,
    fixture: Option<Fixture>,
    commits: AtomicU32,
}

impl Repo {
    /// An empty folder that is no repository.
    #[track_caller]
    pub fn plain() -> Self {
        let scratch = scratch();
        // Resolved, so that what a program prints as its folder can be compared with it.
        let root = scratch.path().canonicalize().unwrap_or_else(|_| scratch.path().to_owned()).join("project");
        if let Err(error) = fs::create_dir(&root) {
            panic!("could not create {}: {error}", root.display());
        }
        Self { scratch, root, fixture: None, commits: AtomicU32::new(0) }
    }

    /// A repository on branch `main` without a commit.
    #[track_caller]
    pub fn unborn() -> Self {
        let repo = Self::plain();
        repo.git(["init", "--quiet", "--initial-branch=main"]);
        repo
    }

    /// A repository on branch `main` with one commit that holds a `README.md`.
    #[track_caller]
    pub fn init() -> Self {
        let repo = Self::unborn();
        repo.write("README.md", "A throwaway project.\n");
        repo.commit("first");
        repo
    }

    /// A repository with one commit that holds a fixture, without the patch that mends it.
    #[track_caller]
    pub fn fixture(name: &str) -> Self {
        let fixture = Fixture::named(name);
        let mut repo = Self::unborn();
        fixture.copy_to(&repo.root);
        repo.fixture = Some(fixture);
        repo.commit("first");
        repo
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    pub fn git_directory(&self) -> PathBuf {
        self.root.join(".git")
    }

    /// A folder beside the project, removed with it: for scripts, logs and state that are no part of the workspace.
    pub fn outside(&self) -> &Path {
        self.scratch.path()
    }

    /// The line for `sh -c` that runs the fixture's tests.
    #[track_caller]
    pub fn test_command(&self) -> &'static str {
        self.expect_fixture().test
    }

    /// The line for `sh -c` that mends the fixture.
    #[track_caller]
    pub fn fix_command(&self) -> String {
        format!("git apply {}", shell_quoted(&self.expect_fixture().patch().to_string_lossy()))
    }

    /// Writes a file, and the folders above it.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        let folder = path.parent().unwrap_or(&self.root);
        if let Err(error) = fs::create_dir_all(folder).and_then(|()| fs::write(&path, content)) {
            panic!("could not write {}: {error}", path.display());
        }
    }

    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.root.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("could not read {}: {error}", path.display()))
    }

    /// Whether something is there, be it a link to nowhere.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    #[track_caller]
    pub fn remove(&self, path: impl AsRef<Path>) {
        let path = self.root.join(path);
        if let Err(error) = fs::remove_file(&path) {
            panic!("could not remove {}: {error}", path.display());
        }
    }

    /// Commits everything that is not ignored, also when nothing changed, and gives the commit's id. Each commit is a
    /// minute after the one before.
    #[track_caller]
    pub fn commit(&self, message: &str) -> String {
        self.git(["add", "--all"]);
        let date = format!("{} +0000", FIRST_COMMIT + 60 * self.commits.fetch_add(1, Ordering::Relaxed));
        let mut command = self.command();
        command.args(["commit", "--quiet", "--allow-empty", "--message", message]);
        command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        succeed(&mut command);
        self.head()
    }

    /// The id of the current commit.
    #[track_caller]
    pub fn head(&self) -> String {
        self.git(["rev-parse", "--verify", "HEAD"])
    }

    /// Creates a branch at the current commit and switches to it.
    #[track_caller]
    pub fn branch(&self, name: &str) {
        self.git(["checkout", "--quiet", "-b", name]);
    }

    /// Switches to a branch or commit.
    #[track_caller]
    pub fn checkout(&self, name: &str) {
        self.git(["checkout", "--quiet", name]);
    }

    /// Leaves the branch: `HEAD` names the commit itself.
    #[track_caller]
    pub fn detach(&self) {
        self.git(["checkout", "--quiet", "--detach"]);
    }

    /// Puts uncommitted changes away, untracked files too.
    #[track_caller]
    pub fn stash(&self) {
        self.git(["stash", "push", "--quiet", "--include-untracked"]);
    }

    /// Adds another repository as a submodule and commits it.
    #[track_caller]
    pub fn submodule(&self, other: &Self, path: &str) {
        let mut command = self.command();
        // Git refuses local submodules unless told otherwise.
        command.args(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"]).arg(&other.root).arg(path);
        succeed(&mut command);
        self.commit("submodule");
    }

    /// Adds a worktree on a new branch, beside the project, and gives its folder.
    #[track_caller]
    pub fn worktree(&self, branch: &str) -> PathBuf {
        let path = self.root.with_file_name(format!("worktree-{}", branch.replace('/', "-")));
        let mut command = self.command();
        command.args(["worktree", "add", "--quiet", "-b", branch]).arg(&path);
        succeed(&mut command);
        path
    }

    /// Plants programs that git would start, and gives the file that they add their names to; see [`crate::CANARIES`].
    #[track_caller]
    pub fn plant_canaries(&self) -> PathBuf {
        let log = self.scratch.path().join("canaries.log");
        if let Err(error) = canary::plant_canaries(&self.root, &log) {
            panic!("could not plant canaries in {}: {error}", self.root.display());
        }
        log
    }

    #[track_caller]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.git_directory())
    }

    /// Runs git in the project and gives what it printed, without the last line break.
    #[track_caller]
    pub fn git<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> String {
        let output = succeed(self.command().args(arguments));
        String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
    }

    /// Runs a line with `sh -c` in the project, whatever comes of it. Git behaves in it as in [`Repo::git`].
    #[track_caller]
    pub fn shell(&self, line: &str) -> Output {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).current_dir(&self.root);
        isolate(&mut command);
        // Compilers and interpreters are often found through the home folder.
        match std::env::var_os("HOME") {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
        // A cargo in the line builds in the project, not in the folder that the tests themselves are built in.
        command.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_BUILD_TARGET_DIR");
        run(&mut command)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.root);
        isolate(&mut command);
        command
    }

    #[track_caller]
    fn expect_fixture(&self) -> &Fixture {
        self.fixture.as_ref().unwrap_or_else(|| panic!("{} is not a fixture", self.root.display()))
    }
}

fn isolate(command: &mut Command) {
    // A test that runs inside a hook or a rebase inherits variables that point git at another repository.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command.envs(git_environment());
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("could not start {command:?}: {error}"))
}

#[track_caller]
fn succeed(command: &mut Command) -> Output {
    let output = run(command);
    let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    let said = || format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "`git {}` failed with {}: {}", words.join(" "), output.status, said());
    output
}
