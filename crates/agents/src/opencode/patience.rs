//! How long OpenCode is let try the same again. It has no limit of its own for some of it: a context that stays too long is
//! summarised and asked again for ever, an answer that breaks off is asked for anew for ever, and a wait that the service asks
//! for is waited out in silence, be it days.

use ralph_model::{Millis, Timestamp};

/// Requests of one message that were refused. OpenCode makes six, over more than a minute; the fifth comes half a minute
/// after the first.
const MAX_REFUSED: u32 = 5;
/// Answers to one message that broke off, of which nothing tells but the next request.
const MAX_CUT: u32 = 4;
/// Longer than OpenCode waits by itself between the requests that it is let make.
const MAX_WAIT: Millis = Millis::secs(30);
/// Contexts that were too long, with no tool call in between; and in all.
const MAX_OVERFLOWS: u32 = 3;
const MAX_OVERFLOWS_IN_ALL: u32 = 10;
/// Answers in a row that broke off, with no tool call in between.
const MAX_BROKEN: u32 = 5;

/// What was tried again, and how often.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// Requests of this message, as the log tells them.
    requests: u32,
    /// Answers of this message that began, as the events tell them.
    begun: u32,
    /// Requests of this message that the log says were refused.
    refused: u32,
    /// The last request was refused, and no other was made since.
    waits_since: Option<Timestamp>,
    overflows: u32,
    overflows_in_all: u32,
    broken: u32,
}

impl Patience {
    /// Another message is asked for.
    pub(super) fn asks_anew(&mut self) {
        *self = Self {
            overflows: self.overflows,
            overflows_in_all: self.overflows_in_all,
            broken: self.broken,
            ..Self::default()
        };
    }

    /// A request is made. Whether it is one that was made before.
    pub(super) fn requests(&mut self) -> Again {
        self.requests = self.requests.saturating_add(1);
        self.waits_since = None;
        if self.requests > 1 { Again::Yes } else { Again::No }
    }

    /// An answer begins, of this message or of another one.
    pub(super) const fn begins(&mut self, again: Again) {
        self.begun = match again {
            Again::Yes => self.begun.saturating_add(1),
            Again::No => 1,
        };
    }

    /// A request was refused.
    pub(super) const fn refused(&mut self, now: Timestamp) {
        self.refused = self.refused.saturating_add(1);
        self.waits_since = Some(now);
    }

    /// The context was too long.
    pub(super) const fn overflowed(&mut self) {
        self.overflows = self.overflows.saturating_add(1);
        self.overflows_in_all = self.overflows_in_all.saturating_add(1);
        self.waits_since = None;
    }

    /// A tool was called: something went on.
    pub(super) const fn works(&mut self) {
        self.overflows = 0;
        self.broken = 0;
    }

    /// An answer ended as it should, or broke off.
    pub(super) fn answered(&mut self, whole: Whole) {
        self.asks_anew();
        self.broken = if whole == Whole::Yes { 0 } else { self.broken.saturating_add(1) };
    }

    /// The session is over, whatever was being tried.
    pub(super) const fn gives_up(&mut self) {
        self.waits_since = None;
    }

    /// Why there is no sense in waiting any longer, if there is none.
    pub(super) fn ends(&self, now: Timestamp) -> Option<Hopeless> {
        let cut = self.requests.max(self.begun).saturating_sub(1);
        let waits = self.waits_since.is_some_and(|since| now.since(since) > MAX_WAIT);
        if self.overflows >= MAX_OVERFLOWS || self.overflows_in_all >= MAX_OVERFLOWS_IN_ALL {
            Some(Hopeless::Overflow(self.overflows_in_all))
        } else if self.broken >= MAX_BROKEN {
            Some(Hopeless::Broken(self.broken))
        } else if self.refused >= MAX_REFUSED || (cut >= MAX_CUT && self.refused < cut) {
            Some(Hopeless::Failed(self.refused.max(cut)))
        } else if waits {
            Some(Hopeless::Waits)
        } else {
            None
        }
    }
}

/// Whether a request was made before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Yes,
    No,
}

/// Whether an answer ended as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    Yes,
    No,
}

/// Why there is no sense in waiting any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hopeless {
    /// The context was too long this often.
    Overflow(u32),
    /// This many answers in a row broke off.
    Broken(u32),
    /// This many requests in a row failed.
    Failed(u32),
    /// It waits for longer than it would by itself.
    Waits,
}

#[cfg(test)]
#[path = "patience_tests.rs"]
mod tests;
