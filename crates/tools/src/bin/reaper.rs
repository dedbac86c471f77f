//! The reaper as a program of its own, for the tests of this crate. The real program re-executes itself instead.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph_process::reaper_main(std::env::args_os().skip(1))
}
