//! Any server of the Agent Client Protocol as an agent: one session and one prompt over its standard input and output.
//!
//! The protocol is spoken by a client of our own. The official library costs 24 packages and more than doubles the time to build
//! what this crate needs, and it owns both ends of the connection; here the supervisor does. A client that only reads lines and
//! gives lines back is also one that can be tested with recorded lines.
//!
//! ```text
//!   supervisor ──stdout──► Client (a Parser) ──Feeder──► stdin of the server
//!        ▲                    │ Talk: over, cancel
//!        └── Stop ◄── mediate ┘
//! ```
//!
//! A request to stop cancels the turn first, so that the server can end its commands. A server whose turn is over and which
//! does not end by itself when its input closes is ended.

mod calls;
mod client;
mod garbage;
mod message_buffer;
mod paths;
mod permission;
mod refused;
mod rpc;
mod session_option;
mod speech;
mod talk;
mod usage;

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ralph_model::{AgentSpec, shell_word};
use ralph_process::{Pieces, Spec, Stdin, Stop, feed};
use tokio::sync::watch;

use crate::adapter::Invocation;
use crate::agent::{Capabilities, ReportsCost};
use crate::process_agent::Run;
use crate::programs::{Program, takes_words};
use crate::registry::{Behind, Kind, Needs, Start};
use crate::request::{Error, Observed, Request};
use crate::stream;
use crate::text::no_command;
use calls::Confinement;
use client::{Client, PromptTask};
use talk::Talk;

/// Messages that may wait for a server that does not read: answers are small, and the only long message is the prompt.
const MAX_WAITING: usize = 256;
const CLAUDE_FOLDER: &str = "CLAUDE_CONFIG_DIR";
/// How long a server has to cancel its turn before it is asked to end.
const CANCEL_GRACE: Duration = Duration::from_millis(1500);
/// How long a server has to end by itself when its turn is over and its input closed.
const END_GRACE: Duration = Duration::from_millis(1000);

/// What keeps well-known servers from updating themselves, from calling home, from waiting out limits for an hour, and from taking an
/// `@` in a prompt for a file. To others they are nothing. What the user sets weighs more.
const SWITCHES: [(&str, &str); 5] = [
    ("CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "3"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("GEMINI_CLI_NO_RELAUNCH", "true"),
];

pub(crate) static KIND: Kind = Kind {
    name: "acp",
    needs: Needs::Command,
    // One that answered nothing was sent no prompt, so that it announces its start.
    capabilities: Capabilities {
        reports_cost: ReportsCost::Sometimes,
        asks_permission: true,
        ..Capabilities::STREAMING
    },
    program: Behind::NamedInCommand,
    start: Start::Line(|given| Box::pin(run(given))),
    log_parser: Some(listener),
};

/// Runs the server once, from its start until nothing of it is left.
async fn run(run: Run<'_>) -> Result<Observed, Error> {
    let Run { supervisor, spec, target: command, request, stop, events } = run;
    let talk = Talk::default();
    let invocation = invocation(command, spec, &request, talk.clone());
    let (ended_by, stops) = watch::channel(*stop.borrow());
    tokio::select! {
        // It never ends by itself; first, so that output does not keep a request to stop waiting.
        biased;
        never = mediate(stop, &ended_by, &talk) => match never {},
        observed = stream::run(supervisor, invocation, request, spec, KIND.capabilities, stops, events) => observed,
    }
}

fn invocation(command: &str, agent: &AgentSpec, request: &Request<'_>, talk: Talk) -> Invocation {
    let (feeder, feed) = feed(MAX_WAITING);
    let task = PromptTask {
        prompt: no_command(request.prompt),
        directory: request.base.directory.clone(),
        model: agent.model.clone(),
        prohibited: request.base.prohibited.clone(),
        mcp_servers: request.base.mcp_server.iter().map(|server| server.for_acp(&request.base)).collect(),
        confinement: if request.base.is_confined() { Confinement::Sandbox } else { Confinement::None },
    };
    let sink = Box::new(move |line: String| feeder.try_send(line));
    Invocation {
        program: Spec::shell(&command_line(command, agent, request)),
        environment: environment(agent, request),
        stdin: Stdin::Fed(feed),
        pieces: Some(Pieces::ToldOnce(speech::SPEECH)),
        parser: Box::new(Client::new(task, sink, talk)),
    }
}

/// The command, with the words that a well-known program needs as a server.
fn command_line(command: &str, agent: &AgentSpec, request: &Request<'_>) -> String {
    let words = Program::of(agent).and_then(|program| program.server_words).filter(|_| takes_words(command));
    let words = words.map(|words| words(agent, request)).unwrap_or_default();
    words.iter().fold(command.to_owned(), |line, word| format!("{line} {}", shell_word(&word.to_string_lossy())))
}

fn environment(agent: &AgentSpec, request: &Request<'_>) -> Vec<(OsString, OsString)> {
    if let Some(variables) = Program::of(agent).and_then(|program| program.server_variables) {
        // Such a server heeds the same variables as the program, and its subagents are as invisible.
        return variables(agent, request);
    }
    let switches = SWITCHES.iter().filter(|(name, _)| request.base.variable(name).is_none());
    let mut own: Vec<_> = switches.map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
    let home = request.base.variable("HOME").map(Path::new).filter(|_| request.base.is_confined());
    if let Some(home) = home
        && request.base.variable(CLAUDE_FOLDER).is_none()
        && !home.join(".claude.json").exists()
    {
        // Where it cannot create that file, the adapter of Claude Code waits for ever; in its own folder it can.
        own.push((CLAUDE_FOLDER.into(), home.join(".claude").into()));
    }
    own
}

/// Passes requests to stop on, after the turn was cancelled where there is time for that, and ends a server that has nothing more
/// to do.
async fn mediate(
    mut stop: watch::Receiver<Option<Stop>>,
    ended_by: &watch::Sender<Option<Stop>>,
    talk: &Talk,
) -> Infallible {
    let why = tokio::select! {
        why = asked(&mut stop) => {
            if why == Stop::Requested {
                talk.cancel.send_replace(true);
                // Whether it worked or not, the process ends now.
                let _ = tokio::time::timeout(CANCEL_GRACE, talk.over()).await;
            }
            why
        }
        () = async { talk.over().await; tokio::time::sleep(END_GRACE).await } => Stop::Done,
    };
    ended_by.send_if_modified(|known| known.is_none() && known.replace(why).is_none());
    std::future::pending().await
}

/// Waits for a request to end. None can come when the sender is gone.
async fn asked(stop: &mut watch::Receiver<Option<Stop>>) -> Stop {
    loop {
        if let Some(why) = *stop.borrow_and_update() {
            return why;
        }
        if stop.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A parser without a server, for recorded lines.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn parser(prohibited: crate::request::Prohibited) -> Box<dyn crate::adapter::Parser> {
    Box::new(Client::new(PromptTask { prohibited, ..PromptTask::recorded() }, Box::new(|_| Ok(())), Talk::default()))
}

/// A parser of logs, which may begin anywhere.
pub(crate) fn listener() -> Box<dyn crate::adapter::Parser> {
    Box::new(Client::listening())
}

#[cfg(test)]
#[path = "acp_tests.rs"]
mod tests;
