//! `ralph show`: one loop, as its journal tells it.

use std::path::Path;

use anyhow::{Context as _, bail};
use ralph_engine::text::{self, Continuation};
use ralph_engine::{IterationRecord, Loop};
use ralph_model::{Iteration, LoopId, Millis, Outcome, Verdict};
use ralph_runtime::{Home, branch_of};
use ralph_store::LoopEntry;
use serde_json::{Value, json};

use super::list::{columns, of_race, state};
use crate::args::ShowArgs;
use crate::journal::{find_loop, read};
use crate::screen::Screen;
use ralph_host::Host;

/// Shows one loop.
///
/// # Errors
/// When the loop is unknown or its journal cannot be followed.
pub(crate) async fn run(args: ShowArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let entry = find_loop(&store, &args.loop_name).await?;
    if let Some(iteration) = args.prompt {
        let path = around.home().loop_folder(entry.id).prompt(Iteration(iteration));
        let prompt = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!("iteration {iteration} of loop {} has no prompt: it never started", entry.id.short());
            }
            read => read.with_context(|| format!("{} cannot be read", path.display()))?,
        };
        screen.result(&prompt)?;
        return Ok(0);
    }
    let run = read(&store, entry.id).await?;
    let race = Raced { candidates: of_race(&store, &entry).await? };
    if args.json {
        screen.json(&as_json(&entry, &run, &race, &around.home()))?;
    } else {
        screen.result(&as_text(&entry, &run, &race, &around.home()))?;
    }
    Ok(0)
}

/// The candidates of a loop's race, itself included; none where it raced against nobody.
struct Raced {
    candidates: Vec<LoopEntry>,
}

impl Raced {
    /// The first that was verified.
    fn winner(&self) -> Option<LoopId> {
        let verified = self.candidates.iter().filter(|candidate| candidate.verified);
        verified.min_by_key(|candidate| candidate.finished_at).map(|winner| winner.id)
    }

    /// The branch of one that is not kept is gone.
    fn branch(&self, entry: &LoopEntry, run: &Loop) -> Option<String> {
        let kept = self.candidates.is_empty() || entry.verified || Path::new(&entry.workspace).is_dir();
        branch_of(run.facts()).filter(|_| kept)
    }

    fn as_text(&self, entry: &LoopEntry, home: &Home) -> String {
        let id = entry.id;
        let standing = match self.winner() {
            Some(winner) if winner == id => "won".to_owned(),
            Some(winner) => format!("lost against {}", winner.short()),
            None => "nobody has won".to_owned(),
        };
        let gone = if Path::new(&entry.workspace).is_dir() { "" } else { "; its worktree is gone" };
        let others = self.candidates.iter().filter(|candidate| candidate.id != id);
        let others = others.map(|other| {
            format!("             against {} ({}): {}\n", other.id.short(), other.agent, state(other, home))
        });
        format!("  race       {standing}{gone}\n{}", others.collect::<String>())
    }

    fn as_json(&self) -> Value {
        let winner = self.winner();
        let candidates: Vec<Value> = self
            .candidates
            .iter()
            .map(|one| {
                json!({
                    "loopId": one.id,
                    "agent": one.agent,
                    "status": one.status.name(),
                    "reason": one.reason,
                    "won": winner == Some(one.id),
                })
            })
            .collect();
        json!({ "winner": winner, "candidates": candidates })
    }
}

fn as_text(entry: &LoopEntry, run: &Loop, race: &Raced, home: &Home) -> String {
    let facts = run.facts();
    let config = &facts.config;
    let mut text = format!(
        "loop {}  {}\n  id         {}\n  workspace  {}\n  agent      {}\n  started    {}\n  iterations {} of {}\n  money      {}\n",
        entry.id.short(),
        state(entry, home),
        entry.id,
        entry.workspace,
        config.agents().map(ralph_model::AgentSpec::title).collect::<Vec<_>>().join(", "),
        entry.started_at.rfc3339(),
        facts.counted(),
        config.max_iterations,
        if config.is_unmetered() {
            "not metered".to_owned()
        } else {
            format!("{} of {}", facts.spent, config.max_cost)
        },
    );
    if let Some(branch) = race.branch(entry, run) {
        text.push_str(&format!("  branch     {branch}\n"));
    }
    if let Some(commit) = &facts.commit {
        text.push_str(&format!("  commit     {commit}\n"));
    }
    if !race.candidates.is_empty() {
        text.push_str(&race.as_text(entry, home));
    }
    for command in &config.verification_commands {
        text.push_str(&format!("  check      {command}\n"));
    }
    if let Some(outcome) = run.outcome() {
        let reason = outcome.reason().map(|reason| format!(" {reason}")).unwrap_or_default();
        text.push_str(&format!("  outcome    {}{reason}\n", outcome.status()));
        match outcome {
            Outcome::Aborted { .. } | Outcome::Error { .. } => {
                let why = text::details(outcome, facts, Continuation::Resume(entry.id));
                text.push_str(&format!("             {why}\n"));
            }
            Outcome::Completed { .. } => {}
        }
    }
    text.push_str(&format!("\n{}\n\n", indent(&config.objective)));
    let mut rows =
        vec![["#", "VERDICT", "PASSING", "FAILING", "FILES", "COST", "TIME", "AGENT", "NOTE"].map(str::to_owned)];
    if let Some(baseline) = &facts.baseline {
        let (passing, failing) = baseline.tally();
        let blank = String::new;
        rows.push([
            "0".into(),
            verdict(Some(baseline)).into(),
            passing.to_string(),
            failing.to_string(),
            blank(),
            blank(),
            blank(),
            blank(),
            "baseline".into(),
        ]);
    }
    rows.extend(facts.iterations.iter().map(row));
    text.push_str(&columns(&rows));
    text
}

fn row(record: &IterationRecord) -> [String; 9] {
    let tally = record.verdict.as_ref().map(Verdict::tally);
    let mut notes = record.notes();
    if record.claimed && !record.is_false_claim() {
        notes.insert(0, "claimed".to_owned());
    }
    if let Some(run) = record.run.as_ref().filter(|run| !run.ended.is_success()) {
        notes.insert(0, format!("agent: {}", run.ended));
    }
    [
        record.iteration.to_string(),
        verdict(record.verdict.as_ref()).to_owned(),
        tally.map_or_else(String::new, |(passing, _)| passing.to_string()),
        tally.map_or_else(String::new, |(_, failing)| failing.to_string()),
        record.run.as_ref().map_or_else(String::new, |run| run.changed.len().to_string()),
        record.charged.to_string(),
        match record.ended {
            // Of a pass that died with Ralph nobody knows how long it worked.
            Some(_) if record.worked > Millis(0) => record.worked.to_string(),
            Some(_) | None => String::new(),
        },
        record.agent.clone(),
        notes.join("; "),
    ]
}

fn verdict(verdict: Option<&Verdict>) -> &'static str {
    match verdict.map(Verdict::passed) {
        Some(true) => "pass",
        Some(false) => "fail",
        None => "-",
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn as_json(entry: &LoopEntry, run: &Loop, race: &Raced, home: &Home) -> Value {
    let facts = run.facts();
    let iterations: Vec<Value> = facts
        .iterations
        .iter()
        .map(|record| {
            json!({
                "iteration": record.iteration,
                "status": run.status(record),
                "startedAt": record.started.rfc3339(),
                "endedAt": record.ended.map(ralph_model::Timestamp::rfc3339),
                "workedSeconds": record.worked.as_seconds(),
                "costUSD": record.charged.to_json_number(),
                "claimed": record.claimed,
                "falseClaim": record.is_false_claim(),
                "blocked": record.blocked,
                "interrupted": record.interrupted,
                "undone": record.undone,
                "treeBefore": record.before,
                "agent": record.agent,
                "uncounted": record.uncounted,
                "run": record.run,
                "verdict": record.verdict,
            })
        })
        .collect();
    json!({
        "loopId": entry.id,
        "status": if super::list::is_interrupted(entry, home) { "INTERRUPTED" } else { entry.status.name() },
        "reason": entry.reason,
        "objective": facts.config.objective,
        "workspace": entry.workspace,
        "branch": race.branch(entry, run),
        "commit": facts.commit,
        "race": (!race.candidates.is_empty()).then(|| race.as_json()),
        "config": facts.config,
        "start": facts.start,
        "phase": run.phase().name(),
        "outcome": run.outcome().map(|outcome| outcome_json(outcome, run, entry.id)),
        "costUSD": facts.spent.to_json_number(),
        "falseClaims": facts.false_claims(),
        "tampered": facts.tampered(),
        "flakes": facts.flakes(),
        "best": facts.best(),
        "baseline": facts.baseline,
        "iterations": iterations,
    })
}

/// The outcome with its cause, and in words for people.
fn outcome_json(outcome: &Outcome, run: &Loop, id: LoopId) -> Value {
    let mut value = json!(outcome);
    if !matches!(outcome, Outcome::Completed { .. }) {
        value["details"] = json!(text::details(outcome, run.facts(), Continuation::Resume(id)));
    }
    if let Outcome::Error { cause } = outcome {
        value["error"] = json!(text::error(cause));
    }
    value
}
