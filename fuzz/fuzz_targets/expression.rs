//! Expressions that select events of fixed traces.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ichnos_fuzz::expression::expression(bytes));
