//! Hands work to another agent on this machine. It is judged by what it reports and leaves behind, in the same envelope.

use std::sync::Arc;

use ralph_agents::{AgentServices, AgentTask, Kind, Observed, StopSignal};
use ralph_crew::{CallId, CrewEvent, FrameId, ToolOutcome, program_result};
use ralph_engine::Conduct;
use ralph_model::{Attempt, Cost, Delegation, Iteration, Millis, Money, Status};

use super::place::Place;
use crate::home::Home;
use crate::open::blocking;

/// How long such an agent may work.
const TIMEOUT: Millis = Millis::secs(1800);

/// Attempts of programs: above those of requests to models, so that what is reserved for one is not taken for the other's.
const FIRST_ATTEMPT: u32 = 1 << 30;

/// The attempt that the money of a program is reserved for.
pub(super) fn attempt(call: CallId) -> Attempt {
    Attempt(FIRST_ATTEMPT.saturating_add(call.0))
}

impl Place {
    pub(super) async fn run_agent(
        self: &Arc<Self>,
        call: CallId,
        round: u32,
        delegation: Delegation,
        most: Money,
        stop: StopSignal,
    ) -> CrewEvent {
        let before = Arc::clone(self);
        let base = blocking(move || before.look(FrameId(call.0))).await.unwrap_or_default();
        let observed = match self.observe(&delegation, call, round, most, stop.clone()).await {
            Ok(observed) => observed,
            Err(why) => return CrewEvent::tool_finished(call, ToolOutcome::failed(why)),
        };
        let cost = match observed.cost {
            Cost::Known { amount } => amount,
            // What is not known is never taken for free.
            Cost::Unknown => most,
            Cost::Unmetered => Money::ZERO,
        };
        let unmet = self.unmet_or_unknown(FrameId(call.0), base, &delegation.expects, &observed.evidence, stop).await;
        let conduct = if observed.opaque { Conduct::Opaque } else { Conduct::Acting };
        let words = self.services.redactor.text(&observed.final_message).to_string();
        let (result, text) =
            program_result(&delegation, conduct, observed.evidence, words, observed.escalation, &unmet);
        let summary = format!("{}: {}", delegation.target, result.status.shout().to_ascii_lowercase());
        let success = result.status == Status::Success;
        let outcome = ToolOutcome { success, text, summary, ..ToolOutcome::default() };
        CrewEvent::ToolFinished { call, outcome, cost, result: Some(Box::new(result)) }
    }

    async fn observe(
        &self,
        delegation: &Delegation,
        call: CallId,
        round: u32,
        most: Money,
        stop: StopSignal,
    ) -> Result<Observed, String> {
        let spec = Kind::find(&delegation.target).and_then(Kind::ready_made_spec);
        let spec = spec.ok_or_else(|| format!("no agent is called `{}`", delegation.target))?;
        let name = format!("agent-{}", call.0);
        let mut base = self.process_base(&self.root, &name, Some(&spec));
        Home::make_private(&base.scratch).map_err(|error| error.chain())?;
        let task = AgentTask {
            prompt: ralph_crew::briefing(delegation),
            delegation: delegation.clone(),
            budget: Some(most),
            timeout: TIMEOUT,
        };
        let wire = self.wire();
        let opened = wire.open(&spec, &mut base, task.budget, Iteration(round), attempt(call)).await;
        let mut line = opened.map_err(|error| error.chain())?;
        let services = AgentServices { supervisor: Arc::clone(&self.services.supervisor), base };
        let mut observed = match (self.services.build_agent)(&spec, services) {
            Ok(agent) => wire.drive(agent.as_ref(), &task, stop, &mut line, &mut |_| {}, &|_| {}).await,
            Err(error) => Err(error),
        };
        wire.close(line, observed.as_mut().ok(), &spec).await;
        observed.map_err(|error| error.to_string())
    }
}
