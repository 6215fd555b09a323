//! Whole traces: metadata, a data stream and its LTTng index, the first two behind their lengths
//! in 16 bits, little-endian.
#![no_main]

fn part<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return &[] };
    let (part, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    *bytes = rest;
    part
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let (metadata, stream) = (part(&mut rest), part(&mut rest));
    ichnos_fuzz::trace(metadata, stream, (!rest.is_empty()).then_some(rest));
});
