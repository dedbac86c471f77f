//! Starts the scripted agent as a supervisor would.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use ralph_testkit::{Script, scratch};
use tempfile::TempDir;

/// Far beyond what anything here takes on a loaded machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A folder for the agent to work in, and its script beside it.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) script: PathBuf,
}

impl Stage {
    pub(crate) fn new(script: Script) -> Self {
        let folder = scratch();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let script = script.save(folder.path());
        Self { folder, script }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn outside(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scripted-agent"));
        command.arg(&self.script).current_dir(self.work());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn start(&self, prompt: &str) -> Child {
        start(&mut self.command(), prompt)
    }

    pub(crate) fn run(&self, prompt: &str) -> Output {
        self.start(prompt).wait_with_output().unwrap()
    }

    /// Runs the agent and gives what it printed.
    pub(crate) fn succeed(&self) -> String {
        let output = self.run("the prompt");
        assert!(output.status.success(), "{} {}", output.status, String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.work().join(path)).unwrap()
    }
}

pub(crate) fn start(command: &mut Command, prompt: &str) -> Child {
    let mut child = command.spawn().unwrap();
    match child.stdin.take().unwrap().write_all(prompt.as_bytes()) {
        // An agent may end without having read its prompt.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written.unwrap(),
    }
    child
}

/// Waits until a file is there, and reads it.
pub(crate) fn wait_for(path: &Path) -> String {
    let start = std::time::Instant::now();
    loop {
        if let Ok(text) = std::fs::read_to_string(path) {
            return text;
        }
        assert!(start.elapsed() < TIMEOUT, "{} did not appear", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}
