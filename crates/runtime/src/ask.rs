//! Asks test runners which tests there are, before the first iteration: supervised, in the sandbox of the checks, for a short time.
//! A runner that does not answer is known by its configuration and its documented defaults.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_model::{Ended, LoopConfig, Millis, TestListing};
use ralph_process::{Sandbox, Spec, Stdin, Stop, Stream, Supervisor};
use ralph_verify::listing::{Query, parse, queries};
use ralph_verify::pins::expand;
use ralph_workspace::StopFlag;
use tokio::sync::watch;

use crate::disk::Disk;
use crate::perform::sandbox_of_checks;
use crate::pinned::search_path;
use crate::services::Services;

/// How long one runner may take to answer.
const ANSWER_TIMEOUT: Millis = Millis::secs(20);
/// How long it has to end.
const GRACE: Millis = Millis::secs(1);
/// Bytes of an answer that are read, and of one that are kept in the log.
const MAX_ANSWER: usize = 16 << 20;
const MAX_LOG: u64 = 1 << 20;
/// How often a request to stop is looked for.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Asking<'a> {
    pub supervisor: &'a Supervisor,
    pub environment: &'a [(OsString, OsString)],
    /// How they are kept inside.
    pub sandbox: Option<Sandbox>,
    /// Where their outputs go.
    pub logs: &'a Path,
    /// Ends the questions early.
    pub stop: &'a StopFlag,
}

/// What the runners of a loop that is about to begin say of their tests.
pub(crate) async fn ask_runners(
    services: &Services,
    config: &LoopConfig,
    logs: &Path,
    stop: &StopFlag,
) -> Vec<TestListing> {
    let sandbox = sandbox_of_checks(services, config);
    let (supervisor, environment) = (&*services.supervisor, services.environment.as_slice());
    list_tests(config, Asking { supervisor, environment, sandbox, logs, stop }).await
}

/// What the runners that the checks lead to say of their tests. One that cannot be asked, or does not answer, says why.
pub async fn list_tests(config: &LoopConfig, asking: Asking<'_>) -> Vec<TestListing> {
    let root = PathBuf::from(&config.workspace);
    let disk = Disk::new(&root, &search_path(asking.environment));
    let texts: Vec<_> = config.verification_commands.iter().flat_map(|command| expand(&disk, command)).collect();
    let real = root.canonicalize().unwrap_or_else(|_| root.clone());
    let roots = [&root, &real].map(|root| root.to_string_lossy().into_owned());
    let mut listings = Vec::new();
    for (number, query) in queries(&texts).into_iter().enumerate() {
        let mut listing = TestListing {
            runner: query.runner,
            command: query.command.clone().unwrap_or_default(),
            tests: std::collections::BTreeMap::new(),
            failed: String::new(),
        };
        match &query.command {
            None => "it cannot be asked".clone_into(&mut listing.failed),
            Some(_) if asking.stop.is_requested() => "Ralph was asked to stop".clone_into(&mut listing.failed),
            Some(command) => match answer(&asking, &root, &query, command, number + 1).await {
                Ok(text) => listing.tests = parse(&query, &text, &roots),
                Err(why) => listing.failed = why,
            },
        }
        listing.tests.retain(|file, _| root.join(file).is_file());
        if listing.tests.is_empty() && listing.failed.is_empty() {
            "it named no test file".clone_into(&mut listing.failed);
        }
        tracing::debug!(?listing, "a runner was asked for its tests");
        listings.push(listing);
    }
    listings
}

async fn answer(
    asking: &Asking<'_>,
    root: &Path,
    query: &Query,
    command: &str,
    number: usize,
) -> Result<String, String> {
    let directory = root.join(&query.folder);
    fs::create_dir_all(asking.logs).map_err(|error| error.to_string())?;
    let spec = Spec {
        program: Spec::shell(command),
        environment: environment(asking.environment, &directory, root, query.is_npm_script),
        directory,
        stdin: Stdin::Empty,
        log: asking.logs.join(format!("tests-of-runner-{number}.log")),
        pieces: None,
        log_limit: MAX_LOG,
        tail: 0,
        timeout: Some(ANSWER_TIMEOUT),
        idle: None,
        grace: GRACE,
        hold: Vec::new(),
        sandbox: asking.sandbox.clone(),
    };
    let mut text = String::new();
    let mut observe = |stream: Stream, piece: &str| {
        if stream == Stream::Stdout && text.len() < MAX_ANSWER {
            text.push_str(piece);
        }
    };
    let ended = {
        let (sender, receiver) = watch::channel(None);
        let run = asking.supervisor.run(spec, receiver, &mut observe);
        tokio::pin!(run);
        loop {
            tokio::select! {
                finished = &mut run => break finished.map_err(|error| error.to_string())?.ended,
                () = tokio::time::sleep(STOP_POLL_INTERVAL) => {
                    if asking.stop.is_requested() {
                        let _ = sender.send(Some(Stop::Requested));
                    }
                }
            }
        }
    };
    // Files that cannot be loaded make a runner fail; what it says of the others counts.
    match ended {
        Ended::Exited { code } if code == 0 || (code < 126 && !text.trim().is_empty()) => Ok(text),
        ended => Err(ended.to_string()),
    }
}

/// The environment of the checks, which writes no compiled modules beside the sources. Scripts of npm find the programs of their
/// packages first.
fn environment(
    usual: &[(OsString, OsString)],
    directory: &Path,
    root: &Path,
    is_npm_script: bool,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = usual.to_vec();
    environment.push(("PYTHONDONTWRITEBYTECODE".into(), "1".into()));
    if is_npm_script {
        let own = [directory, root].map(|folder| folder.join("node_modules/.bin"));
        let usual = search_path(usual);
        let folders = own.into_iter().chain(std::env::split_paths(&usual));
        if let Ok(path) = std::env::join_paths(folders) {
            environment.retain(|(name, _)| name != "PATH");
            environment.push(("PATH".into(), path));
        }
    }
    environment
}
