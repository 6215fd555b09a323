//! Statistics, as a table.

use std::sync::Arc;

use ichnos::analysis::{
    Distribution, GroupBy, GroupValue, KEY_NAMES, Number, PairOptions, StatsOptions, StatsRow,
};
use ichnos::query::TraceQuery;
use ichnos::query::suggestions::did_you_mean;
use ichnos::table::arrow_schema::DataType;
use ichnos::table::{PROPERTIES, RecordRows, RowCell, TableOptions};
use ichnos::tables::{EventColumn, FoundClasses};
use ichnos::{Pass, PassOptions, StatsOutput, StatsResult};
use pyo3::prelude::*;

use crate::batches::Batches;
use crate::failure::{CallFailure, detached};
use crate::interrupts::Interrupts;
use crate::stoppable::stoppable;
use crate::table::PythonTable;
use crate::text::shown;

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
/// Numbers have the type of their values.
const NUMBERS: [(&str, Option<DataType>); 8] = [
    ("count", Some(DataType::UInt64)),
    ("min", None),
    ("mean", Some(DataType::Float64)),
    ("p50", None),
    ("p90", None),
    ("p99", None),
    ("max", None),
    ("total", None),
];

/// Most integers with a type: `Decimal128(38, 0)`.
const END_OF_DECIMALS: u128 = 10u128.pow(38);

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
    if let Some(name) = by.iter().find(|name| by.iter().filter(|other| other == name).count() > 1) {
        return Err(CallFailure::new(format!("by: `{}` is there twice", shown(name))));
    }
    let is_of = of.is_some();
    let groups: Vec<GroupBy> = by.iter().map(|name| group(name, spans)).collect();
    let mut options = StatsOptions::default();
    options.by = groups.clone();
    options.histogram.clone_from(&of);
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
    // All classes are known now.
    query.review()?;
    check_fields(py, query, &result, (by, of.as_deref()))?;
    let lines = lines(&result, by.is_empty(), is_of);
    let mut kinds: Vec<(&str, Option<DataType>)> = if is_of || spans {
        NUMBERS.to_vec()
    } else {
        TOTALS.into_iter().map(|(name, of)| (name, Some(of))).collect()
    };
    kinds.extend(spans.then_some(("own", None)));
    Ok(PythonTable::new("stats", batches(by, &kinds, lines)?))
}

/// Checks that an event has each field that an argument names.
fn check_fields(
    py: Python<'_>,
    query: &TraceQuery,
    result: &StatsResult,
    (by, of): (&[String], Option<&str>),
) -> Result<(), CallFailure> {
    if result.stats.all().totals.events == 0 {
        return Ok(());
    }
    let by = by.iter().map(|name| ("by", name.as_str()));
    let fields = by.filter(|(_, name)| matches!(group(name, false), GroupBy::Field(_)));
    let unknown: Vec<(&str, &str)> = fields
        .chain(of.map(|name| ("of", name)))
        .filter(|(_, name)| !result.stats.knows_field(name))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    // Classes without events can have it. Properties and names of enumeration values are columns, but no fields.
    let (classes, options) = (FoundClasses::default(), TableOptions::default());
    let columns = detached(py, || {
        Interrupts::default().during(|goes_on| classes.columns(query, query, &options, goes_on))
    })?;
    let is_field = |name: &&str| !PROPERTIES.contains(name) && !name.ends_with(".label");
    let names = || columns.iter().map(EventColumn::name).filter(is_field);
    let ends = |long: &str, end: &str| long.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'));
    let is_same = |name: &str, known: &str| name == known || ends(name, known) || ends(known, name);
    match unknown.into_iter().find(|(_, name)| !names().any(|known| is_same(name, known))) {
        None => Ok(()),
        Some((option, name)) => {
            let failure = CallFailure::new(format!("{option}: no event has a field `{}`", shown(name)));
            let keys = if option == "by" { &KEY_NAMES[..] } else { &[] };
            // A name can be a key of other traces.
            let keys: Vec<&str> = keys.iter().copied().filter(|key| *key != name).collect();
            let others = || match &keys[..] {
                [] => "`Trace.schema` has all fields".to_owned(),
                keys => format!("by takes {} or a field; `Trace.schema` has all fields", keys.join(", ")),
            };
            let similar = did_you_mean(name, names().chain(keys.iter().copied()));
            Err(failure.help(similar.unwrap_or_else(others)))
        }
    }
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
        cells.push(own.into());
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
    let cell = |number: Option<Number>| match number {
        Some(Number::Integer(value)) => value.into(),
        number => number.map(Number::to_f64).into(),
    };
    let quantiles = numbers.quantiles(&QUANTILES);
    let mut cells = vec![
        numbers.count().into(),
        cell(range.map(|range| range.0)),
        numbers.mean().map_or(RowCell::Null, RowCell::Real),
    ];
    cells.extend((0..QUANTILES.len()).map(|index| cell(quantiles.get(index).copied())));
    cells.push(cell(range.map(|range| range.1)));
    cells.push(cell(numbers.total()));
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

/// Returns the type for numbers of a column: integers, unless there are fractions.
fn number_type(lines: &[StatsLine], index: usize) -> DataType {
    let numbers = || lines.iter().filter_map(move |line| line.cells.get(index));
    let mut range: Option<(i128, i128)> = None;
    for cell in numbers() {
        match cell {
            RowCell::Integer(value) => {
                let (least, most) = range.unwrap_or((*value, *value));
                range = Some((least.min(*value), most.max(*value)));
            }
            RowCell::Null => {}
            _ => return DataType::Float64,
        }
    }
    match range {
        None => DataType::Float64,
        Some((least, most)) if i64::try_from(least).is_ok() && i64::try_from(most).is_ok() => DataType::Int64,
        Some((least, most)) if u64::try_from(least).is_ok() && u64::try_from(most).is_ok() => {
            DataType::UInt64
        }
        Some((least, most)) if least.unsigned_abs().max(most.unsigned_abs()) < END_OF_DECIMALS => {
            DataType::Decimal128(38, 0)
        }
        Some(_) => DataType::Float64,
    }
}

/// Returns names for the keys. No statistic has the name.
fn key_names(by: &[String], kinds: &[(&str, Option<DataType>)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(by.len());
    for name in by {
        let mut own = name.clone();
        while kinds.iter().any(|(kind, _)| *kind == own) || own != *name && by.contains(&own) {
            own.insert_str(0, "by.");
        }
        names.push(own);
    }
    names
}

fn batches(
    by: &[String],
    kinds: &[(&str, Option<DataType>)],
    lines: Vec<StatsLine>,
) -> Result<Batches, CallFailure> {
    let names = key_names(by, kinds);
    let keys = names.iter().enumerate().map(|(index, name)| (name.as_str(), key_type(&lines, index)));
    let keys: Vec<(&str, DataType)> = keys.collect();
    let numbers = kinds.iter().enumerate();
    let numbers =
        numbers.map(|(index, (name, of))| (*name, of.clone().unwrap_or_else(|| number_type(&lines, index))));
    let columns: Vec<(&str, DataType)> = keys.iter().cloned().chain(numbers).collect();
    let mut rows = RecordRows::new(&columns, |_| true);
    for line in lines {
        let key = line.key.iter().zip(&keys).map(|(value, (_, of))| match (value, of) {
            (GroupValue::None, _) => RowCell::Null,
            (GroupValue::Integer(value, _), DataType::Int64) => RowCell::Integer(*value),
            (value, _) => text(value).into(),
        });
        let of = |index: usize| columns.get(keys.len() + index).map(|(_, of)| of);
        let cells = line.cells.into_iter().enumerate().map(|(index, cell)| match (cell, of(index)) {
            (RowCell::Integer(value), Some(DataType::Float64)) => RowCell::Real(value as f64),
            (cell, _) => cell,
        });
        let row: Vec<RowCell<'_>> = key.chain(cells).collect();
        rows.add(&row)?;
    }
    rows.flush()?;
    let schema = Arc::clone(rows.schema());
    Ok(Batches::known(schema, std::iter::from_fn(|| rows.take()).collect()))
}
