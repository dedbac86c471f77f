//! What a program may write and reach. Enforced by the kernel for the program and everything that it starts, never for
//! Ralph or the reaper.
//!
//! ```text
//!   reaper ──► [bubblewrap ──►] jail: a fork of the reaper, or its program once more ──exec──► program
//!              mounts, network   new session, network, Landlock, descriptors
//! ```
//!
//! - A stage of its own, because nothing that restricts a process can be undone, and the reaper has to stay free to signal
//!   the tree. The reaper forks it while it has a single thread; bubblewrap can only execute it. A restricted thread of the reaper would cost neither, but the program
//!   could trace that thread, and through the memory that it shares with the others it would be out.
//! - The stage knows of no variable of the program before it executes it: a preloaded library would run unrestricted.
//! - bubblewrap stays behind as a process that turns a death by signal into an exit code. It is killed before the stage
//!   becomes the program, which is then a child of the reaper like any other, with its own exit code and its own signals.
//! - No namespace of processes: the supervision finds and counts a tree by the numbers in `/proc`.

mod bubblewrap;
mod jail;
mod landlock;
mod level;
mod mounts;
mod network;
mod plan;
mod probe;
mod stage;

pub use level::{Files, Level, NetworkLevel, ReadLevel};
pub use plan::Unenforceable;
pub use probe::probe;

pub(crate) use jail::{JAIL, Waiting, jail_main};
pub(crate) use stage::{Begun, Stage, begin};

use std::ffi::OsString;
use std::path::PathBuf;

use crate::wire::Jail;

/// The limits of a program and of everything that it starts.
///
/// What holds, by level:
///
/// | | Landlock | Landlock with mounts | bubblewrap |
/// |---|---|---|---|
/// | write, truncate, create, remove, rename, link outside of `writable` | refused | refused | refused |
/// | change of mode, owner, times, extended attributes there | **possible**, as far as the user may | **possible**, but not below `hidden` | refused |
/// | read and execute outside of `hidden` | possible | possible | possible |
/// | read below `hidden` | **possible** | there is nothing to be seen | there is nothing to be seen |
/// | connect to a socket that is a file | possible | possible, but not below `hidden` | possible, but not below `hidden` |
/// | signal or trace a process outside, connect to its abstract socket | refused (signals and sockets since version 6) | the same | as the Landlock on top of it |
///
/// - Beside `writable`, `/dev/shm`, pseudo terminals and the devices that hold nothing (`null`, `zero`, …) can be written, and
///   for users other than root `/proc`, where the kernel keeps them to their own processes anyway. Any other device has
///   to be named in `writable`.
/// - No privileges can be gained: `sudo` and `su` do not work for users other than root, nothing can be mounted, and root
///   cannot enter namespaces or load anything into the kernel. Sandboxes inside this one work only where they need none of it.
/// - A hard link that was made before leads out of `writable`; inside none can be made to a file outside.
/// - With a network or mounts of its own, a user other than root runs in a user namespace in which only that user exists: files
///   of others seem to belong to `nobody`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// Files and folders that may be written with all that is below, as absolute paths. Links are followed when the
    /// program starts, so no path may lead through a folder that an untrusted program can write, unless that folder is
    /// in the list itself. What does not exist then is left out: create what the program shall be able to create. A file that is
    /// named can be changed in place, but not be replaced by another.
    pub writable: Vec<PathBuf>,
    /// Files and folders whose content the program shall not see, except what is writable below. Without mounts Landlock can
    /// only protect them from being written, and only where they are not below something writable: see [`Sandbox::check`].
    pub hidden: Vec<PathBuf>,
    pub network: Network,
    /// By what means, as [`probe()`] found. What the machine does not have is not enforced; what it was found to have and
    /// refuses later keeps the program from being started.
    pub level: Level,
}

/// What a program can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    Allowed,
    /// Itself: a loopback of its own tree, and nothing outside.
    Loopback,
    /// Itself, and these ports of this machine's loopback at the same ports of its own; at least one, and none of them zero.
    Ports(Vec<u16>),
}

/// What a program needs before its request is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// No stage, or one in bubblewrap, which has to know the paths first.
    Nothing,
    Stage,
    /// A stage with a network of its own.
    Network,
}

impl Need {
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::Stage, Self::Network];

    pub(crate) const fn of(jail: Option<&Jail>) -> Self {
        match jail {
            None | Some(Jail { bubblewrap: Some(_), .. }) => Self::Nothing,
            Some(Jail { network: Network::Allowed, .. }) => Self::Stage,
            Some(_) => Self::Network,
        }
    }
}

impl Sandbox {
    /// Whether the level can keep what is promised about these paths. A run with a sandbox that cannot is not started.
    ///
    /// # Errors
    ///
    /// Names the paths that contradict each other.
    pub fn check(&self) -> Result<(), Unenforceable> {
        match self.jail(Vec::new()) {
            Some(jail) => plan::plan(&jail).map(drop),
            None => Ok(()),
        }
    }

    /// What the reaper has to do; none if this level has nothing to offer.
    pub(crate) fn jail(&self, arguments: Vec<OsString>) -> Option<Jail> {
        let (bubblewrap, landlock) = match &self.level.files {
            Files::Bubblewrap { program, landlock } => (Some(program.clone()), *landlock),
            Files::Landlock { version } => (None, Some(*version)),
            Files::Open { .. } => (None, None),
        };
        let network = match &self.level.network {
            NetworkLevel::Namespace => self.network.clone(),
            NetworkLevel::Open { .. } => Network::Allowed,
        };
        let own_mounts = bubblewrap.is_none() && landlock.is_some() && self.level.reads == ReadLevel::Hidden;
        if bubblewrap.is_none() && landlock.is_none() && network == Network::Allowed {
            return None;
        }
        let (writable, hidden) = (self.writable.clone(), self.hidden.clone());
        Some(Jail { arguments, bubblewrap, landlock, own_mounts, network, writable, hidden })
    }
}
