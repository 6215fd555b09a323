//! Open intervals.

use fxprof_processed_profile as fx;

use super::markers::EventMarker;
use ichnos_analysis::events::nested_spans::NestedSpans;
use ichnos_analysis::events::span_edge::SpanEdge;

/// Marker of an interval without an end so far.
#[derive(Debug)]
pub(super) struct OpenInterval {
    pub(super) thread: fx::ThreadHandle,
    pub(super) begin: fx::Timestamp,
    pub(super) marker: EventMarker<'static>,
    pub(super) stack: Option<fx::StackHandle>,
    /// Number of earlier intervals.
    number: u64,
}

/// Open intervals.
#[derive(Debug)]
pub(super) struct OpenIntervals {
    open: NestedSpans<OpenInterval>,
    begun: u64,
}

impl Default for OpenIntervals {
    fn default() -> Self {
        // Profile values are limited, and no event may be lost here.
        Self { open: NestedSpans::unbounded(), begun: 0 }
    }
}

impl OpenIntervals {
    /// Starts an interval of a track.
    pub(super) fn begin(
        &mut self,
        (track, edge): (u64, SpanEdge),
        thread: fx::ThreadHandle,
        begin: fx::Timestamp,
        marker: EventMarker<'static>,
        stack: Option<fx::StackHandle>,
    ) {
        let interval = OpenInterval { thread, begin, marker, stack, number: self.begun };
        self.begun += 1;
        let _ = self.open.begin(track, edge, interval);
    }

    /// Ends an interval of a track and returns it. `lost` takes the inner intervals, whose ends are missing.
    pub(super) fn end(
        &mut self,
        track: u64,
        edge: SpanEdge,
        lost: impl FnMut(OpenInterval),
    ) -> Option<OpenInterval> {
        self.open.end(track, edge, lost)
    }

    /// Ends all intervals of a track. `lost` takes them, because their ends are missing.
    pub(super) fn end_all(&mut self, track: u64, lost: impl FnMut(OpenInterval)) {
        self.open.end_all(track, lost);
    }

    /// Removes and returns the open intervals, sorted by start.
    pub(super) fn take_all(&mut self) -> Vec<OpenInterval> {
        let mut all: Vec<OpenInterval> = self.open.take_all().collect();
        all.sort_unstable_by_key(|interval| interval.number);
        all
    }
}
