//! Statistics as JSON; `docs/cli-json.md` describes it.

use ichnos::export::{
    Distribution, Gap, GroupValue, LongestGaps, Number, PowerBin, ReportedLosses, StatsRow, Timeline,
};
use serde_json::Value as Json;

use super::rows::{NumberQuantiles, Row, StatsResults, name_of};
use crate::json::{JsonObject, document as new_document, integer};

pub(super) fn document(found: &StatsResults<'_>, events: u64, damages: u64) -> JsonObject {
    let mut object = new_document("stats");
    object.put("events", events);
    // Pairs only have these counts.
    if found.pairs.is_none() {
        object.put_some("bytes", found.all.totals.bytes());
        put_times(&mut object, found.all);
    }
    put_loss(&mut object, found.all.loss);
    object.put("damage", damages);
    if let Some(pairs) = found.pairs {
        object.put("pairs", pairs_json(found));
        object.put("exact", pairs.missed() == 0);
    } else {
        put_numbers(
            &mut object,
            "histogram",
            found.all.numbers.as_deref().map(NumberQuantiles::new).as_ref(),
        );
        object.put_some("timeline", found.all.timeline.as_deref().map(timeline));
        object.put_some("gaps", found.all.gaps.as_deref().map(gaps));
        object.put("exact", found.missed == 0);
    }
    if found.missed > 0 {
        object.put("missed_at_most", found.missed);
    }
    object.put("by", found.by.iter().map(name_of).collect::<Vec<_>>());
    object.put("rows", found.rows.iter().map(|row| row_json(row).json()).collect::<Vec<_>>());
    object.put("rows_left_out", found.left_out);
    object
}

fn row_json(row: &Row<'_>) -> JsonObject {
    let mut object = JsonObject::default();
    object.put("key", row.key.iter().map(value).collect::<Vec<_>>());
    if row.missed > 0 {
        object.put("missed_at_most", row.missed);
    }
    match row.of {
        Some(of) => {
            object.put("events", of.totals.events);
            object.put_some("bytes", of.totals.bytes());
            put_times(&mut object, of);
            if !of.loss.is_none() {
                put_loss(&mut object, of.loss);
            }
            put_numbers(&mut object, "histogram", row.numbers.as_ref());
            object.put_some("timeline", of.timeline.as_deref().map(timeline));
            object.put_some("gaps", of.gaps.as_deref().map(gaps));
        }
        None => put_numbers(&mut object, "latency_ns", row.numbers.as_ref()),
    }
    object
}

fn put_times(object: &mut JsonObject, row: &StatsRow) {
    let times = row.totals.times();
    object.put_integer("begin_ns", times.map(|times| times.0));
    object.put_integer("end_ns", times.map(|times| times.1));
    object.put_integer("duration_ns", times.map(|times| times.1.saturating_sub(times.0)));
    let gap = row.totals.largest_gap();
    object.put_integer("largest_gap_ns", gap.map(|gap| gap.length));
    object.put_integer("largest_gap_begin_ns", gap.map(|gap| gap.begin));
}

fn put_loss(object: &mut JsonObject, loss: ReportedLosses) {
    object.put("discarded_events", loss.events);
    if loss.unknown_events {
        object.put("discarded_events_of_unknown_number", true);
    }
    object.put("discarded_packets", loss.packets);
}

fn put_numbers(object: &mut JsonObject, name: &str, numbers: Option<&NumberQuantiles<'_>>) {
    object.put_some(name, numbers.map(|numbers| numbers_json(numbers).json()));
}

fn numbers_json(numbers: &NumberQuantiles<'_>) -> JsonObject {
    let distribution: &Distribution = numbers.distribution;
    let mut object = JsonObject::default();
    object.put("count", distribution.count());
    let range = distribution.range();
    object.put_some("min", range.map(|range| number(range.0)));
    object.put_some("mean", distribution.mean().and_then(serde_json::Number::from_f64).map(Json::Number));
    for (name, quantile) in ["p50", "p90", "p99"].into_iter().zip(&numbers.quantiles) {
        object.put(name, number(*quantile));
    }
    object.put_some("max", range.map(|range| number(range.1)));
    object.put("quantile_error", if distribution.is_exact() { 0.0 } else { Distribution::ERROR });
    let bin = |bin: &PowerBin| {
        let mut object = JsonObject::default();
        object.put("begin", real(bin.begin()));
        object.put("end", real(bin.end()));
        object.put("count", bin.count);
        object.json()
    };
    object.put("bins", distribution.powers().iter().map(bin).collect::<Vec<_>>());
    object
}

fn timeline(timeline: &Timeline) -> Json {
    let mut object = JsonObject::default();
    object.put_integer("begin_ns", Some(timeline.begin()).filter(|_| timeline.width() > 0));
    object.put_integer("bin_ns", Some(timeline.width()));
    object.put("events", timeline.counts().collect::<Vec<u64>>());
    object.json()
}

fn gaps(gaps: &LongestGaps) -> Vec<Json> {
    let gap = |gap: &Gap| {
        let mut object = JsonObject::default();
        object.put_integer("length_ns", Some(gap.length));
        object.put_integer("begin_ns", Some(gap.begin));
        object.put_integer("end_ns", Some(gap.begin.saturating_add(gap.length)));
        object.json()
    };
    gaps.gaps().iter().map(gap).collect()
}

fn pairs_json(found: &StatsResults<'_>) -> Json {
    let mut object = JsonObject::default();
    let Some(pairs) = found.pairs else { return Json::Null };
    object.put("key", found.key.clone());
    object.put("latency_ns", numbers_json(&NumberQuantiles::new(pairs.latencies())).json());
    let unpaired = pairs.unpaired();
    let mut counts = JsonObject::default();
    for (name, count) in [
        ("begun_again", unpaired.begun_again),
        ("without_end", unpaired.without_end),
        ("given_up", unpaired.given_up),
        ("without_begin", unpaired.without_begin),
        ("without_key", unpaired.without_key),
        ("without_time", unpaired.without_time),
    ] {
        counts.put(name, count);
    }
    object.put("unpaired", counts.json());
    let slowest = pairs.slowest();
    let slow = |pair: &ichnos::export::Pair| {
        let mut object = JsonObject::default();
        object.put_integer("latency_ns", Some(pair.end.saturating_sub(pair.begin)));
        object.put_integer("begin_ns", Some(pair.begin));
        object.put_integer("end_ns", Some(pair.end));
        object.put("events", pair.names.to_vec());
        object.put("key", pair.key.iter().map(value).collect::<Vec<_>>());
        object.json()
    };
    object.put("slowest", slowest.iter().map(slow).collect::<Vec<_>>());
    object.json()
}

/// Returns a component of a key, or null if it is missing.
fn value(value: &GroupValue) -> Json {
    match value {
        GroupValue::None => Json::Null,
        GroupValue::Integer(number, None) => integer(*number),
        GroupValue::Integer(number, Some(name)) => {
            let mut object = JsonObject::default();
            object.put("name", name.as_str());
            object.put_integer("value", Some(*number));
            object.json()
        }
        GroupValue::Real(value) => real(*value),
        GroupValue::Boolean(value) => Json::Bool(*value),
        value => Json::String(super::rows::value_text(value, "")),
    }
}

fn number(number: Number) -> Json {
    match number {
        Number::Integer(value) => integer(value),
        number => real(number.to_f64()),
    }
}

/// Returns a floating-point number, or a text if JSON cannot represent it.
fn real(value: f64) -> Json {
    serde_json::Number::from_f64(value).map_or_else(|| Json::String(value.to_string()), Json::Number)
}
