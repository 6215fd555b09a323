//! The thread that runs when an event happens, from the events of the scheduler before it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use ichnos_model::{
    BoxedCursor, Checkpoint, Cursor, Damage, DataPosition, DataStream, Event, EventValues, ExcludedClasses,
    FileDiagnostic, Head, IgnorePoison as _, Meaning, Message, MessageKind, OpenedTrace, SplitPoint,
    StreamSummary, Trace, TracerQuirk, Window, running_thread,
};

use crate::thread_list::{self, Processes};

/// A trace whose events have the thread that runs on their processor: the values of the
/// [resource](ichnos_model::running_thread) that its classes declare. Each data stream with such
/// events must be that of one processor. Where events at its beginning list threads with their processes, [`Trace::threads`] has them.
///
/// ```
/// use ichnos_flow::RunningThreads;
/// use ichnos_model::OpenedTrace;
///
/// /// Completes the events of a trace that was opened with `ClassMap::with_running`.
/// fn complete(trace: Box<dyn OpenedTrace>) -> Box<dyn OpenedTrace> {
///     RunningThreads::of(trace)
/// }
/// # let _: fn(Box<dyn OpenedTrace>) -> Box<dyn OpenedTrace> = complete;
/// ```
pub struct RunningThreads {
    trace: Arc<dyn OpenedTrace>,
    streams: Vec<Arc<DataStream>>,
    /// By data stream; `None` if its classes do not declare the values.
    finders: Vec<Option<Arc<SwitchFinder>>>,
}

impl RunningThreads {
    /// Adds the values to the events of a trace, or returns it as it is if its classes neither declare them nor list
    /// threads.
    #[must_use]
    pub fn of(trace: Box<dyn OpenedTrace>) -> Box<dyn OpenedTrace> {
        let has_threads = thread_list::has_threads(&*trace);
        if !has_threads && !trace.trace().class.data_streams.iter().any(running_thread::is_in) {
            return trace;
        }
        let trace: Arc<dyn OpenedTrace> = trace.into();
        if has_threads {
            // The trace has the function, which thus does not keep it alive.
            let input = Arc::downgrade(&trace);
            trace.trace().set_threads(move || {
                input.upgrade().map_or_else(Vec::new, |input| thread_list::list_threads(&*input))
            });
        }
        let (mut streams, mut finders) = (Vec::new(), Vec::new());
        let processes = Arc::default();
        trace.for_each_stream(&mut |summary| {
            let stream = summary.stream;
            let finder = running_thread::is_in(stream.class()).then(|| {
                let records = stream.plans().event_records.iter();
                Arc::new(SwitchFinder {
                    trace: Arc::clone(&trace),
                    index: streams.len(),
                    begin: summary.time_range.map(|(begin, _)| begin),
                    switches: records.map(|plans| running_thread::is_switch(&plans.class)).collect(),
                    by_time: KnownThreads::default(),
                    by_packet: KnownThreads::default(),
                    first: OnceLock::new(),
                    processes: running_thread::has_process(stream.class()).then(|| Arc::clone(&processes)),
                })
            });
            finders.push(finder);
            streams.push(stream);
        });
        Box::new(Self { trace, streams, finders })
    }

    fn with_threads(&self, index: usize, cursor: BoxedCursor, start: Start) -> BoxedCursor {
        match self.finders.get(index) {
            Some(Some(finder)) => RunningThreadCursor::new(cursor, Arc::clone(finder), start).boxed(),
            _ => cursor,
        }
    }
}

impl OpenedTrace for RunningThreads {
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
        self.streams.clone()
    }

    fn has_dynamic_classes(&self) -> bool {
        self.trace.has_dynamic_classes()
    }

    fn shares_stacks(&self) -> bool {
        self.trace.shares_stacks()
    }

    fn reports_invalid_texts(&self) -> bool {
        self.trace.reports_invalid_texts()
    }

    fn damage(&self) -> &[Damage] {
        self.trace.damage()
    }

    fn cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        Some(self.with_threads(stream, self.trace.cursor(stream, window)?, Start::of(window)))
    }

    fn packet_cursor(&self, stream: usize, window: Window, packets: Range<u64>) -> Option<BoxedCursor> {
        let start = Start { packet: Some(packets.start), ..Start::of(window) };
        Some(self.with_threads(stream, self.trace.packet_cursor(stream, window, packets)?, start))
    }

    fn segment_cursor(&self, stream: usize, window: Window) -> Option<BoxedCursor> {
        Some(self.with_threads(stream, self.trace.segment_cursor(stream, window)?, Start::of(window)))
    }

    fn split_points(&self, stream: usize, grain: u64) -> Option<Vec<SplitPoint>> {
        self.trace.split_points(stream, grain)
    }

    fn cursor_from(&self, stream: usize, window: Window, begin: i128) -> Option<BoxedCursor> {
        Some(self.with_threads(stream, self.trace.cursor_from(stream, window, begin)?, Start::of(window)))
    }
}

/// Place at which a cursor begins.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// First time of its events, if it is later than that of its first message.
    time: Option<i128>,
    /// First packet, unless it is that of the time.
    packet: Option<u64>,
}

impl Start {
    fn of(window: Window) -> Self {
        Self { time: window.begin, packet: None }
    }
}

/// Finds the events of the scheduler in a data stream.
struct SwitchFinder {
    trace: Arc<dyn OpenedTrace>,
    index: usize,
    /// First time of the data stream.
    begin: Option<i128>,
    /// By the index of the class: `true` if its events say which thread runs next.
    switches: Box<[bool]>,
    by_time: KnownThreads<i128>,
    by_packet: KnownThreads<u64>,
    /// Thread that runs before the first switch of the data stream.
    first: OnceLock<Option<Thread>>,
    /// Processes of all threads of the trace, if events have them.
    processes: Option<Arc<OnceLock<Processes>>>,
}

/// Thread after the last switch before a place; `Some(None)` if events were lost since then, `None` if neither is before.
type LastThread = Option<Option<Thread>>;

/// Threads that run at places of a data stream, as far as they were looked for: looking for the next one ends there, so
/// that all of them together read little twice.
struct KnownThreads<K>(Mutex<BTreeMap<K, LastThread>>);

impl<K> Default for KnownThreads<K> {
    fn default() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }
}

impl<K: Ord + Copy> KnownThreads<K> {
    /// Maximum number of places; beyond it, they are forgotten.
    const MOST: usize = 1 << 12;

    /// Returns the last known place up to this one.
    fn up_to(&self, place: K) -> Option<(K, LastThread)> {
        let known = self.0.lock().ignore_poison();
        known.range(..=place).next_back().map(|(place, thread)| (*place, thread.clone()))
    }

    fn add(&self, place: K, thread: LastThread) {
        let mut known = self.0.lock().ignore_poison();
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert(place, thread);
    }
}

impl SwitchFinder {
    fn is_switch(&self, head: Head) -> bool {
        let class = head.class_index().and_then(|class| self.switches.get(class));
        head.kind == MessageKind::Event && class.is_some_and(|is_switch| *is_switch)
    }

    /// Sets the running thread of events from a time on.
    fn set(&self, values: &mut EventValues, thread: &Thread, time: Option<i128>) {
        let process = self
            .processes
            .as_ref()
            .map(|processes| processes.get_or_init(|| Processes::of(&*self.trace)).find(thread.number, time));
        running_thread::set(values, thread.number, &thread.name, process);
    }

    /// Returns the excluded classes without those of switches.
    fn without_switches(&self, excluded: impl Fn(usize) -> bool) -> Option<Arc<ExcludedClasses>> {
        let flags = self.switches.iter().enumerate().map(|(class, is_switch)| !is_switch && excluded(class));
        ExcludedClasses::new(flags).map(Arc::new)
    }

    /// Finds the thread that runs before the events of a cursor, whose first message has this time.
    fn find(&self, start: Start, time: i128) -> Option<Thread> {
        let is_later = start.time.is_some_and(|begin| begin > time);
        let time = start.time.map_or(time, |begin| begin.max(time));
        let earlier = match start.packet.filter(|_| !is_later) {
            Some(packet) => self.last_in_packets(packet),
            None => self.last_before(time),
        };
        let first = || {
            self.first.get_or_init(|| {
                let mut first = None;
                self.read(self.trace.cursor(self.index, Window::default())?, |event| {
                    first = event.and_then(Thread::before);
                    event.is_some() && first.is_none()
                });
                first
            })
        };
        earlier.unwrap_or_else(|| first().clone())
    }

    /// Returns the thread of the last switch before a time.
    fn last_before(&self, time: i128) -> LastThread {
        let found = self.read_back(time);
        self.by_time.add(time, found.clone());
        found
    }

    /// Reads back from a time until a switch is found, or a place before which the thread is known.
    fn read_back(&self, time: i128) -> LastThread {
        /// First range to read, in nanoseconds, and its growth.
        const RANGE: i128 = 1_000_000;
        const GROWTH: i128 = 8;
        let (begin, known) = match self.by_time.up_to(time) {
            Some((known_at, thread)) => (known_at, thread),
            None => (self.begin?, None),
        };
        let (mut until, mut range) = (time.saturating_sub(1), RANGE);
        while until >= begin {
            let from = until.saturating_sub(range).max(begin);
            let window = Window { begin: Some(from), end: Some(until) };
            if let Some(thread) = self.last(self.trace.cursor(self.index, window)?) {
                return Some(thread);
            }
            let Some(earlier) = from.checked_sub(1) else { break };
            until = earlier;
            range = range.saturating_mul(GROWTH);
        }
        known
    }

    /// Returns the thread of the last switch before a packet.
    fn last_in_packets(&self, packet: u64) -> LastThread {
        let cursor = |packet| self.trace.packet_cursor(self.index, Window::default(), packet..packet + 1);
        let (begin, known) = self.by_packet.up_to(packet).unwrap_or_default();
        let found = (begin..packet).rev().find_map(|packet| self.last(cursor(packet)?)).or(known);
        self.by_packet.add(packet, found.clone());
        found
    }

    fn last(&self, cursor: BoxedCursor) -> LastThread {
        let mut last = None;
        self.read(cursor, |event| {
            match event.map(Thread::after) {
                None => last = Some(None),
                Some(Some(thread)) => last = Some(Some(thread)),
                Some(None) => {}
            }
            true
        });
        last
    }

    /// Passes the switches of a cursor, and `None` for lost events, to a function until it returns `false`.
    fn read(&self, mut cursor: BoxedCursor, mut take: impl FnMut(Option<&Event<'_>>) -> bool) {
        if let Some(others) = self.without_switches(|_| true) {
            cursor.exclude(&others);
        }
        while let Some(head) = cursor.next_head() {
            let goes_on = match is_loss(head) {
                true => take(None),
                false if self.is_switch(head) => match cursor.current() {
                    Some(Message::Event(event)) => take(Some(&event)),
                    _ => true,
                },
                false => true,
            };
            if !goes_on {
                return;
            }
        }
    }
}

/// Returns `true` for messages that events were lost: a switch can be among them.
fn is_loss(head: Head) -> bool {
    matches!(head.kind, MessageKind::DiscardedEvents | MessageKind::DiscardedPackets | MessageKind::Damage)
}

/// A thread with its name, which may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Thread {
    number: u64,
    name: String,
}

impl Thread {
    /// Returns the thread that runs before a switch.
    fn before(event: &Event<'_>) -> Option<Self> {
        Self::of(event, Meaning::PreviousThread, Meaning::PreviousThreadName)
    }

    /// Returns the thread that runs after a switch.
    fn after(event: &Event<'_>) -> Option<Self> {
        Self::of(event, Meaning::TargetThread, Meaning::TargetThreadName)
    }

    fn of(event: &Event<'_>, number: Meaning, name: Meaning) -> Option<Self> {
        let mut thread = Self::default();
        thread.set(event, number, name).then_some(thread)
    }

    /// Takes the values of an event. Returns `false` if it has no such number.
    fn set(&mut self, event: &Event<'_>, number: Meaning, name: Meaning) -> bool {
        let Some(number) = event.meaning(number).and_then(|number| number.as_u64()) else { return false };
        self.number = number;
        self.name.clear();
        let name = event.meaning(name);
        self.name.push_str(name.as_ref().and_then(|name| name.as_str()).unwrap_or_default());
        true
    }
}

/// Cursor that adds the running thread to events.
struct RunningThreadCursor {
    inner: BoxedCursor,
    finder: Arc<SwitchFinder>,
    /// Its beginning, as long as the thread that runs there was not looked for.
    start: Option<Start>,
    values: EventValues,
    /// Thread that runs after the current message.
    next: Thread,
    has_next: bool,
}

impl RunningThreadCursor {
    fn new(inner: BoxedCursor, finder: Arc<SwitchFinder>, start: Start) -> Self {
        let is_at_message = inner.head().is_some();
        let mut cursor = Self {
            inner,
            finder,
            start: Some(start),
            values: EventValues::default(),
            next: Thread::default(),
            has_next: false,
        };
        if is_at_message {
            cursor.arrive();
        }
        cursor
    }

    /// Finds the thread of the current message.
    fn arrive(&mut self) {
        let Some(head) = self.inner.head() else { return };
        if let (Some(start), Some(time)) = (self.start, head.nanoseconds()) {
            self.start = None;
            if let Some(thread) = self.finder.find(start, time) {
                self.finder.set(&mut self.values, &thread, Some(time));
            }
        }
        if is_loss(head) {
            self.values.clear();
        }
        if !self.finder.is_switch(head) {
            return;
        }
        let Some(Message::Event(event)) = self.inner.current() else { return };
        // The event happens in the thread that is left.
        if self.next.set(&event, Meaning::PreviousThread, Meaning::PreviousThreadName) {
            self.finder.set(&mut self.values, &self.next, head.nanoseconds());
        }
        self.has_next = self.next.set(&event, Meaning::TargetThread, Meaning::TargetThreadName);
    }
}

impl Cursor for RunningThreadCursor {
    fn advance(&mut self) -> bool {
        if std::mem::take(&mut self.has_next) {
            self.finder.set(
                &mut self.values,
                &self.next,
                self.inner.head().and_then(|head| head.nanoseconds()),
            );
        }
        let has_message = self.inner.next_head().is_some();
        if has_message {
            self.arrive();
        }
        has_message
    }

    fn head(&self) -> Option<Head> {
        self.inner.head()
    }

    fn current(&self) -> Option<Message<'_>> {
        Some(match self.inner.current()? {
            // Values of a format stay as they are.
            Message::Event(mut event) if event.scopes.values.is_none() => {
                event.scopes.values = Some(&self.values);
                Message::Event(event)
            }
            message => message,
        })
    }

    fn exclude(&mut self, classes: &Arc<ExcludedClasses>) {
        if let Some(classes) = self.finder.without_switches(|class| classes.has(class)) {
            self.inner.exclude(&classes);
        }
    }

    fn prefetch(&self) {
        self.inner.prefetch();
    }

    fn suspend(&mut self) {
        self.inner.suspend();
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        self.inner.checkpoint()
    }

    fn position(&self) -> Option<DataPosition> {
        self.inner.position()
    }
}
