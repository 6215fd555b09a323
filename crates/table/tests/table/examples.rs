//! Datasets made from the examples have the events and values of JSON Lines.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use ichnos_table::{EVENT_KEY, PROPERTIES, ParquetWriter};
use parquet::basic::{Compression, Encoding};
use parquet::schema::types::ColumnPath;
use serde_json::{Map, Value, json};

use crate::dataset::{ReadFile, Row, convert, read, real, side};

pub(crate) const EXAMPLES: [&str; 7] = [
    "hello-ctf2/trace",
    "hello-dotnet/hello.nettrace.zst",
    "hello-fuchsia/boot.log",
    "hello-fxt/frames.fxt",
    "hello-jsonl/requests.jsonl",
    "hello-lttng/trace",
    "hello-xtrace/proxy.reports",
];

pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Columns that lines lack in this form.
pub(crate) const NOT_IN_LINES: [&str; 10] = [
    "packet",
    "seq",
    "stack",
    "process",
    "thread",
    "cpu",
    "severity",
    "operation",
    "unnamed",
    "payload.unnamed",
];

/// Scopes of an event in JSON Lines, and the prefix of their column names.
const SCOPES: [(&str, &str); 5] = [
    ("header", "header."),
    ("common_context", "ctx."),
    ("specific_context", "ctx."),
    ("payload", ""),
    ("resource", "resource."),
];

/// Returns the events in JSON Lines by name, each with the name of its stream.
pub(crate) fn events(lines: &str) -> BTreeMap<String, Vec<Row>> {
    let (mut events, mut streams): (BTreeMap<_, Vec<_>>, _) = (BTreeMap::new(), HashMap::new());
    let mut stacks: Vec<(u64, String, String, String)> = Vec::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let stream = line["stream"].as_u64();
        match line["type"].as_str().unwrap() {
            "stream-begin" => drop(streams.insert(stream, line["name"].clone())),
            "event-class" => {
                for (scope, members) in line["meanings"].as_object().into_iter().flatten() {
                    let members =
                        members.as_object().unwrap().iter().filter(|(_, meaning)| *meaning == "stack");
                    let name = line["name"].as_str().unwrap_or_default();
                    let (stream, scope) = (stream.unwrap(), scope.clone());
                    stacks.extend(members.map(|(m, _)| (stream, name.to_owned(), scope.clone(), m.clone())));
                }
            }
            "event" => {
                let name = line["name"].as_str().unwrap_or_default().to_owned();
                let mut row = Row::new();
                for (scope, prefix) in SCOPES {
                    let Some(fields) = line.get(scope) else { continue };
                    let mut fields = fields.clone();
                    for (_, _, _, member) in
                        stacks.iter().filter(|s| Some(s.0) == stream && s.1 == name && s.2 == scope)
                    {
                        fields.as_object_mut().unwrap().remove(member);
                    }
                    flatten(&fields, prefix, &mut row);
                }
                row.insert("ts".to_owned(), line["ts"].clone());
                row.insert("event".to_owned(), json!(name));
                row.insert("stream".to_owned(), streams[&stream].clone());
                // The message is added by the sink, and JSON keeps one value for a duplicate name.
                row.retain(|name, value| !value.is_null() && name != "resource.message" && name != "unnamed");
                events.entry(name).or_default().push(row);
            }
            _ => {}
        }
    }
    events
}

fn flatten(value: &Value, path: &str, row: &mut Row) {
    let put = |row: &mut Row, path: &str, value: Value| {
        let path = match path {
            "" => "unnamed".to_owned(),
            path if PROPERTIES.contains(&&*path.to_lowercase()) => format!("payload.{path}"),
            path => path.to_owned(),
        };
        assert!(row.insert(path.clone(), value).is_none(), "{path}");
    };
    match value {
        Value::Object(members) => match special(members) {
            Some(columns) => {
                for (suffix, value) in columns {
                    put(row, &format!("{path}{suffix}"), value);
                }
            }
            None => {
                let begin =
                    if path.is_empty() || path.ends_with('.') { path.to_owned() } else { format!("{path}.") };
                members.iter().for_each(|(name, value)| flatten(value, &format!("{begin}{name}"), row));
            }
        },
        Value::Array(items) => {
            let mut columns: BTreeMap<String, Vec<Value>> = BTreeMap::new();
            for (index, item) in items.iter().enumerate() {
                let mut fields = Row::new();
                flatten(item, path, &mut fields);
                for (name, value) in fields {
                    let column = columns.entry(name).or_default();
                    column.resize(index, Value::Null);
                    column.push(value);
                }
            }
            if columns.is_empty() {
                columns.insert(path.to_owned(), Vec::new());
            }
            for (name, mut values) in columns {
                values.resize(items.len(), Value::Null);
                put(row, &name, json!(values));
            }
        }
        Value::Number(number) if !number.is_i64() && !number.is_u64() => {
            put(row, path, real(&number.to_string()));
        }
        value => put(row, path, value.clone()),
    }
}

/// Returns the columns for a value that JSON Lines write as an object.
fn special(members: &Map<String, Value>) -> Option<Vec<(&'static str, Value)>> {
    let (first, value) = members.iter().next()?;
    Some(match (first.as_str(), members.len()) {
        ("value", 2) => vec![("", value.clone()), (".label", members["labels"][0].clone())],
        ("bits", 1) => vec![("", value.clone())],
        ("bits", 2) => vec![("", value.clone()), (".flags", members["flags"].clone())],
        ("$blob", _) => vec![("", value.clone())],
        _ => return None,
    })
}

/// Returns event rows with data stream names instead of numbers, and without columns that lines lack.
fn comparable(file: &ReadFile, streams: &[Row]) -> Vec<Row> {
    let mut rows = file.rows();
    for row in &mut rows {
        let number = usize::try_from(row["stream"].as_i64().unwrap()).unwrap();
        row.insert("stream".to_owned(), streams[number]["name"].clone());
        for column in NOT_IN_LINES {
            row.remove(column);
        }
    }
    rows
}

#[test]
fn metadata_of_files_declare_order_and_encoding() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dataset");
    convert(&example("hello-lttng/trace"), &ParquetWriter, &path);
    let files = read(&path);
    let mut names: Vec<&str> = files.iter().map(|file| file.path.split('/').next().unwrap()).collect();
    names.dedup();
    assert!(
        ["_classes", "_clocks", "_damage", "_losses", "_streams"].iter().all(|table| names.contains(table))
    );
    for file in files.iter().filter(|file| file.is_event()) {
        assert!(file.path.starts_with("event=hello%3A"), "{}", file.path);
        assert!(file.key(EVENT_KEY).starts_with("hello:"));
        assert!(file.metadata.column_index().is_some() && file.metadata.offset_index().is_some());
        for group in file.metadata.row_groups() {
            let sorting = group.sorting_columns().unwrap();
            assert_eq!((sorting.len(), sorting[0].column_idx, sorting[0].descending), (1, 0, false));
            let time = group.column(0);
            assert_eq!(*time.column_path(), ColumnPath::from("ts"));
            assert!(time.encodings().any(|encoding| encoding == Encoding::DELTA_BINARY_PACKED));
            assert!(
                group.columns().iter().all(|column| matches!(column.compression(), Compression::ZSTD(_)))
            );
        }
        let times: Vec<i64> = file.rows().iter().map(|row| row["ts"].as_i64().unwrap()).collect();
        assert!(times.is_sorted());
    }
    let classes = side(&files, "_classes/");
    let sum: i64 = classes.iter().map(|class| class["rows"].as_i64().unwrap()).sum();
    let events: usize = files.iter().filter(|file| file.is_event()).map(|file| file.rows().len()).sum();
    assert_eq!(sum, i64::try_from(events).unwrap());
}

#[test]
fn stacks_are_tables() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dataset");
    convert(&example("hello-dotnet/hello.nettrace.zst"), &ParquetWriter, &path);
    let files = read(&path);
    let (stacks, frames) = (side(&files, "_stacks/"), side(&files, "_frames/"));
    let stacks: HashMap<String, &Row> = stacks.iter().map(|row| (row["stack"].to_string(), row)).collect();
    let frames: HashMap<String, &Row> = frames.iter().map(|row| (row["frame"].to_string(), row)).collect();
    let (mut events, mut named) = (0, 0);
    for row in files.iter().filter(|file| file.is_event()).flat_map(ReadFile::rows) {
        let mut next = row.get("stack").cloned();
        events += usize::from(next.is_some());
        while let Some(stack) = next {
            let row = stacks[&stack.to_string()];
            named += usize::from(frames[&row["frame"].to_string()].contains_key("symbol"));
            next = row.get("caller").cloned();
        }
    }
    assert!(events > 0 && named > 0, "{events} {named}");
}

#[test]
fn examples_have_the_values_of_json_lines() {
    for name in EXAMPLES {
        let directory = tempfile::tempdir().unwrap();
        let (lines, dataset) = (directory.path().join("lines.jsonl"), directory.path().join("dataset"));
        let writer = ichnos::convert::target(Some("jsonl"), Path::new(""), None).unwrap().writer;
        let expected = convert(&example(name), writer, &lines);
        let written = convert(&example(name), &ParquetWriter, &dataset);
        assert_eq!((written.events, written.undecoded), (expected.events, 0), "{name}");
        let expected = events(&std::fs::read_to_string(&lines).unwrap());
        let files = read(&dataset);
        let streams = side(&files, "_streams/");
        let mut found: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        for file in files.iter().filter(|file| file.is_event()) {
            found.entry(file.key(EVENT_KEY)).or_default().extend(comparable(file, &streams));
        }
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{name}");
        for (event, mut expected) in expected {
            let mut found = found.remove(&event).unwrap();
            // In lines, an empty list of structures lacks member names.
            for row in found.iter_mut().chain(&mut expected) {
                row.retain(|_, value| *value != json!([]));
            }
            let sort = |rows: &mut Vec<Row>| rows.sort_by_cached_key(|row| json!(row).to_string());
            sort(&mut expected);
            sort(&mut found);
            assert_eq!(found.len(), expected.len(), "{name}: {event}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{name}: {event}");
            }
        }
    }
}
