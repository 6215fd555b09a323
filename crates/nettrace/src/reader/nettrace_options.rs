//! Options for opening .NET EventPipe files.

use ichnos_model::{ClassMap, ClockOffsets, Limits};

/// Options for opening .NET EventPipe files.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NettraceOptions {
    /// Nanoseconds to add to all times.
    pub clock_offsets: ClockOffsets,
    /// Origin of a clock of 1 GHz, in nanoseconds since 1970, instead of the file's own; see [`clock_zeros`](super::clock_zeros).
    pub clock_zero: Option<i128>,
    /// Ticks per second of the clock of a file without its trace block. Default: 1,000,000,000.
    pub frequency: Option<u64>,
    /// Size of addresses in bytes, 4 or 8, in a file without its trace block. Default: 8.
    pub pointer_size: Option<u32>,
    /// Change of event record classes.
    pub class_map: Option<ClassMap>,
    /// `true` to report all broken rules, not only those that make something unreadable.
    pub check: bool,
    /// `true` to deliver events in file order instead of the order of time.
    pub unsorted: bool,
    /// Limits on resources.
    pub limits: Limits,
}
