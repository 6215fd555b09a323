//! Reads events of a range with their timeline places, in limited time.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ichnos::Selector;
use ichnos::model::{Event, Message, Window};
use ichnos::viewers::{EventId, TimelinePlace, TimelineTrack, since_origin};

use crate::app_state::AppState;
use crate::response::ApiError;

/// Time limit for requests that list rows, and for requests about all events of a range.
pub(super) const SHORT: Duration = Duration::from_secs(2);
pub(super) const LONG: Duration = Duration::from_secs(20);

/// Number of messages between two checks of the deadline.
pub(super) const STRIDE: u64 = 1_024;

/// Size in bytes for items of the timeline that finds the places. The items are not shown.
const BUDGET: usize = 1 << 20;

/// Event that matches, with its place.
pub(super) struct Match<'f, 'e> {
    pub(super) event: &'f Event<'e>,
    pub(super) id: EventId,
    pub(super) place: TimelinePlace,
    /// Event name on the timeline.
    pub(super) name: &'f str,
    /// `true` if this is the name of the event, not of its class.
    pub(super) has_own_name: bool,
}

impl<'f> Match<'f, '_> {
    /// Returns the name for lists: the name on the timeline if the event has its own, else the whole name of its class.
    pub(super) fn listed_name(&self) -> &'f str {
        if self.has_own_name { self.name } else { self.event.name() }
    }
}

/// Range to read, and limits.
pub(super) struct RangeScan<'s> {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) filter: Option<&'s str>,
    /// Maximum number of events to read.
    pub(super) most: u64,
    /// Time limit.
    pub(super) time: Duration,
}

/// Result of a scan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScanResult {
    pub(super) events: u64,
    /// `true` unless a limit ended the scan.
    pub(super) is_complete: bool,
}

/// Returns the window to read for a range of timeline times.
pub(super) fn window(begin: u64, end: u64) -> Window {
    let [begin, end] = [begin, end].map(|time| Some(since_origin(time).into()));
    Window { begin, end }
}

/// Returns `true` if a track is `of`, or below it.
pub(super) fn is_within(tracks: &[TimelineTrack], track: u32, of: u32) -> bool {
    let mut current = Some(track);
    while let Some(track) = current {
        if track == of {
            return true;
        }
        current = tracks.get(track as usize).and_then(|track| track.parent);
    }
    false
}

impl RangeScan<'_> {
    /// Passes the selected events to `take` by time, until it breaks or a limit is reached.
    pub(super) fn run(
        &self,
        shared: &AppState,
        mut take: impl FnMut(&Match<'_, '_>) -> ControlFlow<()>,
    ) -> Result<ScanResult, ApiError> {
        let mut filter: Option<Selector> = match self.filter {
            Some(text) => Some(shared.filter(text)?.selector()),
            None => None,
        };
        let (mut timeline, is_later) = {
            let mut whole = shared.build.timeline();
            (whole.part(self.begin, BUDGET), whole.range().is_some_and(|(first, _)| self.begin > first))
        };
        let reader = shared.reader(window(self.begin, self.end))?;
        let mut scanned = ScanResult { events: 0, is_complete: true };
        let deadline = Instant::now() + self.time;
        let mut handle = |message: &Message<'_>| -> std::io::Result<ControlFlow<()>> {
            let Message::Event(event) = message else {
                timeline.take(message);
                return Ok(ControlFlow::Continue(()));
            };
            // Events without a time belong to the first time, but are read for any window.
            if is_later && event.nanoseconds().is_none() {
                return Ok(ControlFlow::Continue(()));
            }
            scanned.events += 1;
            let is_late = || scanned.events % STRIDE == 0 && Instant::now() >= deadline;
            if shared.has_limits && (scanned.events > self.most || is_late()) {
                scanned.is_complete = false;
                return Ok(ControlFlow::Break(()));
            }
            let is_selected = filter.as_mut().is_none_or(|filter| filter.selects(event));
            if !is_selected {
                timeline.pass_over(event);
                return Ok(ControlFlow::Continue(()));
            }
            let Some(place) = timeline.take(message) else { return Ok(ControlFlow::Continue(())) };
            let has_own_name = timeline.has_own_name(event, &place);
            let name = timeline.name(place.name);
            Ok(take(&Match { event, id: place.event(), place, name, has_own_name }))
        };
        shared.run(&reader, &mut handle)?;
        Ok(scanned)
    }
}
