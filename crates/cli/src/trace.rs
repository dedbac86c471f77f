//! What Ralph says about its own work, for a person who wants to know what happened: on standard error, redacted, and only if asked for.
//! Without `--verbose` and `RALPH_LOG` nothing is installed, so that an event costs nothing.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anyhow::Context as _;
use ralph_model::ConfigError;
use ralph_text::Redactor;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::view::Live;

/// The variable that says what is logged.
pub(crate) const VARIABLE: &str = "RALPH_LOG";

/// Ralph's own crates, all of whose names begin like this.
const OWN: &str = "ralph";

/// The view that is painted now, if one is: lines go above it.
static VIEW: Mutex<Weak<Live>> = Mutex::new(Weak::new());

/// What has to be logged; none for silence. `wanted` is the value of [`VARIABLE`], which weighs more than `--verbose`.
pub(crate) fn filter(is_verbose: bool, wanted: Option<&OsStr>) -> Result<Option<Targets>, ConfigError> {
    let wanted = wanted.filter(|text| !text.is_empty());
    if !is_verbose && wanted.is_none() {
        return Ok(None);
    }
    let mut targets = Targets::new();
    if is_verbose {
        targets = targets.with_target(OWN, LevelFilter::DEBUG);
    }
    let text = wanted.map(OsStr::to_string_lossy).unwrap_or_default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (target, word) = match part.split_once('=') {
            Some((target, word)) => (Some(target.trim()), word.trim()),
            None => (None, part),
        };
        // The parser takes numbers and nothing at all for levels, too.
        let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic());
        let level = word.parse::<LevelFilter>().ok().filter(|_| is_word && target != Some(""));
        targets = match (target, level) {
            (Some(target), Some(level)) => targets.with_target(target, level),
            (None, Some(level)) => targets.with_default(level),
            (_, None) => return Err(wrong(part)),
        };
    }
    Ok(Some(targets))
}

fn wrong(part: &str) -> ConfigError {
    let allowed = "a level (off, error, warn, info, debug, trace), TARGET=LEVEL, or several with commas between them, such as \
                   info,ralph_process=trace";
    ConfigError::new(VARIABLE, format!("`{part}` is neither a level nor TARGET=LEVEL"), allowed)
}

/// Logs what the filter lets through, without the secrets that the redactor knows.
pub(crate) fn install(filter: Targets, redactor: Arc<Redactor>) -> anyhow::Result<()> {
    let lines = tracing_subscriber::fmt::layer().with_writer(Lines { redactor });
    let subscriber = tracing_subscriber::registry().with(filter).with(lines);
    tracing::subscriber::set_global_default(subscriber).context("the log cannot be set up")
}

/// From now on lines go above this view, for as long as it is shown.
pub(crate) fn show_above(live: &Arc<Live>) {
    *VIEW.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(live);
}

/// Makes a writer for each event.
struct Lines {
    redactor: Arc<Redactor>,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { redactor: &self.redactor }
    }
}

/// Writes one event, which comes whole.
struct Line<'a> {
    redactor: &'a Redactor,
}

impl io::Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        print(clean(self.redactor, &String::from_utf8_lossy(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An event as one line: what comes from others must not look like a second event.
fn clean(redactor: &Redactor, text: &str) -> String {
    redactor.clean(text.trim_end_matches('\n')).replace('\n', "\\n")
}

fn print(line: String) {
    let view = VIEW.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
    let unshown = match view {
        Some(view) => view.log(line).err(),
        None => Some(line),
    };
    if let Some(line) = unshown {
        // Where standard error is gone there is no reader.
        let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
