//! Running thread of each event, from earlier scheduler events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use ichnos_model::cursor::{BoxedCursor, Checkpoint, ExcludedClasses, Head, MessageKind};
use ichnos_model::event::EventValues;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::meaning::Meaning;
use ichnos_model::message::DataPosition;
use ichnos_model::trace::{CursorStart, WrappedTrace};
use ichnos_model::{Cursor, Event, Message, OpenedTrace, Window, running_thread};

use crate::thread_list::{self, Processes};

/// Adds the running thread of the processor to the events of a trace, as a [resource](ichnos_model::running_thread)
/// that the classes declare. Returns the trace unchanged if its classes neither declare the resource nor list threads.
///
/// Each data stream with such events must belong to one processor. If events at its start list threads with their
/// processes, [`Trace::threads`](ichnos_model::Trace::threads) returns them.
///
/// ```
/// use ichnos_flow::with_running_threads;
/// use ichnos_model::OpenedTrace;
///
/// /// Adds running threads to a trace that was opened with `ClassMap::with_running`.
/// fn complete(trace: Box<dyn OpenedTrace>) -> Box<dyn OpenedTrace> {
///     with_running_threads(trace)
/// }
/// # let _: fn(Box<dyn OpenedTrace>) -> Box<dyn OpenedTrace> = complete;
/// ```
#[must_use]
pub fn with_running_threads(trace: Box<dyn OpenedTrace>) -> Box<dyn OpenedTrace> {
    let has_threads = thread_list::has_threads(&*trace);
    if !has_threads && !trace.trace().class.data_streams.iter().any(running_thread::is_in) {
        return trace;
    }
    let trace: Arc<dyn OpenedTrace> = trace.into();
    if has_threads {
        // The trace owns the function, so the function must not keep the trace alive.
        let input = Arc::downgrade(&trace);
        trace.trace().set_threads(move || {
            input.upgrade().map_or_else(Vec::new, |input| thread_list::list_threads(&*input))
        });
    }
    let finders = SwitchFinder::for_streams(&trace);
    Box::new(WrappedTrace::with_starts(trace, move |stream, cursor, start| match finders.get(stream) {
        Some(Some(finder)) => RunningThreadCursor::new(cursor, Arc::clone(finder), start).boxed(),
        _ => cursor,
    }))
}

/// Finder for scheduler events in a data stream.
struct SwitchFinder {
    trace: Arc<dyn OpenedTrace>,
    index: usize,
    /// First time in the data stream.
    begin: Option<i128>,
    /// `true` for thread switches, by class index.
    switches: Box<[bool]>,
    by_time: KnownThreads<i128>,
    by_packet: KnownThreads<u64>,
    /// Running thread before the first switch in the data stream.
    first: OnceLock<Option<Thread>>,
    /// Processes of all threads in the trace, if events contain them.
    processes: Option<Arc<OnceLock<Processes>>>,
}

/// Thread after the last switch before a position. `Some(None)` if events were lost since then. `None` without an
/// earlier switch or loss.
type LastThread = Option<Option<Thread>>;

/// Cached running threads at positions in a data stream. The next search ends at a cached position, so that all
/// searches together read little twice.
struct KnownThreads<K>(Mutex<BTreeMap<K, LastThread>>);

impl<K> Default for KnownThreads<K> {
    fn default() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }
}

impl<K: Ord + Copy> KnownThreads<K> {
    /// Maximum number of positions. Beyond it, all are forgotten.
    const MOST: usize = 1 << 12;

    /// Returns the last cached position at or before `place`.
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
    /// Returns the finders by data stream. `None` if its classes do not declare the resource.
    fn for_streams(trace: &Arc<dyn OpenedTrace>) -> Vec<Option<Arc<Self>>> {
        let mut finders = Vec::new();
        let processes = Arc::default();
        trace.for_each_stream(&mut |summary| {
            let stream = summary.stream;
            let finder = running_thread::is_in(stream.class()).then(|| {
                let records = stream.plans().event_records.iter();
                Arc::new(Self {
                    trace: Arc::clone(trace),
                    index: finders.len(),
                    begin: summary.time_range.map(|(begin, _)| begin),
                    switches: records.map(|plans| running_thread::is_switch(&plans.class)).collect(),
                    by_time: KnownThreads::default(),
                    by_packet: KnownThreads::default(),
                    first: OnceLock::new(),
                    processes: running_thread::has_process(stream.class()).then(|| Arc::clone(&processes)),
                })
            });
            finders.push(finder);
        });
        finders
    }

    fn is_switch(&self, head: Head) -> bool {
        let class = head.class_index().and_then(|class| self.switches.get(class));
        head.kind == MessageKind::Event && class.is_some_and(|is_switch| *is_switch)
    }

    /// Sets the running thread in the values of an event.
    fn set(&self, values: &mut EventValues, thread: &Thread, time: Option<i128>) {
        let process = self.processes.as_ref().map(|processes| {
            processes.get_or_init(|| Processes::from_trace(&*self.trace)).find(thread.number, time)
        });
        running_thread::set(values, thread.number, &thread.name, process);
    }

    /// Returns the excluded classes without thread switches.
    fn without_switches(&self, excluded: impl Fn(usize) -> bool) -> Option<Arc<ExcludedClasses>> {
        let flags = self.switches.iter().enumerate().map(|(class, is_switch)| !is_switch && excluded(class));
        ExcludedClasses::new(flags).map(Arc::new)
    }

    /// Finds the running thread before the first event of a cursor. `time` is the time of its first message.
    fn find(&self, start: CursorStart, time: i128) -> Option<Thread> {
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

    /// Returns the thread after the last switch before a time.
    fn last_before(&self, time: i128) -> LastThread {
        let found = self.read_back(time);
        self.by_time.add(time, found.clone());
        found
    }

    /// Reads backward from a time, until a switch or a cached position is found.
    fn read_back(&self, time: i128) -> LastThread {
        /// Length of the first range to read, in nanoseconds, and its growth factor.
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

    /// Returns the thread after the last switch before a packet.
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

    /// Passes a cursor's switches to `take`, and `None` for lost events, until it returns `false`.
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

/// Returns `true` for messages about lost events: a switch can be among them.
fn is_loss(head: Head) -> bool {
    matches!(head.kind, MessageKind::DiscardedEvents | MessageKind::DiscardedPackets | MessageKind::Damage)
}

/// Thread with its name, which may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Thread {
    number: u64,
    name: String,
}

impl Thread {
    /// Returns the running thread before a switch.
    fn before(event: &Event<'_>) -> Option<Self> {
        Self::from_event(event, Meaning::PreviousThread, Meaning::PreviousThreadName)
    }

    /// Returns the running thread after a switch.
    fn after(event: &Event<'_>) -> Option<Self> {
        Self::from_event(event, Meaning::TargetThread, Meaning::TargetThreadName)
    }

    fn from_event(event: &Event<'_>, number: Meaning, name: Meaning) -> Option<Self> {
        let mut thread = Self::default();
        thread.set(event, number, name).then_some(thread)
    }

    /// Sets the thread from an event. Returns `false` if the event lacks the thread number.
    fn set(&mut self, event: &Event<'_>, number: Meaning, name: Meaning) -> bool {
        let Some(number) = event.meaning(number).and_then(|number| number.as_u64()) else { return false };
        self.number = number;
        self.name.clear();
        // The name stays empty if the event lacks it.
        let name = event.meaning(name);
        self.name.push_str(name.as_ref().and_then(|name| name.as_str()).unwrap_or_default());
        true
    }
}

/// Cursor that adds the running thread to events.
struct RunningThreadCursor {
    inner: BoxedCursor,
    finder: Arc<SwitchFinder>,
    /// Start position, until the running thread there is searched.
    start: Option<CursorStart>,
    values: EventValues,
    /// Running thread after the current message.
    next: Thread,
    has_next: bool,
}

impl RunningThreadCursor {
    fn new(inner: BoxedCursor, finder: Arc<SwitchFinder>, start: CursorStart) -> Self {
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

    /// Finds the running thread of the current message.
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
        // A switch event happens in the thread that stops running.
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
        Some(self.inner.current()?.with_values(&self.values))
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
