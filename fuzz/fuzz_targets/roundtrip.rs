//! Traces that are read, written in a dialect of CTF and read again. The first byte chooses the dialect and packets;
//! the rest is a tree of field classes and a data stream, as for `generated`.
#![no_main]

use arbitrary::Unstructured;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let mut input = Unstructured::new(rest);
    if let Ok(metadata) = ichnos_fuzz::generator::metadata(&mut input) {
        ichnos_fuzz::roundtrip::roundtrip(metadata.as_bytes(), input.take_rest(), *choice);
    }
});
