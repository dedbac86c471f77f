//! Tool calls of a session, told bit by bit: what each is called, what it does, how it ended.

use std::collections::VecDeque;

use ralph_model::FaultKind;
use serde_json::Value;

use crate::request::Prohibited;
use crate::text::{is_refused_by_sandbox, list, short};
use crate::transcript::{CallEnd, Transcript};

use super::permission;

/// Calls that are remembered, under way or ended: more than any server has under way at once.
const MAX: usize = 256;
const MAX_ID: usize = 200;
/// Characters of a title, and of what a failed call says. The transcript cuts further.
const MAX_TITLE: usize = 1000;
const MAX_WHY: usize = 1000;

/// What Ralph keeps the server from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confinement {
    None,
    Sandbox,
}

#[derive(Debug)]
pub(super) struct Calls {
    confinement: Confinement,
    known: VecDeque<Call>,
    count: u64,
}

#[derive(Debug)]
struct Call {
    id: String,
    /// What the transcript calls it: a server may have long names, and the same one twice.
    number: String,
    tool: String,
    title: String,
    kind: Option<String>,
    /// The first prohibited path that it names, in words.
    prohibited: Option<String>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The model is still at writing it, and its title may be no more than a name for its kind.
    Pending,
    Begun,
    Ended,
}

impl Calls {
    pub(super) const fn new(confinement: Confinement) -> Self {
        Self { confinement, known: VecDeque::new(), count: 0 }
    }

    /// Takes what the server tells of a call: `tool_call` and `tool_call_update` alike, because servers leave out either.
    pub(super) fn observe(&mut self, update: &Value, prohibited: &Prohibited, transcript: &mut Transcript) {
        let confinement = self.confinement;
        let Some((call, news)) = self.learn(update, prohibited) else { return };
        let status = text(update, "status");
        let end = match status {
            Some("completed") => match exit_code(update) {
                Some(code) if code != 0 => Some(CallEnd::Failed(format!("exit code {code}: {}", words(update)))),
                Some(_) | None => Some(CallEnd::Done),
            },
            Some("failed") => Some(CallEnd::Failed(words(update))),
            Some(_) | None => None,
        };
        if news == News::Call && status == Some("pending") {
            return;
        }
        call.begins(news, transcript);
        if let Some(end) = end {
            if let CallEnd::Failed(why) = &end
                && call.state != State::Ended
                && is_sandbox(why, confinement)
            {
                transcript.fault(FaultKind::SandboxRefused, why);
            }
            call.ends(end, transcript);
        }
    }

    /// Takes the call of a request for permission; gives why it may not happen, if it may not. The call has ended then, whatever
    /// the server tells of it afterwards.
    pub(super) fn judged(
        &mut self,
        call: &Value,
        prohibited: &Prohibited,
        transcript: &mut Transcript,
    ) -> Option<String> {
        let Some((call, news)) = self.learn(call, prohibited) else {
            return Some("the server asks for permission without naming the call".to_owned());
        };
        call.begins(news, transcript);
        let why = call.prohibited.clone().filter(|_| !permission::is_harmless(call.kind.as_deref()))?;
        call.ends(CallEnd::Denied(why.clone()), transcript);
        Some(why)
    }

    fn learn(&mut self, update: &Value, prohibited: &Prohibited) -> Option<(&mut Call, News)> {
        let id = short(text(update, "toolCallId")?.to_owned(), MAX_ID);
        let known = self.known.iter().position(|call| call.id == id);
        let at = known.unwrap_or_else(|| self.add(id, update));
        let call = self.known.get_mut(at)?;
        if let Some(kind) = text(update, "kind") {
            call.kind = Some(short(kind.to_owned(), MAX_ID));
        }
        // A request for permission may say less than what was told before it.
        if call.prohibited.is_none() {
            call.prohibited = permission::prohibited_path(update, prohibited);
        }
        let title = short(text(update, "title").unwrap_or_default().to_owned(), MAX_TITLE);
        // Some servers begin with the name of the tool as the title.
        let is_new = !title.is_empty() && title != call.tool && title != call.title;
        if is_new {
            call.title = title;
        }
        Some((
            call,
            if known.is_none() {
                News::Call
            } else if is_new {
                News::Title
            } else {
                News::Other
            },
        ))
    }

    fn add(&mut self, id: String, update: &Value) -> usize {
        if self.known.len() == MAX {
            self.known.pop_front();
        }
        self.count += 1;
        self.known.push_back(Call {
            number: self.count.to_string(),
            tool: short(tool(update, &id), MAX_TITLE),
            id,
            title: String::new(),
            kind: None,
            prohibited: None,
            state: State::Pending,
        });
        self.known.len() - 1
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Call,
    Title,
    Other,
}

impl Call {
    fn begins(&mut self, news: News, transcript: &mut Transcript) {
        let is_told = match self.state {
            State::Pending => false,
            State::Begun => news != News::Title,
            State::Ended => true,
        };
        if !is_told {
            self.state = State::Begun;
            transcript.call(&self.number, &self.tool, &self.title);
        }
    }

    fn ends(&mut self, end: CallEnd, transcript: &mut Transcript) {
        if self.state == State::Ended {
            return;
        }
        self.state = State::Ended;
        transcript.call_ended(&self.number, &self.tool, end);
    }
}

/// The name of the tool, as far as the server tells it; the protocol has only titles and kinds.
fn tool(update: &Value, id: &str) -> String {
    let is_name =
        |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c));
    let named = update.pointer("/_meta/claudeCode/toolName").and_then(Value::as_str);
    // Gemini CLI: `write_file__write_file_1794755501062_0`.
    let in_id = || id.split_once("__").filter(|(name, rest)| rest.starts_with(name)).map(|(name, _)| name);
    let title = || text(update, "title").filter(is_name);
    let kind = || text(update, "kind");
    named.or_else(in_id).or_else(title).or_else(kind).unwrap_or("tool").to_owned()
}

/// The exit code of a command, where a server tells one: a command that failed is a call that was completed for some.
fn exit_code(update: &Value) -> Option<i64> {
    const PLACES: [&str; 6] = [
        "/rawOutput/metadata/exit",
        "/rawOutput/exit_code",
        "/rawOutput/exitCode",
        "/rawOutput/metadata/exitCode",
        "/_meta/terminal_exit/exit_code",
        "/_meta/claudeCode/toolResponse/exitCode",
    ];
    PLACES.iter().find_map(|place| update.pointer(place)?.as_i64())
}

/// Whether the words of a failed call are those of a system that keeps somebody inside.
fn is_sandbox(why: &str, confinement: Confinement) -> bool {
    // A read-only file system is a sandbox of some kind.
    let is_wall = |line: &str| line.contains("EROFS") || line.contains("Read-only file system");
    why.lines().any(|line| is_wall(line) || (confinement == Confinement::Sandbox && is_refused_by_sandbox(line)))
}

fn words(update: &Value) -> String {
    let output = update.get("rawOutput");
    let raw = output.and_then(|output| {
        let named = ["error", "message", "output", "stderr"].iter().find_map(|name| text(output, name));
        output.as_str().or(named)
    });
    let content =
        || list(&update["content"]).iter().find_map(|block| block.pointer("/content/text").and_then(Value::as_str));
    short(raw.or_else(content).unwrap_or_default().to_owned(), MAX_WHY)
}

pub(super) fn text<'a>(of: &'a Value, name: &str) -> Option<&'a str> {
    of.get(name).and_then(Value::as_str)
}
