//! Statistics, as a table.

use std::sync::Arc;

use ichnos::analysis::{Distribution, GroupBy, GroupValue, Number, PairOptions, StatsOptions, StatsRow};
use ichnos::query::TraceQuery;
use ichnos::table::arrow_schema::DataType;
use ichnos::table::{RecordRows, RowCell};
use ichnos::{Pass, PassOptions, StatsOutput, StatsResult};
use pyo3::prelude::*;

use crate::batches::Batches;
use crate::failure::CallFailure;
use crate::stoppable::stoppable;
use crate::table::PythonTable;

/// Size of a part of the timeline, in bytes, as in the command. Approximate results depend on it.
const CHUNK: u64 = 8 << 20;

/// Shown quantiles in thousandths.
const QUANTILES: [u64; 3] = [500, 900, 990];

/// Columns after the keys.
const TOTALS: [(&str, DataType); 8] = [
    ("events", DataType::UInt64),
    ("bytes", DataType::UInt64),
    ("begin_ts", DataType::Int64),
    ("end_ts", DataType::Int64),
    ("largest_gap", DataType::Int64),
    ("largest_gap_ts", DataType::Int64),
    ("discarded_events", DataType::UInt64),
    ("discarded_packets", DataType::UInt64),
];
const NUMBERS: [(&str, DataType); 8] = [
    ("count", DataType::UInt64),
    ("min", DataType::Float64),
    ("mean", DataType::Float64),
    ("p50", DataType::Float64),
    ("p90", DataType::Float64),
    ("p99", DataType::Float64),
    ("max", DataType::Float64),
    ("total", DataType::Float64),
];
const OWN: (&str, DataType) = ("own", DataType::Float64);

/// Row before its columns have types.
struct StatsLine {
    key: Vec<GroupValue>,
    cells: Vec<RowCell<'static>>,
    /// Rows with the greatest numbers come first.
    count: u64,
}

/// Reads the events and returns their statistics.
pub(crate) fn table(
    py: Python<'_>,
    query: &Arc<TraceQuery>,
    by: &[String],
    of: Option<String>,
    spans: bool,
) -> Result<PythonTable, CallFailure> {
    if spans && of.is_some() {
        return Err(CallFailure::new("of and spans are two different statistics: give one of them"));
    }
    let is_of = of.is_some();
    let groups: Vec<GroupBy> = by.iter().map(|name| group(name, spans)).collect();
    let mut options = StatsOptions::default();
    options.by = groups.clone();
    options.histogram = of;
    let pairs = spans.then(|| {
        let mut pairs = PairOptions::spans();
        pairs.by = groups;
        pairs
    });
    let result = stoppable(py, |stop| {
        let output = StatsOutput::new(&options, pairs.as_ref());
        let reader = query.selection().reader(query.session(), query.window())?;
        let mut pass = PassOptions::default();
        pass.chunk_bytes = Some(CHUNK);
        pass.always_chunks = true;
        let own = Pass::new(query.selection().clone()).stop(stop);
        reader.pass().with(own).options(pass).write(&output)?;
        Ok(output.into_result())
    })?;
    let lines = lines(&result, by.is_empty(), is_of);
    let mut kinds = if is_of || spans { NUMBERS.to_vec() } else { TOTALS.to_vec() };
    kinds.extend(spans.then_some(OWN));
    Ok(PythonTable::new("stats", batches(by, &kinds, lines)?))
}

/// Returns the property that a name means.
fn group(name: &str, spans: bool) -> GroupBy {
    match name {
        "event" if spans => GroupBy::Span,
        "event" => GroupBy::Event,
        "span" => GroupBy::Span,
        "stream" => GroupBy::Stream,
        "host" => GroupBy::Host,
        field => GroupBy::Field(field.to_owned()),
    }
}

fn lines(result: &StatsResult, is_total: bool, is_of: bool) -> Vec<StatsLine> {
    let of_row = |key: Vec<GroupValue>, row: &StatsRow| {
        let numbers = row.numbers.as_deref().filter(|_| is_of);
        let cells = numbers.map_or_else(|| totals(row), numbers_of);
        StatsLine { key, cells, count: numbers.map_or(row.totals.events, Distribution::count) }
    };
    let of_pairs = |key: Vec<GroupValue>, latencies: &Distribution, own: i128| {
        let mut cells = numbers_of(latencies);
        cells.push(RowCell::Real(own as f64));
        StatsLine { key, cells, count: latencies.count() }
    };
    let mut lines: Vec<StatsLine> = match &result.pairs {
        Some(pairs) if is_total => vec![of_pairs(Vec::new(), pairs.latencies(), pairs.own_time())],
        Some(pairs) => {
            pairs.groups().map(|group| of_pairs(group.key, group.latencies, group.own_time)).collect()
        }
        None if is_total => vec![of_row(Vec::new(), result.stats.all())],
        None => result.stats.groups().map(|group| of_row(group.key, group.row)).collect(),
    };
    if !is_total && (is_of || result.pairs.is_some()) {
        lines.retain(|line| line.count > 0);
    }
    let name = |line: &StatsLine| line.key.iter().map(text).collect::<Vec<_>>();
    lines.sort_by_cached_key(|line| (std::cmp::Reverse(line.count), name(line)));
    lines
}

fn totals(row: &StatsRow) -> Vec<RowCell<'static>> {
    let (times, gap) = (row.totals.times(), row.totals.largest_gap());
    vec![
        row.totals.events.into(),
        row.totals.bytes().into(),
        times.map(|times| times.0).into(),
        times.map(|times| times.1).into(),
        gap.map(|gap| gap.length).into(),
        gap.map(|gap| gap.begin).into(),
        row.loss.events.into(),
        row.loss.packets.into(),
    ]
}

fn numbers_of(numbers: &Distribution) -> Vec<RowCell<'static>> {
    let range = numbers.range();
    let real = |number: Option<Number>| number.map(Number::to_f64).map_or(RowCell::Null, RowCell::Real);
    let quantiles = numbers.quantiles(&QUANTILES);
    let mut cells = vec![
        numbers.count().into(),
        real(range.map(|range| range.0)),
        numbers.mean().map_or(RowCell::Null, RowCell::Real),
    ];
    cells.extend((0..QUANTILES.len()).map(|index| real(quantiles.get(index).copied())));
    cells.push(real(range.map(|range| range.1)));
    cells.push(real(numbers.total()));
    cells
}

/// Returns the text of a key. Empty if it is missing.
fn text(key: &GroupValue) -> String {
    match key {
        GroupValue::Integer(_, Some(name)) => name.clone(),
        GroupValue::Integer(value, None) => value.to_string(),
        GroupValue::Real(value) => value.to_string(),
        GroupValue::Boolean(value) => value.to_string(),
        GroupValue::Text(text) => text.clone(),
        GroupValue::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        GroupValue::Guid(uuid) => uuid.to_string(),
        _ => String::new(),
    }
}

/// Returns the type of a key column: whole numbers, or texts.
fn key_type(lines: &[StatsLine], index: usize) -> DataType {
    let is_integer = |line: &StatsLine| match line.key.get(index) {
        Some(GroupValue::Integer(value, None)) => i64::try_from(*value).is_ok(),
        value => matches!(value, None | Some(GroupValue::None)),
    };
    let has_any = lines.iter().any(|line| matches!(line.key.get(index), Some(GroupValue::Integer(..))));
    if has_any && lines.iter().all(is_integer) { DataType::Int64 } else { DataType::Utf8 }
}

fn batches(by: &[String], kinds: &[(&str, DataType)], lines: Vec<StatsLine>) -> Result<Batches, CallFailure> {
    let keys = by.iter().enumerate().map(|(index, name)| (name.as_str(), key_type(&lines, index)));
    let keys: Vec<(&str, DataType)> = keys.collect();
    let columns: Vec<(&str, DataType)> = keys.iter().chain(kinds).cloned().collect();
    let mut rows = RecordRows::new(&columns, |_| true);
    for line in lines {
        let key = line.key.iter().zip(&keys).map(|(value, (_, of))| match (value, of) {
            (GroupValue::None, _) => RowCell::Null,
            (GroupValue::Integer(value, _), DataType::Int64) => RowCell::Integer(*value),
            (value, _) => text(value).into(),
        });
        let row: Vec<RowCell<'_>> = key.chain(line.cells).collect();
        rows.add(&row)?;
    }
    rows.flush()?;
    let schema = Arc::clone(rows.schema());
    Ok(Batches::known(schema, std::iter::from_fn(|| rows.take()).collect()))
}
