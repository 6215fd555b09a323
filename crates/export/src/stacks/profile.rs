//! What was collected.

use std::collections::HashMap;
use std::io::{self, Write};

use ichnos_model::Symbols;

use super::calls::Calls;
use super::packed::Samples;
use super::{StackFormat, StackRoots, StackWeight, folded, speedscope, svg};

/// The stacks of many events.
#[derive(Debug)]
pub struct StackProfile {
    /// What is profiled, for people: names of traces.
    pub(super) title: String,
    pub(super) weight: StackWeight,
    pub(super) calls: Calls,
    pub(super) threads: Vec<ThreadSamples>,
    /// When the first sample was taken, in nanoseconds from the origin of its clock.
    pub(super) begin: Option<i128>,
    /// Whether the clock counts from the Unix epoch.
    #[cfg_attr(not(any(feature = "pprof", feature = "firefox")), allow(dead_code))]
    pub(super) has_dates: bool,
    pub(super) left_out: LeftOut,
    pub(super) has_states: bool,
    pub(super) not_counted: Vec<(String, u64)>,
}

/// Which samples count nothing, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// None of their frames is kept.
    pub without_frames: u64,
    /// They have no time, where times are what counts.
    pub without_time: u64,
    /// They do not have the field that counts, or its value is no number, or negative.
    pub without_weight: u64,
}

/// A thread, as far as events say which one they are of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackThread {
    /// Number of the process.
    pub process: Option<i128>,
    /// Name of the process.
    pub process_name: Option<String>,
    /// Number of the thread.
    pub thread: Option<i128>,
    /// Name of the thread.
    pub thread_name: Option<String>,
}

impl StackThread {
    /// Takes the name that the trace as a whole gives the thread, if its events have none.
    pub(super) fn add_name(&mut self, symbols: &Symbols) {
        let number = |number: Option<i128>| u64::try_from(number?).ok();
        if let (None, Some(thread)) = (&self.thread_name, number(self.thread)) {
            self.thread_name = symbols.thread_name(number(self.process), thread).map(|name| name.to_string());
        }
    }

    /// What to call the process.
    pub(super) fn process_label(&self) -> String {
        match (&self.process_name, self.process) {
            (Some(name), Some(number)) => format!("{name} ({number})"),
            (Some(name), None) => name.clone(),
            (None, Some(number)) => format!("process {number}"),
            (None, None) => "all processes".to_owned(),
        }
    }

    /// What to call the thread within its process.
    pub(super) fn thread_label(&self) -> String {
        match (&self.thread_name, self.thread) {
            (Some(name), Some(number)) => format!("{name} ({number})"),
            (Some(name), None) => name.clone(),
            (None, Some(number)) => format!("thread {number}"),
            (None, None) => "all threads".to_owned(),
        }
    }

    /// What to call the thread.
    pub(super) fn label(&self) -> String {
        match self.process.is_some() || self.process_name.is_some() {
            true => format!("{}, {}", self.process_label(), self.thread_label()),
            false => self.thread_label(),
        }
    }
}

/// The samples of a thread.
#[derive(Debug, Default)]
pub(super) struct ThreadSamples {
    pub(super) thread: StackThread,
    /// By call: how many samples, and their weight.
    pub(super) totals: HashMap<u32, Total>,
    /// In order of time, with their calls, if these are kept.
    pub(super) samples: Samples,
}

/// How many samples, and their weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) samples: u64,
    pub(super) weight: u64,
}

impl Total {
    pub(super) fn add(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.weight = self.weight.saturating_add(other.weight);
    }
}

impl ThreadSamples {
    /// The totals by call, in the order of the calls.
    pub(super) fn sorted(&self) -> Vec<(u32, Total)> {
        let mut totals: Vec<_> = self.totals.iter().map(|(call, total)| (*call, *total)).collect();
        totals.sort_unstable_by_key(|(call, _)| *call);
        totals
    }

    fn total(&self) -> Total {
        let mut sum = Total::default();
        self.totals.values().for_each(|total| sum.add(*total));
        sum
    }
}

impl StackProfile {
    /// How many samples it has.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.total().samples
    }

    /// What its samples count together.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.total().weight
    }

    fn total(&self) -> Total {
        let mut sum = Total::default();
        self.threads.iter().for_each(|thread| sum.add(thread.total()));
        sum
    }

    /// Returns `true` if samples say the states of their threads, and these were asked for
    /// ([`StackOptions::with_states`](super::StackOptions::with_states)).
    #[must_use]
    pub fn has_states(&self) -> bool {
        self.has_states
    }

    /// Which samples are not part of it.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// The classes of samples that do not count, by name, and how many samples they have: if there are several classes
    /// of samples, each of them counts something else, so that only those of the class with most samples do.
    #[must_use]
    pub fn not_counted(&self) -> &[(String, u64)] {
        &self.not_counted
    }

    /// The threads that have samples.
    pub fn threads(&self) -> impl Iterator<Item = &StackThread> {
        self.threads.iter().map(|thread| &thread.thread)
    }

    /// Writes it in a format; `roots` are for those that have no threads.
    ///
    /// # Errors
    /// If `out` cannot write.
    pub fn write(&self, format: StackFormat, roots: StackRoots, out: &mut dyn Write) -> io::Result<()> {
        match format {
            StackFormat::Folded => folded::write(self, roots, out),
            StackFormat::Speedscope => speedscope::write(self, out),
            #[cfg(feature = "pprof")]
            StackFormat::Pprof => super::pprof::write(self, out),
            #[cfg(feature = "firefox")]
            StackFormat::Firefox => super::firefox::write(self, out),
            StackFormat::Svg => svg::write(self, roots, out),
        }
    }
}
