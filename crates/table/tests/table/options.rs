//! Table options: columns, types and datasets with several runs.

use std::path::{Path, PathBuf};

use ichnos::convert::{ConvertError, ConvertOptions};
use ichnos::io::{ExistingOutput, WriteReport, WriterFactory};
use ichnos::model::Scope;
use ichnos::model::class::{EventRecordClass, FieldClass, Member};
use ichnos::model::clock::{ClockClass, ClockOrigin};
use ichnos::model::field::FieldValue;
use ichnos::model::lower::LossKind;
use ichnos::model::running_thread::RunningParts;
use ichnos::prelude::*;
use ichnos_table::{ArrowIpcWriter, ParquetWriter};
use serde_json::{Value, json};

use crate::dataset::{Row, read};
use crate::examples::example;
use crate::hostile::{events, losses, made, nanoseconds, try_write};

/// Sets options of a format.
fn with(options: &mut ConvertOptions<'_>, format: &'static str, set: &[(&str, &str)]) {
    let writers = [("parquet", &ParquetWriter as &dyn WriterFactory), ("arrow", &ArrowIpcWriter)];
    let (_, writer) = writers.into_iter().find(|(name, _)| *name == format).unwrap();
    for (name, value) in set {
        options.write.formats.set(format, writer.options(), name, value.as_ref()).unwrap();
    }
}

fn write(
    input: &str,
    output: &Path,
    set: &[(&str, &str)],
    existing: ExistingOutput,
) -> Result<WriteReport, ConvertError> {
    let session = ichnos::open([example(input)], &OpenOptions::default()).unwrap();
    let reader = session.reader().unwrap();
    let mut options = ConvertOptions::default();
    options.write.existing = existing;
    with(&mut options, "parquet", set);
    reader.convert(&ParquetWriter, Some(output.to_owned()), &options)
}

/// Writes events with a field `time` and a 64-bit field. Returns the rows and the dropped items.
fn times(clock: ClockClass, set: &[(&str, &str)]) -> (Vec<Row>, Vec<(String, u64)>) {
    let members =
        [Member::new("time", FieldClass::unsigned(8)), Member::new("max", FieldClass::unsigned(64))];
    let trace = made(clock, [EventRecordClass::new("e", members)], |number, record| {
        record.set_cycles(number * 1_500);
        record.values.begin(Scope::Payload);
        record.values.push(FieldValue::Unsigned(7));
        record.values.push(FieldValue::Unsigned(u64::MAX - number));
        number < 2
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("d");
    let mut options = ConvertOptions::default();
    with(&mut options, "parquet", set);
    let report = try_write(&trace, &path, &options.write).unwrap();
    (events(&read(&path)), losses(&report, LossKind::Dropped))
}

fn column(rows: &[Row], name: &str) -> Vec<Value> {
    rows.iter().map(|row| row.get(name).cloned().unwrap_or_default()).collect()
}

#[test]
fn timestamps_have_a_column_of_their_own() {
    let clock = ClockClass { offset_seconds: -1, ..nanoseconds() };
    for (unit, expected) in
        [("micros", json!([-1_000_000, -999_999])), ("nanos", json!([-1_000_000_000, -999_998_500]))]
    {
        let (rows, lost) = times(clock.clone(), &[("timestamps", unit)]);
        assert_eq!(json!(column(&rows, "time")), expected);
        assert_eq!(json!(column(&rows, "ts")), json!([-1_000_000_000, -999_998_500]));
        // Then the field has another name.
        assert_eq!((column(&rows, "payload.time"), lost), (vec![json!(7); 2], vec![]));
    }
    let (rows, _) = times(clock.clone(), &[]);
    assert_eq!(column(&rows, "time"), vec![json!(7); 2]);
    // Dates need a clock that counts from 1970.
    let unknown = ClockClass { origin: ClockOrigin::Unknown, ..clock };
    let (rows, lost) = times(unknown, &[("timestamps", "micros")]);
    assert_eq!(column(&rows, "time"), vec![Value::Null; 2]);
    assert_eq!(lost, [("time: no date column: the clock does not count from 1970-01-01".to_owned(), 1)]);
}

#[test]
fn unsigned_integers_as_decimals() {
    let (rows, _) = times(nanoseconds(), &[("u64-type", "decimal")]);
    assert_eq!(column(&rows, "max"), [json!(u64::MAX.to_string()), json!((u64::MAX - 1).to_string())]);
    let (rows, _) = times(nanoseconds(), &[("u64-type", "uint64")]);
    assert_eq!(column(&rows, "max"), [json!(u64::MAX), json!(u64::MAX - 1)]);
}

#[test]
fn wanted_columns() {
    let directory = tempfile::tempdir().unwrap();
    let write = |output: &str, fields: &str| {
        let path = directory.path().join(output);
        write("hello-lttng/trace", &path, &[("fields", fields)], ExistingOutput::Refuse).map(|_| path)
    };
    let rows = events(&read(&write("a", "ts, event,cpu").unwrap()));
    assert!(rows.iter().all(|row| row.keys().eq(["cpu", "event", "ts"])), "{:?}", rows.first());
    // Classes without such a column have no file.
    let all = events(&read(&write("b", "event").unwrap()));
    let greetings = events(&read(&write("c", "samples").unwrap()));
    assert!(!greetings.is_empty() && greetings.len() < all.len());
    assert_eq!(all.len(), rows.len());
    let error = write("d", "ts,sample,cpus").unwrap_err().to_string();
    assert!(error.contains("no event has a column `cpus`; no event has a column `sample`"), "{error}");
    assert!(!directory.path().join("d").exists());
}

#[test]
fn wanted_columns_of_a_stream() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.arrows");
    let session = ichnos::open([example("hello-lttng/trace")], &OpenOptions::default()).unwrap();
    let reader = session.reader().unwrap();
    let mut options = ConvertOptions::default();
    with(&mut options, "arrow", &[("fields", "ts,event")]);
    // Events of several classes share these columns.
    reader.convert(&ArrowIpcWriter, Some(path.clone()), &options).unwrap();
    let batches =
        arrow_ipc::reader::StreamReader::try_new(std::fs::File::open(&path).unwrap(), None).unwrap();
    let names: Vec<String> = batches.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["ts", "event"]);
    assert!(ArrowIpcWriter.options().iter().all(|option| option.name != "append"));
}

/// Returns the names in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let name = |item: std::io::Result<std::fs::DirEntry>| item.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(directory).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn datasets_of_several_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("d");
    let append = |input: &str, name: &str, existing: ExistingOutput| {
        write(input, &path, &[("append", name)], existing)
    };
    append("hello-lttng/trace", "first", ExistingOutput::Refuse).unwrap();
    let report = append("hello-fxt/frames.fxt", "second.1", ExistingOutput::Refuse).unwrap();
    assert_eq!(report.paths, [path.join("trace=second.1")]);
    assert_eq!(names(&path), ["trace=first", "trace=second.1"]);
    let rows = |name: &str| events(&read(&path.join(format!("trace={name}")))).len();
    let (first, second) = (rows("first"), rows("second.1"));
    assert!(first > 0 && second > 0 && first != second);
    // A run replaces only itself.
    let error = append("hello-fxt/frames.fxt", "first", ExistingOutput::Refuse).unwrap_err().to_string();
    assert!(error.contains("trace=first: the directory exists and is not empty"), "{error}");
    append("hello-fxt/frames.fxt", "first", ExistingOutput::Replace).unwrap();
    assert_eq!((rows("first"), rows("second.1")), (second, second));
    for name in ["", "a/b", "..\u{e9}", &"x".repeat(201)] {
        let error = append("hello-fxt/frames.fxt", name, ExistingOutput::Refuse).unwrap_err().to_string();
        assert!(error.contains("expected a name of up to 200"), "{error}");
    }
    assert_eq!(names(&path), ["trace=first", "trace=second.1"]);
    // The whole directory is a dataset.
    assert_eq!(ParquetWriter.written_files(&path).unwrap().len(), 2 * files(&path.join("trace=first")).len());
    write("hello-fxt/frames.fxt", &path, &[], ExistingOutput::Replace).unwrap();
    assert!(names(&path).iter().all(|name| !name.starts_with("trace=")));
    // Queries over several runs need equal directories in all runs.
    let error = append("hello-fxt/frames.fxt", "first", ExistingOutput::Refuse).unwrap_err().to_string();
    assert!(error.contains("only to a dataset of directories `trace=NAME`"), "{error}");
}

#[test]
fn a_failed_run_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let set = [("append", "a"), ("fields", "none")];
    write("hello-fxt/frames.fxt", &directory.path().join("d"), &set, ExistingOutput::Refuse).unwrap_err();
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn files_do_not_depend_on_the_number_of_threads() {
    let class = |i: u64| EventRecordClass::new(format!("e{i}"), [Member::new("i", FieldClass::unsigned(64))]);
    let trace = made(nanoseconds(), (0..5).map(class), |number, record| {
        // Times go back once.
        record.set_cycles(if number < 15_000 { number + 100 } else { number - 15_000 });
        record.set_class(usize::try_from(number * number % 5).unwrap());
        record.values.begin(Scope::Payload);
        record.values.push(FieldValue::Unsigned(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        number < 30_000
    });
    let directory = tempfile::tempdir().unwrap();
    let written = [1, 3].map(|threads| {
        let path = directory.path().join(threads.to_string());
        let mut options = ConvertOptions::default().write;
        options.threads = threads;
        let report = try_write(&trace, &path, &options).unwrap();
        let mut files = files(&path);
        files.sort();
        let bytes: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(path.join(file)).unwrap()).collect();
        assert_eq!(report.bytes, bytes.iter().map(|bytes| bytes.len() as u64).sum::<u64>());
        (files, bytes)
    });
    assert!(written[0] == written[1]);
}

fn files(directory: &Path) -> Vec<PathBuf> {
    ParquetWriter.written_files(directory).unwrap()
}

/// In kernel traces, the names of LTTng's contexts mean the running thread, as in expressions, and `payload.tid` means
/// the event's field.
#[test]
fn names_of_contexts_mean_the_running_thread() {
    let Some(trace) = ichnos_testing::recorded("ctf/real/tracecompass/bug446190") else { return };
    let mut options = OpenOptions::default();
    options.running = RunningParts::ThreadAndProcess;
    let session = ichnos::open([trace], &options).unwrap();
    const NAMES: [&str; 5] = ["ts", "tid", "pid", "comm", "payload.tid"];
    let mut wanted: Vec<String> = Vec::new();
    let mut all = session.events().unwrap();
    while let Some(event) = all.next_event() {
        let number = |name: &str| event.field(name).and_then(|value| value.as_u64());
        let comm = event.field("comm").and_then(|value| value.as_str().map(str::to_owned));
        let [tid, pid, own] = ["tid", "pid", "payload.tid"].map(number);
        wanted.push(json!([event.nanoseconds().unwrap() as i64, tid, pid, comm, own]).to_string());
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("d");
    let mut options = ConvertOptions::default();
    with(&mut options, "parquet", &[("fields", &NAMES.join(","))]);
    session.reader().unwrap().convert(&ParquetWriter, Some(path.clone()), &options).unwrap();
    let rows = events(&read(&path));
    let mut found: Vec<String> =
        rows.iter().map(|row| json!(NAMES.map(|name| row.get(name))).to_string()).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    assert!(
        wanted.len() > 10_000 && wanted.iter().any(|row| row.contains(",0,0,\"swapper/")),
        "{}",
        wanted[0]
    );
    assert!(found == wanted, "{} of {} rows, first {} of {}", found.len(), wanted.len(), found[0], wanted[0]);
}
