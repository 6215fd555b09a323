//! Trace in a file.

use std::sync::Arc;

use ichnos_model::cursor::{BoxedCursor, ResumePoint};
use ichnos_model::message::Damage;
use ichnos_model::source::SourceCursor;
use ichnos_model::trace::{StreamSummary, skip_events};
use ichnos_model::{Cursor, DataStream, OpenedTrace, Trace, Window};

use crate::source::LineSource;
use crate::stream::LineStream;

/// Data streams in a file that belong to one trace.
#[derive(Debug)]
pub(crate) struct JsonTrace {
    trace: Arc<Trace>,
    path: String,
    streams: Vec<Arc<LineStream>>,
    damage: Vec<Damage>,
}

impl JsonTrace {
    pub(crate) fn new(trace: Arc<Trace>, path: &str, streams: Vec<Arc<LineStream>>) -> Self {
        Self { trace, path: path.to_owned(), streams, damage: Vec::new() }
    }

    /// Adds damage outside of all data streams.
    pub(crate) fn add_damage(&mut self, damage: Vec<Damage>) {
        self.damage.extend(damage);
    }
}

impl OpenedTrace for JsonTrace {
    fn format(&self) -> &'static str {
        "jsonl"
    }

    fn path(&self) -> &str {
        if self.trace.path.is_empty() { &self.path } else { &self.trace.path }
    }

    fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    fn streams(&self) -> Vec<StreamSummary> {
        let summary = |part: &Arc<LineStream>| StreamSummary {
            bytes: part.runs.bytes as u64,
            files: vec![part.file.name.to_string()],
            ..StreamSummary::new(Arc::clone(&part.stream))
        };
        self.streams.iter().map(summary).collect()
    }

    fn data_streams(&self) -> Vec<Arc<DataStream>> {
        self.streams.iter().map(|part| Arc::clone(&part.stream)).collect()
    }

    fn has_dynamic_classes(&self) -> bool {
        true
    }

    fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        let part = self.streams.get(stream)?;
        let source = LineSource::new(Arc::clone(part), window);
        Some(SourceCursor::new(Arc::clone(&part.stream), source, window, &part.file.limits).boxed())
    }

    fn cursor_at(&self, stream: usize, place: &ResumePoint, events: u64, _: bool) -> Option<BoxedCursor> {
        let (part, window) = (self.streams.get(stream)?, Window::default());
        let source = LineSource::new(Arc::clone(part), window).resumed(place)?;
        let limits = &part.file.limits;
        let mut cursor = SourceCursor::resumed(Arc::clone(&part.stream), source, window, limits, |_, _| None);
        skip_events(&mut cursor, events);
        Some(cursor.boxed())
    }
}
