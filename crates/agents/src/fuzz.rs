//! Any bytes as what an agent prints, for fuzzing: whatever comes, a parser neither panics nor invents success or cost.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use ralph_model::{Cost, Ended, PriceList, Timestamp};
use ralph_process::Redactor;

use crate::adapter::Parser;
use crate::request::Prohibited;
use crate::transcript::{Told, Transcript};
use crate::{acp, claude, codex, gemini, opencode};

/// A server of the Agent Client Protocol.
pub fn acp(bytes: &[u8]) {
    read(bytes, acp::parser(Prohibited::default()));
    read(bytes, acp::listener());
}

/// Claude Code.
pub fn claude(bytes: &[u8]) {
    read(bytes, claude::parser(claude::Confinement::None));
}

/// Codex.
pub fn codex(bytes: &[u8]) {
    read(bytes, codex::parser(None, Timestamp(0), codex::Guard::Outer));
}

/// Gemini CLI.
pub fn gemini(bytes: &[u8]) {
    read(bytes, gemini::parser(Path::new(""), None));
}

/// OpenCode.
pub fn opencode(bytes: &[u8]) {
    read(bytes, opencode::parser());
}

/// Made once: both take longer to build than most inputs take to read.
static SHARED: LazyLock<(Arc<Redactor>, Arc<PriceList>)> = LazyLock::new(Default::default);

/// Every line goes to all three places that a parser reads from, told by its first byte.
fn read(bytes: &[u8], mut parser: Box<dyn Parser>) -> Told {
    let (redactor, prices) = &*SHARED;
    let mut told = Transcript::new(Arc::clone(redactor), Arc::clone(prices), None, Timestamp(0));
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        match line.as_bytes().first() {
            Some(b'!') => parser.stderr(&line[1..], &mut told),
            Some(b'?') => parser.side(&line[1..], &mut told),
            Some(_) | None => parser.stdout(line, &mut told),
        }
        told.take_activities();
    }
    let ended = Ended::Exited { code: 1 };
    parser.end(&ended, &mut told);
    let told = told.finish(&ended, false);
    assert!(told.cost != Cost::Unmetered, "nobody declared it so");
    told
}
