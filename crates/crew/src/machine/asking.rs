//! Asking models: limits, money, and what an answer leads to.

use ralph_llm::{Answer, Message, ToolCall};
use ralph_model::{Attempt, Money, ToolEvidence, Trouble, TroubleKind};

use super::{CallId, Crew, text_of};
use crate::event::{CrewAbort, CrewEffect, CrewError, CrewOutcome, FrameId};
use crate::frame::{Call, CallState, Ending, Frame, FrameState, cut};

/// Answers with nothing in them that are asked for again.
const MAX_SILENT: u32 = 2;

impl Crew {
    /// What one more request to a model may cost at most: an equal part of what is left for each agent that could ask now.
    pub(super) fn most(&self) -> Option<Money> {
        let held = |frame: &Frame| match &frame.state {
            FrameState::Asking { most, .. } | FrameState::Compacting { most, .. } => most.unwrap_or_default(),
            _ => Money::ZERO,
        };
        let max = self.config.max_cost?;
        let left = max.less(self.spent).less(self.frames.values().map(held).sum());
        let waiting = self.frames.values().filter(|frame| {
            !frame.calls().iter().any(|call| matches!(call.state, CallState::Delegating { .. }))
                && !matches!(frame.state, FrameState::Asking { .. } | FrameState::Compacting { .. } | FrameState::Idle)
        });
        let share = i64::try_from(waiting.count().max(1)).unwrap_or(1);
        Some(Money::from_micros((left.micros() / share).max(1)))
    }

    /// Asks the model of a frame, unless a limit is reached.
    pub(super) fn ask(&mut self, id: FrameId) -> Vec<CrewEffect> {
        if let Some(max) = self.config.max_cost.filter(|max| self.spent >= *max) {
            return self.end(CrewOutcome::Aborted { cause: CrewAbort::Cost { spent: self.spent, max } });
        }
        let most = self.most();
        let limit = self.config.compact_at;
        let max_turns = match id {
            FrameId::ROOT => self.config.max_rounds,
            _ => self.frames.get(&id).and_then(|frame| self.config.agent(&frame.agent)).map_or(1, |own| own.max_turns),
        };
        let Some(frame) = self.frames.get_mut(&id) else { return vec![] };
        if frame.turns >= max_turns {
            return self.out_of_turns(id, max_turns);
        }
        if let Some(note) = frame.note.take() {
            frame.conversation.push(Message::User(note.to_owned()));
        }
        self.attempt = self.attempt.next();
        let attempt = self.attempt;
        if frame.conversation.is_too_long(limit) {
            frame.state = FrameState::Compacting { attempt, most };
            return vec![CrewEffect::Compact { frame: id, attempt, most }];
        }
        frame.state = FrameState::Asking { attempt, most };
        vec![CrewEffect::Ask { frame: id, attempt, most }]
    }

    pub(super) fn out_of_turns(&mut self, id: FrameId, max: u32) -> Vec<CrewEffect> {
        if id == FrameId::ROOT {
            return self.end(CrewOutcome::Aborted { cause: CrewAbort::Rounds { max } });
        }
        let Some(frame) = self.frames.get(&id) else { return vec![] };
        let said = frame.conversation.messages().iter().rev().find_map(|message| match message {
            Message::Assistant(parts) => Some(text_of(parts)).filter(|text| !text.is_empty()),
            _ => None,
        });
        let content = said.unwrap_or_else(|| format!("ended after {max} turns without a report"));
        self.finish_frame(id, Ending { content, escalation: None, out_of_turns: true })
    }

    /// The frame, if it waits for this attempt.
    pub(super) fn awaited(&mut self, id: FrameId, wanted: Attempt) -> Option<&mut Frame> {
        self.frames.get_mut(&id).filter(|frame| match frame.state {
            FrameState::Asking { attempt, .. } | FrameState::Compacting { attempt, .. } => attempt == wanted,
            _ => false,
        })
    }

    pub(super) fn answered(&mut self, id: FrameId, attempt: Attempt, answer: Answer, cost: Money) -> Vec<CrewEffect> {
        let Some(frame) = self.awaited(id, attempt) else { return vec![] };
        frame.turns += 1;
        if let Some(tokens) = answer.tokens {
            frame.usage.input_tokens += tokens.read();
            frame.usage.output_tokens += tokens.output;
        }
        *frame.usage.cost.get_or_insert_default() += cost;
        let text = answer.text();
        let calls: Vec<ToolCall> = answer.calls().cloned().collect();
        let is_empty = text.trim().is_empty() && calls.is_empty();
        if !is_empty {
            frame.silent = 0;
            frame.conversation.push(Message::Assistant(answer.parts));
            answer.tokens.into_iter().for_each(|tokens| frame.conversation.count(tokens));
        }
        if id == FrameId::ROOT {
            self.rounds += 1;
        }
        if is_empty {
            return self.silent(id);
        }
        if calls.is_empty() {
            return self.finish_frame(id, Ending { content: text, ..Ending::default() });
        }
        let calls: Vec<Call> = calls
            .into_iter()
            .map(|tool| {
                self.next_call += 1;
                Call { id: CallId(self.next_call), tool, state: CallState::Waiting }
            })
            .collect();
        if let Some(frame) = self.frames.get_mut(&id) {
            frame.state = FrameState::Calling { calls };
        }
        self.advance(id)
    }

    /// An answer with nothing in it.
    pub(super) fn silent(&mut self, id: FrameId) -> Vec<CrewEffect> {
        let Some(frame) = self.frames.get_mut(&id) else { return vec![] };
        frame.silent += 1;
        match frame.silent > MAX_SILENT {
            false => {
                let nudge = "Your last answer was empty. Call a tool, or answer in words.";
                if !matches!(frame.conversation.messages().last(), Some(Message::User(text)) if text == nudge) {
                    frame.conversation.push(Message::User(nudge.to_owned()));
                }
                self.ask(id)
            }
            true if id == FrameId::ROOT => self.end(CrewOutcome::Failed { cause: CrewError::Silent }),
            true => self.finish_frame(id, Ending::default()),
        }
    }

    pub(super) fn failed(&mut self, id: FrameId, attempt: Attempt, trouble: Trouble) -> Vec<CrewEffect> {
        let limit = self.config.compact_at;
        let Some(frame) = self.awaited(id, attempt) else { return vec![] };
        // What the model reads is shorter than was thought: a summary helps, once.
        if trouble.kind == TroubleKind::ContextOverflow && frame.conversation.messages().len() > 3 {
            let before = frame.conversation.tokens();
            let transcript = frame.conversation.transcript(0);
            frame.conversation.compact(cut(&transcript, usize::try_from(limit).unwrap_or(usize::MAX)), 0);
            if frame.conversation.tokens() < before {
                return self.ask(id);
            }
        }
        let Some(frame) = self.frames.get_mut(&id) else { return vec![] };
        if id == FrameId::ROOT {
            return self.end(CrewOutcome::Failed { cause: CrewError::Model { trouble } });
        }
        frame.evidence.push(ToolEvidence::error("model", trouble.message.clone()));
        let content = format!("the model could not be asked: {}", trouble.message);
        self.finish_frame(id, Ending { content, ..Ending::default() })
    }
}
