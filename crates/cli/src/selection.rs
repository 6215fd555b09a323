//! Selection of data streams and events.

use std::collections::HashMap;
use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};
use ichnos::model::plan::EventRecordPlans;
use ichnos::model::{DataStream, Event, EventRecordClass, ExcludedClasses, Message, Window};
use ichnos::{Expression, Reader, Selector, Session};

use crate::args::Selecting;
use crate::exit::Failure;
use crate::filtering;
use crate::input;
use crate::interrupt;
use crate::report::Report;
use crate::time_range::TimeRange;
use crate::windows::Windows;

/// Patterns, one of which has to match a name.
#[derive(Clone)]
pub(crate) struct Patterns {
    /// Patterns as written.
    pub(crate) texts: Arc<[String]>,
    set: GlobSet,
}

impl Patterns {
    /// Returns the patterns of an option, or `None` if it was not given.
    pub(crate) fn new(texts: &[String], option: &str) -> Result<Option<Self>, Failure> {
        if texts.is_empty() {
            return Ok(None);
        }
        let mut builder = GlobSetBuilder::new();
        for text in texts {
            let glob = Glob::new(text).map_err(|error| {
                Failure::new(format!("invalid pattern of {option}: {error}"))
                    .help("`*` is any text, `?` any character, `[a-z]` one of them, `{a,b}` a or b")
            })?;
            builder.add(glob);
        }
        let set = builder
            .build()
            .map_err(|error| Failure::new(format!("invalid patterns of {option}: {error}")))?;
        Ok(Some(Self { texts: texts.into(), set }))
    }

    /// Returns `true` if a name matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.set.is_match(name)
    }
}

/// Data streams and events to read.
#[derive(Clone)]
pub(crate) struct Selection {
    pub(crate) streams: Option<Patterns>,
    pub(crate) events: Option<Patterns>,
    pub(crate) times: TimeRange,
    pub(crate) filter: Option<Expression>,
    /// Option of the filter, for messages.
    pub(crate) filter_option: &'static str,
    /// The filter, once it is checked against the traces.
    selector: Option<Selector>,
    /// Time windows that contain the selected events.
    pub(crate) windows: Option<Arc<Windows>>,
    /// `true` to select the time in which all data streams of a trace are active.
    pub(crate) stream_intersection: bool,
    /// Maximum number of events to print.
    pub(crate) limit: Option<u64>,
    /// `true` if the whole selection is read.
    pub(crate) reads_all: bool,
    known_classes: HashMap<usize, bool>,
}

impl Selection {
    /// Creates the selection of the options.
    pub(crate) fn new(args: &Selecting, limit: Option<u64>) -> Result<Self, Failure> {
        Ok(Self {
            streams: Patterns::new(&args.stream, "--stream")?,
            events: Patterns::new(&args.event, "--event")?,
            times: TimeRange { begin: args.begin(), end: args.end(), gmt: args.clock_gmt },
            filter: args.filter.as_deref().map(|text| filtering::parse(text, "--filter")).transpose()?,
            filter_option: "--filter",
            selector: None,
            windows: None,
            stream_intersection: args.stream_intersection,
            limit,
            reads_all: limit.is_none(),
            known_classes: HashMap::new(),
        })
    }

    /// Checks the filter against the opened traces, and returns the window of the timeline that contains the
    /// whole selection.
    ///
    /// # Errors
    /// If a time or the filter is invalid.
    pub(crate) fn prepare(&mut self, session: &Session, report: Report) -> Result<Window, Failure> {
        let window = self.times.window(session)?;
        let Some(expression) = &self.filter else { return Ok(window) };
        let filter = filtering::filter(expression, session, self.filter_option, self.times.gmt, report)?;
        self.selector = Some(filter.selector());
        Ok(filtering::both(window, filter.window()))
    }

    /// Reads the selected data streams in a window.
    ///
    /// # Errors
    /// If the clocks of the traces are unrelated, or if the time in which all data streams of a trace are
    /// active is selected but empty.
    pub(crate) fn reader<'s>(&self, session: &'s Session, window: Window) -> Result<Reader<'s>, Failure> {
        self.reader_of(session, window, |_| true)
    }

    /// Like [`Selection::reader`], for data streams for which `is_in` is true.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn reader_of<'s>(
        &self,
        session: &'s Session,
        window: Window,
        is_in: impl Fn(&DataStream) -> bool,
    ) -> Result<Reader<'s>, Failure> {
        let wants = |stream: &DataStream| is_in(stream) && self.wants_file(&stream.name);
        let mut reader = session.reader(window, wants).map_err(|error| input::failure(&error))?;
        self.intersect(&mut reader)?;
        self.exclude(&mut reader);
        Ok(reader)
    }

    /// Restricts a reader to the time in which all data streams of a trace are active, if that is selected.
    ///
    /// # Errors
    /// If that time is unknown.
    pub(crate) fn intersect(&self, reader: &mut Reader<'_>) -> Result<(), Failure> {
        if !self.stream_intersection {
            return Ok(());
        }
        reader.intersect_streams().map_err(|error| {
            Failure::new(format!("--stream-intersection: {error}")).help(
                "leave it out, or leave out this trace; `ichnos info` shows when each data stream \
                begins and ends",
            )
        })
    }

    /// Makes a reader skip events of classes that are not selected.
    pub(crate) fn exclude(&self, reader: &mut Reader<'_>) {
        let filter = self.selector.as_ref().map(Selector::filter);
        let mut by_name: HashMap<(usize, usize), Option<Arc<ExcludedClasses>>> = HashMap::new();
        let mut unnamed = |stream: &DataStream| {
            self.events.as_ref()?;
            let known = by_name.entry((Arc::as_ptr(&stream.trace).addr(), stream.class_index));
            let wants = |plans: &EventRecordPlans| self.wants_class(&plans.class);
            let find =
                || ExcludedClasses::new(stream.plans().event_records.iter().map(|plans| !wants(plans)));
            known.or_insert_with(|| find().map(Arc::new)).clone()
        };
        if self.wants_all_events() {
            return;
        }
        reader.exclude(|stream| unnamed(stream).or_else(|| filter.as_ref()?.excluded_classes(stream)));
    }

    /// Returns `true` if anything may be skipped.
    pub(crate) fn is_some(&self) -> bool {
        self.times.is_some()
            || self.stream_intersection
            || self.streams.is_some()
            || self.events.is_some()
            || self.filter.is_some()
            || self.windows.is_some()
    }

    /// Returns `true` if anything may be skipped because of its time.
    pub(crate) fn has_times(&self) -> bool {
        self.times.is_some() || self.stream_intersection
    }

    /// Returns `true` if no event has to be checked.
    #[inline(always)]
    pub(crate) fn wants_all_events(&self) -> bool {
        self.events.is_none() && self.filter.is_none() && self.windows.is_none()
    }

    /// Returns `true` if a message is selected; its data stream must be.
    pub(crate) fn wants(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Event(event) => self.wants_event(event),
            // A file that is not part of a data stream because it is unreadable.
            Message::Damage(damage) if damage.stream.is_none() => self.wants_file(&damage.file),
            _ => true,
        }
    }

    /// Returns `true` if a data stream of this name is read.
    pub(crate) fn wants_file(&self, path: &str) -> bool {
        let Some(Patterns { set, .. }) = &self.streams else { return true };
        let name = path.rsplit('/').next().unwrap_or_default();
        set.is_match(path) || set.is_match(name)
    }

    /// Returns `true` if events of a class may be selected.
    pub(crate) fn wants_class(&self, class: &EventRecordClass) -> bool {
        let Some(patterns) = &self.events else { return true };
        class.name.as_deref().is_some_and(|name| patterns.matches(name))
    }

    /// Returns the classes of a data stream of which the filter never selects an event.
    pub(crate) fn excluded_by_filter(&self, stream: &DataStream) -> Option<Arc<ExcludedClasses>> {
        self.selector.as_ref()?.filter().excluded_classes(stream)
    }

    /// Reports names in the filter missing from all classes found while reading everything; returns `true` if
    /// there are any.
    pub(crate) fn review(&self, report: Report) -> bool {
        let selector = self.selector.as_ref().filter(|_| self.reads_all && !interrupt::is_requested());
        selector.is_some_and(|selector| filtering::review(&selector.filter(), self.filter_option, report))
    }

    /// Returns `true` if an event is selected.
    #[inline]
    pub(crate) fn wants_event(&mut self, event: &Event<'_>) -> bool {
        debug_assert!(self.filter.is_none() || self.selector.is_some(), "the filter was not prepared");
        self.windows.as_ref().is_none_or(|windows| windows.contain(event))
            && self.wants_name(event)
            && self.selector.as_mut().is_none_or(|selector| selector.selects(event))
    }

    fn wants_name(&mut self, event: &Event<'_>) -> bool {
        let Some(Patterns { set, .. }) = &self.events else { return true };
        // Classes keep their addresses while their trace is open.
        let address = std::ptr::from_ref(event.class) as usize;
        *self
            .known_classes
            .entry(address)
            .or_insert_with(|| event.class.name.as_deref().is_some_and(|name| set.is_match(name)))
    }
}
