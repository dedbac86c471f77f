//! The `memory_` tools: one Markdown file for each day, in the state folder of the repository.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp as Moment;
use ralph_model::Timestamp;
use ralph_text::Redactor;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Effect::{Reads, Writes};
use crate::arguments::Nothing;
use crate::files::count;
use crate::registry::{Answer, Context, Registry};
use crate::{MAX_TEXT, Outcome};

/// The longest text that is remembered at once.
const MAX_ENTRY: usize = 8 << 10;
/// A day of which more was remembered takes no more.
const MAX_DAY: u64 = 1 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Remember {
    /// What to remember, in a sentence or two.
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// Words that all have to occur in an entry.
    query: String,
}

struct Memory {
    folder: PathBuf,
    redactor: Arc<Redactor>,
    now: fn() -> Timestamp,
}

pub(crate) fn register(registry: &mut Registry, folder: PathBuf, redactor: Arc<Redactor>, now: fn() -> Timestamp) {
    let memory = Arc::new(Memory { folder, redactor, now });
    let description = "Remembers something about this repository for later runs.";
    registry.add_blocking(&memory, "memory_remember", Writes, description, Memory::remember);
    let description = "Searches what was remembered about this repository, newest first.";
    registry.add_blocking(&memory, "memory_search", Reads, description, Memory::search);
    registry.add_blocking(&memory, "memory_readToday", Reads, "Reads what was remembered today.", Memory::today);
}

impl Memory {
    fn moment(&self) -> Moment {
        Moment::from_millisecond((self.now)().0).unwrap_or_default()
    }

    fn day(&self) -> PathBuf {
        self.folder.join(self.moment().strftime("%Y-%m-%d.md").to_string())
    }

    fn remember(&self, Remember { text }: Remember, _: &Context) -> Answer {
        // One entry is one line: what is remembered cannot pretend to be another entry.
        let entry = self.redactor.clean(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        if entry.is_empty() || entry.len() > MAX_ENTRY {
            return Err(format!("text has {} bytes: it has to be 1 to {MAX_ENTRY}", entry.len()));
        }
        let day = self.day();
        let failed = |error: std::io::Error| format!("could not write the memory: {error}");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        if fs::metadata(&day).is_ok_and(|meta| meta.len() > MAX_DAY) {
            return Err(format!("today's memory is full: at most {MAX_DAY} bytes are kept for a day"));
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&day).map_err(failed)?;
        let line = format!("- {} {entry}\n", self.moment().strftime("%H:%M"));
        file.write_all(line.as_bytes()).map_err(failed)?;
        Ok(Outcome::noted(format!("remembered: {entry}")))
    }

    fn today(&self, Nothing {}: Nothing, _: &Context) -> Answer {
        let text = fs::read_to_string(self.day()).unwrap_or_default();
        let summary = format!("read {} of today", count(text.lines().count(), "memory").replace("memorys", "memories"));
        Ok(Outcome::done(summary, if text.is_empty() { "nothing was remembered today".to_owned() } else { text }))
    }

    fn search(&self, Search { query }: Search, _: &Context) -> Answer {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        if words.is_empty() {
            return Err("query is empty".to_owned());
        }
        let mut days = days(&self.folder);
        days.sort();
        let (mut found, mut number) = (String::new(), 0);
        for day in days.iter().rev() {
            let name = day.file_stem().unwrap_or_default().to_string_lossy();
            for line in fs::read_to_string(day).unwrap_or_default().lines().rev() {
                let lower = line.to_lowercase();
                if words.iter().all(|word| lower.contains(word)) {
                    number += 1;
                    if found.len() + line.len() < MAX_TEXT - 200 {
                        found.push_str(&format!("{name} {}\n", line.trim_start_matches("- ")));
                    }
                }
            }
        }
        let summary = format!("found {}", count(number, "memory").replace("memorys", "memories"));
        Ok(Outcome::done(summary, if found.is_empty() { "nothing found".to_owned() } else { found }))
    }
}

fn days(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}
