//! Traces in formats whose files are a sequence of records.

use std::sync::Arc;

use crate::cursor::{BoxedCursor, Cursor, ResumePoint};
use crate::message::Damage;
use crate::source::{Source, SourceCursor};
use crate::trace::{
    DataStream, FileDiagnostic, Limits, OpenedTrace, StreamSummary, Trace, Window, skip_events,
};

/// Creates the cursor of a data stream at its first record.
type MakeCursor = Box<dyn Fn(Window) -> BoxedCursor + Send + Sync>;

/// Creates the cursor of a data stream at a place.
type ResumeCursor = Box<dyn Fn(&ResumePoint) -> Option<BoxedCursor> + Send + Sync>;

/// Data stream of a [`RecordTrace`].
struct RecordStream {
    summary: StreamSummary,
    make: MakeCursor,
    resume: Option<ResumeCursor>,
}

/// A trace whose data streams are read by [`Source`]s, for simple formats.
pub struct RecordTrace {
    format: &'static str,
    trace: Arc<Trace>,
    limits: Limits,
    streams: Vec<RecordStream>,
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
        self,
        class: usize,
        name: &str,
        bytes: u64,
        make: impl Fn() -> R + Send + Sync + 'static,
    ) -> Self {
        let Some(stream) = DataStream::new(Arc::clone(&self.trace), class, None, name) else { return self };
        self.add_stream(Arc::new(stream), bytes, make, None::<fn(&ResumePoint) -> Option<R>>)
    }

    /// Adds a data stream of the trace like [`with_stream`](Self::with_stream). `resume` creates a reader at a place that a
    /// reader of the same trace returned: see [`OpenedTrace::cursor_at`].
    #[must_use]
    pub fn with_growing_stream<R: Source + 'static>(
        self,
        stream: Arc<DataStream>,
        bytes: u64,
        make: impl Fn() -> R + Send + Sync + 'static,
        resume: impl Fn(&ResumePoint) -> Option<R> + Send + Sync + 'static,
    ) -> Self {
        self.add_stream(stream, bytes, make, Some(resume))
    }

    fn add_stream<R: Source + 'static>(
        mut self,
        stream: Arc<DataStream>,
        bytes: u64,
        make: impl Fn() -> R + Send + Sync + 'static,
        resume: Option<impl Fn(&ResumePoint) -> Option<R> + Send + Sync + 'static>,
    ) -> Self {
        let summary = StreamSummary { bytes, ..StreamSummary::new(Arc::clone(&stream)) };
        let limits = self.limits;
        let at = Arc::clone(&stream);
        let make =
            Box::new(move |window| SourceCursor::new(Arc::clone(&stream), make(), window, &limits).boxed());
        let resume = resume.map(|resume| -> ResumeCursor {
            Box::new(move |place| {
                let (stream, window) = (Arc::clone(&at), Window::default());
                Some(SourceCursor::resumed(stream, resume(place)?, window, &limits, |_, _| None).boxed())
            })
        });
        self.streams.push(RecordStream { summary, make, resume });
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
        self.streams.iter().map(|stream| stream.summary.clone()).collect()
    }

    fn has_dynamic_classes(&self) -> bool {
        self.has_dynamic_classes
    }

    fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn cursors(&self, window: Window) -> Vec<BoxedCursor> {
        self.streams.iter().map(|stream| (stream.make)(window)).collect()
    }

    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        self.streams.get(stream).map(|stream| (stream.make)(window))
    }

    fn cursor_at(&self, stream: usize, place: &ResumePoint, events: u64, _: bool) -> Option<BoxedCursor> {
        let mut cursor = self.streams.get(stream)?.resume.as_ref()?(place)?;
        skip_events(&mut *cursor, events);
        Some(cursor)
    }
}
