//! Intervals that have begun.

use std::collections::HashMap;

use fxprof_processed_profile as fx;

use super::markers::EventMarker;

/// Marker of an interval that has not ended.
#[derive(Debug)]
pub(super) struct OpenInterval {
    pub(super) thread: fx::ThreadHandle,
    pub(super) begin: fx::Timestamp,
    pub(super) marker: EventMarker<'static>,
    pub(super) stack: Option<fx::StackHandle>,
    /// Number of intervals that began before.
    number: u64,
}

/// Intervals that have not ended, by their tracks, the innermost last.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    tracks: HashMap<u64, Vec<OpenInterval>>,
    begun: u64,
}

impl Intervals {
    /// Begins an interval of a track.
    pub(super) fn begin(
        &mut self,
        track: u64,
        thread: fx::ThreadHandle,
        begin: fx::Timestamp,
        marker: EventMarker<'static>,
        stack: Option<fx::StackHandle>,
    ) {
        let interval = OpenInterval { thread, begin, marker, stack, number: self.begun };
        self.begun += 1;
        self.tracks.entry(track).or_default().push(interval);
    }

    /// Returns the innermost interval of a track, which ends.
    pub(super) fn end(&mut self, track: u64) -> Option<OpenInterval> {
        self.tracks.get_mut(&track)?.pop()
    }

    /// Takes those that have not ended, in the order in which they began.
    pub(super) fn take_all(&mut self) -> Vec<OpenInterval> {
        let mut all: Vec<OpenInterval> = std::mem::take(&mut self.tracks).into_values().flatten().collect();
        all.sort_unstable_by_key(|interval| interval.number);
        all
    }
}
