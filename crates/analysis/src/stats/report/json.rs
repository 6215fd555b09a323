//! Statistics as JSON.

use ichnos_json::write::{ObjectWriter, ValueWriter};

use super::{NumberQuantiles, ReportRow, StatsReport, name_of, value_text};
use crate::stats::{
    Distribution, GroupValue, LongestGaps, Number, Pair, Pairs, ReportedLosses, StatsRow, TimeHistogram,
};
use ichnos_export::number::write_real;

impl StatsReport<'_> {
    /// Writes the statistics as object members. `events` is the number of selected events, and `damages` the
    /// number of damaged places in the input.
    pub fn write_json(&self, object: &mut ObjectWriter<'_>, events: u64, damages: u64) {
        object.member("events").unsigned(events);
        // Pairs lack the other counts.
        if self.pairs.is_none() {
            object.unsigned("bytes", self.all.totals.bytes());
            write_times(object, self.all);
        }
        write_loss(object, self.all.loss);
        object.member("damage").unsigned(damages);
        if let Some(pairs) = self.pairs {
            self.write_pairs(object.member("pairs"), pairs);
            object.member("exact").boolean(pairs.missed() == 0);
        } else {
            write_parts(object, self.all, self.all.numbers.as_deref().map(NumberQuantiles::new).as_ref());
            object.member("exact").boolean(self.missed == 0);
        }
        object.unsigned("missed_at_most", Some(self.missed).filter(|missed| *missed > 0));
        object.member("by").strings(self.by.iter().map(name_of));
        let mut rows = object.member("rows").array();
        self.rows.iter().for_each(|row| write_row(rows.element(), row));
        rows.end();
        object.member("rows_left_out").unsigned(self.left_out as u64);
    }

    fn write_pairs(&self, place: ValueWriter<'_>, pairs: &Pairs) {
        let mut object = place.object();
        object.member("key").strings(&self.key);
        write_numbers(object.member("latency_ns"), &NumberQuantiles::new(pairs.latencies()));
        object.member("self_ns").integer(pairs.own_time());
        let unpaired = pairs.unpaired();
        let mut counts = object.member("unpaired").object();
        for (name, count) in [
            ("begun_again", unpaired.begun_again),
            ("without_end", unpaired.without_end),
            ("given_up", unpaired.given_up),
            ("without_begin", unpaired.without_begin),
            ("without_key", unpaired.without_key),
            ("without_time", unpaired.without_time),
        ] {
            counts.member(name).unsigned(count);
        }
        counts.end();
        let mut slowest = object.member("slowest").array();
        pairs.slowest().iter().for_each(|pair| write_pair(slowest.element(), pair));
        slowest.end();
        object.end();
    }
}

fn write_row(place: ValueWriter<'_>, row: &ReportRow<'_>) {
    let mut object = place.object();
    write_key(&mut object, &row.key);
    object.unsigned("missed_at_most", Some(row.missed).filter(|missed| *missed > 0));
    match (row.of, &row.numbers) {
        (Some(of), numbers) => {
            object.member("events").unsigned(of.totals.events);
            object.unsigned("bytes", of.totals.bytes());
            write_times(&mut object, of);
            if !of.loss.is_none() {
                write_loss(&mut object, of.loss);
            }
            write_parts(&mut object, of, numbers.as_ref());
        }
        (None, Some(numbers)) => {
            write_numbers(object.member("latency_ns"), numbers);
            object.integer("self_ns", row.own_time);
        }
        (None, None) => {}
    }
    object.end();
}

/// Writes optional row members.
fn write_parts(object: &mut ObjectWriter<'_>, row: &StatsRow, numbers: Option<&NumberQuantiles<'_>>) {
    if let Some(numbers) = numbers {
        write_numbers(object.member("histogram"), numbers);
    }
    if let Some(timeline) = &row.timeline {
        write_timeline(object.member("timeline"), timeline);
    }
    if let Some(gaps) = &row.gaps {
        write_gaps(object.member("gaps"), gaps);
    }
}

fn write_times(object: &mut ObjectWriter<'_>, row: &StatsRow) {
    let times = row.totals.times();
    object.integer("begin_ns", times.map(|times| times.0));
    object.integer("end_ns", times.map(|times| times.1));
    object.integer("duration_ns", times.map(|times| times.1.saturating_sub(times.0)));
    let gap = row.totals.largest_gap();
    object.integer("largest_gap_ns", gap.map(|gap| gap.length));
    object.integer("largest_gap_begin_ns", gap.map(|gap| gap.begin));
}

fn write_loss(object: &mut ObjectWriter<'_>, loss: ReportedLosses) {
    object.member("discarded_events").unsigned(loss.events);
    if loss.unknown_events {
        object.member("discarded_events_of_unknown_number").boolean(true);
    }
    object.member("discarded_packets").unsigned(loss.packets);
}

fn write_numbers(place: ValueWriter<'_>, numbers: &NumberQuantiles<'_>) {
    let distribution: &Distribution = numbers.distribution;
    let mut object = place.object();
    object.member("count").unsigned(distribution.count());
    let range = distribution.range();
    if let Some((least, _)) = range {
        write_number(object.member("min"), least);
    }
    if let Some(total) = distribution.total() {
        write_number(object.member("total"), total);
    }
    if let Some(mean) = distribution.mean().filter(|mean| mean.is_finite()) {
        write_real(object.member("mean"), mean);
    }
    for (name, quantile) in ["p50", "p90", "p99"].into_iter().zip(&numbers.quantiles) {
        write_number(object.member(name), *quantile);
    }
    if let Some((_, greatest)) = range {
        write_number(object.member("max"), greatest);
    }
    let error = if distribution.is_exact() { 0.0 } else { Distribution::ERROR };
    write_real(object.member("quantile_error"), error);
    let mut bins = object.member("bins").array();
    for bin in distribution.powers() {
        let mut entry = bins.element().object();
        write_real(entry.member("begin"), bin.begin());
        write_real(entry.member("end"), bin.end());
        entry.member("count").unsigned(bin.count);
        entry.end();
    }
    bins.end();
    object.end();
}

fn write_timeline(place: ValueWriter<'_>, timeline: &TimeHistogram) {
    let mut object = place.object();
    object.integer("begin_ns", Some(timeline.begin()).filter(|_| timeline.width() > 0));
    object.member("bin_ns").integer(timeline.width());
    let mut events = object.member("events").array();
    timeline.counts().for_each(|count| events.element().unsigned(count));
    events.end();
    object.end();
}

fn write_gaps(place: ValueWriter<'_>, gaps: &LongestGaps) {
    let mut list = place.array();
    for gap in gaps.gaps() {
        let mut entry = list.element().object();
        entry.member("length_ns").integer(gap.length);
        entry.member("begin_ns").integer(gap.begin);
        entry.member("end_ns").integer(gap.begin.saturating_add(gap.length));
        entry.end();
    }
    list.end();
}

fn write_pair(place: ValueWriter<'_>, pair: &Pair) {
    let mut object = place.object();
    object.member("latency_ns").integer(pair.end.saturating_sub(pair.begin));
    object.member("begin_ns").integer(pair.begin);
    object.member("end_ns").integer(pair.end);
    object.member("events").strings(&pair.names);
    if let Some(thread) = &pair.thread {
        object.member("thread").string(&value_text(thread, ""));
    }
    write_key(&mut object, &pair.key);
    object.end();
}

/// Writes the components of a key. A missing component is null.
fn write_key(object: &mut ObjectWriter<'_>, key: &[GroupValue]) {
    let mut components = object.member("key").array();
    for component in key {
        let place = components.element();
        match component {
            GroupValue::None => place.null(),
            GroupValue::Integer(number, None) => place.integer(*number),
            GroupValue::Integer(number, Some(name)) => {
                let mut label = place.object();
                label.member("name").string(name);
                label.member("value").integer(*number);
                label.end();
            }
            GroupValue::Real(value) => write_real(place, *value),
            GroupValue::Boolean(value) => place.boolean(*value),
            value => place.string(&value_text(value, "")),
        }
    }
    components.end();
}

fn write_number(place: ValueWriter<'_>, number: Number) {
    match number {
        Number::Integer(value) => place.integer(value),
        number => write_real(place, number.to_f64()),
    }
}
