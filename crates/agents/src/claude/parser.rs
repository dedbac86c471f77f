//! Reads the event stream of Claude Code (`--output-format stream-json --include-partial-messages`).
//!
//! What the stream tells, and when:
//! - `assistant` and `user` come for each block of an answer and for each result of a tool, those of subagents with
//!   `parent_tool_use_id`. The figures in `assistant` are those of the answer's beginning.
//! - `stream_event` tells the main conversation as it is written; its `message_delta` has the true figures of an answer. Subagents
//!   and the summary of a compaction have no such events: their figures are those of a beginning until the end.
//! - `result` ends a turn. Work in the background can begin another one, so the last `result` counts; its figures are sums over the
//!   session, except for `model_usage_since_last_result`.

use std::collections::VecDeque;

use ralph_model::{Ended, FaultKind, Timestamp, Tokens, Window};
use serde_json::Value;

use super::answers::Answers;
use super::kind::PROGRAM;
use super::refusal::Failure;
use super::spending::Spending;
use super::words::{beginning, called_with, error_words, is_rejected, refused_by_sandbox};
use crate::adapter::Parser;
use crate::text::{count, list, remember, text};
use crate::transcript::{CallEnd, Terminal, Transcript};
use crate::trouble::{classify, point_in_time};

/// Calls that were not permitted and are remembered by their ids.
const MAX_DENIED: usize = 64;
/// Lines of standard error that are remembered.
const MAX_STDERR: usize = 4;
/// What stands for the model in messages that the program wrote itself.
const NOBODY: &str = "<synthetic>";
/// Ends of a turn that the service is the reason of.
const OF_THE_SERVICE: [&str; 5] =
    ["api_error", "prompt_too_long", "blocking_limit", "image_error", "rapid_refill_breaker"];

/// How the service writes a piece of an answer and the program passes it on: in this order, and without a space.
const PIECE: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":"#;

/// Whether a line is a piece of an answer, which comes whole in a later line. Most of a stream is; a service may have an order of its
/// own.
pub(super) fn is_piece(line: &str) -> bool {
    line.starts_with(PIECE)
        || (line.starts_with(r#"{"type":"stream_event","#) && line.contains(r#""type":"content_block_delta""#))
}

#[derive(Debug, Default)]
pub(super) struct Claude {
    answers: Answers,
    spending: Spending,
    /// The last words of the main conversation.
    words: String,
    denied: VecDeque<String>,
    failure: Option<Failure>,
    /// When the limit ends that the service named last.
    until: Option<Timestamp>,
    compactions: u32,
    stderr: VecDeque<String>,
    began: bool,
}

/// Whether an event is of the main conversation, and not of a subagent.
fn is_main(event: &Value) -> bool {
    event["parent_tool_use_id"].is_null()
}

impl Parser for Claude {
    fn stdout(&mut self, line: &str, transcript: &mut Transcript) {
        if is_piece(line) {
            self.began = true;
            return;
        }
        let Ok(event) = serde_json::from_str::<Value>(line) else { return };
        match text(&event["type"]) {
            "stream_event" => self.streamed(&event, transcript),
            "assistant" => self.assistant(&event, transcript),
            "user" => self.results(&event, transcript),
            "system" => self.system(&event, transcript),
            "rate_limit_event" => self.limit(&event["rate_limit_info"], transcript),
            "result" => self.result(&event, transcript),
            _ => return,
        }
        self.began = true;
    }

    fn stderr(&mut self, line: &str, _: &mut Transcript) {
        if line.trim().is_empty() {
            return;
        }
        remember(&mut self.stderr, beginning(line.trim()).to_owned(), MAX_STDERR);
    }

    fn end(&mut self, ended: &Ended, transcript: &mut Transcript) {
        let Ended::Exited { code } = ended else { return };
        match transcript.said_end() {
            // Both cannot be true, and the worse of two stories is believed.
            Some(Terminal::Completed) if *code != 0 => {
                transcript.terminal(Terminal::Failed(format!("exit code {code} after it reported completion")));
            }
            // It refused its arguments or its settings; standard error says why.
            None if !self.began && *code != 0 && !self.stderr.is_empty() => {
                let words = self.stderr.make_contiguous().join(" · ");
                if let Some(trouble) = classify(None, &words, transcript.now()) {
                    transcript.trouble(PROGRAM.advised(trouble));
                }
                transcript.terminal(Terminal::Failed(words));
            }
            Some(_) | None => {}
        }
    }
}

impl Claude {
    /// A piece of an answer, as the service sends it.
    fn streamed(&mut self, event: &Value, transcript: &mut Transcript) {
        let inner = &event["event"];
        match text(&inner["type"]) {
            "message_start" => {
                self.answers.begin(&inner["message"], transcript);
                if is_main(event) {
                    self.answered(transcript);
                }
            }
            "message_delta" => self.answers.settle(text(&event["api_message_id"]), &inner["usage"], transcript),
            _ => {}
        }
    }

    /// A block of an answer, whole.
    fn assistant(&mut self, event: &Value, transcript: &mut Transcript) {
        let message = &event["message"];
        let content = list(&message["content"]);
        if event["is_api_error_message"] == Value::Bool(true) || text(&message["model"]) == NOBODY {
            if is_main(event) {
                let words = content.iter().map(|block| text(&block["text"])).find(|words| !words.is_empty());
                self.failure = Some(failure(event, words.unwrap_or_default()));
            }
            return;
        }
        if is_main(event) {
            self.answered(transcript);
        } else if self.failure.is_none() {
            // Whatever was tried again worked: nothing tells whose request it was.
            transcript.recovered();
        }
        self.answers.told(message, transcript);
        for block in content {
            let (id, kind) = (text(&block["id"]), text(&block["type"]));
            match kind {
                "text" if is_main(event) => self.say(text(&block["text"]), transcript),
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    transcript.call(id, text(&block["name"]), &called_with(&block["input"]));
                }
                // Tools that the service itself runs.
                kind if kind.ends_with("_tool_result") => {
                    let problem = text(&block["content"]["error_code"]);
                    let end = if problem.is_empty() { CallEnd::Done } else { CallEnd::Failed(problem.to_owned()) };
                    transcript.call_ended(text(&block["tool_use_id"]), kind, end);
                }
                _ => {}
            }
        }
    }

    fn results(&mut self, event: &Value, transcript: &mut Transcript) {
        let blocks = list(&event["message"]["content"]);
        for block in blocks.iter().filter(|block| text(&block["type"]) == "tool_result") {
            let id = text(&block["tool_use_id"]);
            let is_error = block["is_error"] == Value::Bool(true);
            let was_denied = is_error && (self.knows_denied(id) || is_rejected(&event["tool_result_meta"], id));
            let end = if was_denied {
                self.remember_denied(id);
                CallEnd::Denied(error_words(&block["content"]))
            } else if is_error {
                if transcript.is_confined()
                    && let Some(line) = refused_by_sandbox(&block["content"])
                {
                    transcript.fault(FaultKind::SandboxRefused, line);
                }
                CallEnd::Failed(error_words(&block["content"]))
            } else {
                CallEnd::Done
            };
            transcript.call_ended(id, "tool", end);
        }
    }

    fn system(&mut self, event: &Value, transcript: &mut Transcript) {
        match text(&event["subtype"]) {
            "init" => {
                let model = text(&event["model"]);
                if !model.is_empty() {
                    transcript.model(model);
                }
            }
            "api_retry" => self.retry(event, transcript),
            "permission_denied" => self.remember_denied(text(&event["tool_use_id"])),
            "compact_boundary" => {
                // The request that wrote the summary is not shown: it read what was there, and wrote what is left.
                let about = &event["compact_metadata"];
                let tokens = Tokens {
                    cache_read: count(about, "pre_tokens"),
                    output: count(about, "post_tokens"),
                    ..Tokens::default()
                };
                self.compactions = self.compactions.saturating_add(1);
                transcript.request(&format!("compaction {}", self.compactions), None, tokens);
            }
            "task_notification" if matches!(text(&event["status"]), "failed" | "killed") => {
                transcript.call_ended(
                    text(&event["task_id"]),
                    "task",
                    CallEnd::Failed(text(&event["summary"]).to_owned()),
                );
            }
            _ => {}
        }
    }

    fn retry(&mut self, event: &Value, transcript: &mut Transcript) {
        let status = event["error_status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let error = text(&event["error"]);
        let answer = status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
        transcript.retries(&format!("{answer}, retry {} of {}", count(event, "attempt"), count(event, "max_retries")));
        if transcript.known_trouble().is_none() {
            // Where no status came, nothing did.
            let detail = if status.is_none() && error == "unknown" { "connection_failed" } else { "" };
            let (error, detail) = (error.to_owned(), detail.to_owned());
            let failure = Failure { error, detail, status, words: answer, ..Failure::default() };
            if let Some(trouble) = failure.trouble("", transcript.now()) {
                transcript.trouble(trouble);
            }
        }
    }

    /// What the service says about the allowance of an account.
    fn limit(&mut self, info: &Value, transcript: &mut Transcript) {
        let resets_at = info["resetsAt"].as_i64().and_then(point_in_time);
        if let Some(used) = info["utilization"].as_f64().filter(|used| (0.0..=10.0).contains(used)) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a thousand percent")]
            let percent = (used * 100.0 + 1e-6) as u32;
            transcript.window(Window { percent, resets_at });
        }
        if text(&info["status"]) == "rejected" {
            self.until = resets_at;
        }
    }

    fn result(&mut self, event: &Value, transcript: &mut Transcript) {
        self.answers.look_for_uncounted(transcript);
        self.spending.add(
            &event["model_usage_since_last_result"],
            &event["modelUsage"],
            &event["total_cost_usd"],
            transcript,
        );
        for denial in list(&event["permission_denials"]) {
            let id = text(&denial["tool_use_id"]);
            if !self.knows_denied(id) {
                self.remember_denied(id);
                let what = format!("{}: {}", text(&denial["tool_name"]), called_with(&denial["tool_input"]));
                transcript.fault(FaultKind::Denied, &what);
            }
        }
        let (subtype, reason) = (text(&event["subtype"]), text(&event["terminal_reason"]));
        let said = text(&event["result"]);
        match (subtype, reason) {
            ("error_max_turns", _) | (_, "max_turns") => transcript.terminal(Terminal::TurnLimit),
            ("error_max_budget_usd", _) | (_, "budget_exhausted") => transcript.terminal(Terminal::BudgetLimit),
            ("success", "completed" | "") if event["is_error"] == Value::Bool(false) => {
                self.answered(transcript);
                self.say(said, transcript);
                transcript.terminal(Terminal::Completed);
            }
            _ => self.failed(event, reason, said, transcript),
        }
    }

    fn failed(&mut self, event: &Value, reason: &str, said: &str, transcript: &mut Transcript) {
        let first_error = text(&event["errors"][0]);
        let words = [said, first_error, reason].into_iter().find(|words| !words.is_empty());
        let words = words.unwrap_or("it did not report completion").to_owned();
        // A turn that a hook or the user ended is no refusal, and the last words of a model are no error.
        let is_services =
            self.failure.is_some() || OF_THE_SERVICE.contains(&reason) || event["api_error_status"].is_number();
        if event["is_error"] == Value::Bool(true) && is_services {
            let told_here = failure(event, &words);
            let before = self.failure.take().unwrap_or_default();
            let or = |here: String, before: String| if here.is_empty() { before } else { here };
            let failure = Failure {
                error: or(told_here.error, before.error),
                detail: or(told_here.detail, before.detail),
                service: or(told_here.service, before.service),
                status: told_here.status.or(before.status),
                until: self.until.or(before.until),
                words: words.clone(),
            };
            if let Some(trouble) = failure.trouble(reason, transcript.now()) {
                transcript.trouble(trouble);
            }
        }
        transcript.terminal(Terminal::Failed(words));
    }

    /// The model answered in the main conversation: what was refused before is over.
    fn answered(&mut self, transcript: &mut Transcript) {
        self.failure = None;
        self.until = None;
        if transcript.known_trouble().is_some() {
            transcript.recovered();
        }
    }

    fn say(&mut self, words: &str, transcript: &mut Transcript) {
        // A result repeats the last words.
        if !words.is_empty() && words != self.words {
            words.clone_into(&mut self.words);
            transcript.message(words);
        }
    }

    fn knows_denied(&self, id: &str) -> bool {
        self.denied.iter().any(|known| known == id)
    }

    fn remember_denied(&mut self, id: &str) {
        if id.is_empty() || self.knows_denied(id) {
            return;
        }
        remember(&mut self.denied, beginning(id).to_owned(), MAX_DENIED);
    }
}

fn failure(event: &Value, words: &str) -> Failure {
    let limit = &event["api_error_params"]["rate_limit_info"]["resetsAt"];
    Failure {
        error: text(&event["error"]).to_owned(),
        detail: text(&event["api_error"]).to_owned(),
        service: text(&event["api_error_type"]).to_owned(),
        status: event["api_error_status"].as_u64().and_then(|status| u16::try_from(status).ok()),
        until: limit.as_i64().and_then(point_in_time),
        words: beginning(words).to_owned(),
    }
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;
