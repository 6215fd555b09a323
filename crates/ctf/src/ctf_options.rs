//! Options for opening CTF traces.

use ichnos_io::{BabeltraceRules, Bytes, ScanProgress};
use ichnos_model::clock::{ClockArithmetic, ClockOffsets};
use ichnos_model::meaning::ClassMap;
use ichnos_model::trace::Limits;

use crate::loss::SmallerCounter;
use crate::metadata::Dialect;
use crate::quirks::Quirk;

/// Options for opening CTF traces.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CtfOptions {
    /// Metadata dialect. `None`: detected from the content.
    pub dialect: Option<Dialect>,
    /// `true` to refuse metadata that only a tolerant reader understands.
    pub strict: bool,
    /// `true` to read classes as the metadata declares them, without ichnos annotations.
    pub without_annotations: bool,
    /// Limits on trace sizes.
    pub limits: Limits,
    /// Known tracer bugs that must not be worked around.
    pub without_quirks: Vec<Quirk>,
    /// `true` to use LTTng's packet indexes if they match the packets.
    pub lttng_index: bool,
    /// Nanoseconds to add to clock offsets.
    pub clock_offsets: ClockOffsets,
    /// Changes to event record classes.
    pub class_map: Option<ClassMap>,
    /// Conversion from cycles to nanoseconds.
    pub clock_arithmetic: ClockArithmetic,
    /// Rules of Babeltrace 2, if they replace ichnos' own.
    pub babeltrace: Option<BabeltraceRules>,
    /// File name and content of metadata for a tree without metadata, for example a single data stream file.
    pub metadata: Option<(String, Bytes)>,
    /// Receives the progress while packets are located.
    pub progress: ScanProgress,
}

impl CtfOptions {
    /// Returns what it means if a loss counter gets smaller.
    pub(crate) fn smaller_counter(&self) -> SmallerCounter {
        match self.babeltrace {
            Some(_) => SmallerCounter::Ignored,
            None => SmallerCounter::WrappedOrReset,
        }
    }
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
            babeltrace: None,
            metadata: None,
            progress: ScanProgress::default(),
        }
    }
}
