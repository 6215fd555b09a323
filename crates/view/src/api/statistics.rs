//! Statistics and call stacks of a range.

use std::collections::{BinaryHeap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos::export::{
    Distribution, GroupBy, GroupValue, PairOptions, PairReader, Pairs, StackCollector, StackFormat,
    StackOptions, StackRoots, StatsCollector, StatsOptions,
};
use ichnos::json::write::{ObjectWriter, ValueWriter};
use ichnos::model::{Event, Message, Sink as _};

use super::command::command;
use super::overview::write_float;
use super::scan::{self, RangeScan, is_within};
use crate::query::Query;
use crate::response::ApiError;
use crate::shared::Shared;

/// Maximum number of events that are read for an answer.
const MOST_EVENTS: u64 = 50_000_000;

/// Maximum numbers of rows, gaps and functions of an answer.
const MOST_ROWS: usize = 1_000;
const MOST_GAPS: usize = 10;
const MOST_NODES: usize = 5_000;

/// Maximum depth of stacks in an answer.
const MOST_DEPTH: usize = 256;

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

/// Statistics of events that are read once.
struct RangeStats {
    classes: StatsCollector,
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
        Self { classes, gaps, reader: PairReader::new(Arc::new(options)), pairs }
    }

    fn take(&mut self, event: &Event<'_>) {
        let message = Message::Event(*event);
        self.classes.message(&message);
        self.gaps.message(&message);
        if self.reader.message(&message) {
            self.pairs.take(&self.reader.take_records());
        }
    }

    /// Writes the result; rates are of `seconds`.
    fn write(mut self, object: &mut ObjectWriter<'_>, seconds: f64) {
        self.pairs.take(&self.reader.take_records());
        let (stats, gaps) = (self.classes.finish(), self.gaps.finish());
        object.member("events").unsigned(stats.all().totals.events);
        let mut rows: Vec<_> = stats.groups().map(|group| (group.row.totals.events, group)).collect();
        rows.sort_by_key(|(events, _)| std::cmp::Reverse(*events));
        let mut list = object.member("classes").array();
        for (events, group) in rows.iter().take(MOST_ROWS) {
            let mut row = list.element().object();
            row.member("name").string(name_of(&group.key));
            row.member("count").unsigned(*events);
            write_float(row.member("perSecond"), *events as f64 / seconds);
            row.end();
        }
        list.end();
        let mut list = object.member("spans").array();
        let mut groups: Vec<_> = self.pairs.groups().collect();
        // What took most comes first.
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
pub(super) fn stats(shared: &Shared, query: &Query) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = query.range()?;
    let track = query.number("track")?.map(|track| track as u32);
    let tracks = shared.build.timeline().tracks().to_vec();
    let mut stats = RangeStats::new();
    let scan = RangeScan { begin, end, filter: query.text("filter"), most: MOST_EVENTS, time: scan::LONG };
    let scanned = scan.run(shared, |found| {
        if track.is_none_or(|track| is_within(&tracks, found.place.track, track)) {
            stats.take(found.event);
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

/// Writes how many spans have a length between powers of two, in nanoseconds.
fn write_histogram(place: ValueWriter<'_>, lengths: &Distribution) {
    let powers = lengths.powers();
    let Some(last) = powers.last() else { return place.null() };
    let mut object = place.object();
    object.member("name").string("lengths of spans");
    let mut list = object.member("bounds").array();
    powers.iter().for_each(|bin| write_float(list.element(), bin.begin()));
    write_float(list.element(), last.end());
    list.end();
    let mut list = object.member("counts").array();
    powers.iter().for_each(|bin| list.element().unsigned(bin.count));
    list.end();
    object.end();
}

/// A function and what it calls.
#[derive(Debug, Default)]
struct StackNode {
    name: String,
    value: u64,
    children: Vec<usize>,
}

/// Calls of all stacks; the first one is their root.
#[derive(Debug)]
struct FlameTree {
    nodes: Vec<StackNode>,
    numbers: HashMap<(usize, String), usize>,
}

impl FlameTree {
    /// Reads lines of functions from the outermost one on, each with a weight.
    fn of_folded(text: &str) -> Self {
        let root = StackNode { name: "all".to_owned(), ..StackNode::default() };
        let mut tree = Self { nodes: vec![root], numbers: HashMap::new() };
        for line in text.lines() {
            let Some((stack, weight)) = line.rsplit_once(' ') else { continue };
            let weight = weight.parse().unwrap_or(0);
            let mut node = 0;
            tree.add(node, weight);
            for name in stack.split(';').take(MOST_DEPTH) {
                node = tree.child(node, name);
                tree.add(node, weight);
            }
        }
        tree
    }

    fn add(&mut self, node: usize, weight: u64) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.value = node.value.saturating_add(weight);
        }
    }

    fn child(&mut self, parent: usize, name: &str) -> usize {
        if let Some(child) = self.numbers.get(&(parent, name.to_owned())) {
            return *child;
        }
        let child = self.nodes.len();
        self.nodes.push(StackNode { name: name.to_owned(), ..StackNode::default() });
        self.numbers.insert((parent, name.to_owned()), child);
        if let Some(parent) = self.nodes.get_mut(parent) {
            parent.children.push(child);
        }
        child
    }

    /// Leaves the largest functions. Returns the number of those that are left out.
    fn prune(&mut self) -> usize {
        let mut left = vec![false; self.nodes.len()];
        let mut largest = BinaryHeap::from([(u64::MAX, 0)]);
        for _ in 0..MOST_NODES {
            let Some((_, node)) = largest.pop() else { break };
            left[node] = true;
            largest.extend(self.nodes[node].children.iter().map(|child| (self.nodes[*child].value, *child)));
        }
        for node in &mut self.nodes {
            node.children.retain(|child| left[*child]);
        }
        left.iter().filter(|is_left| !**is_left).count()
    }

    fn write(&self, place: ValueWriter<'_>, node: usize) {
        let Some(StackNode { name, value, children }) = self.nodes.get(node) else { return place.null() };
        let mut object = place.object();
        object.member("name").string(name);
        object.member("value").unsigned(*value);
        let mut list = object.member("children").array();
        children.iter().for_each(|child| self.write(list.element(), *child));
        list.end();
        object.end();
    }
}

/// Collects the call stacks of samples.
pub(super) fn stacks(shared: &Shared, query: &Query) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = query.range()?;
    let mut collector = StackCollector::new(StackOptions::default());
    let scan = RangeScan { begin, end, filter: query.text("filter"), most: MOST_EVENTS, time: scan::LONG };
    let scanned = scan.run(shared, |found| match collector.message(&Message::Event(*found.event)) {
        Ok(flow) => flow,
        Err(_) => ControlFlow::Break(()),
    })?;
    let profile = collector.finish();
    let mut text = Vec::new();
    let written = profile.write(StackFormat::Folded, StackRoots::None, &mut text);
    written.map_err(|error| ApiError::failed(error.to_string()))?;
    let mut tree = FlameTree::of_folded(&String::from_utf8_lossy(&text));
    let dropped = tree.prune();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("command").string(&command(shared, "stacks", query, Some((begin, end))));
    object.member("complete").boolean(scanned.is_complete);
    object.member("samples").unsigned(profile.samples());
    object.member("dropped").unsigned(dropped as u64);
    tree.write(object.member("root"), 0);
    object.end();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_add_what_is_below_and_keep_the_largest() {
        let mut tree = FlameTree::of_folded("a;b 3\na;c 4\nd 1\n");
        assert_eq!(tree.prune(), 0);
        let mut out = Vec::new();
        tree.write(ValueWriter::new(&mut out), 0);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with(r#"{"name":"all","value":8,"children":[{"name":"a","value":7,"#), "{text}");
        let many: String = (0..6_000).map(|i| format!("x;f{i} {i}\n")).collect();
        let mut tree = FlameTree::of_folded(&many);
        assert_eq!(tree.prune(), 6_002 - MOST_NODES);
        let mut out = Vec::new();
        tree.write(ValueWriter::new(&mut out), 0);
        assert!(String::from_utf8(out).unwrap().contains("f5999"));
    }
}
