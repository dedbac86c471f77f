//! Programs that try to get out of their sandbox, and programs that do honest work in it. Everything is tried at every
//! level that this machine has; what it lacks is said.

mod files;
mod network;
mod processes;
mod work;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ralph_model::Ended;
use ralph_process::{Files, Finished, Level, Network, NetworkLevel, ReadLevel, ReaperProgram, Sandbox, Spec, probe};
use tempfile::TempDir;

use crate::support::{Lab, supervisor};

pub(crate) fn reaper() -> ReaperProgram {
    ReaperProgram { program: env!("CARGO_BIN_EXE_ralph-reaper").into(), arguments: Vec::new() }
}

/// Every level that works here, the weaker ones too.
pub(crate) fn levels() -> Vec<Level> {
    let bubblewrap = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"].iter().map(Path::new).find(|path| path.exists());
    let mut levels = vec![probe(&reaper(), None)];
    if let Some(bubblewrap) = bubblewrap {
        levels.push(probe(&reaper(), Some(bubblewrap)));
        // As on a kernel without Landlock.
        let without = levels.iter().filter_map(|level| match &level.files {
            Files::Bubblewrap { program, .. } => {
                let files = Files::Bubblewrap { program: program.clone(), landlock: None };
                Some(Level { files, ..level.clone() })
            }
            _ => None,
        });
        levels.extend(without.collect::<Vec<_>>());
    } else {
        println!("SKIPPED: bubblewrap is not installed, so only Landlock is tried");
    }
    // As on a machine without namespaces of mounts.
    let readable = levels.iter().find(|level| matches!(level.files, Files::Landlock { .. }) && hides(level));
    if let Some(level) = readable.cloned() {
        levels.push(Level { reads: ReadLevel::Open { why: "a test".into() }, ..level });
    } else {
        println!("SKIPPED: Landlock without mounts of its own: {levels:?}");
    }
    levels.retain(|level| {
        let protected = !matches!(level.files, Files::Open { .. });
        if !protected {
            println!("SKIPPED: files cannot be protected here ({level})");
        }
        protected
    });
    levels.dedup();
    levels
}

pub(crate) fn landlock(level: &Level) -> Option<u32> {
    match &level.files {
        Files::Landlock { version } => Some(*version),
        Files::Bubblewrap { landlock, .. } => *landlock,
        Files::Open { .. } => None,
    }
}

/// Whether all of the file system is mounted for the program.
pub(crate) fn has_mounts(level: &Level) -> bool {
    matches!(level.files, Files::Bubblewrap { .. })
}

/// Whether what is hidden cannot be seen.
pub(crate) fn hides(level: &Level) -> bool {
    level.reads == ReadLevel::Hidden
}

/// A workspace that may be written, a folder beside it that may not, and a state that is hidden except for one folder.
pub(crate) struct Cell {
    pub(crate) lab: Lab,
    pub(crate) level: Level,
}

impl Cell {
    pub(crate) fn new(level: &Level) -> Self {
        // Not in /dev/shm, which every program may write.
        let lab = Lab { folder: TempDir::new().unwrap(), supervisor: supervisor(Default::default()) };
        for folder in ["work", "outside/empty", "state/attempt"] {
            fs::create_dir_all(lab.path(folder)).unwrap();
        }
        fs::write(lab.path("outside/file"), "precious").unwrap();
        fs::write(lab.path("state/secret"), "hidden").unwrap();
        Self { lab, level: level.clone() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.lab.path(name)
    }

    pub(crate) fn sandbox(&self, network: Network) -> Sandbox {
        Sandbox {
            writable: vec![self.path("work"), self.path("state/attempt")],
            hidden: vec![self.path("state")],
            network,
            level: self.level.clone(),
        }
    }

    pub(crate) fn spec(&self, line: &str) -> Spec {
        let mut spec = self.lab.spec(line);
        spec.directory = self.path("work");
        spec.environment.push(("OUT".into(), self.path("outside").into()));
        spec.environment.push(("STATE".into(), self.path("state").into()));
        spec.environment.push(("RALPH".into(), std::process::id().to_string().into()));
        spec.sandbox = Some(self.sandbox(Network::Allowed));
        spec
    }

    pub(crate) async fn run(&self, line: &str) -> Finished {
        self.lab.run_spec(self.spec(line)).await.unwrap()
    }

    pub(crate) async fn run_alone(&self, line: &str) -> Finished {
        let mut spec = self.spec(line);
        spec.sandbox = Some(self.sandbox(Network::Loopback));
        self.lab.run_spec(spec).await.unwrap()
    }

    /// With nothing in reach but these ports.
    pub(crate) async fn run_with_ports(&self, line: &str, ports: &[u16]) -> Finished {
        let mut spec = self.spec(line);
        spec.sandbox = Some(self.sandbox(Network::Ports(ports.to_vec())));
        self.lab.run_spec(spec).await.unwrap()
    }

    pub(crate) async fn output_of(&self, line: &str) -> String {
        let finished = self.run(line).await;
        assert_eq!(finished.ended, Ended::Exited { code: 0 }, "{}: {line}: {}", self.level, finished.stderr);
        finished.stdout
    }
}

/// The first of these programs that this user can run.
pub(crate) fn program(candidates: &[&str], argument: &str) -> Option<String> {
    let works = |candidate: &&&str| {
        let mut command = Command::new(candidate);
        command.arg(argument).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let found = candidates.iter().find(works).map(|found| (*found).to_owned());
    if found.is_none() {
        println!("SKIPPED: this user has no {}", candidates[0]);
    }
    found
}

/// Python itself, not one of the scripts that look for it.
pub(crate) fn python() -> Option<String> {
    let python = program(&["python3", "/usr/bin/python3"], "--version")?;
    let output = Command::new(python).args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn the_probe_finds_what_is_there_and_says_it_in_words() {
    let level = probe(&reaper(), None);
    println!("this machine: {level}");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    if matches!(level.files, Files::Open { .. }) {
        println!("SKIPPED: no Landlock in Linux {kernel}");
    } else {
        assert!(level.to_string().starts_with("landlock v"), "{level}");
    }
    // A program that is none, and one that does something else.
    for nonsense in ["/nonexistent/bwrap", "/bin/true", "/bin/false"] {
        assert_eq!(probe(&reaper(), Some(Path::new(nonsense))), level);
    }
    let none = ReaperProgram { program: "/nonexistent/ralph".into(), arguments: Vec::new() };
    let found = probe(&none, None);
    assert!(matches!(found, Level { files: Files::Open { .. }, network: NetworkLevel::Open { .. }, .. }), "{found}");
}

/// Root and other users take different ways into the same sandbox.
#[test]
fn all_of_this_holds_for_an_ordinary_user_too() {
    const NAME: &str = "sandbox::all_of_this_holds_for_an_ordinary_user_too";
    let nobody = 65_534;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let command = |program: &Path| {
        let mut command = Command::new(program);
        command.uid(nobody).gid(nobody).current_dir("/").stdin(Stdio::null());
        command
    };
    let this = std::env::current_exe().unwrap();
    if command(&this).arg("--list").output().is_err() {
        println!("SKIPPED: another user cannot execute this test program");
        return;
    }
    let output = command(&this).args(["sandbox::", "--skip", NAME, "--nocapture"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains(" 0 passed"), "{text}");
}
