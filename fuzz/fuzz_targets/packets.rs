//! Data streams of fixed metadata, which the first byte chooses.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((choice, stream)) = bytes.split_first() {
        let metadata = ichnos_fuzz::METADATA[usize::from(*choice) % ichnos_fuzz::METADATA.len()];
        ichnos_fuzz::trace(metadata, stream, None);
    }
});
