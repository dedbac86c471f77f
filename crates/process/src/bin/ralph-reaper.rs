//! A reaper and nothing else, for the tests of this crate and of other libraries. The real program is its own
//! reaper: it re-executes itself and calls the same function.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph_process::reaper_main(std::env::args_os().skip(1))
}
