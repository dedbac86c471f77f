//! The gateway of one run of an agent: opened before the agent starts, watched while it works, and the last word on what it cost.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;

use ralph_agents::{Counted, Observed, ProcessBase, Route, route};
use ralph_gateway::{Egress, Gateway, GatewayEvent, GatewayOptions, RequestRecord, RunTotals, Shortfall, Upstream};
use ralph_model::{AgentEvent, AgentSpec, Attempt, Cost, Ended, Fault, FaultKind, Iteration, MeterMode, Money, Usage};
use ralph_process::Stop;
use ralph_view::Progress;
use serde_json::json;
use tokio::sync::mpsc;

use super::Context;
use crate::home::LoopFolder;

/// A context that is fuller than this, in hundredths, is told of.
const NEARLY_FULL: u64 = 80;
/// Characters of the name of a model that are kept.
const MAX_MODEL: usize = 120;

/// A gateway while its agent runs.
pub(super) struct Gate {
    gateway: Option<Gateway>,
    pub(super) events: mpsc::UnboundedReceiver<GatewayEvent>,
    counted: Arc<Counted>,
    budget: Option<Money>,
    iteration: Iteration,
    attempt: Attempt,
    agent: String,
    is_warned: bool,
}

impl Context {
    /// Puts a gateway between the agent and its services, where its address and its key can be set.
    pub(super) async fn open_gateway(
        &self,
        agent: &AgentSpec,
        base: &mut ProcessBase,
        budget: Option<Money>,
        iteration: Iteration,
        attempt: Attempt,
    ) -> Option<Gate> {
        if self.config.meter == MeterMode::Stream {
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
            egress: egress(&base.environment),
            no_proxy: value(&base.environment, &["NO_PROXY", "no_proxy"]).unwrap_or_default(),
            now: base.now,
            sink: Arc::new(move |event| drop(send.send(event))),
            recorder: self.config.record_requests.then(|| self.recorder(attempt)),
        });
        match started.await {
            Ok(gateway) => {
                for (service, address) in services.iter().zip(gateway.addresses()) {
                    service.redirect(&mut base.environment, address, gateway.token());
                }
                base.counted.expect();
                let (counted, agent) = (Arc::clone(&base.counted), agent.title());
                Some(Gate {
                    gateway: Some(gateway),
                    events,
                    counted,
                    budget,
                    iteration,
                    attempt,
                    agent,
                    is_warned: false,
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
    fn recorder(&self, attempt: Attempt) -> ralph_gateway::Recorder {
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
    pub(super) fn note_request(&self, gate: &mut Gate, event: GatewayEvent) -> (Option<Stop>, Option<Money>) {
        let (record, totals) = match event {
            GatewayEvent::Limit(_) => return (Some(Stop::BudgetSpent), None),
            GatewayEvent::Request { record, totals } => (record, totals),
        };
        let is_counted = is_complete(&totals);
        gate.counted.count(is_counted);
        if let Err(error) = append(&self.folder, &self.line(gate, &record)) {
            tracing::warn!(%error, "a request could not be listed");
        }
        if let Some(context) = record.context.filter(|context| context.percent() >= NEARLY_FULL && !gate.is_warned) {
            gate.is_warned = true;
            let (used, window, percent) = (context.used, context.window, context.percent());
            self.services.warn(format!("{}: its context is {percent} % full ({used} of {window} tokens)", gate.agent));
        }
        if !is_counted {
            return (None, None);
        }
        let (input_tokens, output_tokens) = (totals.tokens.read(), totals.tokens.output);
        let event = AgentEvent::Usage { input_tokens, output_tokens, cost: totals.cost };
        self.services.tell(Progress::Agent { event });
        let is_spent = gate.budget.is_some_and(|budget| totals.cost >= budget);
        (is_spent.then_some(Stop::BudgetSpent), Some(totals.cost))
    }

    fn line(&self, gate: &Gate, record: &RequestRecord) -> String {
        let clean = |name: &str| -> String { self.services.redactor.clean(name).chars().take(MAX_MODEL).collect() };
        let record = RequestRecord {
            model: clean(&record.model),
            answered_by: record.answered_by.as_deref().map(clean),
            ..record.clone()
        };
        let mut line = json!({ "iteration": gate.iteration, "attempt": gate.attempt, "agent": gate.agent });
        if let (Some(line), Ok(serde_json::Value::Object(record))) =
            (line.as_object_mut(), serde_json::to_value(record))
        {
            line.extend(record);
        }
        line.to_string()
    }

    /// Closes the gateway after the agent has ended. What it counted is what the run cost.
    pub(super) async fn close_gateway(&self, mut gate: Gate, observed: Option<&mut Observed>, agent: &AgentSpec) {
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
            apply(observed, &totals, agent.unmetered);
        }
    }
}

impl Gate {
    /// The ports of loopback on which it listens.
    pub(super) fn ports(&self) -> Vec<u16> {
        self.gateway.as_ref().map(Gateway::ports).unwrap_or_default()
    }

    /// What happens next at the gateway.
    pub(super) async fn next(gate: &mut Option<Self>) -> GatewayEvent {
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

/// Whether everything that was asked for has a cost.
fn is_complete(totals: &RunTotals) -> bool {
    totals.requests > 0 && totals.unpriced.is_empty() && !totals.is_uncounted
}

/// What was counted on the wire takes the place of what the program reports.
fn apply(observed: &mut Observed, totals: &RunTotals, unmetered: bool) {
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
    if let Some(Shortfall { budget, committed, expected }) = totals.refused {
        // The program takes the refusal for its service's.
        observed.trouble = None;
        observed.ended = Ended::BudgetSpent;
        let left = budget.less(committed);
        let detail = format!("the next request costs about {expected} and {left} of {budget} is left");
        observed.faults.push(Fault { kind: FaultKind::Uncovered, detail });
    }
    // One that was refused before anything was sold cost nothing, which is known.
    if !unmetered && (is_complete(totals) || (totals.requests == 0 && totals.refused.is_some())) {
        observed.cost = Cost::Known { amount: totals.cost };
        observed.unpriced.clear();
    }
}

/// The way out of a closed network, as the agent's environment has it.
pub(super) fn egress(environment: &[(OsString, OsString)]) -> Egress {
    let proxy = value(environment, &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]);
    let authorities = value(environment, &["NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE"]);
    Egress { proxy, authorities: authorities.and_then(|path| fs::read(path).ok()).unwrap_or_default() }
}

pub(super) fn value(environment: &[(OsString, OsString)], names: &[&str]) -> Option<String> {
    let found = |name: &&str| {
        let value = environment.iter().rev().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str());
        value.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    names.iter().find_map(found)
}

fn append(folder: &LoopFolder, line: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(folder.requests())?;
    file.write_all(format!("{line}\n").as_bytes())
}
