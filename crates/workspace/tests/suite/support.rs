use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ralph_model::{Change, ChangeKind, LoopId, TreeHash, Violation};
use ralph_workspace::{Baseline, Error, Guard, Offence, Options, PinBaseline, Pins, Repository, StopFlag, Workspace};
use tempfile::TempDir;

/// A throwaway workspace with a state folder beside it.
pub(crate) struct Fixture {
    pub(crate) folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) state: PathBuf,
}

pub(crate) fn git_program() -> PathBuf {
    ["/usr/local/bin/git", "/usr/bin/git", "/bin/git"].iter().map(PathBuf::from).find(|path| path.exists()).unwrap()
}

pub(crate) fn throwaway() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

pub(crate) fn id() -> LoopId {
    "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap()
}

/// What is not as it was, of prohibited paths and of pinned files.
pub(crate) fn look(
    workspace: &mut Workspace,
    (guard, baseline): (&Guard, &Baseline),
    pinned: (&Pins, &PinBaseline),
) -> Result<(Vec<Violation>, Vec<Offence>), Error> {
    let at = (id(), "look");
    let (_, violations) = workspace.snapshot_guarded(at, Duration::ZERO, guard, baseline, Some(pinned))?;
    Ok((violations, workspace.pins_check(pinned.0, pinned.1)?))
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = throwaway();
        let root = folder.path().canonicalize().unwrap().join("work");
        let state = folder.path().canonicalize().unwrap().join("state");
        fs::create_dir(&root).unwrap();
        Self { folder, root, state }
    }

    /// With a repository on branch `main` and one commit of what `files` writes.
    pub(crate) fn repository(files: &[(&str, &str)]) -> Self {
        let fixture = Self::new();
        fixture.git(&["init", "-q", "-b", "main"]);
        for (path, content) in files {
            fixture.write(path, content);
        }
        fixture.git(&["add", "-A", "-f"]);
        fixture.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        fixture
    }

    pub(crate) fn open(&self) -> Workspace {
        Workspace::open(self.options()).unwrap()
    }

    pub(crate) fn options(&self) -> Options {
        let (root, state, stop) = (self.root.clone(), self.state.clone(), StopFlag::default());
        Options { root, state, git: git_program(), global_excludes: None, stop }
    }

    pub(crate) fn repo(&self) -> Repository {
        fs::create_dir_all(&self.state).unwrap();
        Repository::find(&self.root, &git_program(), &self.state).unwrap()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    pub(crate) fn mode(&self, path: &str) -> u32 {
        fs::symlink_metadata(self.root.join(path)).unwrap().permissions().mode() & 0o7777
    }

    pub(crate) fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Runs git as a user would, with nothing of the machine's own configuration.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        run_git(&self.root, arguments)
    }
}

pub(crate) fn user_git(folder: &Path) -> Command {
    let mut command = Command::new(git_program());
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "User")
        .env("GIT_AUTHOR_EMAIL", "user@example.com")
        .env("GIT_COMMITTER_NAME", "User")
        .env("GIT_COMMITTER_EMAIL", "user@example.com")
        .args(["-c", "protocol.file.allow=always"]);
    command
}

pub(crate) fn run_git<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> String {
    let output = user_git(folder).args(arguments).output().unwrap();
    let shown: Vec<_> = arguments.iter().map(|argument| argument.as_ref().to_string_lossy()).collect();
    assert!(output.status.success(), "git {shown:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Runs plain git on Ralph's own git directory.
pub(crate) fn own_git(workspace: &Workspace, arguments: &[&str]) -> String {
    let git_dir = format!("--git-dir={}", workspace.git_dir().display());
    let mut all = vec![git_dir.as_str()];
    all.extend(arguments);
    run_git(Path::new("/"), &all)
}

pub(crate) fn assert_sound(workspace: &Workspace) {
    let printed = own_git(workspace, &["fsck", "--full", "--strict", "--no-dangling"]);
    assert_eq!(printed, "");
}

pub(crate) fn names(workspace: &Workspace, tree: &TreeHash) -> Vec<String> {
    let listed = own_git(workspace, &["ls-tree", "-r", "-z", "--name-only", &tree.0]);
    listed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

pub(crate) fn changed(path: &str, kind: ChangeKind) -> Change {
    Change { path: path.to_owned(), kind }
}

/// A hash of everything in a folder: names, contents, permissions, link targets.
pub(crate) fn fingerprint(folder: &Path, skip: &[&str]) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(folder).unwrap().to_owned();
            if skip.iter().any(|skipped| below == Path::new(skipped)) {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_dir() {
                open.push(path);
                Vec::new()
            } else if metadata.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            found.push((below, metadata.permissions().mode(), content));
        }
    }
    found.sort();
    found
}
