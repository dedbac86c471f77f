//! The kinds of agents that there are. Everything that differs by kind (settings, help, `ralph agents`, `ralph doctor`, the
//! environment, the sandbox) is derived from this list.

use std::path::{Path, PathBuf};

use ralph_model::AgentSpec;

use crate::adapter::{Invocation, Parser};
use crate::agent::{Agent, Capabilities, RunFuture};
use crate::process_agent::{ProcessAgent, Run};
use crate::programs::Program;
use crate::request::{AgentServices, Error, Request};
use crate::{acp, claude, codex, command, gemini, native, opencode, session};

/// The kinds, the programs in the order in which they are looked for.
static KINDS: [&Kind; 7] =
    [&claude::KIND, &codex::KIND, &opencode::KIND, &gemini::KIND, &acp::KIND, &command::KIND, &native::KIND];

/// How a program is called for a run.
pub(crate) type Invoke = fn(&AgentSpec, &str, &Request<'_>) -> Result<Invocation, Error>;

/// How the process of an agent is started.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start {
    /// A program with arguments, of which a parser reads what it prints.
    Program(Invoke),
    /// The line of shell that the user gives.
    Line(for<'a> fn(Run<'a>) -> RunFuture<'a>),
    /// It is no process of this crate.
    Nothing,
}

/// A kind of agent: what is known of it before one is built.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    pub needs: Needs,
    /// What can be seen of it, and what it can do.
    pub capabilities: Capabilities,
    pub(crate) program: Behind,
    pub(crate) start: Start,
    /// Reads its logs; none where they are for people already.
    pub(crate) log_parser: Option<fn() -> Box<dyn Parser>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// A program, which has a usual name.
    Program,
    Command,
    Nothing,
}

/// The well-known program behind a kind.
#[derive(Debug)]
pub(crate) enum Behind {
    Program(&'static Program),
    /// The one that its line of shell starts.
    NamedInCommand,
    Unknown,
}

impl Kind {
    pub fn find(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name).copied()
    }

    /// The kind of an agent, as far as this version knows it.
    pub fn of(spec: &AgentSpec) -> Option<&'static Self> {
        // It cannot be configured or started, so that it is in no list.
        if spec.is_in_session() { Some(&session::KIND) } else { Self::find(&spec.kind) }
    }

    pub fn all() -> impl Iterator<Item = &'static Self> {
        KINDS.iter().copied()
    }

    pub const fn program(&self) -> Option<&'static Program> {
        match &self.program {
            Behind::Program(program) => Some(program),
            Behind::NamedInCommand | Behind::Unknown => None,
        }
    }

    /// The kinds that have agents without any configuration, in the order in which they are looked for.
    pub fn ready_made() -> impl Iterator<Item = &'static Self> {
        Self::all().filter(|kind| kind.needs != Needs::Command)
    }

    /// The agent of this kind that needs no configuration, if there is one.
    pub fn ready_made_spec(&self) -> Option<AgentSpec> {
        match self.needs {
            Needs::Program => Some(AgentSpec::program(self.name, self.name)),
            Needs::Command => None,
            Needs::Nothing => Some(AgentSpec::new(self.name, self.name, None)),
        }
    }

    /// The names of the kinds, for people: `claude, codex, acp or command`.
    pub fn names() -> String {
        let names: Vec<&str> = Self::all().map(|kind| kind.name).collect();
        match names.as_slice() {
            [] => String::new(),
            [only] => (*only).to_owned(),
            [front @ .., last] => format!("{} or {last}", front.join(", ")),
        }
    }
}

/// Makes an agent for one run.
///
/// # Errors
/// When its kind is not known, when what it starts is not named, or when it would run code that is not approved.
pub fn build(spec: &AgentSpec, services: AgentServices) -> Result<Box<dyn Agent>, Error> {
    let Some(kind) = Kind::of(spec) else {
        return Err(Error::UnknownKind { agent: spec.name.clone(), kind: spec.kind.clone() });
    };
    let home = services.base.variable("HOME").map(Path::new);
    if let Some(place) = foreign_code(spec, &services.base.directory, home) {
        return Err(Error::ForeignCode { agent: spec.name.clone(), place });
    }
    tracing::debug!(agent = spec.title(), kind = kind.name, launch = ?spec.launch, "agent built");
    Ok(Box::new(ProcessAgent::new(kind, spec, services)?))
}

/// Where code of a repository lies that an agent would run as part of itself, with no way to keep it from that. None for whoever
/// keeps the user's settings: they trust it.
pub fn foreign_code(spec: &AgentSpec, directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let find = Program::of(spec).filter(|_| !spec.user_settings)?.foreign_code?;
    find(directory, home)
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
