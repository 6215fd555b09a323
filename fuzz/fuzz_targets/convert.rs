//! Traces of all formats that are written in any way, and compared with what was written. The first byte chooses the format,
//! the second one the way.
#![no_main]

use ichnos_fuzz::METADATA;
use ichnos_fuzz::verified::verified;

libfuzzer_sys::fuzz_target!(
    init: ichnos_fuzz::nettrace::write_seeds_of_files(METADATA.len() as u8 + 3),
    |bytes: &[u8]| {
        let [format, choice, bytes @ ..] = bytes else { return };
        let formats = METADATA.len() + FILES.len();
        let format = usize::from(*format) % formats;
        match METADATA.get(format) {
            Some(metadata) => verified(&[("metadata", metadata), ("stream", bytes)], *choice),
            None => verified(&[(FILES[format - METADATA.len()], bytes)], *choice),
        }
    }
);

/// Names of files of formats.
const FILES: [&str; 4] = ["lines.jsonl", "a.reports", "a.log", "a.nettrace"];
