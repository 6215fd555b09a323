//! Options for opening a file.

use ichnos_model::{ClassMap, ClockOffsets, Limits};

/// Options for opening a file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Nanoseconds to add to all times.
    pub clock_offsets: ClockOffsets,
    /// Origin of a clock of 1 GHz, in nanoseconds since 1970, instead of the file's own; see [`clock_zeros`](super::clock_zeros).
    pub clock_zero: Option<i128>,
    /// Change of event record classes.
    pub class_map: Option<ClassMap>,
    /// `true` to report all broken rules, not only those that make something unreadable.
    pub check: bool,
    /// `true` to deliver events in file order instead of the order of time.
    pub unsorted: bool,
    /// Limits on resources.
    pub limits: Limits,
}
