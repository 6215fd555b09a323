//! Nested-call profiles.

use std::collections::BTreeSet;

use ichnos_model::DataStream;

use super::StackWeight;
use super::calls::{Calls, NO_CALL};
use super::packed::{RunState, Sample};
use super::profile::{SkippedSamples, StackProfile, StackThread, ThreadSamples, Total, display_name, title};
use crate::events::since_origin;

/// Builds a [`StackProfile`] from calls that start and end, such as spans. Weights are nanoseconds.
#[derive(Debug, Default)]
pub struct ProfileBuilder {
    /// Trace names.
    names: BTreeSet<String>,
    calls: Calls,
    threads: Vec<ThreadSamples>,
    /// Innermost open call. `None` outside of calls.
    call: Option<u32>,
    /// Enclosing calls.
    open: Vec<Option<u32>>,
    with_times: bool,
}

impl ProfileBuilder {
    /// Creates an empty profile. `with_times` keeps sample times, which formats with a time axis need
    /// ([`StackFormat::has_times`](super::StackFormat::has_times)).
    #[must_use]
    pub fn new(with_times: bool) -> Self {
        Self { with_times, ..Self::default() }
    }

    /// Adds the trace names of `streams` to the title.
    pub fn streams<'s>(&mut self, streams: impl IntoIterator<Item = &'s DataStream>) {
        self.names.extend(streams.into_iter().map(|stream| display_name(&stream.trace)));
    }

    /// Starts the next thread, to which the following calls belong.
    pub fn thread(&mut self, thread: StackThread) {
        self.threads.push(ThreadSamples { thread, ..ThreadSamples::default() });
        self.open.clear();
        self.call = None;
    }

    /// Starts a call of the function `name` within the innermost open call.
    pub fn begin(&mut self, name: &str) {
        let function = self.calls.function(name, None, false);
        let call = self.calls.call(self.call.unwrap_or(NO_CALL), function);
        self.open.push(self.call.replace(call));
    }

    /// Adds own time to the innermost open call: `length` nanoseconds, starting at the
    /// [timeline time](mod@crate::events::timeline_time) `begin`.
    pub fn own_time(&mut self, begin: u64, length: u64) {
        let Some(thread) = self.threads.last_mut() else { return };
        let stack = self.call.unwrap_or(NO_CALL);
        thread.totals.entry(stack).or_default().add(Total { samples: 1, weight: length });
        if self.with_times {
            thread.samples.push(Sample {
                time: since_origin(begin).into(),
                stack,
                weight: length,
                state: RunState::Unknown,
            });
        }
    }

    /// Ends the innermost open call.
    pub fn end(&mut self) {
        self.call = self.open.pop().flatten();
    }

    /// Returns the profile. `begin` is the timeline time of the first event. `has_dates` is `true` if the clock origin
    /// is 1970.
    #[must_use]
    pub fn finish(mut self, begin: Option<u64>, has_dates: bool) -> StackProfile {
        self.threads.retain(|thread| !thread.totals.is_empty());
        StackProfile {
            title: title(self.names.into_iter()),
            weight: StackWeight::Time,
            calls: self.calls,
            threads: self.threads,
            begin: begin.map(|begin| since_origin(begin).into()),
            has_dates,
            skipped: SkippedSamples::default(),
            has_states: false,
            not_counted: Vec::new(),
        }
    }
}
