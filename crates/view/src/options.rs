//! Server options.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ichnos::model::{DataStream, Window};
use ichnos::{FilterError, FilterWarning, Reader, Selection, Session};

use crate::cache::TimelineCache;

/// Function that converts a time in an expression to nanoseconds since the clock origin.
pub type ResolveTime = Arc<dyn Fn(&str) -> Result<i128, String> + Send + Sync>;

/// Function that opens the traces again with clock offsets: trace paths with nanoseconds to add.
type OpenWithOffsets = Arc<dyn Fn(&[(String, i64)]) -> Result<ViewSource, String> + Send + Sync>;

/// Terminal command arguments that read and select the same events, quoted for a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewArguments {
    /// Traces, with all reading and selection options except the following.
    pub traces: String,
    /// Files and directories in `traces`, unquoted. Saved pages do not contain their directories.
    pub paths: Vec<String>,
    /// Options for the time range.
    pub times: String,
    /// Filter expression, unquoted.
    pub filter: Option<String>,
}

impl ViewArguments {
    /// Creates arguments that only name traces.
    #[must_use]
    pub fn new(traces: impl Into<String>) -> Self {
        Self { traces: traces.into(), ..Self::default() }
    }
}

/// Options of [`ViewServer`](crate::ViewServer).
#[derive(Clone)]
#[non_exhaustive]
pub struct ViewOptions {
    /// Page title.
    pub title: String,
    /// Arguments of the terminal commands that the page shows.
    pub arguments: ViewArguments,
    /// Port on 127.0.0.1. Port 0 selects a free port.
    pub port: u16,
    /// `true` to keep the server running after the last page closes.
    pub keep: bool,
    /// Selected data streams and events.
    pub selection: Selection,
    /// Time range in nanoseconds since the clock origin.
    pub window: Window,
    /// `true` to restrict the time range to the time in which all data streams of a trace are active.
    pub stream_intersection: bool,
    /// Time zone name for times of day.
    pub zone: String,
    /// Directory for temporary files of downloads.
    pub temporary: PathBuf,
    /// Problems with the traces, one sentence each.
    pub warnings: Vec<String>,
    /// Timeline cache. Must be `None` for growing traces.
    pub cache: Option<TimelineCache>,
    /// `true` for growing traces. Pages show them as live, and can follow their end. See [`run_following`].
    ///
    /// [`run_following`]: crate::ViewServer::run_following
    pub follow: bool,
    /// Converts a time in an expression to nanoseconds since the clock origin.
    pub resolve_time: ResolveTime,
    /// Returns a suggestion for an expression with an error.
    pub error_help: fn(&FilterError) -> Option<String>,
    /// Returns a suggestion for an unknown name in an expression.
    pub warning_help: fn(&FilterWarning) -> Option<String>,
    /// Opens the traces again for requests with clock offsets. `None` if that is impossible.
    pub open_with_offsets: Option<OpenWithOffsets>,
    /// Flag that stops the server.
    pub stop: &'static AtomicBool,
}

impl fmt::Debug for ViewOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewOptions")
            .field("title", &self.title)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl ViewOptions {
    /// Creates options that show all events on a free port. Setting `stop` stops the server.
    #[must_use]
    pub fn new(title: impl Into<String>, stop: &'static AtomicBool) -> Self {
        let title = title.into();
        Self {
            arguments: ViewArguments::new(title.clone()),
            title,
            port: 0,
            keep: false,
            selection: Selection::default(),
            window: Window::default(),
            stream_intersection: false,
            zone: "UTC".to_owned(),
            temporary: std::env::temp_dir(),
            warnings: Vec::new(),
            cache: None,
            follow: false,
            resolve_time: Arc::new(|time| Err(format!("{time}: times are not known here"))),
            error_help: |error| error.help.as_deref().map(str::to_owned),
            warning_help: |_| None,
            open_with_offsets: None,
            stop,
        }
    }
}

impl ViewOptions {
    /// Returns a reader of the selected data streams, merged by time, within a window and the time range of the
    /// options.
    pub(crate) fn reader<'s>(&self, session: &'s Session, window: Window) -> Result<Reader<'s>, String> {
        let reader =
            self.selection.reader(session, self.within(window)).map_err(|error| error.to_string())?;
        self.intersect(reader)
    }

    /// Returns a reader of the selected data streams, one after another. Otherwise like [`reader`](Self::reader).
    pub(crate) fn stream_reader<'s>(
        &self,
        session: &'s Session,
        window: Window,
    ) -> Result<Reader<'s>, String> {
        let wants = |stream: &DataStream| self.selection.wants_stream(&stream.name);
        let mut reader = session.stream_reader_of(self.within(window), wants);
        self.selection.exclude(&mut reader);
        self.intersect(reader)
    }

    /// Restricts a window to the time range of the options.
    pub(crate) fn within(&self, window: Window) -> Window {
        let own = self.window;
        let begin = window.begin.max(own.begin);
        let end = [window.end, own.end].into_iter().flatten().min();
        // An empty window must not become the whole trace.
        Window { begin, end: end.max(begin.filter(|_| end.is_some())) }
    }

    fn intersect<'s>(&self, mut reader: Reader<'s>) -> Result<Reader<'s>, String> {
        if self.stream_intersection {
            reader.intersect_streams().map_err(|error| error.to_string())?;
        }
        Ok(reader)
    }
}

/// Reopened traces, because they have grown or for clock offsets, with their selection.
#[non_exhaustive]
pub struct ViewSource {
    /// Traces.
    pub session: Arc<Session>,
    /// Selected data streams and events.
    pub selection: Selection,
    /// Time range in nanoseconds since the clock origin.
    pub window: Window,
    /// Problems with the traces, one sentence each.
    pub warnings: Vec<String>,
    /// Terminal command arguments. `None` if unchanged.
    pub arguments: Option<ViewArguments>,
    /// Converts a time in an expression to nanoseconds since the clock origin. `None` if unchanged.
    pub resolve_time: Option<ResolveTime>,
}

impl fmt::Debug for ViewSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewSource").field("window", &self.window).finish_non_exhaustive()
    }
}

impl ViewSource {
    /// Creates a source that shows all events.
    #[must_use]
    pub fn new(session: Arc<Session>) -> Self {
        Self {
            session,
            selection: Selection::default(),
            window: Window::default(),
            warnings: Vec::new(),
            arguments: None,
            resolve_time: None,
        }
    }
}
