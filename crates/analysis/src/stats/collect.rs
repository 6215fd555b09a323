//! Counts events by group.

use std::cell::Cell;
use std::sync::Arc;

use ichnos_model::class::DisplayBase;
use ichnos_model::event::StreamTable;
use ichnos_model::field::FieldRef;
use ichnos_model::message::Discarded;
use ichnos_model::{Event, Message};

use super::distribution::{Distribution, Number};
use super::gaps::LongestGaps;
use super::group::{GroupRow, Groups, TableGroup};
use super::key::{self, ClassGroupKey, GroupBy, GroupValue, KnownFields, StreamGroupKey, find_field};
use super::timeline::TimeHistogram;
use super::totals::{EventTotals, ReportedLosses};

/// Options for [`StatsCollector`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StatsOptions {
    /// Row grouping. If empty, all events share one row.
    pub by: Vec<GroupBy>,
    /// Histogram field. See [`find_field`] for names.
    pub histogram: Option<String>,
    /// Count events over time.
    pub timeline: bool,
    /// Number of longest gaps between events to keep.
    pub gaps: usize,
    /// Limit of exactly counted groups. Histograms, timelines and gaps lower it.
    pub groups: usize,
}

impl Default for StatsOptions {
    fn default() -> Self {
        Self { by: Vec::new(), histogram: None, timeline: false, gaps: 0, groups: 1 << 16 }
    }
}

/// Limit of groups that each have a distribution, a timeline or gaps.
const MOST_LARGE_GROUPS: usize = 1_024;
/// Maximum number of different values in a distribution: for all events, and for a group.
pub(super) const MOST_NUMBERS: usize = 1 << 16;
pub(super) const MOST_NUMBERS_OF_GROUP: usize = 1 << 12;

impl StatsOptions {
    /// Returns the maximum number of groups.
    #[must_use]
    pub fn most_groups(&self) -> usize {
        let is_large = self.histogram.is_some() || self.timeline || self.gaps > 0;
        if is_large { self.groups.min(MOST_LARGE_GROUPS) } else { self.groups }
    }

    fn row(&self, numbers: usize) -> StatsRow {
        StatsRow {
            totals: EventTotals::default(),
            loss: ReportedLosses::default(),
            numbers: self.histogram.is_some().then(|| Box::new(Distribution::new(numbers))),
            timeline: self.timeline.then(Box::default),
            gaps: (self.gaps > 0).then(|| Box::new(LongestGaps::new(self.gaps))),
        }
    }
}

/// Statistics for a group, or for all events.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StatsRow {
    /// Event count, sizes and times.
    pub totals: EventTotals,
    /// Losses. Only counted for data streams and for all events.
    pub loss: ReportedLosses,
    /// Distribution of the histogram field's values.
    pub numbers: Option<Box<Distribution>>,
    /// Event counts over time.
    pub timeline: Option<Box<TimeHistogram>>,
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

/// Result from a [`StatsCollector`].
#[derive(Clone, Debug)]
pub struct Stats {
    all: StatsRow,
    groups: Groups<StatsRow>,
    known_fields: KnownFields,
}

/// A row of [`Stats`].
#[derive(Debug)]
#[non_exhaustive]
pub struct StatsGroup<'s> {
    /// Common values of the events, in the order of [`StatsOptions::by`].
    pub key: Vec<GroupValue>,
    /// Maximum number of uncounted events.
    pub missed: u64,
    /// Statistics.
    pub row: &'s StatsRow,
}

impl Stats {
    /// Creates empty statistics.
    #[must_use]
    pub fn new(options: &StatsOptions) -> Self {
        Self {
            all: options.row(MOST_NUMBERS),
            groups: Groups::new(options.most_groups()),
            known_fields: KnownFields::new(),
        }
    }

    /// Merges statistics from later events.
    pub fn merge(&mut self, later: Self) {
        self.all.merge(later.all);
        self.groups.merge(later.groups);
        self.add_known_fields(later.known_fields);
    }

    /// Adds fields from classes that occur later.
    pub fn add_known_fields(&mut self, fields: KnownFields) {
        for (name, base) in fields {
            self.known_fields.entry(name).or_insert(base);
        }
    }

    /// Returns the statistics for all events.
    #[must_use]
    pub fn all(&self) -> &StatsRow {
        &self.all
    }

    /// Returns the rows, in unspecified order.
    pub fn groups(&self) -> impl Iterator<Item = StatsGroup<'_>> {
        self.groups.iter().map(|TableGroup { key, missed, row }| StatsGroup {
            key: key::decode(key),
            missed: *missed,
            row,
        })
    }

    /// Returns the error bound: the maximum number of events in a missing group, and of uncounted events in a row's
    /// group. 0 if everything is exact.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.groups.missed()
    }

    /// Returns `true` if the class of an event had a field with this name.
    #[must_use]
    pub fn knows_field(&self, name: &str) -> bool {
        self.known_fields.contains_key(name)
    }

    /// Returns the display base of a field: from the first class that contains it, else decimal.
    #[must_use]
    pub fn base_of(&self, name: &str) -> DisplayBase {
        self.known_fields.get(name).copied().unwrap_or(DisplayBase::Decimal)
    }
}

/// Event counter.
///
/// [`Stats::merge`] combines statistics of consecutive timeline parts. While the limit of exactly counted groups is not
/// exceeded, the result is the same for any parts, except for rounding of floating-point means.
#[derive(Debug)]
pub struct StatsCollector {
    options: Arc<StatsOptions>,
    /// Level at which row indexes are cached.
    rows: KeyLevel,
    streams: StreamTable<StatsStream, (), StatsClass>,
    stats: Stats,
    /// Key buffer.
    key: Vec<u8>,
}

/// Level at which the group key is constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyLevel {
    /// All events.
    Nothing,
    /// Event classes, across data streams.
    Classes,
    /// Data streams.
    Streams,
    /// Single events.
    Events,
}

#[derive(Debug)]
struct StatsStream {
    key: StreamGroupKey,
    row: KnownRow,
}

#[derive(Debug)]
struct StatsClass {
    key: ClassGroupKey,
    number: Option<FieldRef>,
    row: KnownRow,
}

/// Group index, valid in one generation of groups.
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

impl StatsCollector {
    /// Creates a collector.
    #[must_use]
    pub fn new(options: Arc<StatsOptions>) -> Self {
        let is_of_stream = |by: &GroupBy| matches!(by, GroupBy::Stream | GroupBy::Host);
        let rows = match &options.by[..] {
            [] => KeyLevel::Nothing,
            by if by.iter().all(is_of_stream) => KeyLevel::Streams,
            [GroupBy::Event] => KeyLevel::Classes,
            _ => KeyLevel::Events,
        };
        let (streams, stats) = (StreamTable::default(), Stats::new(&options));
        Self { options, rows, streams, stats, key: Vec::new() }
    }

    /// Counts a message.
    #[inline]
    pub fn message(&mut self, message: &Message<'_>) {
        match message {
            Message::Event(event) => self.event(event),
            Message::DiscardedEvents(discarded) => self.loss(
                discarded,
                ReportedLosses {
                    // `unknown_events` records an unknown count.
                    events: discarded.count.unwrap_or_default(),
                    unknown_events: discarded.count.is_none(),
                    packets: 0,
                },
            ),
            Message::DiscardedPackets(discarded) => {
                // Only known packet counts are summed, as documented.
                let packets = discarded.count.unwrap_or_default();
                self.loss(discarded, ReportedLosses { packets, ..ReportedLosses::default() });
            }
            Message::StreamEnd(stream) => self.streams.remove(stream),
            _ => {}
        }
    }

    /// Returns the statistics.
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
        let (options, stats) = (&*self.options, &mut self.stats);
        let class = classes.for_event(event, || StatsClass::new(event, options, &mut stats.known_fields));
        let number = class.number.as_ref().and_then(|field| Number::from_value(&event.get(field)?));
        let (bits, time) = (event.size_in_bits(), event.nanoseconds());
        stats.all.add(bits, time, number);
        let known = match self.rows {
            KeyLevel::Nothing => return,
            KeyLevel::Classes => Some(&class.row),
            KeyLevel::Streams if class.key.is_of_stream() => Some(&stream.row),
            KeyLevel::Streams | KeyLevel::Events => None,
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
        let part = StatsStream { key: StreamGroupKey::new(stream), row: KnownRow::default() };
        self.streams.insert(stream, part, || ());
    }

    #[cold]
    fn loss(&mut self, discarded: &Discarded<'_>, loss: ReportedLosses) {
        self.stats.all.loss.add(loss);
        if self.rows != KeyLevel::Streams {
            return;
        }
        self.key.clear();
        let stream = StreamGroupKey::new(discarded.stream);
        self.options.by.iter().for_each(|by| stream.push(&mut self.key, by));
        let (options, groups) = (&*self.options, &mut self.stats.groups);
        let index = groups.index(&self.key, || options.row(MOST_NUMBERS_OF_GROUP));
        if let Some(row) = groups.get_mut(index) {
            row.loss.add(loss);
        }
    }
}

impl StatsClass {
    #[cold]
    fn new(event: &Event<'_>, options: &StatsOptions, known_fields: &mut KnownFields) -> Self {
        let key = ClassGroupKey::new(event, &options.by);
        key.add_known(&options.by, known_fields);
        let number = options.histogram.as_ref().and_then(|name| {
            let field = find_field(event, name)?;
            known_fields.entry(name.clone()).or_insert(DisplayBase::Decimal);
            Some(field)
        });
        Self { key, number, row: KnownRow::default() }
    }
}
