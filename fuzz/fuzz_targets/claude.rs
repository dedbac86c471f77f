//! Any bytes as the standard output of Claude Code.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ralph_agents::fuzz::claude(bytes));
