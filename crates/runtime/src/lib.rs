//! Journal, engine and effects: a running loop, and what people see of it.
//!
//! Decides nothing that the engine decides. The order is always the same: an event is written down, the engine steps,
//! then its effects are carried out; what people see is derived from the journal and can fail without harm.

mod beside;
mod cost_note;
mod drive;
mod error;
mod home;
mod keepsakes;
mod live;
mod machinery;
mod notice;
mod notify;
mod open;
mod perform;
mod pinned;
mod project;
mod proof;
mod race;
mod result;
mod stops;

pub use error::Error;
pub use home::{Home, LoopFolder};
pub use machinery::{AgentSettings, AgentVariables, CrashPoint, Machinery, Watcher};
pub use notice::Notice;
pub use open::{Opened, Resume, begin, read_loop, resume, take_out_leftovers};
pub use pinned::{Plan, plan};
pub use proof::{Finding, Proof, verify_run};
pub use race::{Candidate, OpenedRace, RaceResult, begin_race};
pub use result::{LoopResult, branch_of};
pub use stops::{Stopper, Stops, stops};
