//! Reader of thread states.

use ichnos_model::event::StreamTable;
use ichnos_model::{DataStream, Event, Message};

use super::class::{EventForm, ViewerClass};
use super::last_context::LastContext;
use super::names::NumberedNames;
use super::scheduling::{EventLocation, Scheduling};
use super::thread_states::{StateEvent, StateInterval, ThreadStates};
use super::timeline_time::timeline_time;
use super::tracks::TraceNumbers;

/// Maximum number of names. Further names are empty.
const MOST_NAMES: usize = 1 << 16;

/// Maximum length of a name, in bytes.
const MOST_NAME: usize = 256;

/// Finds thread states in messages sorted by time, in bounded memory.
///
/// For every format, states follow from event roles and member meanings: thread switches with the state of the previous
/// thread, and wakeups. If events do not tell the state of a thread, it is *unknown*. A loss ends the running state on
/// its processor. Other threads keep their states.
#[derive(Debug, Default)]
pub struct ThreadStateReader {
    streams: StreamTable<StateStream, (), StateClass>,
    traces: TraceNumbers,
    scheduling: Scheduling,
    names: NumberedNames,
    states: ThreadStates,
    /// Buffer for the name of an event.
    text: String,
    range: Option<(u64, u64)>,
}

/// State of a data stream.
#[derive(Debug)]
struct StateStream {
    trace: u32,
    context: LastContext,
    /// Processor of the last thread switch, or of the first event.
    processor: Option<Option<u64>>,
}

#[derive(Debug)]
struct StateClass {
    class: ViewerClass,
    name: u32,
}

/// Process and names of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ThreadNames {
    /// Process number.
    pub process: Option<u64>,
    /// Process name.
    pub process_name: Option<String>,
    /// Thread name.
    pub name: Option<String>,
}

impl ThreadNames {
    /// Returns the thread name with the thread number.
    #[must_use]
    pub fn label(&self, thread: u64) -> String {
        match &self.name {
            Some(name) => format!("{name} ({thread})"),
            None => format!("thread {thread}"),
        }
    }
}

fn number(names: &mut NumberedNames, name: &str) -> u32 {
    let name = name.get(..name.floor_char_boundary(MOST_NAME)).unwrap_or_default();
    if names.count() >= MOST_NAMES { 0 } else { names.number(name) }
}

impl StateClass {
    fn from_event(event: &Event<'_>, names: &mut NumberedNames) -> Self {
        let class = ViewerClass::from_event(event);
        Self { name: number(names, &class.name), class }
    }
}

impl ThreadStateReader {
    /// Creates a reader for messages from the start of the traces.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Numbers the traces of these data streams in this order. Other traces are numbered by their first event.
    pub fn number_streams<'s>(&mut self, streams: impl IntoIterator<Item = &'s DataStream>) {
        for stream in streams {
            self.traces.number(stream);
        }
    }

    /// Takes a message, and passes the states that it ends to `out`, sorted by end time.
    pub fn take(&mut self, message: &Message<'_>, out: &mut dyn FnMut(&StateInterval)) {
        match message {
            Message::Event(event) => self.event(event, out),
            Message::DiscardedEvents(loss) | Message::DiscardedPackets(loss) => {
                let time = loss.begin.or(loss.end).map(|time| time.nanoseconds);
                let time = time.and_then(timeline_time).or(self.range.map(|(_, last)| last));
                if let (Some((stream, ..)), Some(time)) = (self.streams.get_mut(loss.stream), time)
                    && let Some(processor) = stream.processor
                {
                    self.states.record_processor_loss(stream.trace, processor, time, out);
                }
            }
            _ => {}
        }
    }

    fn add_stream(&mut self, stream: &DataStream) {
        if !self.streams.has(stream) {
            let trace = self.traces.number(stream);
            self.scheduling.add_trace(trace, &stream.trace);
            let state = StateStream { trace, context: LastContext::default(), processor: None };
            self.streams.insert(stream, state, || ());
        }
    }

    fn event(&mut self, event: &Event<'_>, out: &mut dyn FnMut(&StateInterval)) {
        let nanoseconds = event.nanoseconds();
        let time = nanoseconds.and_then(timeline_time);
        if time.is_none() && nanoseconds.is_some() {
            return;
        }
        self.add_stream(event.stream);
        let Self { streams, scheduling, names, states, text, range, .. } = self;
        let Some((StateStream { trace, context, processor }, (), classes)) = streams.get_mut(event.stream)
        else {
            return;
        };
        let of = classes.for_event(event, || StateClass::from_event(event, names));
        let StateClass { class, name } = of;
        let Some(time) = time else {
            // Events without a time can name threads.
            return scheduling.observe(*trace, event, class);
        };
        let (first, last) = range.unwrap_or((time, time));
        *range = Some((first.min(time), last.max(time)));
        if let Some(own) = class.new_processor(event, processor.is_some()) {
            processor.get_or_insert(Some(own));
            states.record_first(*trace, Some(own), time);
        }
        if class.has_states() {
            let EventLocation { place, own_name, has_processor, .. } =
                scheduling.locate(*trace, class, event, (context, text));
            let names = (own_name.map_or(*name, |name| number(names, name)), *name);
            if has_processor {
                states.take(StateEvent { event, class, trace: *trace, place: &place, time, names }, out);
            }
            if class.form == EventForm::Switch {
                *processor = Some(place.processor);
            }
        }
        scheduling.observe(*trace, event, class);
    }

    /// Passes the last states to `out`.
    pub fn finish(&mut self, out: &mut dyn FnMut(&StateInterval)) {
        if let Some((_, last)) = self.range {
            self.states.finish(last, out);
        }
    }

    /// Returns the [timeline times](mod@super::timeline_time) of the first and last event.
    #[must_use]
    pub fn range(&self) -> Option<(u64, u64)> {
        self.range
    }

    /// Returns `true` if there was a thread switch.
    #[must_use]
    pub fn has_switches(&self) -> bool {
        self.states.has_switches()
    }

    /// Returns the processors so far with their trace numbers, in any order. A processor without a number is the only
    /// processor of its trace.
    pub fn processors(&self) -> impl Iterator<Item = (u32, Option<u64>)> {
        self.states.processors()
    }

    /// Returns the name with a number. It is empty if there were too many names.
    #[must_use]
    pub fn name(&self, number: u32) -> &str {
        self.names.name(number)
    }

    /// Returns `true` if these are the process and names of a thread as known so far.
    pub(crate) fn is_described_by(&self, trace: u32, thread: u64, names: &ThreadNames) -> bool {
        let ThreadNames { process, process_name, name } = names;
        self.scheduling.describe(trace, thread) == (*process, process_name.as_deref(), name.as_deref())
    }

    /// Returns the process and names of a thread as known so far.
    #[must_use]
    pub fn describe(&self, trace: u32, thread: u64) -> ThreadNames {
        let (process, process_name, name) = self.scheduling.describe(trace, thread);
        let text = |name: Option<&str>| name.map(str::to_owned);
        ThreadNames { process, process_name: text(process_name), name: text(name) }
    }
}
