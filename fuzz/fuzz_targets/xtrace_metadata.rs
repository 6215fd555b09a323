//! Metadata of X-Trace and its dialects, as bytes and as text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ichnos_fuzz::xtrace::metadata(bytes));
