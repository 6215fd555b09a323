//! Files of EventPipe's version 3, behind their header.
#![no_main]

use ichnos_fuzz::nettrace::{Version, file, write_seeds};

libfuzzer_sys::fuzz_target!(
    init: write_seeds(Version::V3),
    |bytes: &[u8]| file(Version::V3, bytes)
);
