//! Options for opening Fuchsia logs.

use ichnos_io::Kept;
use ichnos_model::clock::ClockOffsets;
use ichnos_model::meaning::ClassMap;
use ichnos_model::trace::Limits;

use crate::log::SeverityScale;

/// Clock for record times, which records do not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordClock {
    /// Clock that stops while the system is suspended, used before Fuchsia's API level 24.
    #[default]
    Monotonic,
    /// Clock that includes suspended time, used since API level 24.
    Boot,
}

/// Options for opening Fuchsia logs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FuchsiaLogOptions {
    /// Clock for record times.
    pub clock: RecordClock,
    /// Severity scale for packets.
    pub severity_scale: SeverityScale,
    /// Nanoseconds to add to all times.
    pub clock_offsets: ClockOffsets,
    /// Mapping that changes event record classes.
    pub class_map: Option<ClassMap>,
    /// `true` to report all broken rules, including those that leave a record readable.
    pub check: bool,
    /// `true` to read files as logs even without recognizing them.
    pub force: bool,
    /// State of growing files, kept from one opening to the next.
    pub kept: Kept,
    /// Resource limits.
    pub limits: Limits,
    /// Number of event record classes that all cursors together keep compiled. Others are compiled again when needed.
    /// Default: 512, each at most a few thousand bytes.
    pub compiled_classes: usize,
}

impl Default for FuchsiaLogOptions {
    fn default() -> Self {
        Self {
            clock: RecordClock::default(),
            severity_scale: SeverityScale::default(),
            clock_offsets: ClockOffsets::default(),
            class_map: None,
            check: false,
            force: false,
            kept: Kept::default(),
            limits: Limits::default(),
            compiled_classes: 512,
        }
    }
}
