//! One line per finished loop or crew.

use std::path::{Path, PathBuf};

use ralph_crew::{Crew, CrewResult, CrewStatus};
use ralph_model::RunKind;
use ralph_report::{Record, Status};
use ralph_view::{RunResult, RunStatus, RunView, tests_fixed};
use ralph_workspace::OwnFolder;

use super::in_its_place;
use crate::perform::Context;
use crate::services::Services;

pub(super) fn append_loop(context: &Context, view: &RunView, result: &RunResult) -> Result<(), String> {
    append(&context.services, &context.root, &record(view, result))
}

pub(super) fn append_crew(services: &Services, crew: &Crew, result: &CrewResult) -> Result<(), String> {
    let (started, ended) = crew.times();
    let record = Record {
        kind: RunKind::Crew,
        loop_id: result.run_id,
        skill: None,
        task_type: None,
        start_time: started,
        end_time: ended,
        status: match result.status {
            CrewStatus::Answered => Status::Completed,
            CrewStatus::Aborted => Status::Aborted,
            CrewStatus::Error => Status::Error,
        },
        abort_reason: result.reason.map(str::to_owned),
        iterations: result.rounds,
        cost: result.cost,
        duration: ended.since(started),
        files_modified: 0,
        tests_fixed: 0,
        completion_promise_detected: false,
        verification_passed: false,
        false_claims: 0,
        tampered: 0,
        flakes: 0,
        agent: crew.config().root.clone(),
        model: joined(crew.config().models.iter().map(String::as_str)),
        input_tokens: 0,
        output_tokens: 0,
    };
    append(services, Path::new(&crew.config().workspace), &record)
}

fn append(services: &Services, root: &Path, record: &Record) -> Result<(), String> {
    let path = services.metrics.clone().unwrap_or_else(|| default_path(root));
    if path.starts_with(root) {
        // Making its folders would make a workspace that looks like the lost one.
        in_its_place(root)?;
    }
    let own = OwnFolder::of_file(&path).map_err(|error| error.to_string())?;
    match (own, path.file_name()) {
        (Some(own), Some(name)) => {
            ralph_report::append(&own.path().join(name), record).map_err(|error| own.readable(&error.to_string()))
        }
        (_, _) => ralph_report::append(&path, record).map_err(|error| error.to_string()),
    }
}

fn default_path(root: &Path) -> PathBuf {
    root.join(".ralph").join("metrics").join("ralph-loops.jsonl")
}

/// Who ran, by name, in order of their turns.
fn agents_that_ran(view: &RunView) -> impl Iterator<Item = &str> {
    view.iterations.iter().filter_map(|iteration| {
        let named = view.config.agents().find(|agent| agent.title() == iteration.agent);
        named.map(|agent| agent.name.as_str())
    })
}

/// Each once, in order of first use; none where there is nothing to join.
fn joined<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut each: Vec<&str> = Vec::new();
    for name in names {
        if !each.contains(&name) {
            each.push(name);
        }
    }
    (!each.is_empty()).then(|| each.join(","))
}

fn record(view: &RunView, result: &RunResult) -> Record {
    let files: std::collections::BTreeSet<&str> =
        view.runs().flat_map(|run| run.changed.iter().map(|change| change.path.as_str())).collect();
    Record {
        kind: RunKind::Loop,
        loop_id: result.loop_id,
        skill: view.config.skill.as_ref().map(|skill| skill.name.clone()),
        task_type: view.config.task_type.clone(),
        start_time: view.state.started_at,
        end_time: view.state.updated_at,
        status: match view.state.status {
            RunStatus::Completed => Status::Completed,
            RunStatus::Aborted => Status::Aborted,
            RunStatus::Error | RunStatus::Running | RunStatus::Interrupted | RunStatus::Waiting => Status::Error,
        },
        abort_reason: result.reason.map(|reason| reason.name().to_owned()),
        iterations: result.iterations,
        cost: result.cost,
        duration: result.duration,
        files_modified: files.len() as u64,
        tests_fixed: tests_fixed(view.baseline.as_ref(), result.verdict.as_ref()),
        completion_promise_detected: view.iterations.iter().any(|iteration| iteration.claimed),
        verification_passed: result.verified,
        false_claims: result.false_claims,
        tampered: result.tampered,
        flakes: result.flakes,
        agent: joined(agents_that_ran(view)).unwrap_or_else(|| view.config.agent.name.clone()),
        model: joined(view.runs().filter_map(|run| run.usage.model.as_deref())),
        // An agent may report any number.
        input_tokens: view.runs().map(|run| run.usage.input_tokens).fold(0, u64::saturating_add),
        output_tokens: view.runs().map(|run| run.usage.output_tokens).fold(0, u64::saturating_add),
    }
}
