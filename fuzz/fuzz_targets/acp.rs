//! Any bytes as the standard output of a server of the Agent Client Protocol.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ralph_agents::fuzz::acp(bytes));
