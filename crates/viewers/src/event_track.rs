//! Event tracks.

use ichnos_analysis::events::class::EventPlace;
use ichnos_analysis::events::tracks::{TrackKind, track_id};

/// Returns the track of the thread, or else of the process, processor or data stream, with its kind. `stream`
/// identifies the data stream, and `trace` is the trace number.
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
