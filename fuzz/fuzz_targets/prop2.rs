//! Metadata of PROP-2.0; behind a byte 0x1e, an auxiliary stream.
#![no_main]

use ichnos::ctf::metadata::{self, Dialect, MetadataOptions};

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let mut parts = text.splitn(2, |byte| *byte == 0x1e);
    let trace = parts.next().and_then(|text| ichnos_fuzz::metadata(text, Some(Dialect::Prop2)));
    if let (Some(mut trace), Some(auxiliary)) = (trace, parts.next()) {
        metadata::add_auxiliary_streams(&mut trace, &[auxiliary], &mut MetadataOptions::default());
    }
});
