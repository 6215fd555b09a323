//! Messages of printf in Fuchsia's log records.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ichnos_fuzz::fuchsia::printf(bytes));
