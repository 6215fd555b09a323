//! Trace of a live input.

use std::sync::{Arc, Mutex};

use super::live_cursor::LiveCursor;
use super::{LiveFeed, LiveOptions};
use crate::cursor::{BoxedCursor, Cursor as _};
use crate::locks::IgnorePoison as _;
use crate::message::Damage;
use crate::trace::{DataStream, OpenedTrace, StreamSummary, Trace, Window};

/// Trace of a live input. It can be read once.
///
/// It has a single data stream, which describes the input before anything is read: its clock, its known classes. The
/// messages belong to this data stream or to others.
pub struct LiveTrace {
    format: &'static str,
    name: String,
    stream: Arc<DataStream>,
    /// Feed for the first cursor.
    feed: Mutex<Option<Box<dyn LiveFeed>>>,
    options: LiveOptions,
}

impl LiveTrace {
    /// Creates the trace of a feed. `name` is the address of the input.
    #[must_use]
    pub fn new(
        format: &'static str,
        name: impl Into<String>,
        stream: Arc<DataStream>,
        feed: Box<dyn LiveFeed>,
        options: LiveOptions,
    ) -> Self {
        Self { format, name: name.into(), stream, feed: Mutex::new(Some(feed)), options }
    }

    /// Returns the data stream that describes the input, and the feed unless a cursor reads it.
    #[must_use]
    pub fn into_parts(self) -> (Arc<DataStream>, Option<Box<dyn LiveFeed>>) {
        (self.stream, self.feed.into_inner().ignore_poison())
    }
}

impl OpenedTrace for LiveTrace {
    fn format(&self) -> &'static str {
        self.format
    }

    fn path(&self) -> &str {
        &self.name
    }

    fn trace(&self) -> &Arc<Trace> {
        &self.stream.trace
    }

    fn streams(&self) -> Vec<StreamSummary> {
        vec![StreamSummary::new(Arc::clone(&self.stream))]
    }

    fn has_dynamic_classes(&self) -> bool {
        true
    }

    fn has_dynamic_streams(&self) -> bool {
        true
    }

    fn damage(&self) -> &[Damage] {
        &[]
    }

    fn live(&self) -> Option<&LiveOptions> {
        Some(&self.options)
    }

    /// Returns the cursor at the first call. It ignores the start of the window.
    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        let feed = if stream == 0 { self.feed.lock().ignore_poison().take()? } else { return None };
        Some(LiveCursor::new(self.name.clone(), feed, self.options.clone(), window).boxed())
    }
}
