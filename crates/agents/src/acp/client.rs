//! The client's side of the protocol: asks for one session and one prompt, answers what it is asked, and notes what it is told.
//! Reads and writes nothing itself: lines come in, lines go into a [`Sink`].
//!
//! ```text
//!   initialize ► session/new ► [session/set_mode] ► [session/set_model] ► session/prompt ► over: the input is closed
//! ```
//!
//! It offers neither files nor terminals: an agent works on the files itself, inside the sandbox that it runs in.

use std::collections::VecDeque;
use std::path::PathBuf;

use ralph_model::{Ended, FaultKind, Timestamp, Trouble, TroubleKind};
use ralph_process::FeedError;
use serde_json::{Value, json};

use super::calls::{Calls, Confinement, text};
use super::garbage::Garbage;
use super::message_buffer::MessageBuffer;
use super::permission::{self, Decision};
use super::refused;
use super::rpc::{self, Message, Refusal};
use super::session_option::{self, SessionOption};
use super::talk::Talk;
use super::usage::{self, Thoughts};
use crate::adapter::Parser;
use crate::request::Prohibited;
use crate::text::short;
use crate::transcript::{Terminal, Transcript};

/// The version of the protocol that this client speaks.
const VERSION: u64 = 1;
/// How long a server has to answer everything before the prompt: some download themselves first.
const MAX_HANDSHAKE: i64 = 5 * 60 * 1000;
const MAX_NAME: usize = 200;

/// Takes the lines for the server; dropping it closes the server's input.
pub(super) type Sink = Box<dyn FnMut(String) -> Result<(), FeedError> + Send>;

#[derive(Debug)]
pub(super) struct PromptTask {
    pub(super) prompt: String,
    pub(super) directory: PathBuf,
    pub(super) model: Option<String>,
    pub(super) prohibited: Prohibited,
    /// Servers of tools, as the protocol writes them.
    pub(super) mcp_servers: Vec<Value>,
    pub(super) confinement: Confinement,
}

impl PromptTask {
    /// Of a session that is over.
    pub(super) fn recorded() -> Self {
        Self {
            prompt: String::new(),
            directory: PathBuf::from("/"),
            model: None,
            prohibited: Prohibited::default(),
            mcp_servers: Vec::new(),
            confinement: Confinement::Sandbox,
        }
    }
}

pub(super) struct Client {
    task: PromptTask,
    sink: Option<Sink>,
    talk: Talk,
    /// The step whose answer is waited for, and the number of its request.
    step: Step,
    number: u64,
    since: Option<Timestamp>,
    wishes: VecDeque<SessionOption>,
    offered: Vec<String>,
    session: String,
    server: Server,
    calls: Calls,
    voice: MessageBuffer,
    /// The model showed thoughts.
    has_thoughts: bool,
    /// The server was asked to cancel the turn.
    is_cancelled: bool,
    garbage: Garbage,
    /// It reads a log: what was asked is not in it, so that no answer can be told from the answer to another question.
    listens: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Initialize,
    Open,
    Choose(SessionOption),
    Prompt,
    /// Nothing more is asked, answered or listened to.
    Over,
}

/// What the server says about itself.
#[derive(Debug, Default)]
struct Server {
    name: String,
    /// How one can log in, in its own words.
    logins: Vec<String>,
}

impl Client {
    pub(super) fn new(task: PromptTask, sink: Sink, talk: Talk) -> Self {
        let mut client = Self {
            calls: Calls::new(task.confinement),
            task,
            sink: Some(sink),
            talk,
            step: Step::Initialize,
            number: 0,
            since: None,
            wishes: VecDeque::new(),
            offered: Vec::new(),
            session: String::new(),
            server: Server::default(),
            voice: MessageBuffer::default(),
            has_thoughts: false,
            is_cancelled: false,
            garbage: Garbage::default(),
            listens: false,
        };
        let files = json!({"readTextFile": false, "writeTextFile": false});
        let about = json!({"name": "ralph", "title": "Ralph", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": files, "terminal": false},
            "clientInfo": about,
        });
        // It waits in the channel until the server runs. A channel that is closed already belongs to a run that never starts.
        let _ = client.ask(Step::Initialize, "initialize", &params);
        client
    }

    /// For a log, which may begin anywhere. Asks nothing.
    pub(super) fn listening() -> Self {
        let client = Self::new(PromptTask::recorded(), Box::new(|_| Ok(())), Talk::default());
        Self { step: Step::Prompt, sink: None, listens: true, ..client }
    }

    fn ask(&mut self, step: Step, method: &str, params: &Value) -> Result<(), FeedError> {
        self.number += 1;
        self.step = step;
        self.send(rpc::request(self.number, method, params))
    }

    fn send(&mut self, line: String) -> Result<(), FeedError> {
        match &mut self.sink {
            Some(sink) => sink(line),
            None => Ok(()),
        }
    }

    /// Sends, or gives up a server that does not read what it is sent.
    fn tell(&mut self, line: String, transcript: &mut Transcript) {
        match self.send(line) {
            // A server that closed its input may still say how it ended; if not, its end says enough.
            Ok(()) | Err(FeedError::Closed) => {}
            Err(FeedError::Full) => self.fail("it sends requests but does not read the answers", transcript),
        }
    }

    fn asked(&mut self, step: Step, method: &str, params: &Value, transcript: &mut Transcript) {
        if let Err(FeedError::Full) = self.ask(step, method, params) {
            self.fail("it does not read its input", transcript);
        }
    }

    fn fail(&mut self, why: &str, transcript: &mut Transcript) {
        if self.step == Step::Prompt && transcript.known_trouble().is_none() {
            spent(transcript);
        }
        transcript.terminal(Terminal::Failed(why.to_owned()));
        self.over();
    }

    fn over(&mut self) {
        self.step = Step::Over;
        self.sink = None;
        self.talk.over.send_replace(true);
    }

    fn answered(&mut self, id: &Value, outcome: Result<Value, Refusal>, transcript: &mut Transcript) {
        if self.listens {
            self.voice.ends(transcript);
            let trouble = outcome.err().and_then(|refusal| self.service_trouble(&refusal, transcript.now()));
            return trouble.into_iter().for_each(|trouble| transcript.trouble(trouble));
        }
        if id.as_u64() != Some(self.number) {
            return;
        }
        match (self.step.clone(), outcome) {
            (Step::Over, _) => {}
            (Step::Initialize, Ok(result)) => self.initialized(&result, transcript),
            (Step::Open, Ok(result)) => self.opened(&result, transcript),
            (Step::Choose(_), Ok(_)) => self.next_wish(transcript),
            (Step::Prompt, Ok(result)) => self.finished(&result, transcript),
            (Step::Choose(session_option), Err(refusal)) => {
                match session_option.trouble(&self.offered, &refused::words(&refusal)) {
                    Some(trouble) => self.trouble(trouble, transcript),
                    // A mode is a session_option: the server asks for permission or does not.
                    None => self.next_wish(transcript),
                }
            }
            (Step::Initialize | Step::Open | Step::Prompt, Err(refusal)) => self.refused(&refusal, transcript),
        }
    }

    fn initialized(&mut self, result: &Value, transcript: &mut Transcript) {
        let version = result.get("protocolVersion").and_then(Value::as_u64);
        if version.is_some_and(|version| version != VERSION) {
            let version = version.unwrap_or_default();
            let why = format!("it speaks version {version} of the protocol, but Ralph speaks version {VERSION}");
            return self.no_server(&why, transcript);
        }
        let name = result.pointer("/agentInfo/name").and_then(Value::as_str).unwrap_or_default();
        self.server = Server { name: short(name.to_owned(), MAX_NAME), logins: refused::logins(result) };
        let params = json!({"cwd": self.task.directory.to_string_lossy(), "mcpServers": self.task.mcp_servers});
        self.asked(Step::Open, "session/new", &params, transcript);
    }

    fn opened(&mut self, result: &Value, transcript: &mut Transcript) {
        let Some(session) = text(result, "sessionId").filter(|id| id.len() <= 4096) else {
            return self.fail("it opened a session without a name", transcript);
        };
        session.clone_into(&mut self.session);
        if let Some(model) = session_option::current_model(result) {
            transcript.model(&model);
        }
        self.offered = session_option::offered(result);
        match session_option::of(result, self.task.model.as_deref(), self.task.confinement) {
            Ok(wishes) => self.wishes = wishes.into(),
            Err(trouble) => return self.trouble(trouble, transcript),
        }
        self.next_wish(transcript);
    }

    fn next_wish(&mut self, transcript: &mut Transcript) {
        match self.wishes.pop_front() {
            Some(session_option) => {
                if let SessionOption::Model { model, .. } = &session_option {
                    transcript.model(model);
                }
                let (method, params) = session_option.request(&self.session);
                self.asked(Step::Choose(session_option), method, &params, transcript);
            }
            None => {
                let prompt = std::mem::take(&mut self.task.prompt);
                let params = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": prompt}]});
                self.asked(Step::Prompt, "session/prompt", &params, transcript);
            }
        }
    }

    fn finished(&mut self, result: &Value, transcript: &mut Transcript) {
        self.voice.ends(transcript);
        self.count(result, transcript);
        spent(transcript);
        let terminal = match text(result, "stopReason") {
            Some("end_turn") => Terminal::Completed,
            Some("max_turn_requests") => Terminal::TurnLimit,
            Some("max_tokens") => Terminal::Failed("its answer was cut off at the token limit".into()),
            Some("refusal") => Terminal::Failed("the model refused to answer".into()),
            // The request to stop says how it ended.
            Some("cancelled") if self.is_cancelled => return self.over(),
            Some("cancelled") => Terminal::Failed("the turn was cancelled".into()),
            Some(other) => Terminal::Failed(format!("it stopped for an unknown reason: {other}")),
            None => Terminal::Failed("it ended the turn without a reason".into()),
        };
        transcript.terminal(terminal);
        self.over();
    }

    fn count(&self, result: &Value, transcript: &mut Transcript) {
        let (used, thoughts) = usage::of_result(result);
        // Of too few tokens comes too low a cost, and no figure is better. OpenCode counts its last step only.
        let is_part =
            self.server.name.eq_ignore_ascii_case("opencode") || (thoughts == Thoughts::LeftOut && self.has_thoughts);
        if is_part || used.is_empty() {
            return;
        }
        if transcript.has_answer() && used.iter().all(|used| used.tokens.is_none()) {
            // The count comes with the end of an answer.
            transcript
                .fault(FaultKind::CutStream, "it answered but reported no tokens: the answer may have been cut off");
        }
        for used in used {
            transcript.total(used.model.as_deref(), used.tokens);
        }
    }

    fn refused(&mut self, refusal: &Refusal, transcript: &mut Transcript) {
        self.voice.ends(transcript);
        if let Some(mut trouble) = self.service_trouble(refusal, transcript.now()) {
            if trouble.kind == TroubleKind::ModelNotFound {
                trouble.advice = Some(session_option::other_model(&self.offered));
            }
            transcript.trouble(trouble);
        }
        self.fail(&refused::words(refusal), transcript);
    }

    fn service_trouble(&self, refusal: &Refusal, now: Timestamp) -> Option<Trouble> {
        refused::trouble(refusal, &refused::words(refusal), &self.server.logins, now)
    }

    fn trouble(&mut self, trouble: Trouble, transcript: &mut Transcript) {
        let why = trouble.message.clone();
        transcript.trouble(trouble);
        self.fail(&why, transcript);
    }

    fn requested(&mut self, id: &Value, method: &str, params: &Value, transcript: &mut Transcript) {
        if method != "session/request_permission" {
            return self.tell(rpc::method_not_found(id), transcript);
        }
        self.voice.pauses(transcript);
        let call = params.get("toolCall").unwrap_or(&Value::Null);
        let options = params.get("options").unwrap_or(&Value::Null);
        let decision = match self.calls.judged(call, &self.task.prohibited, transcript) {
            Some(_) => Decision::Reject,
            None if self.is_cancelled => Decision::Cancelled,
            None => Decision::Allow,
        };
        self.tell(rpc::answer(id, &permission::outcome(options, decision)), transcript);
    }

    fn notified(&mut self, method: &str, params: &Value, transcript: &mut Transcript) {
        let (true, Some(update)) = (method == "session/update", params.get("update")) else { return };
        // What a server repeats before the prompt is no work of this run.
        if self.step != Step::Prompt {
            return;
        }
        match text(update, "sessionUpdate") {
            Some("agent_message_chunk") => self.voice.observe(update, transcript),
            Some("tool_call" | "tool_call_update") => {
                self.voice.pauses(transcript);
                self.calls.observe(update, &self.task.prohibited, transcript);
            }
            Some("usage_update") => {
                if let Some(dollars) = usage::dollars(update) {
                    transcript.own_cost(dollars);
                }
            }
            Some("agent_thought_chunk") if !self.has_thoughts => {
                self.has_thoughts = true;
                spent(transcript);
            }
            Some("plan") => {
                if let Some(line) = plan(update) {
                    transcript.words(&line);
                }
            }
            // Commands, modes and whatever comes to be: nothing of it is evidence.
            Some(_) | None => {}
        }
    }
}

impl Parser for Client {
    fn ended(&self, ended: Ended) -> Ended {
        match ended {
            Ended::Exited { .. } if *self.talk.cancel.borrow() => Ended::Stopped,
            other => other,
        }
    }

    fn stdout(&mut self, line: &str, transcript: &mut Transcript) {
        if self.step == Step::Over {
            // A flood that is given up is not read any more either.
            return;
        }
        match rpc::read(line) {
            Some(Message::Answer { id, outcome }) => self.answered(&id, outcome, transcript),
            Some(Message::Request { id, method, params }) => self.requested(&id, &method, &params, transcript),
            Some(Message::Notification { method, params }) => self.notified(&method, &params, transcript),
            None if line.trim().is_empty() => {}
            None => {
                if self.garbage.is_flood_with(line) && self.step == Step::Initialize {
                    self.no_server(&self.garbage.instead("it prints output but does not answer"), transcript);
                }
            }
        }
    }

    fn stderr(&mut self, line: &str, _: &mut Transcript) {
        self.garbage.complained(line);
    }

    fn look(&mut self, transcript: &mut Transcript) {
        let since = *self.since.get_or_insert(transcript.now());
        if *self.talk.cancel.borrow() && !self.is_cancelled {
            self.is_cancelled = true;
            match self.step {
                Step::Prompt => {
                    self.tell(rpc::notification("session/cancel", &json!({"sessionId": self.session})), transcript);
                }
                // There is no turn that could be cancelled.
                Step::Initialize | Step::Open | Step::Choose(_) | Step::Over => {
                    self.talk.over.send_replace(true);
                }
            }
        }
        let waits = !matches!(self.step, Step::Prompt | Step::Over);
        if waits && transcript.now().0.saturating_sub(since.0) > MAX_HANDSHAKE {
            let why = self.garbage.instead("it did not answer the request for a session");
            transcript.fault(FaultKind::Hang, &why);
            self.fail(&why, transcript);
        }
    }

    fn end(&mut self, ended: &Ended, transcript: &mut Transcript) {
        self.voice.ends(transcript);
        if transcript.said_end().is_none() && !matches!(self.step, Step::Prompt | Step::Over) {
            // It said nothing about how it ended, and did not come as far as the prompt.
            let why = self.garbage.instead(&format!("it ended before it accepted a prompt ({ended})"));
            match ended {
                Ended::Exited { .. } => self.no_server(&why, transcript),
                Ended::Signalled { .. } => self.fail(&why, transcript),
                // Somebody ended it, or it never began.
                Ended::TimedOut { .. }
                | Ended::Idle { .. }
                | Ended::BudgetSpent
                | Ended::Hopeless
                | Ended::Stopped
                | Ended::NotStarted { .. } => {}
            }
        }
        self.over();
    }
}

impl Client {
    /// Gives up a program that will be no server the next time either.
    fn no_server(&mut self, why: &str, transcript: &mut Transcript) {
        let advice =
            "check that the command starts a server that speaks the Agent Client Protocol on standard input and output";
        let (message, advice) = (why.to_owned(), Some(advice.to_owned()));
        self.trouble(Trouble { kind: TroubleKind::Setup, until: None, message, advice }, transcript);
    }
}

/// How far a plan is, for the live view. A plan is no evidence.
fn plan(update: &Value) -> Option<String> {
    let entries = update.get("entries")?.as_array()?;
    let is = |entry: &&Value, status: &str| text(entry, "status") == Some(status);
    let done = entries.iter().filter(|entry| is(entry, "completed")).count();
    let current = entries.iter().find(|entry| is(entry, "in_progress")).and_then(|entry| text(entry, "content"))?;
    Some(format!("plan, {done} of {} done: {}\n", entries.len(), short(current.to_owned(), MAX_NAME)))
}

/// From here on tokens may have been used: the model thought, or the server had the prompt.
fn spent(transcript: &mut Transcript) {
    transcript.words("");
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
