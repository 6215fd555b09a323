//! Selection of data streams and events.

use ichnos::analysis::TaskEvents;
use ichnos::model::{DataStream, Window};
use ichnos::{Expression, Reader, Session};

use crate::args::Selecting;
use crate::exit::Failure;
use crate::input;
use crate::progress::{Console, interrupt};
use crate::select::{Patterns, TimeRange, Windows, filters, intersection};

/// Data streams and events to read.
#[derive(Clone)]
pub(crate) struct Selection {
    pub(crate) streams: Option<Patterns>,
    pub(crate) events: Option<Patterns>,
    pub(crate) times: TimeRange,
    pub(crate) filter: Option<Expression>,
    /// Option with the filter, for messages.
    pub(crate) filter_option: &'static str,
    /// Selected data streams and events. Contains the filter after it was checked against the traces.
    pub(crate) selected: ichnos::Selection,
    /// `true` if the selection is limited to time windows or to a task.
    has_windows: bool,
    /// `true` to select only the time when all data streams of a trace are active.
    pub(crate) stream_intersection: bool,
    /// Maximum number of events to print.
    pub(crate) limit: Option<u64>,
    /// `true` to read the whole selection.
    pub(crate) reads_all: bool,
}

impl Selection {
    /// Creates a selection from the options.
    pub(crate) fn new(args: &Selecting, limit: Option<u64>) -> Result<Self, Failure> {
        let streams = Patterns::new(&args.stream, "--stream")?;
        let events = Patterns::new(&args.event, "--event")?;
        let mut selected = ichnos::Selection::default();
        if let Some(patterns) = streams.clone() {
            selected = selected.streams(move |path| {
                let name = path.rsplit('/').next().unwrap_or_default();
                patterns.matches(path) || patterns.matches(name)
            });
        }
        let mut selection = Self {
            streams,
            events: None,
            times: TimeRange { begin: args.begin(), end: args.end(), gmt: args.clock_gmt },
            filter: args.filter.as_deref().map(|text| filters::parse(text, "--filter")).transpose()?,
            filter_option: "--filter",
            selected,
            has_windows: false,
            stream_intersection: args.stream_intersection,
            limit,
            reads_all: limit.is_none(),
        };
        selection.select_events(events);
        Ok(selection)
    }

    /// Selects events by name.
    pub(crate) fn select_events(&mut self, patterns: Option<Patterns>) {
        self.events.clone_from(&patterns);
        let selected = std::mem::take(&mut self.selected);
        self.selected = match patterns {
            Some(patterns) => selected.events(move |name| patterns.matches(name)),
            None => selected.all_events(),
        };
    }

    /// Checks the filter against the opened traces, and returns the time window that contains the whole selection.
    ///
    /// # Errors
    /// If a time or the filter is invalid.
    pub(crate) fn prepare(&mut self, session: &Session, console: Console) -> Result<Window, Failure> {
        let window = self.times.window(session)?;
        let Some(expression) = &self.filter else { return Ok(window) };
        let filter = filters::filter(expression, session, self.filter_option, self.times.gmt, console)?;
        self.selected = std::mem::take(&mut self.selected).filter(&filter);
        Ok(intersection(window, filter.window()))
    }

    /// Returns a reader that merges the selected data streams in a window.
    ///
    /// # Errors
    /// If the clocks of the traces are unrelated, or as for [`Self::stream_reader`].
    pub(crate) fn reader<'s>(&self, session: &'s Session, window: Window) -> Result<Reader<'s>, Failure> {
        // The data streams of live traces are known when their messages arrive.
        let wants = |stream: &DataStream| session.is_live() || self.wants_file(&stream.name);
        self.restrict(session.reader_of(window, wants).map_err(|error| input::failure(&error))?)
    }

    /// Returns a reader for the selected data streams in a window, one after the other. Their clocks can be unrelated.
    ///
    /// # Errors
    /// If only the time when all data streams of a trace are active is selected, but unknown or empty.
    pub(crate) fn stream_reader<'s>(
        &self,
        session: &'s Session,
        window: Window,
    ) -> Result<Reader<'s>, Failure> {
        self.restrict(session.stream_reader_of(window, |stream| self.wants_file(&stream.name)))
    }

    /// Restricts a reader to the selected times and classes.
    fn restrict<'s>(&self, mut reader: Reader<'s>) -> Result<Reader<'s>, Failure> {
        if self.stream_intersection {
            reader.intersect_streams().map_err(|error| {
                Failure::new(format!("--stream-intersection: {error}")).help(
                    "leave it out, or leave out this trace; `ichnos info` shows when each data stream starts \
                    and ends",
                )
            })?;
        }
        self.selected.exclude(&mut reader);
        Ok(reader)
    }

    /// Selects only events in time windows. `hull` contains all windows, and selects losses.
    pub(crate) fn within(&mut self, windows: Windows, hull: Window) {
        let selected = std::mem::take(&mut self.selected).condition(move |event| windows.contain(event));
        self.selected = selected.losses_in(hull);
        self.has_windows = true;
    }

    /// Selects only the events of a task.
    pub(crate) fn within_task(&mut self, events: TaskEvents) {
        self.selected = std::mem::take(&mut self.selected).condition(move |event| events.contain(event));
        self.has_windows = true;
    }

    /// Returns `true` if the selection can exclude events.
    pub(crate) fn is_some(&self) -> bool {
        self.times.is_some()
            || self.stream_intersection
            || self.streams.is_some()
            || self.events.is_some()
            || self.filter.is_some()
            || self.has_windows
    }

    /// Returns `true` if the selection can exclude events by time.
    pub(crate) fn has_times(&self) -> bool {
        self.times.is_some() || self.stream_intersection
    }

    /// Returns `true` if events do not need to be checked one by one.
    #[inline(always)]
    pub(crate) fn wants_all_events(&self) -> bool {
        debug_assert!(
            self.filter.is_none() || self.selected.selector().is_some(),
            "the filter was not prepared"
        );
        self.selected.wants_all_events()
    }

    /// Returns `true` if the data stream with this name is selected.
    pub(crate) fn wants_file(&self, path: &str) -> bool {
        self.selected.wants_stream(path)
    }

    /// Reports names in the filter that all classes lack, if everything was read. Returns `true` if something was
    /// reported.
    pub(crate) fn review(&self, console: Console) -> bool {
        let selector = self.selected.selector().filter(|_| self.reads_all && !interrupt::is_requested());
        selector.is_some_and(|selector| filters::review(&selector.filter(), self.filter_option, console))
    }
}
