//! SPEC-2.0 metadata from a tree of field classes that the input describes, and a data stream.
#![no_main]

use arbitrary::Unstructured;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    if let Ok(metadata) = ichnos_fuzz::generator::metadata(&mut input) {
        ichnos_fuzz::trace(metadata.as_bytes(), input.take_rest(), None);
    }
});
