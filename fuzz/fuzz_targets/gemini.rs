//! Any bytes as the stream of Gemini CLI.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ralph_agents::fuzz::gemini(data));
