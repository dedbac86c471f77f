//! Any bytes as what OpenCode prints.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ralph_agents::fuzz::opencode(data));
