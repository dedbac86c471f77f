//! Any bytes as what an agent prints, for fuzzing: whatever comes, a parser neither panics nor invents success or cost.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use ralph_model::{Cost, Ended, Money, PriceList, Timestamp};
use ralph_text::Redactor;

use crate::adapter::Parser;
use crate::request::Prohibited;
use crate::transcript::{Transcript, TranscriptSummary};
use crate::{acp, claude, codex, gemini, opencode};

/// A server of the Agent Client Protocol.
pub fn acp(bytes: &[u8]) {
    read(bytes, acp::parser(Prohibited::default()), "stopReason");
    read(bytes, acp::listener(), "stopReason");
}

pub fn claude(bytes: &[u8]) {
    read(bytes, claude::parser(), "result");
}

pub fn codex(bytes: &[u8]) {
    read(bytes, codex::parser(codex::Guard::Outer), "turn.completed");
}

pub fn gemini(bytes: &[u8]) {
    read(bytes, gemini::parser(Path::new(""), None), "result");
}

pub fn opencode(bytes: &[u8]) {
    read(bytes, opencode::parser(None), "step_finish");
}

/// Made once: both take longer to build than most inputs take to read.
static SHARED: LazyLock<(Arc<Redactor>, Arc<PriceList>)> = LazyLock::new(Default::default);

/// Every line goes to one of the three places that a parser reads from, told by its first byte. `last_word` is in every line that says
/// how a run ended.
fn read(bytes: &[u8], mut parser: Box<dyn Parser>, last_word: &str) {
    let (redactor, prices) = &*SHARED;
    let mut transcript = Transcript::new(Arc::clone(redactor), Arc::clone(prices), None, Timestamp(0));
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        match line.as_bytes().first() {
            Some(b'!') => parser.stderr(&line[1..], &mut transcript),
            Some(b'?') => parser.side(&line[1..], &mut transcript),
            Some(_) | None => parser.stdout(line, &mut transcript),
        }
        transcript.take_events();
    }
    // Any of them can follow any stream.
    let ended = match bytes.len() % 4 {
        0 => Ended::Exited { code: 0 },
        1 => Ended::Exited { code: 1 },
        2 => Ended::Signalled { signal: 9 },
        _ => Ended::Stopped,
    };
    parser.end(&ended, &mut transcript);
    check(&transcript.finish(&ended, false), &ended, &text, last_word);
}

fn check(transcript: &TranscriptSummary, ended: &Ended, text: &str, last_word: &str) {
    // In JSON any letter and any digit can be written as a number.
    let says = |sign: &dyn Fn(&str) -> bool| sign(text) || text.contains("\\u");
    let is_good = transcript.faults.is_empty() && transcript.trouble.is_none() && *ended != Ended::Stopped;
    assert!(!is_good || says(&|text| text.contains(last_word)), "success without a word of it");
    match transcript.cost {
        Cost::Unmetered => panic!("nobody declared it so"),
        Cost::Known { amount } if amount > Money::ZERO => {
            assert!(says(&|text| text.bytes().any(|byte| byte.is_ascii_digit())), "{amount} without a figure");
        }
        Cost::Known { .. } => assert!(!is_good, "a run that worked was not for nothing"),
        Cost::Unknown => {}
    }
    assert!(
        transcript.evidence.len() <= 600
            && transcript.faults.len() <= 100
            && transcript.final_message.len() <= 32 * 1024
    );
}
