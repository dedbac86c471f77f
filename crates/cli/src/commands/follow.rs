//! Runs a loop to its end while a person or a script watches: signals, live view, result.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_config::trust::shell_word;
use ralph_config::{Layer, Resolved};
use ralph_engine::{StopBy, StopWhen};
use ralph_host::{Host, Opened};
use ralph_model::{AbortReason, Iteration, LoopConfig, LoopId, Money, Tamper, exit_code};
use ralph_runtime::{Error, Home, Resume, Stopper, Stops, Watcher, stops};
use ralph_store::StoreHandle;
use ralph_view::{CandidateView, Delta, RaceResult, RunResult, RunStatus, Update, What};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::args::ScreenArgs;
use crate::clock::with_local_times;
use crate::input::Signals;
use crate::page::Page;
use crate::screen::{Screen, counted, dollars, rule};
use crate::style::{is_dumb, of_status};
use crate::view::{Events, Live, Mode};

/// How long a beginning that somebody wants to stop may still take: most are over sooner, and then the stop is recorded.
const TIMEOUT: Duration = Duration::from_millis(1400);

/// Signals that are closer together are one press: no finger is that quick.
const ECHO: Duration = Duration::from_millis(100);

/// What following a loop needs besides the loop.
pub(crate) struct Following<'a> {
    pub(crate) around: &'a Host,
    pub(crate) args: ScreenArgs,
    /// Whether the end says where to look further.
    pub(crate) hints: Hints,
    /// The request that it carries out, where it comes from `ralph do`.
    pub(crate) activation: Option<Activation<'a>>,
}

/// A request of `ralph do`.
pub(crate) struct Activation<'a> {
    pub(crate) decision: &'a Value,
    /// Whether one pass was decided on: then the agent's answer is what the user wants to see.
    pub(crate) shows_answer: bool,
}

/// Ralph's own machinery failed before the first iteration.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotStarted(String);

/// Whether the end of a loop says where to look further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hints {
    /// It does.
    Shown,
    /// There will be nothing left to look at.
    Hidden,
}

pub(crate) async fn start(following: Following<'_>, resolved: Resolved, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let around = following.around;
    let open = async |store, watcher, stops| around.start(resolved, store, watcher, stops).await;
    follow(following, screen, open).await
}

pub(crate) async fn go_on(
    following: Following<'_>,
    loop_id: LoopId,
    wanted: Resume,
    config: &LoopConfig,
    user: &Layer,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    let around = following.around;
    let open = async |store, watcher, stops| around.resume(loop_id, wanted, config, user, store, watcher, stops).await;
    follow(following, screen, open).await
}

async fn follow(
    following: Following<'_>,
    screen: &mut Screen<'_>,
    open: impl AsyncFnOnce(StoreHandle, Watcher, Stops) -> Result<Opened, ralph_host::Error>,
) -> anyhow::Result<u8> {
    let Following { around, args, hints, activation } = following;
    let mode = live_mode(args);
    let live = Arc::new(Live::new(mode));
    crate::trace::show_above(&live);
    let events = args.events.then(|| Arc::new(Events::new()));
    let watcher: Watcher = {
        let (live, events) = (Arc::clone(&live), events.clone());
        // The result begins with the same line; on one screen nobody needs it twice.
        let repeated = mode == Mode::Plain && !args.json && !args.events && is_one_screen();
        Arc::new(move |mut update: Update| {
            if let Some(events) = &events {
                events.show(&update);
            }
            if let What::Recorded { deltas, .. } = &mut update.what
                && repeated
                && update.candidate.is_none()
            {
                deltas.retain(|delta| !matches!(delta, Delta::Finished { .. }));
            }
            live.show(update);
        })
    };
    let store = around.store().await?;
    let (stopper, stops) = stops();
    let (asked, was_asked) = watch::channel(None);
    let asked_by = was_asked.clone();
    let listening = tokio::spawn(listen(stopper, asked));
    let mut opened_as = None;
    let opened = tokio::select! {
        biased;
        opened = open(store.clone(), watcher, stops) => opened,
        by = impatience(was_asked) => {
            live.close();
            return stopped_before(by, args, screen);
        }
    };
    let result = match opened {
        Ok(opened) => {
            opened_as = opened.loop_id();
            opened.run().await.map_err(ralph_host::Error::from)
        }
        Err(ralph_host::Error::Runtime(Error::Workspace(ralph_workspace::Error::Stopped))) => {
            live.close();
            let by = asked_by.borrow().unwrap_or(StopBy::Signal);
            return stopped_before(by, args, screen);
        }
        Err(error) => Err(error),
    };
    listening.abort();
    live.close();
    let code = match result {
        Ok(result) if let Some(events) = &events => {
            events.line(json!({ "type": "result", "result": result }).to_string());
            result.result.exit_code
        }
        Ok(result) => tell(&result, args, hints, activation.as_ref(), &around.home(), screen)?,
        Err(error) if activation.is_some() && is_before_work(&error, &store, opened_as).await => {
            store.close().await?;
            return Err(NotStarted(text_of(&error)).into());
        }
        Err(error) => {
            let text = text_of(&error);
            screen.say(&format!("error: {text}"))?;
            use Error::{AlreadyComplete, Elsewhere, InSession, LimitStands, Lock, SessionOver};
            let is_usage = error.rule().is_some()
                || matches!(
                    error,
                    ralph_host::Error::Runtime(
                        Lock(_)
                            | Elsewhere { .. }
                            | AlreadyComplete(_)
                            | LimitStands { .. }
                            | InSession { .. }
                            | SessionOver { .. }
                    )
                );
            match &events {
                Some(events) if !is_usage => {
                    let result = broken_off(&store, opened_as, &text).await;
                    events.line(json!({ "type": "result", "result": result }).to_string());
                }
                None if args.json && !is_usage => screen.json(&broken_off(&store, opened_as, &text).await)?,
                Some(_) | None => {}
            }
            if is_usage { exit_code::USAGE } else { exit_code::ERROR }
        }
    };
    events.iter().for_each(|events| events.close());
    store.close().await?;
    Ok(code)
}

/// How a running loop is shown on standard error.
pub(crate) fn live_mode(args: ScreenArgs) -> Mode {
    match (args.quiet, args.plain || is_dumb() || !std::io::stderr().is_terminal()) {
        (true, _) => Mode::Silent,
        (false, true) => Mode::Plain,
        (false, false) => Mode::Painted,
    }
}

fn text_of(error: &ralph_host::Error) -> String {
    match (error, error.rule()) {
        (_, Some(broken)) => rule(broken),
        (ralph_host::Error::Runtime(error), None) => error.chain(),
        (error, None) => error.to_string(),
    }
}

/// Whether Ralph's own machinery failed, not the caller, and no agent has worked yet.
async fn is_before_work(error: &ralph_host::Error, store: &StoreHandle, loop_id: Option<LoopId>) -> bool {
    let iterations = match loop_id {
        Some(loop_id) => store.run(loop_id).await.map_or(u32::MAX, |entry| entry.iterations),
        None => 0,
    };
    error.exit_code() == exit_code::ERROR && iterations == 0
}

/// Whether what goes to standard output is read where standard error is: a terminal, or one file or pipe for both.
pub(crate) fn is_one_screen() -> bool {
    let (out, error) = (std::io::stdout(), std::io::stderr());
    let is_same = match (rustix::fs::fstat(&out), rustix::fs::fstat(&error)) {
        (Ok(out), Ok(error)) => (out.st_dev, out.st_ino) == (error.st_dev, error.st_ino),
        (Ok(_) | Err(_), _) => false,
    };
    is_same || (out.is_terminal() && error.is_terminal())
}

/// The result of a loop that could not be brought to its end, or not even begun: a script always has one to read.
async fn broken_off(store: &StoreHandle, loop_id: Option<LoopId>, error: &str) -> Value {
    let iterations = match loop_id {
        // The same fault may keep the listing from being read.
        Some(loop_id) => store.run(loop_id).await.ok().map(|entry| entry.iterations),
        None => Some(0),
    };
    json!({
        "status": "ERROR",
        "loopId": loop_id,
        "iterations": iterations,
        "verified": false,
        "error": error,
        "details": error,
    })
}

/// Waits until somebody asked to stop and the beginning is still not over. What it does then (a first look at a large
/// workspace, waiting for what a killed loop left behind) can be cut short anywhere, as by a crash.
async fn impatience(mut asked: watch::Receiver<Option<StopBy>>) -> StopBy {
    let by = match asked.wait_for(Option::is_some).await {
        Ok(by) => by.unwrap_or(StopBy::Signal),
        // No task listens to signals, so they end the program by themselves.
        Err(_) => std::future::pending().await,
    };
    tokio::time::sleep(TIMEOUT).await;
    by
}

fn stopped_before(by: StopBy, args: ScreenArgs, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let details = "stopped before an agent was started";
    screen.say(details)?;
    if args.json {
        let reason = AbortReason::Cancelled.name();
        screen.json(&json!({
            "status": "ABORTED",
            "reason": reason,
            "loopId": null,
            "iterations": 0,
            "verified": false,
            "details": details,
        }))?;
    }
    Ok(if by == StopBy::Keyboard { exit_code::KEYBOARD } else { AbortReason::Cancelled.exit_code() })
}

/// Ctrl-C as it was pressed: a wrapper such as `timeout` passes on what the terminal has already sent, so that one press
/// comes twice.
#[derive(Debug, Default)]
struct Presses {
    last: Option<Instant>,
}

impl Presses {
    /// What a signal asks for; none when it is an echo of a press.
    fn press(&mut self, at: Instant) -> Option<StopWhen> {
        match self.last {
            Some(last) if at.saturating_duration_since(last) < ECHO => None,
            earlier => {
                self.last = Some(at);
                Some(if earlier.is_none() { StopWhen::AfterIteration } else { StopWhen::Now })
            }
        }
    }
}

/// Ctrl-C once stops after the iteration, twice now; other signals stop now.
async fn listen(stopper: Stopper, asked: watch::Sender<Option<StopBy>>) {
    let Ok(mut signals) = Signals::new() else { return };
    let mut presses = Presses::default();
    loop {
        let by = signals.next().await;
        let when = if by == StopBy::Keyboard { presses.press(Instant::now()) } else { Some(StopWhen::Now) };
        if let Some(when) = when {
            stopper.stop(when, by);
            asked.send_replace(Some(by));
        }
    }
}

fn tell(
    ended: &RaceResult,
    args: ScreenArgs,
    hints: Hints,
    activation: Option<&Activation<'_>>,
    home: &Home,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    if args.json {
        let mut result = serde_json::to_value(ended)?;
        if let Some(activation) = activation {
            result["decision"] = activation.decision.clone();
        }
        screen.json(&result)?;
    } else {
        let answer = ended.result.output.as_deref().or(ended.result.last_output.as_deref()).map(str::trim);
        if let (Some(answer), true) = (answer, activation.is_some_and(|activation| activation.shows_answer)) {
            screen.result(&format!("{answer}\n"))?;
        }
        // What the race cost is the sum; the line about the loop tells its own.
        let own = ended.race.iter().find(|candidate| candidate.loop_id == ended.result.loop_id);
        let mut page = summary(&ended.result, own.map_or(ended.result.cost, |own| own.cost), hints);
        let winner = ended.race.iter().find(|candidate| candidate.won);
        for (number, candidate) in ended.race.iter().enumerate() {
            page.line(standing(number + 1, candidate, winner));
        }
        if !ended.race.is_empty() && ended.result.cost > Money::ZERO {
            page.line(format!("  the race cost {} in all", ended.result.cost));
        }
        let result = &ended.result;
        let own = home.worktree(result.loop_id);
        let is_committed = result.commit.is_some() && Path::new(&result.workspace) == own;
        if let Some(id) = winner.map(|winner| winner.loop_id).or(is_committed.then_some(result.loop_id)) {
            let branch = format!("ralph/{}", id.short());
            let worktree = shell_word(&home.worktree(id));
            page.line(format!("  take it over with: git merge {branch}"));
            page.line(format!("  clean up after that: git worktree remove {worktree} && git branch -d {branch}"));
        }
        screen.page(page)?;
    }
    Ok(ended.result.exit_code)
}

fn standing(number: usize, candidate: &CandidateView, winner: Option<&CandidateView>) -> String {
    let CandidateView { loop_id, agent, status, won, iterations, cost, .. } = candidate;
    let mark = match (won, winner) {
        (true, _) => "won".to_owned(),
        (false, Some(winner)) if *status == RunStatus::Aborted => format!("lost against {}", winner.loop_id.short()),
        (false, _) => status.name().to_owned(),
    };
    let iterations = counted(*iterations, "iteration", "iterations");
    format!("  candidate {number} ({agent}), loop {}: {mark}, {iterations}{}", loop_id.short(), spent(*cost))
}

/// What was spent, after a comma; nothing where nothing was counted.
fn spent(cost: Money) -> String {
    if cost == Money::ZERO { String::new() } else { format!(", {}", dollars(cost)) }
}

pub(crate) fn summary(result: &RunResult, cost: Money, hints: Hints) -> Page {
    let short = result.loop_id.short();
    let iterations = counted(result.iterations, "iteration", "iterations");
    let mut lines: Vec<String> = result.grade_reasons.iter().map(|reason| format!("  - {reason}")).collect();
    lines.push(format!("  loop {short}: {iterations}{}, {}", spent(cost), result.duration));
    if result.false_claims > 0 {
        lines.push(format!("  false claims: {}", result.false_claims));
    }
    if result.tampered > 0 {
        let last = result.verdict.as_ref().map_or(&[][..], |verdict| &verdict.tampered);
        let advice = match !last.is_empty() && last.iter().all(Tamper::is_tripwire) {
            true => "if the checks do not run the tests that were changed: --no-tripwire",
            false => "if such a change is wanted: --allow-test-change GLOB",
        };
        lines.push(format!("  tampering: {}; {advice}", counted(result.tampered, "iteration", "iterations")));
    }
    if result.flakes > 0 {
        lines.push(format!("  flaky checks: {}", counted(result.flakes, "iteration", "iterations")));
    }
    for path in result.verdict.iter().flat_map(|verdict| &verdict.allowed).take(10) {
        lines.push(format!("  changed with your permission: {path}"));
    }
    // The state that is there now needs no rewind.
    let last = Iteration(result.iterations);
    if let Some(best) = result.best.as_ref().filter(|best| best.iteration != last && result.kept.is_none()) {
        lines.push(format!(
            "  best state: {}, {} failing (ralph rewind {short} --to {})",
            if best.iteration.0 == 0 { "the start".to_owned() } else { format!("after iteration {}", best.iteration) },
            best.failing,
            target(best)
        ));
    }
    if let Some(kept) = &result.kept {
        let state =
            if kept.iteration.0 == 0 { "the start".to_owned() } else { format!("iteration {}", kept.iteration) };
        lines.push(format!("  the workspace was restored to {state}"));
    }
    if let Some(commit) = &result.commit {
        lines.push(format!("  committed as {}", commit.get(..12).unwrap_or(commit)));
    }
    if let Some(problem) = &result.commit_problem {
        lines.push(format!("  not committed: {problem}"));
    }
    if hints == Hints::Shown {
        // That of a candidate that did nothing is gone.
        if Path::new(&result.workspace).is_dir() {
            lines.push(format!("  workspace: {}", result.workspace));
        }
        if result.status == RunStatus::Error {
            lines.push(format!("  with another agent or model: ralph resume {short} --agent NAME[:MODEL]"));
        }
        lines.push(format!("  see also: ralph show {short}, ralph logs {short}, ralph diff {short}"));
    }
    let mut page = Page::default();
    page.text(0, &with_local_times(&result.headline()), of_status(result.status, result.verified));
    lines.into_iter().for_each(|line| page.line(line));
    page
}

fn target(best: &ralph_model::Best) -> String {
    if best.iteration.0 == 0 { "start".to_owned() } else { best.iteration.to_string() }
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
