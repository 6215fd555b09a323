//! Traces whose events get data that their records lack.

use std::ops::Range;
use std::sync::Arc;

use crate::cursor::BoxedCursor;
use crate::live::LiveOptions;
use crate::message::Damage;
use crate::trace::{FileDiagnostic, SplitPoint, StreamSummary, TracerQuirk};
use crate::{DataStream, OpenedTrace, Trace, Window};

/// Trace with the same data streams as another trace, but with other cursors.
pub struct WrappedTrace {
    trace: Arc<dyn OpenedTrace>,
    wrap: Box<WrapCursor>,
    shares_stacks: bool,
}

type WrapCursor = dyn Fn(usize, BoxedCursor, CursorStart) -> BoxedCursor + Send + Sync;

/// Start position of a cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CursorStart {
    /// First event time, if it is later than the time of the first message.
    pub time: Option<i128>,
    /// First packet, if the cursor starts at a packet and not at a time.
    pub packet: Option<u64>,
}

impl CursorStart {
    fn from_window(window: Window) -> Self {
        Self { time: window.begin, packet: None }
    }
}

impl WrappedTrace {
    /// Creates a trace. `wrap` gets the index of a data stream and its cursor, and returns a cursor with the same
    /// messages in the same order.
    pub fn new(
        trace: Arc<dyn OpenedTrace>,
        wrap: impl Fn(usize, BoxedCursor) -> BoxedCursor + Send + Sync + 'static,
    ) -> Self {
        Self::with_starts(trace, move |stream, cursor, _| wrap(stream, cursor))
    }

    /// Creates a trace like [`WrappedTrace::new`], but `wrap` also gets the start position of the cursor.
    pub fn with_starts(
        trace: Arc<dyn OpenedTrace>,
        wrap: impl Fn(usize, BoxedCursor, CursorStart) -> BoxedCursor + Send + Sync + 'static,
    ) -> Self {
        let shares_stacks = trace.shares_stacks();
        Self { trace, wrap: Box::new(wrap), shares_stacks }
    }

    /// Declares that the cursors add call stacks to the same table: see [`OpenedTrace::shares_stacks`].
    #[must_use]
    pub fn with_shared_stacks(self) -> Self {
        Self { shares_stacks: true, ..self }
    }
}

impl OpenedTrace for WrappedTrace {
    fn format(&self) -> &'static str {
        self.trace.format()
    }

    fn dialect(&self) -> Option<&'static str> {
        self.trace.dialect()
    }

    fn path(&self) -> &str {
        self.trace.path()
    }

    fn trace(&self) -> &Arc<Trace> {
        self.trace.trace()
    }

    fn diagnostics(&self) -> &[FileDiagnostic] {
        self.trace.diagnostics()
    }

    fn auxiliary_files(&self) -> &[String] {
        self.trace.auxiliary_files()
    }

    fn quirks(&self) -> Vec<TracerQuirk> {
        self.trace.quirks()
    }

    fn applied_quirks(&self) -> Vec<TracerQuirk> {
        self.trace.applied_quirks()
    }

    fn streams(&self) -> Vec<StreamSummary> {
        self.trace.streams()
    }

    fn for_each_stream(&self, take: &mut dyn FnMut(StreamSummary)) {
        self.trace.for_each_stream(take);
    }

    fn count_discarded(&self, stream: usize) -> Option<u64> {
        self.trace.count_discarded(stream)
    }

    fn data_streams(&self) -> Vec<Arc<DataStream>> {
        self.trace.data_streams()
    }

    fn has_dynamic_classes(&self) -> bool {
        self.trace.has_dynamic_classes()
    }

    fn has_dynamic_streams(&self) -> bool {
        self.trace.has_dynamic_streams()
    }

    fn live(&self) -> Option<&LiveOptions> {
        self.trace.live()
    }

    fn shares_stacks(&self) -> bool {
        self.shares_stacks
    }

    fn reports_invalid_texts(&self) -> bool {
        self.trace.reports_invalid_texts()
    }

    fn damage(&self) -> &[Damage] {
        self.trace.damage()
    }

    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        Some((self.wrap)(stream, self.trace.cursor(stream, window)?, CursorStart::from_window(window)))
    }

    fn packet_cursor(&self, stream: usize, window: Window, packets: Range<u64>) -> Option<BoxedCursor> {
        let start = CursorStart { packet: Some(packets.start), ..CursorStart::from_window(window) };
        Some((self.wrap)(stream, self.trace.packet_cursor(stream, window, packets)?, start))
    }

    fn segment_cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        let start = CursorStart::from_window(window);
        Some((self.wrap)(stream, self.trace.segment_cursor(stream, window)?, start))
    }

    fn split_points(&self, stream: usize, grain: u64) -> Option<Vec<SplitPoint>> {
        self.trace.split_points(stream, grain)
    }

    fn cursor_from(&self, stream: usize, window: Window, begin: i128) -> Option<BoxedCursor> {
        let start = CursorStart::from_window(window);
        Some((self.wrap)(stream, self.trace.cursor_from(stream, window, begin)?, start))
    }
}
