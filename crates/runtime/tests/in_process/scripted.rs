//! An agent without a process: it does what a test tells it, run by run.

use std::collections::VecDeque;
use std::fs;
use std::sync::{Arc, Mutex};

use ralph_agents::{
    Agent, AgentServices, AgentTask, Capabilities, EventSink, Observed, ProcessBase, ReportsCost, RunFuture, StopSignal,
};
use ralph_model::{AgentEvent, Cost, Ended, Millis, Money, ToolEvidence, Trouble, Usage};
use ralph_process::Recorded;
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

/// One run of the agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    pub(crate) writes: Vec<(&'static str, &'static str)>,
    pub(crate) says: &'static str,
    pub(crate) cents: i64,
    pub(crate) trouble: Option<Trouble>,
    /// It works until it is stopped.
    pub(crate) waits: bool,
}

impl Turn {
    pub(crate) fn write(path: &'static str, text: &'static str) -> Self {
        Self { writes: vec![(path, text)], says: "I wrote it.", ..Self::default() }
    }

    pub(crate) fn idle() -> Self {
        Self { says: "I looked around.", ..Self::default() }
    }

    pub(crate) fn saying(self, says: &'static str) -> Self {
        Self { says, ..self }
    }

    pub(crate) fn costing(self, cents: i64) -> Self {
        Self { cents, ..self }
    }
}

/// What all runs of a loop's agent share.
#[derive(Default)]
pub(crate) struct Script {
    turns: Mutex<VecDeque<Turn>>,
    pub(crate) tasks: Mutex<Vec<AgentTask>>,
    /// A run that waits has begun.
    pub(crate) waiting: Notify,
}

impl Script {
    pub(crate) fn new(turns: impl IntoIterator<Item = Turn>) -> Arc<Self> {
        Arc::new(Self { turns: Mutex::new(turns.into_iter().collect()), ..Self::default() })
    }

    pub(crate) fn build(self: &Arc<Self>, services: AgentServices) -> Box<dyn Agent> {
        Box::new(ScriptedAgent { script: Arc::clone(self), base: services.base })
    }

    pub(crate) fn prompts(&self) -> Vec<String> {
        self.tasks.lock().unwrap().iter().map(|task| task.prompt.clone()).collect()
    }
}

struct ScriptedAgent {
    script: Arc<Script>,
    base: ProcessBase,
}

impl Agent for ScriptedAgent {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streams_tool_calls: true,
            reports_cost: ReportsCost::Always,
            reports_usage_while_working: true,
            announces_start: true,
            asks_permission: false,
            has_hooks: false,
            takes_model: true,
            writes_report: false,
        }
    }

    fn run<'a>(&'a self, task: &'a AgentTask, mut stop: StopSignal, events: EventSink<'a>) -> RunFuture<'a> {
        Box::pin(async move {
            self.script.tasks.lock().unwrap().push(task.clone());
            let turn = self.script.turns.lock().unwrap().pop_front().expect("the script has a turn for every run");
            fs::write(&self.base.log, turn.says).unwrap();
            let cost = Money::from_micros(turn.cents * 10_000);
            events(AgentEvent::Usage { input_tokens: 10, output_tokens: 1, cost });
            let mut evidence = Vec::new();
            for (path, text) in &turn.writes {
                let (id, tool) = ((*path).to_owned(), "write".to_owned());
                events(AgentEvent::ToolStarted { id: id.clone(), tool: tool.clone(), summary: id.clone() });
                fs::write(self.base.directory.join(path), text).unwrap();
                events(AgentEvent::ToolFinished { id, tool, success: true, summary: (*path).to_owned() });
                evidence.push(ToolEvidence::ok("write", *path));
            }
            let mut ended = Ended::Exited { code: 0 };
            if turn.waits {
                self.script.waiting.notify_one();
                let asked = *stop.wait_for(Option::is_some).await.unwrap();
                ended = asked.unwrap().into();
            }
            Ok(Observed {
                ended,
                evidence,
                opaque: false,
                final_message: turn.says.to_owned(),
                escalation: None,
                faults: Vec::new(),
                trouble: turn.trouble,
                usage: Usage::default(),
                cost: Cost::Known { amount: cost },
                unpriced: Vec::new(),
                duration: Millis(1),
                output: Recorded {
                    bytes: u64::try_from(turn.says.len()).unwrap(),
                    sha256: format!("{:x}", Sha256::digest(turn.says)),
                    cut: false,
                },
                swept: 0,
            })
        })
    }
}
