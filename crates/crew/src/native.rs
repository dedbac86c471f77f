//! The native agent: DEVO as the agent of a loop, in memory. The journal is the loop's own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use ralph_agents::{
    Agent, AgentServices, AgentTask, Capabilities, Error, EventSink, Kind, Observed, RunFuture, StopSignal,
};
use ralph_engine::{Machine as _, StopBy, StopWhen};
use ralph_model::{Access, AgentEvent, AgentSpec, Cost, Ended, Fault, FaultKind, Millis, Usage};
use ralph_process::{Log, Stop};
use ralph_tools::{Call, Tools};
use tokio::sync::{mpsc, watch};

use crate::agent_file::AgentFile;
use crate::event::{
    Approve, Base, CrewAbort, CrewConfig, CrewEffect, CrewError, CrewEvent, CrewOutcome, Decision, FrameId,
};
use crate::machine::Crew;
use crate::stream::StreamEvent;
use crate::worker::ToolSpec;
use crate::worker::{AskModel, ModelName, Worker};
use ralph_tools::{Effect as ToolEffect, Outcome as ToolOutcome};

/// The agent of the crew that works in a loop.
const ROOT: &str = "devo";

/// What a native agent is built with besides the services of every agent.
#[derive(Clone)]
pub struct NativeServices {
    pub agents: Vec<AgentFile>,
    pub ask: AskModel,
    pub model_name: ModelName,
    /// Its cost is not counted.
    pub unmetered: bool,
    /// From how many tokens on a conversation is compacted.
    pub compact_at: u64,
}

pub struct NativeAgent {
    native: NativeServices,
    services: AgentServices,
}

impl NativeAgent {
    pub const fn new(native: NativeServices, services: AgentServices) -> Self {
        Self { native, services }
    }

    async fn work(&self, task: &AgentTask, mut stop: StopSignal, events: EventSink<'_>) -> Result<Observed, Error> {
        let begun = Instant::now();
        let base = &self.services.base;
        let scratch = |source| Error::Scratch { path: base.directory.clone(), source };
        let tools = Arc::new(Tools::new(ralph_tools::Services::new(&self.services)).map_err(scratch)?);
        let log_path = base.log.clone();
        let failed = |source| Error::Scratch { path: log_path.clone(), source };
        let mut log = Log::create(&base.log, base.log_limit).map_err(failed)?;
        let mut written = 0_u64;
        let (tell, mut told) = mpsc::unbounded_channel();
        // Ends requests and tools, also where the time is up.
        let (cut, cuts) = watch::channel(None);
        let worker = self.worker(&tools, tell, cuts.clone());
        let config = self.config(&worker, task);
        let start = CrewEvent::CrewStarted { config: Box::new(config), request: Some(task.prompt.clone()) };
        let Ok((mut crew, effects)) = Crew::start((base.now)(), start) else {
            return Err(Error::NothingToStart { agent: AgentSpec::NATIVE.to_owned() });
        };
        let mut queue = VecDeque::from(effects);
        let mut running = FuturesUnordered::new();
        let mut seen = Seen::default();
        let deadline = tokio::time::sleep(task.timeout.as_std());
        tokio::pin!(deadline);
        let mut ended = None;
        loop {
            while let Some(effect) = queue.pop_front() {
                if let CrewEffect::Tell(told) = effect {
                    for line in seen.tell(&told, &mut *events) {
                        let line = format!("{}\n", base.redactor.clean(&line));
                        written += u64::try_from(line.len()).unwrap_or(0);
                        log.append(&line).map_err(failed)?;
                    }
                } else if let Some(performing) = perform(&worker, &crew, effect, cuts.clone()) {
                    running.push(performing);
                }
            }
            if crew.outcome().is_some() || running.is_empty() {
                break;
            }
            let event = tokio::select! {
                Some(event) = running.next() => event,
                Some(text) = told.recv() => {
                    if let StreamEvent::Delta { text, .. } = text {
                        events(AgentEvent::Output { text });
                    }
                    continue;
                }
                why = stopped(&mut stop) => {
                    ended = Some(why.into());
                    break;
                }
                () = &mut deadline => {
                    ended = Some(Ended::TimedOut { after: task.timeout });
                    break;
                }
            };
            seen.count(&event);
            queue.extend(crew.step((base.now)(), event));
            let (usage, cost) = (seen.usage.clone(), crew.spent());
            let (input_tokens, output_tokens) = (usage.input_tokens, usage.output_tokens);
            events(AgentEvent::Usage { input_tokens, output_tokens, cost });
        }
        if ended.is_some() {
            let stop = ralph_engine::Stop { when: StopWhen::Now, by: StopBy::Request };
            crew.step((base.now)(), CrewEvent::StopRequested { stop });
            cut.send_replace(Some(Stop::Requested));
            // What they do last is waited for, so that nothing of them is left, and what they cost is counted.
            while let Some(event) = running.next().await {
                crew.step((base.now)(), event);
            }
        }
        let output = log.finish(written).map_err(failed)?;
        let duration = Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        Ok(self.observed(&crew, seen, ended.unwrap_or(Ended::Exited { code: 0 }), output, duration))
    }

    fn worker(&self, tools: &Arc<Tools>, tell: mpsc::UnboundedSender<StreamEvent>, stop: StopSignal) -> Worker {
        // A loop has no person to ask: what reaches further is not offered.
        let specs =
            tools.specs().iter().map(ToolSpec::from).filter(|spec| spec.effect != ToolEffect::Outward).collect();
        let tools = Arc::clone(tools);
        Worker {
            ask: Arc::clone(&self.native.ask),
            model_name: Arc::clone(&self.native.model_name),
            call: Arc::new(move |run| {
                let (tools, stop) = (Arc::clone(&tools), stop.clone());
                Box::pin(async move {
                    let call = Call { name: &run.name, arguments: &run.arguments, key: &run.key };
                    tools.call(call, &stop).await
                })
            }),
            specs: Arc::new(specs),
            prices: Arc::clone(&self.services.base.prices),
            tell: Arc::new(move |told| _ = tell.send(told)),
            key: AgentSpec::NATIVE.to_owned(),
        }
    }

    fn config(&self, worker: &Worker, task: &AgentTask) -> CrewConfig {
        let agents = self.native.agents.clone();
        let devo = agents.iter().find(|agent| agent.name == ROOT);
        CrewConfig {
            workspace: self.services.base.directory.to_string_lossy().into_owned(),
            max_cost: task.budget.filter(|_| !self.native.unmetered),
            max_rounds: devo.map_or(10, |agent| agent.max_turns),
            approve: Approve::Never,
            compact_at: self.native.compact_at,
            agents,
            root: ROOT.to_owned(),
            tools: worker.specs.iter().map(|spec| (spec.tool.name.clone(), spec.effect)).collect(),
            targets: Vec::new(),
            models: Vec::new(),
            access: Access::default(),
        }
    }

    fn observed(
        &self,
        crew: &Crew,
        seen: Seen,
        mut ended: Ended,
        output: ralph_process::Recorded,
        duration: Millis,
    ) -> Observed {
        let (mut faults, mut escalation, mut trouble, mut message) = (Vec::new(), None, None, String::new());
        match crew.outcome() {
            Some(CrewOutcome::Answered { answer, .. }) => message.clone_from(answer),
            Some(CrewOutcome::Aborted { cause }) => match cause {
                CrewAbort::Rounds { max } => {
                    let detail = format!("all {max} turns are used");
                    faults.push(Fault { kind: FaultKind::TurnLimit, detail });
                }
                CrewAbort::Cost { .. } | CrewAbort::Day { .. } => ended = Ended::BudgetSpent,
                CrewAbort::Escalated { reason } => escalation = Some(reason.clone()),
                // The run was ended from outside, and knows why.
                CrewAbort::Stopped { .. } => {}
            },
            Some(CrewOutcome::Failed { cause: CrewError::Model { trouble: own } }) => {
                (trouble, ended) = (Some(own.clone()), Ended::Exited { code: 1 });
            }
            Some(CrewOutcome::Failed { cause: CrewError::Silent }) => {
                let detail = "the model answered with nothing".to_owned();
                faults.push(Fault { kind: FaultKind::EmptyAnswer, detail });
            }
            None => {}
        }
        let cost = match self.native.unmetered {
            true => Cost::Unmetered,
            false => Cost::Known { amount: crew.spent() },
        };
        Observed {
            ended,
            evidence: crew.evidence(FrameId::ROOT),
            opaque: false,
            final_message: self.services.base.redactor.clean(&message).into_owned(),
            escalation,
            faults,
            trouble,
            usage: seen.usage,
            cost,
            unpriced: Vec::new(),
            duration,
            output,
            swept: 0,
        }
    }
}

impl Agent for NativeAgent {
    fn capabilities(&self) -> Capabilities {
        #[expect(clippy::expect_used, reason = "the registry has this kind")]
        let kind = Kind::find(AgentSpec::NATIVE).expect("the native kind");
        kind.capabilities
    }

    fn run<'a>(&'a self, task: &'a AgentTask, stop: StopSignal, events: EventSink<'a>) -> RunFuture<'a> {
        Box::pin(self.work(task, stop, events))
    }
}

/// What was seen of a run besides what the machine knows.
#[derive(Default)]
struct Seen {
    usage: Usage,
    calls: u32,
}

impl Seen {
    fn count(&mut self, event: &CrewEvent) {
        if let CrewEvent::ModelAnswered { answer, .. } = event {
            let tokens = answer.tokens.unwrap_or_default();
            self.usage.model.get_or_insert_with(|| answer.model.clone());
            self.usage.input_tokens += tokens.read();
            self.usage.cache_read_tokens += tokens.cache_read;
            self.usage.cache_write_tokens += tokens.cache_written();
            self.usage.output_tokens += tokens.output;
        }
    }

    /// Passes on what happens, and gives the lines that the log keeps.
    fn tell(&mut self, told: &StreamEvent, events: EventSink<'_>) -> Vec<String> {
        match told {
            StreamEvent::ToolCall { tool, arguments, .. } => {
                self.calls += 1;
                let summary: String = arguments.to_string().chars().take(200).collect();
                let line = format!("> {tool} {summary}");
                events(AgentEvent::ToolStarted { id: self.calls.to_string(), tool: tool.clone(), summary });
                vec![line]
            }
            StreamEvent::ToolResult { tool, success, summary, .. } => {
                let (id, tool, summary) = (self.calls.to_string(), tool.clone(), summary.clone());
                let line = format!("{} {tool}: {summary}", if *success { "ok" } else { "failed" });
                events(AgentEvent::ToolFinished { id, tool, success: *success, summary });
                vec![line]
            }
            StreamEvent::Answer { answer, .. } => {
                events(AgentEvent::Message { text: answer.clone() });
                answer.lines().map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Waits until the run has to end.
async fn stopped(stop: &mut StopSignal) -> Stop {
    loop {
        if let Some(why) = *stop.borrow_and_update() {
            return why;
        }
        if stop.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

type Performing = futures_util::future::BoxFuture<'static, CrewEvent>;

/// Carries out an effect. What needs a journal, a person or a worktree is not there.
fn perform(worker: &Worker, crew: &Crew, effect: CrewEffect, mut cuts: StopSignal) -> Option<Performing> {
    let worker = worker.clone();
    Some(match effect {
        CrewEffect::Ask { frame, attempt, most } => {
            let ask = worker.asks(crew, frame)?;
            let cost = worker.reservation(&ask, most);
            Box::pin(async move {
                tokio::select! {
                    event = worker.ask(frame, attempt, ask, cost) => event,
                    _ = stopped(&mut cuts) => CrewEvent::cut_off(frame, attempt, cost),
                }
            })
        }
        CrewEffect::Compact { frame, attempt, most } => {
            let ask = worker.asks_summary(crew, frame)?;
            let cost = worker.reservation(&ask, most);
            Box::pin(async move {
                tokio::select! {
                    event = worker.compact(frame, attempt, ask, cost) => event,
                    _ = stopped(&mut cuts) => CrewEvent::cut_off(frame, attempt, cost),
                }
            })
        }
        CrewEffect::CallTool { call, tool, .. } => Box::pin(async move { worker.call(None, call, tool).await }),
        CrewEffect::OpenDelegation { frame, .. } => {
            let base = Base::default();
            Box::pin(async move { CrewEvent::DelegationOpened { frame, base, problem: None } })
        }
        CrewEffect::CheckDelegation { frame, .. } => {
            Box::pin(async move { CrewEvent::DelegationChecked { frame, unmet: Vec::new(), evidence: Vec::new() } })
        }
        CrewEffect::BeginAction { call, .. } | CrewEffect::RunAgent { call, .. } | CrewEffect::RunLoop { call, .. } => {
            let outcome = ToolOutcome::failed("not available in a loop");
            Box::pin(async move { CrewEvent::tool_finished(call, outcome) })
        }
        CrewEffect::AskPerson { question } => {
            let decision = Decision::Refused { comment: Some("a loop has no user to ask".to_owned()) };
            Box::pin(async move { CrewEvent::Decided { call: question.call, decision } })
        }
        CrewEffect::Review { .. } | CrewEffect::StopRunning | CrewEffect::Tell(_) | CrewEffect::Finish { .. } => {
            return None;
        }
    })
}
