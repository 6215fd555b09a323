//! Archives and compressed files, as from a pipe, with small limits.
#![no_main]

use ichnos::io::{IoLimits, Tree};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut limits = IoLimits::default();
    limits.decompressed_bytes = 4 << 20;
    limits.entries = 100;
    if let Ok(tree) = Tree::from_reader("pipe", bytes, &limits) {
        assert!(tree.entries.len() <= limits.entries);
        let read = tree.entries.iter().filter_map(|entry| entry.read().ok());
        // Members of a tar archive may be hard links to each other, and thereby the same bytes.
        assert!(read.map(|bytes| bytes.len() as u64).all(|size| size <= limits.decompressed_bytes));
    }
});
