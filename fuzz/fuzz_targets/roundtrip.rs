//! Traces that are read, written in a dialect of CTF and read again. The first byte chooses the dialect and packets;
//! with its bit 6, the rest are the random numbers of a trace of one of the proposals, otherwise a tree of field classes
//! and a data stream, as for `generated`.
#![no_main]

use arbitrary::Unstructured;
use ichnos_testing::Random;
use ichnos_testing::proposals::{Proposal, random_trace};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    if choice & 0x40 != 0 {
        let Some((proposal, numbers)) = rest.split_first() else { return };
        let proposal = Proposal::ALL[usize::from(proposal & 1)];
        let trace = random_trace(proposal, &mut Random::from_bytes(numbers));
        let Some(stream) = trace.streams.first() else { return };
        return ichnos_fuzz::roundtrip::roundtrip(trace.metadata.as_bytes(), &stream.bytes, *choice);
    }
    let mut input = Unstructured::new(rest);
    if let Ok(metadata) = ichnos_fuzz::generator::metadata(&mut input) {
        ichnos_fuzz::roundtrip::roundtrip(metadata.as_bytes(), input.take_rest(), *choice);
    }
});
