//! Reads the record that Codex keeps of each thread (`rollout-*.jsonl`). What it prints has no usage before the end, never
//! names the model, leaves out what other threads of the run used, and most of what was not permitted; the record has all that,
//! as it happens.

use std::collections::VecDeque;

use ralph_model::{FaultKind, Timestamp, Tokens, TroubleKind};
use serde_json::Value;

use super::Guard;
use crate::text::short;
use crate::transcript::{CallEnd, Transcript};
use crate::trouble::point_in_time;

/// Threads of one run. Codex has a handful at once; of a run with more of them the cost is unknown.
pub(crate) const MAX_THREADS: usize = 256;
/// Calls under way at once.
const MAX_CALLS: usize = 64;
/// Characters that are kept of a call.
const MAX_INPUT: usize = 1000;
/// A window of the plan is used up.
const FULL: f64 = 100.0;

/// The records of all threads of a run.
pub(crate) struct Rollouts {
    /// What is older belongs to an earlier run of the same thread.
    start: Timestamp,
    guard: Guard,
    threads: Vec<Thread>,
    /// Why the last turn of the main thread failed.
    error: Option<Value>,
    /// When the windows of the plan that are used up are free again.
    free_again: Option<Timestamp>,
    has_counted: bool,
}

struct Thread {
    id: String,
    model: Option<String>,
    /// The model was named in this run.
    is_named_now: bool,
    /// It pays for being served first.
    is_priority: bool,
    /// What it used in all, earlier runs included.
    total: Tokens,
    requests: u64,
    /// Calls without an outcome, the oldest first.
    calls: VecDeque<Call>,
    /// The record says which calls were shown; older versions do not.
    tells_items: bool,
}

struct Call {
    id: String,
    tool: String,
    input: String,
}

impl Rollouts {
    pub(crate) const fn new(start: Timestamp, guard: Guard) -> Self {
        Self { start, guard, threads: Vec::new(), error: None, free_again: None, has_counted: false }
    }

    /// The thread that the run is about.
    pub(crate) fn main(&self) -> Option<&str> {
        self.threads.first().map(|thread| thread.id.as_str())
    }

    /// Takes a thread in. `None` for what is no name of one, and when there are too many.
    pub(crate) fn begin(&mut self, id: &str) -> Option<()> {
        if self.threads.iter().any(|thread| thread.id == id) {
            return Some(());
        }
        let is_id = id.len() == 36 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if !is_id || self.threads.len() == MAX_THREADS {
            return None;
        }
        self.threads.push(Thread {
            id: id.to_owned(),
            model: None,
            is_named_now: false,
            is_priority: false,
            total: Tokens::default(),
            requests: 0,
            calls: VecDeque::new(),
            tells_items: false,
        });
        Some(())
    }

    pub(crate) fn knows(&self, id: &str) -> bool {
        self.threads.iter().any(|thread| thread.id == id)
    }

    /// When the run began.
    pub(crate) const fn start(&self) -> Timestamp {
        self.start
    }

    /// What the main thread used in all, earlier runs included.
    pub(crate) fn total(&self) -> Tokens {
        self.threads.first().map(|thread| thread.total).unwrap_or_default()
    }

    /// Whether anything of this run was counted.
    pub(crate) const fn has_counted(&self) -> bool {
        self.has_counted
    }

    /// The code of the error that the last turn failed of.
    pub(crate) const fn error(&self) -> Option<&Value> {
        self.error.as_ref()
    }

    /// When a limit of the plan is over.
    pub(crate) fn free_again(&self, kind: TroubleKind) -> Option<Timestamp> {
        self.free_again.filter(|_| kind == TroubleKind::RateLimit)
    }

    /// The thread whose record begins with this line.
    pub(crate) fn thread_of(line: &str) -> Option<String> {
        Some(Opening::of(line)?.id)
    }

    /// A line of the record of a thread.
    pub(crate) fn line(&mut self, id: &str, line: &str, transcript: &mut Transcript) {
        let Some(at) = self.threads.iter().position(|thread| thread.id == id) else { return };
        let Ok(line) = serde_json::from_str::<Value>(line) else { return };
        let Some(payload) = line.get("payload") else { return };
        let is_now = stamp(&line).is_none_or(|stamp| stamp >= self.start);
        match (text(&line, "type"), text(payload, "type")) {
            ("turn_context", _) => self.model(at, text(payload, "model"), is_now, transcript),
            ("event_msg", "thread_settings_applied") => self.settings(at, payload, is_now, transcript),
            ("token_usage_record", _) => self.request(at, payload, is_now, transcript),
            ("event_msg", "token_count") => self.count(at, payload, is_now, transcript),
            _ if !is_now => {}
            ("event_msg", "task_complete") if at == 0 => {
                self.error = payload.pointer("/error/codex_error_info").filter(|code| !code.is_null()).cloned();
            }
            ("event_msg", "item_completed") => self.shown(at, payload.pointer("/item/id")),
            ("response_item", "function_call" | "custom_tool_call") => self.call(at, payload),
            ("response_item", "function_call_output" | "custom_tool_call_output") => {
                self.answer(at, payload, transcript)
            }
            _ => {}
        }
    }

    /// A thread names its model, and has one in a run. A record that names another was added to by somebody else, so that the
    /// dearer of the two counts.
    fn model(&mut self, at: usize, model: &str, is_now: bool, transcript: &mut Transcript) {
        let Some(thread) = self.threads.get_mut(at).filter(|_| !model.is_empty()) else { return };
        let model = match &thread.model {
            Some(known) if thread.is_named_now => transcript.dearer(known, model),
            Some(_) | None => model,
        };
        thread.model = Some(short(model.to_owned(), MAX_INPUT));
        thread.is_named_now |= is_now;
        if at == 0
            && let Some(model) = thread.priced_model()
        {
            transcript.model(&model);
        }
    }

    fn settings(&mut self, at: usize, payload: &Value, is_now: bool, transcript: &mut Transcript) {
        let Some(settings) = payload.get("thread_settings") else { return };
        if let Some(thread) = self.threads.get_mut(at) {
            let is_priority = matches!(text(settings, "service_tier"), "priority" | "fast");
            thread.is_priority = is_priority || (thread.is_priority && thread.is_named_now);
        }
        self.model(at, text(settings, "model"), is_now, transcript);
    }

    /// One request, as soon as it was answered.
    fn request(&mut self, at: usize, payload: &Value, is_now: bool, transcript: &mut Transcript) {
        let Some(thread) = self.threads.get_mut(at) else { return };
        // A thread that goes on from another one begins with a copy of its record.
        if payload.get("thread_id").and_then(Value::as_str).is_some_and(|id| id != thread.id) {
            return;
        }
        let used = payload.get("usage").map(tokens).unwrap_or_default();
        thread.total = match payload.get("thread_token_usage") {
            Some(total) => tokens(total),
            None => thread.total.plus(used),
        };
        if is_now {
            self.has_counted |= thread.spend(used, transcript);
        }
    }

    /// All of a thread so far, after its tools ran. The only figure in records of older versions.
    fn count(&mut self, at: usize, payload: &Value, is_now: bool, transcript: &mut Transcript) {
        let Some(thread) = self.threads.get_mut(at) else { return };
        if let Some(total) = payload.pointer("/info/total_token_usage").map(tokens) {
            let more = total.less(thread.total);
            if !more.is_none() {
                thread.total = total;
                if is_now {
                    self.has_counted |= thread.spend(more, transcript);
                }
            }
        }
        if is_now
            && at == 0
            && let Some(limits) = payload.get("rate_limits").filter(|limits| !limits.is_null())
        {
            self.free_again = ["primary", "secondary"].iter().filter_map(|name| used_up(limits.get(name)?)).max();
        }
    }

    fn call(&mut self, at: usize, payload: &Value) {
        let Some(thread) = self.threads.get_mut(at) else { return };
        if thread.calls.len() == MAX_CALLS {
            thread.calls.pop_front();
        }
        thread.calls.push_back(Call {
            id: short(text(payload, "call_id").to_owned(), MAX_INPUT),
            tool: match text(payload, "name") {
                // As the printed items call them.
                "exec_command" | "shell" | "local_shell" | "shell_command" => "shell".to_owned(),
                name => short(name.to_owned(), MAX_INPUT),
            },
            input: input(payload),
        });
    }

    /// What became an item was printed too.
    fn shown(&mut self, at: usize, id: Option<&Value>) {
        let Some(thread) = self.threads.get_mut(at) else { return };
        thread.tells_items = true;
        if let Some(id) = id.and_then(Value::as_str) {
            thread.calls.retain(|call| call.id != id);
        }
    }

    /// What the model was told of a call. Those that were not shown are mostly ones that did not work.
    fn answer(&mut self, at: usize, payload: &Value, transcript: &mut Transcript) {
        let Some(thread) = self.threads.get_mut(at) else { return };
        let id = text(payload, "call_id");
        let Some(call) =
            thread.calls.iter().position(|call| call.id == id).and_then(|position| thread.calls.remove(position))
        else {
            return;
        };
        let output = spoken(payload.get("output"));
        let Some(end) = unseen(&output).filter(|_| thread.tells_items) else { return };
        // Codex does not show a command that it takes its own sandbox to have stopped.
        if self.guard == Guard::Own && matches!(&end, CallEnd::Failed(_)) && exit_code(&output).is_some() {
            transcript
                .fault(FaultKind::SandboxRefused, &format!("{} {}: {}", call.tool, call.input, last_line(&output)));
        }
        let id = format!("{}/{}", thread.id, call.id);
        transcript.call(&id, &call.tool, &call.input);
        transcript.call_ended(&id, &call.tool, end);
    }
}

impl Thread {
    /// Counts one request. Whether there was anything to count.
    fn spend(&mut self, used: Tokens, transcript: &mut Transcript) -> bool {
        // Not the name that the service gave to its answer: some servers give all the same.
        self.requests += 1;
        let model = self.priced_model();
        transcript.request(&format!("{}#{}", self.id, self.requests), model.as_deref(), used);
        !used.is_none()
    }

    fn priced_model(&self) -> Option<String> {
        self.model.as_ref().map(|model| if self.is_priority { format!("{model}-fast") } else { model.clone() })
    }
}

/// What stands at the beginning of a record.
pub(crate) struct Opening {
    /// The thread.
    pub(crate) id: String,
    /// The thread of the whole session, which is the first one.
    pub(crate) session: String,
    /// The thread that began this one.
    pub(crate) parent: Option<String>,
}

impl Opening {
    pub(crate) fn of(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        let payload = line.get("payload").filter(|_| text(&line, "type") == "session_meta")?;
        let id = text(payload, "id").to_owned();
        let parent = payload
            .get("parent_thread_id")
            .or_else(|| payload.pointer("/source/subagent/thread_spawn/parent_thread_id"))
            .and_then(Value::as_str)
            .map(str::to_owned);
        let session = payload.get("session_id").and_then(Value::as_str).unwrap_or(&id).to_owned();
        Some(Self { id, session, parent })
    }
}

/// Tokens as Codex counts them: those from and into a cache are among those read.
pub(crate) fn tokens(usage: &Value) -> Tokens {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
    let (cache_read, cache_write) = (count("cached_input_tokens"), count("cache_write_input_tokens"));
    Tokens {
        input: count("input_tokens").saturating_sub(cache_read).saturating_sub(cache_write),
        cache_read,
        cache_write,
        output: count("output_tokens"),
        ..Tokens::default()
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn stamp(line: &Value) -> Option<Timestamp> {
    let stamp: jiff::Timestamp = text(line, "timestamp").parse().ok()?;
    Some(Timestamp(stamp.as_millisecond()))
}

/// The end of a window of the plan, when it is used up.
fn used_up(window: &Value) -> Option<Timestamp> {
    let used = window.get("used_percent").and_then(Value::as_f64)?;
    let resets = window.get("resets_at").and_then(Value::as_i64)?;
    (used >= FULL).then(|| point_in_time(resets)).flatten()
}

/// What a call is called with, for people.
fn input(payload: &Value) -> String {
    let raw = payload.get("arguments").or_else(|| payload.get("input")).and_then(Value::as_str).unwrap_or_default();
    let parsed = raw.trim_start().starts_with('{').then(|| serde_json::from_str::<Value>(raw).ok()).flatten();
    let command = parsed.as_ref().and_then(|object| object.get("cmd").or_else(|| object.get("command")));
    let words = match command {
        Some(Value::String(command)) => command.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        Some(_) | None => raw.to_owned(),
    };
    short(words, MAX_INPUT)
}

/// The words of an answer to the model, whole or in parts.
fn spoken(output: Option<&Value>) -> String {
    match output {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        Some(_) | None => String::new(),
    }
}

/// How a call ended that was not shown, where its answer says so.
fn unseen(output: &str) -> Option<CallEnd> {
    const DENIED: [&str; 3] = ["approval policy is", "rejected by user", "denied by"];
    const FAILED: [&str; 6] = [
        "apply_patch verification failed",
        "patch rejected",
        "unsupported call",
        "unable to ",
        "failed to ",
        "Script failed",
    ];
    let first = output.lines().next().unwrap_or_default();
    if DENIED.iter().any(|words| first.contains(words)) {
        return Some(CallEnd::Denied(first.to_owned()));
    }
    if FAILED.iter().any(|words| first.starts_with(words)) {
        let thrown = output.lines().skip_while(|line| !line.starts_with("Script error")).nth(1);
        return Some(CallEnd::Failed(thrown.unwrap_or(first).to_owned()));
    }
    match exit_code(output)? {
        "0" => Some(CallEnd::Done),
        code => Some(CallEnd::Failed(exited(code, last_line(output)))),
    }
}

/// `Process exited with code 1` stands above the output of a command, `Exit code: 1` in older versions.
fn exit_code(output: &str) -> Option<&str> {
    let head = output.lines().take(6).take_while(|line| !line.starts_with("Output:"));
    head.filter_map(|line| line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: ")))
        .map(str::trim)
        .find(|code| !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}

/// How a command failed, with its last words.
pub(crate) fn exited(code: impl std::fmt::Display, last: &str) -> String {
    if last.is_empty() { format!("exit code {code}") } else { format!("exit code {code}: {last}") }
}

/// The last line of an output that has words.
pub(crate) fn last_line(output: &str) -> &str {
    output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}

#[cfg(test)]
#[path = "rollout_tests.rs"]
mod tests;
