//! JSON Lines as a trace.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ichnos_fuzz::jsonl::lines(bytes));
