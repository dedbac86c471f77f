//! Decides what a loop does next. Does nothing itself: no clock, file, process, randomness or environment is read here.
//!
//! A [`Loop`] takes one [`Event`] at a time and answers with [`Effect`]s. The driver records each event before it
//! steps, so that the same journal always gives the same loop.

mod claim;
mod decide;
mod delegation;
mod envelope;
mod event;
mod facts;
#[cfg(test)]
#[path = "fixtures_tests.rs"]
mod fixtures;
mod grade;
mod machine;
pub mod phase;
mod prompt;
mod race;
mod rank;
mod run;
mod status;
pub mod text;

pub use claim::{Claim, find_blocked, find_claim};
pub use delegation::{delegation, delegation_result};
pub use envelope::{Envelope, EvidenceLine, Mark};
pub use event::{
    Alert, BEHAVIOUR, DayBudget, DecodeEvent, EVENT_VERSION, Effect, Event, Limits, Lost, Refusal, StartPoint, Stop,
    StopWhen, Wait,
};
pub use facts::{Facts, Hint, IterationRecord, Progress};
pub use grade::{Graded, grade};
pub use machine::Loop;
pub use phase::Phase;
pub use prompt::fence;
// A part of `Stop`.
pub use race::{CandidateEnd, RaceCandidate, RaceEffect, RaceEvent, RaceOutcome, RaceRun, Standing};
pub use ralph_model::StopBy;
pub use run::{JournalEvent, Machine, ReplayError};
pub use status::{Conduct, Judged, derive_status};
