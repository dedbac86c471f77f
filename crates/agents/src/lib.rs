//! Runs an agent and turns what it does into evidence, usage and cost. Takes no agent's word for anything, decides nothing.
//!
//! Each kind is a module with two things: how the program is called, and a parser that turns its lines into a transcript. One
//! supervisor is under all of them.

mod acp;
mod adapter;
mod claude;
mod codex;
mod command;
pub mod dotenv;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod gemini;
mod git;
#[cfg(test)]
mod golden;
mod lines;
mod meter;
mod opencode;
mod programs;
mod readable;
mod record;
mod report_file;
mod request;
mod stream;
mod text;
mod transcript;
mod trouble;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_model::{AgentEvent, AgentKind, AgentSpec, Millis, Timestamp};
use ralph_process::{Files, Level, Network, Sandbox, Stop, Supervisor};
use tokio::sync::watch;

use crate::transcript::Transcript;
pub use programs::{PROGRAMS, Program};
pub use readable::Readable;
pub use report_file::{ReportFile, read_report, redact_report};

pub use request::{Error, Matcher, Observed, Prohibited, Request};

/// Runs the agent once, from its start until nothing of it is left.
///
/// # Errors
/// When supervision itself failed. An agent that fails is an ordinary [`Observed`].
pub async fn run(
    supervisor: &Supervisor,
    spec: &AgentSpec,
    request: Request<'_>,
    stop: watch::Receiver<Option<Stop>>,
    observe: &mut (dyn FnMut(AgentEvent) + Send),
) -> Result<Observed, Error> {
    let home = request.variable("HOME").map(Path::new);
    if let Some(place) = foreign_code(spec, &request.directory, home) {
        return Err(Error::ForeignCode { agent: spec.name.clone(), place });
    }
    let invocation = match &spec.kind {
        AgentKind::Command { command } => {
            return command::run(supervisor, command, spec.unmetered, request, stop, observe).await;
        }
        AgentKind::Claude { program } => claude::invocation(spec, program, &request)?,
        AgentKind::Codex { program } => codex::invocation(spec, program, &request),
        AgentKind::Gemini { program } => gemini::invocation(spec, program, &request)?,
        AgentKind::Opencode { program } => opencode::invocation(spec, program, &request),
        AgentKind::Acp { command } => {
            return acp::run(supervisor, command, spec, request, stop, observe).await;
        }
    };
    let (redactor, prices) = (Arc::clone(&request.redactor), Arc::clone(&request.prices));
    let told = Transcript::new(redactor, prices, spec.model.clone(), (request.now)());
    stream::run(supervisor, invocation, told, request, spec, stop, observe).await
}

/// Where code of a repository lies that an agent would run as part of itself, with no way to keep it from that. None for whoever
/// keeps the user's settings: they trust it.
#[must_use]
pub fn foreign_code(spec: &AgentSpec, directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let is_opencode = Program::of(&spec.kind).is_some_and(|program| program.name == "opencode");
    if is_opencode && !spec.user_settings { opencode::foreign(directory, home) } else { None }
}

/// Whether a name of a model leaves the choice to the program, which then says which one it took.
#[must_use]
pub fn is_choice(kind: &ralph_model::AgentKind, model: &str) -> bool {
    matches!(kind, ralph_model::AgentKind::Gemini { .. }) && gemini::CHOICES.contains(&model)
}

/// How an agent is called, as a line of shell, for people. Nothing is started.
///
/// # Errors
/// When it cannot be called at all.
pub fn command_line(spec: &AgentSpec) -> Result<String, Error> {
    // Some of them are given settings of the run's own.
    let folder = tempfile::tempdir()
        .map_err(|source| Error::Scratch { path: PathBuf::from("the folder for temporary files"), source })?;
    let request = Request {
        prompt: "",
        directory: folder.path().to_owned(),
        environment: Vec::new(),
        scratch: folder.path().to_owned(),
        log: folder.path().join("log"),
        log_limit: 0,
        budget: None,
        timeout: Millis(0),
        idle: None,
        marker: None,
        // As it is called where Ralph keeps it inside, which is the rule.
        sandbox: Some(Sandbox {
            writable: Vec::new(),
            hidden: Vec::new(),
            network: Network::Allowed,
            level: Level { files: Files::Landlock { version: 1 }, ..Level::none("only described") },
        }),
        hold: Vec::new(),
        redactor: Arc::default(),
        prices: Arc::default(),
        prohibited: Prohibited::default(),
        now: || Timestamp(0),
    };
    let invocation = match &spec.kind {
        AgentKind::Command { command } | AgentKind::Acp { command } => return Ok(command.clone()),
        AgentKind::Claude { program } => claude::invocation(spec, program, &request)?,
        AgentKind::Codex { program } => codex::invocation(spec, program, &request),
        AgentKind::Gemini { program } => gemini::invocation(spec, program, &request)?,
        AgentKind::Opencode { program } => opencode::invocation(spec, program, &request),
    };
    let scratch = folder.path().to_string_lossy().into_owned();
    let words = invocation.program.iter().map(|word| word.to_string_lossy().replace(&scratch, "DIR"));
    Ok(words.map(|word| text::shell_word(&word)).collect::<Vec<_>>().join(" "))
}
