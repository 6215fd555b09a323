//! X-Trace reports, as text and as JSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ichnos_fuzz::xtrace_reports::reports(bytes));
