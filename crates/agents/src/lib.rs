//! Runs an agent and turns what it does into evidence, usage and cost. Takes no agent's word for anything, decides nothing.
//!
//! An agent is a trait. Each kind has a module: what is known of it, how its program is called, and a parser that turns its lines
//! into a transcript; `registry` lists the kinds. One supervisor is under all that are processes.

mod acp;
mod adapter;
mod agent;
mod claude;
mod codex;
mod command;
pub mod dotenv;
pub mod files;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod gemini;
mod git;
#[cfg(test)]
#[path = "golden_tests.rs"]
mod golden;
mod lines;
mod mcp_server;
mod meter;
mod native;
mod opencode;
mod process_agent;
mod programs;
mod readable;
mod record;
mod registry;
mod report_file;
mod request;
mod routes;
mod session;
mod stream;
mod text;
mod transcript;
mod trouble;

use std::path::PathBuf;
use std::sync::Arc;

use ralph_model::{AgentSpec, Millis, Timestamp, shell_word};
use ralph_process::{Files, Level, Network, Sandbox};

use crate::registry::Start;
use crate::request::Request;
pub use agent::{Agent, AgentTask, Capabilities, EventSink, ReportsCost, RunFuture, StopSignal};
pub use command::REPORT_VARIABLE;
pub use mcp_server::McpServer;
pub use opencode::models::{LIST as LIST_MODELS, ListedModel, OwnChoice, listed_models};
pub use programs::Program;
pub use readable::Readable;
pub use registry::{Kind, Needs, build, foreign_code};
pub use report_file::{ReportFile, read_report, redact_report};
pub use request::{AgentServices, Counted, Error, Matcher, Observed, ProcessBase, Prohibited};
pub use routes::{Route, Service, addresses_of_key, has_key_in_settings, route};
pub use session::{Offsets, SessionRecords, observe_turn};
pub use trouble::{classify, reset_time};

/// How an agent is called, as a line of shell, for people. Nothing is started.
pub fn command_line(spec: &AgentSpec) -> Result<String, Error> {
    // Some of them are given settings of the run's own.
    let folder = tempfile::tempdir()
        .map_err(|source| Error::Scratch { path: PathBuf::from("the folder for temporary files"), source })?;
    let (Some(program), Some(Start::Program(invoke))) = (spec.program_name(), Kind::of(spec).map(|kind| kind.start))
    else {
        return Ok(spec.shell_line().unwrap_or(&spec.name).to_owned());
    };
    let base = ProcessBase {
        directory: folder.path().to_owned(),
        environment: Vec::new(),
        scratch: folder.path().to_owned(),
        log: folder.path().join("log"),
        log_limit: 0,
        idle: None,
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
        mcp_server: None,
        counted: Arc::default(),
        now: || Timestamp(0),
    };
    let invocation = invoke(spec, program, &Request { prompt: "", budget: None, timeout: Millis(0), base })?;
    let scratch = folder.path().to_string_lossy().into_owned();
    let words = invocation.program.iter().map(|word| word.to_string_lossy().replace(&scratch, "DIR"));
    Ok(words.map(|word| shell_word(&word)).collect::<Vec<_>>().join(" "))
}
