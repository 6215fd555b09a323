//! Common part of all viewer files.

use std::fmt::Debug;
use std::io;

use ichnos_analysis::events::class::{EventPlace, ViewerClass};
use ichnos_analysis::events::last_context::LastContext;
use ichnos_analysis::events::losses::{
    EarlyLosses, LossNote, NO_TIME, record_loss, record_lost_event, shown_time,
};
use ichnos_analysis::events::scheduling::{EventLocation, Scheduling};
use ichnos_analysis::events::tracks::TraceNumbers;
use ichnos_model::event::StreamTable;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{DataStream, Event, Message};

/// Maximum size of the buffer that is kept for further bytes.
const MOST_KEPT: usize = 1 << 20;

/// Viewer file.
///
/// # For implementations
/// Only this crate implements it. Messages must be sorted by time.
pub trait ViewerFile: Debug + Send {
    /// Takes a message. Returns `false` for an event that cannot be shown.
    fn message(&mut self, message: &Message<'_>) -> bool;

    /// Returns the pending bytes.
    fn bytes(&self) -> &[u8];

    /// Takes the pending bytes.
    fn take_bytes(&mut self) -> Vec<u8>;

    /// Ends the file. Its last bytes are pending afterwards.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn finish(&mut self) -> io::Result<()>;

    /// Returns the losses so far.
    fn losses(&self) -> &LossTable;
}

/// Start parameters of a viewer file.
#[derive(Clone, Copy, Debug, Default)]
pub struct ViewerStart {
    /// Time of events before the first event with a time, in nanoseconds from the clock origin. Without it, they are
    /// at the origin.
    pub first_time: Option<u64>,
    /// `true` if that time is a date.
    pub has_date: bool,
}

/// Event with its trace and time.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventAt<'c, 'e> {
    pub(super) event: &'c Event<'e>,
    /// Trace number.
    pub(super) trace: u32,
    /// Display time in nanoseconds from the clock origin.
    pub(super) time: u64,
}

/// Event with its class and location.
#[derive(Debug)]
pub(super) struct ShownEvent<'c, 'e, C> {
    pub(super) at: EventAt<'c, 'e>,
    pub(super) class: &'c C,
    pub(super) location: EventLocation<'c>,
}

/// File format of a viewer. [`start_file`] starts a [`ViewerFile`] in it.
///
/// # For implementations
/// Events and losses come in file order. Append their bytes to the buffer of [`Self::content_mut`].
pub(super) trait Viewer: Debug + Send + 'static {
    /// Event record class with the data that all its events share.
    type Class: Debug + Send;
    /// State of a data stream.
    type Stream: Debug + Send;

    /// `true` to number a trace when its first data stream starts. Otherwise its first event counts.
    const NUMBERS_BEGINNINGS: bool = false;
    /// `true` if [`Self::follow_threads`] does something.
    const FOLLOWS_THREADS: bool = false;
    /// Loss for an event at time 0, which is shown 1 ns later. `None` if the format supports time 0.
    const AT_ORIGIN: Option<&'static str> = None;

    /// Returns the pending bytes and the losses so far.
    fn content(&self) -> (&Vec<u8>, &LossTable);

    /// Returns the file buffer and the losses.
    fn content_mut(&mut self) -> (&mut Vec<u8>, &mut LossTable);

    /// Creates the class of an event.
    fn class(&mut self, event: &Event<'_>) -> Self::Class;

    /// Returns the part of a class that all viewers share.
    fn viewer_class(class: &Self::Class) -> &ViewerClass;

    /// Starts a data stream. `trace` is the number of its trace.
    fn stream(&mut self, stream: &DataStream, trace: u32, time: u64) -> Self::Stream;

    /// Takes the time of an event, before earlier losses and the event are shown.
    fn prepare(&mut self, event: &Event<'_>, time: u64) {
        let _ = (event, time);
    }

    /// Shows an event. Returns `false` if it cannot be shown.
    fn event(&mut self, shown: &ShownEvent<'_, '_, Self::Class>, stream: &mut Self::Stream) -> bool;

    /// Ends the spans of the thread that exited with an event.
    fn end_thread(&mut self, at: EventAt<'_, '_>, ended: &EventPlace<'_>, stream: &mut Self::Stream);

    /// Shows threads with a new process or name: see [`Scheduling::take_change`].
    fn follow_threads(&mut self, stream: &Self::Stream, time: u64, scheduling: &mut Scheduling) {
        let _ = (stream, time, scheduling);
    }

    /// Shows a loss.
    fn loss(&mut self, note: &LossNote, time: u64);

    /// Ends the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts a file.
pub(super) fn start_file<V: Viewer>(viewer: V, first_time: Option<u64>) -> Box<dyn ViewerFile> {
    Box::new(EventFile::new(viewer, first_time))
}

/// File of events.
#[derive(Debug)]
pub(super) struct EventFile<V: Viewer> {
    pub(super) viewer: V,
    streams: StreamTable<ViewerStream<V::Stream>, (), V::Class>,
    traces: TraceNumbers,
    scheduling: Scheduling,
    /// Reused buffer for the event name.
    name: String,
    /// Time of the last event, for messages without a time.
    now: Option<u64>,
    /// Time of events before the first known time.
    first_time: Option<u64>,
    early: EarlyLosses,
}

/// State of a data stream.
#[derive(Debug)]
struct ViewerStream<S> {
    /// Trace number.
    trace: u32,
    context: LastContext,
    own: S,
}

impl<V: Viewer> ViewerFile for EventFile<V> {
    fn message(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Event(event) => return self.event(event),
            Message::StreamBegin(stream) if V::NUMBERS_BEGINNINGS => self.add_stream(stream, 0),
            Message::StreamEnd(stream) => self.streams.remove(stream),
            message => {
                let (_, losses) = self.viewer.content_mut();
                if let Some((note, time)) = self.early.due(message, self.now, shown_time, losses) {
                    self.viewer.loss(&note, time);
                }
            }
        }
        true
    }

    fn bytes(&self) -> &[u8] {
        self.viewer.content().0
    }

    fn take_bytes(&mut self) -> Vec<u8> {
        let (out, _) = self.viewer.content_mut();
        let capacity = out.capacity().min(MOST_KEPT);
        std::mem::replace(out, Vec::with_capacity(capacity))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.show_early(self.now.or(self.first_time).unwrap_or(0));
        self.viewer.finish()
    }

    fn losses(&self) -> &LossTable {
        self.viewer.content().1
    }
}

impl<V: Viewer> EventFile<V> {
    /// Starts a file.
    pub(super) fn new(viewer: V, first_time: Option<u64>) -> Self {
        let mut scheduling = Scheduling::default();
        if V::FOLLOWS_THREADS {
            scheduling.record_changes();
        }
        Self {
            viewer,
            streams: StreamTable::default(),
            traces: TraceNumbers::default(),
            scheduling,
            name: String::new(),
            now: None,
            first_time,
            early: EarlyLosses::default(),
        }
    }

    /// Shows the losses before the first known time.
    fn show_early(&mut self, time: u64) {
        for note in std::mem::take(&mut self.early.notes) {
            self.viewer.loss(&note, time);
        }
    }

    fn add_stream(&mut self, stream: &DataStream, time: u64) {
        if !self.streams.has(stream) {
            let trace = self.traces.number(stream);
            self.scheduling.add_trace(trace, &stream.trace);
            let own = self.viewer.stream(stream, trace, time);
            self.streams.insert(stream, ViewerStream { trace, context: LastContext::default(), own }, || ());
        }
    }

    /// Returns the time at which an event is shown, or `None` if it cannot be shown.
    fn time_of(&mut self, event: &Event<'_>) -> Option<u64> {
        let (_, losses) = self.viewer.content_mut();
        let time = match (event.nanoseconds().map(shown_time), V::AT_ORIGIN) {
            (Some(None), _) => {
                record_lost_event(losses, event, NO_TIME);
                return None;
            }
            (Some(Some(0)), Some(loss)) => {
                record_loss(losses, event, LossKind::Rounded, "", loss);
                Some(1)
            }
            (time, _) => time.flatten(),
        };
        // Events without a clock get the time of the last event.
        Some(time.or(self.now).or(self.first_time).unwrap_or(0))
    }

    fn event(&mut self, event: &Event<'_>) -> bool {
        let Some(time) = self.time_of(event) else { return false };
        self.now = Some(time);
        self.viewer.prepare(event, time);
        if !self.early.notes.is_empty() {
            self.show_early(time);
        }
        self.add_stream(event.stream, time);
        let Self { viewer, streams, scheduling, name, .. } = self;
        let Some((stream, (), classes)) = streams.get_mut(event.stream) else { return false };
        let class = classes.for_event(event, || viewer.class(event));
        let viewer_class = V::viewer_class(class);
        let at = EventAt { event, trace: stream.trace, time };
        let location = scheduling.locate(at.trace, viewer_class, event, (&mut stream.context, name));
        let is_shown = viewer.event(&ShownEvent { at, class, location }, &mut stream.own);
        if let Some(ended) = scheduling.ended_thread(at.trace, event, viewer_class) {
            viewer.end_thread(at, &ended, &mut stream.own);
        }
        scheduling.observe(at.trace, event, viewer_class);
        if V::FOLLOWS_THREADS {
            viewer.follow_threads(&stream.own, time, scheduling);
        }
        is_shown
    }
}
