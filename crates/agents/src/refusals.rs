//! How one program tells that its service refused, as a table. What all programs pass on alike is in `trouble`.

use ralph_model::{Trouble, TroubleKind};

/// The names and words of one program, and what a person can do.
pub(crate) struct Refusals {
    /// Its names for failures. None is a failure of the run that neither time nor a person at the service can repair.
    pub(crate) names: &'static [(&'static str, Option<TroubleKind>)],
    /// Words that only this program has, in lower case; the more telling ones first.
    pub(crate) words: &'static [(&'static str, TroubleKind)],
    /// How to log in.
    pub(crate) login: &'static str,
    /// How to get credit, where it is known.
    pub(crate) credit: Option<&'static str>,
    /// How to choose a model.
    pub(crate) model: &'static str,
}

impl Refusals {
    /// What a name stands for, if it is known.
    pub(crate) fn named(&self, name: &str) -> Option<Option<TroubleKind>> {
        self.names.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// What the program's own words stand for. In lower case.
    pub(crate) fn said(&self, lower: &str) -> Option<TroubleKind> {
        self.words.iter().find(|(known, _)| lower.contains(known)).map(|(_, kind)| *kind)
    }

    /// What a person can do.
    pub(crate) const fn advice(&self, kind: TroubleKind) -> Option<&'static str> {
        match kind {
            TroubleKind::Authentication => Some(self.login),
            TroubleKind::OutOfCredit => self.credit,
            TroubleKind::ModelNotFound => Some(self.model),
            TroubleKind::RateLimit
            | TroubleKind::Overload
            | TroubleKind::Unreachable
            | TroubleKind::ContextOverflow
            | TroubleKind::Setup => None,
        }
    }

    /// The trouble with what a person can do about it.
    pub(crate) fn advised(&self, trouble: Trouble) -> Trouble {
        Trouble { advice: self.advice(trouble.kind).map(str::to_owned), ..trouble }
    }
}
