//! Runs verification commands under supervision and says how each ended. Decides nothing about a loop.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_model::{CheckOutcome, Ended, Expectation, Millis, Missing, OutputRef};
use ralph_process::{Sandbox, Spec, Stdin, Stop, Supervisor};
use tokio::sync::watch;

use crate::expectation::{Observed, evaluate};
use crate::reading::{Read, Reading};
use crate::reports::{Before, choose};
use crate::retry::Runs;
use ralph_verify::confirm::naming_tests;
use ralph_verify::test_names;

/// How long a check has between being asked to end and being killed: enough to stop a database that it started.
const GRACE: Millis = Millis::secs(3);

#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Lines for `sh -c`, run in order.
    pub commands: &'a [String],
    pub directory: &'a Path,
    pub environment: Vec<(OsString, OsString)>,
    pub timeout: Millis,
    /// How long each may neither print nor use processor time.
    pub idle: Option<Millis>,
    /// The folder that gets their outputs. It is created when it is missing.
    pub logs: &'a Path,
    /// What the names of the outputs start with: `iteration-3` makes `iteration-3-check-1.log`.
    pub log_prefix: String,
    /// The folder that [`OutputRef::file`] is relative to; [`Request::logs`] is inside it.
    pub log_root: &'a Path,
    /// Bytes of each output that are kept.
    pub log_limit: u64,
    /// Globs of test reports, JUnit XML or the JSON of jest, vitest and mocha, relative to the directory.
    pub junit: &'a [String],
    /// Test reports outside the directory that the environment makes a runner write, absolute. Each is deleted before
    /// every run.
    pub extra_reports: Vec<PathBuf>,
    /// How often a failing check is run again, to tell a flake from a failure. Commands among expectations are not.
    pub retries: u32,
    pub sandbox: Option<Sandbox>,
    /// Descriptors that stay open until each command's processes are gone.
    pub hold: Vec<Arc<OwnedFd>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a value is looked at once and never kept in numbers")]
pub enum Progress {
    Started {
        /// Its place, from 0.
        index: usize,
        command: String,
        /// How often it ran before, without passing.
        retry: u32,
    },
    /// The last line that it printed: sanitize, without colours, bounded. Not every line is shown.
    Output(String),
    /// A command ended, and is not run again.
    Finished(CheckOutcome),
}

/// Checks could not be run. A check that fails is no error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "could not create the folder {path} for the output of checks: check the free space and the permissions there"
    )]
    Logs { path: PathBuf, source: io::Error },
    #[error("the folder {logs} for the output of checks must be inside {root}")]
    LogsOutside { logs: PathBuf, root: PathBuf },
    #[error("`{glob}` is not a glob for test reports: write it like build/test-results/**/*.xml")]
    Glob { glob: String, source: ignore::Error },
    #[error("could not start `{command}`: {why}; `ralph doctor` checks shell and sandbox")]
    CouldNotStart { command: String, why: String },
    #[error("could not run `{command}`")]
    Process { command: String, source: ralph_process::Error },
}

#[derive(Debug, Clone)]
pub struct Checker {
    supervisor: Arc<Supervisor>,
}

#[derive(Debug, Clone, Copy)]
struct Run<'a> {
    kind: Kind,
    index: usize,
    retry: u32,
    command: &'a str,
}

impl Run<'_> {
    fn log_name(&self, prefix: &str) -> String {
        let name = format!("{prefix}-{}-{}", self.kind.name(), self.index + 1);
        if self.retry == 0 { format!("{name}.log") } else { format!("{name}-retry-{}.log", self.retry) }
    }
}

/// Names of output files.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Check,
    Expectation,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Expectation => "expectation",
        }
    }
}

impl Checker {
    pub const fn new(supervisor: Arc<Supervisor>) -> Self {
        Self { supervisor }
    }

    /// Runs all commands, one after the other, also when one of them fails: an agent learns more from all failures
    /// than from the first. There is one outcome for every command; after `stop` the rest is not started and has failed.
    ///
    /// A command that fails is run again up to [`Request::retries`] times. When it passes then, it is flaky and has not
    /// passed; its outcome tells of the first run in any case, but for the time that all of them took.
    ///
    /// # Errors
    /// When checks could not be run at all: also a command that could not be started says nothing about the work. A command that
    /// fails or is killed is an outcome.
    pub async fn run(
        &self,
        request: Request<'_>,
        stop: watch::Receiver<Option<Stop>>,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Vec<CheckOutcome>, Error> {
        let mut outcomes = Vec::with_capacity(request.commands.len());
        for (index, command) in request.commands.iter().enumerate() {
            let outcome = self.until_it_passes(&request, index, command, &stop, progress).await?;
            tracing::debug!(
                command,
                passed = outcome.passed,
                ended = %outcome.ended,
                duration = %outcome.duration,
                retries = outcome.retries,
                flaky = outcome.flaky,
                "check finished"
            );
            progress(Progress::Finished(outcome.clone()));
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// Compares what was expected with what was observed, and runs the commands among the expectations as checks are
    /// run. [`Request::commands`] plays no part.
    pub async fn expectations(
        &self,
        expected: &[Expectation],
        observed: &Observed<'_>,
        request: Request<'_>,
        stop: watch::Receiver<Option<Stop>>,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Vec<Missing>, Error> {
        let mut missing = vec![];
        for (index, expectation) in expected.iter().enumerate() {
            let met = match expectation {
                Expectation::Command(command) => {
                    let run = Run { kind: Kind::Expectation, index, retry: 0, command };
                    let outcome = self.one(&request, run, stop.clone(), progress).await?;
                    progress(Progress::Finished(outcome.clone()));
                    if outcome.passed { Ok(()) } else { Err(why_not(&outcome)) }
                }
                Expectation::Tool(_)
                | Expectation::Commit
                | Expectation::File(_)
                | Expectation::CleanTree
                | Expectation::Checklist(_) => evaluate(expectation, observed),
            };
            if let Err(why) = met {
                missing.push(Missing { expectation: expectation.clone(), why });
            }
        }
        Ok(missing)
    }

    async fn until_it_passes(
        &self,
        request: &Request<'_>,
        index: usize,
        command: &str,
        stop: &watch::Receiver<Option<Stop>>,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<CheckOutcome, Error> {
        let run = |retry| Run { kind: Kind::Check, index, retry, command };
        let mut runs = Runs::new(self.one(request, run(0), stop.clone(), progress).await?);
        while let Some(retry) = runs.next(request.retries) {
            let again = self.one(request, run(retry), stop.clone(), progress).await?;
            runs.add(again);
        }
        Ok(runs.outcome())
    }

    async fn one(
        &self,
        request: &Request<'_>,
        run: Run<'_>,
        stop: watch::Receiver<Option<Stop>>,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<CheckOutcome, Error> {
        let Run { index, retry, command, .. } = run;
        let log = request.logs.join(run.log_name(&request.log_prefix));
        let file = relative(&log, request)?;
        let before = reports_before(request).await?;
        progress(Progress::Started { index, command: command.to_owned(), retry });

        let redactor = self.supervisor.redactor();
        let mut reading = Reading::new(Arc::clone(redactor), ralph_verify::pins::only_runner(command));
        let mut observe = |stream, piece: &str| {
            if let Some(line) = reading.feed(stream, piece) {
                progress(Progress::Output(line));
            }
        };
        let finished = self.supervisor.run(spec(request, &naming_tests(command), log), stop, &mut observe).await;
        let finished = finished.map_err(|source| Error::Process { command: command.to_owned(), source })?;
        if let Ended::NotStarted { why } = finished.ended {
            return Err(Error::CouldNotStart { command: command.to_owned(), why });
        }

        let Read { tests, excerpt, signature } = reading.finish(&finished.ended);
        let mut tests = match before {
            Some(before) => choose(tests, blocking(move || before.count()).await),
            None => tests,
        };
        if let Some(tests) = &mut tests {
            // Reports are decoded, and nothing has searched them for secrets.
            for name in tests.failing.iter_mut().chain(&mut tests.names) {
                if let Cow::Owned(clean) = redactor.clean(name) {
                    *name = clean;
                }
            }
            test_names::make_relative(tests, request.directory);
            // Runners print the folder that a link leads to.
            if let Ok(real) = fs::canonicalize(request.directory) {
                test_names::make_relative(tests, &real);
            }
        }
        // A runner that counts failures has failed, whatever `|| true` says.
        let passed = finished.ended.is_success() && tests.as_ref().is_none_or(|tests| tests.failed == 0);
        Ok(CheckOutcome {
            command: command.to_owned(),
            passed,
            ended: finished.ended,
            tests,
            shrunk: None,
            flaky: false,
            retries: 0,
            duration: finished.duration,
            excerpt: if passed { String::new() } else { excerpt },
            signature: if passed { None } else { signature },
            output: OutputRef {
                file,
                bytes: finished.output.bytes,
                sha256: finished.output.sha256,
                cut: finished.output.cut,
            },
        })
    }
}

fn spec(request: &Request<'_>, command: &str, log: PathBuf) -> Spec {
    Spec {
        program: Spec::shell(command),
        directory: request.directory.to_owned(),
        environment: request.environment.clone(),
        stdin: Stdin::Empty,
        log,
        pieces: None,
        log_limit: request.log_limit,
        // The output is read as it comes.
        tail: 0,
        timeout: Some(request.timeout),
        idle: request.idle,
        grace: GRACE,
        hold: request.hold.clone(),
        sandbox: request.sandbox.clone(),
    }
}

/// Makes room for a log, and says what it is called in a journal.
fn relative(log: &Path, request: &Request<'_>) -> Result<String, Error> {
    let Ok(file) = log.strip_prefix(request.log_root) else {
        return Err(Error::LogsOutside { logs: request.logs.to_owned(), root: request.log_root.to_owned() });
    };
    fs::create_dir_all(request.logs).map_err(|source| Error::Logs { path: request.logs.to_owned(), source })?;
    Ok(file.to_string_lossy().into_owned())
}

async fn reports_before(request: &Request<'_>) -> Result<Option<Before>, Error> {
    if request.junit.is_empty() && request.extra_reports.is_empty() {
        return Ok(None);
    }
    let (directory, globs) = (request.directory.to_owned(), request.junit.to_vec());
    let extra = request.extra_reports.clone();
    let looked = blocking(move || Before::look(&directory, &globs, extra)).await;
    looked.map(Some).map_err(|(glob, source)| Error::Glob { glob, source })
}

/// Walks through folders beside the executor: a big tree takes long enough to hold up everybody else.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // The task is never cancelled, so it panicked, and the panic is passed on.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn why_not(outcome: &CheckOutcome) -> String {
    match &outcome.signature {
        Some(signature) if !signature.headline.is_empty() => format!("{}: {}", outcome.ended, signature.headline),
        Some(_) | None => outcome.ended.to_string(),
    }
}
