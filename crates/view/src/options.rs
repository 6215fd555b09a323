//! Options of a server.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ichnos::model::Window;
use ichnos::{Selection, Session};

use crate::cache::TimelineCache;

/// Function that converts a time in an expression to nanoseconds from the origin of the clock.
type ResolveTime = Arc<dyn Fn(&str) -> Result<i128, String> + Send + Sync>;

/// Options of a [`ViewServer`](crate::ViewServer).
#[derive(Clone)]
#[non_exhaustive]
pub struct ViewOptions {
    /// Name for the title of the page.
    pub title: String,
    /// Arguments of commands that read the same traces in the same way, quoted for a shell.
    pub arguments: String,
    /// Port on 127.0.0.1; 0 for a free one.
    pub port: u16,
    /// Continues when the last page was closed.
    pub keep: bool,
    /// Selected data streams and events.
    pub selection: Selection,
    /// Time range, in nanoseconds since the origin of the clock.
    pub window: Window,
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
            arguments: title.clone(),
            title,
            port: 0,
            keep: false,
            selection: Selection::default(),
            window: Window::default(),
            zone: "UTC".to_owned(),
            temporary: std::env::temp_dir(),
            warnings: Vec::new(),
            cache: None,
            follow: false,
            resolve_time: Arc::new(|time| Err(format!("{time}: times are not known here"))),
            stop,
        }
    }
}

/// Traces that were opened again because they have grown, and what is shown of them.
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
        Self { session, selection: Selection::default(), window: Window::default(), warnings: Vec::new() }
    }
}
