//! Event data for spans and log records.

use ichnos_model::Event;
use ichnos_model::meaning::{Identifier, Mention};

use super::class::OtlpClass;
use super::ids::operation_key;
use crate::event_track::event_track;
use ichnos_analysis::events::class::{EventForm, EventPlace};
use ichnos_analysis::events::keyed_spans::KeyedSpanIds;
use ichnos_analysis::events::scheduling::EventLocation;
use ichnos_analysis::events::span_edge::SpanEdge;
use ichnos_analysis::events::tracks::{TrackKind, track_id};
use ichnos_analysis::tasks::EventContent;

/// Event with its class, time and place.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventContext<'c, 'e> {
    pub(super) event: &'c Event<'e>,
    pub(super) class: &'c OtlpClass,
    pub(super) form: EventForm,
    pub(super) content: &'c EventContent,
    /// Time in nanoseconds.
    pub(super) time: u64,
    /// Trace number.
    pub(super) trace: u32,
    pub(super) place: EventPlace<'c>,
    /// Number of the common context: see [`EventLocation::context`].
    pub(super) context: Option<u64>,
    /// Name of the event or its class.
    pub(super) name: &'c str,
    /// `true` for the event's own name.
    pub(super) has_own_name: bool,
    /// Track for the thread, or else for the process, processor or data stream.
    pub(super) thread_track: u64,
    /// Operation of the event, with its key.
    pub(super) operation: Option<(Identifier, u64)>,
}

/// Returns the track of an operation with a key.
pub(super) fn operation_track(key: u64) -> u64 {
    track_id(TrackKind::Operation, [key, 0])
}

impl<'c, 'e> EventContext<'c, 'e> {
    /// Creates the context of an event in the numbered trace. `content` must be read if the class has operations or
    /// can mention some.
    pub(super) fn new(
        event: &'c Event<'e>,
        class: &'c OtlpClass,
        content: &'c EventContent,
        location: &EventLocation<'c>,
        time: u64,
        trace: u32,
    ) -> Self {
        let EventLocation { place, context, own_name, .. } = *location;
        let (_, thread_track) = event_track(event.stream.key, &place, trace);
        let operation = class.class.tasks.as_ref().and(content.operation);
        let operation = operation.map(|id| (id, operation_key(content.task, trace, id, content.chain)));
        let (name, has_own_name) = (own_name.unwrap_or(&class.class.name), own_name.is_some());
        let form = class.class.form_of(event);
        Self {
            event,
            class,
            form,
            content,
            time,
            trace,
            place,
            context,
            name,
            has_own_name,
            thread_track,
            operation,
        }
    }

    /// Returns the event's own time, or 0 without one.
    pub(super) fn own_time(&self) -> u64 {
        self.event.nanoseconds().map_or(0, |_| self.time)
    }

    /// Returns the track of the event's operation.
    pub(super) fn operation_track(&self) -> Option<u64> {
        self.operation.map(|(_, key)| operation_track(key))
    }

    /// Returns the mentioned operations, if the event is not an operation itself.
    pub(super) fn mentions(&self) -> &'c [Mention] {
        let searches = self.class.class.tasks.is_none() && self.class.mentions.is_some();
        if searches { &self.content.mentions } else { &[] }
    }

    /// Returns the track of the span that the event starts or ends, and records spans with keys in `keyed`. The flag
    /// is `true` if an open span with the same key loses its end. Returns `None` for the end of a span with a key
    /// that has no start.
    pub(super) fn span_track(&self, keyed: &mut KeyedSpanIds) -> Option<(u64, bool)> {
        let class = &self.class.class;
        let key = || {
            let key = class.span_key(self.event, self.trace);
            track_id(TrackKind::Slice, [self.place.process.unwrap_or(0), key])
        };
        let track = match self.form {
            EventForm::KeyedBegin => return Some(keyed.begin_id(key(), class.edge(Some(self.name)))),
            EventForm::KeyedEnd => keyed.end_id(key(), class.edge(Some(self.name)))?,
            EventForm::Frame => {
                track_id(TrackKind::Slice, [self.thread_track, self.class.class.frame_key(self.event)])
            }
            // An operation can end on another thread.
            EventForm::Begin | EventForm::End => self.operation_track().unwrap_or(self.thread_track),
            _ => self.thread_track,
        };
        Some((track, false))
    }

    /// Returns the names of the span that the event starts or ends. Spans with keys and frames have separate tracks,
    /// where any end belongs to the innermost span.
    pub(super) fn edge(&self) -> SpanEdge {
        let edge = self.class.class.edge(Some(self.name));
        let is_named = matches!(self.form, EventForm::Begin | EventForm::End);
        SpanEdge { is_unnamed: edge.is_unnamed || !is_named, ..edge }
    }
}
