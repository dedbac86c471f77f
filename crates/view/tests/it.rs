//! Folds journals of earlier Ralphs into views, and keeps the schema of the views up to date.

// Tests may fail loudly, and the journals are files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, missing_docs)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ralph_engine::{Event, JournalEvent as _};
use ralph_model::{LoopId, Timestamp};
use ralph_view::{Delta, RaceResult, RunFold, RunResult, RunView, Update, What};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Line {
    at: Timestamp,
    version: u32,
    event: Value,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/journals")
}

fn loop_id() -> LoopId {
    "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap()
}

/// Folds one journal: the run, and what each of its events sends to those who watch.
fn fold(path: &Path) -> (RunFold, Vec<Update>) {
    fold_text(&std::fs::read_to_string(path).unwrap())
}

fn fold_text(text: &str) -> (RunFold, Vec<Update>) {
    let (mut fold, mut updates): (Option<RunFold>, Vec<Update>) = (None, Vec::new());
    for (place, line) in text.lines().skip(1).enumerate() {
        let Line { at, version, event } = serde_json::from_str(line).unwrap();
        let event = Event::decode(version, &event.to_string()).unwrap();
        let deltas = match &mut fold {
            Some(fold) => fold.apply(at, event),
            None => {
                let (started, deltas) = RunFold::start(loop_id(), at, event).unwrap();
                fold = Some(started);
                deltas
            }
        };
        let state = Box::new(fold.as_ref().unwrap().state());
        let what = What::Recorded { seq: place as u64 + 1, at, state, deltas };
        updates.push(Update { run: Some(loop_id()), candidate: None, what });
    }
    (fold.unwrap(), updates)
}

/// What a journal looks like to those who watch, in a few words for each event.
fn watched(updates: &[Update]) -> String {
    let mut text = String::new();
    for update in updates {
        let What::Recorded { seq, state, deltas, .. } = &update.what else { panic!("only events were folded") };
        let told: Vec<String> = deltas.iter().map(told).collect();
        let (phase, cost, failing) = (&state.phase, state.cost, &state.failing);
        writeln!(text, "{seq} {phase} iteration {} {cost} {failing:?} [{}]", state.iteration, told.join(", ")).unwrap();
    }
    text
}

fn told(delta: &Delta) -> String {
    let kind = serde_json::to_value(delta).unwrap()["kind"].as_str().unwrap().to_owned();
    match delta {
        Delta::IterationDecided { iteration } => format!("{kind}: {}", ralph_view::iteration_found(iteration)),
        Delta::AgentFinished { iteration } => {
            format!("{kind}: {}", ralph_view::agent_found(iteration.run.as_ref().unwrap(), iteration.cost))
        }
        Delta::Finished { outcome } => format!("{kind}: {:?} {:?}", outcome.status, outcome.reason),
        _ => kind,
    }
}

fn journals() -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut journals: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    journals.sort();
    assert!(journals.len() > 20, "{journals:?}");
    journals
}

/// One of each end, and one of each older version.
const SEEN: [&str; 12] = [
    "v1-interrupted-resumed",
    "v2-tripwire",
    "v3-patience",
    "v4-b4-completed",
    "v4-b4-cost-limit",
    "v4-b4-interrupted-resumed",
    "v4-b4-limited",
    "v4-b4-patience",
    "v4-b4-prohibited",
    "v4-b4-stall",
    "v4-b4-tampered",
    "v4-b4-tripwire",
];

#[test]
fn journals_are_seen_as_they_were() {
    for name in SEEN {
        let (fold, updates) = fold(&folder().join(format!("{name}.jsonl")));
        let seen = format!("{}\n{}", watched(&updates), ralph_view::ledger(&fold.view()));
        insta::with_settings!({ prepend_module_to_snapshot => false }, { insta::assert_snapshot!(name, seen) });
    }
}

#[test]
fn views_come_back_from_their_json() {
    for path in journals() {
        let (fold, updates) = fold(&path);
        let view = fold.view();
        let text = serde_json::to_string(&view).unwrap();
        assert_eq!(serde_json::from_str::<RunView>(&text).unwrap(), view, "{}", path.display());
        let text = serde_json::to_string(&updates).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Update>>(&text).unwrap(), updates, "{}", path.display());
        if let Some(outcome) = view.outcome.clone() {
            let mut result = RunResult::new(&view, outcome, "/state".into(), "head".into());
            // These two are for the program itself.
            (result.exit_code, result.is_unchanged) = (0, false);
            let result = RaceResult { result, race: Vec::new() };
            let text = serde_json::to_string(&result).unwrap();
            assert_eq!(serde_json::from_str::<RaceResult>(&text).unwrap(), result, "{}", path.display());
        }
    }
}

#[test]
fn the_end_is_sent_once_and_every_iteration_is_decided() {
    for path in journals() {
        let (fold, updates) = fold(&path);
        let deltas = || {
            updates.iter().flat_map(|update| match &update.what {
                What::Recorded { deltas, .. } => deltas.iter(),
                What::Progress { .. } => [].iter(),
            })
        };
        let ends = deltas().filter(|delta| matches!(delta, Delta::Finished { .. })).count();
        let opened = deltas().filter(|delta| matches!(delta, Delta::Opened { .. })).count();
        assert!(ends <= opened, "{}: a run ends at most once each time it is opened", path.display());
        assert_eq!(fold.view().outcome.is_some(), ends > 0, "{}", path.display());
        let started = deltas().filter(|delta| matches!(delta, Delta::IterationStarted { .. })).count();
        assert!(started >= fold.view().iterations.len(), "{}", path.display());
    }
}

#[test]
fn a_check_that_ran_less_tests_than_it_has_gives_no_number() {
    let journal = std::fs::read_to_string(folder().join("v4-b5-completed.jsonl")).unwrap();
    let (counted, _) = fold_text(&journal);
    assert_eq!(counted.state().failing[1], Some(1));
    // The first iteration does not compile: its check fails without a test.
    let mut lines: Vec<String> = journal.lines().map(str::to_owned).collect();
    let checks = lines.iter_mut().find(|line| line.contains("checksFinished")).unwrap();
    let mut line: Value = serde_json::from_str(checks).unwrap();
    line["event"]["verdict"]["checks"][0].as_object_mut().unwrap().remove("tests").unwrap();
    *checks = line.to_string();
    let (fold, updates) = fold_text(&lines.join("\n"));
    assert_eq!((fold.state().failing[0], fold.state().failing[1]), (Some(2), None));
    let view = fold.view();
    let verdict = view.iterations[0].verdict.as_ref().unwrap();
    assert!(verdict.incomplete && !view.baseline.as_ref().unwrap().incomplete);
    assert!(ralph_view::ledger(&view).contains("\n| 1 | fail | ? |"), "{}", ralph_view::ledger(&view));
    assert!(watched(&updates).contains("iterationDecided: not all tests ran, although"), "{}", watched(&updates));
    // Two failed at the start, one less after the first iteration, which is not known where not all tests ran.
    let counted = counted.view().iterations[0].verdict.clone();
    let (start, incomplete) = (view.baseline.as_ref(), Some(verdict));
    assert_eq!(ralph_view::tests_fixed(start, counted.as_ref()), 1);
    assert_eq!(ralph_view::tests_fixed(start, incomplete), 0);
    assert_eq!(ralph_view::tests_fixed(incomplete, start), 0);
    assert_eq!(ralph_view::tests_fixed(incomplete, None), 1);
    assert_eq!(ralph_view::tests_fixed(None, incomplete), -1);
}

#[test]
fn the_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/view.json");
    let schema = serde_json::to_string_pretty(&ralph_view::schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &schema).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == schema, "the views have changed: UPDATE_SCHEMA=1 cargo nextest run -p ralph-view schema");
}
