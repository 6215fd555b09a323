//! Statistics as tables for people.

use std::fmt::Write as _;

use ichnos_model::class::DisplayBase;

use super::bars::{bar, line};
use super::{NumberQuantiles, ReportRow, StatsOrder, StatsReport, name_of, shown_text};
use crate::stats::{Distribution, GroupBy, GroupValue, Number, Pair, PowerBin, StatsRow, TimeHistogram};
use ichnos_export::text::TextTable;
use ichnos_export::text::{LineWidth, Paint, count, date_time, grouped, seconds, share, size};
use ichnos_export::{duration, printable};

/// Options for [`StatsReport::to_text`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct StatsTextOptions {
    /// Colors.
    pub paint: Paint,
    /// Line width. Longer keys are cut.
    pub width: LineWidth,
    /// Show times in seconds since the clock origin.
    pub clock_seconds: bool,
    /// Show the date before each time. It is always shown if events span several days.
    pub clock_date: bool,
    /// Show times in UTC rather than in local time.
    pub clock_gmt: bool,
    /// Program options to name in notes.
    pub hints: StatsHints,
}

/// Program options that change the result. Notes name them in parentheses. Empty names are omitted.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct StatsHints {
    /// Option for more rows.
    pub top: &'static str,
    /// Option for more groups.
    pub groups: &'static str,
    /// Option for more open pairs.
    pub open_pairs: &'static str,
    /// Option for another pair key.
    pub key: &'static str,
}

/// Formats a hint in parentheses.
pub(crate) fn hint(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

impl StatsTextOptions {
    /// Formats a time as `pretty` text output does.
    pub(crate) fn short(&self, nanoseconds: i128) -> String {
        if self.clock_seconds {
            return seconds(nanoseconds);
        }
        let full = date_time(nanoseconds, self.clock_gmt);
        // A date, a time of day, and the zone.
        match full.split(' ').collect::<Vec<_>>()[..] {
            [date, time, _] if self.clock_date => format!("{date} {time}"),
            [_, time, _] => time.to_owned(),
            _ => full,
        }
    }

    pub(crate) fn long(&self, nanoseconds: i128) -> String {
        if self.clock_seconds { seconds(nanoseconds) } else { date_time(nanoseconds, self.clock_gmt) }
    }

    /// Formats the day of a time.
    pub(crate) fn day(&self, nanoseconds: i128) -> String {
        date_time(nanoseconds, self.clock_gmt).split(' ').next().unwrap_or_default().to_owned()
    }
}

/// Bar width in columns.
const BAR: usize = 40;
/// Maximum number of timeline bins shown as bars, and as a line.
const BARS: usize = 40;
const COLUMNS: usize = 60;

impl StatsReport<'_> {
    /// Formats tables, bars and notes.
    #[must_use]
    pub fn to_text(&self, options: &StatsTextOptions) -> String {
        let mut shown = *options;
        // Results from several days need dates.
        let range = self.all.totals.times().filter(|_| !options.clock_seconds);
        shown.clock_date |= range.is_some_and(|(begin, end)| options.day(begin) != options.day(end));
        let shown = StatsDisplay { found: self, options: shown, paint: options.paint, prefix: prefix(self) };
        let mut text = String::new();
        if self.pairs.is_some() {
            shown.pairs(&mut text);
        } else {
            if self.field.is_some() {
                shown.histogram(&mut text);
            }
            if self.has_timeline {
                if !text.is_empty() {
                    text.push('\n');
                }
                shown.timeline(&mut text);
            }
            if self.has_gaps {
                shown.gaps(&mut text);
            }
            if text.is_empty() && !self.by.is_empty() {
                shown.totals(&mut text);
            }
            shown.summary(&mut text);
        }
        shown.notes(&mut text);
        text
    }
}

/// Returns the common directory of all rows' data streams. It is not shown.
fn prefix(found: &StatsReport<'_>) -> String {
    let Some(column) = found.by.iter().position(|by| *by == GroupBy::Stream) else { return String::new() };
    let mut names = found.rows.iter().filter_map(|row| match row.key.get(column) {
        Some(GroupValue::Text(name)) => Some(name.as_str()),
        _ => None,
    });
    let directory = |name: &str| name.rfind('/').map_or(0, |at| at + 1);
    let Some(first) = names.next() else { return String::new() };
    let mut prefix = &first[..directory(first)];
    for name in names {
        let same = prefix.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        let same = prefix.get(..same).unwrap_or_default();
        prefix = &prefix[..directory(same)];
    }
    prefix.to_owned()
}

/// Report and display options.
struct StatsDisplay<'f, 's> {
    found: &'f StatsReport<'s>,
    options: StatsTextOptions,
    paint: Paint,
    prefix: String,
}

impl StatsDisplay<'_, '_> {
    /// Formats the components of a row's key.
    fn key(&self, row: &ReportRow<'_>) -> Vec<String> {
        let parts = row.key.iter().zip(&self.found.by);
        let text = |(value, by): (&GroupValue, &GroupBy)| {
            let base = match by {
                GroupBy::Field(name) => self.found.stats.base_of(name),
                _ => DisplayBase::Decimal,
            };
            let text = shown_text(value, base);
            let text = match by {
                GroupBy::Stream => text.strip_prefix(&self.prefix).unwrap_or(&text).to_owned(),
                _ => text,
            };
            printable(&text).into_owned()
        };
        parts.map(text).collect()
    }

    fn names(&self) -> Vec<&str> {
        self.found.by.iter().map(name_of).collect()
    }

    /// Returns the seconds from the first to the last event.
    fn seconds(&self) -> f64 {
        self.found.all.totals.times().map_or(0.0, |(begin, end)| end.saturating_sub(begin) as f64 / 1e9)
    }

    fn rate(&self, events: u64) -> String {
        let seconds = self.seconds();
        if seconds > 0.0 { format!("{}/s", rate(events as f64 / seconds)) } else { String::new() }
    }

    /// Appends the row table.
    fn totals(&self, text: &mut String) {
        let all = &self.found.all.totals;
        let titles =
            ["events", "share", "bytes", "rate", "first", "last", "largest gap", "after", "discarded"];
        let mut table = TextTable::new(&titles, &self.names());
        for row in &self.found.rows {
            let Some(of) = row.of else { continue };
            let totals = &of.totals;
            let (range, gap) = (totals.times(), totals.largest_gap());
            let time = |time: Option<i128>| time.map(|time| self.options.short(time)).unwrap_or_default();
            let more = if row.missed > 0 { "+" } else { "" };
            let mut cells = vec![
                format!("{}{more}", grouped(totals.events)),
                share(totals.events, all.events),
                totals.bytes().map(grouped).unwrap_or_default(),
                self.rate(totals.events),
                time(range.map(|range| range.0)),
                time(range.map(|range| range.1)),
                gap.map(|gap| duration(gap.length)).unwrap_or_default(),
                time(gap.map(|gap| gap.begin)),
                discarded(of),
            ];
            cells.extend(self.key(row));
            table.rows.push(cells);
        }
        table.push(text, self.options.width, self.paint);
    }

    /// Appends a table with a distribution per row, then all distributions as bars.
    fn distributions(&self, text: &mut String, noun: &str, show: &dyn Fn(Number) -> String) {
        // Where spans are never nested, both sums are equal. A column by which rows are sorted is always shown.
        let has_own = self.found.pairs.is_some_and(|pairs| {
            self.found.order == StatsOrder::Own
                || pairs.latencies().total() != Some(Number::Integer(pairs.own_time()))
        });
        let mut titles = vec![noun, "min", "mean", "p50", "p90", "p99", "max"];
        // The sum of a field's values is not useful in general.
        if self.found.pairs.is_some() {
            titles.splice(1..1, ["total"].into_iter().chain(has_own.then_some("self")));
        }
        let mut table = TextTable::new(&titles, &self.names());
        for row in &self.found.rows {
            // With a timeline, some rows lack numbers.
            let Some(numbers) = row.numbers.as_ref().filter(|numbers| numbers.distribution.count() > 0)
            else {
                continue;
            };
            let more = if row.missed > 0 { "+" } else { "" };
            let mut cells = vec![format!("{}{more}", grouped(numbers.distribution.count()))];
            if let Some(own) = row.own_time {
                cells.extend(numbers.distribution.total().map(show));
                cells.extend(has_own.then(|| duration(own)));
            }
            cells.extend(quantiles(numbers, show).into_iter().map(|(_, value)| value));
            cells.extend(self.key(row));
            table.rows.push(cells);
        }
        table.push(text, self.options.width, self.paint);
    }

    fn histogram(&self, text: &mut String) {
        let show = |number: Number| number_text(number);
        let name = self.found.field.as_deref().unwrap_or_default();
        let name = printable(name);
        if self.found.by.is_empty() {
            if let Some(distribution) = self.found.all.numbers.as_deref() {
                self.one_distribution(text, &name, "value", &NumberQuantiles::new(distribution), &show);
            }
            return;
        }
        self.distributions(text, "values", &show);
        for row in &self.found.rows {
            let Some(numbers) = row.numbers.as_ref().filter(|numbers| numbers.distribution.count() > 0)
            else {
                continue;
            };
            let title = format!("{name}, {}", self.key(row).join(", "));
            text.push('\n');
            self.one_distribution(text, &title, "value", numbers, &show);
        }
    }

    /// Appends a distribution as a quantile line and a bar for each power of two.
    fn one_distribution(
        &self,
        text: &mut String,
        title: &str,
        noun: &str,
        numbers: &NumberQuantiles<'_>,
        show: &dyn Fn(Number) -> String,
    ) {
        let values = numbers.distribution.count();
        let _ = write!(text, "{}: {}", self.paint.title(title), count(values, noun));
        if values > 0 {
            let parts = quantiles(numbers, show).into_iter().map(|(name, value)| format!(", {name} {value}"));
            text.extend(parts);
        }
        text.push('\n');
        let bins = numbers.distribution.powers();
        let greatest = bins.iter().map(|bin| bin.count).max().unwrap_or_default();
        let is_real = numbers.distribution.has_reals();
        let bound = |bound: f64| match Number::from_real(bound) {
            Some(number) => show(number),
            None => String::new(),
        };
        let label = |bin: &PowerBin| match (bin.begin(), bin.end()) {
            (begin, end) if begin == end => bound(begin),
            // The bin contains a single integer.
            (begin, end) if !is_real && (end - begin).abs() <= 1.0 => bound(begin),
            (begin, end) => format!("{} .. {}", bound(begin.min(end)), bound(begin.max(end))),
        };
        let labels: Vec<String> = bins.iter().map(label).collect();
        let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or_default();
        let counts: Vec<String> = bins.iter().map(|bin| grouped(bin.count)).collect();
        let digits = counts.iter().map(String::len).max().unwrap_or_default();
        let mut before: Option<&PowerBin> = None;
        for ((bin, label), number) in bins.iter().zip(&labels).zip(&counts) {
            if before.is_some_and(|before| before.empty_bins_before(bin) > 0) {
                let _ = writeln!(text, "  {:>width$}", "...");
            }
            before = Some(bin);
            let bar = bar(bin.count, greatest, BAR);
            let line = format!("  {label:>width$}  {number:>digits$}  {bar}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }

    fn timeline(&self, text: &mut String) {
        let Some(all) = self.found.all.timeline.as_deref().filter(|all| all.width() > 0) else { return };
        if self.found.by.is_empty() {
            return self.bars_of_time(text, &all.clone().in_bins(BARS));
        }
        let all = all.clone().in_bins(COLUMNS);
        let (width, bins) = (all.width(), all.counts().len());
        let begins = || (0..bins as i128).map(|bin| all.begin().saturating_add(bin.saturating_mul(width)));
        let title = format!("from {}, {} each", self.options.short(all.begin()), span(width));
        let mut table = TextTable::new(&["events", "most"], &[&[&*title][..], &self.names()].concat());
        for row in &self.found.rows {
            let Some((of, timeline)) = row.of.and_then(|of| Some((of, of.timeline.as_deref()?))) else {
                continue;
            };
            let timeline = timeline.clone().at_least(width);
            let most = timeline.counts().max().unwrap_or_default();
            let mut cells = vec![
                grouped(of.totals.events),
                format!("{}/s", rate(most as f64 * 1e9 / width as f64)),
                line(begins().map(|begin| timeline.count_at(begin)), most),
            ];
            cells.extend(self.key(row));
            table.rows.push(cells);
        }
        table.push(text, self.options.width, self.paint);
    }

    /// Appends a line for each long gap, of each row or of all events.
    fn gaps(&self, text: &mut String) {
        let mut table = TextTable::new(&["gap", "begin", "end"], &self.names());
        let mut add = |row: &StatsRow, key: &[String]| {
            for gap in row.gaps.iter().flat_map(|gaps| gaps.gaps()) {
                let end = gap.begin.saturating_add(gap.length);
                let cells = [duration(gap.length), self.options.short(gap.begin), self.options.short(end)];
                table.rows.push(cells.into_iter().chain(key.iter().cloned()).collect());
            }
        };
        if self.found.by.is_empty() {
            add(self.found.all, &[]);
        }
        for row in &self.found.rows {
            row.of.into_iter().for_each(|of| add(of, &self.key(row)));
        }
        table.push(text, self.options.width, self.paint);
    }

    /// Appends a line for each bin.
    fn bars_of_time(&self, text: &mut String, timeline: &TimeHistogram) {
        let greatest = timeline.counts().max().unwrap_or_default();
        let rates: Vec<String> = timeline
            .counts()
            .map(|count| format!("{}/s", rate(count as f64 * 1e9 / timeline.width() as f64)))
            .collect();
        let digits = rates.iter().map(String::len).max().unwrap_or_default();
        let title = format!("events by time, {} each", span(timeline.width()));
        let _ = writeln!(text, "{}", self.paint.faint(&title));
        let mut begin = timeline.begin();
        for (count, rate) in timeline.counts().zip(rates) {
            let bar = bar(count, greatest, BAR);
            let line = format!("  {}  {rate:>digits$}  {bar}", self.options.short(begin));
            text.push_str(line.trim_end());
            text.push('\n');
            begin = begin.saturating_add(timeline.width());
        }
    }

    fn pairs(&self, text: &mut String) {
        let Some(pairs) = self.found.pairs else { return };
        let show = |number: Number| match number {
            Number::Integer(value) => duration(value),
            number => duration(number.to_f64() as i128),
        };
        if !self.found.by.is_empty() {
            self.distributions(text, "pairs", &show);
            text.push('\n');
        }
        self.one_distribution(text, "latency", "pair", &NumberQuantiles::new(pairs.latencies()), &show);
        self.slowest(text, &pairs.slowest());
        if self.found.within_traces {
            let (key, hint) = (self.found.key.join(", "), hint(self.options.hints.key));
            let line = format!("paired by {key} within each trace{hint}");
            let _ = writeln!(text, "{}", self.paint.faint(&line));
        }
        let unpaired = pairs.unpaired();
        let mut parts = Vec::new();
        let given_up = format!("dropped because too many were open{}", hint(self.options.hints.open_pairs));
        for (number, noun, what) in [
            (unpaired.begun_again, "start", "repeated before an end"),
            (unpaired.without_end, "start", "without an end"),
            (unpaired.given_up, "start", &given_up),
            (unpaired.without_begin, "end", "without a start"),
            (unpaired.without_key, "event", "without a key field"),
            (unpaired.without_time, "event", "without a time"),
        ] {
            if number > 0 {
                parts.push(format!("{} {what}", count(number, noun)));
            }
        }
        if !parts.is_empty() {
            let _ = writeln!(text, "{}", self.paint.faint(&format!("unpaired: {}", parts.join(", "))));
        }
        self.loss(text);
    }

    /// Appends a line for each long pair.
    fn slowest(&self, text: &mut String, slowest: &[Pair]) {
        if slowest.is_empty() {
            return;
        }
        text.push('\n');
        let key: Vec<&str> = self.found.key.iter().map(String::as_str).collect();
        let has_threads = slowest.iter().any(|pair| pair.thread.is_some());
        let of_thread: &[&str] = if has_threads { &["thread"] } else { &[] };
        // Both ends of a span usually have the same name.
        let is_named_once = slowest.iter().all(|pair| pair.names[0] == pair.names[1]);
        let names: &[&str] = if is_named_once { &["name"] } else { &["from", "to"] };
        let mut table = TextTable::new(&["slowest", "begin", "end"], &[names, of_thread, &key].concat());
        for pair in slowest {
            let mut cells = vec![
                duration(pair.end.saturating_sub(pair.begin)),
                self.options.short(pair.begin),
                self.options.short(pair.end),
            ];
            cells.extend(pair.names.iter().take(names.len()).map(|name| printable(name).into_owned()));
            if has_threads {
                cells.push(pair.thread.as_ref().map_or(String::new(), |thread| {
                    printable(&shown_text(thread, DisplayBase::Decimal)).into_owned()
                }));
            }
            let key = pair.key.iter().zip(&self.found.key);
            cells.extend(key.map(|(value, name)| {
                printable(&shown_text(value, self.found.stats.base_of(name))).into_owned()
            }));
            table.rows.push(cells);
        }
        table.push(text, self.options.width, self.paint);
    }

    fn loss(&self, text: &mut String) {
        if !self.found.all.loss.is_none() {
            let line = format!("discarded: {}", discarded(self.found.all));
            let _ = writeln!(text, "{}", self.paint.faint(&line));
        }
    }

    /// Appends the totals of all events.
    fn summary(&self, text: &mut String) {
        let totals = &self.found.all.totals;
        let mut parts = vec![count(totals.events, "event")];
        parts.extend(totals.bytes().map(size));
        if self.seconds() > 0.0 {
            parts.push(self.rate(totals.events));
        }
        let mut line = parts.join(", ");
        if let Some((begin, end)) = totals.times() {
            let length = duration(end.saturating_sub(begin));
            let _ =
                write!(line, ", {length} from {} to {}", self.options.long(begin), self.options.long(end));
        }
        let _ = writeln!(text, "{}", self.paint.faint(&line));
        if let Some(gap) = totals.largest_gap() {
            let line =
                format!("largest gap: {} after {}", duration(gap.length), self.options.short(gap.begin));
            let _ = writeln!(text, "{}", self.paint.faint(&line));
        }
        self.loss(text);
    }

    /// Appends notes about omitted rows and inexact results.
    fn notes(&self, text: &mut String) {
        let found = self.found;
        let mut note = |line: &str| {
            let _ = writeln!(text, "{}", self.paint.faint(line));
        };
        if found.left_out > 0 {
            let more = count(found.left_out as u64, "more row");
            note(&format!("{more} not shown{}", hint(self.options.hints.top)));
        }
        if found.missed > 0 {
            let (most, missed) = (grouped(found.most as u64), grouped(found.missed));
            note(&format!(
                "more than {most} groups: rows marked + may have up to {missed} more than shown, and groups \
                with up to {missed} may be missing{}",
                hint(self.options.hints.groups)
            ));
        }
        let rows =
            found.rows.iter().filter_map(|row| row.numbers.as_ref()).map(|numbers| numbers.distribution);
        let all = found.pairs.map(|pairs| pairs.latencies()).into_iter().chain(found.all.numbers.as_deref());
        if rows.chain(all).any(|distribution| !distribution.is_exact()) {
            note(&format!("p50, p90, p99: to within {:.1} %", 100.0 * Distribution::ERROR));
        }
    }
}

/// Summarizes losses. Empty if nothing was lost.
fn discarded(row: &StatsRow) -> String {
    let loss = row.loss;
    let mut parts = Vec::new();
    if loss.events > 0 {
        parts.push(count(loss.events, "event"));
    }
    if loss.unknown_events {
        parts.push("an unknown number of events".to_owned());
    }
    if loss.packets > 0 {
        parts.push(count(loss.packets, "packet"));
    }
    parts.join(", ")
}

/// Returns the characteristic numbers of a distribution with their names.
fn quantiles(numbers: &NumberQuantiles<'_>, show: &dyn Fn(Number) -> String) -> Vec<(&'static str, String)> {
    let (distribution, quantiles) = (numbers.distribution, &numbers.quantiles);
    let text = |number: Option<Number>| number.map(show).unwrap_or_default();
    let range = distribution.range();
    let mean = distribution.mean().map(|mean| match range {
        // Large integer means are rounded to integers.
        Some((Number::Integer(_), Number::Integer(_))) if mean.abs() >= 1_000.0 => {
            show(Number::Integer(mean.round() as i128))
        }
        _ => Number::from_real(mean).map(show).unwrap_or_default(),
    });
    vec![
        ("min", text(range.map(|range| range.0))),
        ("mean", mean.unwrap_or_default()),
        ("p50", text(quantiles.first().copied())),
        ("p90", text(quantiles.get(1).copied())),
        ("p99", text(quantiles.get(2).copied())),
        ("max", text(range.map(|range| range.1))),
    ]
}

/// Formats a number: with commas if it is an integer, otherwise with six significant digits.
fn number_text(number: Number) -> String {
    match number {
        Number::Integer(value) => {
            let sign = if value < 0 { "-" } else { "" };
            match u64::try_from(value.unsigned_abs()) {
                Ok(magnitude) => format!("{sign}{}", grouped(magnitude)),
                // Equal length for every power of two.
                Err(_) => format!("{:.5e}", value as f64),
            }
        }
        number => {
            let value = number.to_f64();
            let magnitude = value.abs();
            if (1e-4..1e6).contains(&magnitude) {
                let places = (5 - magnitude.log10().floor() as i32).clamp(0, 9) as usize;
                let text = format!("{value:.places$}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                format!("{value:.5e}")
            }
        }
    }
}

/// Formats a rate in events per second.
fn rate(rate: f64) -> String {
    match rate {
        rate if rate >= 99.95 => grouped(rate.round() as u64),
        rate if rate >= 9.995 => format!("{rate:.1}"),
        rate if rate >= 0.01 => format!("{rate:.2}"),
        rate if rate > 0.0 => format!("{rate:.1e}"),
        _ => "0".to_owned(),
    }
}

/// Formats a bin width, a round number.
fn span(nanoseconds: i128) -> String {
    let units = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "min"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "µs"),
    ];
    match units.into_iter().find(|(unit, _)| nanoseconds >= *unit) {
        Some((unit, name)) => format!("{} {name}", nanoseconds / unit),
        None => format!("{nanoseconds} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        let shown = |value: f64| number_text(Number::from_real(value).unwrap());
        assert_eq!(shown(0.0), "0");
        assert_eq!(shown(-1_234_567.0), "-1,234,567");
        assert_eq!(shown(0.5), "0.5");
        assert_eq!(shown(-1.0 / 3.0), "-0.333333");
        assert_eq!(shown(1e-9), "1.00000e-9");
        assert_eq!(shown(2f64.powi(100)), "1.26765e30");
        assert_eq!(shown(f64::INFINITY), "inf");
        assert_eq!(["0", "0.50", "12.3", "100", "1,234"], [0.0, 0.5, 12.34, 99.99, 1234.4].map(rate));
        assert_eq!([span(1), span(20_000), span(7_200_000_000_000)], ["1 ns", "20 µs", "2 h"]);
    }
}
