//! Options for .NET EventPipe files.

use ichnos_model::clock::ClockOffsets;
use ichnos_model::meaning::ClassMap;
use ichnos_model::trace::Limits;

/// Options for .NET EventPipe files.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NettraceOptions {
    /// Nanoseconds to add to all times.
    pub clock_offsets: ClockOffsets,
    /// Origin of a 1 GHz clock, in nanoseconds since 1970. Replaces the file's date. See
    /// [`clock_zeros`](super::clock_zeros).
    pub clock_zero: Option<i128>,
    /// Clock ticks per second in a file without its trace block. Default: 1,000,000,000.
    pub frequency: Option<u64>,
    /// Address size in bytes, 4 or 8, in a file without its trace block. Default: 8.
    pub pointer_size: Option<u32>,
    /// Changes to event record classes.
    pub class_map: Option<ClassMap>,
    /// `true` to report all broken rules. By default, only unreadable data is reported.
    pub check: bool,
    /// `true` to deliver events in file order instead of sorted by time.
    pub unsorted: bool,
    /// Resource limits.
    pub limits: Limits,
}
