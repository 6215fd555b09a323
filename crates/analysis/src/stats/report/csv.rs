//! Statistics as comma-separated values (RFC 4180, except that lines end with a line feed alone).

use super::{NumberQuantiles, ReportRow, StatsReport, name_of, value_text};
use crate::stats::{GroupValue, Number, Pairs, StatsRow, TimeHistogram};

impl StatsReport<'_> {
    /// Returns the rows as CSV with a title line. Times are in nanoseconds.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        let keys: Vec<String> = self.by.iter().map(|by| name_of(by).to_owned()).collect();
        let columns: &[&str] = if self.pairs.is_some() {
            &["pairs", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns", "total_ns", "self_ns"]
        } else if self.has_timeline {
            &["begin_ns", "bin_ns", "events"]
        } else if self.has_gaps {
            &["gap_ns", "begin_ns", "end_ns"]
        } else if self.field.is_some() {
            &["events", "count", "min", "mean", "p50", "p90", "p99", "max"]
        } else {
            &[
                "events",
                "missed_at_most",
                "bytes",
                "begin_ns",
                "end_ns",
                "largest_gap_ns",
                "largest_gap_begin_ns",
                "discarded_events",
                "discarded_packets",
            ]
        };
        push_line(&mut text, keys.iter().cloned().chain(columns.iter().map(|name| (*name).to_owned())));
        if self.by.is_empty() {
            let numbers = match self.pairs {
                Some(pairs) => Some(NumberQuantiles::new(pairs.latencies())),
                None => self.all.numbers.as_deref().map(NumberQuantiles::new),
            };
            let of = self.pairs.is_none().then_some(self.all);
            self.push_row(
                &mut text,
                &ReportRow {
                    key: Vec::new(),
                    missed: 0,
                    of,
                    numbers,
                    own_time: self.pairs.map(Pairs::own_time),
                },
            );
        }
        self.rows.iter().for_each(|row| self.push_row(&mut text, row));
        text
    }

    fn push_row(&self, text: &mut String, row: &ReportRow<'_>) {
        let key: Vec<String> = row.key.iter().map(cell).collect();
        if let (true, Some(timeline)) = (self.has_timeline, row.of.and_then(|row| row.timeline.as_deref())) {
            return push_timeline(text, &key, timeline);
        }
        if let (true, Some(gaps)) = (self.has_gaps, row.of.and_then(|row| row.gaps.as_deref())) {
            for gap in gaps.gaps() {
                let end = gap.begin.saturating_add(gap.length);
                let numbers = [gap.length, gap.begin, end].map(|number| number.to_string());
                push_line(text, key.iter().cloned().chain(numbers));
            }
            return;
        }
        let mut cells = key;
        match (&row.numbers, row.of) {
            (Some(numbers), of) => {
                cells.extend(of.map(|row| row.totals.events.to_string()));
                cells.push(numbers.distribution.count().to_string());
                push_numbers(&mut cells, numbers);
                if let Some(own) = row.own_time {
                    cells.push(number_text(numbers.distribution.total()));
                    cells.push(own.to_string());
                }
            }
            (None, Some(of)) => push_totals(&mut cells, of, row.missed),
            (None, None) => {}
        }
        push_line(text, cells);
    }
}

fn push_totals(cells: &mut Vec<String>, row: &StatsRow, missed: u64) {
    let optional = |value: Option<i128>| value.map(|value| value.to_string()).unwrap_or_default();
    let (times, gap) = (row.totals.times(), row.totals.largest_gap());
    cells.extend([
        row.totals.events.to_string(),
        missed.to_string(),
        optional(row.totals.bytes().map(i128::from)),
        optional(times.map(|times| times.0)),
        optional(times.map(|times| times.1)),
        optional(gap.map(|gap| gap.length)),
        optional(gap.map(|gap| gap.begin)),
        row.loss.events.to_string(),
        row.loss.packets.to_string(),
    ]);
}

fn push_numbers(cells: &mut Vec<String>, numbers: &NumberQuantiles<'_>) {
    let range = numbers.distribution.range();
    let text = number_text;
    cells.push(text(range.map(|range| range.0)));
    cells.push(numbers.distribution.mean().map(|mean| mean.to_string()).unwrap_or_default());
    (0..3).for_each(|index| cells.push(text(numbers.quantiles.get(index).copied())));
    cells.push(text(range.map(|range| range.1)));
}

fn number_text(number: Option<Number>) -> String {
    match number {
        Some(Number::Integer(value)) => value.to_string(),
        Some(number) => number.to_f64().to_string(),
        None => String::new(),
    }
}

/// Appends a line for each bin.
fn push_timeline(text: &mut String, key: &[String], timeline: &TimeHistogram) {
    let mut begin = timeline.begin();
    for count in timeline.counts() {
        let bin = [begin.to_string(), timeline.width().to_string(), count.to_string()];
        push_line(text, key.iter().cloned().chain(bin));
        begin = begin.saturating_add(timeline.width());
    }
}

/// Returns a key cell: an enumeration's name, else the number.
fn cell(value: &GroupValue) -> String {
    match value {
        GroupValue::Integer(_, Some(name)) => name.clone(),
        value => value_text(value, ""),
    }
}

pub(crate) fn push_line(text: &mut String, cells: impl IntoIterator<Item = String>) {
    for (i, cell) in cells.into_iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            text.push('"');
            text.push_str(&cell.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(&cell);
        }
    }
    text.push('\n');
}
