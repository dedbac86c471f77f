//! The end of a turn, and how a new process continues one.

use std::collections::BTreeMap;

use ralph_engine::Stop;
use ralph_llm::{Message, ToolResult};
use ralph_model::{Attempt, Status, ToolEvidence};

use super::delegations::WORDS;
use super::{Crew, DelegationRecord, Phase, error_result};
use crate::agent_file::Role;
use crate::event::{CrewAbort, CrewEffect, CrewOutcome, FrameId, MovedCrew};
use crate::frame::{Call, CallState, Ending, Frame, FrameState, cut};
use crate::stream::StreamEvent;
use ralph_tools::{Effect as ToolEffect, Outcome as ToolOutcome};

const NOT_FINISHED: &str = "not finished: the turn was ended";
/// What every agent is told that continues on another machine.
const MOVED: &str = "[CONTINUED ON ANOTHER MACHINE]\nThe files are those that were pushed when a delegation last ended. Changes and \
                     commits since then are lost: look at the files before you rely on them.";

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
        let results = match self.frames.get(&FrameId::ROOT).map(|root| &root.state) {
            Some(FrameState::Calling { calls }) => calls.iter().map(|call| self.cut_short(call)).collect(),
            _ => Vec::new(),
        };
        self.frames.retain(|id, _| *id == FrameId::ROOT);
        if let Some(root) = self.frames.get_mut(&FrameId::ROOT) {
            root.state = FrameState::Idle;
            if !results.is_empty() {
                root.conversation.push(Message::Results(results));
            }
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

    /// The result of a call in a turn that was ended: with what its agents did until then, so that nothing outward is repeated.
    fn cut_short(&self, call: &Call) -> ToolResult {
        let text = match &call.state {
            CallState::Done(result) => return result.clone(),
            CallState::Acting { key } => unknown(key).text,
            CallState::Delegating { frames, results, .. } => {
                let envelopes = frames.iter().zip(results).filter_map(|(id, result)| match result {
                    Some((envelope, _)) => Some(envelope.clone()),
                    None => self.unfinished(*id),
                });
                envelopes.collect::<Vec<_>>().join("\n\n")
            }
            _ => NOT_FINISHED.to_owned(),
        };
        error_result(&call.tool, text)
    }

    /// The envelope over work that was ended before its end.
    fn unfinished(&self, id: FrameId) -> Option<String> {
        let mut frame = self.frames.get(&id)?.clone();
        let agent = self.config.agent(&frame.agent)?;
        let acting = frame.calls().iter().filter_map(|call| match &call.state {
            CallState::Acting { key } => Some(unknown(key).evidence(&call.tool.name)),
            _ => None,
        });
        let acting: Vec<_> = acting.collect();
        frame.evidence.extend(acting);
        let ending = Ending { content: NOT_FINISHED.to_owned(), out_of_turns: true, ..Ending::default() };
        let result = frame.result(agent, &ending, &[]);
        Some(frame.envelope(agent, &result, &[], WORDS))
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

    /// Another machine continues, with the files that reached it.
    pub(super) fn moved(&mut self, moved: MovedCrew) {
        let MovedCrew { config, base } = moved;
        self.config = config;
        for frame in self.frames.values_mut() {
            let changes = |row: &ToolEvidence| {
                matches!(self.config.tools.get(&row.tool), Some(ToolEffect::Writes | ToolEffect::Runs))
            };
            if frame.evidence.iter().any(changes) {
                frame.evidence.push(ToolEvidence::error("workspace", "changes that were not pushed are lost"));
            }
            frame.note = Some(MOVED);
            if frame.base.folder.is_none() && frame.base.tree.is_some() {
                frame.base = base.clone();
            }
            let FrameState::Calling { calls } = &mut frame.state else { continue };
            // Approvals are the server's, not those of a journal that another machine wrote: the same question is answered again.
            for call in calls.iter_mut().filter(|call| matches!(call.state, CallState::Beginning { .. })) {
                call.state = CallState::Waiting;
                frame.tool_calls = frame.tool_calls.saturating_sub(1);
            }
        }
    }

    /// Ends agents whose worktrees are on a machine that is gone.
    fn end_stranded(&mut self) -> Vec<CrewEffect> {
        let stranded: Vec<FrameId> = self.frames.keys().copied().filter(|id| self.folder(*id).is_some()).collect();
        let mut effects = Vec::new();
        for id in stranded {
            // An agent below one of these ended with it.
            let Some(frame) = self.frames.get(&id) else { continue };
            let parent = frame.parent.and_then(|call| self.frame_of(call));
            let is_below = frame.base.folder.is_none() || parent.is_none();
            if is_below {
                self.frames.remove(&id);
                continue;
            }
            for call in frame.calls().to_vec() {
                effects.extend(
                    self.interrupted(&call, true).into_iter().flat_map(|outcome| self.done(id, &call, outcome)),
                );
            }
            if let Some(frame) = self.frames.get_mut(&id) {
                frame.evidence.push(ToolEvidence::error("workspace", "its worktree is on a machine that is gone"));
            }
            let ending = Ending { content: NOT_FINISHED.to_owned(), out_of_turns: true, ..Ending::default() };
            effects.extend(self.conclude(id, &ending, Vec::new()));
        }
        effects
    }

    /// What is known of a call that was under way and is not begun again.
    fn interrupted(&self, call: &Call, is_moved: bool) -> Option<ToolOutcome> {
        match (&call.state, self.config.tools.get(&call.tool.name)) {
            (CallState::Acting { key }, _) => Some(unknown(key)),
            (CallState::Running, Some(ToolEffect::Reads)) => None,
            (CallState::Running, effect) if is_moved || effect == Some(&ToolEffect::Runs) => {
                Some(ToolOutcome::failed("interrupted: it may have run in part; look before you repeat it"))
            }
            _ => None,
        }
    }

    /// Continues what the former process left. What is finished is not repeated; what may have happened outside is not either.
    pub(super) fn resume(&mut self, is_moved: bool) -> Vec<CrewEffect> {
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
        let found: Vec<_> = self.frames.iter().map(|(id, frame)| (*id, frame.state.clone())).collect();
        let mut effects = if is_moved { self.end_stranded() } else { Vec::new() };
        for (id, state) in found {
            if !self.frames.contains_key(&id) {
                continue;
            }
            match state {
                FrameState::Opening { .. } => effects.extend(self.open(id)),
                FrameState::Asking { .. } | FrameState::Compacting { .. } => effects.extend(self.ask(id)),
                FrameState::Checking { ending } => effects.extend(self.finish_frame(id, ending)),
                FrameState::Idle => {}
                FrameState::Calling { calls } => effects.extend(self.resume_calls(id, calls, is_moved)),
            }
        }
        effects
    }

    pub(super) fn resume_calls(&mut self, id: FrameId, calls: Vec<Call>, is_moved: bool) -> Vec<CrewEffect> {
        let mut effects = Vec::new();
        for call in calls {
            if let Some(outcome) = self.interrupted(&call, is_moved) {
                effects.extend(self.done(id, &call, outcome));
                continue;
            }
            match &call.state {
                CallState::Asking { question } => effects.push(CrewEffect::AskPerson { question: question.clone() }),
                CallState::Beginning { key } => {
                    effects.push(CrewEffect::BeginAction { call: call.id, key: key.clone() });
                }
                CallState::Running => {
                    effects.push(CrewEffect::CallTool { frame: id, call: call.id, tool: call.tool.clone() });
                }
                CallState::Waiting | CallState::Done(_) | CallState::Delegating { .. } | CallState::Acting { .. } => {}
            }
        }
        effects.extend(self.advance(id));
        effects
    }
}

/// The outcome of an outward action that was begun and has no end.
fn unknown(key: &str) -> ToolOutcome {
    ToolOutcome {
        summary: "interrupted: unknown whether it was done".to_owned(),
        external_id: Some(key.to_owned()),
        ..ToolOutcome::failed(format!(
            "interrupted: unknown whether it was done (id={key}); do not repeat it without asking"
        ))
    }
}
