//! Collected call stacks.

use std::collections::{BTreeSet, HashMap};

use ichnos_model::Trace;
use ichnos_model::stack::Symbols;

use super::StackWeight;
use super::calls::{Calls, NO_CALL};
use super::packed::{Sample, Samples};

/// Call stack profile.
#[derive(Debug)]
pub struct StackProfile {
    /// Title for display: names of the profiled traces.
    pub(super) title: String,
    pub(super) weight: StackWeight,
    pub(super) calls: Calls,
    pub(super) threads: Vec<ThreadSamples>,
    /// First sample's time, in nanoseconds from the clock origin.
    pub(super) begin: Option<i128>,
    /// `true` if the clock counts from the Unix epoch.
    #[cfg_attr(not(any(feature = "pprof", feature = "firefox")), allow(dead_code))]
    pub(super) has_dates: bool,
    pub(super) skipped: SkippedSamples,
    pub(super) has_states: bool,
    pub(super) not_counted: Vec<(String, u64)>,
}

/// Returns the trace name, or else the file name.
pub(super) fn display_name(trace: &Trace) -> String {
    let file = trace.path.rsplit('/').next().unwrap_or_default();
    if trace.name.is_empty() { file.to_owned() } else { trace.name.clone() }
}

/// Returns the profile title for these trace names.
pub(super) fn title(names: impl Iterator<Item = String>) -> String {
    names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// Skipped sample counts, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedSamples {
    /// Samples without a kept frame.
    pub without_frames: u64,
    /// Samples without a time, if times are the weight.
    pub without_time: u64,
    /// Samples without the weight's field, or with a weight that is negative or not a number.
    pub without_weight: u64,
}

/// A thread, as far as events identify it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackThread {
    /// Process number.
    pub process: Option<i128>,
    /// Process name.
    pub process_name: Option<String>,
    /// Thread number.
    pub thread: Option<i128>,
    /// Thread name.
    pub thread_name: Option<String>,
}

impl StackThread {
    /// Takes the thread name from the trace if the events lack it.
    pub(super) fn add_name(&mut self, symbols: &Symbols) {
        let number = |number: Option<i128>| u64::try_from(number?).ok();
        if let (None, Some(thread)) = (&self.thread_name, number(self.thread)) {
            self.thread_name = symbols.thread_name(number(self.process), thread).map(|name| name.to_string());
        }
    }

    /// Returns the displayed process name.
    pub(super) fn process_label(&self) -> String {
        match (&self.process_name, self.process) {
            (Some(name), Some(number)) => format!("{name} ({number})"),
            (Some(name), None) => name.clone(),
            (None, Some(number)) => format!("process {number}"),
            (None, None) => "all processes".to_owned(),
        }
    }

    /// Returns the displayed thread name within its process.
    pub(super) fn thread_label(&self) -> String {
        match (&self.thread_name, self.thread) {
            (Some(name), Some(number)) => format!("{name} ({number})"),
            (Some(name), None) => name.clone(),
            (None, Some(number)) => format!("thread {number}"),
            (None, None) => "all threads".to_owned(),
        }
    }

    /// Returns the displayed thread name.
    pub(super) fn label(&self) -> String {
        match self.process.is_some() || self.process_name.is_some() {
            true => format!("{}, {}", self.process_label(), self.thread_label()),
            false => self.thread_label(),
        }
    }
}

/// Samples on a thread.
#[derive(Debug, Default)]
pub(super) struct ThreadSamples {
    pub(super) thread: StackThread,
    /// Totals by call.
    pub(super) totals: HashMap<u32, Total>,
    /// Samples sorted by time, with their calls, if samples are kept.
    pub(super) samples: Samples,
}

/// Sample count and total weight.
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
    /// Returns the totals by call, in the order of the calls.
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
    /// Returns the reversed profile: each stack starts with its innermost function, followed by the callers.
    #[must_use]
    pub fn inverted(mut self) -> Self {
        let calls = std::mem::take(&mut self.calls);
        self.calls.functions.clone_from(&calls.functions);
        let mut turned: HashMap<u32, u32> = HashMap::new();
        for thread in &mut self.threads {
            let totals = thread.sorted();
            thread.totals.clear();
            for (call, total) in totals {
                let call = *turned.entry(call).or_insert_with(|| {
                    calls.path(call).fold(NO_CALL, |caller, (_, function)| self.calls.call(caller, function))
                });
                thread.totals.entry(call).or_default().add(total);
            }
            let samples = std::mem::take(&mut thread.samples);
            for sample in samples.iter() {
                let stack = turned.get(&sample.stack).copied().unwrap_or(NO_CALL);
                thread.samples.push(Sample { stack, ..sample });
            }
        }
        self
    }

    /// Returns the sample count.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.total().samples
    }

    /// Returns the total weight of the samples.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.total().weight
    }

    fn total(&self) -> Total {
        let mut sum = Total::default();
        self.threads.iter().for_each(|thread| sum.add(thread.total()));
        sum
    }

    /// Returns `true` if samples have thread states and these were requested
    /// ([`StackOptions::with_states`](super::StackOptions::with_states)).
    #[must_use]
    pub fn has_states(&self) -> bool {
        self.has_states
    }

    /// Returns the skipped sample counts.
    #[must_use]
    pub fn skipped(&self) -> SkippedSamples {
        self.skipped
    }

    /// Returns names and sample counts of the sample classes that do not count. Weights from different classes cannot
    /// be added, so only one class counts. Samples without weights (of a processor, not of allocated bytes) are
    /// preferred, then the class with the most selected samples.
    #[must_use]
    pub fn not_counted(&self) -> &[(String, u64)] {
        &self.not_counted
    }

    /// Returns the threads with samples.
    pub fn threads(&self) -> impl Iterator<Item = &StackThread> {
        self.threads.iter().map(|thread| &thread.thread)
    }
}
