//! `ralph do`: decides whether a request is work for a loop, says so, and carries it out. If Ralph's own machinery fails before
//! the first iteration, the agent gets the request once without it.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use ralph_config::RepositoryFile;
use ralph_config::trust::Question;
use ralph_decide::Mode;
use ralph_host::{DecideRequest, Decided, Host, Prepared, RunRequest};
use ralph_model::{AgentEvent, AgentRun, ConfigError, Cost, exit_code};
use ralph_process::Stop;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::explain;
use super::follow::{self, Activation, Following, Hints, NotStarted};
use crate::args::DoArgs;
use crate::input::{is_interactive, now};
use crate::objective::objective;
use crate::screen::{Screen, asking, counted, told};

pub(crate) async fn run(args: DoArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let objective = objective(&args.run, &mut std::io::stdin().lock())?;
    if objective.trim().is_empty() {
        return Err(ConfigError::new("objective", "is empty", "what has to be done, in your words").into());
    }
    let folder = ralph_host::workspace(args.run.workspace.as_deref(), &around.current)?;
    let mode = match (args.persist, args.no_ralph) {
        (true, _) => Mode::Persist,
        (false, true) => Mode::NoRalph,
        (false, false) => Mode::Auto,
    };
    if !args.dry_run && is_interactive() {
        approve(&folder, around).await?;
    }
    let settings = (&args.run).into();
    let request = DecideRequest { text: &objective, settings: &settings, workspace: &folder, mode };
    let decided = around.decide(request).await?;
    let mut decision = serde_json::to_value(&decided.decision)?;
    decision["maxIterations"] = json!(decided.max_iterations);
    decision["maxCostUSD"] = json!(decided.max_cost.to_json_number());
    match (args.dry_run, args.run.screen.json) {
        (true, true) => screen.json(&decision)?,
        (true, false) => screen.result(&text(&decided))?,
        (false, _) if args.run.screen.quiet => {}
        (false, _) => screen.say(&text(&decided))?,
    }
    if args.dry_run {
        return Ok(exit_code::COMPLETED);
    }
    let is_loop = decided.decision.is_loop;
    let request = RunRequest {
        settings: decided.settings,
        objective,
        workspace: args.run.workspace.clone(),
        race: args.run.race.filter(|_| is_loop),
        agent: None,
    };
    match act(&args, request.clone(), &decision, around, screen).await {
        Ok(code) => Ok(code),
        Err(error) if is_own_fault(&error) => once(&args, &request, &error, &decision, around, screen).await,
        Err(error) => Err(error),
    }
}

/// Asks for approval of the repository's configuration, because the decision depends on it.
async fn approve(folder: &Path, around: &Host) -> anyhow::Result<()> {
    let file = RepositoryFile::read(folder)?;
    let Some(question) = file.and_then(|file| Question::about_file(&file, folder)) else { return Ok(()) };
    // A store that cannot be opened is reported later.
    let Ok(store) = around.store().await else { return Ok(()) };
    question.ensure(&store, &mut asking(), now()).await.map_err(ralph_host::Error::from)?;
    Ok(store.close().await?)
}

fn text(decided: &Decided) -> String {
    let decision = &decided.decision;
    let cost = (decided.settings.unmetered != Some(true)).then_some(decided.max_cost);
    let what = match decision.is_loop {
        true => {
            let most = counted(decided.max_iterations, "iteration", "iterations");
            let cost = cost.map(|cost| format!(" and {cost}")).unwrap_or_default();
            format!("a loop of at most {most}{cost}")
        }
        false => cost.map_or_else(|| "one pass".to_owned(), |cost| format!("one pass of at most {cost}")),
    };
    let by = match decision.mode {
        Mode::Auto => "",
        Mode::Persist => " (--persist)",
        Mode::NoRalph => " (--no-ralph)",
    };
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    let mut lines = vec![
        format!("Decision: {what}{by}"),
        format!(
            "  task {}, scope {}, risk {}, confidence {:.2}",
            decision.task_type.name(),
            decision.scope.name(),
            decision.risk.name(),
            decision.confidence
        ),
        format!("  stack {}, skill {}", or_none(&decision.stack), or_none(&decision.skill)),
    ];
    lines.extend(decision.why.iter().map(|why| format!("  - {why}")));
    lines.join("\n")
}

async fn act(
    args: &DoArgs,
    request: RunRequest,
    decision: &Value,
    around: &Host,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    let is_loop = decision["loop"] == true;
    let mut around = around.clone();
    if !is_loop {
        // One pass needs no promise: an agent that ended well has said what it has to say.
        around.for_agents.signals.claimed =
            Some(Arc::new(|run: &AgentRun| run.ended.is_success() && run.faults.is_empty()));
    }
    let Prepared { mut resolved, warnings } = around.prepare(request, asking()).await?;
    resolved.config = resolved.config.with_task_type(decision["taskType"].as_str().unwrap_or_default().to_owned());
    if args.run.explain {
        return explain::explain(&resolved.config, &around, args.run.screen, screen).await;
    }
    for warning in warnings {
        screen.say(&format!("warning: {warning}"))?;
    }
    let activation = Some(Activation { decision, shows_answer: !is_loop });
    let following = Following { around: &around, args: args.run.screen, hints: Hints::Shown, activation };
    follow::start(following, resolved, screen).await
}

/// Whether Ralph's own machinery failed before the first iteration, and not the request.
fn is_own_fault(error: &anyhow::Error) -> bool {
    let host = error.downcast_ref::<ralph_host::Error>();
    error.is::<NotStarted>() || host.is_some_and(|error| error.exit_code() == exit_code::ERROR)
}

/// Gives the agent the request once, without the loop.
async fn once(
    args: &DoArgs,
    request: &RunRequest,
    why: &anyhow::Error,
    decision: &Value,
    around: &Host,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    let why = told(why);
    let pass = around.one_pass(request)?;
    screen.say(&format!(
        "warning: Ralph failed before the first iteration: {why}\n  {} gets the request once now, without loop, checks and record",
        pass.agent()
    ))?;
    let (stopper, stop) = watch::channel(None);
    let listening = tokio::spawn(listen(stopper));
    let is_shown = !args.run.screen.quiet;
    let mut events = |event: AgentEvent| {
        let line = match event {
            AgentEvent::Output { text } => text,
            AgentEvent::Message { text } => format!("{text}\n"),
            AgentEvent::ToolStarted { tool, summary, .. } => format!("{tool}: {summary}\n"),
            _ => return,
        };
        if is_shown {
            // What cannot be shown is no reason to stop the agent.
            let _ = Screen::new(&mut std::io::stdout(), &mut std::io::stderr()).say(&line);
        }
    };
    let observed = around.run_once(&pass, stop, &mut events).await.context("the agent could not be started")?;
    listening.abort();
    let is_success = observed.ended.is_success() && observed.faults.is_empty();
    if args.run.screen.json {
        let cost = match observed.cost {
            Cost::Known { amount } => Some(amount.to_json_number()),
            Cost::Unknown | Cost::Unmetered => None,
        };
        screen.json(&json!({
            "status": if is_success { "COMPLETED" } else { "ERROR" },
            "loopId": null,
            "iterations": 1,
            "costUSD": cost,
            "verified": false,
            "output": observed.final_message,
            "error": (!is_success).then(|| format!("the agent {}", observed.ended)),
            "details": format!("Ralph failed before the first iteration ({why}), and the agent ran once without it"),
            "decision": decision,
        }))?;
    } else {
        screen.result(observed.final_message.trim())?;
        screen.say(&format!("{} {}; nothing was verified", pass.agent(), observed.ended))?;
    }
    Ok(if is_success { exit_code::COMPLETED } else { exit_code::ERROR })
}

/// A signal ends the agent.
async fn listen(stopper: watch::Sender<Option<Stop>>) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    stopper.send_replace(Some(Stop::Requested));
    // The agent listens as long as the sender lives.
    std::future::pending::<()>().await;
}
