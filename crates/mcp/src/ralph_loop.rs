//! `ralph_loop`: a loop from its first iteration to its verdict, as one call.

use std::sync::Arc;
use std::time::Duration;

use ralph_config::trust::Asking;
use ralph_config::{Layer, Spelling};
use ralph_engine::{StopBy, StopWhen};
use ralph_host::{Opened, Prepared, RunRequest};
use ralph_runtime::{Stopper, Watcher, stops};
use ralph_view::{RaceResult, RunResult, RunState, RunStatus, Update, What, counted, delta_line, dollars};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Refused, bounded, structured};
use crate::arguments::LoopArguments;
use crate::handler::Tools;
use crate::progress::{Reporter, standing};

/// How often a client hears that the loop still runs: less than the patience of any client.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long a beginning that is cancelled may still take: most are over sooner, and then the stop is recorded.
const START_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest excerpt of a failing check, and the longest message of the agent.
const MAX_EXCERPT: usize = 4 * 1024;
/// The most checks that the text shows.
const MAX_CHECKS: usize = 5;

/// Whether a loop stays in the journals of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record {
    Kept,
    None,
}

pub(crate) struct Ended {
    warnings: Vec<String>,
    ended: RaceResult,
}

pub(crate) async fn run(tools: &Tools, arguments: &LoopArguments, context: &RequestContext<RoleServer>) -> Answer {
    arguments.check()?;
    let settings = settings(arguments)?;
    let request = RunRequest { settings, objective: arguments.objective.clone(), ..RunRequest::default() };
    let ended = start(tools, request, Record::Kept, context).await?;
    let mut answer = structured(&ended.text(), &ended.data()?)?;
    // A loop that ran into a limit has a result like any other.
    answer.is_error = Some(ended.ended.result.status == RunStatus::Error);
    Ok(answer)
}

pub(crate) async fn start(
    tools: &Tools,
    request: RunRequest,
    record: Record,
    context: &RequestContext<RoleServer>,
) -> Result<Ended, Refused> {
    let entry = tools.running.enter(tools.call_key(context), context.ct.clone());
    // There is no user to ask, so what needs approval is refused.
    let prepared = tools.host.prepare(request, Asking::Nobody).await.map_err(|error| refusal(&error))?;
    let warnings = prepared.warnings.clone();
    let ended = follow(tools, prepared, record, context, entry.cancelled()).await?;
    Ok(Ended { warnings, ended })
}

impl Ended {
    pub(crate) fn checks_pass(&self) -> bool {
        self.ended.result.verdict.as_ref().is_some_and(|verdict| verdict.passed)
    }

    pub(crate) fn verdict(&self) -> String {
        verdict(&self.ended.result).join("\n")
    }

    fn text(&self) -> String {
        let mut text = summary(&self.ended.result);
        for warning in self.warnings.iter().take(MAX_CHECKS) {
            text.push_str(&format!("\nwarning: {warning}"));
        }
        text
    }

    /// The result, as `ralph run --json` prints it.
    pub(crate) fn data(&self) -> Result<Value, Refused> {
        let mut data = serde_json::to_value(&self.ended).map_err(|error| Refused::new(error.to_string()))?;
        for name in ["output", "lastOutput"] {
            if let Some(Value::String(output)) = data.get_mut(name) {
                *output = bounded(output, MAX_EXCERPT);
            }
        }
        Ok(data)
    }
}

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

async fn follow(
    tools: &Tools,
    prepared: Prepared,
    record: Record,
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
    let (stopper, stops) = stops();
    // Until the loop has ended.
    let trial = match record {
        Record::Kept => None,
        Record::None => Some(tools.host.trial().map_err(|error| refusal(&error))?),
    };
    let opening = async {
        match &trial {
            Some(trial) => trial.start(prepared.resolved, watcher, stops).await,
            None => tools.host.start(prepared.resolved, tools.host.store().await?, watcher, stops).await,
        }
    };
    let opened = tokio::select! {
        biased;
        opened = opening => opened.map_err(|error| refusal(&error))?,
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
    for text in deltas.iter().filter_map(|delta| delta_line(&state, delta)) {
        reporter.report(&state, text).await;
    }
    *last = Some(*state);
}

fn summary(result: &RunResult) -> String {
    let iterations = counted(result.iterations, "iteration", "iterations");
    let short = result.loop_id.short();
    let mut lines =
        vec![result.headline(), format!("loop {short}: {iterations}, {}, {}", dollars(result.cost), result.duration)];
    lines.extend(verdict(result));
    if result.false_claims > 0 {
        lines.push(format!("false claims: {}", result.false_claims));
    }
    lines.push(format!("more: ralph show {short}, ralph logs {short}, ralph diff {short}; .ralph/LEDGER.md"));
    lines.join("\n")
}

/// What the checks found, in the form of the envelope that agents know.
fn verdict(result: &RunResult) -> Vec<String> {
    let Some(verdict) = &result.verdict else { return vec!["nothing was checked".to_owned()] };
    let doubt = verdict.doubt.as_ref().map(|doubt| format!(", but {doubt}")).unwrap_or_default();
    let mut lines = vec![format!("checks: {} passing, {} failing{doubt}", verdict.passing, verdict.failing)];
    for check in verdict.checks.iter().filter(|check| !check.outcome.passed).take(MAX_CHECKS) {
        let excerpt = bounded(check.outcome.excerpt.trim(), MAX_EXCERPT);
        lines.push(format!("[ERROR] verify: `{}` {}\n{excerpt}", check.outcome.command, check.outcome.ended));
    }
    let missing = verdict.missing.iter().take(MAX_CHECKS);
    lines.extend(missing.map(|missing| format!("[MISSING] {}: {}", missing.expectation, missing.why)));
    lines.extend(verdict.tampered.iter().take(MAX_CHECKS).map(|tamper| format!("[TAMPERED] {tamper}")));
    lines
}

/// Why a loop was not started, with the names of arguments as the caller writes them.
fn refusal(error: &ralph_host::Error) -> Refused {
    Refused::new(match (error, error.rule()) {
        (_, Some(rule)) => Spelling::File.rule(rule),
        (ralph_host::Error::Runtime(error), None) => error.chain(),
        (error, None) => error.to_string(),
    })
}
