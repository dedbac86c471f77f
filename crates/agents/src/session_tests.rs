use std::fs;
use std::io::Write as _;

use ralph_model::Money;
use serde_json::json;
use tempfile::TempDir;

use super::*;

const BEFORE: &str = "2026-11-16T04:00:00.000Z";
const SINCE: &str = "2026-11-16T04:30:00.000Z";
const DURING: &str = "2026-11-16T04:30:10.000Z";
const LATER: &str = "2026-11-16T04:30:12.500Z";

fn at(text: &str) -> Timestamp {
    Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

fn answer(id: &str, when: &str, content: Value, reason: &str) -> String {
    let usage = json!({ "input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 0 });
    let message = json!({
        "id": id, "model": "claude-sonnet-4-5", "role": "assistant", "content": content, "stop_reason": reason, "usage": usage,
    });
    json!({ "type": "assistant", "timestamp": when, "isSidechain": false, "message": message }).to_string()
}

fn says(id: &str, when: &str, text: &str) -> String {
    answer(id, when, json!([{ "type": "text", "text": text }]), "end_turn")
}

fn calls(id: &str, when: &str) -> String {
    answer(
        id,
        when,
        json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "make" } }]),
        "tool_use",
    )
}

fn result(id: &str, when: &str) -> String {
    let content = json!([{ "type": "tool_result", "tool_use_id": id, "content": "ok", "is_error": false }]);
    json!({ "type": "user", "timestamp": when, "message": { "role": "user", "content": content } }).to_string()
}

struct Session {
    folder: TempDir,
}

impl Session {
    fn new(lines: &[String]) -> Self {
        let session = Self { folder: tempfile::tempdir().unwrap() };
        session.add(lines);
        session
    }

    fn transcript(&self) -> PathBuf {
        self.folder.path().join("session.jsonl")
    }

    fn add(&self, lines: &[String]) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.transcript()).unwrap();
        lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
    }

    fn records(&self, message: &str) -> SessionRecords {
        SessionRecords {
            transcript: Some(self.transcript()),
            offsets: Offsets::new(),
            since: at(SINCE),
            final_message: message.to_owned(),
            log: self.folder.path().join("log"),
            log_limit: 1 << 20,
        }
    }
}

fn observe(records: &SessionRecords) -> (Observed, Offsets) {
    observe_turn(records, &Arc::default(), &Arc::new(PriceList::default()), at(LATER)).unwrap()
}

/// What one of the answers costs.
const ONE: i64 = 1000 * 3 + 100 * 15;

#[test]
fn a_turn_is_what_was_added_since_the_one_before() {
    let session = Session::new(&[
        says("old", BEFORE, "from before the loop"),
        calls("start", BEFORE),
        // Of the call that began the loop.
        result("start", "2026-11-16T04:30:00.500Z"),
        calls("a", DURING),
        result("a", DURING),
        says("b", LATER, "All done."),
    ]);
    let (turn, offsets) = observe(&session.records("All done."));
    assert_eq!(turn.cost, Cost::Known { amount: Money::from_micros(2 * ONE) });
    assert_eq!((turn.evidence.len(), turn.evidence[0].tool.as_str()), (1, "Bash"));
    assert_eq!((turn.final_message.as_str(), turn.opaque), ("All done.", false));
    assert_eq!(turn.duration, Millis(2500));
    assert_eq!(turn.usage.model.as_deref(), Some("claude-sonnet-4-5"));
    assert!(!fs::read_to_string(session.folder.path().join("log")).unwrap().contains("from before the loop"));

    // The next one begins where this one ended.
    session.add(&[says("c", "2026-11-16T04:31:00.000Z", "Really.")]);
    let records = SessionRecords { offsets, since: at(LATER), ..session.records("Really.") };
    let (turn, offsets) = observe(&records);
    assert_eq!(turn.cost, Cost::Known { amount: Money::from_micros(ONE) });
    assert_eq!(offsets[&session.transcript()], session.transcript().metadata().unwrap().len());
    // Without the offsets it is the same.
    let (again, _) = observe(&SessionRecords { offsets: Offsets::new(), ..records });
    assert_eq!(again.cost, turn.cost);
}

#[test]
fn subagents_are_paid_for_too() {
    let session = Session::new(&[says("b", DURING, "done")]);
    let folder = session.transcript().with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("agent-1.jsonl"), format!("{}\n", says("s", DURING, "found it"))).unwrap();
    let (turn, _) = observe(&session.records("done"));
    assert_eq!(turn.cost, Cost::Known { amount: Money::from_micros(2 * ONE) });
    assert_eq!(turn.final_message, "done");
}

#[test]
fn what_no_record_counts_is_unknown() {
    let compacted = json!({ "type": "system", "subtype": "compact_boundary", "timestamp": DURING }).to_string();
    let session = Session::new(&[compacted, says("b", DURING, "done")]);
    assert_eq!(observe(&session.records("done")).0.cost, Cost::Unknown);

    let unpriced = says("b", DURING, "done").replace("claude-sonnet-4-5", "model-of-tomorrow");
    let (turn, _) = observe(&Session::new(&[unpriced]).records("done"));
    assert_eq!((turn.cost, turn.unpriced), (Cost::Unknown, vec!["model-of-tomorrow".to_owned()]));

    // Nothing but the hook tells of it.
    let session = Session::new(&[]);
    let none = SessionRecords { transcript: None, ..session.records("done") };
    let missing = SessionRecords { transcript: Some("/nowhere/at/all.jsonl".into()), ..session.records("done") };
    for records in [none, missing] {
        let (turn, _) = observe(&records);
        assert_eq!((turn.cost, turn.opaque, turn.final_message.as_str()), (Cost::Unknown, true, "done"));
    }
}

#[test]
fn the_end_of_a_turn_is_waited_for() {
    let session = Session::new(&[calls("a", DURING), "{ half a li".to_owned()]);
    let (transcript, line) = (session.transcript(), says("b", LATER, "done"));
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        let mut file = fs::OpenOptions::new().append(true).open(transcript).unwrap();
        writeln!(file, "{line}").unwrap();
    });
    let (turn, _) = observe(&session.records("done"));
    writer.join().unwrap();
    assert_eq!(turn.cost, Cost::Known { amount: Money::from_micros(2 * ONE) });
    // One that never comes leaves the cost unknown.
    let (turn, _) = observe(&session.records("something else"));
    assert_eq!(turn.cost, Cost::Unknown);
}
