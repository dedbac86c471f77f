//! `ralph_loop`: a loop from its first iteration to its verdict, as one call.

use std::sync::Arc;
use std::time::Duration;

use ralph_config::trust::Asking;
use ralph_config::{Layer, Spelling};
use ralph_engine::{StopBy, StopWhen};
use ralph_host::{Opened, Prepared, RunRequest};
use ralph_runtime::{Stopper, Watcher, stops};
use ralph_view::{RaceResult, RunResult, RunState, RunStatus, Update, What, counted, dollars};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Refused, bounded, structured};
use crate::arguments::LoopArguments;
use crate::handler::Tools;
use crate::progress::{Reporter, line, standing};

/// How often a client hears that the loop still runs: less than the patience of any client.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long a beginning that is cancelled may still take: most are over sooner, and then the stop is recorded.
const START_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest excerpt of a failing check, and the longest message of the agent.
const MAX_EXCERPT: usize = 4 * 1024;
/// The most checks that the text shows.
const MAX_CHECKS: usize = 5;

/// Runs a loop to its end.
pub(crate) async fn run(tools: &Tools, arguments: &LoopArguments, context: &RequestContext<RoleServer>) -> Answer {
    arguments.check()?;
    let settings = settings(arguments)?;
    let request = RunRequest { settings, objective: arguments.objective.clone(), ..RunRequest::default() };
    let _entry = tools.running.enter();
    // Nobody can be asked here, so what needs approval is refused.
    let prepared = tools.host.prepare(request, Asking::Nobody).await.map_err(|error| refusal(&error))?;
    let cancelled = cancellation(tools, context);
    let result = follow(tools, prepared.clone(), context, &cancelled).await?;
    present(&prepared, &result)
}

/// The arguments as a layer of configuration.
fn settings(arguments: &LoopArguments) -> Result<Layer, Refused> {
    let mut object = Map::from_iter([
        ("verificationCommand".to_owned(), json!(arguments.verification_command)),
        ("maxIterations".to_owned(), json!(arguments.max_iterations)),
        ("maxCostUsd".to_owned(), json!(arguments.max_cost_usd)),
    ]);
    object.extend(arguments.agent.as_ref().map(|agent| ("agent".to_owned(), json!(agent))));
    Layer::from_json(&object).map_err(|error| {
        let names = [("verificationCommand", "verification_command"), ("maxCostUsd", "max_cost_usd")];
        let text = names.iter().fold(error.to_string(), |text, (key, argument)| text.replace(key, argument));
        Refused::new(format!("bad arguments: {text}"))
    })
}

/// Cancelled when the client cancels the call or goes away.
fn cancellation(tools: &Tools, context: &RequestContext<RoleServer>) -> CancellationToken {
    let cancelled = tools.running.closing().child_token();
    let (token, call) = (cancelled.clone(), context.ct.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = call.cancelled() => token.cancel(),
            // Also when the loop is over, because the call's own token is cancelled then.
            () = token.cancelled() => {}
        }
    });
    cancelled
}

async fn follow(
    tools: &Tools,
    prepared: Prepared,
    context: &RequestContext<RoleServer>,
    cancelled: &CancellationToken,
) -> Result<RaceResult, Refused> {
    let (sender, mut updates) = mpsc::unbounded_channel();
    let watcher: Watcher = Arc::new(move |update: Update| {
        // What is not recorded comes too often for a client.
        if matches!(update.what, What::Recorded { .. }) {
            let _ = sender.send(update);
        }
    });
    let store = tools.host.store().await.map_err(|error| refusal(&error))?;
    let (stopper, stops) = stops();
    let opened = tokio::select! {
        biased;
        opened = tools.host.start(prepared.resolved, store, watcher, stops) => opened.map_err(|error| refusal(&error))?,
        () = stop_beginning(&stopper, cancelled) => {
            return Err(Refused::new("cancelled before an agent was started"));
        }
    };
    run_opened(opened, &stopper, &mut updates, &Reporter::new(context), cancelled).await
}

/// Asks a loop that begins to stop, and gives up after a while: what it does then can be cut short anywhere.
async fn stop_beginning(stopper: &Stopper, cancelled: &CancellationToken) {
    cancelled.cancelled().await;
    stopper.stop(StopWhen::Now, StopBy::Request);
    tokio::time::sleep(START_TIMEOUT).await;
}

async fn run_opened(
    opened: Opened,
    stopper: &Stopper,
    updates: &mut mpsc::UnboundedReceiver<Update>,
    reporter: &Reporter,
    cancelled: &CancellationToken,
) -> Result<RaceResult, Refused> {
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    heartbeat.reset();
    let mut last: Option<RunState> = None;
    let mut is_stopped = false;
    let mut running = std::pin::pin!(opened.run());
    loop {
        tokio::select! {
            biased;
            Some(update) = updates.recv() => {
                heartbeat.reset();
                report(reporter, update, &mut last).await;
            }
            ended = &mut running => {
                while let Ok(update) = updates.try_recv() {
                    report(reporter, update, &mut last).await;
                }
                return ended.map_err(|error| Refused::new(format!("the loop broke off: {}", error.chain())));
            }
            () = cancelled.cancelled(), if !is_stopped => {
                is_stopped = true;
                stopper.stop(StopWhen::Now, StopBy::Request);
            }
            _ = heartbeat.tick() => {
                if let Some(state) = &last {
                    reporter.report(state, standing(state)).await;
                }
            }
        }
    }
}

async fn report(reporter: &Reporter, update: Update, last: &mut Option<RunState>) {
    let What::Recorded { state, deltas, .. } = update.what else { return };
    for text in deltas.iter().filter_map(|delta| line(&state, delta)) {
        reporter.report(&state, text).await;
    }
    *last = Some(*state);
}

/// The result as a text for the model and as data for programs.
fn present(prepared: &Prepared, ended: &RaceResult) -> Answer {
    let result = &ended.result;
    let mut text = summary(result);
    for warning in prepared.warnings.iter().take(MAX_CHECKS) {
        text.push_str(&format!("\nwarning: {warning}"));
    }
    let mut data = serde_json::to_value(ended).map_err(|error| Refused::new(error.to_string()))?;
    for name in ["output", "lastOutput"] {
        if let Some(Value::String(output)) = data.get_mut(name) {
            *output = bounded(output, MAX_EXCERPT);
        }
    }
    let mut answer = structured(&text, &data)?;
    // A loop that ran into a limit has a result like any other.
    answer.is_error = Some(result.status == RunStatus::Error);
    Ok(answer)
}

fn summary(result: &RunResult) -> String {
    let iterations = counted(usize::try_from(result.iterations).unwrap_or(usize::MAX), "iteration", "iterations");
    let short = result.loop_id.short();
    let mut lines =
        vec![result.headline(), format!("loop {short}: {iterations}, {}, {}", dollars(result.cost), result.duration)];
    if let Some(verdict) = &result.verdict {
        let doubt = verdict.doubt.as_ref().map(|doubt| format!(", but {doubt}")).unwrap_or_default();
        lines.push(format!("checks: {} passing, {} failing{doubt}", verdict.passing, verdict.failing));
        for check in verdict.checks.iter().filter(|check| !check.outcome.passed).take(MAX_CHECKS) {
            let excerpt = bounded(check.outcome.excerpt.trim(), MAX_EXCERPT);
            lines.push(format!("[ERROR] verify: `{}` {}\n{excerpt}", check.outcome.command, check.outcome.ended));
        }
        lines.extend(
            verdict
                .missing
                .iter()
                .take(MAX_CHECKS)
                .map(|missing| format!("[MISSING] {}: {}", missing.expectation, missing.why)),
        );
        lines.extend(verdict.tampered.iter().take(MAX_CHECKS).map(|tamper| format!("[TAMPERED] {tamper}")));
    }
    if result.false_claims > 0 {
        lines.push(format!("false claims: {}", result.false_claims));
    }
    lines.push(format!("more: ralph show {short}, ralph logs {short}, ralph diff {short}; .ralph/LEDGER.md"));
    lines.join("\n")
}

/// Why a loop was not started, with the names of arguments as the caller writes them.
fn refusal(error: &ralph_host::Error) -> Refused {
    Refused::new(match (error, error.rule()) {
        (_, Some(rule)) => Spelling::File.rule(rule),
        (ralph_host::Error::Runtime(error), None) => error.chain(),
        (error, None) => error.to_string(),
    })
}
