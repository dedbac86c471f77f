//! Whose turn it is, and what changes when another process continues the loop.

use ralph_model::{AgentSpec, Millis, Turns};

use super::Facts;
use crate::event::{Limits, V3_SERVICE_BACKOFF};

impl Facts {
    /// Whose turn it is in the next pass.
    pub fn next_agent(&self) -> &AgentSpec {
        self.agent_after(self.counted())
    }

    /// Whose turn it is after so many passes that count.
    fn agent_after(&self, counted: u32) -> &AgentSpec {
        let standby = self.failovers.checked_sub(1).and_then(|place| self.config.failover.get(place));
        if let Some(agent) = standby {
            return agent;
        }
        let agents = u32::try_from(self.config.more_agents.len()).unwrap_or(u32::MAX);
        let place = match self.config.turns {
            // All passes so far have failed: the loop would be over otherwise.
            Turns::Escalate { after } => (counted / after.max(1)).min(agents),
            Turns::Rotate => counted % agents.saturating_add(1),
        };
        self.config.agent_at(place as usize)
    }

    /// Whose turn it is after the last pass, of which it is not yet noted whether it counts: one that the service cut short
    /// comes again with the same agent.
    pub(crate) fn agent_to_come(&self) -> &AgentSpec {
        let comes_again = self.iterations.last().is_some_and(|last| !last.uncounted && last.was_cut_short());
        self.agent_after(self.counted() - u32::from(comes_again))
    }

    /// Whether the loop has to have money left for a pass with this agent.
    pub fn needs_money_for(&self, agent: &AgentSpec) -> bool {
        if self.start.behaviour < V3_SERVICE_BACKOFF { !self.config.is_unmetered() } else { !agent.unmetered }
    }

    /// A pass that the service cut short counts only if it completes the loop.
    pub(crate) fn mark_uncounted(&mut self) {
        if let Some(record) = self.iterations.last_mut()
            && record.was_cut_short()
        {
            record.uncounted = true;
        }
    }

    /// Whether another agent stands by for one whose service is unavailable.
    pub(crate) fn has_standby(&self) -> bool {
        self.failovers < self.config.failover.len()
    }

    /// The next agent that stands by takes over from the one that ran last.
    pub(crate) fn fail_over(&mut self) {
        self.failovers += 1;
        self.given_up = self.last_iteration().map(|last| last.agent.clone());
        self.stop_waiting();
        // The other agent gets its own chance.
        self.progress.forgive();
    }

    /// No service is waited for any more.
    pub(crate) fn stop_waiting(&mut self) {
        self.wait = None;
        self.waits = 0;
        self.waited = Millis(0);
    }

    /// Another process continues: the wish to stop was the former one's, and limits may be others.
    pub(crate) fn resume(&mut self, limits: Limits) {
        self.stop = None;
        // The former process may have died before it could tell of an alert.
        self.alerts.clone_from(&self.alerted);
        if let Some(iterations) = limits.max_iterations {
            self.config.max_iterations = iterations;
        }
        if let Some(cost) = limits.max_cost {
            self.config.max_cost = cost;
            // A loop with a budget of its own leaves the budget of its race.
            self.config.race = None;
        }
        if let Some(tokens) = limits.max_tokens {
            self.config.max_tokens = Some(tokens);
        }
        if let Some(duration) = limits.max_duration {
            self.config.max_duration = Some(duration);
        }
        let mut agents = limits.agents.into_iter();
        if let Some(first) = agents.next() {
            self.config.agent = first;
            self.config.more_agents = agents.collect();
        }
        if !limits.failover.is_empty() {
            self.config.failover = limits.failover;
        }
        if limits.unmetered {
            self.config.set_unmetered();
        }
        self.config.cost_after_run |= limits.cost_after_run;
        // A user who continues wants to see whether it works now.
        self.stop_waiting();
        self.failovers = 0;
        self.given_up = None;
    }
}
