//! Fuchsia traces; the first byte chooses options.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ichnos_fuzz::fxt::trace(bytes));
