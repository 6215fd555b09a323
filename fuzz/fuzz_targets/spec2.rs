//! Metadata of SPEC-2.0.
#![no_main]

use ichnos::ctf::metadata::Dialect;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    ichnos_fuzz::metadata(text, Some(Dialect::Spec2));
});
