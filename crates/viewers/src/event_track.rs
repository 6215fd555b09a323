//! Track of an event.

use ichnos_analysis::events::class::EventPlace;
use ichnos_analysis::events::tracks::{TrackKind, track_id};

/// Returns the track of the thread of an event, or else of its process, processor or data stream, and the kind of it.
/// `stream` is the key of its data stream, or another number of it, and `trace` the number of its trace.
pub(super) fn event_track(stream: u32, place: &EventPlace<'_>, trace: u32) -> (TrackKind, u64) {
    let (kind, numbers) = match (place.thread, place.process, place.processor) {
        (Some(thread), Some(process), _) => (TrackKind::Thread, [process, thread]),
        (Some(thread), None, _) => (TrackKind::LoneThread, [0, thread]),
        (None, Some(process), _) => (TrackKind::Process, [process, 0]),
        (None, None, Some(processor)) => (TrackKind::Processor, [trace.into(), processor]),
        (None, None, None) => (TrackKind::Stream, [stream.into(), 0]),
    };
    (kind, track_id(kind, numbers))
}
