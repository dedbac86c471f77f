//! Reads the program's stream, what it complains about, and how calls ended in the records that it keeps. Decides nothing that the
//! program did not say.

use std::collections::VecDeque;
use std::fmt::Write as _;

use ralph_model::{Ended, FaultKind, Tokens, TroubleKind};
use serde_json::Value;

use super::calls::{SHELL, about, command_end, failure, response};
use super::kind::PROGRAM;
use super::records::Records;
use super::refusal;
use crate::adapter::Parser;
use crate::text::{bounded, count, field, list, remember, short};
use crate::transcript::{CallEnd, Terminal, Transcript};

/// Bytes of a message that is still being written.
const MAX_MESSAGE: usize = 64 * 1024;
/// Calls, and messages of a record, that are remembered to tell a new one from one that is told again.
const MAX_SEEN: usize = 512;
/// Results of commands that wait for the record to tell their exit code.
const MAX_HELD: usize = 16;
/// Models that are told apart.
const MAX_MODELS: usize = 32;
/// Lines of complaint that are kept, the first ones, and characters of one.
const MAX_COMPLAINTS: usize = 12;
const MAX_COMPLAINT: usize = 500;
/// How long the program may wait by itself. Whoever is told to come back in hours would sit there for hours.
const MAX_WAIT: i64 = 20_000;

/// How a helper of the program hands its result over.
const HAND_OVER: &str = "complete_task";
/// Names that stand for a choice of models and are none themselves.
pub(crate) const CHOICES: [&str; 6] = ["auto", "pro", "flash", "flash-lite", "auto-gemini-2.5", "auto-gemini-3"];
/// The beginnings of lines that complain about nothing.
const NOISE: [&str; 10] = [
    "Warning:",
    "YOLO mode is enabled",
    "Ripgrep is not available",
    "[STARTUP]",
    "Approval mode overridden",
    "Error executing tool",
    "Loaded cached credentials",
    "(node:",
    "(Use `node",
    "at ",
];

pub(crate) struct Gemini {
    records: Records,
    /// The settings of the run and those of the user that they were made from: people know only the latter.
    settings: Option<(String, String)>,
    asked: Option<String>,
    text: String,
    /// Calls that were told on standard output, by their ids.
    calls: VecDeque<(String, String)>,
    /// Commands whose exit code the record has not told yet.
    held: VecDeque<String>,
    told_calls: VecDeque<String>,
    /// When the program told that it begins. A session that is taken up again has records of before.
    began: Option<String>,
    /// What went wrong, where the final word does not repeat it.
    error: Option<String>,
    finale: Option<Finale>,
    complaints: Vec<String>,
    /// The program said that an attempt failed, and has not yet said what it does about that.
    attempt: Option<String>,
}

/// The program's final word.
struct Finale {
    good: bool,
    kind: String,
    words: String,
}

impl Gemini {
    pub(crate) fn new(records: Records, settings: Option<(String, String)>) -> Self {
        Self {
            records,
            settings,
            asked: None,
            text: String::new(),
            calls: VecDeque::new(),
            held: VecDeque::new(),
            told_calls: VecDeque::new(),
            began: None,
            error: None,
            finale: None,
            complaints: Vec::new(),
            attempt: None,
        }
    }

    fn event(&mut self, event: &Value, transcript: &mut Transcript) {
        match field(event, "type") {
            "init" => {
                self.began = Some(short(field(event, "timestamp").to_owned(), 100));
                let session = field(event, "session_id");
                self.records.session(session);
                let model = field(event, "model");
                if !model.is_empty() && !CHOICES.contains(&model) {
                    self.asked = Some(short(model.to_owned(), 100));
                    transcript.model(model);
                }
            }
            // Those of the user are the prompt.
            "message" if field(event, "role") == "assistant" => {
                let piece = field(event, "content");
                transcript.words(piece);
                self.text.push_str(piece);
                if self.text.len() > 2 * MAX_MESSAGE {
                    self.text = bounded(std::mem::take(&mut self.text), MAX_MESSAGE);
                }
            }
            "tool_use" => {
                self.say(transcript);
                let (id, tool) = (field(event, "tool_id"), field(event, "tool_name"));
                remember(&mut self.calls, (short(id.to_owned(), 200), short(tool.to_owned(), 100)), MAX_SEEN);
                transcript.call(id, tool, &about(event.get("parameters")));
            }
            "tool_result" => self.result(event, transcript),
            "error" => self.error(field(event, "severity"), field(event, "message"), transcript),
            "result" => {
                self.say(transcript);
                self.stats(event.get("stats"), transcript);
                let error = event.get("error");
                self.finale = Some(Finale {
                    good: field(event, "status") == "success" && error.is_none_or(Value::is_null),
                    kind: error.map_or("", |error| field(error, "type")).to_owned(),
                    words: short(error.map_or("", |error| field(error, "message")).to_owned(), 4 * MAX_COMPLAINT),
                });
            }
            _ => {}
        }
    }

    /// What the program says that the run used in all. A service that answers under a name without a price is charged as the model
    /// that was asked for.
    fn stats(&self, stats: Option<&Value>, transcript: &mut Transcript) {
        let Some(Value::Object(models)) = stats.and_then(|stats| stats.get("models")) else { return };
        let asked = self.asked.as_deref().filter(|asked| !models.contains_key(*asked) && transcript.has_price(asked));
        for (model, used) in models.iter().take(MAX_MODELS) {
            let (read, cached, total) =
                (count(used, "input_tokens"), count(used, "cached"), count(used, "total_tokens"));
            let tokens = Tokens {
                input: read.saturating_sub(cached),
                cache_read: cached.min(read),
                // Hidden reasoning is in no other figure than the total.
                output: count(used, "output_tokens").max(total.saturating_sub(read)),
                ..Tokens::default()
            };
            match asked.filter(|_| models.len() == 1 && !transcript.has_price(model)) {
                Some(asked) => transcript.total(Some(asked), tokens),
                None => transcript.total(Some(model), tokens),
            }
        }
    }

    /// The words so far are a message.
    fn say(&mut self, transcript: &mut Transcript) {
        transcript.message(&std::mem::take(&mut self.text));
    }

    fn result(&mut self, event: &Value, transcript: &mut Transcript) {
        let id = field(event, "tool_id");
        let tool = self.tool(id);
        let error = event.get("error").filter(|error| !error.is_null());
        // A call that was cancelled is told as a success with an error beside it.
        if field(event, "status") == "success" && error.is_none() {
            if tool == SHELL {
                if self.held.len() == MAX_HELD
                    && let Some(oldest) = self.held.pop_front()
                {
                    transcript.call_ended(&oldest, SHELL, CallEnd::Done);
                }
                self.held.push_back(id.to_owned());
            } else {
                transcript.call_ended(id, &tool, CallEnd::Done);
            }
            return;
        }
        let kind = error.map_or("", |error| field(error, "type"));
        let words = match error.map_or("", |error| field(error, "message")) {
            "" => field(event, "output"),
            words => words,
        };
        let end = failure(&tool, kind, words, transcript);
        transcript.call_ended(id, &tool, end);
    }

    fn tool(&self, id: &str) -> String {
        self.calls.iter().rev().find(|(known, _)| known == id).map(|(_, tool)| tool.clone()).unwrap_or_default()
    }

    fn error(&mut self, severity: &str, message: &str, transcript: &mut Transcript) {
        if message.starts_with("Loop detected") {
            transcript.fault(FaultKind::EndlessRetry, message);
        } else if severity == "error" {
            self.error = Some(short(message.to_owned(), MAX_COMPLAINT));
        }
    }

    /// A call as the record tells it: how a command ended, and what helpers did.
    fn recorded_call(&mut self, call: &Value, transcript: &mut Transcript) {
        let (id, tool) = (field(call, "id"), field(call, "name"));
        if let Some(at) = self.held.iter().position(|held| held == id) {
            self.held.remove(at);
            let end = command_end(call, transcript);
            transcript.call_ended(id, SHELL, end);
            return;
        }
        let is_known =
            self.calls.iter().any(|(known, _)| known == id) || self.told_calls.iter().any(|known| known == id);
        if id.is_empty() || tool.is_empty() || tool == HAND_OVER || is_known {
            return;
        }
        remember(&mut self.told_calls, id.to_owned(), MAX_SEEN);
        transcript.call(id, tool, &about(call.get("args")));
        let answer = response(call);
        let words = answer.map_or("", |answer| field(answer, "error"));
        let end = if field(call, "status") == "success" && words.is_empty() {
            command_end(call, transcript)
        } else {
            failure(tool, "", words, transcript)
        };
        transcript.call_ended(id, tool, end);
    }

    fn conclude(&mut self, finale: &Finale, code: Option<u16>, transcript: &mut Transcript) {
        let words = match (finale.words.as_str(), &self.error) {
            ("", Some(error)) => error.clone(),
            ("", None) => "it ended with an error and no message".to_owned(),
            (words, _) => words.to_owned(),
        };
        if finale.kind == "FatalTurnLimitedError" || words.contains("Maximum session turns exceeded") {
            return transcript.terminal(Terminal::TurnLimit);
        }
        let lower = words.to_ascii_lowercase();
        if ["empty response", "no final response text"].iter().any(|word| lower.contains(word)) {
            transcript.fault(FaultKind::EmptyAnswer, &words);
        } else if lower.contains("error: terminated") || lower.contains("without a finish reason") {
            transcript.fault(FaultKind::CutStream, &words);
        } else if words.starts_with(refusal::FRAME)
            && let Some(trouble) = refusal::trouble(&words, code, transcript.now())
        {
            transcript.trouble(trouble);
        }
        transcript.terminal(Terminal::Failed(words));
    }

    /// The program ended before it began to work, and its exit code says why. Nothing but a person can help with that.
    fn never_began(&self, code: i32, transcript: &mut Transcript) {
        let said = self.complaint();
        let trouble = match code {
            0 => return,
            41 => refusal::not_set_up(said, PROGRAM.login),
            44 => {
                transcript.fault(FaultKind::SandboxRefused, &said);
                return transcript.terminal(Terminal::Failed(said));
            }
            52 => refusal::not_set_up(said, "fix that settings file, or remove it"),
            55 => refusal::not_set_up(said, "run `gemini` in that folder once and trust it"),
            _ => refusal::not_set_up(said, "check that `gemini` starts in that folder"),
        };
        let words = trouble.to_string();
        transcript.trouble(trouble);
        transcript.terminal(Terminal::Failed(words));
    }

    /// What it complained about, with the names of files that people know.
    fn complaint(&self) -> String {
        let said = self.complaints.join(" ");
        match &self.settings {
            Some((own, user)) => said.replace(own.as_str(), user),
            None => said,
        }
    }

    /// The program tries again, at once or later.
    fn tries_again(&mut self, wait: Option<i64>, transcript: &mut Transcript) {
        let why = self.attempt.take().unwrap_or_default();
        let why = why.split(". Retrying").next().unwrap_or(&why);
        let Some(wait) = wait.filter(|wait| *wait > MAX_WAIT) else { return transcript.retries(why) };
        let now = transcript.now();
        let until = ralph_model::Timestamp(now.0.saturating_add(wait));
        let trouble = refusal::trouble(why, Some(429), now).unwrap_or_else(|| ralph_model::Trouble {
            kind: TroubleKind::RateLimit,
            until: None,
            message: why.to_owned(),
            advice: None,
        });
        transcript.trouble(ralph_model::Trouble { until: trouble.until.or(Some(until)), ..trouble });
        transcript.hopeless(&format!("it would wait until {} by itself", until.rfc3339()));
    }
}

impl Parser for Gemini {
    fn stdout(&mut self, line: &str, transcript: &mut Transcript) {
        if let Ok(event @ Value::Object(_)) = serde_json::from_str(line.trim()) {
            self.event(&event, transcript);
        }
    }

    fn stderr(&mut self, line: &str, transcript: &mut Transcript) {
        let line = short(line.trim().to_owned(), MAX_COMPLAINT);
        let mut words = line.as_str();
        if let Some((number, why)) = line.strip_prefix("Attempt ").and_then(|rest| rest.split_once(" failed"))
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            self.attempt = Some(String::new());
            words = why.trim_start_matches([':', ' ']);
        }
        let Some(attempt) = &mut self.attempt else {
            let is_noise = line.is_empty() || NOISE.iter().any(|noise| line.starts_with(noise));
            if !is_noise && self.complaints.len() < MAX_COMPLAINTS {
                self.complaints.push(line);
            }
            return;
        };
        // What the service said can be longer than a line.
        if attempt.len() < 4 * MAX_COMPLAINT {
            let _ = write!(attempt, "{}{words}", if attempt.is_empty() { "" } else { " " });
        }
        if let Some((_, wait)) = line.split_once("Retrying after ") {
            let digits = wait.bytes().take_while(u8::is_ascii_digit).count();
            self.tries_again(wait.get(..digits).and_then(|wait| wait.parse().ok()), transcript);
        } else if line.contains("Retrying with backoff") {
            self.tries_again(None, transcript);
        } else if line.contains("Max attempts reached") {
            self.attempt = None;
        }
    }

    fn look(&mut self, transcript: &mut Transcript) {
        let mut records = std::mem::replace(&mut self.records, Records::new(std::path::Path::new("")));
        records.read(|line| self.side(line, transcript));
        self.records = records;
    }

    fn side(&mut self, line: &str, transcript: &mut Transcript) {
        let Ok(record) = serde_json::from_str::<Value>(line) else { return };
        // Times of one form: the later one is the greater text.
        let time = field(&record, "timestamp");
        let is_old = !time.is_empty() && self.began.as_deref().is_some_and(|began| time < began);
        if field(&record, "type") != "gemini" || is_old {
            return;
        }
        for call in list(&record["toolCalls"]) {
            self.recorded_call(call, transcript);
        }
    }

    fn end(&mut self, ended: &Ended, transcript: &mut Transcript) {
        self.say(transcript);
        for id in std::mem::take(&mut self.held) {
            transcript.call_ended(&id, SHELL, CallEnd::Done);
        }
        let code = match ended {
            Ended::Exited { code } => Some(*code),
            _ => None,
        };
        match self.finale.take() {
            Some(finale) if finale.good => match &self.error {
                Some(error) if error.contains("Maximum session turns exceeded") => {
                    transcript.terminal(Terminal::TurnLimit)
                }
                Some(_) | None => transcript.terminal(Terminal::Completed),
            },
            Some(finale) => self.conclude(&finale, code.and_then(refusal::status_of), transcript),
            None => {
                if let Some(code) = code.filter(|_| self.began.is_none()) {
                    self.never_began(code, transcript);
                }
            }
        }
    }
}
