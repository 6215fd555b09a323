//! Adds events to a profile.

use std::collections::HashMap;
use std::io;

use fxprof_processed_profile as fx;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{Event, Trace};
use serde::Serialize as _;

use super::intervals::{OpenInterval, OpenIntervals};
use super::json_serializer::JsonSerializer;
use super::marker_class::{MarkerClass, MarkerNames, MarkerValue};
use super::marker_values::MarkerReader;
use super::markers::{EventMarker, LossMarker};
use super::threads::ProfileThreads;
use crate::arguments::ContextArguments;
use crate::event_track::{LastPlace, event_track};
use ichnos_analysis::events::class::{EventForm, EventPlace};
use ichnos_analysis::events::keyed_spans::KeyedSpanIds;
use ichnos_analysis::events::losses::{BACKWARDS, LOST_BEGIN, LossNote, record_loss, record_lost_event};
use ichnos_analysis::events::span_edge::SpanEdge;
use ichnos_analysis::events::tracks::{TrackKind, name_key, track_id};
use ichnos_analysis::stacks::FirefoxStacks;
use ichnos_analysis::tasks::EventContent;
use ichnos_export::parts::has_dates;

/// Maximum number of values. The whole profile is in memory, also in the viewer.
const MOST_VALUES: usize = 1 << 24;

/// Maximum text size in bytes.
const MOST_TEXT: usize = 256 << 20;

/// Number of values in an event besides its fields.
const OWN_VALUES: usize = 8;

/// Loss reasons.
const FULL: &str = "event beyond the profile limit of 16,777,216 values or 256 MiB of text";
const THREADS: &str = "event beyond the limit of 10,000 threads";
const ROUNDED: &str = "integers beyond 2^53 -> rounded";
const NO_END: &str = "span without an end -> interval start";
const FLOW: &str = "flow from the cause of an operation";

/// Profile under construction.
#[derive(Debug)]
pub(super) struct ProfileWriter {
    profile: fx::Profile,
    names: MarkerNames,
    reader: MarkerReader,
    threads: ProfileThreads,
    intervals: OpenIntervals,
    spans: KeyedSpanIds,
    stacks: FirefoxStacks,
    /// Counters with their last values, by track.
    counters: HashMap<u64, (fx::CounterHandle, f64)>,
    /// First thread with samples.
    sampled: Option<fx::ThreadHandle>,
    /// First and last event time, in nanoseconds from the origin.
    range: Option<[u64; 2]>,
    /// Number of values in all events.
    values: usize,
    /// Time 0 of the profile, once a time is known.
    origin: Option<u64>,
    pub(super) losses: LossTable,
}

/// Event with its class and place.
#[derive(Clone, Copy)]
pub(super) struct EventAtPlace<'c, 'e> {
    pub(super) event: &'c Event<'e>,
    pub(super) class: &'c MarkerClass,
    pub(super) place: EventPlace<'c>,
    /// Number of the common context: see [`EventLocation::context`].
    ///
    /// [`EventLocation::context`]: ichnos_analysis::events::scheduling::EventLocation::context
    pub(super) context: Option<u64>,
    /// Trace number.
    pub(super) trace: u32,
    /// Name of the event itself, which replaces the class name.
    pub(super) name: Option<&'c str>,
}

/// State of a data stream.
#[derive(Debug, Default)]
pub(super) struct FirefoxStream {
    /// Process and thread of the last place.
    threads: LastPlace<(fx::ProcessHandle, fx::ThreadHandle)>,
    /// Values of the last common context.
    context: ContextArguments<MarkerValue>,
}

/// Event with its place in the profile.
#[derive(Clone, Copy)]
struct PlacedEvent<'c, 'e> {
    at: EventAtPlace<'c, 'e>,
    /// Nanoseconds from the origin.
    since: u64,
    process: fx::ProcessHandle,
    thread: fx::ThreadHandle,
    stack: Option<fx::StackHandle>,
}

impl Default for ProfileWriter {
    fn default() -> Self {
        let reference = fx::ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
        let mut profile = fx::Profile::new("ichnos", reference, fx::SamplingInterval::from_millis(1));
        // Call stacks are symbolized when they are written.
        profile.set_symbolicated(true);
        Self {
            profile,
            names: MarkerNames::default(),
            reader: MarkerReader::default(),
            threads: ProfileThreads::default(),
            intervals: OpenIntervals::default(),
            spans: KeyedSpanIds::default(),
            stacks: FirefoxStacks::default(),
            counters: HashMap::new(),
            sampled: None,
            range: None,
            values: 0,
            origin: None,
            losses: LossTable::default(),
        }
    }
}

impl ProfileWriter {
    /// Names the profile after the trace of the first event.
    pub(super) fn set_title(&mut self, trace: &Trace) {
        let title = trace.class.name.as_deref().unwrap_or(&trace.name);
        if !title.is_empty() {
            self.profile.set_product(title);
        }
    }

    /// Creates the class of an event.
    pub(super) fn class(&mut self, event: &Event<'_>) -> MarkerClass {
        MarkerClass::for_event(event, &mut self.names, &mut self.profile, &mut self.losses)
    }

    /// Writes the profile.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        for interval in self.intervals.take_all() {
            add_unended(&mut self.profile, interval);
        }
        if let (Some(thread), Some(range)) = (self.sampled, self.range) {
            // Viewers show the range of the samples, if there are samples. Samples without a stack and weight extend
            // it.
            for since in range {
                self.profile.add_sample(thread, timestamp(since), None, fx::CpuDelta::ZERO, 0);
            }
        }
        Ok(self.profile.serialize(JsonSerializer(out))?)
    }

    /// Returns a time in nanoseconds from the profile origin, which is the first time.
    fn time(&mut self, has_date: bool, time: u64) -> u64 {
        let Self { origin, profile, .. } = self;
        let origin = *origin.get_or_insert_with(|| {
            if !has_date {
                return 0;
            }
            // Dates have milliseconds in this format. The rest is in the times.
            let milliseconds = time / 1_000_000;
            let reference = fx::ReferenceTimestamp::from_millis_since_unix_epoch(milliseconds as f64);
            profile.set_reference_timestamp(reference);
            milliseconds * 1_000_000
        });
        time.saturating_sub(origin)
    }

    /// Lists the flows to an event as losses.
    pub(super) fn record_lost_flow(&mut self, event: &Event<'_>, content: &EventContent) {
        if content.causes().next().is_some() {
            record_loss(&mut self.losses, event, LossKind::Dropped, "", FLOW);
        }
    }

    /// Writes a loss as a marker of the loss thread.
    pub(super) fn loss(&mut self, note: &LossNote, time: u64) {
        let time = timestamp(self.time(note.has_date, time));
        let track = track_id(TrackKind::Losses, [0, 0]);
        let Self { threads, profile, .. } = self;
        if let Some(thread) = threads.named(profile, track, "losses and damage", time) {
            let marker = LossMarker::new(profile, note);
            profile.add_marker(thread, fx::MarkerTiming::Instant(time), marker);
        }
    }

    /// Adds an event. Returns `false` if it is lost.
    pub(super) fn event(&mut self, at: EventAtPlace<'_, '_>, time: u64, stream: &mut FirefoxStream) -> bool {
        let EventAtPlace { event, class, place, trace, .. } = at;
        let since = self.time(has_dates(event.stream.clock()), time);
        let time = timestamp(since);
        let length = class.class.duration(event).unwrap_or(0);
        let [first, last] = self.range.unwrap_or([since; 2]);
        self.range = Some([first.min(since), last.max(since.saturating_add(length))]);
        self.values = self.values.saturating_add(OWN_VALUES + class.fields.len());
        if self.values > MOST_VALUES || self.reader.text_bytes > MOST_TEXT {
            record_lost_event(&mut self.losses, event, FULL);
            return false;
        }
        let Self { threads, profile, stacks, .. } = self;
        let found = threads.of_event(profile, event.stream, (&place, &mut stream.threads), trace, time);
        let Some((process, thread)) = found else {
            record_lost_event(&mut self.losses, event, THREADS);
            return false;
        };
        let stack = class.class.stack(event).and_then(|stack| {
            let table = track_id(TrackKind::Stream, [trace.into(), event.stream.class_index as u64]);
            stacks.handle(profile, thread, event, table, stack)
        });
        let placed = PlacedEvent { at, since, process, thread, stack };
        match (class.class.form_of(event), stack) {
            (EventForm::Sample, Some(_)) => {
                self.sampled.get_or_insert(thread);
                profile.add_sample(thread, time, stack, fx::CpuDelta::ZERO, 1);
            }
            (EventForm::Counter, _) => self.counter(&placed),
            (form, _) => self.marker(&placed, form, &mut stream.context),
        }
        true
    }

    /// Adds counter values as differences from the previous values.
    fn counter(&mut self, placed: &PlacedEvent<'_, '_>) {
        let EventAtPlace { event, class, place, .. } = placed.at;
        let class = &class.class;
        let named = &*class.counter_name(event);
        let number = class.counter_number(event);
        let processor = place.processor.filter(|_| place.process.is_none());
        let around = match place.process {
            Some(process) => track_id(TrackKind::Process, [process, 0]),
            None => track_id(TrackKind::Processor, [processor.map_or(0, |cpu| cpu + 1), 0]),
        };
        class.counter_values(event, |found| {
            let value = found.number.to_f64();
            if !value.is_finite() {
                return;
            }
            let name = name_key(named) ^ name_key(found.member).rotate_left(1);
            let id = track_id(TrackKind::Counter, [around, name ^ number.rotate_left(32)]);
            let Self { counters, profile, .. } = self;
            let (counter, last) = counters.entry(id).or_insert_with(|| {
                let mut name = named.to_owned();
                if !found.is_single {
                    name = format!("{name}: {}", found.member);
                }
                if number != 0 {
                    name = format!("{name} ({number})");
                }
                if let Some(processor) = processor {
                    name = format!("{name}, CPU {processor}");
                }
                (profile.add_counter(placed.process, &name, &class.category, &name), 0.0)
            });
            profile.add_counter_sample(*counter, timestamp(placed.since), value - *last, 1);
            *last = value;
        });
    }

    /// Ends the intervals of a thread when the thread ends.
    pub(super) fn end_thread(&mut self, event: &Event<'_>, ended: &EventPlace<'_>, trace: u32) {
        let Self { intervals, profile, losses, .. } = self;
        let (_, track) = event_track(event.stream.key, ended, trace);
        intervals.end_all(track, |interval| {
            add_unended(profile, interval);
            record_loss(losses, event, LossKind::Lowered, "", NO_END);
        });
    }

    /// Returns the track of an event, or `None` for the end of a span with a key that has no start.
    fn track(&mut self, at: &EventAtPlace<'_, '_>, form: EventForm) -> Option<u64> {
        let EventAtPlace { event, class, place, trace, name, .. } = *at;
        let class = &class.class;
        let key = || {
            let key = class.span_key(event, trace);
            track_id(TrackKind::Slice, [place.process.unwrap_or(0), key])
        };
        let of_event = event_track(event.stream.key, &place, trace).1;
        match form {
            EventForm::KeyedEnd => self.spans.end_id(key(), class.edge(name)),
            EventForm::KeyedBegin => {
                let (track, is_again) = self.spans.begin_id(key(), class.edge(name));
                if is_again {
                    let Self { intervals, profile, losses, .. } = self;
                    intervals.end_all(track, |interval| {
                        add_unended(profile, interval);
                        record_loss(losses, event, LossKind::Lowered, "", NO_END);
                    });
                }
                Some(track)
            }
            EventForm::Frame => Some(track_id(TrackKind::Slice, [of_event, class.frame_key(event)])),
            _ => Some(of_event),
        }
    }

    /// Adds a marker, or starts or ends its interval.
    fn marker(
        &mut self,
        placed: &PlacedEvent<'_, '_>,
        form: EventForm,
        context: &mut ContextArguments<MarkerValue>,
    ) {
        let PlacedEvent { at, since, thread, stack, .. } = *placed;
        let EventAtPlace { event, class, name, .. } = at;
        let time = timestamp(since);
        let edge = class.class.edge(name);
        // A track without a number has no open interval.
        let track = self.track(&at, form).unwrap_or(0);
        // Spans with keys and frames have separate tracks, where names need not match.
        let edge = SpanEdge { is_unnamed: edge.is_unnamed || form != EventForm::End, ..edge };
        if let EventForm::End | EventForm::KeyedEnd | EventForm::Frame = form {
            let Self { intervals, profile, losses, .. } = self;
            let ended = intervals.end(track, edge, |within| {
                add_unended(profile, within);
                record_loss(losses, event, LossKind::Lowered, "", NO_END);
            });
            let is_ended = ended.is_some();
            if let Some(OpenInterval { thread, begin, marker, stack, .. }) = ended {
                if begin > time {
                    record_loss(losses, event, LossKind::Rounded, "", BACKWARDS);
                }
                add(profile, thread, fx::MarkerTiming::Interval(begin, time.max(begin)), marker, stack);
            }
            if form != EventForm::Frame {
                if is_ended {
                    return;
                }
                record_loss(losses, event, LossKind::Lowered, "", LOST_BEGIN);
            }
        }
        let Self { reader, names, profile, losses, intervals, .. } = self;
        let name = name.map_or(class.name, |name| reader.intern(profile, name));
        let values = reader.read((event, class), (context, at.context), &names.fields, profile);
        if !values.is_whole {
            record_loss(losses, event, LossKind::Dropped, "", "undecodable fields");
        }
        if !values.is_exact {
            record_loss(losses, event, LossKind::Lowered, "", ROUNDED);
        }
        let marker = EventMarker::new(class, name, &values);
        let timing = match form {
            EventForm::Begin | EventForm::KeyedBegin | EventForm::Frame => {
                let edge = SpanEdge { is_unnamed: false, ..edge };
                return intervals.begin((track, edge), thread, time, marker.into_owned(), stack);
            }
            EventForm::Complete => {
                let end = since.saturating_add(class.class.duration(event).unwrap_or(0));
                fx::MarkerTiming::Interval(time, timestamp(end))
            }
            _ => fx::MarkerTiming::Instant(time),
        };
        add(profile, thread, timing, marker, stack);
    }
}

/// Adds the marker of an interval without an end. Viewers extend it to the end of the thread, without a duration. An
/// end without a start becomes an instant, because it could be paired with this interval.
fn add_unended(profile: &mut fx::Profile, interval: OpenInterval) {
    let OpenInterval { thread, begin, marker, stack, .. } = interval;
    add(profile, thread, fx::MarkerTiming::IntervalStart(begin), marker, stack);
}

/// Adds a marker with its call stack.
fn add(
    profile: &mut fx::Profile,
    thread: fx::ThreadHandle,
    timing: fx::MarkerTiming,
    marker: EventMarker<'_>,
    stack: Option<fx::StackHandle>,
) {
    let handle = profile.add_marker(thread, timing, marker);
    if stack.is_some() {
        profile.set_marker_stack(thread, handle, stack);
    }
}

/// Returns a profile timestamp.
fn timestamp(since: u64) -> fx::Timestamp {
    fx::Timestamp::from_nanos_since_reference(since)
}
