//! `ralph crew`: a request to a crew, or a conversation with one; and how other commands show a crew.

mod lines;
mod terminal;

use anyhow::{Context as _, bail};
use ralph_config::Layer;
use ralph_crew::{Crew, CrewResult};
use ralph_engine::{Machine as _, StopWhen};
use ralph_host::{CrewRequest, Host};
use ralph_model::{ConfigError, Status};
use ralph_runtime::{CrewLimits, OpenedCrew, Stopper, read_crew, stops};
use ralph_store::{Database, RunEntry, StoreHandle};
use ratatui_core::text::{Line, Span};
use serde_json::json;
use tokio::task::JoinHandle;

use super::show::heading;
use crate::args::{CrewArgs, ResumeArgs};
use crate::clock::local;
use crate::input::{Signals, is_interactive};
use crate::page::Page;
use crate::screen::{Example, Screen, asking, counted, dollars};
use crate::style::{BAD, BUSY, GOOD, PLAIN, TITLE, WARN, flat, of_status};
use terminal::Terminal;

const EXAMPLE: Example =
    Example("ralph crew \"Find out why the tests fail\" --max-cost 2 --model anthropic:claude-sonnet-5-5");

/// Gives a request to a crew, or opens a conversation.
pub(crate) async fn run(args: CrewArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    if args.request.is_none() && !is_interactive() {
        let allowed = "a request, as in ralph crew \"REQUEST\" --max-cost 2";
        return Err(ConfigError::new("request", "is missing, and a conversation needs a terminal", allowed).into());
    }
    if args.request.as_ref().is_some_and(|request| request.trim().is_empty()) {
        return Err(ConfigError::new("request", "is empty", "what the crew has to do, in your words").into());
    }
    let request = CrewRequest {
        request: args.request.clone(),
        workspace: args.workspace,
        max_cost: args.max_cost,
        models: [args.model, args.fast_model],
        max_rounds: args.max_rounds,
        approve: args.approve,
        settings: args.access.onto(Layer::default()),
    };
    let terminal = Terminal::new(args.json, args.request.is_none());
    let database = ralph_host::database::open_with_board(&around.dirs).await?;
    let (stopper, stops) = stops();
    let listening = tokio::spawn(listen(stopper));
    let opened = around.start_crew(request, &database, asking(), terminal.edges(), stops).await.context(EXAMPLE)?;
    let is_conversation = args.request.is_none();
    follow(opened, is_conversation, args.json, &terminal, listening, &database, screen).await
}

/// Runs a crew to the end of its turn, or a conversation to its end.
async fn follow(
    opened: OpenedCrew,
    is_conversation: bool,
    as_json: bool,
    terminal: &Terminal,
    listening: JoinHandle<()>,
    database: &Database,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    for problem in opened.problems() {
        screen.say(&format!("warning: {problem}"))?;
    }
    if !as_json {
        screen.say(&format!("crew {}, sandbox: {}", opened.run_id().short(), opened.sandbox()))?;
    }
    let result = if is_conversation { terminal.converse(opened).await } else { one_turn(opened).await };
    listening.abort();
    let code = tell(&result?, as_json, terminal, screen)?;
    database.store.close().await?;
    Ok(code)
}

pub(crate) async fn resume(
    args: &ResumeArgs,
    entry: &RunEntry,
    around: &Host,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    if args.changes_a_loop() {
        bail!("a crew continues with its own agents and models: only --max and --max-cost can be changed");
    }
    let terminal = Terminal::new(args.screen.json, false);
    let database = ralph_host::database::open_with_board(&around.dirs).await?;
    let (stopper, stops) = stops();
    let listening = tokio::spawn(listen(stopper));
    let limits = CrewLimits { max_cost: args.max_cost, max_rounds: args.max_iterations };
    let opened = around.resume_crew(entry.id, limits, &database, terminal.edges(), stops).await.context(EXAMPLE)?;
    follow(opened, false, args.screen.json, &terminal, listening, &database, screen).await
}

async fn one_turn(mut opened: OpenedCrew) -> anyhow::Result<CrewResult> {
    opened.turn().await?;
    Ok(opened.close().await?)
}

/// Ctrl-C ends the turn; other signals, too.
async fn listen(stopper: Stopper) {
    let Ok(mut signals) = Signals::new() else { return };
    loop {
        let by = signals.next().await;
        // A crew ends its turn at once in any case; what reads the workspace is not cut short for the turns after it.
        stopper.stop(StopWhen::AfterIteration, by);
    }
}

fn tell(result: &CrewResult, as_json: bool, terminal: &Terminal, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    if as_json {
        screen.json(result)?;
        return Ok(result.exit_code);
    }
    if let Some(answer) = result.answer.as_ref().filter(|_| !terminal.has_shown()) {
        let mut page = Page::default();
        page.text(0, answer, PLAIN);
        screen.page(page)?;
    }
    result.doubts.iter().try_for_each(|doubt| screen.say(&format!("doubt: {doubt}")))?;
    result.pending.iter().try_for_each(|text| screen.say(&format!("waits for your answer: {text}")))?;
    let reason = result.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    if let Some(details) = &result.details {
        screen.say(&format!("{details}{reason}"))?;
    }
    let rounds = counted(result.rounds, "round", "rounds");
    screen.say(&format!("crew {}: {rounds}, {}", result.run_id.short(), dollars(result.cost)))?;
    Ok(result.exit_code)
}

pub(crate) async fn show(
    store: &StoreHandle,
    entry: &RunEntry,
    as_json: bool,
    around: &Host,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    let crew = read_crew(store, entry.id).await?;
    let result = CrewResult::new(entry.id, &crew);
    let listed = around.listed(entry);
    if as_json {
        let mut value = serde_json::to_value(&result)?;
        if crew.outcome().is_none() {
            value["status"] = serde_json::to_value(listed.status)?;
        }
        value["request"] = json!(crew.request());
        value["kind"] = json!(entry.kind);
        value["workspace"] = json!(entry.workspace);
        screen.json(&value)?;
        return Ok(0);
    }
    let mut page = Page::default();
    let style = of_status(listed.status, listed.verified);
    page.line(heading("crew", &entry.id.short(), listed.state(), style));
    page.field("id", &entry.id.to_string(), PLAIN);
    page.field("workspace", &entry.workspace, PLAIN);
    page.field("models", &crew.config().models.join(", "), PLAIN);
    page.field("started", &local(entry.started_at), PLAIN);
    page.field("rounds", &format!("{} of {}", crew.rounds(), crew.config().max_rounds), PLAIN);
    let limit = crew.config().max_cost.map(|max| format!(" of {max}")).unwrap_or_default();
    page.field("cost", &format!("{}{limit}", crew.spent()), PLAIN);
    page.line("");
    page.text(2, crew.request(), PLAIN);
    for delegation in &result.delegations {
        let (status, style) = match delegation.status {
            Some(status) if status == Status::Success => (status.shout(), GOOD),
            Some(status) => (status.shout(), WARN),
            None => ("at work", BUSY),
        };
        page.line("");
        page.line(Line::from(vec![
            Span::styled(format!("{} ", delegation.agent.to_uppercase()), TITLE),
            Span::styled(status, style.patch(TITLE)),
            Span::raw(format!(": {}", flat(&delegation.objective))),
        ]));
        for row in &delegation.evidence {
            let (mark, style) = match (row.is_pending(), row.success) {
                (true, _) => ("[PENDING]", WARN),
                (false, true) => ("[OK]", GOOD),
                (false, false) => ("[ERROR]", BAD),
            };
            page.hanging(
                4,
                Line::from(vec![
                    Span::styled(format!("  {mark}"), style),
                    Span::raw(flat(&format!(" {}: {}", row.tool, row.summary))),
                ]),
            );
        }
    }
    let questions = result.pending.iter().map(|question| (format!("waits for your answer: {question}"), WARN));
    let answer = result.answer.iter().map(|answer| (answer.clone(), PLAIN));
    let doubts = result.doubts.iter().map(|doubt| (format!("doubt: {doubt}"), WARN));
    let details = result.details.iter().map(|details| (details.clone(), PLAIN));
    for (text, style) in questions.chain(answer).chain(doubts).chain(details) {
        page.line("");
        page.text(0, &text, style);
    }
    screen.page(page)?;
    Ok(0)
}

/// Prints what happened in a crew, from its journal.
pub(crate) async fn logs(store: &StoreHandle, entry: &RunEntry, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let mut events = Vec::new();
    for record in store.journal(entry.id).await? {
        events.push((record.at, ralph_engine::JournalEvent::decode(record.version, &record.payload)?));
    }
    let mut events = events.into_iter();
    let Some((at, first)) = events.next() else { return Ok(0) };
    let (mut crew, effects) = Crew::start(at, first)?;
    let mut page = Page::default();
    let mut all = vec![effects];
    all.extend(events.map(|(at, event)| crew.step(at, event)));
    for effect in all.into_iter().flatten() {
        if let ralph_crew::CrewEffect::Tell(told) = effect {
            lines::add(&mut page, &told);
        }
    }
    screen.page(page)?;
    Ok(0)
}
