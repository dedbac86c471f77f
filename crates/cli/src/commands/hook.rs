//! `ralph hook`: answers the hooks of Claude Code. Where no loop lives in the session and no task is named, it does nothing, and
//! quickly: neither the store nor the configuration is opened.
//!
//! It must never break a session. Exit code 2 would stop the agent, so that there is none: whatever goes wrong, a panic
//! included, is a message with exit code 0.

mod event;
mod stop;
mod task;

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_host::Host;
use ralph_model::{CheckpointReason, TaskId};
use ralph_runtime::SessionRecord;
use ralph_workspace::leads_into;
use serde_json::{Value, json};

use self::event::{Event, Kind};
use self::task::Task;
use super::guard;
use crate::input::{host, variable};
use crate::screen::{escaped, told};

/// An event that is larger than this is none of Claude Code's.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The text for the session.
#[derive(Debug, Clone, PartialEq)]
enum Answer {
    Nothing,
    /// An object that Claude Code understands.
    Object(Value),
    /// Instructions for the summary of the context.
    Text(String),
}

impl Answer {
    fn message(text: &str) -> Self {
        Self::Object(json!({ "systemMessage": format!("Ralph: {text}") }))
    }

    /// Both: where one of them blocks the stop, it is blocked.
    fn and(self, other: Self) -> Self {
        let (mut both, other) = match (self, other) {
            (Self::Object(both), Self::Object(other)) => (both, other),
            (Self::Nothing, answer) | (answer, _) => return answer,
        };
        let Value::Object(other) = other else { return Self::Object(both) };
        for (name, value) in other {
            both[&name] = match (both[&name].as_str(), value.as_str()) {
                (Some(known), Some(more)) if known != more => json!(format!("{known}\n\n{more}")),
                _ => value,
            };
        }
        Self::Object(both)
    }

    fn with_warning(self, warning: Option<String>) -> Self {
        let Some(warning) = warning else { return self };
        match self {
            Self::Object(mut object) => {
                let known = object["systemMessage"].as_str().map(|text| format!("{text}\n")).unwrap_or_default();
                object["systemMessage"] = format!("{known}Ralph: {warning}").into();
                Self::Object(object)
            }
            Self::Nothing => Self::message(&warning),
            // Text is for the agent alone.
            Self::Text(text) => Self::Text(text),
        }
    }

    fn print(self) {
        let text = match self {
            Self::Nothing => return,
            Self::Object(object) => escaped(&object.to_string()).into_owned(),
            Self::Text(text) => text,
        };
        let _ = writeln!(io::stdout(), "{text}");
        let _ = io::stdout().flush();
    }
}

/// Reads the event on standard input and answers it.
pub(crate) fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        // From whatever thread: nothing that is under way is worth more than the session.
        Answer::message(&format!("a bug in `ralph hook`, nothing was done: {panic}")).print();
        std::process::exit(0);
    }));
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_BYTES).read_to_end(&mut bytes);
    let answer = match (read, Event::parse(&bytes)) {
        (Err(error), _) => Answer::message(&format!("the hook's event could not be read: {error}")),
        (Ok(_), _) if bytes.iter().all(u8::is_ascii_whitespace) => Answer::Nothing,
        (Ok(_), None) => Answer::message("standard input held no event of a Claude Code hook"),
        (Ok(_), Some(event)) => answer(&event),
    };
    answer.print();
    ExitCode::SUCCESS
}

fn answer(event: &Event) -> Answer {
    if event.kind == Kind::Other {
        return Answer::Nothing;
    }
    match host() {
        Ok(host) => Hook { event, host }.answer(),
        Err(error) => Answer::message(&format!("{error:#}")),
    }
}

struct Hook<'a> {
    event: &'a Event,
    host: Host,
}

impl Hook<'_> {
    fn answer(&self) -> Answer {
        let (records, problems) = self.records();
        let (task, wrong) = match Task::from_environment() {
            Ok(task) => (task, None),
            Err(error) => (None, Some(error)),
        };
        let answer = match self.event.kind {
            Kind::Stop => self.stop(records, task.as_ref()),
            Kind::PreCompact => self.before_compaction(&records, task.as_ref()),
            Kind::SessionStart => self.session_start(&records, task.as_ref()),
            Kind::PreToolUse => self.before_tool(&records),
            Kind::Other => Answer::Nothing,
        };
        // Said where a turn ends, and not before each of its tool calls.
        let is_worth_it = self.event.kind != Kind::PreToolUse;
        let problems = problems.into_iter().map(|error| told(&error.into()));
        problems.chain(wrong).filter(|_| is_worth_it).fold(answer, |answer, text| answer.with_warning(Some(text)))
    }

    /// The loops that live in this session, wherever it is now. One that belongs to no session yet belongs to this one, if this
    /// is its folder. And what could not be read.
    fn records(&self) -> (Vec<SessionRecord>, Vec<ralph_runtime::Error>) {
        let session = &self.event.session;
        // The agent of another loop: it has hooks of its own.
        if session.is_empty() || variable("RALPH_LOOP_ID").is_some() {
            return (Vec::new(), Vec::new());
        }
        let home = self.host.home();
        let (mut records, mut problems) = SessionRecord::of_session(&home, session);
        let project = variable("CLAUDE_PROJECT_DIR").map(PathBuf::from);
        let here = self.event.folder.as_ref().unwrap_or(&self.host.current);
        let with_file = ralph_host::workspace(None, here).ok();
        let own = project.iter().chain(&with_file).chain([here]);
        let own: Vec<PathBuf> = own.filter_map(|path| path.canonicalize().ok()).collect();
        let above = own.last().map(PathBuf::as_path).into_iter().flat_map(Path::ancestors).skip(1);
        for (folder, is_own) in own.iter().map(|folder| (folder.as_path(), true)).chain(above.map(|path| (path, false)))
        {
            let mut record = match SessionRecord::read(&home, folder) {
                Ok(Some(record)) => record,
                Ok(None) => continue,
                Err(error) => {
                    problems.push(error);
                    continue;
                }
            };
            let is_known = records.iter().any(|known| known.loop_id == record.loop_id);
            let is_unclaimed = is_own && record.session.is_none();
            if is_known || !(is_unclaimed || record.session.as_ref() == Some(session)) {
                continue;
            }
            // Also one that an earlier version recorded, which hooks in other folders do not find.
            record.session = Some(session.clone());
            problems.extend(record.save(&home).err());
            records.push(record);
        }
        // One that both ways lead to is said once.
        let mut said = BTreeSet::new();
        problems.retain(|problem| said.insert(problem.to_string()));
        (records, problems)
    }

    fn before_tool(&self, records: &[SessionRecord]) -> Answer {
        let input = &self.event.tool_input;
        let refusal = records.iter().find_map(|record| {
            let is_state = |path: &&str| leads_into(&self.host.dirs.state, &record.workspace, Path::new(path));
            guard::refusal(&record.workspace, &record.prohibited, input).or_else(|| {
                let path = guard::paths(input).find(is_state)?;
                Some(guard::denial(&format!("{path} is the state of the loop that you are in: leave it as it is")))
            })
        });
        refusal.map_or(Answer::Nothing, Answer::Object)
    }

    fn before_compaction(&self, records: &[SessionRecord], task: Option<&Task>) -> Answer {
        let mut lines = Vec::new();
        if let Some(task) = task {
            let warning = task.checkpoint(self.host.dirs.checkpoints(), CheckpointReason::Precompact);
            lines.push(task.before_compaction());
            lines.extend(warning.map(|warning| format!("({warning})")));
        }
        for record in records {
            let id = TaskId::from_uuid(record.loop_id.uuid());
            let checkpoint = task::checkpoint(id, record.iteration.0, CheckpointReason::Precompact);
            let written = task::checkpoints(&self.host).write(&checkpoint);
            lines.push(format!(
                "A Ralph loop runs in this session ({}, iteration {}). Keep its objective and the last failures in the summary. \
                 Whenever the agent stops, Ralph runs the checks; it stops with the promise only when all requirements are met.",
                record.loop_id.short(),
                record.iteration,
            ));
            lines.extend(written.err().map(|error| format!("(the checkpoint could not be written: {error})")));
        }
        if lines.is_empty() { Answer::Nothing } else { Answer::Text(lines.join("\n")) }
    }

    fn session_start(&self, records: &[SessionRecord], task: Option<&Task>) -> Answer {
        let mut parts = Vec::new();
        for record in records {
            let Some(prompt) = record.prompt(&self.host.home()) else { continue };
            let (short, iteration) = (record.loop_id.short(), record.iteration);
            parts.push(format!(
                "Ralph loop {short} runs in this session (iteration {iteration}). What it asks for:\n\n{prompt}\n\nWhenever you \
                 stop, Ralph runs the checks; until they pass you are given what failed and continue."
            ));
        }
        parts.extend(task.and_then(|task| task.progress(self.event.folder.as_deref().unwrap_or(&self.host.current))));
        if parts.is_empty() {
            return Answer::Nothing;
        }
        let context = parts.join("\n\n");
        Answer::Object(
            json!({ "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": context } }),
        )
    }
}
