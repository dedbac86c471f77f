//! The store among real processes: killed ones, racing ones, and a disk without room.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)] // a failed test is to stop at once

mod crash;
mod full;
mod helper;
mod race;

use std::path::Path;

use ralph_model::{LoopId, Timestamp};
use ralph_store::{NewEvent, NewLoop};
use tempfile::TempDir;
use uuid::Uuid;

fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

fn id(number: u128) -> LoopId {
    LoopId::from_uuid(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number))
}

fn event(payload: String) -> NewEvent {
    NewEvent { at: Timestamp(1_000), version: 1, kind: "test".to_owned(), payload }
}

fn new_loop(id: LoopId) -> NewLoop {
    NewLoop {
        id,
        workspace: "/work/project".to_owned(),
        objective: "survive".to_owned(),
        agent: "command".to_owned(),
        skill: None,
        pid: None,
        at: Timestamp(1_000),
    }
}
