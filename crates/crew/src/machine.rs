//! A crew as a value: events in, effects out. Asks no model and calls no tool itself.

mod asking;
mod calls;
mod delegations;
mod ending;

use std::collections::BTreeMap;

use ralph_engine::{Machine, ReplayError};
use ralph_llm::{ToolCall, ToolResult};
use ralph_model::{Attempt, Delegation, DelegationResult, Money, Timestamp, ToolEvidence};
use serde::{Deserialize, Serialize};

use crate::agent_file::{AgentFile, Role};
use crate::event::{CrewAbort, CrewConfig, CrewEffect, CrewEvent, CrewOutcome, FrameId, Question, Unmet};
use crate::frame::{Call, Ending, Frame, FrameState};
use crate::meta;

/// One call of a tool. Numbers are never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub u32);

#[derive(Debug, Clone, PartialEq)]
pub struct DelegationRecord {
    pub agent: String,
    pub objective: String,
    /// What came of it; none while it works.
    pub result: Option<DelegationResult>,
    pub unmet: Vec<Unmet>,
    /// The frame of an agent of the crew; a program has none.
    frame: Option<FrameId>,
    /// What was observed until the turn was ended before it came to a result.
    observed: Vec<ToolEvidence>,
}

impl DelegationRecord {
    /// What an agent is asked for, before anything came of it.
    fn new(delegation: &Delegation, frame: Option<FrameId>) -> Self {
        let (agent, objective) = (delegation.target.clone(), delegation.objective.clone());
        Self { agent, objective, result: None, unmet: Vec::new(), frame, observed: Vec::new() }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Phase {
    Working,
    /// The answer is compared with the evidence.
    Reviewing {
        answer: String,
        attempt: Attempt,
        most: Option<Money>,
    },
    Done(CrewOutcome),
    /// A conversation in which nothing was asked yet.
    Listening,
}

/// One crew, as far as its journal goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Crew {
    config: CrewConfig,
    started: Timestamp,
    last: Timestamp,
    frames: BTreeMap<FrameId, Frame>,
    delegations: Vec<DelegationRecord>,
    next_frame: u32,
    next_call: u32,
    attempt: Attempt,
    spent: Money,
    /// Rounds of all requests.
    rounds: u32,
    phase: Phase,
}

impl Crew {
    pub const fn config(&self) -> &CrewConfig {
        &self.config
    }

    /// What it cost so far.
    pub const fn spent(&self) -> Money {
        self.spent
    }

    /// How often the first agent's model answered.
    pub const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// When it began, and when its last event happened.
    pub const fn times(&self) -> (Timestamp, Timestamp) {
        (self.started, self.last)
    }

    pub fn request(&self) -> &str {
        self.frames.get(&FrameId::ROOT).map_or("", |frame| frame.conversation.request())
    }

    /// The delegations so far, in their order.
    pub fn delegations(&self) -> &[DelegationRecord] {
        &self.delegations
    }

    /// What persons are asked.
    pub fn pending(&self) -> Vec<&Question> {
        self.frames.values().filter_map(Frame::pending).collect()
    }

    /// Whether nothing can happen before a person decides.
    pub fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Working)
            && !self.pending().is_empty()
            && self.frames.values().all(Frame::waits_for_others)
    }

    /// Whether it was opened as a conversation and nothing was asked yet.
    pub const fn is_unasked(&self) -> bool {
        matches!(self.phase, Phase::Listening)
    }

    /// The evidence of a frame so far; a call that waits for approval is part of it.
    pub fn evidence(&self, frame: FrameId) -> Vec<ToolEvidence> {
        let Some(own) = self.frames.get(&frame) else { return Vec::new() };
        let mut evidence = own.evidence.clone();
        evidence.extend(own.pending().filter(|question| question.is_approval).map(|question| ToolEvidence {
            pending_approval: Some(true),
            ..ToolEvidence::error(question.text.clone(), "waits for approval")
        }));
        evidence
    }

    /// The evidence of a delegation that is recorded, or of one that is under way.
    pub fn evidence_of(&self, record: &DelegationRecord) -> Vec<ToolEvidence> {
        match (&record.result, record.frame) {
            (Some(result), _) => result.tool_evidence.clone(),
            (None, Some(frame)) if self.frames.contains_key(&frame) => self.evidence(frame),
            (None, _) => record.observed.clone(),
        }
    }

    /// The agent of a frame, its conversation, and the tier that its delegation asks for.
    pub fn frame(&self, frame: FrameId) -> Option<(&AgentFile, &crate::Conversation, Option<&Delegation>)> {
        let own = self.frames.get(&frame)?;
        Some((self.config.agent(&own.agent)?, &own.conversation, own.delegation.as_ref()))
    }

    pub fn agents_at_work(&self) -> impl Iterator<Item = &str> {
        self.frames.values().map(|frame| frame.agent.as_str())
    }

    /// Where a frame works, if it has a folder of its own.
    pub fn folder(&self, mut frame: FrameId) -> Option<&str> {
        loop {
            let own = self.frames.get(&frame)?;
            match (&own.base.folder, own.parent.and_then(|call| self.frame_of(call))) {
                (Some(folder), _) => return Some(folder),
                (None, Some(parent)) => frame = parent,
                (None, None) => return None,
            }
        }
    }

    /// The answer that is being compared with the evidence.
    pub fn reviewed_answer(&self) -> Option<&str> {
        match &self.phase {
            Phase::Reviewing { answer, .. } => Some(answer),
            _ => None,
        }
    }

    pub fn tools_of(&self, agent: &AgentFile) -> Vec<String> {
        let mut tools = agent.tools.clone();
        if agent.role == Role::Coordinator {
            // An agent that the user adds can be asked without a change to the coordinator's file.
            let others = self.config.agents.iter().filter(|other| other.name != agent.name);
            for name in others.map(|other| meta_name(&other.name)) {
                if !tools.contains(&name) {
                    tools.push(name);
                }
            }
        }
        tools.retain(|name| match name.as_str() {
            "ralph_loop" => self.config.tools.contains_key("ralph_loop"),
            name if meta::is_meta(name) => true,
            name => self.config.tools.contains_key(name),
        });
        // Tools of MCP servers are for those who act.
        if agent.role == Role::Acting {
            tools.extend(self.config.tools.keys().filter(|name| name.starts_with("mcp__")).cloned());
        }
        tools
    }

    fn frame_of(&self, call: CallId) -> Option<FrameId> {
        self.frames.iter().find(|(_, frame)| frame.calls().iter().any(|own| own.id == call)).map(|(id, _)| *id)
    }

    fn call(&mut self, call: CallId) -> Option<(FrameId, &mut Call)> {
        self.frames.iter_mut().find_map(|(id, frame)| match &mut frame.state {
            FrameState::Calling { calls } => calls.iter_mut().find(|own| own.id == call).map(|own| (*id, own)),
            _ => None,
        })
    }

    fn depth(&self, frame: FrameId) -> usize {
        let mut depth = 0;
        let mut at = Some(frame);
        while let Some(frame) = at.and_then(|at| self.frames.get(&at)) {
            depth += 1;
            at = frame.parent.and_then(|call| self.frame_of(call));
        }
        depth
    }

    fn title(&self, frame: FrameId) -> String {
        self.frames.get(&frame).map(|frame| frame.agent.clone()).unwrap_or_default()
    }
}

impl Machine for Crew {
    type Event = CrewEvent;
    type Effect = CrewEffect;
    type Outcome = CrewOutcome;

    fn start(at: Timestamp, event: CrewEvent) -> Result<(Self, Vec<CrewEffect>), ReplayError> {
        let CrewEvent::CrewStarted { config, request } = event else { return Err(ReplayError::NoStart) };
        let mut crew = Self {
            config: *config,
            started: at,
            last: at,
            frames: BTreeMap::new(),
            delegations: Vec::new(),
            next_frame: 0,
            next_call: 0,
            attempt: Attempt(0),
            spent: Money::ZERO,
            rounds: 0,
            phase: Phase::Listening,
        };
        let effects = request.map_or_else(Vec::new, |request| crew.spoke(request));
        Ok((crew, effects))
    }

    fn step(&mut self, at: Timestamp, event: CrewEvent) -> Vec<CrewEffect> {
        self.last = self.last.max(at);
        match event {
            CrewEvent::UserSpoke { text } => self.spoke(text),
            CrewEvent::ModelAnswered { frame, attempt, answer, cost } => {
                self.spent += cost;
                self.answered(frame, attempt, *answer, cost)
            }
            CrewEvent::ModelFailed { frame, attempt, trouble, cost } => {
                self.spent += cost;
                self.failed(frame, attempt, trouble)
            }
            CrewEvent::BudgetRefused { frame, attempt, spent, cap } => match self.awaited(frame, attempt) {
                Some(_) => self.end(CrewOutcome::Aborted { cause: CrewAbort::Day { spent, cap } }),
                None => vec![],
            },
            CrewEvent::ToolFinished { call, outcome, cost, result } => self.tool_finished(call, outcome, cost, result),
            CrewEvent::ActionStarted { call, key } => self.action_started(call, key),
            CrewEvent::DelegationOpened { frame, base, problem } => {
                let Some(own) = self.frames.get_mut(&frame) else { return vec![] };
                if !matches!(own.state, FrameState::Opening { .. }) {
                    return vec![];
                }
                own.base = base;
                if let Some(problem) = problem {
                    own.evidence.push(ToolEvidence::error("workspace", problem.clone()));
                    return self.finish_frame(frame, Ending { content: problem, ..Ending::default() });
                }
                self.ask(frame)
            }
            CrewEvent::DelegationChecked { frame, unmet, evidence } => {
                let Some(own) = self.frames.get_mut(&frame) else { return vec![] };
                let FrameState::Checking { ending } = &own.state else { return vec![] };
                let ending = ending.clone();
                own.evidence.extend(evidence);
                self.conclude(frame, &ending, unmet)
            }
            CrewEvent::Decided { call, decision } => {
                let mut effects = self.decided(call, decision);
                if let Some(frame) = self.frame_of(call) {
                    effects.extend(self.advance(frame));
                }
                effects
            }
            CrewEvent::Compacted { frame, attempt, summary, cost } => {
                self.spent += cost;
                let limit = self.config.compact_at;
                let Some(own) = self.awaited(frame, attempt) else { return vec![] };
                own.conversation.compact(&summary, limit);
                self.ask(frame)
            }
            CrewEvent::Reviewed { attempt, doubts, cost } => {
                self.spent += cost;
                self.reviewed(attempt, doubts)
            }
            CrewEvent::StopRequested { stop } => self.stop(stop),
            CrewEvent::Resumed { lost, max_cost, max_rounds, moved } => {
                self.spent += lost;
                let is_moved = moved.is_some();
                moved.into_iter().for_each(|moved| self.moved(*moved));
                self.config.max_cost = max_cost.or(self.config.max_cost);
                self.config.max_rounds = max_rounds.unwrap_or(self.config.max_rounds);
                self.resume(is_moved)
            }
            CrewEvent::CrewStarted { .. } | CrewEvent::CrewFinished { .. } => vec![],
        }
    }

    fn outcome(&self) -> Option<&CrewOutcome> {
        match &self.phase {
            Phase::Done(outcome) => Some(outcome),
            Phase::Working | Phase::Reviewing { .. } | Phase::Listening => None,
        }
    }
}

fn meta_name(agent: &str) -> String {
    let mut letters = agent.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    format!("delegateTo{}{}", first.map(String::from).unwrap_or_default(), letters.as_str())
}

fn error_result(call: &ToolCall, content: String) -> ToolResult {
    ToolResult { id: call.id.clone(), content, is_error: true }
}

fn text_of(parts: &[ralph_llm::Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        ralph_llm::Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
