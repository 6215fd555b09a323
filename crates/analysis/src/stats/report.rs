//! Sorted statistics, written as text, CSV and JSON.

mod bars;
mod csv;
mod json;
mod table;

use std::cmp::{Ordering, Reverse};

use ichnos_model::class::DisplayBase;

use super::{
    Distribution, GroupBy, GroupValue, Number, PairGroup, PairOptions, Pairs, Stats, StatsGroup,
    StatsOptions, StatsRow,
};

pub(crate) use csv::push_line;
pub(crate) use table::hint;
pub use table::{StatsHints, StatsTextOptions};

/// Sort order of rows: greatest first, except for keys and first times. Equal rows are sorted by event count, then by
/// key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatsOrder {
    /// Number of events, values or pairs.
    #[default]
    Events,
    /// Size in bytes.
    Bytes,
    /// First event's time.
    First,
    /// Last event's time.
    Last,
    /// Longest gap.
    Gap,
    /// Discarded events.
    Loss,
    /// Group key.
    Key,
    /// Median of values or latencies.
    P50,
    /// 99th percentile of values or latencies.
    P99,
    /// Maximum of values or latencies.
    Max,
    /// Mean of values or latencies.
    Mean,
    /// Sum of values or latencies.
    Total,
    /// Own span time, without nested spans.
    Own,
}

/// Sorted statistics, to be written as text, CSV or JSON.
///
/// ```
/// use std::sync::Arc;
///
/// use ichnos_analysis::{StatsCollector, StatsOptions, StatsOrder, StatsReport, StatsTextOptions};
///
/// let options = Arc::new(StatsOptions::default());
/// let collector = StatsCollector::new(Arc::clone(&options));
/// // It takes messages here.
/// let stats = collector.finish();
/// let report = StatsReport::new(&stats, &options, None, StatsOrder::Events);
/// assert_eq!(report.to_text(&StatsTextOptions::default()), "0 events\n");
/// ```
#[derive(Debug)]
pub struct StatsReport<'s> {
    by: Vec<GroupBy>,
    /// Statistics with display bases.
    stats: &'s Stats,
    /// Statistics for all events.
    all: &'s StatsRow,
    /// Histogram field.
    field: Option<String>,
    has_timeline: bool,
    has_gaps: bool,
    rows: Vec<ReportRow<'s>>,
    /// Omitted row count.
    left_out: usize,
    /// Maximum number of events in a missing row.
    missed: u64,
    /// Limit for exact rows.
    most: usize,
    pairs: Option<&'s Pairs>,
    /// Fields that are equal in both events of a pair.
    key: Vec<String>,
    /// `true` if only events of the same trace are paired.
    within_traces: bool,
    /// Column by which rows are sorted.
    order: StatsOrder,
}

/// Row to show.
#[derive(Debug)]
struct ReportRow<'s> {
    key: Vec<GroupValue>,
    missed: u64,
    /// `None` for pair rows.
    of: Option<&'s StatsRow>,
    numbers: Option<NumberQuantiles<'s>>,
    /// Own span time (without nested spans), in nanoseconds.
    own_time: Option<i128>,
}

/// Shown quantiles in thousandths.
const QUANTILES: [u64; 3] = [500, 900, 990];

/// Distribution with its quantiles.
#[derive(Debug)]
struct NumberQuantiles<'s> {
    distribution: &'s Distribution,
    /// Values of [`QUANTILES`]. Empty if the distribution is empty.
    quantiles: Vec<Number>,
}

impl<'s> NumberQuantiles<'s> {
    fn new(distribution: &'s Distribution) -> Self {
        Self { distribution, quantiles: distribution.quantiles(&QUANTILES) }
    }
}

impl<'s> StatsReport<'s> {
    /// Sorts statistics or pairs. `options` must be the collector's options.
    #[must_use]
    pub fn new(
        stats: &'s Stats,
        options: &StatsOptions,
        pairs: Option<(&'s Pairs, &PairOptions)>,
        order: StatsOrder,
    ) -> Self {
        let mut rows: Vec<ReportRow<'s>> = match pairs {
            Some((pairs, _)) => pairs.groups().map(ReportRow::from_pairs).collect(),
            None => stats.groups().map(ReportRow::from_events).collect(),
        };
        // Drop rows without a number.
        rows.retain(|row| {
            options.timeline || row.numbers.as_ref().is_none_or(|numbers| numbers.distribution.count() > 0)
        });
        rows.sort_by(|a, b| compare(a, b, order));
        let (pairs, pair_options) = pairs.unzip();
        Self {
            by: pair_options.map_or(&options.by, |pairs| &pairs.by).clone(),
            stats,
            all: stats.all(),
            field: options.histogram.clone(),
            has_timeline: options.timeline,
            has_gaps: options.gaps > 0,
            rows,
            left_out: 0,
            missed: pairs.map_or(stats.missed(), Pairs::missed),
            most: options.most_groups(),
            pairs,
            key: pair_options.map(|pairs| pairs.keys.clone()).unwrap_or_default(),
            within_traces: pair_options.is_some_and(|pairs| pairs.within_traces),
            order,
        }
    }

    /// Keeps only the first rows.
    #[must_use]
    pub fn top(mut self, rows: usize) -> Self {
        self.left_out += self.rows.len().saturating_sub(rows);
        self.rows.truncate(rows);
        self
    }
}

impl<'s> ReportRow<'s> {
    fn from_events(group: StatsGroup<'s>) -> Self {
        Self {
            key: group.key,
            missed: group.missed,
            of: Some(group.row),
            numbers: group.row.numbers.as_deref().map(NumberQuantiles::new),
            own_time: None,
        }
    }

    fn from_pairs(group: PairGroup<'s>) -> Self {
        let numbers = Some(NumberQuantiles::new(group.latencies));
        Self { key: group.key, missed: group.missed, of: None, numbers, own_time: Some(group.own_time) }
    }

    /// Returns the number of events, values or pairs.
    fn events(&self) -> u64 {
        match (&self.numbers, self.of) {
            (Some(numbers), _) => numbers.distribution.count(),
            (None, Some(row)) => row.totals.events,
            (None, None) => 0,
        }
    }
}

/// Compares rows by a column, then by event count, then by key.
fn compare(a: &ReportRow<'_>, b: &ReportRow<'_>, order: StatsOrder) -> Ordering {
    let name = || compare_keys(&a.key, &b.key);
    let events = || b.events().cmp(&a.events());
    let of = |of: &dyn Fn(&StatsRow) -> Option<i128>| {
        let value = |row: &ReportRow<'_>| row.of.and_then(of);
        value(b).cmp(&value(a))
    };
    let quantile = |index: usize| {
        let value = |row: &ReportRow<'_>| {
            row.numbers.as_ref().and_then(|numbers| numbers.quantiles.get(index).copied())
        };
        value(b).cmp(&value(a))
    };
    let column = match order {
        StatsOrder::Events => Ordering::Equal,
        StatsOrder::Key => return name(),
        StatsOrder::Bytes => of(&|row| row.totals.bytes().map(i128::from)),
        StatsOrder::First => {
            // Rows without a time come last.
            let first =
                |row: &ReportRow<'_>| row.of.and_then(|row| row.totals.times()).map(|times| Reverse(times.0));
            first(b).cmp(&first(a))
        }
        StatsOrder::Last => of(&|row| row.totals.times().map(|times| times.1)),
        StatsOrder::Gap => of(&|row| row.totals.largest_gap().map(|gap| gap.length)),
        StatsOrder::Loss => {
            of(&|row| Some(i128::from(row.loss.events) + i128::from(row.loss.unknown_events)))
        }
        StatsOrder::P50 => quantile(0),
        StatsOrder::P99 => quantile(2),
        StatsOrder::Mean => {
            let mean = |row: &ReportRow<'_>| Number::from_real(row.numbers.as_ref()?.distribution.mean()?);
            mean(b).cmp(&mean(a))
        }
        StatsOrder::Total => {
            let total = |row: &ReportRow<'_>| row.numbers.as_ref()?.distribution.total();
            total(b).cmp(&total(a))
        }
        StatsOrder::Own => b.own_time.cmp(&a.own_time),
        StatsOrder::Max => {
            let greatest =
                |row: &ReportRow<'_>| row.numbers.as_ref()?.distribution.range().map(|range| range.1);
            greatest(b).cmp(&greatest(a))
        }
    };
    column.then_with(events).then_with(name)
}

fn compare_keys(a: &[GroupValue], b: &[GroupValue]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| compare_values(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn compare_values(a: &GroupValue, b: &GroupValue) -> Ordering {
    let rank = |value: &GroupValue| match value {
        GroupValue::Boolean(_) => 0,
        GroupValue::Integer(..) => 1,
        GroupValue::Real(_) => 2,
        GroupValue::Text(_) => 3,
        GroupValue::Guid(_) => 4,
        GroupValue::Bytes(_) => 5,
        _ => 6,
    };
    match (a, b) {
        (GroupValue::Boolean(a), GroupValue::Boolean(b)) => a.cmp(b),
        (GroupValue::Integer(a, first), GroupValue::Integer(b, second)) => a.cmp(b).then(first.cmp(second)),
        (GroupValue::Real(a), GroupValue::Real(b)) => a.total_cmp(b),
        (GroupValue::Text(a), GroupValue::Text(b)) => a.cmp(b),
        (GroupValue::Guid(a), GroupValue::Guid(b)) => a.as_bytes().cmp(b.as_bytes()),
        (GroupValue::Bytes(a), GroupValue::Bytes(b)) => a.cmp(b),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

/// Returns the column title of a key component.
fn name_of(by: &GroupBy) -> &str {
    match by {
        GroupBy::Event => "event",
        GroupBy::Span => "span",
        GroupBy::Stream => "stream",
        GroupBy::Host => "host",
        GroupBy::Field(name) => name,
    }
}

/// Formats a key component like [`value_text`], with non-negative numbers in their display base.
fn shown_text(value: &GroupValue, base: DisplayBase) -> String {
    let number = |value: &i128| match base {
        _ if *value < 0 => value.to_string(),
        DisplayBase::Decimal => value.to_string(),
        DisplayBase::Hexadecimal => format!("0x{value:X}"),
        DisplayBase::Octal => format!("0{value:o}"),
        DisplayBase::Binary => format!("0b{value:b}"),
    };
    match value {
        GroupValue::Integer(value, Some(name)) => format!("{name} ({})", number(value)),
        GroupValue::Integer(value, None) => number(value),
        value => value_text(value, "-"),
    }
}

/// Formats a key component. `none` is the text for a missing component.
fn value_text(value: &GroupValue, none: &str) -> String {
    match value {
        GroupValue::Integer(value, Some(name)) => format!("{name} ({value})"),
        GroupValue::Integer(value, None) => value.to_string(),
        GroupValue::Real(value) => value.to_string(),
        GroupValue::Boolean(value) => value.to_string(),
        GroupValue::Text(text) => text.clone(),
        GroupValue::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        GroupValue::Guid(uuid) => uuid.to_string(),
        _ => none.to_owned(),
    }
}
