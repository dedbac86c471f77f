//! Delegations: agents that work for a call of another agent, and what the call returns.

use ralph_llm::ToolResult;
use ralph_model::{Delegation, DelegationResult, Expectation, Status, ToolEvidence};

use super::{Crew, DelegationRecord};
use crate::agent_file::AgentFile;
use crate::event::{CrewEffect, FrameId, Unmet};
use crate::frame::{Call, CallState, Ending, Frame, FrameState, briefing};
use crate::stream::{Delegated, StreamEvent};
use ralph_tools::Outcome as ToolOutcome;

/// Bytes of an agent's own words in an envelope, alone and among several.
pub(super) const WORDS: usize = 4096;
const WORDS_OF_MANY: usize = 1024;
/// The longest tree of delegations.
const MAX_DEPTH: usize = 4;

impl Crew {
    pub(super) fn delegate(
        &mut self,
        id: FrameId,
        call: &Call,
        all: Vec<Delegation>,
        is_parallel: bool,
    ) -> Vec<CrewEffect> {
        if self.depth(id) >= MAX_DEPTH {
            return self.done(id, call, ToolOutcome::failed("delegations are nested too deeply: do it yourself"));
        }
        // Another program is one action of its own: it is judged by what it reports and leaves behind.
        if let ([delegation], false) = (all.as_slice(), is_parallel)
            && self.config.agent(&delegation.target).is_none()
        {
            let told = CrewEffect::Tell(StreamEvent::Delegation { delegation: Box::new(delegation.clone()) });
            return [vec![told], self.begin_action(call.id)].concat();
        }
        if let Some(program) = all.iter().find(|delegation| self.config.agent(&delegation.target).is_none()) {
            let why = format!("{} cannot be one of several: delegate to it alone", program.target);
            return self.done(id, call, ToolOutcome::failed(why));
        }
        let is_writer = |own: &Delegation| self.config.agent(&own.target).is_some_and(|agent| self.can_write(agent));
        let isolate = all.iter().filter(|delegation| is_writer(delegation)).count() > 1;
        let mut effects = Vec::new();
        let mut frames = Vec::new();
        for delegation in all {
            let Some(agent) = self.config.agent(&delegation.target).cloned() else { continue };
            self.next_frame += 1;
            let own = FrameId(self.next_frame);
            let text = briefing(&delegation);
            let mut frame = Frame::new(&agent, Some(call.id), Some(delegation.clone()), text);
            let isolate = isolate && self.can_write(&agent);
            frame.state = FrameState::Opening { isolate };
            self.frames.insert(own, frame);
            self.delegations.push(DelegationRecord::new(&delegation, Some(own)));
            frames.push(own);
            effects.push(CrewEffect::Tell(StreamEvent::Delegation { delegation: Box::new(delegation) }));
            effects.push(CrewEffect::Tell(StreamEvent::AgentSwitch { agent: agent.name.clone() }));
        }
        let results = vec![None; frames.len()];
        self.set(call.id, CallState::Delegating { frames: frames.clone(), results, is_parallel });
        for own in frames {
            effects.extend(self.open(own));
        }
        effects
    }

    /// Whether an agent can change files of the workspace.
    pub(super) fn can_write(&self, agent: &AgentFile) -> bool {
        agent.tools.iter().any(|name| name == "bash_execute" || name.starts_with("fs_write") || name == "fs_edit")
    }

    /// Looks at the workspace first where that matters later, else asks the model.
    pub(super) fn open(&mut self, id: FrameId) -> Vec<CrewEffect> {
        let Some(frame) = self.frames.get(&id) else { return vec![] };
        let FrameState::Opening { isolate } = frame.state else { return vec![] };
        let looks = |expected: &Expectation| {
            !matches!(expected, Expectation::Tool(_) | Expectation::Command(_) | Expectation::Checklist(_))
        };
        if isolate || frame.expects().iter().any(looks) {
            return vec![CrewEffect::OpenDelegation { frame: id, isolate }];
        }
        self.ask(id)
    }

    /// An agent came to its end: looks at what it left behind where that was asked for, then gives the result to the caller.
    pub(super) fn finish_frame(&mut self, id: FrameId, ending: Ending) -> Vec<CrewEffect> {
        if id == FrameId::ROOT {
            return self.answer(ending);
        }
        let Some(frame) = self.frames.get_mut(&id) else { return vec![] };
        let (expects, base) = (frame.expects().to_vec(), frame.base.clone());
        if expects.is_empty() && base.folder.is_none() {
            return self.conclude(id, &ending, Vec::new());
        }
        let evidence = frame.evidence.clone();
        frame.state = FrameState::Checking { ending };
        vec![CrewEffect::CheckDelegation { frame: id, base, expects, evidence }]
    }

    pub(super) fn conclude(&mut self, id: FrameId, ending: &Ending, unmet: Vec<Unmet>) -> Vec<CrewEffect> {
        let Some(agent) = self.agent_of(id) else { return vec![] };
        let Some(frame) = self.frames.remove(&id) else { return vec![] };
        let result = frame.result(&agent, ending, &unmet);
        let status = result.status;
        let mut effects = vec![CrewEffect::Tell(StreamEvent::AgentComplete { agent: agent.name.clone(), status })];
        let parent = frame.parent.and_then(|call| self.call(call));
        if let Some((parent_id, call)) = parent
            && let CallState::Delegating { frames, results, is_parallel } = &mut call.state
        {
            let most = if *is_parallel { WORDS_OF_MANY } else { WORDS };
            let envelope = frame.envelope(&agent, &result, &unmet, most);
            let at = frames.iter().position(|own| *own == id);
            if let Some(slot) = at.and_then(|at| results.get_mut(at)) {
                *slot = Some((envelope, result.clone()));
            }
            let is_over = results.iter().all(Option::is_some);
            let call = call.clone();
            if let Some(record) = self.delegations.iter_mut().find(|record| record.frame == Some(id)) {
                (record.result, record.unmet) = (Some(result), unmet);
            }
            if is_over {
                effects.extend(self.delegated(parent_id, &call));
                effects.extend(self.advance(parent_id));
            }
        }
        effects
    }

    /// All delegations of a call ended: their envelopes are its result.
    pub(super) fn delegated(&mut self, id: FrameId, call: &Call) -> Vec<CrewEffect> {
        let CallState::Delegating { results, is_parallel, .. } = &call.state else { return vec![] };
        let all: Vec<&(String, DelegationResult)> = results.iter().flatten().collect();
        let good = all.iter().filter(|(_, result)| result.status == Status::Success).count();
        let envelopes: Vec<&str> = all.iter().map(|(envelope, _)| envelope.as_str()).collect();
        let (content, is_error, summary) = match (*is_parallel, all.first()) {
            (false, Some((envelope, result))) => {
                let status = result.status.shout().to_ascii_lowercase();
                (envelope.clone(), result.status == Status::Failed, status)
            }
            _ => {
                let title = format!("Parallel delegation completed: {good}/{} successful.", all.len());
                (
                    format!("{title}\n\n{}", envelopes.join("\n\n")),
                    good == 0 && all.iter().all(|(_, r)| r.status == Status::Failed),
                    title,
                )
            }
        };
        let success = good == all.len();
        let agent = self.title(id);
        let name = call.tool.name.clone();
        let first = all.first().map(|(_, result)| result.status).filter(|_| !*is_parallel);
        let target = name.strip_prefix("delegateTo").unwrap_or_default().to_ascii_lowercase();
        let result = first.map(|status| Delegated { delegated: true, agent: target, status });
        if let Some(frame) = self.frames.get_mut(&id) {
            frame.evidence.push(ToolEvidence { success, ..ToolEvidence::ok(name.clone(), summary.clone()) });
        }
        let told = StreamEvent::ToolResult { agent: agent.clone(), tool: name, success, summary, result };
        self.set(call.id, CallState::Done(ToolResult { id: call.tool.id.clone(), content, is_error }));
        vec![CrewEffect::Tell(told), CrewEffect::Tell(StreamEvent::AgentSwitch { agent })]
    }
}
