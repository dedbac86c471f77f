//! Reads what `codex exec --json` prints: one event a line. No line is trusted to be whole, known or true.

use ralph_model::{Ended, FaultKind, Tokens};
use serde_json::Value;

use super::{Guard, refusal};
use crate::adapter::Parser;
use crate::text::{count, field, list, short, text};
use crate::transcript::{CallEnd, Terminal, Transcript};

/// Characters of what is remembered of a failure.
const MAX_WORDS: usize = 2000;
/// Words of a file system that a sandbox of Codex's own made read-only.
const READ_ONLY: &str = "Read-only file system";

pub(crate) struct Codex {
    guard: Guard,
    failed: Option<String>,
    has_begun: bool,
    /// The last line on standard error that names an error.
    complaint: Option<String>,
}

impl Codex {
    pub(crate) const fn new(guard: Guard) -> Self {
        Self { guard, failed: None, has_begun: false, complaint: None }
    }

    fn item(&mut self, item: &Value, is_over: bool, transcript: &mut Transcript) {
        match field(item, "type") {
            "agent_message" if is_over => {
                transcript.recovered();
                transcript.message(field(item, "text"));
            }
            "reasoning" if is_over => {
                transcript.recovered();
                transcript.words(&format!("{}\n", field(item, "text")));
            }
            // Warnings and plans; what is fatal comes as `turn.failed`.
            "agent_message" | "reasoning" | "error" | "todo_list" | "" => {}
            kind => {
                let Some((tool, input)) = call(kind, item) else { return };
                transcript.recovered();
                transcript.call(field(item, "id"), &tool, &input);
                if is_over {
                    let end = outcome(kind, item);
                    self.refused(item, &end, transcript);
                    transcript.call_ended(field(item, "id"), &tool, end);
                }
            }
        }
    }

    /// A command that failed, maybe at the walls of a sandbox.
    fn refused(&self, item: &Value, end: &CallEnd, transcript: &mut Transcript) {
        if !matches!(end, CallEnd::Failed(_)) {
            return;
        }
        let output = field(item, "aggregated_output");
        match (self.guard, output.lines().find(|line| line.contains(READ_ONLY))) {
            (Guard::Own, Some(line)) => transcript.fault(FaultKind::SandboxRefused, line),
            (Guard::Own, None) => {}
            (Guard::Outer, _) => transcript.failed_with(output),
        }
    }
}

/// An error that is not the last word. Any other is said again when the turn fails.
fn error(words: &str, transcript: &mut Transcript) {
    if words.starts_with("Reconnecting") {
        transcript.retries(words);
        if let Some(trouble) = refusal::trouble(words, transcript.now()) {
            transcript.trouble(trouble);
        }
    }
}

impl Parser for Codex {
    fn stdout(&mut self, line: &str, transcript: &mut Transcript) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return };
        let kind = field(&event, "type");
        self.has_begun |= !kind.is_empty();
        match kind {
            "item.started" | "item.updated" | "item.completed" => {
                if let Some(item) = event.get("item") {
                    self.item(item, kind == "item.completed", transcript);
                }
            }
            "error" => error(field(&event, "message"), transcript),
            "turn.completed" => {
                // Of the whole thread: a later figure takes the place of an earlier one.
                if let Some(usage) = event.get("usage") {
                    transcript.total(None, tokens(usage));
                }
                self.failed = None;
                transcript.recovered();
                transcript.terminal(Terminal::Completed);
            }
            "turn.failed" => {
                let words = text(&event["error"]["message"]);
                self.failed = Some(short(words.to_owned(), MAX_WORDS));
                let words = if words.is_empty() {
                    "the turn failed without a reason".to_owned()
                } else {
                    refusal::spoken(words)
                };
                transcript.terminal(Terminal::Failed(words));
            }
            _ => {}
        }
    }

    fn stderr(&mut self, line: &str, _: &mut Transcript) {
        let is_error = line.starts_with("Error") || line.starts_with("error:");
        if is_error && !self.has_begun {
            self.complaint = Some(short(line.to_owned(), MAX_WORDS));
        }
    }

    fn end(&mut self, ended: &Ended, transcript: &mut Transcript) {
        if let Some(words) = &self.failed {
            // What it failed of at last says more than what it tried again before.
            transcript.recovered();
            if let Some(trouble) = refusal::trouble(words, transcript.now()) {
                transcript.trouble(trouble);
            }
        } else if let (Ended::Exited { .. }, None, Some(words)) = (ended, transcript.said_end(), &self.complaint) {
            transcript.terminal(Terminal::Failed(words.clone()));
        }
    }
}

/// The name of a tool and what it is called with, for people.
fn call(kind: &str, item: &Value) -> Option<(String, String)> {
    Some(match kind {
        "command_execution" => ("shell".to_owned(), unwrapped(field(item, "command")).to_owned()),
        "file_change" => ("apply_patch".to_owned(), changes(item)),
        "mcp_tool_call" => (format!("{}.{}", field(item, "server"), field(item, "tool")), arguments(item)),
        "collab_tool_call" => (field(item, "tool").to_owned(), field(item, "prompt").to_owned()),
        "web_search" => (kind.to_owned(), field(item, "query").to_owned()),
        // An item that has a state is something that it does.
        other if item.get("status").is_some() => (other.to_owned(), String::new()),
        _ => return None,
    })
}

/// The command inside `/bin/bash -lc '…'`.
fn unwrapped(command: &str) -> &str {
    let inner = command.split_once(" -lc ").or_else(|| command.split_once(" -c ")).map_or(command, |(_, inner)| inner);
    let between = |mark: char| inner.strip_prefix(mark).and_then(|inner| inner.strip_suffix(mark));
    between('\'').or_else(|| between('"')).unwrap_or(inner)
}

fn changes(item: &Value) -> String {
    let part = |change: &Value, name: &str| change[name].as_str().unwrap_or("?").to_owned();
    let changes = list(&item["changes"]).iter().take(20);
    changes.map(|change| format!("{} {}", part(change, "kind"), part(change, "path"))).collect::<Vec<_>>().join(", ")
}

fn arguments(item: &Value) -> String {
    match item.get("arguments") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => short(text.clone(), MAX_WORDS),
        Some(other) => short(other.to_string(), MAX_WORDS),
    }
}

/// How an item ended. What does not say that it worked did not.
fn outcome(kind: &str, item: &Value) -> CallEnd {
    let last = last_line(field(item, "aggregated_output"));
    let error = text(&item["error"]["message"]);
    match (item["status"].as_str(), item["exit_code"].as_i64()) {
        (Some("declined"), _) => CallEnd::Denied(if last.is_empty() { error } else { last }.to_owned()),
        (_, Some(code)) if code != 0 => CallEnd::Failed(exited(code, last)),
        (Some("completed"), _) if item.get("error").is_none_or(Value::is_null) => CallEnd::Done,
        (None, Some(_)) => CallEnd::Done,
        (None, None) if kind == "web_search" => CallEnd::Done,
        _ if error.is_empty() => CallEnd::Failed(last.to_owned()),
        _ => CallEnd::Failed(error.to_owned()),
    }
}

/// Tokens as Codex counts them: those from and into a cache are among those read.
fn tokens(usage: &Value) -> Tokens {
    let (cache_read, cache_write) = (count(usage, "cached_input_tokens"), count(usage, "cache_write_input_tokens"));
    Tokens {
        input: count(usage, "input_tokens").saturating_sub(cache_read).saturating_sub(cache_write),
        cache_read,
        cache_write,
        output: count(usage, "output_tokens"),
        ..Tokens::default()
    }
}

/// How a command failed, with its last words.
fn exited(code: i64, last: &str) -> String {
    if last.is_empty() { format!("exit code {code}") } else { format!("exit code {code}: {last}") }
}

fn last_line(output: &str) -> &str {
    output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}
