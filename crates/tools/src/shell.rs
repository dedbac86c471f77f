//! `bash_execute`, and how every program of a tool runs: supervised, in the sandbox and the environment of the agent.

use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_agents::StopSignal;
use ralph_checks::Counter;
use ralph_model::{Ended, Millis, TestTally};
use ralph_process::{Sandbox, Spec, Stdin, Supervisor};
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use crate::registry::{Answer, Context, Registry};
use crate::{Effect, MAX_TEXT, Outcome};

const DEFAULT_TIMEOUT: u64 = 120;
const MAX_TIMEOUT: u64 = 1800;
/// How long a command has between being asked to end and being killed.
const GRACE: Millis = Millis::secs(3);
/// What a log of one command may hold. It is removed with the end of the call.
const LOG_LIMIT: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct Shell {
    pub supervisor: Arc<Supervisor>,
    pub environment: Vec<(OsString, OsString)>,
    pub sandbox: Option<Sandbox>,
    /// A folder for their outputs that no program can write.
    pub logs: PathBuf,
    pub idle: Option<Millis>,
    /// Descriptors that stay open until their processes are gone.
    pub hold: Vec<Arc<OwnedFd>>,
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) ended: Ended,
    /// Both outputs in the order in which they came; of a long one the beginning and the end.
    pub(crate) text: String,
    pub(crate) tests: Option<TestTally>,
    duration: Millis,
    swept: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Execute {
    /// A line for `sh -c`, run in the workspace.
    command: String,
    /// Ends it after so many seconds: 120 unless given, 1800 at most.
    timeout_seconds: Option<u64>,
}

pub(crate) fn register(registry: &mut Registry, shell: &Arc<Shell>, workspace: &Path) {
    let shared = (Arc::clone(shell), workspace.to_owned());
    let description = "Runs a command in a shell, without a terminal. Processes that it leaves behind are ended.";
    registry.add(&shared, "bash_execute", Effect::Runs, description, execute);
}

async fn execute((shell, workspace): (Arc<Shell>, PathBuf), arguments: Execute, context: Context) -> Answer {
    let seconds = arguments.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT);
    if !(1..=MAX_TIMEOUT).contains(&seconds) {
        return Err(format!("timeoutSeconds is {seconds}: it has to be 1 to {MAX_TIMEOUT}"));
    }
    let program = Spec::shell(&arguments.command);
    let ran = shell.run(program, &workspace, &[], Stdin::Empty, Millis::secs(seconds), context.stop).await?;
    Ok(outcome(&arguments.command, ran))
}

/// A command fails when its process does, and when a test runner says so whatever the process says.
fn outcome(command: &str, ran: Ran) -> Outcome {
    let tests = match &ran.tests {
        None => String::new(),
        Some(TestTally { failed: 0, passed, .. }) => format!(", {passed} tests passing"),
        Some(TestTally { failed: 1, .. }) => ", 1 test failing".to_owned(),
        Some(TestTally { failed, .. }) => format!(", {failed} tests failing"),
    };
    let success = ran.ended.is_success() && ran.tests.as_ref().is_none_or(|tests| tests.failed == 0);
    let end = format!("{}{tests}", ran.ended);
    let swept = match ran.swept {
        0 => String::new(),
        swept => format!("; {swept} processes that it left behind were ended"),
    };
    let gap = if ran.text.is_empty() || ran.text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{}{gap}[{end}, {}{swept}]", ran.text, ran.duration);
    Outcome { success, ..Outcome::done(format!("{command} ({end})"), text) }
}

impl Shell {
    /// Runs a program to its end.
    pub(crate) async fn run(
        &self,
        program: Vec<OsString>,
        directory: &Path,
        variables: &[(&str, &str)],
        stdin: Stdin,
        timeout: Millis,
        stop: StopSignal,
    ) -> Result<Ran, String> {
        let failed = |error: &dyn std::fmt::Display| format!("the command could not be run: {error}");
        fs::create_dir_all(&self.logs).map_err(|error| failed(&error))?;
        let log = self.logs.join(format!("tool-{}.log", Uuid::now_v7()));
        let mut environment = self.environment.clone();
        environment.retain(|(name, _)| !variables.iter().any(|(known, _)| name == known));
        environment.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
        let spec = Spec {
            program,
            directory: directory.to_owned(),
            environment,
            stdin,
            log: log.clone(),
            pieces: None,
            log_limit: LOG_LIMIT,
            tail: 0,
            timeout: Some(timeout),
            idle: self.idle,
            grace: GRACE,
            hold: self.hold.clone(),
            sandbox: self.sandbox.clone(),
        };
        let (mut capture, mut counter) = (Capture::default(), Counter::new());
        let mut observe = |_, piece: &str| {
            capture.push(piece);
            counter.feed(piece);
        };
        let finished = self.supervisor.run(spec, stop, &mut observe).await;
        if let Err(error) = fs::remove_file(&log) {
            tracing::debug!(%error, ?log, "the output of a tool could not be removed");
        }
        let finished = finished.map_err(|error| failed(&error))?;
        let (ended, duration, swept) = (finished.ended, finished.duration, finished.swept);
        Ok(Ran { ended, text: capture.finish(), tests: counter.finish(), duration, swept })
    }
}

/// The beginning and the end of an output, in bounded memory.
#[derive(Default)]
struct Capture {
    head: String,
    tail: String,
    left_out: usize,
}

impl Capture {
    const HALF: usize = (MAX_TEXT - 512) / 2;

    fn push(&mut self, piece: &str) {
        let room = if self.tail.is_empty() { Self::HALF.saturating_sub(self.head.len()) } else { 0 };
        let (head, tail) = piece.split_at(piece.floor_char_boundary(room));
        self.head.push_str(head);
        self.tail.push_str(tail);
        if self.tail.len() > 2 * Self::HALF {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let over = self.tail.ceil_char_boundary(self.tail.len().saturating_sub(Self::HALF));
        self.tail.drain(..over);
        self.left_out += over;
    }

    fn finish(mut self) -> String {
        self.cut();
        match self.left_out {
            0 => self.head + &self.tail,
            bytes => format!("{}\n[… {bytes} bytes left out …]\n{}", self.head, self.tail),
        }
    }
}
