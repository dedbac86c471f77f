//! What `/proc` says about processes, and signals to them. Chooses no victim: callers do.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// One process at the moment when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    pub(crate) state: State,
    pub(crate) own_ticks: u64,
    /// Processor time of those of its children that it waited for, in clock ticks.
    pub(crate) children_ticks: u64,
    /// When it started, in clock ticks since boot: with the number it names a process for ever.
    pub(crate) started: u64,
}

/// Names a process even after its number was given to another.
pub(crate) type Identity = (i32, u64);

/// As much of a process's state as matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It can still do something, or could if it were continued.
    Alive,
    /// Its main thread ended. It may wait to be reaped, or have other threads.
    Zombie,
}

impl Process {
    pub(crate) fn identity(&self) -> Identity {
        (self.pid, self.started)
    }

    /// Reads the line of `/proc/PID/stat`.
    fn parse(line: &[u8]) -> Option<Self> {
        // The name may contain anything, blanks and parentheses too: the fields begin after the last one.
        let name_end = line.iter().rposition(|&byte| byte == b')')?;
        let name_start = line.iter().position(|&byte| byte == b'(')?;
        let pid = std::str::from_utf8(&line[..name_start]).ok()?.trim().parse().ok()?;
        let fields: Vec<&str> = std::str::from_utf8(&line[name_end + 1..]).ok()?.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            pid,
            state: match *fields.first()? {
                "Z" | "X" => State::Zombie,
                _ => State::Alive,
            },
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            own_ticks: number(11)?.saturating_add(number(12)?),
            children_ticks: number(13)?.saturating_add(number(14)?),
            started: number(19)?,
        })
    }

    /// Looks at one process; none if there is no such process any more.
    pub(crate) fn look(pid: i32) -> Option<Self> {
        read_small(&format!("/proc/{pid}/stat")).and_then(|line| Self::parse(&line))
    }

    /// Sends a signal to exactly this process.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Some(handle),
            Err(Errno::SRCH) => return Ok(()),
            // Without a handle (an old kernel, no free descriptor) the number alone has to do.
            Err(_) => None,
        };
        // The handle is open now, so the number cannot be given away between this look and the signal.
        if Self::look(self.pid).is_none_or(|now| now.started != self.started) {
            return Ok(());
        }
        let sent = match handle {
            Some(handle) => pidfd_send_signal(handle, signal),
            None => kill_process(pid, signal),
        };
        match sent {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Every process of the machine that can be seen.
pub(crate) fn all() -> io::Result<Vec<Process>> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end between the listing and the look.
        processes.extend(Process::look(pid));
    }
    Ok(processes)
}

/// The children of one process, adopted ones too, without a look at the rest of the machine. Empty where the kernel keeps
/// no list of them.
pub(crate) fn children(parent: i32) -> Vec<Process> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| read_small(&thread.path().join("children").to_string_lossy()));
    let numbers = lists.flat_map(|list| {
        let list = String::from_utf8_lossy(&list);
        list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
    });
    numbers.filter_map(Process::look).filter(|child| child.parent == parent).collect()
}

/// Everything below `root`, without `root`.
pub(crate) fn descendants(root: i32) -> io::Result<Vec<Process>> {
    Ok(below(&all()?, &HashSet::from([root])))
}

/// Those of `processes` whose chain of parents reaches one of `roots`, without the roots.
pub(crate) fn below(processes: &[Process], roots: &HashSet<i32>) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<&Process>> = HashMap::new();
    for process in processes {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut seen = roots.clone();
    let mut open: Vec<i32> = roots.iter().copied().collect();
    while let Some(parent) = open.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            // The listing is no single moment, so a reused number could close a circle.
            if seen.insert(child.pid) {
                found.push(**child);
                open.push(child.pid);
            }
        }
    }
    found
}

/// The processor time that the tree below `root` has used so far, in clock ticks.
pub(crate) fn ticks(root: i32) -> io::Result<u64> {
    let all = all()?;
    // Orphans end as children of the root, so their time is found in its sum.
    let reaped = all.iter().find(|process| process.pid == root).map_or(0, |process| process.children_ticks);
    let living = below(&all, &HashSet::from([root]));
    Ok(living
        .iter()
        .fold(reaped, |sum, process| sum.saturating_add(process.own_ticks).saturating_add(process.children_ticks)))
}

/// The content of a small file; none if it cannot be read.
pub(crate) fn read_small(path: &str) -> Option<Vec<u8>> {
    let mut content = Vec::with_capacity(1024);
    fs::File::open(path).ok()?.read_to_end(&mut content).ok()?;
    Some(content)
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
