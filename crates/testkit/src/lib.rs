//! What Ralph's tests share: an obedient agent, an obedient model, throwaway repositories, fixtures that fail, and a look at
//! the process table.
//!
//! Only ever a dev-dependency. Nothing here knows how Ralph works: it makes the world that Ralph runs in and looks at it
//! from outside. A helper that fails panics with a sentence, because a test has no caller to hand an error to.
//!
//! ```text
//! use ralph_testkit::{Repo, Script, Step, agent_command};
//!
//! let repo = Repo::fixture("fixable-bug/python");
//! let script = Script::new()
//!     .run([Step::write("notes.txt", "thinking"), Step::claim()]) // the first run lies
//!     .run([Step::run(repo.fix_command()), Step::claim()]); // the second one works
//! let path = script.save(repo.outside());
//! let line = agent_command(&path); // for `ralph run --agent-command`
//! ```

mod binary;
mod canary;
mod fingerprint;
mod fixture;
pub mod model;
pub mod network;
pub mod postgres;
mod processes;
mod repo;
mod scratch;
mod script;
mod shorthand;
mod step;

pub use binary::{agent_command, agent_command_with_prompt_file, scripted_agent, shell_quoted};
pub use canary::{CANARIES, plant_canaries};
pub use fingerprint::Fingerprint;
pub use fixture::Fixture;
pub use model::ScriptedModel;
pub use processes::{Process, Processes};
pub use repo::{Repo, git_environment};
pub use scratch::scratch;
pub use script::{LoadError, Script, StdinUse};
pub use step::{
    Channel, Child, CostReport, Encoding, FileText, Flood, HOSTILE_ESCAPES, INVALID_UTF8, Lines, Rhythm, Session,
    SignalName, Stdout, Step,
};
