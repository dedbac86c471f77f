//! Reads recorded streams through a parser and compares what it learnt with what is written beside them.
//!
//! A recorded stream is a file `streams/NAME/CASE.jsonl`: a line of standard output each, as it was printed, except for those that begin
//! with `!`: `!stderr TEXT`, `!side TEXT` (what the program writes beside its outputs), `!exit CODE`, `!signal NUMBER`,
//! `!stopped`, `!idle`, and `!confined` at its top for a run in Ralph's sandbox. Beside it `CASE.expected` says what the transcript holds. `RALPH_UPDATE_STREAMS=1` writes these files anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ralph_model::{Ended, Millis, Money, Price, PriceList, Rates, Timestamp};
use ralph_text::Redactor;

use crate::adapter::Parser;
use crate::request::{ProcessBase, Prohibited, Request};
use crate::transcript::{Transcript, TranscriptSummary};

/// The time in all recorded streams: 2026-11-15T12:00:00Z.
pub(crate) const NOW: Timestamp = Timestamp(1_794_744_000_000);

/// An empty transcript. `scripted-1` costs $1 for a million tokens read, $0.10 from a cache, $2 into one, $10 written.
pub(crate) fn transcript() -> Transcript {
    let rates = Rates {
        input: Money::dollars(1),
        cache_read: Money::from_micros(100_000),
        cache_write: Money::dollars(2),
        output: Money::dollars(10),
    };
    let prices = PriceList::default().with([("scripted-1".to_owned(), Price { rates, long: None })]);
    Transcript::new(Arc::new(Redactor::default()), Arc::new(prices), None, NOW)
}

/// Where a process runs that is never started.
pub(crate) fn base(directory: &Path, environment: &[(&str, &str)]) -> ProcessBase {
    ProcessBase {
        directory: directory.to_owned(),
        environment: environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        scratch: directory.to_owned(),
        log: directory.join("log"),
        log_limit: 1024,
        idle: None,
        sandbox: None,
        hold: Vec::new(),
        redactor: Arc::default(),
        prices: Arc::default(),
        prohibited: Prohibited::default(),
        mcp_server: None,
        counted: Arc::default(),
        now: || NOW,
    }
}

/// A request to a process that is never started.
pub(crate) const fn request(prompt: &str, base: ProcessBase) -> Request<'_> {
    Request { prompt, budget: None, timeout: Millis::secs(1), base }
}

/// What a parser learns from a recorded stream.
pub(crate) fn observe(parser: Box<dyn Parser>, stream: &str) -> (TranscriptSummary, Ended) {
    observe_in(transcript(), parser, stream)
}

fn observe_in(mut transcript: Transcript, mut parser: Box<dyn Parser>, stream: &str) -> (TranscriptSummary, Ended) {
    let mut ended = Ended::Exited { code: 0 };
    let mut heard = false;
    for line in stream.lines() {
        match line.strip_prefix('!').and_then(|line| line.split_once(' ').or(Some((line, "")))) {
            None => {
                heard = true;
                parser.stdout(line, &mut transcript);
            }
            Some(("stderr", text)) => parser.stderr(text, &mut transcript),
            Some(("side", text)) => parser.side(text, &mut transcript),
            Some(("exit", code)) => ended = Ended::Exited { code: code.parse().unwrap() },
            Some(("signal", signal)) => ended = Ended::Signalled { signal: signal.parse().unwrap() },
            Some(("confined", _)) => transcript = transcript.confined(true),
            Some(("stopped", _)) => ended = Ended::Stopped,
            Some(("idle", _)) => ended = Ended::Idle { after: Millis::minutes(10) },
            Some((other, _)) => panic!("unknown mark !{other}"),
        }
    }
    if !heard && matches!(ended, Ended::Exited { code: 1.. }) {
        transcript.never_began();
    }
    parser.end(&ended, &mut transcript);
    (transcript.finish(&ended, false), ended)
}

/// Compares all recorded streams of an agent with what is written beside them.
pub(crate) fn check(name: &str, parser: impl Fn() -> Box<dyn Parser>) {
    check_in(transcript, name, parser);
}

/// The same for runs that began with such a transcript.
pub(crate) fn check_in(transcript: impl Fn() -> Transcript, name: &str, parser: impl Fn() -> Box<dyn Parser>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("streams").join(name);
    let update = std::env::var_os("RALPH_UPDATE_STREAMS").is_some();
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
        let (transcript, ended) = observe_in(transcript(), parser(), &fs::read_to_string(&path).unwrap());
        let (got, beside) = (written(&transcript, &ended), path.with_extension("expected"));
        if update {
            fs::write(&beside, &got).unwrap();
        }
        count += 1;
        let want = fs::read_to_string(&beside).unwrap_or_default();
        if got != want {
            wrong.push(format!("{}\n--- expected\n{want}--- got\n{got}", path.display()));
        }
    }
    assert!(count > 0, "no recorded streams in {}", folder.display());
    assert!(wrong.is_empty(), "{} of {count} streams:\n{}", wrong.len(), wrong.join("\n"));
}

fn written(transcript: &TranscriptSummary, ended: &Ended) -> String {
    let usage = format!("{:?}", transcript.usage).replace(", window: None", "");
    let mut text = format!("ended: {ended}\ncost: {:?}\nusage: {usage}\n", transcript.cost);
    if let Some(trouble) = &transcript.trouble {
        let _ = writeln!(text, "trouble: {:?} {trouble}\nadvice: {:?}", trouble.kind, trouble.advice);
    }
    for fault in &transcript.faults {
        let _ = writeln!(text, "fault: {:?} {fault}", fault.kind);
    }
    for call in &transcript.evidence {
        let mark = if call.success { "ok" } else { "failed" };
        let _ = writeln!(text, "call: {mark} {}: {}", call.tool, call.summary);
    }
    let _ = writeln!(text, "message: {:?}", transcript.final_message);
    text
}
