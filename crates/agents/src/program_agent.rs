//! An agent that is a program: called once for a task, read line by line, gone afterwards.

use ralph_model::AgentSpec;

use crate::agent::{Agent, AgentTask, Capabilities, EventSink, RunFuture, StopSignal};
use crate::registry::{Invoke, Kind};
use crate::request::{AgentServices, Error, Request};
use crate::stream;

/// What the well-known programs have in common: each kind adds a call and a parser.
pub(crate) struct ProgramAgent {
    spec: AgentSpec,
    program: String,
    capabilities: Capabilities,
    invoke: Invoke,
    services: AgentServices,
}

impl ProgramAgent {
    pub(crate) fn build(
        kind: &'static Kind,
        spec: AgentSpec,
        services: AgentServices,
    ) -> Result<Box<dyn Agent>, Error> {
        let (Some(program), Some(invoke)) = (spec.program_name(), kind.invoke) else {
            return Err(Error::NothingToStart { agent: spec.name });
        };
        let program = program.to_owned();
        Ok(Box::new(Self { spec, program, capabilities: kind.capabilities, invoke, services }))
    }
}

impl Agent for ProgramAgent {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn run<'a>(&'a self, task: &'a AgentTask, stop: StopSignal, events: EventSink<'a>) -> RunFuture<'a> {
        Box::pin(async move {
            let request = Request::new(task, self.services.base.clone());
            let invocation = (self.invoke)(&self.spec, &self.program, &request)?;
            let supervisor = &self.services.supervisor;
            stream::run(supervisor, invocation, request, &self.spec, self.capabilities, stop, events).await
        })
    }
}
