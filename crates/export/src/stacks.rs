//! Call stacks as profiles: which functions were called by which, how often, for how long.
//!
//! A [`StackCollector`] takes events, of whatever format, whose class has a member with the meaning
//! [`Stack`](ichnos_model::Meaning::Stack). What it makes of them is a [`StackProfile`], which is
//! written in one of several [`StackFormat`]s.

mod calls;
mod collect;
mod condition;
#[cfg(feature = "firefox")]
mod firefox;
mod folded;
mod packed;
#[cfg(feature = "pprof")]
mod pprof;
mod profile;
mod resolve;
mod speedscope;
mod svg;
#[cfg(test)]
mod tests;
mod top;
mod tree;

pub use collect::StackCollector;
pub use profile::{LeftOut, StackProfile, StackThread};
pub use top::TopFunction;

/// How stacks are collected and what counts.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StackOptions {
    /// What each sample counts.
    pub weight: StackWeight,
    /// Which frames are kept.
    pub frames: StackFrames,
    /// Which samples count. Those that do not still end the time of the sample before; the time from them on counts
    /// nothing.
    pub only: Vec<FieldValues>,
    /// Adds an innermost frame with what the thread of a sample did, if the sample has it
    /// ([`Meaning::ThreadState`](ichnos_model::Meaning::ThreadState)): [`CPU_TIME`] or [`UNMANAGED_CODE_TIME`].
    pub with_states: bool,
    /// Whether the times of samples are kept, as the formats need that have a time axis
    /// ([`StackFormat::has_times`]).
    pub with_times: bool,
    /// Whether all events with a stack count, even where some classes of events are samples of a profiler.
    pub all_events: bool,
}

/// Frame of samples of threads that ran on a processor. Both names are those of .NET's own tools.
pub const CPU_TIME: &str = "CPU_TIME";

/// Frame of samples of threads that waited, or that ran code which the profiler does not look into.
pub const UNMANAGED_CODE_TIME: &str = "UNMANAGED_CODE_TIME";

/// What a sample counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackWeight {
    /// One.
    #[default]
    Samples,
    /// The nanoseconds until the next sample of the same thread: nothing for the last one.
    Time,
    /// The nanoseconds since the sample before of the same thread: nothing for the first one.
    TimeBefore,
    /// The value of the field with this path ([`FieldRef`](ichnos_model::FieldRef) has what paths are), rounded.
    Field(String),
}

impl StackWeight {
    /// Whether it is a time.
    #[must_use]
    pub fn is_time(&self) -> bool {
        matches!(self, Self::Time | Self::TimeBefore)
    }
}

/// A field, and values of which it is to have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldValues {
    /// The path of the field; [`FieldRef`](ichnos_model::FieldRef) has what paths are.
    pub path: String,
    /// The values: integers in decimal, the names of values of enumerations, or strings.
    pub values: Vec<String>,
}

/// Which frames of stacks are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackFrames {
    /// All of them.
    #[default]
    All,
    /// Those whose function is known.
    Named,
    /// Those of [managed](ichnos_model::CodeKind::Managed) code.
    Managed,
}

/// What stands at the root of all stacks, before their outermost frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackRoots {
    /// Nothing.
    #[default]
    None,
    /// The process.
    Process,
    /// The process, and within it the thread.
    Thread,
}

/// What a profile is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackFormat {
    /// A line for each stack: its frames from the outermost one on, with `;` between them, a space, and its
    /// weight. What many tools make flame graphs of.
    Folded,
    /// JSON for <https://www.speedscope.app>, with a profile for each thread.
    Speedscope,
    /// Compressed protocol buffer for `pprof`.
    #[cfg(feature = "pprof")]
    Pprof,
    /// JSON for <https://profiler.firefox.com>.
    #[cfg(feature = "firefox")]
    Firefox,
    /// A flame graph: a picture for browsers, with a search.
    Svg,
}

impl StackFormat {
    /// Whether it has a time axis.
    #[must_use]
    pub fn has_times(self) -> bool {
        match self {
            Self::Folded | Self::Svg => false,
            Self::Speedscope => true,
            #[cfg(feature = "pprof")]
            Self::Pprof => false,
            #[cfg(feature = "firefox")]
            Self::Firefox => true,
        }
    }
}

/// Stacks have at most this number of frames: the innermost ones of deeper ones are left out, so that what is
/// written stays in proportion to what is read.
pub(crate) const MOST_FRAMES: u32 = 1_024;
