//! Results in display order.

use std::cmp::{Ordering, Reverse};

use ichnos::export::{Distribution, GroupBy, GroupValue, Number, Pairs, Stats, StatsOptions, StatsRow};

use crate::args::{self, SortBy};

/// Quantiles to show, in thousandths.
pub(super) const QUANTILES: [u64; 3] = [500, 900, 990];

/// Everything to show.
pub(super) struct StatsResults<'s> {
    pub(super) by: Vec<GroupBy>,
    /// Statistics of all events.
    pub(super) all: &'s StatsRow,
    /// Field of the histogram.
    pub(super) field: Option<String>,
    pub(super) has_timeline: bool,
    pub(super) has_gaps: bool,
    /// Rows to show.
    pub(super) rows: Vec<Row<'s>>,
    /// Number of rows that are not shown.
    pub(super) left_out: usize,
    /// Maximum number of events of a row that was not kept.
    pub(super) missed: u64,
    /// Maximum number of exact rows.
    pub(super) most: usize,
    pub(super) pairs: Option<&'s Pairs>,
    /// Fields that pairs have in common.
    pub(super) key: Vec<String>,
    /// `true` if the key is the default one.
    pub(super) has_default_key: bool,
}

/// A row of the table.
pub(super) struct Row<'s> {
    pub(super) key: Vec<GroupValue>,
    pub(super) missed: u64,
    /// `None` for rows of pairs.
    pub(super) of: Option<&'s StatsRow>,
    pub(super) numbers: Option<NumberQuantiles<'s>>,
}

/// A distribution of numbers with its quantiles.
pub(super) struct NumberQuantiles<'s> {
    pub(super) distribution: &'s Distribution,
    /// Values of [`QUANTILES`]; empty if there are no numbers.
    pub(super) quantiles: Vec<Number>,
}

impl<'s> NumberQuantiles<'s> {
    pub(super) fn new(distribution: &'s Distribution) -> Self {
        Self { distribution, quantiles: distribution.quantiles(&QUANTILES) }
    }
}

impl<'s> StatsResults<'s> {
    pub(super) fn new(
        args: &args::Stats,
        stats: &'s Stats,
        pairs: Option<&'s Pairs>,
        options: &StatsOptions,
    ) -> Self {
        let mut rows: Vec<Row<'s>> = match pairs {
            Some(pairs) => {
                let row = |group: ichnos::export::PairGroup<'s>| Row {
                    key: group.key,
                    missed: group.missed,
                    of: None,
                    numbers: Some(NumberQuantiles::new(group.latencies)),
                };
                pairs.groups().map(row).collect()
            }
            None => {
                let row = |group: ichnos::export::StatsGroup<'s>| Row {
                    key: group.key,
                    missed: group.missed,
                    of: Some(group.row),
                    numbers: group.row.numbers.as_deref().map(NumberQuantiles::new),
                };
                stats.groups().map(row).collect()
            }
        };
        // Drop rows without a number.
        rows.retain(|row| {
            args.timeline || row.numbers.as_ref().is_none_or(|numbers| numbers.distribution.count() > 0)
        });
        rows.sort_by(|a, b| compare(a, b, args.sort));
        let left_out = rows.len().saturating_sub(args.top.unwrap_or(usize::MAX));
        rows.truncate(rows.len() - left_out);
        Self {
            by: args.groups(),
            all: stats.all(),
            field: args.histogram.clone(),
            has_timeline: args.timeline,
            has_gaps: args.gaps.is_some(),
            rows,
            left_out,
            missed: pairs.map_or(stats.missed(), Pairs::missed),
            most: options.most_groups(),
            pairs,
            key: args.key.clone(),
            has_default_key: false,
        }
    }
}

impl Row<'_> {
    /// Number of events, numbers or pairs.
    pub(super) fn events(&self) -> u64 {
        match (&self.numbers, self.of) {
            (Some(numbers), _) => numbers.distribution.count(),
            (None, Some(row)) => row.totals.events,
            (None, None) => 0,
        }
    }
}

/// Compares rows by a column, then by the number of events, then by key.
fn compare(a: &Row<'_>, b: &Row<'_>, by: SortBy) -> Ordering {
    let name = || compare_keys(&a.key, &b.key);
    let events = || b.events().cmp(&a.events());
    let of = |of: &dyn Fn(&StatsRow) -> Option<i128>| {
        let value = |row: &Row<'_>| row.of.and_then(of);
        value(b).cmp(&value(a))
    };
    let quantile = |index: usize| {
        let value =
            |row: &Row<'_>| row.numbers.as_ref().and_then(|numbers| numbers.quantiles.get(index).copied());
        value(b).cmp(&value(a))
    };
    let column = match by {
        SortBy::Events => Ordering::Equal,
        SortBy::Name => return name(),
        SortBy::Bytes => of(&|row| row.totals.bytes().map(i128::from)),
        SortBy::First => {
            // Rows without a time come last.
            let first =
                |row: &Row<'_>| row.of.and_then(|row| row.totals.times()).map(|times| Reverse(times.0));
            first(b).cmp(&first(a))
        }
        SortBy::Last => of(&|row| row.totals.times().map(|times| times.1)),
        SortBy::Gap => of(&|row| row.totals.largest_gap().map(|gap| gap.length)),
        SortBy::Loss => of(&|row| Some(i128::from(row.loss.events) + i128::from(row.loss.unknown_events))),
        SortBy::P50 => quantile(0),
        SortBy::P99 => quantile(2),
        SortBy::Max => {
            let greatest = |row: &Row<'_>| row.numbers.as_ref()?.distribution.range().map(|range| range.1);
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

/// Returns the title of a key's column.
pub(super) fn name_of(by: &GroupBy) -> &str {
    match by {
        GroupBy::Event => "event",
        GroupBy::Stream => "stream",
        GroupBy::Host => "host",
        GroupBy::Field(name) => name,
        _ => "",
    }
}

/// Returns a component of a key as text, or `none` if it is missing.
pub(super) fn value_text(value: &GroupValue, none: &str) -> String {
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
