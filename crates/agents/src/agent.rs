//! The interface of every agent: a task goes in, events come while it works, an observation comes out.

use std::future::Future;
use std::pin::Pin;

use ralph_model::{AgentEvent, Delegation, Millis, Money};
use ralph_process::Stop;
use serde::Serialize;
use tokio::sync::watch;

use crate::request::{Error, Observed};

/// Something that takes a task and works in the workspace. What it needs for that it has since it was built: an agent that is no
/// process implements the same trait.
pub trait Agent: Send + Sync {
    /// What can be seen of it, and what it can do.
    fn capabilities(&self) -> Capabilities;

    /// Works on the task once, until nothing of it is left. `stop` cuts it short.
    ///
    /// # Errors
    /// When Ralph itself could not run it. An agent that fails is an ordinary [`Observed`].
    fn run<'a>(&'a self, task: &'a AgentTask, stop: StopSignal, events: EventSink<'a>) -> RunFuture<'a>;
}

/// Takes events as they come. Quick: the agent waits for it.
pub type EventSink<'a> = &'a mut (dyn FnMut(AgentEvent) + Send);

/// Says that the run has to end, and why.
pub type StopSignal = watch::Receiver<Option<Stop>>;

pub type RunFuture<'a> = Pin<Box<dyn Future<Output = Result<Observed, Error>> + Send + 'a>>;

#[derive(Debug, Clone, PartialEq)]
pub struct AgentTask {
    pub delegation: Delegation,
    /// The same as text, with what was seen of earlier work: what a program is given.
    pub prompt: String,
    /// The money that it may use; none when it costs nothing that is counted.
    pub budget: Option<Money>,
    pub timeout: Millis,
}

/// What can be seen of an agent, and what it can do. Each kind declares its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Its tool calls are seen. Of one without, only its end, its report and the changed files can be judged.
    pub streams_tool_calls: bool,
    /// Whether it says what a run cost, in dollars, whatever the model.
    pub reports_cost: ReportsCost,
    /// It says what it uses while it works, and not only when it has ended.
    pub reports_usage_while_working: bool,
    /// It prints something before its first request to a service: one that was ended in silence has cost nothing.
    pub announces_start: bool,
    /// It asks before it writes, and takes no for an answer.
    pub asks_permission: bool,
    /// It calls a command of Ralph's before each of its tool calls.
    pub has_hooks: bool,
    pub takes_model: bool,
    /// It writes a report file of its own, with what it costs so far.
    pub writes_report: bool,
}

impl Capabilities {
    /// Those of a program that tells line by line what it does and asks for nothing.
    pub(crate) const STREAMING: Self = Self {
        streams_tool_calls: true,
        reports_cost: ReportsCost::Never,
        reports_usage_while_working: false,
        announces_start: true,
        asks_permission: false,
        has_hooks: false,
        takes_model: true,
        writes_report: false,
    };

    /// Its cost is known only after a run, so that no spent budget can stop it.
    pub const fn reports_only_after_run(&self) -> bool {
        !self.reports_usage_while_working && !self.writes_report
    }
}

/// Whether an agent says what a run cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReportsCost {
    /// Never: only prices tell.
    Never,
    Sometimes,
    /// Always, at its end at the latest.
    Always,
}
