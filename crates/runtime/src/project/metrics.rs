//! One line per finished loop.

use std::path::{Path, PathBuf};

use ralph_report::{Record, Status};
use ralph_view::{RunResult, RunStatus, RunView};

use super::in_its_place;
use crate::perform::Context;

pub(super) fn append(context: &Context, view: &RunView, result: &RunResult) -> Result<(), String> {
    let path = context.services.metrics.clone().unwrap_or_else(|| default_path(&context.root));
    if path.starts_with(&context.root) {
        // Making its folders would make a workspace that looks like the lost one.
        in_its_place(&context.root)?;
    }
    refuse_links(&path)?;
    ralph_report::append(&path, &record(view, result)).map_err(|error| error.to_string())
}

fn default_path(root: &Path) -> PathBuf {
    root.join(".ralph").join("metrics").join("ralph-loops.jsonl")
}

/// Inside of a workspace's `.ralph` no folder may be a link: the agent could have put it there.
fn refuse_links(path: &Path) -> Result<(), String> {
    let own = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == ".ralph"));
    let Some(own) = own else { return Ok(()) };
    let inside = path.ancestors().skip(1).take_while(|folder| folder.starts_with(own));
    match inside.into_iter().find(|folder| folder.is_symlink()) {
        Some(link) => Err(format!("{} is a link: remove it", link.display())),
        None => Ok(()),
    }
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
    let failing_first = view.baseline.as_ref().map_or(0, |verdict| verdict.score);
    let failing_last = result.verdict.as_ref().map_or(0, |verdict| verdict.score);
    Record {
        loop_id: result.loop_id,
        skill: view.config.skill.as_ref().map(|skill| skill.name.clone()),
        task_type: None,
        start_time: view.state.started_at,
        end_time: view.state.updated_at,
        status: match view.state.status {
            RunStatus::Completed => Status::Completed,
            RunStatus::Aborted => Status::Aborted,
            RunStatus::Error | RunStatus::Running | RunStatus::Interrupted => Status::Error,
        },
        abort_reason: result.reason.map(|reason| reason.name().to_owned()),
        iterations: result.iterations,
        cost: result.cost,
        duration: result.duration,
        files_modified: files.len() as u64,
        tests_fixed: i64::from(failing_first) - i64::from(failing_last),
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
