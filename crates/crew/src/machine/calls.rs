//! Tool calls: what each one is decides what has to be done.

use ralph_llm::{Arguments, Message, ToolCall, ToolResult};
use ralph_model::{Delegation, DelegationResult, Money, ToolEvidence};

use super::{CallId, Crew, DelegationRecord, Phase, error_result};
use crate::agent_file::AgentFile;
use crate::event::{Approve, CrewEffect, Decision, FrameId, Question};
use crate::frame::{Call, CallState, Ending, FrameState, cut};
use crate::meta::{self, Meta};
use crate::stream::StreamEvent;
use ralph_tools::{Effect as ToolEffect, Outcome as ToolOutcome};

/// Calls of one answer that are carried out.
const MAX_CALLS: usize = 32;

impl Crew {
    /// Carries out the calls of a frame, one after the other, and asks its model again after the last.
    pub(super) fn advance(&mut self, id: FrameId) -> Vec<CrewEffect> {
        let mut effects = Vec::new();
        loop {
            if self.phase != Phase::Working {
                return effects;
            }
            let Some(frame) = self.frames.get_mut(&id) else { return effects };
            let FrameState::Calling { calls } = &mut frame.state else { return effects };
            let next = calls.iter().position(|call| !matches!(call.state, CallState::Done(_)));
            let Some(at) = next else {
                let results = calls.drain(..).filter_map(|call| match call.state {
                    CallState::Done(result) => Some(result),
                    _ => None,
                });
                let results = results.collect();
                frame.conversation.push(Message::Results(results));
                effects.extend(self.ask(id));
                return effects;
            };
            if calls[at].state != CallState::Waiting {
                return effects;
            }
            let call = calls[at].clone();
            if at >= MAX_CALLS {
                let why = format!("not carried out: one answer may call at most {MAX_CALLS} tools");
                if at == MAX_CALLS {
                    frame.evidence.push(ToolEvidence::error(call.tool.name.clone(), why.clone()));
                }
                calls[at].state = CallState::Done(error_result(&call.tool, why));
                continue;
            }
            effects.extend(self.begin(id, &call));
        }
    }

    /// Begins one call: what it is decides what has to be done.
    pub(super) fn begin(&mut self, id: FrameId, call: &Call) -> Vec<CrewEffect> {
        let (name, Some(agent)) = (call.tool.name.clone(), self.agent_of(id)) else { return vec![] };
        let told = CrewEffect::Tell(StreamEvent::ToolCall {
            agent: agent.name.clone(),
            tool: name.clone(),
            arguments: call.tool.arguments.to_value(),
        });
        let mut effects = vec![told];
        let arguments = match &call.tool.arguments {
            Arguments::Object(arguments) => arguments.clone(),
            Arguments::Broken(text) => {
                let why = format!("the arguments are not a JSON object: {}", cut(text, 200));
                effects.extend(self.done(id, call, ToolOutcome::failed(why)));
                return effects;
            }
        };
        let tools = self.tools_of(&agent);
        if !tools.contains(&name) {
            let why = format!("there is no tool `{name}` for {}: use {}", agent.title(), tools.join(", "));
            effects.extend(self.done(
                id,
                call,
                ToolOutcome { summary: "no such tool".to_owned(), ..ToolOutcome::failed(why) },
            ));
            return effects;
        }
        if let Some(max) = agent.max_tool_calls.filter(|_| name != "escalateToChapo")
            && self.frames.get(&id).is_some_and(|frame| frame.tool_calls >= max)
        {
            let why = format!("not carried out: {} may call at most {max} tools; answer now", agent.title());
            effects.extend(self.done(id, call, ToolOutcome::failed(why)));
            return effects;
        }
        if meta::is_meta(&name) {
            match meta::parse(&name, &arguments, &self.config) {
                Ok(meta) => effects.extend(self.decide(id, call, meta)),
                Err(why) => effects.extend(self.done(id, call, ToolOutcome::failed(why))),
            }
            return effects;
        }
        self.count_call(id);
        match (self.config.tools.get(&name), self.config.approve) {
            (Some(ToolEffect::Outward), Approve::Ask) => {
                let text = format!("{name} {}", cut(&call.tool.arguments.to_value().to_string(), 2000));
                let why = self.frames.get(&id).and_then(|frame| frame.delegation.as_ref());
                let why = why.map_or_else(|| self.request().to_owned(), |delegation| delegation.objective.clone());
                effects.extend(self.ask_person(call.id, &agent, text, why, Vec::new(), true));
            }
            (Some(ToolEffect::Outward), Approve::Never) => {
                effects.extend(self.done(id, call, refused("outward actions are switched off (--approve never)")));
            }
            (Some(ToolEffect::Outward), Approve::All) => effects.extend(self.begin_action(call.id)),
            _ => {
                self.set(call.id, CallState::Running);
                effects.push(CrewEffect::CallTool { frame: id, call: call.id, tool: call.tool.clone() });
            }
        }
        effects
    }

    /// Does what a call of a meta tool asks for.
    pub(super) fn decide(&mut self, id: FrameId, call: &Call, meta: Meta) -> Vec<CrewEffect> {
        let Some(agent) = self.agent_of(id) else { return vec![] };
        match meta {
            Meta::Delegate(delegation) => {
                self.count_call(id);
                self.delegate(id, call, vec![*delegation], false)
            }
            Meta::Parallel(delegations) => {
                self.count_call(id);
                self.delegate(id, call, delegations, true)
            }
            Meta::Escalate { reason, result } => {
                self.finish_frame(id, Ending { content: result, escalation: Some(reason), out_of_turns: false })
            }
            Meta::AskUser { question, options } => {
                self.ask_person(call.id, &agent, question, String::new(), options, false)
            }
            Meta::RequestApproval { action, why } => match self.config.approve {
                Approve::Ask => self.ask_person(call.id, &agent, action, why, Vec::new(), true),
                Approve::All => self.done(id, call, approved(None)),
                Approve::Never => self.done(id, call, refused("approvals are switched off (--approve never)")),
            },
            Meta::Respond { answer } => {
                let content = "answered".to_owned();
                self.set(call.id, CallState::Done(ToolResult { id: call.tool.id.clone(), content, is_error: false }));
                self.finish_frame(id, Ending { content: answer, ..Ending::default() })
            }
            Meta::Loop(_) => {
                self.count_call(id);
                self.begin_action(call.id)
            }
        }
    }

    pub(super) fn ask_person(
        &mut self,
        call: CallId,
        agent: &AgentFile,
        text: String,
        why: String,
        options: Vec<String>,
        is_approval: bool,
    ) -> Vec<CrewEffect> {
        let question = Question { call, agent: agent.name.clone(), text, why, options, is_approval };
        self.set(call, CallState::Asking { question: question.clone() });
        let told = match is_approval {
            true => StreamEvent::Approval { question: question.clone() },
            false => StreamEvent::Question { question: question.clone() },
        };
        vec![CrewEffect::Tell(told), CrewEffect::AskPerson { question }]
    }

    /// An outward action is written down before it begins.
    pub(super) fn begin_action(&mut self, call: CallId) -> Vec<CrewEffect> {
        // Unique within the run, and the same after a crash; the driver puts the run before it.
        let key = format!("call-{}", call.0);
        self.set(call, CallState::Beginning { key: key.clone() });
        vec![CrewEffect::BeginAction { call, key }]
    }

    pub(super) fn action_started(&mut self, id: CallId, key: String) -> Vec<CrewEffect> {
        let most = self.most();
        let Some((frame, call)) = self.call(id) else { return vec![] };
        if !matches!(&call.state, CallState::Beginning { .. }) {
            return vec![];
        }
        call.state = CallState::Acting { key };
        let tool = call.tool.clone();
        match tool.name.as_str() {
            "ralph_loop" => vec![CrewEffect::RunLoop { call: id, arguments: tool.arguments.to_value(), most }],
            _ => match self.program_delegation(&tool) {
                Some(delegation) => {
                    self.delegations.push(DelegationRecord::new(&delegation, None));
                    vec![CrewEffect::RunAgent { call: id, delegation: Box::new(delegation), most }]
                }
                None => vec![CrewEffect::CallTool { frame, call: id, tool }],
            },
        }
    }

    /// The delegation of a call that goes to another program.
    pub(super) fn program_delegation(&self, tool: &ToolCall) -> Option<Delegation> {
        let Arguments::Object(arguments) = &tool.arguments else { return None };
        match meta::parse(&tool.name, arguments, &self.config).ok()? {
            Meta::Delegate(delegation) if self.config.agent(&delegation.target).is_none() => Some(*delegation),
            _ => None,
        }
    }

    pub(super) fn decided(&mut self, id: CallId, decision: Decision) -> Vec<CrewEffect> {
        let Some((frame, call)) = self.call(id) else { return vec![] };
        let CallState::Asking { question } = &call.state else { return vec![] };
        let (call, is_approval) = (call.clone(), question.is_approval);
        let outcome = match decision {
            Decision::Approved { comment } if !is_approval => {
                let answer = comment.unwrap_or_else(|| "yes".to_owned());
                ToolOutcome {
                    success: true,
                    summary: cut(&answer, 200).to_owned(),
                    text: answer,
                    ..ToolOutcome::default()
                }
            }
            Decision::Approved { comment } if call.tool.name == "requestApproval" => approved(comment),
            Decision::Approved { .. } => return self.begin_action(id),
            Decision::Refused { comment } => {
                refused(&comment.map_or_else(|| "refused".to_owned(), |comment| format!("refused: {comment}")))
            }
            Decision::Expired => refused("the approval expired before it was answered"),
        };
        self.done(frame, &call, outcome)
    }

    /// A call ended: its outcome becomes evidence and a result.
    pub(super) fn done(&mut self, id: FrameId, call: &Call, outcome: ToolOutcome) -> Vec<CrewEffect> {
        let Some(frame) = self.frames.get_mut(&id) else { return vec![] };
        let name = &call.tool.name;
        if name != "askUser" {
            frame.evidence.push(outcome.evidence(name));
        }
        let told = StreamEvent::ToolResult {
            agent: frame.agent.clone(),
            tool: name.clone(),
            success: outcome.success,
            summary: outcome.summary,
            result: None,
        };
        let result = ToolResult { id: call.tool.id.clone(), content: outcome.text, is_error: !outcome.success };
        self.set(call.id, CallState::Done(result));
        vec![CrewEffect::Tell(told)]
    }

    pub(super) fn tool_finished(
        &mut self,
        id: CallId,
        outcome: ToolOutcome,
        cost: Money,
        result: Option<Box<DelegationResult>>,
    ) -> Vec<CrewEffect> {
        self.spent += cost;
        let Some((frame, call)) = self.call(id) else { return vec![] };
        if !matches!(call.state, CallState::Running | CallState::Acting { .. }) {
            return vec![];
        }
        let call = call.clone();
        // Programs work one at a time, so the newest record of one is that of this call.
        let newest = self.delegations.iter_mut().rev().find(|record| record.frame.is_none());
        if let (Some(record), Some(result)) = (newest, result) {
            record.result = Some(*result);
        }
        let mut effects = self.done(frame, &call, outcome);
        effects.extend(self.advance(frame));
        effects
    }

    pub(super) fn set(&mut self, id: CallId, state: CallState) {
        if let Some((_, call)) = self.call(id) {
            call.state = state;
        }
    }

    pub(super) fn count_call(&mut self, id: FrameId) {
        if let Some(frame) = self.frames.get_mut(&id) {
            frame.tool_calls += 1;
        }
    }

    pub(super) fn agent_of(&self, id: FrameId) -> Option<AgentFile> {
        self.frames.get(&id).and_then(|frame| self.config.agent(&frame.agent)).cloned()
    }
}

fn approved(comment: Option<String>) -> ToolOutcome {
    let text = comment.map_or_else(|| "approved".to_owned(), |comment| format!("approved: {comment}"));
    ToolOutcome::noted(text)
}

fn refused(why: &str) -> ToolOutcome {
    ToolOutcome::failed(format!("not done: {why}"))
}
