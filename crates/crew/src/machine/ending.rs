//! The end of a turn, and how a new process continues one.

use std::collections::BTreeMap;

use ralph_engine::Stop;
use ralph_llm::Message;
use ralph_model::{Attempt, Status};

use super::{Crew, DelegationRecord, Phase, error_result};
use crate::agent_file::Role;
use crate::event::{CrewAbort, CrewEffect, CrewOutcome, FrameId};
use crate::frame::{Call, CallState, Ending, Frame, FrameState, cut};
use crate::stream::StreamEvent;
use crate::tooling::{ToolEffect, ToolOutcome};

impl Crew {
    /// The first agent answered: the answer is compared with the evidence, where there is any.
    pub(super) fn answer(&mut self, ending: Ending) -> Vec<CrewEffect> {
        if let Some(reason) = ending.escalation {
            return self.end(CrewOutcome::Aborted { cause: CrewAbort::Escalated { reason } });
        }
        let most = self.most();
        let is_coordinator = self.agent_of(FrameId::ROOT).is_some_and(|agent| agent.role == Role::Coordinator);
        let has_evidence = self.frames.get(&FrameId::ROOT).is_some_and(|frame| !frame.evidence.is_empty());
        let is_spent = self.config.max_cost.is_some_and(|max| self.spent >= max);
        if !is_coordinator || !has_evidence || is_spent {
            return self.end(CrewOutcome::Answered { answer: ending.content, doubts: self.own_doubts() });
        }
        self.attempt = self.attempt.next();
        self.phase = Phase::Reviewing { answer: ending.content, attempt: self.attempt, most };
        vec![CrewEffect::Review { attempt: self.attempt, most }]
    }

    /// What the evidence itself speaks against: for each agent, the last delegation if it did not succeed.
    pub(super) fn own_doubts(&self) -> Vec<String> {
        let mut last: BTreeMap<&str, &DelegationRecord> = BTreeMap::new();
        for record in &self.delegations {
            last.insert(&record.agent, record);
        }
        let doubtful = last.into_values().filter_map(|record| {
            let result = record.result.as_ref().filter(|result| result.status != Status::Success)?;
            let status = result.status.shout().to_ascii_lowercase();
            Some(format!(
                "the last delegation to {} ended {status}: {}",
                record.agent.to_ascii_uppercase(),
                cut(&record.objective, 200)
            ))
        });
        doubtful.collect()
    }

    pub(super) fn reviewed(&mut self, wanted: Attempt, doubts: Vec<String>) -> Vec<CrewEffect> {
        match &self.phase {
            Phase::Reviewing { answer, attempt, .. } if *attempt == wanted => {
                let (answer, mut all) = (answer.clone(), self.own_doubts());
                all.extend(doubts);
                self.end(CrewOutcome::Answered { answer, doubts: all })
            }
            _ => vec![],
        }
    }

    /// Ends the turn. The conversation stays valid, so that it can be continued: every call has a result.
    pub(super) fn end(&mut self, outcome: CrewOutcome) -> Vec<CrewEffect> {
        let observed: Vec<_> = self.delegations.iter().map(|record| self.evidence_of(record)).collect();
        for (record, observed) in
            self.delegations.iter_mut().zip(observed).filter(|(record, _)| record.result.is_none())
        {
            record.observed = observed;
        }
        self.frames.retain(|id, _| *id == FrameId::ROOT);
        if let Some(root) = self.frames.get_mut(&FrameId::ROOT)
            && let FrameState::Calling { calls } = std::mem::replace(&mut root.state, FrameState::Idle)
        {
            let result = |call: Call| match call.state {
                CallState::Done(result) => result,
                _ => error_result(&call.tool, "not finished: the turn was ended".to_owned()),
            };
            root.conversation.push(Message::Results(calls.into_iter().map(result).collect()));
        }
        self.phase = Phase::Done(outcome.clone());
        let mut effects = vec![CrewEffect::StopRunning];
        if let CrewOutcome::Answered { answer, doubts } = &outcome {
            let (answer, doubts) = (answer.clone(), doubts.clone());
            effects.push(CrewEffect::Tell(StreamEvent::Answer { answer, doubts }));
        }
        effects.push(CrewEffect::Finish { outcome: Box::new(outcome) });
        effects
    }

    pub(super) fn spoke(&mut self, text: String) -> Vec<CrewEffect> {
        if !matches!(self.phase, Phase::Done(_) | Phase::Listening) {
            return vec![];
        }
        let Some(agent) = self.config.agent(&self.config.root).cloned() else { return vec![] };
        match self.frames.get_mut(&FrameId::ROOT) {
            Some(root) => {
                root.turns = 0;
                root.evidence.clear();
                root.conversation.ask(text);
            }
            None => _ = self.frames.insert(FrameId::ROOT, Frame::new(&agent, None, None, text)),
        }
        self.phase = Phase::Working;
        let switch = CrewEffect::Tell(StreamEvent::AgentSwitch { agent: agent.name });
        [vec![switch], self.ask(FrameId::ROOT)].concat()
    }

    pub(super) fn stop(&mut self, stop: Stop) -> Vec<CrewEffect> {
        match self.phase {
            Phase::Done(_) => vec![],
            Phase::Working | Phase::Reviewing { .. } | Phase::Listening => {
                self.end(CrewOutcome::Aborted { cause: CrewAbort::Stopped { by: stop.by } })
            }
        }
    }

    /// Continues what the former process left. What is finished is not repeated; what may have happened outside is not either.
    pub(super) fn resume(&mut self) -> Vec<CrewEffect> {
        match &self.phase {
            Phase::Listening | Phase::Done(CrewOutcome::Answered { .. }) => return vec![],
            Phase::Done(_) => {
                self.phase = Phase::Working;
                if let Some(root) = self.frames.get_mut(&FrameId::ROOT) {
                    // The limit that ended it was raised, or its cause is gone: the rounds that it had count for it.
                    root.turns = root.turns.min(self.config.max_rounds.saturating_sub(1));
                    root.silent = 0;
                }
                return self.ask(FrameId::ROOT);
            }
            Phase::Reviewing { answer, .. } => {
                let content = answer.clone();
                self.phase = Phase::Working;
                return self.answer(Ending { content, ..Ending::default() });
            }
            Phase::Working => {}
        }
        let ids: Vec<FrameId> = self.frames.keys().copied().collect();
        let mut effects = Vec::new();
        for id in ids {
            let Some(frame) = self.frames.get(&id) else { continue };
            match frame.state.clone() {
                FrameState::Opening { .. } => effects.extend(self.open(id)),
                FrameState::Asking { .. } | FrameState::Compacting { .. } => effects.extend(self.ask(id)),
                FrameState::Checking { ending } => effects.extend(self.finish_frame(id, ending)),
                FrameState::Idle => {}
                FrameState::Calling { calls } => effects.extend(self.resume_calls(id, calls)),
            }
        }
        effects
    }

    pub(super) fn resume_calls(&mut self, id: FrameId, calls: Vec<Call>) -> Vec<CrewEffect> {
        let mut effects = Vec::new();
        for call in calls {
            match &call.state {
                CallState::Waiting | CallState::Done(_) | CallState::Delegating { .. } => {}
                CallState::Asking { question } => effects.push(CrewEffect::AskPerson { question: question.clone() }),
                CallState::Beginning { key } => {
                    effects.push(CrewEffect::BeginAction { call: call.id, key: key.clone() });
                }
                CallState::Acting { key } => {
                    let outcome = ToolOutcome {
                        summary: "interrupted: unknown whether it was done".to_owned(),
                        external_id: Some(key.clone()),
                        ..ToolOutcome::error(format!(
                            "interrupted: unknown whether it was done (id={key}); do not repeat it without asking"
                        ))
                    };
                    effects.extend(self.done(id, &call, outcome));
                }
                CallState::Running if self.config.tools.get(&call.tool.name) == Some(&ToolEffect::Runs) => {
                    let why = "interrupted: it may have run in part; look before you repeat it";
                    effects.extend(self.done(id, &call, ToolOutcome::error(why)));
                }
                CallState::Running => {
                    effects.push(CrewEffect::CallTool { frame: id, call: call.id, tool: call.tool.clone() });
                }
            }
        }
        effects.extend(self.advance(id));
        effects
    }
}
