//! The index that LTTng writes beside a data stream, laid over the right one by exclusive or. A
//! wrong index must not lose anything in silence: either all is read as without it, or damage is
//! reported.
#![no_main]

use std::sync::LazyLock;

use ichnos_fuzz::{Reading, lttng, trace};

static RIGHT: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(lttng::stream_and_index);
static EXPECTED: LazyLock<Reading> = LazyLock::new(|| {
    let reading = trace(lttng::METADATA, &RIGHT.0, None);
    assert!(reading.events >= 8 && reading.damage == 0, "{reading:?}");
    reading
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (stream, right) = &*RIGHT;
    let size = right.len().max(bytes.len());
    let at = |bytes: &[u8], i: usize| bytes.get(i).copied().unwrap_or(0);
    let index: Vec<u8> = (0..size).map(|i| at(right, i) ^ at(bytes, i)).collect();
    let reading = trace(lttng::METADATA, stream, Some(&index));
    if reading.damage == 0 {
        assert_eq!(reading.text(), EXPECTED.text());
    }
});
