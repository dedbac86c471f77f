//! The tool calls of a run: those under way and those that ended. Bounded.

use std::collections::VecDeque;

use ralph_model::ToolEvidence;

use super::joined;

/// Tool calls that are kept one by one.
pub(super) const MAX_CALLS: usize = 500;
/// Calls that are under way at once.
const MAX_OPEN: usize = 64;

#[derive(Default)]
pub(super) struct Calls {
    ended: Vec<ToolEvidence>,
    open: VecDeque<Open>,
    more: u32,
    more_failed: u32,
}

pub(super) struct Open {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) input: String,
}

/// What became of the news that a call began.
pub(super) enum Begun {
    /// It was known already; some programs tell the input bit by bit.
    Known,
    /// It is under way. The oldest one had to make room for it.
    New { forgotten: Option<Open> },
}

impl Calls {
    pub(super) fn begin(&mut self, call: Open) -> Begun {
        if let Some(open) = self.open.iter_mut().find(|open| open.id == call.id) {
            if !call.input.is_empty() {
                open.input = call.input;
            }
            return Begun::Known;
        }
        let forgotten = if self.open.len() == MAX_OPEN { self.open.pop_front() } else { None };
        self.open.push_back(call);
        Begun::New { forgotten }
    }

    /// A call that was under way and is no more.
    pub(super) fn end(&mut self, id: &str) -> Option<Open> {
        self.open.iter().position(|open| open.id == id).and_then(|at| self.open.remove(at))
    }

    pub(super) fn keep(&mut self, evidence: ToolEvidence) {
        if self.ended.len() < MAX_CALLS {
            self.ended.push(evidence);
        } else {
            self.more += 1;
            self.more_failed += u32::from(!evidence.success);
        }
    }

    /// How many ended, as far as they are kept.
    pub(super) const fn count(&self) -> usize {
        self.ended.len()
    }

    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whatever is under way has no result any more.
    pub(super) fn cut(&mut self, why: &str) {
        while let Some(open) = self.open.pop_front() {
            self.keep(ToolEvidence::error(open.tool, joined(why, &open.input)));
        }
    }

    /// All of them, and a line for those that are not kept and for lines that could not be read.
    pub(super) fn into_evidence(mut self, overlong: u32) -> Vec<ToolEvidence> {
        if overlong > 0 {
            self.ended.push(ToolEvidence::error("stream", format!("{overlong} lines were too long to be read")));
        }
        if self.more > 0 {
            let (more, failed) = (self.more, self.more_failed);
            self.ended.push(ToolEvidence::ok("more", format!("{more} more calls, {failed} of them failed")));
        }
        self.ended
    }
}
