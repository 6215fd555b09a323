//! Call stack profiles: functions with their callers, counts and times.
//!
//! A [`StackCollector`] takes events of any format whose class has a member with the meaning
//! [`Stack`](ichnos_model::meaning::Meaning::Stack). It creates a [`StackProfile`], which is written in one of several
//! [`StackFormat`]s.

mod calls;
mod collect;
mod condition;
#[cfg(feature = "firefox")]
mod firefox;
mod folded;
mod format;
mod packed;
#[cfg(feature = "pprof")]
mod pprof;
mod profile;
mod profile_builder;
mod resolve;
mod speedscope;
mod svg;
#[cfg(test)]
mod tests;
mod top;
mod tree;

pub use collect::{StackCollector, ThreadSelection};
#[cfg(feature = "firefox")]
pub use firefox::FirefoxStacks;
pub use format::StackFormat;
pub use profile::{SkippedSamples, StackProfile, StackThread};
pub use profile_builder::ProfileBuilder;
pub use top::TopFunction;

/// Options for collecting stacks.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StackOptions {
    /// Sample weight.
    pub weight: StackWeight,
    /// Frames to keep.
    pub frames: StackFrames,
    /// Conditions that a sample must meet to count. Other samples still end the time of the previous sample. The time
    /// after them does not count.
    pub only: Vec<FieldValues>,
    /// Adds an innermost frame with the thread's state, if the sample has it
    /// ([`Meaning::ThreadState`](ichnos_model::meaning::Meaning::ThreadState)): [`CPU_TIME`] or
    /// [`UNMANAGED_CODE_TIME`].
    pub with_states: bool,
    /// Keep sample times. Formats with a time axis need them ([`StackFormat::has_times`]).
    pub with_times: bool,
    /// Count all events with a stack, even if some event classes are samples of a profiler.
    pub all_events: bool,
}

/// Frame for running threads. Both frame names are from .NET's own tools.
pub const CPU_TIME: &str = "CPU_TIME";

/// Frame for threads that waited or ran code that the profiler cannot see.
pub const UNMANAGED_CODE_TIME: &str = "UNMANAGED_CODE_TIME";

/// Sample weight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackWeight {
    /// 1 per sample.
    #[default]
    Samples,
    /// Nanoseconds until the next sample of the same thread. 0 for the last sample.
    Time,
    /// Nanoseconds since the previous sample of the same thread. 0 for the first sample.
    TimeBefore,
    /// Value of the field with this path (see [`FieldRef`](ichnos_model::field::FieldRef)), rounded.
    Field(String),
}

impl StackWeight {
    /// Returns `true` if the weight is a time.
    #[must_use]
    pub fn is_time(&self) -> bool {
        matches!(self, Self::Time | Self::TimeBefore)
    }
}

/// A field, and its accepted values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldValues {
    /// Path of the field (see [`FieldRef`](ichnos_model::field::FieldRef)).
    pub path: String,
    /// Accepted values: decimal integers, enumeration value names, or strings.
    pub values: Vec<String>,
}

/// Frames to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackFrames {
    /// All frames.
    #[default]
    All,
    /// Frames with a known function.
    Named,
    /// Frames of [managed](ichnos_model::stack::CodeKind::Managed) code.
    Managed,
}

/// Root of all stacks, before their outermost frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackRoots {
    /// No root.
    #[default]
    None,
    /// The process.
    Process,
    /// The process, and below it the thread.
    Thread,
}

/// Maximum number of frames per stack. The innermost frames of deeper stacks are dropped, so that the output stays
/// proportional to the input.
pub(crate) const MOST_FRAMES: u32 = 1_024;
