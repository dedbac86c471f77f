//! What Codex prints and records, as any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ralph_agents::fuzz::codex(data));
