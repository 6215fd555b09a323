//! DuckDB, Polars and pyarrow find in datasets what JSON Lines have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichnos_table::ParquetWriter;
use serde_json::{Value, json};

use crate::dataset::{Row, convert};
use crate::examples::{EXAMPLES, NOT_IN_LINES, events, example};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/table/engines.py");

/// Python with the packages of an engine: that which `ICHNOS_PYTHON` names, or `python3`.
fn python(engine: &str) -> Option<PathBuf> {
    let python = std::env::var_os("ICHNOS_PYTHON").unwrap_or_else(|| "python3".into());
    let imported = Command::new(&python).args(["-c", &format!("import {engine}")]).output();
    if imported.is_ok_and(|output| output.status.success()) {
        return Some(python.into());
    }
    eprintln!("skipped: Python has no package {engine} (ICHNOS_PYTHON names a Python that has it)");
    None
}

/// Returns what an engine finds in a dataset: by event and column, the count, sum, minimum and maximum.
fn ask(python: &Path, engine: &str, dataset: &Path) -> BTreeMap<String, BTreeMap<String, Value>> {
    let output = Command::new(python).arg(SCRIPT).arg(engine).arg(dataset).output().unwrap();
    assert!(output.status.success(), "{engine}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the count, sum, minimum and maximum of the integers or texts of a field; of texts, the sum of their lengths.
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

#[test]
fn engines_find_what_json_lines_have() {
    let engines = ["duckdb", "polars", "pyarrow"];
    let engines: Vec<_> = engines.into_iter().filter_map(|name| Some((name, python(name)?))).collect();
    for name in EXAMPLES.iter().filter(|_| !engines.is_empty()) {
        let directory = tempfile::tempdir().unwrap();
        let (lines, dataset) = (directory.path().join("lines.jsonl"), directory.path().join("dataset"));
        let (_, writer) = ichnos::convert::writer(Some("jsonl"), Path::new(""), None).unwrap();
        convert(&example(name), writer, &lines);
        convert(&example(name), &ParquetWriter, &dataset);
        let expected = events(&std::fs::read_to_string(&lines).unwrap());
        let mut compared = 0;
        for (engine, python) in &engines {
            let found = ask(python, engine, &dataset);
            assert_eq!(found.len(), expected.len(), "{name}: {engine}");
            for (event, columns) in &found {
                let rows = &expected[event];
                for (column, found) in columns {
                    if column == "stream" || NOT_IN_LINES.contains(&column.as_str()) {
                        continue;
                    }
                    let Some(expected) = aggregate(rows, column) else { continue };
                    assert_eq!(*found, expected, "{name}: {engine}: {event}: {column}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 0, "{name}");
    }
}
