//! From events to views: the engine steps, and what it knows before and after tells what changed.

use ralph_engine::{Effect, Event, Loop, Phase, ReplayError};
use ralph_model::{LoopId, Timestamp};

use crate::run::{IterationView, OutcomeView, RunState, RunView, VerdictView, WaitView};
use crate::update::Delta;

/// A loop after one more event.
pub struct Folded {
    pub run: Loop,
    pub effects: Vec<Effect>,
    pub deltas: Vec<Delta>,
}

/// Steps a copy of the loop: the caller that has to record the event first keeps the old one until that is done.
pub fn fold(loop_id: LoopId, before: &Loop, at: Timestamp, event: Event) -> Folded {
    let continues = matches!(event, Event::Resumed { .. });
    let mut run = before.clone();
    let effects = run.step(at, event);
    let mut deltas = if continues { vec![opened(&run)] } else { Vec::new() };
    compare(loop_id, before, &run, &mut deltas);
    Folded { run, effects, deltas }
}

/// A run that is followed through its journal.
#[derive(Debug, Clone)]
pub struct RunFold {
    loop_id: LoopId,
    run: Loop,
}

impl RunFold {
    pub const fn new(loop_id: LoopId, run: Loop) -> Self {
        Self { loop_id, run }
    }

    pub fn start(loop_id: LoopId, at: Timestamp, event: Event) -> Result<(Self, Vec<Delta>), ReplayError> {
        let (run, _) = Loop::start(at, event)?;
        let deltas = vec![opened(&run)];
        Ok((Self { loop_id, run }, deltas))
    }

    /// Takes one more event, and says what it changed.
    pub fn apply(&mut self, at: Timestamp, event: Event) -> Vec<Delta> {
        let folded = fold(self.loop_id, &self.run, at, event);
        self.run = folded.run;
        folded.deltas
    }

    pub const fn run(&self) -> &Loop {
        &self.run
    }

    pub fn state(&self) -> RunState {
        RunState::new(self.loop_id, &self.run)
    }

    pub fn view(&self) -> RunView {
        RunView::new(self.loop_id, &self.run)
    }
}

/// What a loop that begins, or that a new process continues, sends first.
pub fn opened(run: &Loop) -> Delta {
    let facts = run.facts();
    Delta::Opened { config: Box::new(facts.config.clone()), start: Box::new(facts.start.clone()) }
}

fn compare(loop_id: LoopId, before: &Loop, after: &Loop, deltas: &mut Vec<Delta>) {
    let (old, new) = (before.facts(), after.facts());
    if let Some(stop) = new.stop.filter(|_| new.stop != old.stop) {
        deltas.push(Delta::Stopping { stop });
    }
    deltas.extend(new.alerted.difference(&old.alerted).map(|alert| Delta::Alerted { alert: *alert }));
    if let (None, Some(verdict)) = (&old.baseline, &new.baseline) {
        deltas.push(Delta::BaselineFinished { verdict: Box::new(VerdictView::new(new, verdict)) });
    }
    if let Some(last) = new.last_iteration() {
        if new.iterations.len() > old.iterations.len() {
            deltas.push(Delta::IterationStarted { iteration: last.iteration, agent: last.agent.clone() });
        } else if let Some(earlier) = old.last_iteration() {
            let view = || Box::new(IterationView::new(after, last));
            if earlier.run.is_none() && last.run.is_some() {
                deltas.push(Delta::AgentFinished { iteration: view() });
            }
            if earlier.verdict.is_none() && last.is_tampered() {
                deltas.push(Delta::Tampered { tampered: last.tampering().to_vec() });
            }
            let was_confirming = matches!(before.phase(), Phase::Confirming(_));
            let tripwire = last.verdict.as_ref().and_then(|verdict| verdict.tripwire.clone());
            let is_answered = !was_confirming || tripwire.is_some();
            if let Some(tripwire) = tripwire.filter(|_| was_confirming) {
                deltas.push(Delta::TripwireFinished { tripwire });
            }
            let is_checked = last.verdict.is_some() || !new.needs_verdict();
            let is_over = before.has_open_iteration() && !after.has_open_iteration();
            if is_over && is_checked && is_answered && !last.interrupted {
                deltas.push(Delta::IterationDecided { iteration: view() });
            }
            if last.undone && !earlier.undone {
                deltas.push(Delta::IterationUndone { iteration: last.iteration });
            }
        }
    }
    if matches!(after.phase(), Phase::Confirming(_)) && !matches!(before.phase(), Phase::Confirming(_)) {
        deltas.push(Delta::TripwireStarted);
    }
    if let Some(skill) = new.config.deep_debug.as_ref().filter(|_| new.escalated && !old.escalated) {
        deltas.push(Delta::Escalated { skill: skill.name.clone() });
    }
    if let (Some(from), None) = (new.given_up.as_ref().filter(|_| new.failovers > old.failovers), after.outcome()) {
        deltas.push(Delta::FailedOver { from: from.clone(), to: new.next_agent().title() });
    }
    match (&new.wait, after.outcome()) {
        (Some(wait), None) if new.wait != old.wait => {
            let wait = WaitView { until: wait.until, trouble: wait.trouble.clone() };
            deltas.push(Delta::Waiting { wait });
        }
        _ => {}
    }
    if let (None, Some(outcome)) = (before.outcome(), after.outcome()) {
        deltas.push(Delta::Finished { outcome: OutcomeView::new(loop_id, outcome, after) });
    }
}
