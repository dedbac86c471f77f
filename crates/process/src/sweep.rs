//! Ends a tree whose reaper is dead, when the chain of parents no longer leads to it. Touches no other process.
//!
//! A program runs with the rights of its user, so it can kill its own reaper. Its tree is then known by a mark in the
//! environment that every process inherits, by the session that the program led, and by descent from either. A death
//! signal cannot help: it would have to be set in the child between fork and exec, and only its direct child would get it.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::tree::{self, Identity, Process, State};

/// The environment variable that marks every process of a tree. Its value is unique to a run.
pub const TREE_VARIABLE: &str = "RALPH_TREE";

/// After this long without success, killing what is left is given up.
const GIVE_UP_AFTER: Duration = Duration::from_secs(5);

/// What a tree is known by.
pub(crate) struct Mark<'a> {
    pub(crate) tree: &'a str,
    pub(crate) session: Option<i32>,
}

impl Mark<'_> {
    /// Everything that bears the mark, and everything below that.
    fn find(&self) -> io::Result<Vec<Process>> {
        let entry = format!("{TREE_VARIABLE}={}", self.tree);
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let all = tree::all()?;
        let mut found: Vec<Process> =
            all.iter().filter(|process| self.marks(process, entry.as_bytes())).copied().collect();
        let roots: HashSet<i32> = found.iter().map(|process| process.pid).collect();
        found.extend(tree::below(&all, &roots));
        found.retain(|process| process.pid > 1 && process.pid != own);
        Ok(found)
    }

    fn marks(&self, process: &Process, entry: &[u8]) -> bool {
        Some(process.session) == self.session
            || tree::read_small(&format!("/proc/{}/environ", process.pid))
                .is_some_and(|environment| environment.split(|&byte| byte == 0).any(|variable| variable == entry))
    }
}

/// Kills everything that bears the mark. Gives how many processes that were, or those that could not be ended.
pub(crate) async fn end(mark: &Mark<'_>) -> Result<u32, Vec<i32>> {
    let since = Instant::now();
    let mut ended: HashSet<Identity> = HashSet::new();
    let mut empty = 0;
    // A process that forks and exits at the right moment can be missed once; twice in a row it would have to be lucky.
    while empty < 2 {
        let found = mark.find().unwrap_or_default();
        // Stopped first, so that none forks while the others are killed. Refusals show in what is left at the end.
        for signal in [Signal::STOP, Signal::KILL] {
            for process in &found {
                let _ = process.signal(signal);
            }
        }
        let living: Vec<&Process> = found.iter().filter(|process| process.state == State::Alive).collect();
        ended.extend(living.iter().map(|process| process.identity()));
        empty = if living.is_empty() { empty + 1 } else { 0 };
        if since.elapsed() >= GIVE_UP_AFTER {
            return Err(living.iter().map(|process| process.pid).collect());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(u32::try_from(ended.len()).unwrap_or(u32::MAX))
}
