//! Runs verification commands and reads what they print. Decides nothing about a loop, and reads no environment
//! variable, home directory or terminal.
//!
//! ```text
//!   Checker ──► Supervisor ──► pieces of text ──► Lines ──► Counter · Signature · Excerpt ──► CheckOutcome
//! ```
//!
//! - A check passes when its process ends with 0 *and* no failing test was counted.
//! - A check that fails and then passes on the same files is flaky: neither passed nor failed.
//! - Output is read as it comes; memory stays bounded whatever a command prints.
//! - Everything but [`Checker`] is a plain function over text or over a folder.

mod count;
mod detect;
mod excerpt;
mod expectation;
mod failure;
mod program;
mod reading;
mod reports;
mod retry;
mod run;
mod signature;
mod text;

pub use count::{Counter, count};
pub use detect::{Detection, Stack, Suggestion, detect};
pub use excerpt::{LIMIT as EXCERPT_LIMIT, excerpt};
pub use expectation::{Observed, evaluate};
pub use program::{MissingProgram, first_word_missing};
pub use run::{Checker, Error, Progress, Request};
pub use signature::signature;

/// Reads the sources for patterns that the shipped program could not build.
#[cfg(test)]
mod pattern_tests;

/// Compares what runners really print.
#[cfg(test)]
mod test_names_tests;
