//! Claude Code in a session of the user's own. Ralph starts nothing here: a hook says that a turn is over, and the session's
//! records on disk say what the turn did and used.
//!
//! The program writes its records a little later than it calls its hooks, so that the end of a turn is waited for. Records of
//! subagents lie in files of their own beside the session's. What a summary of the context cost stands nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_model::{AgentSpec, Cost, Ended, Millis, PriceList, Timestamp};
use ralph_process::{Log, Recorded};
use ralph_text::Redactor;
use serde::Deserialize;
use serde_json::Value;

use crate::adapter::Parser;
use crate::agent::{Capabilities, ReportsCost};
use crate::claude;
use crate::registry::{Behind, Kind, Needs, Start};
use crate::request::{Error, Observed};
use crate::text::list;
use crate::transcript::{Terminal, Transcript};

/// The kind. It has agents only where `ralph session` makes one.
pub(crate) static KIND: Kind = Kind {
    name: AgentSpec::SESSION,
    needs: Needs::Nothing,
    capabilities: Capabilities {
        reports_cost: ReportsCost::Sometimes,
        announces_start: false,
        asks_permission: true,
        has_hooks: true,
        takes_model: false,
        ..Capabilities::STREAMING
    },
    program: Behind::Unknown,
    start: Start::Nothing,
    log_parser: Some(claude::parser),
};

/// How long the end of a turn is waited for in the records.
const PATIENCE: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of one file that are read for one turn; what was used before them is unknown.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Subagents whose records are read.
const MAX_SUBAGENTS: usize = 256;

/// Where each file of records is read on: bytes from its beginning.
pub type Offsets = BTreeMap<PathBuf, u64>;

/// Where the records of a turn are, and what is known of it besides.
#[derive(Debug, Clone)]
pub struct SessionRecords {
    /// The session's own file; none where the hook named none.
    pub transcript: Option<PathBuf>,
    /// How far the files were read before. Only saves time: what is older than `since` does not count either way.
    pub offsets: Offsets,
    /// When the turn before ended, or the loop began.
    pub since: Timestamp,
    /// The agent's last message, as the hook gave it.
    pub final_message: String,
    pub log: PathBuf,
    pub log_limit: u64,
}

/// What the records say of a turn that has ended, and where they are read on. Waits for the last of them, about a second.
pub fn observe_turn(
    records: &SessionRecords,
    redactor: &Arc<Redactor>,
    prices: &Arc<PriceList>,
    now: Timestamp,
) -> Result<(Observed, Offsets), Error> {
    let mut turn = Turn::new(records, redactor, prices, now)?;
    let deadline = Instant::now() + PATIENCE;
    if let Some(transcript) = &records.transcript {
        while !turn.read_all(transcript)? && turn.has_records && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    turn.finish()
}

/// A line of the records, as far as it says whether it matters.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default)]
    message: Value,
}

struct Turn<'a> {
    records: &'a SessionRecords,
    redactor: &'a Redactor,
    parser: Box<dyn Parser>,
    transcript: Transcript,
    log: Log,
    bytes: u64,
    offsets: Offsets,
    calls: BTreeSet<String>,
    /// Times of the first and the last record.
    span: Option<(Timestamp, Timestamp)>,
    has_records: bool,
    /// The last message was among them.
    has_end: bool,
    /// Something was used that no record counts.
    uncounted: bool,
}

impl<'a> Turn<'a> {
    fn new(
        records: &'a SessionRecords,
        redactor: &'a Arc<Redactor>,
        prices: &Arc<PriceList>,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let log = Log::create(&records.log, records.log_limit).map_err(scratch(&records.log))?;
        Ok(Self {
            records,
            redactor,
            parser: claude::parser(),
            transcript: Transcript::new(Arc::clone(redactor), Arc::clone(prices), None, now),
            log,
            bytes: 0,
            offsets: records.offsets.clone(),
            calls: BTreeSet::new(),
            span: None,
            has_records: false,
            has_end: records.final_message.trim().is_empty(),
            uncounted: false,
        })
    }

    /// Reads what there is by now, and says whether the end of the turn was among it.
    fn read_all(&mut self, transcript: &Path) -> Result<bool, Error> {
        for file in subagents(transcript) {
            self.read(&file)?;
        }
        self.read(transcript)?;
        Ok(self.has_end)
    }

    fn read(&mut self, path: &Path) -> Result<(), Error> {
        let offset = self.offsets.get(path).copied().unwrap_or(0);
        // A record that cannot be read says nothing, and then nothing is known.
        let Some((skipped, bytes)) = rest_of(path, offset) else { return Ok(()) };
        self.has_records = true;
        self.uncounted |= skipped > 0;
        // The last line may still be written.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let whole = bytes.get(..end).unwrap_or_default();
        self.offsets.insert(path.to_owned(), offset + skipped + u64::try_from(end).unwrap_or(0));
        for line in whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.line(&String::from_utf8_lossy(line))?;
        }
        Ok(())
    }

    fn line(&mut self, text: &str) -> Result<(), Error> {
        let Ok(line) = serde_json::from_str::<Line<'_>>(text) else { return Ok(()) };
        if !matches!(line.kind, "assistant" | "user" | "system") {
            return Ok(());
        }
        let at = line.timestamp.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        let at = at.map(|at| Timestamp(at.as_millisecond()));
        if at.is_some_and(|at| at <= self.records.since) {
            return Ok(());
        }
        let blocks = list(&line.message["content"]);
        let ids = |name: &'static str| blocks.iter().filter_map(move |block| block[name].as_str());
        // The result of the call that began the loop comes after its beginning, and is no work of this turn.
        if ids("tool_use_id").any(|id| !self.calls.contains(id)) {
            return Ok(());
        }
        self.calls.extend(ids("id").map(str::to_owned));
        if let Some(at) = at {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
        self.uncounted |= line.subtype.as_deref() == Some("compact_boundary");
        self.has_end |= line.kind == "assistant" && ends_with(&self.records.final_message, &line.message);
        self.bytes += u64::try_from(text.len() + 1).unwrap_or(0);
        let clean = self.redactor.clean(text);
        self.log.append(&format!("{clean}\n")).map_err(scratch(&self.records.log))?;
        self.parser.stdout(&clean, &mut self.transcript);
        Ok(())
    }

    fn finish(mut self) -> Result<(Observed, Offsets), Error> {
        let ended = Ended::Exited { code: 0 };
        self.transcript.message(&self.records.final_message);
        self.transcript.terminal(Terminal::Completed);
        self.parser.end(&ended, &mut self.transcript);
        let output: Recorded = self.log.finish(self.bytes).map_err(scratch(&self.records.log))?;
        let is_complete = self.has_records && self.has_end && !self.uncounted;
        let transcript = self.transcript.finish(&ended, false);
        let observed = Observed {
            ended,
            evidence: transcript.evidence,
            opaque: !self.has_records,
            final_message: transcript.final_message,
            escalation: None,
            faults: transcript.faults,
            trouble: None,
            usage: transcript.usage,
            cost: if is_complete { transcript.cost } else { Cost::Unknown },
            unpriced: transcript.unpriced,
            duration: self.span.map_or(Millis(0), |(first, last)| last.since(first)),
            output,
            swept: 0,
        };
        Ok((observed, self.offsets))
    }
}

fn scratch(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Scratch { path, source }
}

fn subagents(transcript: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(transcript.with_extension("").join("subagents")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_record(path)).collect();
    files.sort();
    files.truncate(MAX_SUBAGENTS);
    files
}

fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// What stands in a file from an offset on, bounded, and how many bytes were left out before it. None where there is no such file
/// of the usual kind.
fn rest_of(path: &Path, offset: u64) -> Option<(u64, Vec<u8>)> {
    // A pipe would be waited for.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let skipped = length.saturating_sub(offset).saturating_sub(MAX_BYTES);
    file.seek(SeekFrom::Start(offset + skipped)).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some((skipped, bytes))
}

fn ends_with(message: &str, answer: &Value) -> bool {
    let texts = list(&answer["content"]).iter().filter_map(|block| block["text"].as_str()).map(str::trim);
    let is_last = answer["stop_reason"].as_str().is_none_or(|reason| reason != "tool_use");
    is_last && texts.into_iter().any(|text| !text.is_empty() && message.trim().ends_with(text))
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
