//! Options of a server.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ichnos::model::{DataStream, Window};
use ichnos::{FilterError, FilterWarning, Reader, Selection, Session};

use crate::cache::TimelineCache;

/// Function that converts a time in an expression to nanoseconds from the origin of the clock.
pub type ResolveTime = Arc<dyn Fn(&str) -> Result<i128, String> + Send + Sync>;

/// Function that opens the traces once more, with nanoseconds to add to the times of some of them, which are named by their
/// paths.
type OpenWithOffsets = Arc<dyn Fn(&[(String, i64)]) -> Result<ViewSource, String> + Send + Sync>;

/// Arguments of commands that read and select the same in a terminal, quoted for a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewArguments {
    /// The traces, and options of reading and selecting but for the following ones.
    pub traces: String,
    /// Files and directories that `traces` names, as they are. Pages that are passed on do not say where they are.
    pub paths: Vec<String>,
    /// Options that select a time range.
    pub times: String,
    /// Expression that selects events, as it is.
    pub filter: Option<String>,
}

impl ViewArguments {
    /// Makes arguments that name traces alone.
    #[must_use]
    pub fn new(traces: impl Into<String>) -> Self {
        Self { traces: traces.into(), ..Self::default() }
    }
}

/// Options of a [`ViewServer`](crate::ViewServer).
#[derive(Clone)]
#[non_exhaustive]
pub struct ViewOptions {
    /// Name for the title of the page.
    pub title: String,
    /// Arguments of commands that answer the same.
    pub arguments: ViewArguments,
    /// Port on 127.0.0.1; 0 for a free one.
    pub port: u16,
    /// Continues when the last page was closed.
    pub keep: bool,
    /// Selected data streams and events.
    pub selection: Selection,
    /// Time range, in nanoseconds since the origin of the clock.
    pub window: Window,
    /// Only the time in which all data streams of a trace are active.
    pub stream_intersection: bool,
    /// Name of the time zone of times of day.
    pub zone: String,
    /// Directory for files that are written to be downloaded, and removed after that.
    pub temporary: PathBuf,
    /// Problems with the traces, a sentence each.
    pub warnings: Vec<String>,
    /// Keeps the timeline, and takes it from there if it is there already. Not for traces that grow.
    pub cache: Option<TimelineCache>,
    /// Traces grow: pages show them as live, and follow their end on request. See [`run_following`].
    ///
    /// [`run_following`]: crate::ViewServer::run_following
    pub follow: bool,
    /// Converts a time in an expression to nanoseconds from the origin of the clock.
    pub resolve_time: ResolveTime,
    /// Suggests what to write instead of an expression with an error.
    pub error_help: fn(&FilterError) -> Option<String>,
    /// Suggests what to write instead of a name that no class has.
    pub warning_help: fn(&FilterWarning) -> Option<String>,
    /// Opens the traces once more for requests with clock offsets; `None` if that is not possible.
    pub open_with_offsets: Option<OpenWithOffsets>,
    /// Flag that ends the server when it is set.
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
    /// Shows everything at a free port. `stop` ends the server when it is set.
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
    /// Reads the selected data streams of a session merged by time, in a window and in that of the options.
    pub(crate) fn reader<'s>(&self, session: &'s Session, window: Window) -> Result<Reader<'s>, String> {
        let reader =
            self.selection.reader(session, self.within(window)).map_err(|error| error.to_string())?;
        self.intersect(reader)
    }

    /// Reads the selected data streams one by one; otherwise like [`reader`](Self::reader).
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

    /// Restricts a window to that of the options.
    pub(crate) fn within(&self, window: Window) -> Window {
        let own = self.window;
        let begin = window.begin.max(own.begin);
        let end = [window.end, own.end].into_iter().flatten().min();
        // An empty window must not become all of the trace.
        Window { begin, end: end.max(begin.filter(|_| end.is_some())) }
    }

    fn intersect<'s>(&self, mut reader: Reader<'s>) -> Result<Reader<'s>, String> {
        if self.stream_intersection {
            reader.intersect_streams().map_err(|error| error.to_string())?;
        }
        Ok(reader)
    }
}

/// Traces that were opened again because they have grown or for clock offsets, and what is shown of them.
#[non_exhaustive]
pub struct ViewSource {
    /// The traces.
    pub session: Arc<Session>,
    /// Selected data streams and events.
    pub selection: Selection,
    /// Time range, in nanoseconds since the origin of the clock.
    pub window: Window,
    /// Problems with the traces, a sentence each.
    pub warnings: Vec<String>,
    /// Arguments of commands that answer the same; `None` if they are those of before.
    pub arguments: Option<ViewArguments>,
    /// Converts a time in an expression to nanoseconds from the origin of the clock; `None` if that is done as before.
    pub resolve_time: Option<ResolveTime>,
}

impl fmt::Debug for ViewSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewSource").field("window", &self.window).finish_non_exhaustive()
    }
}

impl ViewSource {
    /// Shows everything.
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
