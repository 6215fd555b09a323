//! Track of an event.

use ichnos_model::DataStream;

use super::class::EventPlace;
use super::tracks::{TrackKind, track_id};

/// Returns the track of the thread of an event, or else of its process, processor or data stream, and the kind of it.
/// `trace` is the number of its trace.
pub(super) fn event_track(stream: &DataStream, place: &EventPlace<'_>, trace: u32) -> (TrackKind, u64) {
    let (kind, numbers) = match (place.thread, place.process, place.processor) {
        (Some(thread), Some(process), _) => (TrackKind::Thread, [process, thread]),
        (Some(thread), None, _) => (TrackKind::LoneThread, [0, thread]),
        (None, Some(process), _) => (TrackKind::Process, [process, 0]),
        (None, None, Some(processor)) => (TrackKind::Processor, [trace.into(), processor]),
        (None, None, None) => (TrackKind::Stream, [stream.key.into(), 0]),
    };
    (kind, track_id(kind, numbers))
}
