//! Reads what OpenCode prints. Takes nothing for done that only stopped.

use std::collections::VecDeque;

use ralph_model::{Ended, FaultKind, Tokens, Trouble, TroubleKind};
use serde_json::Value;

use super::call;
use super::error::Failure;
use super::kind::PROGRAM;
use crate::adapter::Parser;
use crate::text::{bounded, count, field, remember};
use crate::transcript::{Terminal, Transcript};
use crate::trouble::classify;

/// Bytes of one message's text.
const MAX_TEXT: usize = 32 * 1024;
/// Lines of standard error that are kept, and characters of one.
const MAX_PLAIN: usize = 8;
const MAX_PLAIN_LINE: usize = 300;
/// What it has no limit of its own for: contexts that were too long, and answers that broke off, with no tool call in between; and
/// answers of one message.
const MAX_OVERFLOWS: u32 = 3;
const MAX_BROKEN: u32 = 5;
const MAX_BEGUN: u32 = 5;
/// Where OpenCode cannot write its own folders, it ends before it does anything.
const FOLDERS: &str = "make ~/.local/share/opencode, ~/.local/state/opencode and ~/.config/opencode, or start opencode once \
                       outside of the sandbox";

#[derive(Default)]
pub(super) struct Reader {
    /// The model that the user's settings name.
    model: Option<String>,
    /// The message whose text came last, and that text.
    text: (String, String),
    last: Last,
    /// The message whose answer began last, and how often it did.
    begun: (String, u32),
    overflows: u32,
    broken: u32,
    /// The context was too long: the next answer is a summary.
    is_summary: bool,
    /// The session's own error, and what its log says about one.
    failure: Option<String>,
    logged: Option<String>,
    plain: VecDeque<String>,
    cost: f64,
    /// A request had tokens and no price.
    unpriced: bool,
    /// An answer began whose tokens are not told yet.
    is_asking: bool,
}

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
    /// An answer that broke off.
    Broken,
}

impl Parser for Reader {
    fn tells_beginnings(&self) -> bool {
        false
    }

    fn look(&mut self, transcript: &mut Transcript) {
        if let Some(model) = self.model.take() {
            transcript.model(&model);
        }
    }

    fn stdout(&mut self, line: &str, transcript: &mut Transcript) {
        self.look(transcript);
        let Ok(event) = serde_json::from_str::<Value>(line) else { return };
        let part = &event["part"];
        match field(&event, "type") {
            "step_start" => self.step_started(part, transcript),
            "text" => self.said(part, transcript),
            "tool_use" => {
                (self.overflows, self.broken) = (0, 0);
                if field(part, "tool") == "task" {
                    transcript.lost_count("what its subagents use is not told");
                }
                self.last = if call::tell(part, transcript) { Last::Denied } else { Last::Calls };
            }
            "step_finish" => self.step_finished(part, transcript),
            "error" => self.failed(&event["error"], transcript),
            // Reasoning, and whatever later versions add.
            _ => {}
        }
    }

    fn stderr(&mut self, line: &str, transcript: &mut Transcript) {
        if line.starts_with("timestamp=") {
            return self.logged(line, transcript);
        }
        if line.trim().is_empty() {
            return;
        }
        if line.starts_with("EACCES") && !transcript.has_answer() {
            transcript.fault(FaultKind::SandboxRefused, &format!("{line}: {FOLDERS}"));
        }
        remember(&mut self.plain, crate::text::short(line.to_owned(), MAX_PLAIN_LINE), MAX_PLAIN);
    }

    fn end(&mut self, ended: &Ended, transcript: &mut Transcript) {
        self.look(transcript);
        match ended {
            // Whatever killed it may also have written where it writes, and there is no other record.
            Ended::Signalled { .. } => transcript.lost_count("it was killed"),
            Ended::Exited { .. } => {}
            _ if self.is_asking => transcript.broke_off_request(),
            _ => {}
        }
        if let Some(words) = self.failure.take() {
            // The log has the reason for what the event only calls an error of the server.
            let words = self.logged.take().filter(|_| transcript.known_trouble().is_none()).unwrap_or(words);
            let trouble = classify(None, &words, transcript.now()).filter(|_| transcript.known_trouble().is_none());
            trouble.into_iter().for_each(|trouble| transcript.trouble(PROGRAM.advised(trouble)));
            return transcript.terminal(Terminal::Failed(words));
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
            Last::Done | Last::Open | Last::Calls | Last::Broken => {}
        }
    }
}

impl Reader {
    pub(super) fn new(model: Option<String>) -> Self {
        Self { model, ..Self::default() }
    }

    fn step_started(&mut self, part: &Value, transcript: &mut Transcript) {
        let message = field(part, "messageID");
        let times = if self.begun.0 == message { self.begun.1.saturating_add(1) } else { 1 };
        self.begun = (message.to_owned(), times);
        if times >= MAX_BEGUN {
            transcript.trouble(breaks_off());
            transcript.hopeless(&format!("{times} answers to one request broke off"));
        }
        self.last = Last::Open;
        self.is_asking = true;
        // The service began to answer, which it does not do for nothing, even if no word of it is ever seen.
        if !transcript.has_answer() {
            transcript.words("");
        }
    }

    fn said(&mut self, part: &Value, transcript: &mut Transcript) {
        // What OpenCode says in the user's place, after a summary, say, is not the agent's word, and the work goes on.
        let is_synthetic = part["synthetic"] == Value::Bool(true);
        if is_synthetic || self.is_summary {
            self.last = Last::Open;
            return;
        }
        let message = field(part, "messageID");
        if self.text.0 != message {
            self.text = (message.to_owned(), String::new());
        } else if !self.text.1.is_empty() {
            self.text.1.push('\n');
        }
        let more = field(part, "text");
        self.text.1.push_str(more);
        self.text.1 = bounded(std::mem::take(&mut self.text.1), MAX_TEXT);
        transcript.message_goes_on(more, &self.text.1);
    }

    fn step_finished(&mut self, part: &Value, transcript: &mut Transcript) {
        let tokens = tokens(&part["tokens"]);
        self.count(part, tokens, transcript);
        self.is_asking = false;
        self.last = match field(part, "reason") {
            "stop" => Last::Done,
            "tool-calls" if self.last == Last::Denied => Last::Denied,
            "tool-calls" => Last::Calls,
            "length" => Last::Length,
            // An end that the service did not give a reason for. Without tokens it is none: the stream broke off.
            "other" if !tokens.is_none() => Last::Done,
            _ => Last::Broken,
        };
        if self.last != Last::Broken {
            self.broken = 0;
            if std::mem::take(&mut self.is_summary) {
                self.last = Last::Open;
                return;
            }
            self.failure = None;
            return transcript.recovered();
        }
        self.broken = self.broken.saturating_add(1);
        if self.broken >= MAX_BROKEN {
            transcript.trouble(breaks_off());
            transcript.hopeless(&format!("{} answers in a row broke off", self.broken));
        }
    }

    fn failed(&mut self, error: &Value, transcript: &mut Transcript) {
        let Failure { words, trouble } = Failure::read(error, transcript.now());
        self.is_asking = false;
        if trouble.as_ref().is_some_and(|trouble| trouble.kind == TroubleKind::ContextOverflow) {
            self.overflows = self.overflows.saturating_add(1);
            self.is_summary = true;
        }
        if let Some(trouble) = trouble {
            transcript.trouble(trouble);
        }
        if self.overflows >= MAX_OVERFLOWS {
            let times = self.overflows;
            transcript.hopeless(&format!("the context was too long {times} times, and summaries did not help"));
        }
        self.failure = Some(words);
    }

    /// A line of the program's log about an error: `timestamp=… level=ERROR … message=failed … error="…"`.
    fn logged(&mut self, line: &str, transcript: &mut Transcript) {
        let Some(at) = line.find(" error.").or_else(|| line.find(" error=")) else { return };
        let (front, fields) = line.split_at(at);
        let words = match fields.split_once("=\"") {
            Some((_, quoted)) => quoted.replace("\\\"", "'").split('"').next().unwrap_or_default().to_owned(),
            None => fields.split(' ').filter_map(|field| Some(field.split_once('=')?.1)).collect::<Vec<_>>().join(": "),
        };
        let words = words.trim_start_matches("AI_APICallError: ");
        let words = words.split(" (cause: ").next().unwrap_or(words);
        if front.contains("message=failed ") {
            self.logged = Some(words.to_owned());
        } else if front.contains("message=\"stream error\"") {
            transcript.retries(words);
            // An event tells of a full context too, and only that counts.
            let trouble = classify(None, words, transcript.now());
            if let Some(trouble) = trouble.filter(|trouble| trouble.kind != TroubleKind::ContextOverflow) {
                transcript.trouble(PROGRAM.advised(trouble));
            }
        }
    }

    /// Adds up what a step used. OpenCode's price is nothing where it has none: that is no figure.
    fn count(&mut self, part: &Value, tokens: Tokens, transcript: &mut Transcript) {
        if tokens.is_none() {
            return;
        }
        transcript.request(field(part, "id"), None, tokens);
        match part["cost"].as_f64().filter(|cost| *cost > 0.0) {
            Some(cost) => self.cost += cost,
            None => self.unpriced = true,
        }
        // A sum with a part missing is none either.
        transcript.own_cost(if self.unpriced { 0.0 } else { self.cost });
    }
}

/// The trouble of a service that begins to answer and does not end.
fn breaks_off() -> Trouble {
    let message = "answers break off before their end".to_owned();
    Trouble { kind: TroubleKind::Overload, until: None, message, advice: None }
}

fn tokens(value: &Value) -> Tokens {
    let cache = &value["cache"];
    Tokens {
        input: count(value, "input"),
        cache_read: count(cache, "read"),
        cache_write: count(cache, "write"),
        // OpenCode counts reasoning apart from what was written.
        output: count(value, "output").saturating_add(count(value, "reasoning")),
        ..Tokens::default()
    }
}
