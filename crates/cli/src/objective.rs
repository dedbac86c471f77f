//! The objective of `ralph run`, as it was given.

use std::io::{self, Read};
use std::path::Path;

use ralph_model::Checklist;

use crate::args::RunArgs;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("could not read the objective from {place}: {source}")]
    Read { place: String, source: io::Error },
    #[error(
        "the objective from {place} is larger than 1 MiB\n  \
         allowed: UTF-8 text of at most 1 MiB; put longer material into a file of the workspace and name that file"
    )]
    TooLarge { place: String },
}

/// The largest objective that is read: a device or a pipe may never end, and every prompt carries all of it.
const MAX_OBJECTIVE: u64 = 1 << 20;

/// The objective, byte for byte: from the words, from a file, or from `input` for `-`.
pub(crate) fn objective(args: &RunArgs, input: &mut dyn Read) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let (place, read) = match (&args.objective_file, args.objective.as_deref()) {
        (Some(file), _) => {
            let read = std::fs::File::open(file).and_then(|file| file.take(MAX_OBJECTIVE + 1).read_to_end(&mut bytes));
            (file.display().to_string(), read)
        }
        (None, Some("-")) => ("standard input".to_owned(), input.take(MAX_OBJECTIVE + 1).read_to_end(&mut bytes)),
        (None, given) => return Ok(given.unwrap_or_default().to_owned()),
    };
    match read {
        Err(source) => Err(Error::Read { place, source }),
        Ok(_) if bytes.len() as u64 > MAX_OBJECTIVE => Err(Error::TooLarge { place }),
        Ok(_) => String::from_utf8(bytes).map_err(|_| {
            let source = io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
            Error::Read { place, source }
        }),
    }
}

/// The file of the objective, relative to the workspace, where it lies there and has open items: the agent ticks them there.
pub(crate) fn checklist_file(args: &RunArgs, objective: &str, current: &Path) -> Option<String> {
    let file = args.objective_file.as_ref().filter(|_| !args.no_checklist)?;
    Checklist::parse(objective).open().next()?;
    let file = current.join(file).canonicalize().ok()?;
    let workspace = current.join(args.workspace.as_deref().unwrap_or(Path::new(""))).canonicalize().ok()?;
    file.strip_prefix(workspace).ok()?.to_str().map(str::to_owned)
}

#[cfg(test)]
#[path = "objective_tests.rs"]
mod tests;
