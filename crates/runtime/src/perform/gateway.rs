//! The gateway of one run of an agent: opened before the agent starts, watched while it works, and the last word on what it cost.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ralph_agents::{Agent, AgentTask, Counted, EventSink, Observed, ProcessBase, Program, Route, StopSignal, route};
use ralph_gateway::{
    ForwardProxy, Gateway, GatewayEvent, GatewayOptions, RequestOutcome, RequestRecord, RunTotals, Shortfall, Upstream,
};
use ralph_model::{
    Access, AgentEvent, AgentSpec, Attempt, Cost, Ended, Fault, FaultKind, Iteration, MeterMode, Money, Remedy,
    Trouble, TroubleKind, Usage,
};
use ralph_process::Stop;
use ralph_view::Progress;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::error::Error;
use crate::home::LoopFolder;
use crate::services::Services;

/// A context that is fuller than this, in hundredths, is told of.
const NEARLY_FULL: u64 = 80;
/// Characters of the name of a model, and of the words of a service, that are kept.
const MAX_MODEL: usize = 120;
const MAX_MESSAGE: usize = 240;
/// Failures of the same request after which the next is not awaited. Programs that give up by themselves do so before.
const MAX_FAILURES: u32 = 5;
/// How long a program may wait for a service that refused it. Ralph waits longer, and shows it.
const SILENT_WAIT: Duration = Duration::from_secs(30);

/// What stands between the agents of a run and what they reach.
#[derive(Clone, Copy)]
pub(crate) struct Wire<'a> {
    pub(crate) services: &'a Services,
    pub(crate) folder: &'a LoopFolder,
    pub(crate) access: &'a Access,
}

/// What stands there while one of them runs.
pub(crate) struct Line {
    gate: Option<Gate>,
    /// Lets the agent reach hosts for as long as it runs.
    _proxy: Option<ForwardProxy>,
    /// The tokens that the run may use.
    tokens: Option<u64>,
}

impl Line {
    /// Ends the agent when it has used so many tokens.
    pub(crate) fn with_tokens(self, tokens: Option<u64>) -> Self {
        Self { tokens, ..self }
    }

    /// Whether everything that the agent asked for so far was counted on its way.
    pub(crate) fn is_counted(&self) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.counted.is_complete())
    }
}

/// A gateway while its agent runs.
pub(super) struct Gate {
    gateway: Option<Gateway>,
    events: mpsc::UnboundedReceiver<GatewayEvent>,
    counted: Arc<Counted>,
    budget: Option<Money>,
    iteration: Iteration,
    attempt: Attempt,
    agent: String,
    is_warned: bool,
    /// The user knows that something was not forwarded.
    is_told: bool,
    /// Only the gateway can say what it costs.
    is_blind: bool,
    /// When the service refused the program, which has not asked again.
    refused: Option<Instant>,
    /// Why there is no sense in letting the program go on.
    hopeless: Option<String>,
}

impl Wire<'_> {
    /// Puts a gateway between an agent and its services, and restricts what it reaches, as far as the user wants either.
    pub(crate) async fn open(
        self,
        agent: &AgentSpec,
        base: &mut ProcessBase,
        budget: Option<Money>,
        iteration: Iteration,
        attempt: Attempt,
    ) -> Result<Line, Error> {
        let gate = self.open_gateway(agent, base, budget, iteration, attempt).await;
        let ports = gate.as_ref().map(Gate::ports).unwrap_or_default();
        let proxy = self.restrict_network(base, ports).await?;
        Ok(Line { gate, _proxy: proxy, tokens: None })
    }

    /// Runs an agent until nothing of it is left. What it reports of money is passed on only while nothing better is known;
    /// `spent` takes what is.
    pub(crate) async fn drive(
        self,
        agent: &dyn Agent,
        task: &AgentTask,
        mut stop: StopSignal,
        line: &mut Line,
        events: EventSink<'_>,
        spent: &(dyn Fn(Money) + Sync),
    ) -> Result<Observed, ralph_agents::Error> {
        let counted = line.gate.as_ref().map(|gate| Arc::clone(&gate.counted));
        let (ended_by, stops) = watch::channel(*stop.borrow_and_update());
        let tokens = line.tokens;
        let calls = AtomicU64::new(0);
        // Of the others nobody knows whether they wait or work.
        let shows_calls = agent.capabilities().streams_tool_calls;
        let mut events = |event: AgentEvent| {
            match &event {
                AgentEvent::ToolStarted { .. } => drop(calls.fetch_add(1, Ordering::Relaxed)),
                // One that never said when it began says nothing of others.
                AgentEvent::ToolFinished { .. } => {
                    let _ = calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| open.checked_sub(1));
                }
                _ => {}
            }
            if let AgentEvent::Usage { input_tokens, output_tokens, .. } = &event {
                end(&ended_by, are_used(tokens, input_tokens.saturating_add(*output_tokens)));
            }
            let is_money =
                matches!(event, AgentEvent::Usage { .. } | AgentEvent::Estimate { .. } | AgentEvent::Uncounted);
            // Every failure is seen on the wire.
            let is_failure = matches!(event, AgentEvent::Retry { .. }) && counted.is_some();
            let is_known = is_failure || (is_money && counted.as_ref().is_some_and(|counted| counted.is_complete()));
            if !is_known {
                events(event);
            }
        };
        let mut run = agent.run(task, stops, &mut events);
        let mut can_be_asked = true;
        loop {
            let refused = line.gate.as_ref().and_then(|gate| gate.refused);
            tokio::select! {
                biased;
                asked = stop.changed(), if can_be_asked => match asked {
                    Ok(()) => end(&ended_by, *stop.borrow_and_update()),
                    Err(_) => can_be_asked = false,
                },
                event = Gate::next(&mut line.gate) => {
                    let Some(gate) = line.gate.as_mut() else { continue };
                    if let GatewayEvent::Request { totals, .. } = &event {
                        end(&ended_by, are_used(tokens, totals.tokens.read().saturating_add(totals.tokens.output)));
                    }
                    let (why, amount) = self.note_request(gate, event);
                    amount.into_iter().for_each(spent);
                    end(&ended_by, why);
                }
                () = waited(refused) => {
                    let Some(gate) = line.gate.as_mut() else { continue };
                    gate.refused = None;
                    if shows_calls && calls.load(Ordering::Relaxed) == 0 && gate.waits() {
                        gate.hopeless = Some("it waits for the service without any output".to_owned());
                        end(&ended_by, Some(Stop::Hopeless));
                    }
                }
                observed = &mut run => return observed,
            }
        }
    }

    /// Takes everything away after the agent has ended. What the gateway counted is what the run cost.
    pub(crate) async fn close(self, line: Line, observed: Option<&mut Observed>, agent: &AgentSpec) {
        if let Some(gate) = line.gate {
            self.close_gateway(gate, observed, agent).await;
        }
    }

    /// Puts a gateway between the agent and its services, where its address and its key can be set.
    async fn open_gateway(
        self,
        agent: &AgentSpec,
        base: &mut ProcessBase,
        budget: Option<Money>,
        iteration: Iteration,
        attempt: Attempt,
    ) -> Option<Gate> {
        if self.access.meter == MeterMode::Stream {
            return None;
        }
        let Route::Through(services) = route(agent, &base.environment) else { return None };
        let upstreams =
            services.iter().map(|service| Upstream { base: service.base.clone(), key: service.key.clone() }).collect();
        let (send, events) = mpsc::unbounded_channel();
        let started = Gateway::start(GatewayOptions {
            upstreams,
            budget,
            prices: Arc::clone(&base.prices),
            egress: self.services.egress.clone(),
            now: base.now,
            sink: Arc::new(move |event| drop(send.send(event))),
            recorder: self.access.record_requests.then(|| self.recorder(attempt)),
        });
        match started.await {
            Ok(gateway) => {
                for (service, address) in services.iter().zip(gateway.addresses()) {
                    service.redirect(&mut base.environment, address, gateway.token());
                }
                base.counted.expect();
                let (counted, is_blind) = (Arc::clone(&base.counted), is_blind(agent));
                let agent = agent.title();
                Some(Gate {
                    gateway: Some(gateway),
                    events,
                    counted,
                    budget,
                    iteration,
                    attempt,
                    agent,
                    is_warned: false,
                    is_told: false,
                    is_blind,
                    refused: None,
                    hopeless: None,
                })
            }
            Err(error) => {
                let agent = &agent.name;
                self.services
                    .warn(format!("{agent}: no gateway could be opened ({error}): its cost is read from its output"));
                None
            }
        }
    }

    /// Writes bodies without secrets into the folder of the loop.
    fn recorder(self, attempt: Attempt) -> ralph_gateway::Recorder {
        let (folder, redactor) = (self.folder.clone(), Arc::clone(&self.services.redactor));
        Arc::new(move |number, is_answer, bytes| {
            let side = if is_answer { "answer" } else { "request" };
            let path = folder.requests_folder().join(format!("{attempt}-{number}-{side}.txt"));
            let text = redactor.text(&String::from_utf8_lossy(bytes)).to_string();
            let written = crate::home::Home::make_private(&folder.requests_folder())
                .and_then(|()| crate::home::Home::write_private(&path, text.as_bytes()));
            if let Err(error) = written {
                tracing::warn!(error = error.chain(), "a request could not be recorded");
            }
        })
    }

    /// Takes what happened at the gateway: why the run should end, and what it cost so far.
    fn note_request(self, gate: &mut Gate, event: GatewayEvent) -> (Option<Stop>, Option<Money>) {
        let (record, totals) = match event {
            GatewayEvent::Limit(_) => return (Some(Stop::BudgetSpent), None),
            GatewayEvent::Uncountable(what) => {
                self.warn_of_uncountable(gate, &what);
                return (None, None);
            }
            GatewayEvent::Request { record, totals } => (record, totals),
        };
        let is_counted = is_complete(&totals);
        gate.counted.count(is_counted);
        gate.refused = totals.problem.as_ref().and_then(|problem| problem.until).map(|_| Instant::now());
        if record.outcome != RequestOutcome::Answered && record.outcome != RequestOutcome::Refused {
            let why = || totals.problem.as_ref().map(|problem| self.redacted(&problem.message));
            let status = match record.status {
                Some(status) => format!("status {status}"),
                None => why().map_or_else(|| "no answer".to_owned(), |why| format!("no answer: {why}")),
            };
            let reason = format!("{status} (failure {})", record.retries + 1);
            self.services.tell(Progress::Agent { event: AgentEvent::Retry { reason } });
            let is_over = record.outcome == RequestOutcome::Cut || totals.problem.is_some();
            if is_over && record.retries + 1 >= MAX_FAILURES {
                gate.hopeless = Some(format!("the same request failed {MAX_FAILURES} times"));
            }
            if let Some(problem) = totals.problem.as_ref().filter(|problem| is_own(problem, &record)) {
                gate.hopeless = Some(problem.to_string());
            }
        }
        if gate.is_blind && gate.budget.is_some() && !totals.unpriced.is_empty() {
            gate.hopeless = Some(format!("there is no price for {}", totals.unpriced.join(", ")));
        }
        self.list(gate.iteration, gate.attempt, &gate.agent, &record);
        if let Some(context) = record.context.filter(|context| context.percent() >= NEARLY_FULL && !gate.is_warned) {
            gate.is_warned = true;
            let (used, window, percent) = (context.used, context.window, context.percent());
            self.services.warn(format!("{}: its context is {percent} % full ({used} of {window} tokens)", gate.agent));
        }
        if record.outcome == RequestOutcome::Answered {
            let (first_byte_ms, output) = (record.first_byte_ms, record.tokens.output);
            let span = record.duration_ms.saturating_sub(first_byte_ms.unwrap_or(0));
            let tokens_per_second = output.saturating_mul(1000).checked_div(span).filter(|_| output > 0);
            self.services.tell(Progress::Request { first_byte_ms, tokens_per_second });
        }
        let hopeless = gate.hopeless.is_some().then_some(Stop::Hopeless);
        if !is_counted {
            return (hopeless, None);
        }
        let (input_tokens, output_tokens) = (totals.tokens.read(), totals.tokens.output);
        let event = AgentEvent::Usage { input_tokens, output_tokens, cost: totals.cost };
        self.services.tell(Progress::Agent { event });
        let is_spent = gate.budget.is_some_and(|budget| totals.cost >= budget);
        (if is_spent { Some(Stop::BudgetSpent) } else { hopeless }, Some(totals.cost))
    }

    fn warn_of_uncountable(self, gate: &mut Gate, what: &str) {
        if !std::mem::replace(&mut gate.is_told, true) {
            let what: String = self.services.redactor.clean(what).chars().take(MAX_MODEL).collect();
            self.services.warn(format!(
                "{}: {what} was not forwarded, because what it costs cannot be counted; --meter stream or --unmetered lets it pass",
                gate.agent
            ));
        }
    }

    /// Adds a request to the list of the run.
    pub(crate) fn list(self, iteration: Iteration, attempt: Attempt, agent: &str, record: &RequestRecord) {
        let clean = |name: &str| -> String { self.services.redactor.clean(name).chars().take(MAX_MODEL).collect() };
        let record = RequestRecord {
            model: clean(&record.model),
            answered_by: record.answered_by.as_deref().map(clean),
            ..record.clone()
        };
        let mut line = json!({ "iteration": iteration, "attempt": attempt, "agent": agent });
        if let (Some(line), Ok(serde_json::Value::Object(record))) =
            (line.as_object_mut(), serde_json::to_value(record))
        {
            line.extend(record);
        }
        if let Err(error) = append(self.folder, &line.to_string()) {
            tracing::warn!(%error, "a request could not be listed");
        }
    }

    /// Closes the gateway after the agent has ended. What it counted is what the run cost.
    async fn close_gateway(self, mut gate: Gate, observed: Option<&mut Observed>, agent: &AgentSpec) {
        let Some(gateway) = gate.gateway.take() else { return };
        let totals = gateway.stop().await;
        while let Ok(event) = gate.events.try_recv() {
            self.note_request(&mut gate, event);
        }
        if totals.requests == 0
            && totals.refused.is_none()
            && gate.iteration == Iteration(1)
            && agent.kind == AgentSpec::COMMAND
        {
            self.services.warn(format!(
                "{}: no request passed Ralph's gateway; if it does not heed ANTHROPIC_BASE_URL, OPENAI_BASE_URL or \
                 GOOGLE_GEMINI_BASE_URL, use --meter stream",
                gate.agent
            ));
        }
        if let Some(observed) = observed {
            if let Some(detail) = gate.hopeless.take() {
                observed.faults.push(Fault { kind: FaultKind::EndlessRetry, detail });
            }
            let trouble = totals.problem.clone().map(|problem| self.told(problem, agent));
            apply(observed, &totals, gate.budget, trouble, agent);
        }
    }
}

impl Wire<'_> {
    fn redacted(self, message: &str) -> String {
        self.services.redactor.clean(message).chars().take(MAX_MESSAGE).collect()
    }

    /// What the service said to the last request, for people.
    fn told(self, problem: Trouble, agent: &AgentSpec) -> Trouble {
        let message = self.redacted(&problem.message);
        let login = Program::of(agent).filter(|_| problem.kind == TroubleKind::Authentication);
        Trouble { message, advice: login.map(|program| program.login.to_owned()), ..problem }
    }
}

impl Gate {
    /// Whether the program cannot be at anything else than waiting for a service that refused it.
    fn waits(&self) -> bool {
        let totals = self.gateway.as_ref().map(Gateway::totals).unwrap_or_default();
        totals.under_way == 0 && totals.problem.is_some_and(|problem| problem.until.is_some())
    }

    pub(super) fn ports(&self) -> Vec<u16> {
        self.gateway.as_ref().map(Gateway::ports).unwrap_or_default()
    }

    async fn next(gate: &mut Option<Self>) -> GatewayEvent {
        let event = match gate {
            Some(gate) => gate.events.recv().await,
            None => None,
        };
        match event {
            Some(event) => event,
            // Nothing will.
            None => std::future::pending().await,
        }
    }
}

/// Waits until a program has waited for too long for a service that refused it then.
async fn waited(refused: Option<Instant>) {
    match refused {
        Some(at) => tokio::time::sleep_until((at + SILENT_WAIT).into()).await,
        None => std::future::pending().await,
    }
}

/// Whether everything that was asked for has a cost.
fn is_complete(totals: &RunTotals) -> bool {
    totals.requests > 0 && totals.unpriced.is_empty()
}

/// Whether nobody but the gateway can say what an agent costs: a command says so itself only if the user declares that it does.
fn is_blind(agent: &AgentSpec) -> bool {
    agent.kind == AgentSpec::COMMAND && !agent.reports_cost
}

/// Whether a request was never answered because of this machine's own settings, which only the user can change.
fn is_own(problem: &Trouble, record: &RequestRecord) -> bool {
    problem.kind == TroubleKind::Setup && record.status.is_none()
}

/// What was counted on the wire takes the place of what the program reports.
fn apply(observed: &mut Observed, totals: &RunTotals, budget: Option<Money>, told: Option<Trouble>, agent: &AgentSpec) {
    if totals.requests > 0 {
        observed.usage = Usage {
            model: totals.model.clone().or_else(|| observed.usage.model.take()),
            input_tokens: totals.tokens.read(),
            cache_read_tokens: totals.tokens.cache_read,
            cache_write_tokens: totals.tokens.cache_written(),
            output_tokens: totals.tokens.output,
            window: observed.usage.window,
        };
    }
    match (&mut observed.trouble, told) {
        // Not every program repeats what its service says about the time.
        (Some(trouble), Some(told)) if trouble.kind.remedy() == Remedy::Wait => {
            trouble.until = trouble.until.or(told.until);
        }
        // The program only knows that it got no answer.
        (trouble, Some(told)) if told.kind == TroubleKind::Setup => {
            observed.faults.push(Fault { kind: FaultKind::Service, detail: told.to_string() });
            *trouble = Some(told);
        }
        // Nor that it was refused at all.
        (trouble @ None, Some(told)) if !observed.faults.is_empty() || !observed.ended.is_success() => {
            observed.faults.push(Fault { kind: FaultKind::Service, detail: told.to_string() });
            *trouble = Some(told);
        }
        _ => {}
    }
    if let Some(Shortfall { budget, committed, expected }) = totals.refused {
        // The program takes the refusal for its service's.
        observed.trouble = None;
        observed.ended = Ended::BudgetSpent;
        let left = budget.less(committed);
        let detail = format!("the next request costs about {expected} and {left} of {budget} is left");
        observed.faults.push(Fault { kind: FaultKind::Uncovered, detail });
    } else if let Some(budget) = budget.filter(|budget| totals.cost >= *budget)
        && observed.ended == Ended::BudgetSpent
    {
        // It was ended before it could send the request that would have been refused.
        let detail = format!("{} of {budget} is spent", totals.cost);
        observed.faults.push(Fault { kind: FaultKind::Uncovered, detail });
    }
    if agent.unmetered {
        return;
    }
    // One that was refused before anything was sold cost nothing, which is known.
    if is_complete(totals) || (totals.requests == 0 && totals.refused.is_some()) {
        observed.cost = Cost::Known { amount: totals.cost };
        observed.unpriced.clear();
    } else if totals.requests > 0 && is_blind(agent) {
        observed.cost = Cost::Unknown;
        observed.unpriced.clone_from(&totals.unpriced);
    } else if let Cost::Known { amount } = &mut observed.cost {
        *amount = totals.cost.max(*amount);
    }
}

fn append(folder: &LoopFolder, line: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(folder.requests())?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Whether a run has to end because it used all the tokens that it may.
fn are_used(limit: Option<u64>, used: u64) -> Option<Stop> {
    limit.filter(|limit| used >= *limit).map(|_| Stop::BudgetSpent)
}

/// Asks for an end, unless it was asked for already. Spent money does not wait for the grace that others give.
fn end(ended_by: &watch::Sender<Option<Stop>>, wanted: Option<Stop>) {
    let Some(why) = wanted else { return };
    ended_by.send_if_modified(|asked| {
        let is_news = asked.is_none() || (why == Stop::BudgetSpent && *asked != wanted);
        if is_news {
            *asked = wanted;
        }
        is_news
    });
}
