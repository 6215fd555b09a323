//! Timeline of a trace, summarized in bounded memory, as `ichnos view` draws it.

mod board;
mod counts;
mod flow_table;
mod running_times;
mod span_walk;
mod state_tracks;
mod threads;
mod track_list;
mod wait_table;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::ControlFlow;

use crate::pyramid::{CounterItem, SpanItem};
use ichnos_model::event::StreamTable;
use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, Event, Message, Sink};

use self::board::Board;
pub use self::counts::TimelineCounts;
use self::flow_table::FlowTable;
pub use self::flow_table::{EventLinks, FlowKind, TimelineFlow};
pub use self::running_times::RunningTimes;
pub use self::span_walk::{SpanVisitor, SpanWalk, WalkedSpans};
use self::state_tracks::StateTracks;
pub use self::threads::TimelineState;
use self::track_list::TrackList;
pub use self::track_list::{TimelineTrack, TimelineTrackKind};
use ichnos_analysis::events::class::{EventForm, EventPlace, ViewerClass};
use ichnos_analysis::events::last_context::LastContext;
use ichnos_analysis::events::losses::{EarlyLosses, LossNote};
use ichnos_analysis::events::names::NumberedNames;
use ichnos_analysis::events::place::{SpanSide, StreamPositions, TimelinePlace};
use ichnos_analysis::events::scheduling::{EventLocation, Scheduling, next_thread};
use ichnos_analysis::events::span_edge::SpanEdge;
use ichnos_analysis::events::thread_states::{StateEvent, ThreadState};
use ichnos_analysis::events::timeline_time::{CLOCK_ORIGIN, timeline_time};
use ichnos_analysis::events::tracks::{TraceNumbers, TrackKind, name_key, track_id};
use ichnos_export::parts::has_dates;

/// Maximum number of names. Further names become [`Timeline::OTHER`].
const MOST_NAMES: usize = 1 << 20;

/// Maximum number of events that wait for a first time. With more events, the first time is the clock origin.
const MOST_UNTIMED: usize = 1 << 16;

/// Maximum length of a name, in bytes.
const MOST_NAME: usize = 256;

/// Tracks of a trace and their items, in bounded memory: see [`Pyramid`](crate::Pyramid).
///
/// Times are [timeline times](mod@ichnos_analysis::events::timeline_time), so that events can come before the clock origin.
/// Messages must be sorted by time. Queries see all messages so far. A span without an end [is open](SpanItem::is_open)
/// up to the last time, or up to the end of the enclosing span or the thread.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug)]
pub struct Timeline {
    board: Board,
    tracks: TrackList,
    names: NumberedNames,
    /// Colors from event maps, by name number.
    colors: BTreeMap<u32, [u8; 3]>,
    #[cfg_attr(feature = "serde", serde(skip))]
    streams: StreamTable<TimelineStream, (), TimelineClass>,
    #[cfg_attr(feature = "serde", serde(skip))]
    traces: TraceNumbers,
    /// Data stream numbers by key.
    #[cfg_attr(feature = "serde", serde(skip))]
    stream_numbers: HashMap<u32, u32>,
    scheduling: Scheduling,
    states: StateTracks,
    /// Threads by name number, to name processor tracks.
    threads: HashMap<u32, u64>,
    /// Time of the last event, for messages without a time.
    now: Option<u64>,
    range: Option<(u64, u64)>,
    has_dates: bool,
    #[cfg_attr(feature = "serde", serde(skip))]
    early: EarlyLosses,
    #[cfg_attr(feature = "serde", serde(skip))]
    losses: LossTable,
    /// `None` if flows were not requested.
    flows: Option<FlowTable>,
    /// Tracks and names of events before the first known time.
    #[cfg_attr(feature = "serde", serde(skip))]
    untimed: Vec<(u32, u32)>,
    /// `true` for a part that does not contain events before the first time.
    is_later: bool,
    /// Buffer for the name of an event.
    #[cfg_attr(feature = "serde", serde(skip))]
    text: String,
}

/// State of a data stream.
#[derive(Debug)]
struct TimelineStream {
    /// Trace number, and data stream number.
    trace: u32,
    number: u32,
    context: LastContext,
    positions: StreamPositions,
    /// Processor of the last thread switch, or of the first event.
    processor: Option<Option<u64>>,
}

/// Event record class with its name number.
#[derive(Debug)]
struct TimelineClass {
    class: ViewerClass,
    name: u32,
}

impl TimelineClass {
    fn for_event(event: &Event<'_>, names: &mut NumberedNames, colors: &mut BTreeMap<u32, [u8; 3]>) -> Self {
        let class = ViewerClass::from_event(event);
        let name = number(names, &class.name);
        if name != Timeline::OTHER
            && let Some(color) = class.color()
        {
            colors.insert(name, color);
        }
        Self { name, class }
    }
}

/// Returns the number of a name, which is added if it is new.
fn number(names: &mut NumberedNames, name: &str) -> u32 {
    let name = name.get(..name.floor_char_boundary(MOST_NAME)).unwrap_or_default();
    if names.count() >= MOST_NAMES { Timeline::OTHER } else { names.number(name) }
}

impl Timeline {
    /// Name number of all items without a separate name.
    pub const OTHER: u32 = 0;

    /// Creates an empty timeline whose items need at most `budget` bytes.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self {
            board: Board::new(budget, false),
            tracks: TrackList::default(),
            names: NumberedNames::default(),
            colors: BTreeMap::new(),
            streams: StreamTable::default(),
            traces: TraceNumbers::default(),
            stream_numbers: HashMap::new(),
            scheduling: Scheduling::default(),
            states: StateTracks::default(),
            threads: HashMap::new(),
            now: None,
            range: None,
            has_dates: false,
            early: EarlyLosses::default(),
            losses: LossTable::default(),
            flows: None,
            untimed: Vec::new(),
            is_later: false,
            text: String::new(),
        }
    }

    /// Finds [flows](Self::flows) from the next event on.
    #[must_use]
    pub fn with_flows(self) -> Self {
        Self { flows: Some(FlowTable::default()), ..self }
    }

    /// Creates a timeline for the messages from a time on, with the tracks, names and open spans of this timeline.
    /// Its items need at most `budget` bytes. To be exact for a range, it must get the messages from two
    /// [resolutions](Self::resolution) before the range to one resolution after it, followed by
    /// [`finish_part`](Self::finish_part). Shorter spans that start earlier are missing.
    #[must_use]
    pub fn part(&mut self, begin: u64, budget: usize) -> Self {
        let mut part = Self::new(budget);
        part.board = Board::new(budget, true);
        part.tracks = self.tracks.clone();
        part.names = self.names.clone();
        part.colors = self.colors.clone();
        part.traces = self.traces.clone();
        part.stream_numbers = self.stream_numbers.clone();
        part.threads = self.threads.clone();
        part.has_dates = self.has_dates;
        // Readers pass events without a time for any window.
        part.now = self.range.map(|(first, _)| first).filter(|first| begin <= *first);
        part.is_later = part.now.is_none();
        part.scheduling = self.scheduling.threads_alone();
        let tracks = &self.tracks.tracks;
        let kind = |track: u32| tracks.get(track as usize).map(|track| track.kind);
        let is_keyed = |track: u32| kind(track) == Some(TimelineTrackKind::Spans);
        let state_names = ThreadState::ALL.map(|state| (state, number(&mut self.names, state.name())));
        let board = &mut self.board;
        let mut state_at = |track: u32| -> Option<(ThreadState, SpanItem)> {
            let mut found = None;
            board.pyramid.latest(track, begin, |_, item| found = Some(item));
            let item = found.filter(|item: &SpanItem| item.count == 1 && item.end > begin)?;
            let (state, _) = state_names.iter().find(|(_, name)| *name == item.name)?;
            Some((*state, item))
        };
        part.states.begin_at(&self.states, &mut state_at);
        part.names = self.names.clone();
        let (threads, scheduling, states) = (&self.threads, &mut part.scheduling, &mut part.states);
        part.board.copy_open(&mut self.board, begin, is_keyed, |track, name| {
            let runs_on = tracks.get(track as usize).and_then(|track| track.runs_on);
            let Some((trace, processor)) = runs_on else { return };
            // An idle processor runs thread 0.
            if let Some(thread) = name.map_or(Some(0), |name| threads.get(&name).copied()) {
                scheduling.set_running(trace, processor, thread);
                states.set_running(trace, processor, thread);
            }
        });
        part
    }

    /// Creates an empty timeline with the same track and name numbers. Its items need at most `budget` bytes.
    #[must_use]
    pub fn numbered(&self, budget: usize) -> Self {
        let mut empty = Self::new(budget);
        empty.tracks = self.tracks.clone();
        empty.names = self.names.clone();
        empty.colors = self.colors.clone();
        empty
    }

    /// Numbers these data streams and their traces in this order, so that a [renewed](Self::numbered) timeline has the
    /// same numbers, whichever data stream has the first event. Other data streams get arbitrary numbers.
    pub fn number_streams<'s>(&mut self, streams: impl IntoIterator<Item = &'s DataStream>) {
        for (number, stream) in (0..).zip(streams) {
            self.traces.number(stream);
            self.stream_numbers.insert(stream.key, number);
        }
    }

    /// Completes a [part](Self::part) after its last message. `whole` provides the ends of spans that end later.
    pub fn finish_part(&mut self, whole: &mut Self) {
        self.show_early(self.now.unwrap_or(CLOCK_ORIGIN));
        self.finish_states_of_part(whole);
        self.board.find_ends(&mut whole.board);
        if let Some((_, last)) = whole.range {
            self.extend(last);
        }
    }

    /// Estimates the number of items in a range.
    pub fn estimate(&mut self, begin: u64, end: u64) -> u64 {
        let mut items = 0;
        for track in 0..self.tracks.tracks.len() as u32 {
            self.board.pyramid.spans(track, begin, end, 16, |_, item| items += u64::from(item.count));
            self.board.pyramid.values(track, begin, end, 16, |item| items += item.count);
        }
        items
    }

    /// Returns the tracks. A track number is an index into them.
    #[must_use]
    pub fn tracks(&self) -> &[TimelineTrack] {
        &self.tracks.tracks
    }

    /// Returns the trace number of a trace track: the index among the traces of
    /// [`number_streams`](Self::number_streams). `None` for other tracks.
    #[must_use]
    pub fn trace_of(&self, track: u32) -> Option<u32> {
        self.tracks.trace_of(track)
    }

    /// Returns the number of names.
    #[must_use]
    pub fn names(&self) -> u32 {
        self.names.count() as u32 + 1
    }

    /// Returns the name with a number.
    #[must_use]
    pub fn name(&self, number: u32) -> &str {
        if number == Self::OTHER { "(other)" } else { self.names.name(number) }
    }

    /// Returns the colors from event maps by name number: red, green and blue.
    #[must_use]
    pub fn colors(&self) -> &BTreeMap<u32, [u8; 3]> {
        &self.colors
    }

    /// Returns the first and last time.
    #[must_use]
    pub fn range(&self) -> Option<(u64, u64)> {
        self.range
    }

    /// Returns `true` if times are dates.
    #[must_use]
    pub fn has_dates(&self) -> bool {
        self.has_dates
    }

    /// Returns the event counts so far.
    #[must_use]
    pub fn counts(&self) -> TimelineCounts {
        self.board.counts
    }

    /// Returns the resolution in nanoseconds: longer spans are never merged. 0 if nothing was merged.
    #[must_use]
    pub fn resolution(&self) -> u64 {
        self.board.pyramid.resolution()
    }

    /// Returns the number of spans, instants and values on a track.
    #[must_use]
    pub fn items(&self, track: u32) -> u64 {
        self.board.pyramid.added(track) + self.board.open_number(track)
    }

    /// Returns the number of lanes on a track.
    #[must_use]
    pub fn lanes(&self, track: u32) -> usize {
        self.board.lanes(track)
    }

    /// Returns the start of the first span, instant or value of a track. Open spans do not count.
    #[must_use]
    pub fn begin(&self, track: u32) -> Option<u64> {
        self.board.pyramid.begin(track)
    }

    /// Returns the smallest and the largest value of a counter.
    #[must_use]
    pub fn extremes(&self, track: u32) -> Option<(f64, f64)> {
        self.board.pyramid.extremes(track)
    }

    /// Returns the spans and instants of a track that touch a range, with their lanes, sorted by lane and time. Items
    /// narrower than a pixel are merged if they begin in the same pixel and lane.
    pub fn spans(&mut self, track: u32, begin: u64, end: u64, pixels: u64) -> Vec<(u16, SpanItem)> {
        let mut found = Vec::new();
        self.board.pyramid.spans(track, begin, end, pixels, |lane, item| found.push((lane, item)));
        let finished = found.len();
        let now = self.range.map_or(0, |(_, last)| last);
        self.board.open(track, now, |lane, item| {
            if item.end >= begin && item.begin <= end {
                found.push((lane, item));
            }
        });
        if found.len() > finished {
            found.sort_by_key(|(lane, item)| (*lane, item.begin));
        }
        found
    }

    /// Returns the values of a counter in a range, merged in the same way, and the previous value.
    pub fn values(&mut self, track: u32, begin: u64, end: u64, pixels: u32) -> Vec<CounterItem> {
        let mut found = Vec::new();
        self.board.pyramid.values(track, begin, end, pixels, |item| found.push(item));
        found
    }

    /// Returns the flows whose two events are known, if the timeline was created [with flows](Self::with_flows).
    #[must_use]
    pub fn flows(&self) -> &[TimelineFlow] {
        self.flows.as_ref().map_or(&[], FlowTable::flows)
    }

    /// Returns `false` if there were too many flows, so that only the first flows are known.
    #[must_use]
    pub fn has_all_flows(&self) -> bool {
        self.flows.as_ref().is_some_and(FlowTable::is_complete)
    }

    /// Returns `true` if an event has an operation, so that other events can join it.
    #[must_use]
    pub fn has_operations(&self) -> bool {
        self.flows.as_ref().is_some_and(FlowTable::has_operations)
    }

    /// Returns `true` if the name of an event at a place is its own name, or a name from an event map, rather than the
    /// name of its class.
    pub fn has_own_name(&mut self, event: &Event<'_>, place: &TimelinePlace) -> bool {
        self.add_stream(event);
        let Self { names, colors, streams, .. } = self;
        let Some((_, (), classes)) = streams.get_mut(event.stream) else { return false };
        let class = classes.for_event(event, || TimelineClass::for_event(event, names, colors));
        place.name != class.name || class.class.is_renamed()
    }

    /// Returns the causes and effects of an event at a place, as far as [flows](Self::flows) are known.
    pub fn links(&mut self, event: &Event<'_>, place: TimelinePlace) -> EventLinks {
        self.add_stream(event);
        let Self { names, colors, streams, flows, .. } = self;
        let (Some((stream, (), classes)), Some(flows)) = (streams.get_mut(event.stream), flows) else {
            return EventLinks::default();
        };
        let class = classes.for_event(event, || TimelineClass::for_event(event, names, colors));
        flows.links(event, &class.class, stream.trace, place)
    }

    /// Adds a message. Returns the place of an event.
    pub fn take(&mut self, message: &Message<'_>) -> Option<TimelinePlace> {
        match message {
            Message::Event(event) => return self.event(event),
            Message::StreamEnd(stream) => self.streams.remove(stream),
            message => {
                if let Some((note, time)) = self.early.due(message, self.now, timeline_time, &mut self.losses)
                {
                    self.record_processor_loss(message, time);
                    self.loss(&note, time, end_of(message));
                }
            }
        }
        None
    }

    /// Updates the thread states with a hidden event.
    pub fn pass_over(&mut self, event: &Event<'_>) {
        self.add_stream(event);
        let Self { names, colors, streams, scheduling, states, now, text, .. } = self;
        let Some((stream, (), classes)) = streams.get_mut(event.stream) else { return };
        let time = event.nanoseconds().and_then(timeline_time).or(*now);
        let class = classes.for_event(event, || TimelineClass::for_event(event, names, colors));
        if let Some(time) = time {
            stream.positions.next(time);
            let trace = stream.trace;
            let location = scheduling.locate(trace, &class.class, event, (&mut stream.context, text));
            let name = location.own_name.map_or(class.name, |name| number(names, name));
            let of = EventOf { event, class, trace, location: &location, time, name, track: 0 };
            of.take_states(states, &mut stream.processor);
        }
        scheduling.observe(stream.trace, event, &class.class);
        self.add_states(event);
    }

    /// Marks the thread of a data stream's processor as unknown after a loss.
    fn record_processor_loss(&mut self, message: &Message<'_>, time: u64) {
        let (Message::DiscardedEvents(loss) | Message::DiscardedPackets(loss)) = message else { return };
        if let Some((stream, ..)) = self.streams.get_mut(loss.stream)
            && let Some(processor) = stream.processor
        {
            self.states.record_processor_loss(stream.trace, processor, time);
            for interval in std::mem::take(&mut self.states.ended) {
                self.add_state(&interval);
            }
        }
    }

    /// Adds the states that an event ended to the tracks of their threads.
    #[inline]
    fn add_states(&mut self, event: &Event<'_>) {
        if !self.states.ended.is_empty() {
            self.add_ended_states(event);
        }
    }

    fn add_ended_states(&mut self, event: &Event<'_>) {
        let mut ended = std::mem::take(&mut self.states.ended);
        for interval in ended.drain(..) {
            let Self { states, streams, scheduling, tracks, names, .. } = self;
            if states.track(interval.trace, interval.thread).is_none()
                && let Some((stream, (), classes)) = streams.get_mut(event.stream)
            {
                let class =
                    classes.for_event(event, || TimelineClass::for_event(event, names, &mut self.colors));
                let mut place = EventPlace { thread: Some(interval.thread), ..EventPlace::default() };
                scheduling.complete(interval.trace, &class.class, &mut place);
                let parent = tracks.of_event((event.stream, stream.number), &place, interval.trace);
                if let Some(track) = tracks.of_states(interval.trace, interval.thread, parent) {
                    states.add_track(interval.trace, interval.thread, track, parent);
                }
            }
            self.add_state(&interval);
            self.add_run(&interval);
        }
        self.states.ended = ended;
    }

    fn add_stream(&mut self, event: &Event<'_>) {
        if !self.streams.has(event.stream) {
            let trace = self.traces.number(event.stream);
            self.scheduling.add_trace(trace, &event.stream.trace);
            self.tracks.add_trace(trace, event.stream);
            let (context, positions) = (LastContext::default(), StreamPositions::default());
            let key = event.stream.key;
            let number = self.stream_numbers.get(&key).copied().unwrap_or(key);
            let stream = TimelineStream { trace, number, context, positions, processor: None };
            self.streams.insert(event.stream, stream, || ());
            self.has_dates |= has_dates(event.stream.clock());
        }
    }

    /// Completes the timeline after the last message: shows losses without a time, and the last thread states.
    pub fn finish(&mut self) {
        self.show_early(self.now.unwrap_or(CLOCK_ORIGIN));
        self.states.finish(self.range.map_or(0, |(_, last)| last));
        for interval in std::mem::take(&mut self.states.ended) {
            self.add_state(&interval);
            self.add_run(&interval);
        }
    }

    /// Keeps an event without a time until a first time is known.
    fn keep_untimed(&mut self, event: &Event<'_>) {
        if self.is_later {
            return;
        }
        let Self { tracks, names, colors, streams, scheduling, untimed, .. } = self;
        let Some((stream, (), classes)) = streams.get_mut(event.stream) else { return };
        let TimelineStream { trace, number, context: last, .. } = stream;
        let class = classes.for_event(event, || TimelineClass::for_event(event, names, colors));
        let context = class.class.context(event, last);
        let place = class.class.place(event, context, last);
        untimed.push((tracks.of_event((event.stream, *number), &place, *trace), class.name));
        scheduling.observe(*trace, event, &class.class);
        if self.untimed.len() >= MOST_UNTIMED {
            self.now = Some(CLOCK_ORIGIN);
            self.extend(CLOCK_ORIGIN);
            self.show_early(CLOCK_ORIGIN);
        }
    }

    /// Shows events and losses that came before the first known time.
    fn show_early(&mut self, time: u64) {
        for (track, name) in std::mem::take(&mut self.untimed) {
            self.board.counts.events += 1;
            self.board.instant(track, time, name);
            self.extend(time);
        }
        for note in std::mem::take(&mut self.early.notes) {
            self.loss(&note, time, None);
        }
    }

    fn loss(&mut self, note: &LossNote, time: u64, end: Option<u64>) {
        let track = self.tracks.of_losses();
        let name = number(&mut self.names, note.name);
        self.board.add(track, time, end.unwrap_or(time).max(time), name);
        self.extend(time);
    }

    /// Extends the range to a time.
    fn extend(&mut self, time: u64) {
        let (first, last) = self.range.unwrap_or((time, time));
        self.range = Some((first.min(time), last.max(time)));
    }

    /// Returns the time at which an event is shown. The first time also shows all waiting events and losses. An event
    /// without a place in time is kept or counted.
    fn time_of(&mut self, event: &Event<'_>) -> Option<u64> {
        let time = event.nanoseconds().map(timeline_time);
        if time == Some(None) {
            self.board.counts.not_shown += 1;
            return None;
        }
        self.add_stream(event);
        // Events without a clock get the time of the last event.
        let Some(time) = time.flatten().or(self.now) else {
            self.keep_untimed(event);
            return None;
        };
        self.now = Some(time);
        self.extend(time);
        if !self.early.notes.is_empty() || !self.untimed.is_empty() {
            self.show_early(time);
        }
        Some(time)
    }

    fn event(&mut self, event: &Event<'_>) -> Option<TimelinePlace> {
        let time = self.time_of(event)?;
        let Self { board, tracks, names, colors, streams, scheduling, states, text, threads, flows, .. } =
            self;
        let (TimelineStream { trace, number: stream, context, positions, processor }, (), classes) =
            streams.get_mut(event.stream)?;
        let (trace, stream) = (*trace, *stream);
        let class = classes.for_event(event, || TimelineClass::for_event(event, names, colors));
        let location = scheduling.locate(trace, &class.class, event, (context, text));
        let track = tracks.of_event((event.stream, stream), &location.place, trace);
        let name = location.own_name.map_or(class.name, |name| number(names, name));
        let of = EventOf { event, class, trace, location: &location, time, name, track };
        board.counts.events += 1;
        of.take_states(states, processor);
        let (track, side, key) = of.show(board, tracks, (names, threads));
        if let Some(ended) = scheduling.ended_thread(trace, event, &class.class)
            && let Some(track) = tracks.thread(trace, &ended)
        {
            board.end_thread(track, time);
        }
        scheduling.observe(trace, event, &class.class);
        for (trace, thread, process) in tracks.new_threads.drain(..) {
            scheduling.learn_process(trace, thread, process);
        }
        let place = TimelinePlace { track, time, name, stream, position: positions.next(time), side, key };
        if let Some(flows) = flows {
            flows.take(event, &class.class, trace, place);
        }
        self.add_states(event);
        Some(place)
    }
}

/// Returns the time at which the loss of a message ends.
fn end_of(message: &Message<'_>) -> Option<u64> {
    let (Message::DiscardedEvents(loss) | Message::DiscardedPackets(loss)) = message else { return None };
    timeline_time(loss.end?.nanoseconds)
}

/// Event with its class, place and name.
struct EventOf<'a, 'e> {
    event: &'a Event<'e>,
    class: &'a TimelineClass,
    trace: u32,
    location: &'a EventLocation<'a>,
    time: u64,
    name: u32,
    /// Track of the thread, process, processor or data stream.
    track: u32,
}

impl EventOf<'_, '_> {
    /// Adds the event to the board. Returns its track, and the side and key of a span. A thread switch adds the name of
    /// its thread to `names` and `threads`.
    fn show(
        &self,
        board: &mut Board,
        tracks: &mut TrackList,
        (names, threads): (&mut NumberedNames, &mut HashMap<u32, u64>),
    ) -> (u32, Option<SpanSide>, u64) {
        let Self { event, class, time, name, track, .. } = *self;
        let edge = SpanEdge { name, kind: class.name, is_unnamed: class.class.edge(None).is_unnamed };
        match class.class.form_of(event) {
            EventForm::Begin => {
                board.begin(track, time, edge);
                (track, Some(SpanSide::Begin), 0)
            }
            EventForm::End => {
                board.end(track, time, edge);
                (track, Some(SpanSide::End), 0)
            }
            EventForm::Complete => {
                board.complete(track, time, class.class.duration(event).unwrap_or(0), name);
                (track, Some(SpanSide::Whole), 0)
            }
            EventForm::KeyedBegin => {
                let (track, key) = (self.spans(tracks), self.key(class.class.key(event)));
                board.begin_keyed(key, track, time, edge);
                (track, Some(SpanSide::Begin), key)
            }
            EventForm::KeyedEnd => {
                let key = self.key(class.class.key(event));
                let track = board.end_keyed(key, time, edge).unwrap_or_else(|| {
                    let track = self.spans(tracks);
                    board.end_of_nothing(track, time, name);
                    track
                });
                (track, Some(SpanSide::End), key)
            }
            EventForm::Frame => {
                let track = self.spans(tracks);
                let key = self.key(class.class.frame_key(event));
                let counts = board.counts;
                board.end_keyed(key, time, SpanEdge { is_unnamed: true, ..edge });
                board.begin_keyed(key, track, time, edge);
                board.counts = TimelineCounts { frames: counts.frames + 1, ..counts };
                (track, Some(SpanSide::Frame), key)
            }
            EventForm::Counter => (self.values(board, tracks), None, 0),
            form @ (EventForm::Instant
            | EventForm::Sample
            | EventForm::Switch
            | EventForm::Wakeup
            | EventForm::ThreadStart) => {
                board.instant(track, time, name);
                if form == EventForm::Switch {
                    self.run(board, tracks, names, threads);
                }
                (track, None, 0)
            }
        }
    }

    /// Updates thread states by the event. `processor` is the last processor of the data stream. A switch on an
    /// unknown processor is ignored if there are several processors.
    #[inline]
    fn take_states(&self, states: &mut StateTracks, processor: &mut Option<Option<u64>>) {
        let Self { event, class, trace, location, time, name, .. } = *self;
        let EventLocation { place, has_processor, .. } = location;
        if let Some(own) = class.class.new_processor(event, processor.is_some()) {
            processor.get_or_insert(Some(own));
            states.record_first(trace, Some(own), time);
        }
        if class.class.form == EventForm::Switch {
            if !has_processor {
                return;
            }
            *processor = Some(place.processor);
        }
        let names = (name, class.name);
        states.take(StateEvent { event, class: &class.class, trace, place, time, names });
    }

    /// Returns a span key that is unique across processes.
    fn key(&self, key: u64) -> u64 {
        let process = self.location.place.process.map_or(0, |process| process.wrapping_add(1));
        track_id(TrackKind::Slice, [key ^ u64::from(self.trace), process])
    }

    /// Returns the track for keyed spans with the name of the event.
    fn spans(&self, tracks: &mut TrackList) -> u32 {
        let (name, key) = match self.location.own_name {
            // An end without a span name is on the track of its class.
            Some(name) => (name, name_key(name)),
            None => (self.class.class.name.as_str(), self.class.class.edge(None).kind),
        };
        tracks.of_spans(self.trace, &self.location.place, key, name)
    }

    /// Adds the values of a counter. Returns the track of the last value.
    fn values(&self, board: &mut Board, tracks: &mut TrackList) -> u32 {
        let Self { event, time, .. } = *self;
        let class = &self.class.class;
        let name = &*class.counter_name(event);
        let number = class.counter_number(event);
        board.counts.counters += 1;
        let mut track = self.track;
        class.counter_values(event, |value| {
            let key = name_key(name) ^ number.rotate_left(17) ^ name_key(value.member).rotate_left(1);
            let unit = class.unit(event);
            track = tracks.of_counter(self.trace, &self.location.place, key, unit.as_deref(), || {
                let member = if value.is_single { String::new() } else { format!(" {}", value.member) };
                let number = if number == 0 { String::new() } else { format!(" {number}") };
                format!("{name}{member}{number}")
            });
            board.pyramid.counter(track, time, value.number.to_f64());
        });
        track
    }

    /// Shows the thread that a processor runs after the event.
    fn run(
        &self,
        board: &mut Board,
        tracks: &mut TrackList,
        names: &mut NumberedNames,
        threads: &mut HashMap<u32, u64>,
    ) {
        let place = &self.location.place;
        let next = next_thread(self.event, &self.class.class, place);
        let track = tracks.of_processor(self.trace, place.processor);
        let name = next.as_ref().filter(|next| next.number != 0).map(|next| {
            let name = match &*next.name {
                "" => format!("thread {}", next.number),
                name => format!("{name} ({})", next.number),
            };
            number(names, &name)
        });
        if let (Some(name), Some(next)) = (name, next) {
            threads.insert(name, next.number);
        }
        board.run(track, self.time, name);
    }
}

impl Sink for Timeline {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        self.take(message);
        Ok(ControlFlow::Continue(()))
    }
}
