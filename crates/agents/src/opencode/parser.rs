//! Reads what OpenCode prints. Takes nothing for done that only stopped.

use std::collections::VecDeque;

use ralph_model::{Ended, FaultKind, Remedy, Tokens, Trouble, TroubleKind};
use serde_json::Value;

use super::call::{self, Outcome};
use super::error::Failure;
use super::log::Entry;
use super::patience::{Again, Hopeless, Patience, Whole};
use crate::adapter::Parser;
use crate::text::bounded;
use crate::transcript::{Terminal, Transcript};

/// Messages whose model is remembered: more than are under way at once.
const MAX_MESSAGES: usize = 32;
/// Requests that were counted before the log named their model.
const MAX_UNNAMED: usize = 32;
/// Bytes of one message's text.
const MAX_TEXT: usize = 32 * 1024;
/// Lines of standard error that are no log, and characters of one.
const MAX_PLAIN: usize = 8;
const MAX_PLAIN_LINE: usize = 300;
/// Where OpenCode cannot write its own folders, it ends before it does anything.
const FOLDERS: &str = "make ~/.local/share/opencode, ~/.local/state/opencode and ~/.config/opencode, or start opencode once \
                       outside of the sandbox";

/// What was read so far.
#[derive(Default)]
pub(super) struct Reader {
    session: Option<String>,
    /// The message that the log says is being asked for.
    asked: String,
    messages: VecDeque<Message>,
    /// The message whose text came last, and that text.
    text: (String, String),
    last: Last,
    /// The message whose answer began last.
    begun: String,
    patience: Patience,
    /// Why the last request was refused, for people.
    refusal: String,
    /// The session's own error, and whether one of the log says more.
    failure: Option<String>,
    logged: Option<String>,
    plain: VecDeque<String>,
    cost: f64,
    /// A request had tokens and no price.
    unpriced: bool,
    /// Requests that no event shows.
    hidden: bool,
    /// A request was made whose tokens are not told yet.
    is_asking: bool,
    unnamed: Vec<(String, String, Tokens)>,
}

/// A message of the model, as the log tells it.
struct Message {
    id: String,
    model: String,
    is_summary: bool,
}

/// What came last.
#[derive(Default, PartialEq, Eq)]
enum Last {
    /// Nothing at all, or a step that has not ended.
    #[default]
    Open,
    /// The answer of a message that ended the session's work.
    Done,
    /// A tool call, after which the model has to be asked again.
    Calls,
    /// A tool call that was not permitted. Where nobody can be asked, that is the end.
    Denied,
    /// An answer that was cut at the limit of its length.
    Length,
    /// A summary, after which the work goes on.
    Summary,
    /// An answer that broke off.
    Broken,
}

impl From<Outcome> for Last {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Denied => Self::Denied,
            Outcome::Other => Self::Calls,
        }
    }
}

impl Parser for Reader {
    fn tells_beginnings(&self) -> bool {
        false
    }

    fn stdout(&mut self, line: &str, transcript: &mut Transcript) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return };
        let Some(kind) = event.get("type").and_then(Value::as_str) else { return };
        if self.session.is_none() {
            self.session = event.get("sessionID").and_then(Value::as_str).map(str::to_owned);
        }
        let part = event.get("part").unwrap_or(&Value::Null);
        match kind {
            "step_start" => self.step_started(part, transcript),
            "text" => self.said(part, transcript),
            "tool_use" => {
                self.patience.works();
                self.last = call::tell(part, transcript).into();
            }
            "step_finish" => self.step_finished(part, transcript),
            "error" => self.failed(event.get("error").unwrap_or(&Value::Null), transcript),
            // Reasoning, and whatever later versions add.
            _ => {}
        }
        self.judge(transcript);
    }

    fn stderr(&mut self, line: &str, transcript: &mut Transcript) {
        match Entry::read(line) {
            Some(entry) => self.logged(&entry, transcript),
            None => self.complained(line, transcript),
        }
        self.judge(transcript);
    }

    fn look(&mut self, transcript: &mut Transcript) {
        self.judge(transcript);
    }

    fn end(&mut self, ended: &Ended, transcript: &mut Transcript) {
        if self.hidden {
            uncounted(transcript);
        }
        match ended {
            // Whatever killed it may also have written where it writes, and there is no other record.
            Ended::Signalled { .. } => transcript.lost_count("it was killed"),
            Ended::Exited { .. } => {}
            _ if self.is_asking => transcript.broke_off_request(),
            _ => {}
        }
        if let Some(words) = self.failure.take() {
            // The log has the reason for what the event only calls an error of the server.
            let words = self.logged.take().unwrap_or(words);
            if transcript.known_trouble().is_none()
                && let Some(trouble) = Failure::of_words(&words, transcript.now()).trouble
            {
                transcript.trouble(trouble);
            }
            transcript.terminal(Terminal::Failed(words));
            return;
        }
        // It has no last event: an answer that needs no other is its last word, if it was then let end by itself.
        let was_killed = matches!(ended, Ended::Signalled { .. });
        match self.last {
            Last::Done if !was_killed => transcript.terminal(Terminal::Completed),
            Last::Denied => transcript.terminal(Terminal::Failed("it stopped because a permission was denied".into())),
            Last::Length => transcript.terminal(Terminal::Failed("the answer was cut off at the length limit".into())),
            Last::Open if !self.plain.is_empty() && !transcript.has_answer() && !was_killed => {
                let words = Vec::from(std::mem::take(&mut self.plain)).join(" ");
                transcript.terminal(Terminal::Failed(words));
            }
            Last::Done | Last::Open | Last::Calls | Last::Summary | Last::Broken => {}
        }
    }
}

impl Reader {
    fn step_started(&mut self, part: &Value, transcript: &mut Transcript) {
        let message = text(part, "messageID");
        self.patience.begins(if self.begun == message { Again::Yes } else { Again::No });
        self.begun = message.to_owned();
        self.last = Last::Open;
        // The service began to answer, which it does not do for nothing, even if no word of it is ever seen.
        if !transcript.has_answer() {
            transcript.words("");
        }
    }

    fn said(&mut self, part: &Value, transcript: &mut Transcript) {
        let is_synthetic = part.get("synthetic").and_then(Value::as_bool).unwrap_or(false);
        let message = text(part, "messageID");
        // What OpenCode says in the user's place, or to itself, is not the agent's word.
        if is_synthetic || self.message(message).is_some_and(|message| message.is_summary) {
            return;
        }
        if self.text.0 != message {
            self.text = (message.to_owned(), String::new());
        } else if !self.text.1.is_empty() {
            self.text.1.push('\n');
        }
        let more = text(part, "text");
        self.text.1.push_str(more);
        self.text.1 = bounded(std::mem::take(&mut self.text.1), MAX_TEXT);
        transcript.message_goes_on(more, &self.text.1);
    }

    fn step_finished(&mut self, part: &Value, transcript: &mut Transcript) {
        let message = text(part, "messageID");
        let is_summary = self.message(message).is_some_and(|message| message.is_summary);
        let tokens = tokens(part.get("tokens").unwrap_or(&Value::Null));
        self.count(part, message, tokens, transcript);
        self.is_asking = false;
        self.last = match text(part, "reason") {
            "stop" if is_summary => Last::Summary,
            "stop" => Last::Done,
            "tool-calls" if self.last == Last::Denied => Last::Denied,
            "tool-calls" => Last::Calls,
            "length" => Last::Length,
            // An end that the service did not give a reason for. Without tokens it is none: the stream broke off.
            "other" if !tokens.is_none() => Last::Done,
            _ => Last::Broken,
        };
        let whole = if self.last == Last::Broken { Whole::No } else { Whole::Yes };
        self.patience.answered(whole);
        if whole == Whole::Yes && !is_summary {
            self.failure = None;
            transcript.recovered();
        }
    }

    fn failed(&mut self, error: &Value, transcript: &mut Transcript) {
        let Failure { words, trouble } = Failure::read(error, transcript.now());
        if trouble.as_ref().is_some_and(|trouble| trouble.kind == TroubleKind::ContextOverflow) {
            self.patience.overflowed();
        } else {
            self.patience.gives_up();
        }
        if let Some(trouble) = trouble {
            transcript.trouble(trouble);
            self.logged = None;
        }
        self.failure = Some(words);
    }

    fn logged(&mut self, entry: &Entry, transcript: &mut Transcript) {
        let session = entry.field("session.id");
        let is_own = self.session.as_deref().is_none_or(|own| own == session);
        match (entry.field("message"), entry.field("level")) {
            ("process", "INFO") if is_own => {
                self.asked = entry.field("messageID").to_owned();
                self.patience.asks_anew();
            }
            ("stream", _) => self.requested(entry, is_own, transcript),
            ("stream error", _) if is_own => {
                let Failure { words, trouble } = Failure::of_words(&entry.below("error"), transcript.now());
                self.patience.refused(transcript.now());
                self.is_asking = false;
                self.refusal = words;
                // An event tells of a full context too, and only that counts.
                if let Some(trouble) = trouble.filter(|trouble| trouble.kind != TroubleKind::ContextOverflow) {
                    transcript.trouble(trouble);
                }
            }
            ("failed", "ERROR") => self.logged = Some(entry.field("error").to_owned()),
            _ => {}
        }
    }

    /// A request is made, by the session itself or by something that no event shows.
    fn requested(&mut self, entry: &Entry, is_own: bool, transcript: &mut Transcript) {
        if !is_own || entry.field("mode") == "subagent" || entry.field("small") == "true" {
            self.hidden = true;
            return;
        }
        self.is_asking = true;
        if self.patience.requests() == Again::Yes {
            let why = if self.refusal.is_empty() { "the answer broke off" } else { &self.refusal };
            transcript.retries(why);
            if transcript.known_trouble().is_some_and(|trouble| trouble.kind.remedy() == Remedy::Person) {
                transcript.hopeless("it retries what only the user can fix");
            }
            self.refusal.clear();
        }
        let model = format!("{}/{}", entry.field("providerID"), entry.field("modelID"));
        let is_summary = entry.field("agent") == "compaction";
        if !is_summary {
            transcript.model(&model);
        }
        let id = self.asked.clone();
        for (request, message, tokens) in &self.unnamed {
            if *message == id {
                transcript.request(request, Some(&model), *tokens);
            }
        }
        self.unnamed.retain(|(_, message, _)| *message != id);
        if self.message(&id).is_none() {
            if self.messages.len() == MAX_MESSAGES {
                self.messages.pop_front();
            }
            self.messages.push_back(Message { id, model, is_summary });
        }
    }

    /// Adds up what a step used. OpenCode's price is nothing where it has none: that is no figure.
    fn count(&mut self, part: &Value, message: &str, tokens: Tokens, transcript: &mut Transcript) {
        if tokens.is_none() {
            return;
        }
        let (id, model) = (text(part, "id"), self.message(message).map(|message| message.model.clone()));
        if model.is_none() && self.unnamed.len() < MAX_UNNAMED {
            self.unnamed.push((id.to_owned(), message.to_owned(), tokens));
        }
        transcript.request(id, model.as_deref(), tokens);
        match part.get("cost").and_then(Value::as_f64).filter(|cost| *cost > 0.0) {
            Some(cost) => self.cost += cost,
            None => self.unpriced = true,
        }
        // A sum with a part missing is none either.
        transcript.own_cost(if self.unpriced { 0.0 } else { self.cost });
    }

    /// A line of standard error that is no log.
    fn complained(&mut self, line: &str, transcript: &mut Transcript) {
        if line.trim().is_empty() {
            return;
        }
        if line.starts_with("EACCES") && !transcript.has_answer() {
            transcript.fault(FaultKind::SandboxRefused, &format!("{line}: {FOLDERS}"));
        }
        if self.plain.len() == MAX_PLAIN {
            self.plain.pop_front();
        }
        self.plain.push_back(crate::text::short(line.to_owned(), MAX_PLAIN_LINE));
    }

    /// Ends what would go on for ever.
    fn judge(&self, transcript: &mut Transcript) {
        if transcript.is_hopeless() {
            return;
        }
        let Some(why) = self.patience.ends(transcript.now()) else { return };
        match why {
            Hopeless::Overflow(times) => {
                transcript.hopeless(&format!("the context was too long {times} times, and summaries did not help"));
            }
            Hopeless::Broken(times) => {
                transcript.trouble(breaks_off());
                transcript.hopeless(&format!("{times} answers in a row broke off"));
            }
            Hopeless::Failed(times) => {
                if transcript.known_trouble().is_none() {
                    transcript.trouble(breaks_off());
                }
                transcript.hopeless(&format!("{times} requests in a row failed"));
            }
            Hopeless::Waits => transcript.hopeless("it waits silently until it may ask the service again"),
        }
    }

    fn message(&self, id: &str) -> Option<&Message> {
        self.messages.iter().find(|message| message.id == id)
    }
}

/// The trouble of a service that begins to answer and does not end.
fn breaks_off() -> Trouble {
    let message = "answers break off before their end".to_owned();
    Trouble { kind: TroubleKind::Overload, until: None, message, advice: None }
}

/// Says that something was used that nobody counted: the cost is unknown then, whatever was counted beside it.
fn uncounted(transcript: &mut Transcript) {
    // One token of a model that nobody has a price for is what the meter understands.
    transcript.own_cost(0.0);
    transcript.request("hidden", Some("a subagent's model"), Tokens { input: 1, ..Tokens::default() });
}

fn tokens(value: &Value) -> Tokens {
    let count = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cache = value.get("cache").unwrap_or(&Value::Null);
    Tokens {
        input: count(value, "input"),
        cache_read: count(cache, "read"),
        cache_write: count(cache, "write"),
        // OpenCode counts reasoning apart from what was written.
        output: count(value, "output").saturating_add(count(value, "reasoning")),
        ..Tokens::default()
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}
