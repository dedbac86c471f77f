//! Journal, engine and effects: a running loop, and what people see of it.
//!
//! Decides nothing that the engine decides. The order is always the same: an event is written down, the engine steps,
//! then its effects are carried out; what people see is derived from the journal and can fail without harm.

mod artifacts;
mod ask;
mod attempts;
mod crew;
mod disk;
mod drive;
mod environments;
mod error;
mod hidden;
mod home;
mod journaled;
mod known;
mod listing;
mod live;
mod moved;
mod notify;
mod open;
mod perform;
mod pinned;
mod project;
mod proof;
mod race;
mod requests;
mod services;
mod session;
mod settings_snapshot;
mod site;
mod stops;
mod worktree;

pub use ask::{Asking, list_tests};
pub use crew::{
    AskPerson, CrewLimits, CrewParts, ExtendTools, OpenedCrew, PushFiles, RunLoop, Unpushed, begin_crew, is_waiting,
    read_crew, resume_crew,
};
pub use error::Error;
pub use home::{Home, LoopFolder};
pub use known::{KnownLoop, read_loop};
pub use listing::{changed_trees, in_session, listed};
pub use moved::Moved;
pub use open::{Opened, Resume, begin, resume, rewound_label};
pub use perform::{builds_before, disk_size, remove_tree};
pub use pinned::{Plan, plan};
pub use proof::verify_run;
pub use race::{OpenedRace, begin_race, read_race, resume_race};
pub use services::{
    AgentSettings, AgentSignals, AgentVariables, BuildAgent, Claimed, CrashPoint, HiddenPaths, Ledger, Services,
    UserGit, Watcher,
};
pub use session::{NextTurn, SessionRecord, SessionStep, TurnReport, begin_session, cancel_session, continue_session};
pub use site::{SiteOptions, TakenSite, take_out_leftovers};
pub use stops::{Stopper, Stops, stops};
