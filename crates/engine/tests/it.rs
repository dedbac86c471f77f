//! Replays journals of earlier Ralphs through the public interface.

// Tests may fail loudly, and the journals are files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, missing_docs)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ralph_engine::{Alert, Event, JournalEvent as _, Loop};
use ralph_model::{Millis, Money, Outcome, Timestamp};
use serde::Deserialize;

#[derive(Deserialize)]
struct First {
    expect: Expected,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Expected {
    outcome: Option<Outcome>,
    iterations: usize,
    interrupted: usize,
    spent: Money,
    false_claims: u32,
    active_millis: Millis,
    alerts: BTreeSet<Alert>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    at: Timestamp,
    version: u32,
    phase: String,
    event: serde_json::Value,
}

fn journals() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut journals: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    journals.sort();
    journals
}

/// Replays one journal, comparing the phase after each event.
fn replay(path: &Path) -> (Expected, Loop) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let expected = serde_json::from_str::<First>(lines.next().unwrap()).unwrap().expect;
    let mut run: Option<Loop> = None;
    for (place, line) in lines.enumerate() {
        let line: Line = serde_json::from_str(line).unwrap();
        let event = Event::decode(line.version, &line.event.to_string()).unwrap();
        let kind = event.kind();
        match &mut run {
            None => run = Some(Loop::start(line.at, event).unwrap().0),
            Some(run) => _ = run.step(line.at, event),
        }
        let phase = run.as_ref().unwrap().phase().name();
        assert_eq!(phase, line.phase, "{}: event {}, {kind}", path.display(), place + 1);
    }
    (expected, run.unwrap())
}

#[test]
fn old_journals_mean_what_they_meant() {
    for path in journals() {
        let (expected, run) = replay(&path);
        let facts = run.facts();
        let found = Expected {
            outcome: run.outcome().cloned(),
            iterations: facts.iterations.len(),
            interrupted: facts.iterations.iter().filter(|record| record.interrupted).count(),
            spent: facts.spent,
            false_claims: facts.false_claims(),
            active_millis: facts.active,
            alerts: facts.alerts.clone(),
        };
        // What a journal of an older version says in a sentence is compared by its reason.
        match (run.outcome(), &expected.outcome) {
            (Some(found), Some(record)) => {
                assert!(found.agrees_with(record), "{}: {found:?}, {record:?}", path.display());
            }
            (found, record) => assert_eq!(found, record.as_ref(), "{}", path.display()),
        }
        let expected = Expected { outcome: found.outcome.clone(), ..expected };
        assert_eq!(found, expected, "{}", path.display());
    }
}

#[test]
fn the_known_journals_are_all_there() {
    let names: Vec<String> =
        journals().iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    for name in ["completed", "cost-limit", "interrupted-resumed", "prohibited", "stall"] {
        assert!(names.contains(&format!("v1-{name}")), "{name} is missing from {names:?}");
    }
}
