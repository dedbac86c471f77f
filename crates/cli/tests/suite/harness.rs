//! Starts the program with a state and a home of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use ralph_testkit::{Script, agent_command, scratch};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than any command of these tests takes on a busy machine.
const MAX_LENGTH: std::time::Duration = std::time::Duration::from_secs(180);

/// The program under test: the one that `scripts/test` built as it ships, else the one that cargo built for the tests, which
/// may have more features of its dependencies.
pub fn program() -> PathBuf {
    std::env::var_os("RALPH_TEST_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_ralph").into(), PathBuf::from)
}

/// One user: a home, a state, nothing else of this machine but PATH.
pub struct User {
    folder: TempDir,
}

/// What a command left behind.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl User {
    pub fn new() -> Self {
        let folder = scratch();
        std::fs::create_dir_all(folder.path().join("home")).unwrap();
        Self { folder }
    }

    /// `TMPDIR`: the folder of all throwaway folders, so that agents can leave traces beside their workspace for a test
    /// to find. Tests of the sandbox set a narrower one.
    pub fn temporary(&self) -> PathBuf {
        self.folder.path().parent().unwrap().to_owned()
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// `RALPH_HOME`.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn config_file(&self) -> PathBuf {
        self.home().join(".config/ralph/config.toml")
    }

    pub fn configure(&self, toml: &str) {
        let path = self.config_file();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, toml).unwrap();
    }

    /// Saves a script outside of the workspace and gives the words that run it.
    pub fn agent(&self, script: Script) -> String {
        let folder = tempfile::Builder::new().prefix("agent-").tempdir_in(self.folder.path()).unwrap().keep();
        agent_command(&script.save(&folder))
    }

    pub fn command<S: AsRef<OsStr>>(&self, directory: &Path, words: impl IntoIterator<Item = S>) -> Command {
        self.prepared(program(), directory, words)
    }

    /// As [`User::command`], with the program that has a settable clock and crash points.
    pub fn hooked<S: AsRef<OsStr>>(&self, directory: &Path, words: impl IntoIterator<Item = S>) -> Command {
        if cfg!(not(feature = "test-hooks")) {
            panic!("run with --features ralph-cli/test-hooks, as scripts/test does");
        }
        self.prepared(env!("CARGO_BIN_EXE_ralph").into(), directory, words)
    }

    fn prepared<S: AsRef<OsStr>>(
        &self,
        program: PathBuf,
        directory: &Path,
        words: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("RALPH_HOME", self.state())
            .env("TMPDIR", self.temporary())
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        // Toolchains of this machine, for fixtures that build.
        for name in ["CARGO_HOME", "RUSTUP_HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// Runs to the end.
    pub fn ralph<S: AsRef<OsStr>>(&self, directory: &Path, words: impl IntoIterator<Item = S>) -> Ended {
        Ended::of(self.spawn(directory, words))
    }

    /// Starts and goes on; outputs are piped.
    pub fn spawn<S: AsRef<OsStr>>(&self, directory: &Path, words: impl IntoIterator<Item = S>) -> Child {
        self.command(directory, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The newest loop, as `ralph list --all --json` shows it.
    pub fn newest_loop(&self) -> Value {
        let listed = self.ralph(&self.home(), ["list", "--all", "--json"]).ok().json();
        listed[0].clone()
    }

    /// A loop as `ralph show --json` shows it.
    pub fn show(&self, loop_id: &str) -> Value {
        self.ralph(&self.home(), ["show", loop_id, "--json"]).ok().json()
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ended {
    /// Waits for the end. A program that hangs is ended, so that its test fails with what it printed.
    pub fn of(child: Child) -> Self {
        let pid = rustix::process::Pid::from_child(&child);
        let (ended, ending) = std::sync::mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if ending.recv_timeout(MAX_LENGTH) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        });
        let output = child.wait_with_output().unwrap();
        drop(ended);
        watch.join().unwrap();
        Self::from(output)
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        self.with_code(0)
    }

    #[track_caller]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {}\n{}", self.stdout, self.stderr))
    }
}

/// The words of an ordinary run, to which a test adds its own.
pub fn run_words(agent: &str, max: u32) -> Vec<String> {
    let max = max.to_string();
    let words = [
        "run",
        "Make the check pass",
        "--max",
        &max,
        "--max-cost",
        "1",
        "--pause",
        "0",
        "--json",
        // The scripted agent reports its cost, and a test says when.
        "--cost-after-run",
        "--agent-command",
        agent,
    ];
    words.map(str::to_owned).to_vec()
}

/// `run_words` and more.
pub fn run_words_with(agent: &str, max: u32, more: &[&str]) -> Vec<String> {
    let mut words = run_words(agent, max);
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words
}
