use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::super::Guard;
use super::*;
use crate::golden;

/// 2026-11-15T12:00:00Z, the time of the tests.
const MAIN: &str = "01a1df14-1e00-7000-8000-000000000001";
const CHILD: &str = "01a1df14-1e01-7000-8000-000000000002";
const OTHER: &str = "01a1df14-1e02-7000-8000-000000000003";

struct Case {
    sessions: tempfile::TempDir,
    rollouts: Rollouts,
    transcript: Transcript,
    files: Files,
}

impl Case {
    fn new() -> Self {
        let sessions = tempfile::tempdir().unwrap();
        let mut rollouts = Rollouts::new(golden::NOW, Guard::Outer);
        rollouts.begin(MAIN).unwrap();
        let files = Files::new(sessions.path().to_owned(), MAIN, golden::NOW).unwrap();
        Self { sessions, rollouts, transcript: golden::transcript(), files }
    }

    fn path(&self, day: &str, thread: &str) -> PathBuf {
        let folder = self.sessions.path().join(day);
        fs::create_dir_all(&folder).unwrap();
        folder.join(format!("rollout-2026-11-15T12-00-00-{thread}.jsonl"))
    }

    /// The tokens written that are counted after a look.
    fn look(&mut self) -> u64 {
        self.files.look(&mut self.rollouts, &mut self.transcript);
        std::mem::replace(&mut self.transcript, golden::transcript())
            .finish(&ralph_model::Ended::Stopped, false)
            .usage
            .output_tokens
    }
}

fn opening(thread: &str, session: &str) -> String {
    format!("{{\"type\":\"session_meta\",\"payload\":{{\"session_id\":\"{session}\",\"id\":\"{thread}\"}}}}\n")
}

fn used(thread: &str, output: u64) -> String {
    format!(
        "{{\"timestamp\":\"2026-11-15T12:00:01.000Z\",\"type\":\"token_usage_record\",\"payload\":{{\"thread_id\":\"{thread}\",\"usage\":{{\"output_tokens\":{output}}}}}}}\n"
    )
}

fn append(path: &Path, text: &str) {
    fs::OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_record_is_followed_as_it_grows_line_by_line() {
    let mut case = Case::new();
    assert_eq!(case.look(), 0, "there is none yet");
    let path = case.path("2026/11/15", MAIN);
    append(&path, &opening(MAIN, MAIN));
    let line = used(MAIN, 7);
    let (front, back) = line.split_at(40);
    append(&path, front);
    assert_eq!(case.look(), 0, "half a line");
    append(&path, back);
    assert_eq!(case.look(), 7);
    append(&path, "{broken\n\u{0}\n");
    append(&path, &used(MAIN, 5));
    assert_eq!(case.look(), 5);
    assert_eq!(case.look(), 0, "nothing is read twice");
}

#[test]
fn a_record_lies_in_the_folder_of_the_day_where_the_user_is() {
    for day in ["2026/11/14", "2026/11/16"] {
        let mut case = Case::new();
        append(&case.path(day, MAIN), &used(MAIN, 7));
        assert_eq!(case.look(), 7, "{day}");
    }
    let mut case = Case::new();
    append(&case.path("2026/11/18", MAIN), &used(MAIN, 7));
    assert_eq!(case.look(), 0);
}

#[test]
fn threads_of_the_same_run_count_and_those_of_others_do_not() {
    let mut case = Case::new();
    append(&case.path("2026/11/15", MAIN), &opening(MAIN, MAIN));
    append(&case.path("2026/11/15", OTHER), &(opening(OTHER, OTHER) + &used(OTHER, 900)));
    let child = case.path("2026/11/15", CHILD);
    append(&child, &(opening(CHILD, MAIN) + &opening(MAIN, MAIN) + &used(MAIN, 50) + &used(CHILD, 20)));
    assert_eq!(case.look(), 20, "the child alone, without what it has from its parent");
    append(&child, &used(CHILD, 3));
    assert_eq!(case.look(), 3);
}

#[test]
fn a_child_of_a_child_counts_by_its_parent() {
    let mut case = Case::new();
    append(&case.path("2026/11/15", MAIN), &opening(MAIN, MAIN));
    append(&case.path("2026/11/15", CHILD), &opening(CHILD, MAIN));
    let line = format!(
        "{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{OTHER}\",\"source\":{{\"subagent\":{{\"thread_spawn\":{{\"parent_thread_id\":\"{CHILD}\"}}}}}}}}}}\n"
    );
    append(&case.path("2026/11/15", OTHER), &(line + &used(OTHER, 11)));
    assert_eq!(case.look(), 11);
}

#[test]
fn neither_links_nor_pipes_are_read() {
    let mut case = Case::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let real = elsewhere.path().join("real.jsonl");
    append(&real, &used(MAIN, 7));
    std::os::unix::fs::symlink(&real, case.path("2026/11/15", MAIN)).unwrap();
    assert_eq!(case.look(), 0, "a link");

    let mut case = Case::new();
    let pipe = case.path("2026/11/15", MAIN);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(case.look(), 0, "a pipe");

    let mut case = Case::new();
    fs::create_dir_all(case.sessions.path().join("2026")).unwrap();
    fs::create_dir_all(elsewhere.path().join("15")).unwrap();
    let name = format!("rollout-2026-11-15T12-00-00-{MAIN}.jsonl");
    append(&elsewhere.path().join("15").join(name), &used(MAIN, 7));
    std::os::unix::fs::symlink(elsewhere.path(), case.sessions.path().join("2026/11")).unwrap();
    assert_eq!(case.look(), 0, "a folder behind a link");
}

#[test]
fn what_is_too_long_is_left_out() {
    let mut case = Case::new();
    let path = case.path("2026/11/15", MAIN);
    append(&path, &"x".repeat(crate::lines::MAX + 10));
    append(&path, "\n");
    append(&path, &used(MAIN, 7));
    let counted: u64 = (0..4).map(|_| case.look()).sum();
    assert_eq!(counted, 7);
}

#[test]
fn names_are_those_of_records() {
    assert_eq!(thread_of(&format!("rollout-x-{MAIN}.jsonl")), Some(MAIN));
    for name in [
        "rollout-.jsonl",
        "rollout-x.jsonl",
        "config.toml",
        &format!("{MAIN}.jsonl"),
        &format!("rollout-ü{MAIN}x.jsonl"),
    ] {
        assert_eq!(thread_of(name), None, "{name}");
    }
    assert!(Files::new(PathBuf::new(), "../../../etc/passwd", golden::NOW).is_none());
    assert_eq!(begun(MAIN).map(Timestamp::utc_date), Some("2026-11-15".to_owned()));
}

#[test]
fn more_threads_than_are_followed_leave_the_cost_unknown() {
    let mut case = Case::new();
    append(&case.path("2026/11/15", MAIN), &(opening(MAIN, MAIN) + &used(MAIN, 10)));
    for number in 0..MAX_THREADS {
        let thread = format!("01a1df14-1e01-7000-8000-{number:012x}");
        append(&case.path("2026/11/15", &thread), &(opening(&thread, MAIN) + &used(&thread, 1)));
    }
    case.files.look(&mut case.rollouts, &mut case.transcript);
    let transcript = case.transcript.finish(&ralph_model::Ended::Exited { code: 0 }, false);
    assert_eq!(transcript.cost, ralph_model::Cost::Unknown);
    assert!(transcript.usage.output_tokens >= 10, "what was seen is still told");
}

#[test]
fn a_record_that_somebody_cuts_leaves_the_cost_unknown() {
    let mut case = Case::new();
    let record = case.path("2026/11/15", MAIN);
    append(&record, &(opening(MAIN, MAIN) + &used(MAIN, 10)));
    case.files.look(&mut case.rollouts, &mut case.transcript);
    assert_eq!(case.transcript.why_lost_count(), None);
    fs::write(&record, "").unwrap();
    case.files.look(&mut case.rollouts, &mut case.transcript);
    assert!(case.transcript.why_lost_count().is_some());
    let ended = ralph_model::Ended::Signalled { signal: 9 };
    assert_eq!(case.transcript.finish(&ended, false).cost, ralph_model::Cost::Unknown);
}
