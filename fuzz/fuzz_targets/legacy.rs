//! Legacy packets of Fuchsia logs, and datagrams of any kind.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ichnos_fuzz::fuchsia::legacy(bytes));
