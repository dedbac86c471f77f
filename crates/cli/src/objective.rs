//! The objective of `ralph run`, as it was given.

use std::io::{self, Read};

use crate::args::RunArgs;

/// The objective cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read the objective from {place}: {source}")]
pub(crate) struct Error {
    place: String,
    source: io::Error,
}

/// The objective, byte for byte: from the words, from a file, or from `input` for `-`.
///
/// # Errors
/// When it cannot be read or is not UTF-8.
pub(crate) fn objective(args: &RunArgs, input: &mut dyn Read) -> Result<String, Error> {
    let mut text = String::new();
    let (place, read) = match (&args.objective_file, args.objective.as_deref()) {
        (Some(file), _) => {
            let read = std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text));
            (file.display().to_string(), read)
        }
        (None, Some("-")) => ("standard input".to_owned(), input.read_to_string(&mut text)),
        (None, given) => return Ok(given.unwrap_or_default().to_owned()),
    };
    read.map_err(|source| Error { place, source })?;
    Ok(text)
}

#[cfg(test)]
#[path = "objective_tests.rs"]
mod tests;
