//! `ralph session`: a loop that lives in the user's own Claude Code session. Hooks drive it; see [`super::hook`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use ralph_config::Layer;
use ralph_decide::Mode;
use ralph_host::{DecideRequest, Host, Prepared, RunRequest};
use ralph_model::{AgentSpec, exit_code};
use ralph_runtime::{SessionRecord, SessionStep, Watcher, stops};
use ralph_store::{RunStatus, StopMode, StoreHandle};
use ralph_view::{Progress, RunResult, RunView, Update, What};
use ralph_workspace::holder;
use serde_json::{Value, json};

use super::follow::{Hints, summary};
use crate::args::{SessionAction, SessionArgs, SessionStartArgs};
use crate::clock::with_local_times;
use crate::input::{now, variable};
use crate::journal::view;
use crate::screen::{Screen, asking, counted, told};
use crate::style::Look;

/// The variable by which Claude Code names the session that a command runs in.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// Begins, shows or ends a loop in a session.
pub(crate) async fn run(args: SessionArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    match args.action {
        SessionAction::Start(args) => start(*args, around, screen).await,
        SessionAction::Status(args) => status(args.workspace.as_deref(), args.json, around, screen).await,
        SessionAction::Cancel(args) => cancel(args.workspace.as_deref(), args.json, around, screen).await,
    }
}

/// Says how an agent calls the tool that runs a loop with fresh contexts. Starts nothing.
async fn fresh(args: &SessionStartArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let workspace = ralph_host::workspace(args.workspace.as_deref(), &around.current)?;
    let settings = Layer::from(args);
    let request =
        DecideRequest { text: &args.objective, settings: &settings, workspace: &workspace, mode: Mode::Persist };
    let decided = around.decide(request).await?;
    let Some(command) = decided.decision.verification_command else {
        screen.say("error: no verification command is known here: name one with --criteria")?;
        return Ok(exit_code::USAGE);
    };
    let arguments = json!({
        "objective": args.objective,
        "verification_command": command,
        "max_iterations": decided.max_iterations,
        "max_cost_usd": decided.max_cost.to_json_number(),
    });
    let text = format!(
        "Call the tool `ralph_loop` of the MCP server `ralph` once, with exactly these arguments, and report its verdict. Do \
         not do the work yourself.\n\n{arguments:#}"
    );
    screen.answer(args.json, &arguments, &text)?;
    Ok(exit_code::COMPLETED)
}

async fn start(args: SessionStartArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    if args.fresh {
        return fresh(&args, around, screen).await;
    }
    let Prepared { resolved, warnings } = match prepare(&args, around).await {
        Ok(prepared) => prepared,
        Err(error) => {
            screen.say(&format!("error: {}", told(&error.into())))?;
            return Ok(exit_code::USAGE);
        }
    };
    for warning in warnings {
        screen.say(&format!("warning: {warning}"))?;
    }
    let session = args.session.clone().or_else(|| variable(SESSION));
    let (_stopper, stops) = stops();
    let store = around.store().await?;
    let started = around.start_session(resolved, session.clone(), store.clone(), warnings_only(), stops).await;
    let (loop_id, step) = match started {
        Ok(started) => started,
        Err(error) => {
            let code = error.exit_code();
            screen.say(&format!("error: {}", told(&error.into())))?;
            return Ok(code);
        }
    };
    let run = view(&store, loop_id).await?;
    store.close().await?;
    let code = match step {
        SessionStep::Next(_) => exit_code::COMPLETED,
        SessionStep::Over { result, unknown } => {
            screen.say(&ended(&result, unknown))?;
            result.exit_code
        }
        SessionStep::Gone => exit_code::ERROR,
    };
    if args.json {
        screen.json(&json!({
            "loopId": loop_id,
            "short": loop_id.short(),
            "status": run.state.status,
            "workspace": run.workspace,
            "session": session,
            "maxIterations": run.state.max_iterations,
            "needsClaim": run.state.needs_claim,
            "baseline": run.baseline,
        }))?;
    } else if code == exit_code::COMPLETED {
        let project = Path::new(&run.workspace);
        if !has_hook(project, around) {
            screen.say(
                "warning: no hook of Ralph was found in the settings of Claude Code, and without it nothing checks this loop: add it with \
                 `ralph install claude`, then restart the session",
            )?;
        }
        screen.result(&instructions(&run, session.as_deref()))?;
    }
    Ok(code)
}

async fn prepare(args: &SessionStartArgs, around: &Host) -> Result<Prepared, ralph_host::Error> {
    let request = RunRequest {
        settings: Layer::from(args),
        objective: args.objective.clone(),
        workspace: args.workspace.clone(),
        race: None,
        // The session is the user's own: what it costs is limited only where that is asked for.
        agent: Some(AgentSpec { unmetered: args.max_cost.is_none(), ..AgentSpec::in_session() }),
    };
    around.prepare(request, asking()).await
}

/// Whether the settings of Claude Code for a folder name a hook of Ralph, or a plugin that brings it.
fn has_hook(project: &Path, around: &Host) -> bool {
    let own = around.variable("CLAUDE_CONFIG_DIR").map_or_else(|| around.user_home().join(".claude"), PathBuf::from);
    let folders = std::iter::once(own).chain(project.ancestors().map(|folder| folder.join(".claude")));
    let files = folders.flat_map(|folder| ["settings.json", "settings.local.json"].map(|name| folder.join(name)));
    files.filter_map(|file| std::fs::read_to_string(file).ok()).any(|text| {
        let settings: Value = serde_json::from_str(&text).unwrap_or_default();
        let has_stop = settings["hooks"]["Stop"].to_string().contains("ralph");
        let mut plugins = settings["enabledPlugins"].as_object().into_iter().flatten();
        has_stop || plugins.any(|(name, enabled)| name.starts_with("ralph@") && *enabled == Value::Bool(true))
    })
}

/// What the agent of the session reads: what to do, and what happens when it stops.
fn instructions(run: &RunView, session: Option<&str>) -> String {
    let short = run.state.loop_id.short();
    let checks: Vec<String> = run.config.verification_commands.iter().map(|check| format!("  {check}")).collect();
    let belongs = match session {
        Some(_) => "",
        None => " It belongs to the Claude Code session in this folder that reports next.",
    };
    let mut text = format!(
        "Ralph loop {short} runs in this session now, for at most {}.{belongs}\n\nObjective:\n\n{}\n\n",
        counted(run.state.max_iterations, "iteration", "iterations"),
        run.objective,
    );
    let promise = run.config.promise_tag();
    text.push_str(&match (&run.baseline, run.state.needs_claim) {
        (None, _) => format!("Work on it now. When ALL requirements are met, stop with {promise}.\n"),
        (Some(baseline), needs_claim) => {
            let found = format!("{} passing, {} failing now", baseline.passing, baseline.failing);
            let done = match needs_claim {
                true => format!("The loop completes when they pass and your last message has {promise}."),
                false => "The loop completes when they pass.".to_owned(),
            };
            format!(
                "Work on it now. Whenever you stop, Ralph runs these checks ({found}):\n\n{}\n\n{done} Until then you are given \
                 what failed and continue. Fix the code: tests and settings that the checks depend on are restored for every \
                 check.\n",
                checks.join("\n")
            )
        }
    });
    text.push_str("If you cannot go on without a person, stop with <blocked>why</blocked>.\n");
    text.push_str("`ralph session status` shows the loop, `ralph session cancel` ends it.");
    text
}

async fn status(given: Option<&Path>, json: bool, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let folder = ralph_host::workspace(given, &around.current)?;
    let Some((record, store)) = find(&folder, around).await? else {
        let text = format!("no session has a loop in {}", folder.display());
        screen.answer(json, &json!({ "active": false, "workspace": folder }), &text)?;
        return Ok(0);
    };
    let run = view(&store, record.loop_id).await?;
    if json {
        let entry = around.listed(&store.run(record.loop_id).await?);
        screen.json(&json!({
            "active": true,
            "workspace": folder,
            "session": record.session,
            "iteration": record.iteration,
            "maxIterations": run.state.max_iterations,
            "loop": entry,
        }))?;
        return Ok(0);
    }
    let session = record.session.as_ref().map_or_else(
        || "no session yet: the next one in this folder that reports through a hook".to_owned(),
        |session| format!("session {session}"),
    );
    let short = record.loop_id.short();
    let at_work = if is_at_work(&record, around) { ", checking now" } else { "" };
    screen.result(&format!(
        "loop {short}: iteration {} of {}{at_work}, {}\n  {session}\n  objective: {}\n  end it with: ralph session cancel",
        record.iteration,
        run.state.max_iterations,
        run.state.money(),
        run.objective.lines().next().unwrap_or_default(),
    ))?;
    Ok(0)
}

async fn cancel(given: Option<&Path>, json: bool, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let folder = ralph_host::workspace(given, &around.current)?;
    let Some((record, store)) = find(&folder, around).await? else {
        bail!("no session has a loop in {}", folder.display());
    };
    if is_at_work(&record, around) {
        store.request_stop(record.loop_id, StopMode::Now, now()).await?;
        let text = format!("loop {} is being checked, and was asked to stop now", record.loop_id.short());
        screen.answer(json, &json!({ "loopId": record.loop_id, "requested": "now" }), &text)?;
        return Ok(0);
    }
    cancel_loop(record, around, store, json, screen).await
}

/// Ends a loop in a session that no hook works on.
pub(crate) async fn cancel_loop(
    record: SessionRecord,
    around: &Host,
    store: StoreHandle,
    json: bool,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    let (stopper, stops) = stops();
    let loop_id = record.loop_id;
    let step = around.cancel_session(record, store.clone(), warnings_only(), &stopper, stops).await?;
    store.close().await?;
    let result = match step {
        SessionStep::Over { result, .. } => Some(result),
        SessionStep::Gone => None,
        SessionStep::Next(_) => bail!("loop {} could not be ended", loop_id.short()),
    };
    match (json, result) {
        (true, Some(result)) => screen.json(&result)?,
        (true, None) => screen.json(&json!({ "loopId": loop_id }))?,
        (false, Some(result)) => screen.result(&with_local_times(&result.headline()))?,
        (false, None) => screen.result(&format!("loop {} was over already", loop_id.short()))?,
    }
    Ok(0)
}

/// The loop that lives in a session in a folder, with the store that knows it.
async fn find(folder: &Path, around: &Host) -> anyhow::Result<Option<(SessionRecord, StoreHandle)>> {
    let Some(record) = SessionRecord::read(&around.home(), folder)? else { return Ok(None) };
    let store = around.existing_store().await?;
    let is_open = store.run(record.loop_id).await.is_ok_and(|entry| entry.status == RunStatus::Running);
    Ok(is_open.then_some((record, store)))
}

/// Whether a hook works on a loop now.
pub(crate) fn is_at_work(record: &SessionRecord, around: &Host) -> bool {
    let holder = holder(&around.home().workspace(&record.workspace)).ok().flatten();
    holder.is_some_and(|holder| holder.loop_id == record.loop_id)
}

/// How a loop in a session ended, for people.
pub(crate) fn ended(result: &RunResult, unknown: usize) -> String {
    let mut page = summary(result, result.cost, Hints::Shown);
    if unknown > 0 {
        let iterations = counted(unknown, "iteration", "iterations");
        page.line(format!("  the cost of {iterations} is unknown and not in that sum"));
    }
    page.lines(Look::PLAIN).join("\n")
}

/// Shows warnings and nothing else.
fn warnings_only() -> Watcher {
    Arc::new(|update: Update| {
        if let What::Progress { progress: Progress::Warning { text } } = update.what {
            let _ = Screen::new(&mut std::io::stdout(), &mut std::io::stderr()).say(&format!("warning: {text}"));
        }
    })
}
