//! Files of EventPipe's version 6, behind their header.
#![no_main]

use ichnos_fuzz::nettrace::{Version, file, write_seeds};

libfuzzer_sys::fuzz_target!(
    init: write_seeds(Version::V6),
    |bytes: &[u8]| file(Version::V6, bytes)
);
