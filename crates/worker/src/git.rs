//! Runs git as the user would: with the user's configuration and logins, because repositories are fetched and pushed. Only in git
//! directories that no agent can write.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ralph_host::Host;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::error::Error;

/// Longer than the largest clone takes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(3600);
/// How long a remote may take to say which branches it has.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a remote may take for the work of an iteration, with hooks of its own.
pub(crate) const PUSH_TIMEOUT: Duration = Duration::from_secs(600);
/// Characters of what git says that an error shows.
const MAX_SAID: usize = 600;

/// Variables that would lead git to another repository than the one that is meant.
const LEADING: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// The git program and the environment of the user.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    program: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

impl Git {
    pub(crate) fn new(host: &Host) -> Result<Self, Error> {
        let is_leading = |name: &OsString| LEADING.iter().any(|leading| name == leading);
        let variables = host.variables().iter().filter(|(name, _)| !is_leading(name)).cloned().collect();
        Ok(Self { program: host.git()?, variables })
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn in_dir(&self, git_dir: &Path) -> Call {
        let mut call = self.call();
        call.command.env("GIT_DIR", git_dir);
        call
    }

    /// A call in no repository.
    pub(crate) fn call(&self) -> Call {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(self.variables.iter().cloned())
            // There is no user to ask, neither here nor by ssh, which would be stopped where it asks from the background.
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("SSH_ASKPASS_REQUIRE", "force")
            .env("LC_ALL", "C")
            .current_dir("/")
            .args(["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .process_group(0);
        if !self.variables.iter().any(|(name, _)| name == "SSH_ASKPASS") {
            command.env("SSH_ASKPASS", "false");
        }
        Call { command, input: None, timeout: TIMEOUT }
    }
}

pub(crate) struct Call {
    command: Command,
    input: Option<String>,
    timeout: Duration,
}

/// A git that runs. One that is given up takes along what it started: ssh and the helpers for https would wait as long as the remote is
/// silent. It is asked to end, so that it leaves no locks in a remote on this machine.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Gone once it was waited for: then its number may be another's.
        if let Some(group) = self.0.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            let _ = kill_process_group(group, Signal::TERM);
        }
    }
}

impl Call {
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn input(mut self, text: impl Into<String>) -> Self {
        self.input = Some(text.into());
        self
    }

    /// Gives a remote another time to answer.
    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Runs it to its end and gives what it printed, trimmed; an error unless it exits with 0.
    pub(crate) async fn run(mut self, action: &str) -> Result<String, Error> {
        let failed = |why: String| Error::Git { action: action.to_owned(), why };
        let stdin = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        let spawned = self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut running = Running(spawned.map_err(|error| failed(error.to_string()))?);
        let child = &mut running.0;
        let feed = child.stdin.take().zip(self.input);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let ended = async {
            let feed = async {
                if let Some((mut pipe, text)) = feed {
                    // If it stops reading, its exit code and its message say why.
                    let _ = pipe.write_all(text.as_bytes()).await;
                }
            };
            let ((), printed, said) = tokio::join!(feed, read(stdout), read(stderr));
            // The last: while it is not waited for, its process group is its own.
            std::io::Result::Ok((printed?, said?, child.wait().await?))
        };
        let (printed, said, status) = match tokio::time::timeout(self.timeout, ended).await {
            Ok(ended) => ended.map_err(|error| failed(error.to_string()))?,
            Err(_) => return Err(failed(format!("{SILENT} within {} minutes", self.timeout.as_secs() / 60))),
        };
        if status.success() {
            return Ok(String::from_utf8_lossy(&printed).trim().to_owned());
        }
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said: String = lines.join("; ").chars().take(MAX_SAID).collect();
        Err(failed(if said.is_empty() { status.to_string() } else { said }))
    }
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// What is said of a git that did not end.
const SILENT: &str = "it did not end";

/// What git says, in the C locale, about a server that may answer later. A repository that does not exist or refuses the login is
/// none of these.
const AWAY: [&str; 13] = [
    SILENT,
    "Could not resolve host",
    "Could not resolve hostname",
    "Failed to connect",
    "Couldn't connect",
    "Connection refused",
    "Connection timed out",
    "Connection reset",
    "Operation timed out",
    "Network is unreachable",
    "No route to host",
    "early EOF",
    "The requested URL returned error: 5",
];

/// Tells a remote that is away from one that refuses.
pub(crate) fn of_remote(error: Error) -> Error {
    match error {
        Error::Git { action, why } if AWAY.iter().any(|sign| why.contains(sign)) => Error::Remote { action, why },
        error => error,
    }
}

/// An address without the login in it, for messages and for agents.
pub(crate) fn shown(address: &str) -> String {
    match address.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => address.to_owned(),
    }
}
