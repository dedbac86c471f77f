//! A notification on the desktop, through the program `notify-send`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::{Error, Message};

const TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug, Clone)]
pub struct Desktop {
    /// `notify-send`, or a program that takes the same arguments.
    pub program: PathBuf,
    /// Its complete environment: it has to find the session's bus.
    pub environment: Vec<(OsString, OsString)>,
}

impl Desktop {
    pub(crate) async fn send(&self, message: &Message) -> Result<String, Error> {
        let failed = |why: String| Error::Failed(format!("{}: {why}", self.program.display()));
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(self.environment.iter().cloned())
            .args(["--app-name=Ralph", "--", &message.title, &message.text])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        match tokio::time::timeout(TIMEOUT, child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(crate::digest(&message.key)),
            Ok(Ok(status)) => Err(failed(status.to_string())),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed(format!("no end within {} s", TIMEOUT.as_secs()))),
        }
    }
}
