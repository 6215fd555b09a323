//! Counts events, group by group.

use std::cell::Cell;
use std::collections::BTreeSet;

use ichnos_model::{Discarded, Event, FieldRef, Message};

use super::distribution::{Distribution, Number};
use super::gaps::LongestGaps;
use super::group::{Group, GroupRow, Groups};
use super::key::{self, ClassKey, GroupBy, GroupValue, StreamKey, find_field};
use super::timeline::Timeline;
use super::totals::{EventTotals, Loss};
use crate::stream_table::StreamTable;

/// What is counted of events.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StatsOptions {
    /// What makes a row; none: there is no row but that of all events.
    pub by: Vec<GroupBy>,
    /// The field whose values are counted; see [`find_field`] for names.
    pub histogram: Option<String>,
    /// Whether to count when events are.
    pub timeline: bool,
    /// Number of the longest gaps between events that are kept.
    pub gaps: usize,
    /// Limit of groups that are counted exactly; it is lower with a histogram, a timeline or gaps.
    pub groups: usize,
}

impl Default for StatsOptions {
    fn default() -> Self {
        Self { by: Vec::new(), histogram: None, timeline: false, gaps: 0, groups: 1 << 16 }
    }
}

/// Limit of groups that have a distribution, a timeline or gaps of their own.
const MOST_LARGE_GROUPS: usize = 1_024;
/// How many different numbers a distribution keeps: of all events, and of a group.
pub(super) const MOST_NUMBERS: usize = 1 << 16;
pub(super) const MOST_NUMBERS_OF_GROUP: usize = 1 << 12;

impl StatsOptions {
    /// How many groups there are at most.
    #[must_use]
    pub fn most_groups(&self) -> usize {
        let is_large = self.histogram.is_some() || self.timeline || self.gaps > 0;
        if is_large { self.groups.min(MOST_LARGE_GROUPS) } else { self.groups }
    }

    fn row(&self, numbers: usize) -> StatsRow {
        StatsRow {
            totals: EventTotals::default(),
            loss: Loss::default(),
            numbers: self.histogram.is_some().then(|| Box::new(Distribution::new(numbers))),
            timeline: self.timeline.then(Box::default),
            gaps: (self.gaps > 0).then(|| Box::new(LongestGaps::new(self.gaps))),
        }
    }
}

/// What is known of the events of a group, or of all events.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StatsRow {
    /// How many, how large, from when until when.
    pub totals: EventTotals,
    /// What was discarded: only of data streams and of all events.
    pub loss: Loss,
    /// The values of the field of the histogram that are numbers.
    pub numbers: Option<Box<Distribution>>,
    /// How many events are when.
    pub timeline: Option<Box<Timeline>>,
    /// The longest gaps between events.
    pub gaps: Option<Box<LongestGaps>>,
}

impl GroupRow for StatsRow {
    fn events(&self) -> u64 {
        self.totals.events
    }

    fn merge(&mut self, later: Self) {
        self.totals.merge(later.totals);
        self.loss.add(later.loss);
        if let (Some(numbers), Some(later)) = (&mut self.numbers, later.numbers) {
            numbers.merge(*later);
        }
        if let (Some(timeline), Some(later)) = (&mut self.timeline, later.timeline) {
            timeline.merge(*later);
        }
        if let (Some(gaps), Some(later)) = (&mut self.gaps, later.gaps) {
            gaps.merge(*later);
        }
    }
}

impl StatsRow {
    #[inline]
    fn add(&mut self, bits: Option<u64>, time: Option<i128>, number: Option<Number>) {
        self.totals.add(bits, time);
        if let (Some(numbers), Some(number)) = (&mut self.numbers, number) {
            numbers.add(number);
        }
        if let (Some(timeline), Some(time)) = (&mut self.timeline, time) {
            timeline.add(time);
        }
        if let (Some(gaps), Some(time)) = (&mut self.gaps, time) {
            gaps.add(time);
        }
    }
}

/// What was counted.
#[derive(Clone, Debug)]
pub struct Stats {
    all: StatsRow,
    groups: Groups<StatsRow>,
    /// The names of those fields that some class has.
    known_fields: BTreeSet<String>,
}

/// A row of [`Stats`].
#[derive(Debug)]
#[non_exhaustive]
pub struct StatsGroup<'s> {
    /// What its events have in common, in the order of [`StatsOptions::by`].
    pub key: Vec<GroupValue>,
    /// At most how many more events it has than are counted.
    pub missed: u64,
    /// What is known of its events.
    pub row: &'s StatsRow,
}

impl Stats {
    /// Nothing was counted.
    #[must_use]
    pub fn new(options: &StatsOptions) -> Self {
        Self {
            all: options.row(MOST_NUMBERS),
            groups: Groups::new(options.most_groups()),
            known_fields: BTreeSet::new(),
        }
    }

    /// Adds what was counted of later events.
    pub fn merge(&mut self, later: Self) {
        self.all.merge(later.all);
        self.groups.merge(later.groups);
        self.known_fields.extend(later.known_fields);
    }

    /// What is known of all events.
    #[must_use]
    pub fn all(&self) -> &StatsRow {
        &self.all
    }

    /// The rows, in no order that means anything.
    pub fn groups(&self) -> impl Iterator<Item = StatsGroup<'_>> {
        self.groups.iter().map(|Group { key, missed, row }| StatsGroup {
            key: key::decode(key),
            missed: *missed,
            row,
        })
    }

    /// At most how many events a group has that is not among the rows, and how many more a group may have than
    /// are counted; 0: everything is exact.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.groups.missed()
    }

    /// Whether an event was of a class that has a field of this name.
    #[must_use]
    pub fn knows_field(&self, name: &str) -> bool {
        self.known_fields.contains(name)
    }
}

/// Counts events.
///
/// What several collectors have counted of consecutive parts of a timeline is put together by [`Stats::merge`].
/// That is the same for any parts as long as there are no more groups than are counted exactly, but for the
/// rounding of means of floating-point numbers.
#[derive(Debug)]
pub struct StatsCollector<'o> {
    options: &'o StatsOptions,
    /// Whether a class or a data stream has one row.
    rows: RowsOf,
    streams: StreamTable<StreamPart, (), ClassPart>,
    stats: Stats,
    /// Where keys are made.
    key: Vec<u8>,
}

/// Of what all events are in the same group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowsOf {
    /// There are no groups.
    Nothing,
    /// Of a class, in all data streams.
    Classes,
    /// Of a data stream.
    Streams,
    /// Of neither.
    Events,
}

#[derive(Debug)]
struct StreamPart {
    key: StreamKey,
    row: KnownRow,
}

#[derive(Debug)]
struct ClassPart {
    key: ClassKey,
    number: Option<FieldRef>,
    row: KnownRow,
}

/// The index of a group, as long as the generation of groups is the same.
#[derive(Debug, Default)]
struct KnownRow(Cell<Option<(u32, u32)>>);

impl KnownRow {
    #[inline]
    fn get(&self, generation: u32) -> Option<u32> {
        self.0.get().filter(|known| known.0 == generation).map(|known| known.1)
    }

    fn set(&self, generation: u32, index: u32) {
        self.0.set(Some((generation, index)));
    }
}

impl<'o> StatsCollector<'o> {
    /// Nothing was counted yet.
    #[must_use]
    pub fn new(options: &'o StatsOptions) -> Self {
        let is_of_stream = |by: &GroupBy| matches!(by, GroupBy::Stream | GroupBy::Host);
        let rows = match &options.by[..] {
            [] => RowsOf::Nothing,
            by if by.iter().all(is_of_stream) => RowsOf::Streams,
            [GroupBy::Event] => RowsOf::Classes,
            _ => RowsOf::Events,
        };
        let (streams, stats) = (StreamTable::default(), Stats::new(options));
        Self { options, rows, streams, stats, key: Vec::new() }
    }

    /// Counts a message.
    #[inline]
    pub fn message(&mut self, message: &Message<'_>) {
        match message {
            Message::Event(event) => self.event(event),
            Message::DiscardedEvents(discarded) => self.loss(
                discarded,
                Loss {
                    events: discarded.count.unwrap_or_default(),
                    unknown_events: discarded.count.is_none(),
                    packets: 0,
                },
            ),
            Message::DiscardedPackets(discarded) => {
                let packets = discarded.count.unwrap_or_default();
                self.loss(discarded, Loss { packets, ..Loss::default() });
            }
            Message::StreamEnd(stream) => self.streams.remove(stream),
            _ => {}
        }
    }

    /// What was counted.
    #[must_use]
    pub fn finish(self) -> Stats {
        self.stats
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        if !self.streams.has(event.stream) {
            self.add_stream(event.stream);
        }
        let Some((stream, _, classes)) = self.streams.get_mut(event.stream) else { return };
        let (options, stats) = (self.options, &mut self.stats);
        let class = classes.of(event, || ClassPart::new(event, options, &mut stats.known_fields));
        let number = class.number.as_ref().and_then(|field| Number::of_value(&event.get(field)?));
        let (bits, time) = (event.size_in_bits(), event.nanoseconds());
        stats.all.add(bits, time, number);
        let known = match self.rows {
            RowsOf::Nothing => return,
            RowsOf::Classes => Some(&class.row),
            RowsOf::Streams => Some(&stream.row),
            RowsOf::Events => None,
        };
        let generation = stats.groups.generation();
        let index = match known.and_then(|known| known.get(generation)) {
            Some(index) => index,
            None => {
                self.key.clear();
                class.key.push(&mut self.key, &options.by, &stream.key, event);
                let index = stats.groups.index(&self.key, || options.row(MOST_NUMBERS_OF_GROUP));
                if let Some(known) = known {
                    known.set(stats.groups.generation(), index);
                }
                index
            }
        };
        if let Some(row) = stats.groups.get_mut(index) {
            row.add(bits, time, number);
        }
    }

    #[cold]
    fn add_stream(&mut self, stream: &ichnos_model::DataStream) {
        let part = StreamPart { key: StreamKey::new(stream), row: KnownRow::default() };
        self.streams.insert(stream, part, || ());
    }

    #[cold]
    fn loss(&mut self, discarded: &Discarded<'_>, loss: Loss) {
        self.stats.all.loss.add(loss);
        if self.rows != RowsOf::Streams {
            return;
        }
        self.key.clear();
        let stream = StreamKey::new(discarded.stream);
        self.options.by.iter().for_each(|by| stream.push(&mut self.key, by));
        let (options, groups) = (self.options, &mut self.stats.groups);
        let index = groups.index(&self.key, || options.row(MOST_NUMBERS_OF_GROUP));
        if let Some(row) = groups.get_mut(index) {
            row.loss.add(loss);
        }
    }
}

impl ClassPart {
    #[cold]
    fn new(event: &Event<'_>, options: &StatsOptions, known_fields: &mut BTreeSet<String>) -> Self {
        let key = ClassKey::new(event, &options.by);
        known_fields.extend(key.known(&options.by).map(str::to_owned));
        let number = options.histogram.as_ref().and_then(|name| {
            let field = find_field(event, name)?;
            known_fields.insert(name.clone());
            Some(field)
        });
        Self { key, number, row: KnownRow::default() }
    }
}
