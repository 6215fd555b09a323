//! DuckDB, Polars, pyarrow, ClickHouse (chdb) and Spark find the values of JSON Lines in datasets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichnos_table::ParquetWriter;
use ichnos_testing::find_python;
use serde_json::{Value, json};

use crate::dataset::{ReadFile, Row, convert, read};
use crate::examples::{EXAMPLES, NOT_IN_LINES, events, example};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/table/engines.py");

/// Count, sum, minimum and maximum by event and column.
type Aggregates = BTreeMap<String, BTreeMap<String, Value>>;

/// Queries each dataset with an engine, which starts once.
fn ask(python: &Path, engine: &str, datasets: &[PathBuf]) -> Vec<Aggregates> {
    let output = Command::new(python).arg(SCRIPT).arg(engine).args(datasets).output().unwrap();
    assert!(output.status.success(), "{engine}: {}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Aggregates> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found.len(), datasets.len(), "{engine}");
    found
}

/// Clocks of date fields: the year of their origin, and their units per second.
const DATE_CLOCKS: [(i64, i128); 5] =
    [(1601, 10_000_000), (1, 10_000_000), (1970, 1), (1970, 1_000), (1970, 1_000_000_000)];

/// Returns the days from 1970-01-01 to a Gregorian date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // In years that start in March, leap days come last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 719_469
}

/// Converts a date in JSON Lines, such as `2026-11-27T09:00:00.123456789Z`, to a number on one of the clocks.
fn date_number(text: &str, (epoch, frequency): (i64, i128)) -> Option<i128> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let parts: Option<Vec<i64>> = date.split('-').map(|part| part.parse().ok()).collect();
    let [year, month, day] = parts?[..] else { return None };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let parts: Option<Vec<i64>> = clock.split(':').map(|part| part.parse().ok()).collect();
    let [hour, minute, second] = parts?[..] else { return None };
    let seconds = (days(year, month, day) - days(epoch, 1, 1)) * 86_400 + hour * 3_600 + minute * 60 + second;
    let nanoseconds: i128 = format!("{fraction:0<9}").parse().ok()?;
    Some(i128::from(seconds) * frequency + nanoseconds * frequency / 1_000_000_000)
}

#[test]
fn numbers_of_dates() {
    // Python: int((datetime(2019, 8, 16, 12, 8, 20) - datetime(1601, 1, 1)).total_seconds())
    let date = "2019-08-16T12:08:20.948091100Z";
    assert_eq!(date_number(date, DATE_CLOCKS[0]), Some(132_104_309_009_480_911));
    assert_eq!(date_number(date, DATE_CLOCKS[1]), Some(637_015_541_009_480_911));
    assert_eq!(date_number(date, DATE_CLOCKS[2]), Some(1_565_957_300));
    assert_eq!(date_number("1600-02-29T00:00:00.000000000Z", DATE_CLOCKS[2]), Some(-11_670_998_400));
    assert_eq!(date_number("word", DATE_CLOCKS[0]), None);
}

/// Returns rows with the numbers of a column's dates, on a clock.
fn with_numbers(rows: &[Row], column: &str, clock: (i64, i128)) -> Option<Vec<Row>> {
    let number = |value: &Value| match value.as_str() {
        Some(text) => serde_json::from_str(&date_number(text, clock)?.to_string()).ok(),
        None => Some(value.clone()),
    };
    let values = rows.iter().filter_map(|row| row.get(column));
    values.map(|value| Some([(column.to_owned(), number(value)?)].into_iter().collect())).collect()
}

/// Returns `true` if an engine has found the values of a column. Dates may be numbers.
fn is_found(rows: &[Row], column: &str, found: &Value) -> Option<bool> {
    let plain = aggregate(rows, column);
    let is_number = found.get(2).is_some_and(Value::is_number);
    if !is_number || plain.as_ref().is_some_and(|plain| plain[2].is_number()) {
        return Some(*found == plain?);
    }
    let numbers = DATE_CLOCKS.into_iter().filter_map(|clock| with_numbers(rows, column, clock));
    let mut numbers = numbers.filter_map(|rows| aggregate(&rows, column)).peekable();
    numbers.peek()?;
    Some(numbers.any(|numbers| *found == numbers))
}

/// Returns the count, sum, minimum and maximum of a field's integers or texts. The sum of texts adds their lengths.
fn aggregate(rows: &[Row], column: &str) -> Option<Value> {
    let values: Vec<&Value> = rows.iter().filter_map(|row| row.get(column)).collect();
    if values.iter().all(|value| value.is_string()) {
        let texts: Vec<&str> = values.iter().filter_map(|value| value.as_str()).collect();
        let sum: usize = texts.iter().map(|text| text.chars().count()).sum();
        return Some(json!([texts.len(), sum, texts.iter().min(), texts.iter().max()]));
    }
    let integer = |value: &&Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let integers: Option<Vec<i128>> = values.iter().map(integer).collect();
    let integers = integers?;
    let number = |value: i128| serde_json::from_str::<Value>(&value.to_string()).unwrap();
    let least = integers.iter().min().copied().map(number);
    Some(json!([
        integers.len(),
        number(integers.iter().sum()),
        least,
        integers.iter().max().copied().map(number)
    ]))
}

/// Compared engines. Engines that Python lacks are skipped.
const ENGINES: [&str; 5] = ["duckdb", "polars", "pyarrow", "chdb", "pyspark"];

/// Recorded traces, as paths below the directory of recorded traces.
///
/// `ICHNOS_ALL_ENGINES=1` adds others. Engines take minutes for the 36,081 columns of the FXT capture, and about one
/// for the .NET trace.
const RECORDED: [&str; 3] = [
    "ctf/real/lttng-ust/session-rot",
    "ctf/real/ctf2/session-rot",
    "fuchsia/goldens/simple_trace_reconstructed.fxt",
];
const MORE_RECORDED: [&str; 4] = [
    "nettrace/runtime/net10.0-small.nettrace",
    "nettrace/runtime/perl-cpu-v6.nettrace",
    "xtrace/brown/text/small.txt",
    "fuchsia/magic-trace/trace.fxt",
];

fn engines(test: &str) -> Vec<(&'static str, PathBuf)> {
    ENGINES.into_iter().filter_map(|name| Some((name, find_python(test, name)?))).collect()
}

/// Compares the results of engines on datasets with JSON Lines. Prints the number of compared columns.
fn compare(traces: &[PathBuf], engines: &[(&str, PathBuf)]) {
    let directory = tempfile::tempdir().unwrap();
    let lines = directory.path().join("lines.jsonl");
    let writer = ichnos::convert::target(Some("jsonl"), Path::new(""), None).unwrap().writer;
    let (mut expected, mut datasets) = (Vec::new(), Vec::new());
    for (number, trace) in traces.iter().enumerate() {
        convert(trace, writer, &lines);
        expected.push(events(&std::fs::read_to_string(&lines).unwrap()));
        std::fs::remove_file(&lines).unwrap();
        let dataset = directory.path().join(number.to_string());
        convert(trace, &ParquetWriter, &dataset);
        datasets.push(dataset);
    }
    for (engine, python) in engines {
        let answers = ask(python, engine, &datasets);
        for ((trace, expected), found) in traces.iter().zip(&expected).zip(answers) {
            let trace = trace.display();
            let compared = compare_events(&format!("{trace}: {engine}"), expected, &found);
            assert!(compared > 0, "{trace}: {engine}");
            eprintln!("{trace}: {engine}: {compared} columns");
        }
    }
}

/// Compares the columns of events. Returns the number of columns.
fn compare_events(what: &str, expected: &BTreeMap<String, Vec<Row>>, found: &Aggregates) -> usize {
    assert_eq!(found.len(), expected.len(), "{what}");
    let mut compared = 0;
    for (event, columns) in found {
        let rows = expected.get(event).unwrap_or_else(|| panic!("{what}: {event:?}"));
        for (column, found) in columns {
            if column == "stream" || NOT_IN_LINES.contains(&column.as_str()) {
                continue;
            }
            let Some(is_found) = is_found(rows, column, found) else { continue };
            assert!(is_found, "{what}: {event}: {column}: {found} {:?}", aggregate(rows, column));
            compared += 1;
        }
    }
    compared
}

/// A directory read as one table has all events and columns, as one Parquet file would.
#[test]
fn pyarrow_reads_a_whole_directory() {
    let Some(python) = find_python("pyarrow_reads_a_whole_directory", "pyarrow") else { return };
    let recorded = ["ctf/real/tracecompass/bug446190", "nettrace/runtime/net10.0-small.nettrace"];
    let traces = EXAMPLES.map(example).into_iter();
    let traces: Vec<PathBuf> = traces.chain(recorded.iter().filter_map(ichnos_testing::recorded)).collect();
    let directory = tempfile::tempdir().unwrap();
    let datasets: Vec<PathBuf> =
        (0..traces.len()).map(|number| directory.path().join(format!("{number}.parquet"))).collect();
    for (trace, dataset) in traces.iter().zip(&datasets) {
        convert(trace, &ParquetWriter, dataset);
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/table/whole.py");
    let output = Command::new(python).arg(script).args(&datasets).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers = String::from_utf8(output.stdout).unwrap();
    for ((trace, dataset), answer) in traces.iter().zip(&datasets).zip(answers.lines()) {
        let (rows, values): (BTreeMap<String, u64>, BTreeMap<String, u64>) =
            serde_json::from_str(answer).unwrap();
        let (mut wanted_rows, mut wanted) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
        let files = match dataset.is_dir() {
            true => read(dataset).into_iter().filter(ReadFile::is_event).collect(),
            false => vec![ReadFile::open(directory.path(), dataset)],
        };
        for row in files.iter().flat_map(ReadFile::rows) {
            *wanted_rows.entry(row["event"].as_str().unwrap().to_owned()).or_default() += 1;
            row.into_keys().for_each(|column| *wanted.entry(column).or_default() += 1);
        }
        assert_eq!(rows, wanted_rows, "{}", trace.display());
        assert_eq!(values, wanted, "{}", trace.display());
    }
    assert_eq!(answers.lines().count(), traces.len());
}

#[test]
fn engines_find_what_json_lines_have() {
    let engines = engines("engines_find_what_json_lines_have");
    if !engines.is_empty() {
        compare(&EXAMPLES.map(example), &engines);
    }
}

#[test]
fn engines_find_what_json_lines_have_of_recorded_traces() {
    let (engines, Some(root)) =
        (engines("engines_find_what_json_lines_have_of_recorded_traces"), ichnos_testing::recorded(""))
    else {
        return;
    };
    let more = MORE_RECORDED.iter().filter(|_| std::env::var_os("ICHNOS_ALL_ENGINES").is_some());
    let traces: Vec<PathBuf> = RECORDED.iter().chain(more).map(|name| root.join(name)).collect();
    if !engines.is_empty() {
        compare(&traces, &engines);
    }
}
