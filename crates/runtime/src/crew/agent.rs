//! Hands work to another agent on this machine. It is judged by what it reports and leaves behind, in the same envelope.

use std::sync::Arc;

use ralph_agents::{AgentServices, AgentTask, Kind, Observed, StopSignal};
use ralph_crew::{CallId, CrewEvent, ToolOutcome, program_result};
use ralph_engine::Conduct;
use ralph_model::{Cost, Delegation, Millis, Money, Status};

use super::place::Place;
use crate::home::Home;

/// How long such an agent may work.
const TIMEOUT: Millis = Millis::secs(1800);

impl Place {
    pub(super) async fn run_agent(
        &self,
        call: CallId,
        delegation: Delegation,
        most: Money,
        stop: StopSignal,
    ) -> CrewEvent {
        let observed = self.observe(&delegation, call, most, stop).await;
        let (outcome, cost) = match observed {
            Ok(observed) => {
                let cost = match observed.cost {
                    Cost::Known { amount } => amount,
                    // What is not known is never taken for free.
                    Cost::Unknown => most,
                    Cost::Unmetered => Money::ZERO,
                };
                let conduct = if observed.opaque { Conduct::Opaque } else { Conduct::Acting };
                let words = self.services.redactor.text(&observed.final_message).to_string();
                let (status, text) =
                    program_result(&delegation, conduct, &observed.evidence, words, observed.escalation.as_deref());
                let summary = format!("{}: {}", delegation.target, status.shout().to_ascii_lowercase());
                let success = status == Status::Success;
                (ToolOutcome { success, text, summary, ..ToolOutcome::default() }, cost)
            }
            Err(why) => (ToolOutcome::error(why), Money::ZERO),
        };
        CrewEvent::ToolFinished { call, outcome, cost }
    }

    async fn observe(
        &self,
        delegation: &Delegation,
        call: CallId,
        most: Money,
        stop: StopSignal,
    ) -> Result<Observed, String> {
        let spec = Kind::find(&delegation.target).and_then(Kind::ready_made_spec);
        let spec = spec.ok_or_else(|| format!("no agent is called `{}`", delegation.target))?;
        let name = format!("agent-{}", call.0);
        let mut base = self.process_base(&self.root, &name, (self.services.agent_variables)(&spec));
        Home::make_private(&base.scratch).map_err(|error| error.chain())?;
        if let Some(sandbox) = &mut base.sandbox {
            sandbox.writable.extend((self.services.settings)(&spec));
        }
        let services = AgentServices { supervisor: Arc::clone(&self.services.supervisor), base };
        let agent = (self.services.build_agent)(&spec, services).map_err(|error| error.to_string())?;
        let task = AgentTask {
            prompt: ralph_crew::briefing(delegation),
            delegation: delegation.clone(),
            budget: Some(most),
            timeout: TIMEOUT,
        };
        agent.run(&task, stop, &mut |_| {}).await.map_err(|error| error.to_string())
    }
}
