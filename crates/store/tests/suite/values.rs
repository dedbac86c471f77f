//! Runs, events and amounts that the tests use.

use std::ops::RangeInclusive;
use std::path::Path;

use ralph_model::{Attempt, Money, RunId, RunKind, Timestamp};
use ralph_store::{Append, Head, Lease, LeaseHolder, Machine, NewEvent, NewRun, Reserve, StoreHandle};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) const DAY: &str = "2026-11-15";
pub(crate) const DAY_CAP: Money = Money::dollars(5);

/// In memory where the machine has such a place: most tests are about rows, not about the disk.
pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

pub(crate) fn id(number: u128) -> RunId {
    RunId::from_uuid(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number))
}

pub(crate) fn event(payload: String) -> NewEvent {
    NewEvent { at: Timestamp(1_000), version: 1, kind: "test".to_owned(), payload }
}

pub(crate) fn numbered(number: i64) -> NewEvent {
    NewEvent { at: Timestamp(1_000 + number), ..event(format!(r#"{{"iteration":{number}}}"#)) }
}

pub(crate) fn events(numbers: RangeInclusive<i64>) -> Append {
    Append { events: numbers.map(numbered).collect(), ..Append::default() }
}

pub(crate) fn reserve(attempt: u32, want: Money) -> Reserve {
    Reserve { day: DAY.to_owned(), attempt: Attempt(attempt), want, day_cap: DAY_CAP, pool: None }
}

pub(crate) fn machine(host: &str) -> Machine {
    Machine { host: host.to_owned(), boot: format!("boot of {host}") }
}

pub(crate) fn holder(pid: u32) -> LeaseHolder {
    LeaseHolder { machine: machine("host"), pid, until: Timestamp(31_000) }
}

pub(crate) fn new_run(id: RunId) -> NewRun {
    NewRun {
        id,
        kind: RunKind::Loop,
        parent: None,
        workspace: "/work/project".to_owned(),
        origin: None,
        objective: "survive".to_owned(),
        agent: "command".to_owned(),
        skill: None,
        holder: Some(holder(4711)),
        at: Timestamp(1_000),
    }
}

/// A run with events 1 to `last`.
pub(crate) async fn started(store: &StoreHandle, id: RunId, last: i64) -> (Lease, Head) {
    let (lease, head) = store.create_run(new_run(id), numbered(1)).await.unwrap();
    (lease, store.append(lease, head.seq, events(2..=last)).await.unwrap())
}
