//! Traces in formats whose files are a sequence of records.

use std::sync::Arc;

use crate::cursor::{BoxedCursor, Cursor};
use crate::message::Damage;
use crate::source::{Source, SourceCursor};
use crate::trace::{DataStream, FileDiagnostic, Limits, OpenedTrace, StreamSummary, Trace, Window};

/// Creates the cursor of a data stream at its first record.
type MakeCursor = Box<dyn Fn(Window) -> BoxedCursor + Send + Sync>;

/// A trace whose data streams are read by [`Source`]s, for simple formats.
pub struct RecordTrace {
    format: &'static str,
    trace: Arc<Trace>,
    limits: Limits,
    streams: Vec<(StreamSummary, MakeCursor)>,
    diagnostics: Vec<FileDiagnostic>,
    damage: Vec<Damage>,
    has_dynamic_classes: bool,
}

impl std::fmt::Debug for RecordTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordTrace").field("format", &self.format).finish_non_exhaustive()
    }
}

impl RecordTrace {
    /// Creates a trace without data streams.
    #[must_use]
    pub fn new(format: &'static str, trace: impl Into<Arc<Trace>>, limits: &Limits) -> Self {
        Self {
            format,
            trace: trace.into(),
            limits: *limits,
            streams: Vec::new(),
            diagnostics: Vec::new(),
            damage: Vec::new(),
            has_dynamic_classes: false,
        }
    }

    /// Adds a data stream with this class index, file name and number of bytes. `make` creates a reader at the first
    /// record, each time the data stream is read. Does nothing if the class does not exist.
    #[must_use]
    pub fn with_stream<R: Source + 'static>(
        mut self,
        class: usize,
        name: &str,
        bytes: u64,
        make: impl Fn() -> R + Send + Sync + 'static,
    ) -> Self {
        if let Some(stream) = DataStream::new(Arc::clone(&self.trace), class, None, name) {
            let stream = Arc::new(stream);
            let summary = StreamSummary { bytes, ..StreamSummary::new(Arc::clone(&stream)) };
            let limits = self.limits;
            let cursor =
                move |window| SourceCursor::new(Arc::clone(&stream), make(), window, &limits).boxed();
            self.streams.push((summary, Box::new(cursor)));
        }
        self
    }

    /// Adds unreadable data outside all data streams.
    #[must_use]
    pub fn with_damage(mut self, damage: Damage) -> Self {
        self.damage.push(damage);
        self
    }

    /// Adds a note, a warning or an error about a file that describes the trace.
    #[must_use]
    pub fn with_diagnostic(mut self, diagnostic: FileDiagnostic) -> Self {
        self.diagnostics.push(diagnostic);
        self
    }

    /// Declares that event record classes are discovered while reading: see [`Trace::dynamic_classes`].
    #[must_use]
    pub fn with_dynamic_classes(mut self) -> Self {
        self.has_dynamic_classes = true;
        self
    }
}

impl OpenedTrace for RecordTrace {
    fn format(&self) -> &'static str {
        self.format
    }

    fn path(&self) -> &str {
        if self.trace.path.is_empty() { &self.trace.name } else { &self.trace.path }
    }

    fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    fn diagnostics(&self) -> &[FileDiagnostic] {
        &self.diagnostics
    }

    fn streams(&self) -> Vec<StreamSummary> {
        self.streams.iter().map(|(summary, _)| summary.clone()).collect()
    }

    fn has_dynamic_classes(&self) -> bool {
        self.has_dynamic_classes
    }

    fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn cursors(&self, window: Window) -> Vec<BoxedCursor> {
        self.streams.iter().map(|(_, make)| make(window)).collect()
    }

    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        self.streams.get(stream).map(|(_, make)| make(window))
    }
}
