//! Files and streams of Fuchsia's log messages, whose framing the first byte chooses.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ichnos_fuzz::fuchsia::log(bytes));
