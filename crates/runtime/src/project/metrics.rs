//! One line per finished loop.

use std::path::{Path, PathBuf};

use ralph_model::Outcome;
use ralph_report::{Record, Status};
use ralph_workspace::OwnFolder;

use super::in_its_place;
use crate::live::Live;
use crate::perform::Context;
use crate::result::LoopResult;

pub(super) fn append(context: &Context, live: &Live, result: &LoopResult) -> Result<(), String> {
    let path = context.services.metrics.clone().unwrap_or_else(|| default_path(&context.root));
    if path.starts_with(&context.root) {
        // Making its folders would make a workspace that looks like the lost one.
        in_its_place(&context.root)?;
    }
    let record = record(live, result);
    let own = OwnFolder::of_file(&path).map_err(|error| error.to_string())?;
    match (own, path.file_name()) {
        (Some(own), Some(name)) => {
            ralph_report::append(&own.path().join(name), &record).map_err(|error| own.readable(&error.to_string()))
        }
        (_, _) => ralph_report::append(&path, &record).map_err(|error| error.to_string()),
    }
}

fn default_path(root: &Path) -> PathBuf {
    root.join(".ralph").join("metrics").join("ralph-loops.jsonl")
}

/// Who ran, by name, in order of their turns.
fn agents_that_ran(facts: &ralph_engine::Facts) -> impl Iterator<Item = &str> {
    facts.iterations.iter().filter_map(|record| {
        let named = facts.config.agents().find(|agent| agent.title() == record.agent);
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

fn record(live: &Live, result: &LoopResult) -> Record {
    let facts = live.run.facts();
    let runs = || facts.iterations.iter().filter_map(|record| record.run.as_ref());
    let files: std::collections::BTreeSet<&str> =
        runs().flat_map(|run| run.changed.iter().map(|change| change.path.as_str())).collect();
    let failing_first = facts.baseline.as_ref().map_or(0, ralph_model::Verdict::failing);
    let failing_last = facts.last_verdict().map_or(0, ralph_model::Verdict::failing);
    Record {
        loop_id: live.loop_id,
        skill: facts.config.skill.as_ref().map(|skill| skill.name.clone()),
        task_type: None,
        start_time: facts.started,
        end_time: facts.last,
        status: match live.run.outcome() {
            Some(Outcome::Completed { .. }) => Status::Completed,
            Some(Outcome::Aborted { .. }) => Status::Aborted,
            Some(Outcome::Error { .. }) | None => Status::Error,
        },
        abort_reason: result.reason.map(|reason| reason.name().to_owned()),
        iterations: result.iterations,
        cost: facts.spent,
        duration: facts.active,
        files_modified: files.len() as u64,
        tests_fixed: i64::from(failing_first) - i64::from(failing_last),
        completion_promise_detected: facts.iterations.iter().any(|record| record.claimed),
        verification_passed: result.verified,
        false_claims: result.false_claims,
        tampered: result.tampered,
        flakes: result.flakes,
        agent: joined(agents_that_ran(facts)).unwrap_or_else(|| facts.config.agent.name.clone()),
        model: joined(runs().filter_map(|run| run.usage.model.as_deref())),
        // An agent may report any number.
        input_tokens: runs().map(|run| run.usage.input_tokens).fold(0, u64::saturating_add),
        output_tokens: runs().map(|run| run.usage.output_tokens).fold(0, u64::saturating_add),
    }
}
