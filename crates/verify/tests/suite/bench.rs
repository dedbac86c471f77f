//! A small project in a folder of its own, and the runners to try on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_model::Runner;
use ralph_verify::tripwire::{File, Judgement, Plant, Seen, judge, mentions, plants};
use tempfile::TempDir;

/// A project on disk.
pub(crate) struct Project {
    folder: TempDir,
    files: Vec<(String, Vec<u8>)>,
}

/// What became of a run.
pub(crate) struct Ran {
    pub(crate) ok: bool,
    pub(crate) output: String,
}

/// What the wire showed.
pub(crate) struct Tripped {
    pub(crate) judgement: Judgement,
    pub(crate) plants: Vec<Plant>,
    pub(crate) output: String,
}

impl Tripped {
    #[track_caller]
    pub(crate) fn is_reported(&self) {
        assert!(!self.plants.is_empty(), "nothing was planted");
        assert_eq!(self.judgement, Judgement::Reported, "{}", self.output);
    }

    #[track_caller]
    pub(crate) fn is_not_reported(&self) {
        assert!(!self.plants.is_empty(), "nothing was planted");
        assert_ne!(self.judgement, Judgement::Reported, "{}", self.output);
    }
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { TempDir::new_in(shared) } else { TempDir::new() };
        let project = Self {
            folder: folder.unwrap(),
            files: files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect(),
        };
        for (path, content) in &project.files {
            project.write(path, content);
        }
        project
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, path: &str, content: &[u8]) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Makes installed packages available.
    pub(crate) fn link(&self, modules: &Path) -> &Self {
        std::os::unix::fs::symlink(modules, self.path().join("node_modules")).unwrap();
        self
    }

    pub(crate) fn run(&self, command: &str) -> Ran {
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(self.path())
            .env("CARGO_TARGET_DIR", self.path().join("target"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("GOCACHE", tools().join("go-cache"))
            .env("GOFLAGS", "-mod=mod")
            .env("GOTOOLCHAIN", "local")
            // Node's runner and colours depend on what started these tests.
            .env_remove("NODE_TEST_CONTEXT")
            .env_remove("FORCE_COLOR")
            .output()
            .unwrap();
        Ran { ok: output.status.success(), output: String::from_utf8_lossy(&output.stdout).into_owned() }
    }

    /// Runs a command as it is, plants, and runs it again. Like every loop at its end, the first run has to pass.
    #[track_caller]
    pub(crate) fn trip(&self, runner: Runner, command: &str) -> Tripped {
        let before = self.run(command);
        assert!(before.ok, "the project is not green: {}", before.output);
        let files: Vec<File<'_>> = self.files.iter().map(|(path, content)| File { path, content }).collect();
        let plants = plants(&[runner], &[command], &files, &files, 20_261_115);
        for plant in &plants {
            self.write(&plant.path, &plant.content);
        }
        let after = self.run(command);
        for plant in plants.iter().filter(|plant| plant.is_new) {
            fs::remove_file(self.path().join(&plant.path)).unwrap();
        }
        for (path, content) in &self.files {
            self.write(path, content);
        }
        let seen = Seen { exit_ok: after.ok, failing: &[], output: &after.output };
        let judgement = judge(&plants, &|path| mentions(path, &before.output), &seen);
        Tripped { judgement, plants, output: after.output }
    }
}

/// What `scripts/test-tools` installs.
fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-tools")
}

fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// The folder with packages of npm that holds jest, vitest, mocha and chai.
pub(crate) fn node_modules() -> PathBuf {
    let modules = tools().join("npm/node_modules");
    for package in ["jest", "vitest", "mocha", "chai"] {
        assert!(modules.join(package).join("package.json").is_file(), "{package} is missing: run scripts/test-tools");
    }
    modules.canonicalize().unwrap()
}

/// A program as it is found, or as it was installed.
pub(crate) fn program(name: &str, version: &str) -> String {
    let installed = tools().join("python/bin").join(name);
    if works(name, &[version]) {
        return name.to_owned();
    }
    let installed = installed.to_str().unwrap();
    assert!(works(installed, &[version]), "{name} is missing: run scripts/test-tools");
    installed.to_owned()
}
