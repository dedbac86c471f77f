//! How a run is doing: whether it began, was answered, was refused, and how it said that it ended.

use ralph_model::{Fault, Remedy, Trouble, TroubleKind};

use super::Terminal;

/// Faults of one kind that are worth telling one by one.
pub(super) const MAX_FAULTS: usize = 5;

#[derive(Default)]
pub(super) struct Health {
    /// The model answered at least once.
    pub(super) answered: bool,
    /// It was ended before it asked a service for anything.
    pub(super) unheard: bool,
    /// The program ended without a line where it tells what it does: it never began.
    pub(super) silent: bool,
    pub(super) terminal: Option<Terminal>,
    pub(super) faults: Vec<Fault>,
    pub(super) trouble: Option<Trouble>,
    pub(super) retries: u32,
    pub(super) hopeless: Option<String>,
    pub(super) unwatched: Option<Trouble>,
    /// Lines that were too long to be read.
    pub(super) overlong: u32,
}

impl Health {
    pub(super) fn is_news(&self, fault: &Fault) -> bool {
        let alike = self.faults.iter().filter(|known| known.kind == fault.kind).count();
        alike < MAX_FAULTS && !self.faults.contains(fault)
    }

    /// Whether a trouble weighs more than the known one: what a person can help with weighs more than what time heals, and the
    /// later more than the earlier.
    pub(super) fn weighs_more(&self, trouble: &Trouble) -> bool {
        let needs_person = |kind: TroubleKind| kind.remedy() == Remedy::Person;
        self.trouble.as_ref().is_none_or(|known| {
            let is_lighter = needs_person(known.kind) && !needs_person(trouble.kind);
            let says_less = known.kind == trouble.kind && trouble.until.is_none() && known.until.is_some();
            !is_lighter && !says_less
        })
    }

    /// Whether the service refused what only time can heal, and has not answered since.
    pub(super) fn is_refused(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| trouble.kind.remedy() == Remedy::Wait)
    }
}
