//! Files of EventPipe's version 4, behind their header.
#![no_main]

use ichnos_fuzz::nettrace::{Version, file, write_seeds};

libfuzzer_sys::fuzz_target!(
    init: write_seeds(Version::V4),
    |bytes: &[u8]| file(Version::V4, bytes)
);
