//! Options for opening Fuchsia logs.

use ichnos_model::{ClassMap, ClockOffsets, Limits};

use crate::log::SeverityScale;

/// Clock of the records, which is not stored in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Clock {
    /// The clock that stops while the system is suspended: before Fuchsia's API level 24.
    #[default]
    Monotonic,
    /// The clock that includes suspended time: since then.
    Boot,
}

/// Options for opening Fuchsia logs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FuchsiaLogOptions {
    /// Clock of the records.
    pub clock: Clock,
    /// Scale of the severities of packets.
    pub severity_scale: SeverityScale,
    /// Nanoseconds to add to all times.
    pub clock_offsets: ClockOffsets,
    /// Change of event record classes.
    pub class_map: Option<ClassMap>,
    /// `true` to report all broken rules, not only those that make a record unreadable.
    pub check: bool,
    /// `true` to read files as logs even if they are not recognized as such.
    pub force: bool,
    /// Limits on resources.
    pub limits: Limits,
    /// Number of event record classes that all cursors together keep compiled; others are compiled again when
    /// needed. Default: 512, of some thousand bytes each at most.
    pub compiled_classes: usize,
}

impl Default for FuchsiaLogOptions {
    fn default() -> Self {
        Self {
            clock: Clock::default(),
            severity_scale: SeverityScale::default(),
            clock_offsets: ClockOffsets::default(),
            class_map: None,
            check: false,
            force: false,
            limits: Limits::default(),
            compiled_classes: 512,
        }
    }
}
