//! Decides what a verdict is worth: which files it depends on, what was tampered with, and whether the checks can still
//! fail. Works on observations that the caller hands in. Reads no file, starts nothing, draws no random numbers.

pub mod additions;
pub mod changes;
pub mod confirm;
pub mod detection;
pub mod expected;
pub mod listing;
pub mod modules;
mod pattern;
pub mod pins;
pub mod selection;
mod syntax;
pub mod tampering;
pub mod test_names;
pub mod tripwire;
pub mod work;

pub use pattern::{Pattern, pattern};
