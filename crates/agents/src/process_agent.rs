//! An agent that is a process: started once for a task, gone afterwards.

use ralph_model::AgentSpec;
use ralph_process::Supervisor;

use crate::agent::{Agent, AgentTask, Capabilities, EventSink, RunFuture, StopSignal};
use crate::registry::{Invoke, Kind, Start};
use crate::request::{AgentServices, Error, Observed, Request};
use crate::stream;

/// One run of an agent: what it is started by, and who watches.
pub(crate) struct Run<'a> {
    pub(crate) supervisor: &'a Supervisor,
    pub(crate) spec: &'a AgentSpec,
    /// The program, or the line of shell.
    pub(crate) target: &'a str,
    pub(crate) request: Request<'a>,
    pub(crate) stop: StopSignal,
    pub(crate) events: EventSink<'a>,
}

pub(crate) struct ProcessAgent {
    kind: &'static Kind,
    spec: AgentSpec,
    target: String,
    services: AgentServices,
}

impl ProcessAgent {
    pub(crate) fn new(kind: &'static Kind, spec: &AgentSpec, services: AgentServices) -> Result<Self, Error> {
        let target = match kind.start {
            Start::Program(_) => spec.program_name(),
            Start::Line(_) => spec.shell_line(),
            Start::Nothing => None,
        };
        let Some(target) = target.map(str::to_owned) else {
            return Err(Error::NothingToStart { agent: spec.name.clone() });
        };
        Ok(Self { kind, spec: spec.clone(), target, services })
    }
}

impl Agent for ProcessAgent {
    fn capabilities(&self) -> Capabilities {
        self.kind.capabilities
    }

    fn run<'a>(&'a self, task: &'a AgentTask, stop: StopSignal, events: EventSink<'a>) -> RunFuture<'a> {
        let AgentServices { supervisor, base } = &self.services;
        let request = Request::new(task, base.clone());
        let run = Run { supervisor, spec: &self.spec, target: &self.target, request, stop, events };
        match self.kind.start {
            Start::Program(invoke) => Box::pin(program(run, invoke, self.kind.capabilities)),
            Start::Line(start) => start(run),
            Start::Nothing => {
                Box::pin(std::future::ready(Err(Error::NothingToStart { agent: self.spec.name.clone() })))
            }
        }
    }
}

async fn program(run: Run<'_>, invoke: Invoke, capabilities: Capabilities) -> Result<Observed, Error> {
    let Run { supervisor, spec, target, request, stop, events } = run;
    let invocation = invoke(spec, target, &request)?;
    stream::run(supervisor, invocation, request, spec, capabilities, stop, events).await
}
