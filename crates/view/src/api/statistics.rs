//! Statistics and call stacks in a range.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use ichnos::analysis::{
    CPU_TIME, Distribution, GroupBy, GroupValue, PairOptions, PairReader, Pairs, StackCollector, StackFormat,
    StackOptions, StackRoots, StatsCollector, StatsOptions, UNMANAGED_CODE_TIME,
};
use ichnos::json::write::{ObjectWriter, ValueWriter};
use ichnos::model::{Message, Sink as _};

use super::command::command;
use super::flame_tree::FlameTree;
use super::overview::write_float;
use super::scan::{self, Match, RangeScan, is_within};
use super::span_tree::{AddedSpans, SpanRead};
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;

/// Maximum number of events that are read for an answer.
const MOST_EVENTS: u64 = 50_000_000;

/// Maximum number of rows and of gaps in an answer.
const MOST_ROWS: usize = 1_000;
const MOST_GAPS: usize = 10;

fn name_of(key: &[GroupValue]) -> &str {
    match key.first() {
        Some(GroupValue::Text(name)) => name,
        _ => "",
    }
}

fn write_lengths(object: &mut ObjectWriter<'_>, lengths: &Distribution) {
    let count = lengths.count();
    object.member("count").unsigned(count);
    write_float(object.member("total"), lengths.mean().unwrap_or(0.0) * count as f64);
    let quantiles = lengths.quantiles(&[0, 500, 900, 990, 1_000]);
    for (name, value) in ["minimum", "median", "p90", "p99", "maximum"].into_iter().zip(quantiles) {
        write_float(object.member(name), value.to_f64());
    }
}

/// Statistics computed in one pass over the events.
struct RangeStats {
    /// Events by class, without those that have their own names.
    classes: StatsCollector,
    /// Number of events and name, by number of their own names.
    named: HashMap<u32, (u64, String)>,
    gaps: StatsCollector,
    reader: PairReader,
    pairs: Pairs,
}

impl RangeStats {
    fn new() -> Self {
        let mut options = StatsOptions::default();
        options.by = vec![GroupBy::Event];
        let classes = StatsCollector::new(Arc::new(options));
        let mut options = StatsOptions::default();
        options.gaps = MOST_GAPS;
        let gaps = StatsCollector::new(Arc::new(options));
        let mut options = PairOptions::spans();
        options.by = vec![GroupBy::Span];
        let pairs = Pairs::new(&options);
        Self { classes, named: HashMap::new(), gaps, reader: PairReader::new(Arc::new(options)), pairs }
    }

    fn take(&mut self, found: &Match<'_, '_>) {
        let message = Message::Event(*found.event);
        match found.has_own_name {
            true => self.named.entry(found.place.name).or_insert_with(|| (0, found.name.to_owned())).0 += 1,
            false => self.classes.message(&message),
        }
        self.gaps.message(&message);
        // Events before the range can define names used in it.
        if self.reader.named_event(found.event, found.name) {
            self.pairs.take(&self.reader.take_records());
        }
    }

    /// Writes the statistics. Rates are per second of `seconds`.
    fn write(mut self, object: &mut ObjectWriter<'_>, seconds: f64) {
        self.pairs.take(&self.reader.take_records());
        let (stats, gaps) = (self.classes.finish(), self.gaps.finish());
        object.member("events").unsigned(gaps.all().totals.events);
        let classes: Vec<_> = stats.groups().collect();
        let classes = classes.iter().map(|group| (group.row.totals.events, name_of(&group.key)));
        let named = self.named.values().map(|(events, name)| (*events, name.as_str()));
        let mut rows: Vec<_> = classes.chain(named).collect();
        rows.sort_by_key(|(events, name)| (std::cmp::Reverse(*events), *name));
        let mut list = object.member("classes").array();
        for (events, name) in rows.iter().take(MOST_ROWS) {
            let mut row = list.element().object();
            row.member("name").string(name);
            row.member("count").unsigned(*events);
            write_float(row.member("perSecond"), *events as f64 / seconds);
            row.end();
        }
        list.end();
        let mut list = object.member("spans").array();
        let mut groups: Vec<_> = self.pairs.groups().collect();
        // The largest total comes first.
        groups.sort_by_key(|group| std::cmp::Reverse(group.latencies.total()));
        for group in groups.iter().take(MOST_ROWS) {
            let mut row = list.element().object();
            row.member("name").string(name_of(&group.key));
            write_lengths(&mut row, group.latencies);
            row.member("self").integer(group.own_time);
            row.end();
        }
        list.end();
        write_histogram(object.member("histogram"), self.pairs.latencies());
        let mut list = object.member("gaps").array();
        for gap in gaps.all().gaps.iter().flat_map(|gaps| gaps.gaps()) {
            let mut row = list.element().object();
            row.member("begin").display(gap.begin);
            row.member("length").integer(gap.length);
            row.end();
        }
        list.end();
    }
}

/// Counts events and spans.
pub(super) fn stats(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = query.range()?;
    let track = query.number("track")?.map(|track| track as u32);
    let tracks = shared.build.timeline().tracks().to_vec();
    let mut stats = RangeStats::new();
    let scan = RangeScan { begin, end, filter: query.text("filter"), most: MOST_EVENTS, time: scan::LONG };
    let scanned = scan.run(shared, |found| {
        if track.is_none_or(|track| is_within(&tracks, found.place.track, track)) {
            stats.take(found);
        }
        ControlFlow::Continue(())
    })?;
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("command").string(&command(shared, "stats", query, Some((begin, end))));
    object.member("complete").boolean(scanned.is_complete);
    stats.write(&mut object, (end - begin).max(1) as f64 / 1e9);
    object.end();
    Ok(out)
}

/// Writes a histogram of span lengths in nanoseconds, with powers of two as bounds.
fn write_histogram(place: ValueWriter<'_>, lengths: &Distribution) {
    let powers = lengths.powers();
    let Some(last) = powers.last() else { return place.null() };
    let mut object = place.object();
    object.member("name").string("span lengths");
    let mut list = object.member("bounds").array();
    powers.iter().for_each(|bin| write_float(list.element(), bin.begin()));
    write_float(list.element(), last.end());
    list.end();
    let mut list = object.member("counts").array();
    powers.iter().for_each(|bin| list.element().unsigned(bin.count));
    list.end();
    object.end();
}

/// Returns the folded lines that count. `only_running` drops samples from threads that did not run.
fn counted_lines(text: &str, only_running: bool) -> impl Iterator<Item = Cow<'_, str>> {
    text.lines().filter_map(move |line| {
        let Some((stack, weight)) = line.rsplit_once(' ').filter(|_| only_running) else {
            return Some(Cow::Borrowed(line));
        };
        let (outer, innermost) = stack.rsplit_once(';').unwrap_or(("", stack));
        match innermost {
            CPU_TIME => Some(Cow::Owned(format!("{outer} {weight}"))),
            UNMANAGED_CODE_TIME => None,
            _ => Some(Cow::Borrowed(line)),
        }
    })
}

/// Returns `true` if the trace has spans.
fn has_spans(shared: &AppState) -> bool {
    let counts = shared.build.timeline().counts();
    [counts.begun, counts.frames, counts.complete].into_iter().any(|number| number > 0)
}

/// Answers with the call stacks of samples, or of spans without samples.
pub(super) fn stacks(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = query.range()?;
    let is_on = |name: &str| Ok(query.bounded(name, 1, 0)? == 1);
    let (inverted, by_thread, only_running) = (is_on("inverted")?, is_on("threads")?, is_on("running")?);
    let mut options = StackOptions::default();
    options.with_states = only_running;
    let mut collector = StackCollector::new(options);
    let scan = RangeScan { begin, end, filter: query.text("filter"), most: MOST_EVENTS, time: scan::LONG };
    let scanned = scan.run(shared, |found| match collector.message(&Message::Event(*found.event)) {
        Ok(flow) => flow,
        Err(_) => ControlFlow::Break(()),
    })?;
    let profile = collector.finish();
    let mut text = Vec::new();
    let roots = if by_thread { StackRoots::Thread } else { StackRoots::None };
    let written = profile.write(StackFormat::Folded, roots, &mut text);
    written.map_err(|error| ApiError::failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = counted_lines(&text, only_running).collect();
    let mut tree = FlameTree::of_folded(lines.iter().map(|line| &**line));
    let mut added = AddedSpans { is_complete: true, is_exact: true, spans: 0 };
    if profile.samples() == 0 {
        let (range, most, deadline) = ((begin, end), MOST_EVENTS, Instant::now() + scan::LONG);
        let read = SpanRead { shared, range, most, deadline, by_thread, only_running };
        added = read.add_to(&mut tree, query)?;
    }
    let AddedSpans { spans, is_complete, is_exact } = added;
    let of_spans = profile.samples() == 0 && (spans > 0 || has_spans(shared));
    let mut dropped = 0;
    if inverted {
        // By process and thread.
        let kept = usize::from(by_thread) * 2;
        (tree, dropped) = tree.inverted(kept);
    }
    dropped += tree.prune();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    let verb = [
        "stacks",
        if of_spans { " --spans" } else { "" },
        match (only_running, of_spans) {
            (true, true) => " --running",
            (true, false) => " --cpu",
            _ => "",
        },
        if inverted { " --inverted" } else { "" },
        if by_thread { " --stack-roots thread" } else { "" },
    ];
    object.member("command").string(&command(shared, &verb.concat(), query, Some((begin, end))));
    object.member("complete").boolean(is_complete && scanned.is_complete);
    object.member("exact").boolean(is_exact);
    object.member("samples").unsigned(profile.samples());
    object.member("spans").unsigned(spans);
    object.member("unit").string(if of_spans { "ns" } else { "" });
    object.member("dropped").unsigned(dropped as u64);
    tree.write(object.member("root"), 0);
    object.end();
    Ok(out)
}
