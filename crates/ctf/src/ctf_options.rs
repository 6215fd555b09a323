//! Options for opening CTF traces.

use ichnos_io::{Bytes, ScanProgress};
use ichnos_model::{ClassMap, ClockArithmetic, ClockOffsets, Limits};

use crate::metadata::Dialect;
use crate::quirks::Quirk;

/// Options for opening CTF traces.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CtfOptions {
    /// Dialect of the metadata; `None`: detected from the content.
    pub dialect: Option<Dialect>,
    /// `true` to refuse metadata that only a tolerant reader understands.
    pub strict: bool,
    /// `true` to read classes as declared in the metadata, without annotations of ichnos.
    pub without_annotations: bool,
    /// Limits on the size of traces.
    pub limits: Limits,
    /// Known bugs of tracers that are not worked around.
    pub without_quirks: Vec<Quirk>,
    /// `true` to use the packet indexes that LTTng writes beside its data streams, if they are true.
    pub lttng_index: bool,
    /// Nanoseconds to add to the offsets of clocks.
    pub clock_offsets: ClockOffsets,
    /// Change of event record classes.
    pub class_map: Option<ClassMap>,
    /// Conversion of cycles to nanoseconds.
    pub clock_arithmetic: ClockArithmetic,
    /// Metadata for trees that have none, with the name of its file: a single data stream file.
    pub metadata: Option<(String, Bytes)>,
    /// Receives the progress of the search for packets.
    pub progress: ScanProgress,
}

impl Default for CtfOptions {
    fn default() -> Self {
        Self {
            dialect: None,
            strict: false,
            without_annotations: false,
            limits: Limits::default(),
            without_quirks: Vec::new(),
            lttng_index: true,
            clock_arithmetic: ClockArithmetic::Exact,
            clock_offsets: ClockOffsets::default(),
            class_map: None,
            metadata: None,
            progress: ScanProgress::default(),
        }
    }
}
