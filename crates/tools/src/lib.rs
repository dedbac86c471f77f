//! Tools that a model calls: files, commands, git, memory, tasks, messages, the web, and those of MCP servers.
//!
//! A tool without its service is not listed. A call never fails in the sense of Rust: a bad argument, an error of the system or
//! a time limit is an [`Outcome`] that says so. Whether a call may be made is the caller's decision: one whose effect is
//! [`Effect::Outward`] needs a person's approval first, and its key has to be recorded before it is made.

mod arguments;
mod board;
mod files;
mod git;
mod mcp;
mod memory;
mod messages;
mod outcome;
mod page;
mod registry;
mod shell;
mod web;

use std::path::PathBuf;
use std::sync::Arc;

use ralph_agents::{AgentServices, Matcher, StopSignal};
use ralph_model::Timestamp;
use ralph_notify::Notifier;
use ralph_text::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use board::{BoardService, send_reminders};
pub use mcp::{McpPlace, McpServer};
pub use outcome::{MAX_TEXT, Outcome};
use registry::Registry;
pub use shell::Shell;
pub use web::{SearchService, Web};

/// What a call of a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    Reads,
    /// Changes files of the workspace, or what Ralph keeps.
    Writes,
    Runs,
    /// Reaches other people or machines: needs an approval and an idempotency key.
    Outward,
}

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub name: String,
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: Value,
    pub effect: Effect,
}

#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub name: &'a str,
    /// A JSON object.
    pub arguments: &'a Value,
    /// The idempotency key: a second call with the same key has no second effect.
    pub key: &'a str,
}

/// What tools are built from. A tool whose service is none is not listed.
#[derive(Clone)]
pub struct Services {
    pub workspace: PathBuf,
    /// The glob that prohibits a path, absolute or relative to the workspace.
    pub prohibited: Matcher,
    pub redactor: Arc<Redactor>,
    /// Runs programs: for `bash_execute` and the `git_` tools.
    pub shell: Option<Shell>,
    /// A folder of the repository outside the workspace: for the `memory_` tools.
    pub memory: Option<PathBuf>,
    pub board: Option<BoardService>,
    /// Notifies people: for `notify_user` and `send_email`.
    pub notifier: Option<Arc<Notifier>>,
    pub web: Option<Web>,
    pub now: fn() -> Timestamp,
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

impl Services {
    /// What the tools for files and programs need, confined as a process of an agent is. The others are off.
    pub fn new(services: &AgentServices) -> Self {
        let base = &services.base;
        Self {
            workspace: base.directory.clone(),
            prohibited: Arc::clone(&base.prohibited.matches),
            redactor: Arc::clone(&base.redactor),
            shell: Some(Shell {
                supervisor: Arc::clone(&services.supervisor),
                environment: base.environment.clone(),
                sandbox: base.sandbox.clone(),
                logs: base.log.with_extension("tools"),
                idle: base.idle,
                hold: base.hold.clone(),
            }),
            memory: None,
            board: None,
            notifier: None,
            web: None,
            now: base.now,
        }
    }
}

#[derive(Debug)]
pub struct Tools {
    registry: Registry,
    redactor: Arc<Redactor>,
    shell: Option<Arc<Shell>>,
    workspace: PathBuf,
}

impl Tools {
    pub fn new(services: Services) -> std::io::Result<Self> {
        let mut registry = Registry::default();
        files::register(&mut registry, &services)?;
        let shell = services.shell.map(Arc::new);
        if let Some(shell) = &shell {
            shell::register(&mut registry, shell, &services.workspace);
            git::register(&mut registry, shell, services.workspace.clone());
        }
        if let Some(folder) = services.memory {
            memory::register(&mut registry, folder, Arc::clone(&services.redactor), services.now);
        }
        if let Some(board) = services.board {
            board::register(&mut registry, board, services.now);
        }
        if let Some(notifier) = &services.notifier {
            messages::register(&mut registry, notifier);
        }
        if let Some(web) = services.web {
            web::register(&mut registry, web);
        }
        Ok(Self { registry, redactor: services.redactor, shell, workspace: services.workspace })
    }

    /// Adds the tools of MCP servers, each named `mcp__SERVER__TOOL`, and returns what was wrong with those that have none.
    pub async fn connect(&mut self, servers: Vec<McpServer>) -> Vec<String> {
        let mut problems = Vec::new();
        for server in servers {
            let name = server.name.clone();
            let shell = self.shell.as_ref();
            if let Err(problem) = mcp::register(&mut self.registry, server, shell, &self.workspace).await {
                problems.push(self.redactor.clean(&format!("the MCP server {name}: {problem}")).into_owned());
            }
        }
        problems
    }

    /// What a model is told about each tool.
    pub fn specs(&self) -> &[Spec] {
        self.registry.specs()
    }

    /// What a model is told about one tool.
    pub fn spec(&self, name: &str) -> Option<&Spec> {
        self.specs().iter().find(|spec| spec.name == name)
    }

    /// Calls a tool. `stop` ends a call that takes long.
    pub async fn call(&self, call: Call<'_>, stop: &StopSignal) -> Outcome {
        self.registry.call(call, stop).await.cleaned(&self.redactor)
    }
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
