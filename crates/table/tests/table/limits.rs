//! Memory limits, values that do not fit, and files that are not replaced.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use ichnos::io::WriterFactory;
use ichnos::model::Scope;
use ichnos::model::class::{DataStreamClass, EventRecordClass, FieldClass, Member};
use ichnos::model::clock::ClockClass;
use ichnos::model::field::FieldValue;
use ichnos::model::lower::LossKind;
use ichnos::model::meaning::Meaning;
use ichnos::model::source::{Record, RecordTrace};
use ichnos::prelude::*;
use ichnos_table::ParquetWriter;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::json;

use crate::dataset::{Row, convert, side};
use crate::hostile::{array, events, losses, made, made_of, nanoseconds, write};

/// Creates a trace of events `e` with an integer `i`, with these times.
fn with_times(times: &'static [u64]) -> RecordTrace {
    let class = EventRecordClass::new("e", [Member::new("i", FieldClass::unsigned(64))]);
    made(nanoseconds(), [class], move |number, record| {
        let number = usize::try_from(number).unwrap();
        record.set_cycles(times.get(number).copied().unwrap_or_default());
        record.values.begin(Scope::Payload);
        record.values.push(FieldValue::Unsigned(number as u64));
        number < times.len()
    })
}

fn begin(number: u64, record: &mut Record) {
    record.set_cycles(number);
    record.values.begin(Scope::Payload);
}

#[test]
fn only_files_of_ichnos_are_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("d");
    let (files, _) = write(&with_times(&[1, 2]), &root);
    let own = files.iter().find(|file| file.is_event()).unwrap().path.clone();
    let listed = ParquetWriter.written_files(&root).unwrap();
    assert_eq!(listed.len(), files.len());
    // Other programs write such files, even with our keys.
    let file = |path: &str, key: &str| {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([("i", column)]).unwrap();
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        let pairs = vec![KeyValue::new(key.to_owned(), "1".to_owned())];
        let properties = WriterProperties::builder().set_key_value_metadata(Some(pairs)).build();
        let out = File::create(root.join(path)).unwrap();
        let mut writer = ArrowWriter::try_new(out, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    for path in ["event=click/part-0.parquet", "event=click/part-0123456789abcdef-0.parquet", &own] {
        file(path, "ichnos.version");
        let error = ParquetWriter.written_files(&root).unwrap_err().to_string();
        assert!(error.contains("not a file of an event dataset"), "{path}: {error}");
        std::fs::remove_file(root.join(path)).unwrap();
    }
}

#[test]
fn long_names_of_classes_are_cut_in_rows() {
    let name = "é".repeat(150_000);
    let class = EventRecordClass::new(&*name, [Member::new("i", FieldClass::unsigned(8))]);
    let trace = made(nanoseconds(), [class], |number, record| {
        begin(number, record);
        record.values.push(FieldValue::Unsigned(1));
        number < 9_000
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, report) = write(&trace, &directory.path().join("d"));
    let rows = events(&files);
    assert_eq!((rows.len(), &rows[8_999]["event"]), (9_000, &json!("é".repeat(512))));
    let file = files.iter().find(|file| file.is_event()).unwrap();
    assert_eq!(file.key(ichnos_table::EVENT_KEY), name);
    assert_eq!(side(&files, "_classes/")[0]["event"], json!(name));
    let cut = losses(&report, LossKind::Rounded);
    assert_eq!(cut, [("event: name of more than 1024 bytes: cut".to_owned(), 1)]);
}

#[test]
fn names_of_columns_have_a_limit() {
    // The paths of all members would take 8 GiB.
    let members = (0..4_096).map(|i| Member::new(format!("{i}"), FieldClass::unsigned(8)));
    let nulls = (0..4_096).map(|i| Member::new(format!("n{i}"), array(FieldClass::structure([]), 1)));
    let inner = FieldClass::structure(members.chain(nulls));
    let class = EventRecordClass::new("e", [Member::new("x".repeat(1 << 20), inner)]);
    let trace = made(nanoseconds(), [class], |number, record| {
        begin(number, record);
        record.values.begin_structure();
        (0..4_096).for_each(|i| record.values.push(FieldValue::Unsigned(i % 251)));
        for _ in 0..4_096 {
            record.values.begin_array();
            record.values.begin_structure();
            record.values.end();
            record.values.end();
        }
        record.values.end();
        number < 1
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, report) = write(&trace, &directory.path().join("d"));
    let columns = events(&files)[0].len();
    assert!((10..30).contains(&columns), "{columns}");
    let lost = losses(&report, LossKind::Dropped);
    let omitted: u64 = lost.iter().filter(|(what, _)| what.contains("MiB")).map(|(_, count)| count).sum();
    assert!(omitted > 8_000 && lost.len() < 30, "{omitted} {}", lost.len());
}

#[test]
fn missing_values_of_wide_columns_count() {
    // 200 columns of 8 KiB, without a value in any row.
    let members =
        (0..200).map(|i| Member::new(format!("f{i}"), FieldClass::optional(FieldClass::unsigned(1 << 16))));
    let trace = made(nanoseconds(), [EventRecordClass::new("e", members)], |number, record| {
        begin(number, record);
        (0..200).for_each(|_| record.values.push_optional(false));
        number < 100
    });
    let mut sizes = Vec::new();
    let streams = trace.data_streams();
    let take = |batch: ichnos_table::TableBatch| {
        sizes.push(batch.batch.get_array_memory_size());
        Ok(())
    };
    let output = ichnos_table::BatchOutput::new(&streams, ichnos_table::TableOptions::default(), take);
    let report = crate::hostile::pass(&trace, Box::new(output));
    assert!(sizes.len() > 2 && sizes.iter().all(|size| *size < 40 << 20), "{sizes:?}");
    // 127 columns, of 1 MiB per event.
    let lost = losses(&report, LossKind::Dropped);
    assert_eq!((lost.len(), lost[0].1), (1, 73), "{lost:?}");
}

#[test]
fn arrays_of_absent_structures_have_a_limit() {
    // Elements that take no space in the trace, and 40 kB in columns: 1.3 GB.
    let members = (0..5_000).map(|i| Member::new(format!("{i}"), FieldClass::unsigned(64)));
    let element = FieldClass::optional(FieldClass::structure(members));
    let members = [Member::new("list", array(element, 1 << 15)), Member::new("i", FieldClass::unsigned(8))];
    let trace = made(nanoseconds(), [EventRecordClass::new("e", members)], |number, record| {
        begin(number, record);
        record.values.begin_array();
        (0..1 << 15).for_each(|_| record.values.push_optional(false));
        record.values.end();
        record.values.push(FieldValue::Unsigned(number));
        number < 2
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, report) = write(&trace, &directory.path().join("d"));
    let rows = events(&files);
    assert_eq!(rows.iter().map(|row| row["i"].as_u64()).collect::<Vec<_>>(), [Some(0), Some(1)]);
    assert!(rows.iter().all(|row| !row.contains_key("list.0")));
    let lost = losses(&report, LossKind::Dropped);
    assert_eq!((lost.len(), lost[0].1), (5_000, 2), "{:?}", lost[0]);
}

#[test]
fn first_and_last_times_of_unsorted_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("d");
    let class = EventRecordClass::new("e", [Member::new("i", FieldClass::unsigned(8))]);
    // The clock goes back within the second batch.
    let trace = made(nanoseconds(), [class], |number, record| {
        begin(if number < 10_000 { number + 500 } else { 20_000 - number }, record);
        record.values.push(FieldValue::Unsigned(number % 100));
        number < 19_900
    });
    let (files, _) = write(&trace, &path);
    let mut ranges: Vec<Row> = side(&files, "_classes/");
    ranges.sort_by_key(|row| row["sorted"] != json!(true));
    let range = |row: &Row| [row["first_ts"].as_i64(), row["last_ts"].as_i64()].map(Option::unwrap);
    for (row, file) in ranges.iter().zip(files.iter().filter(|file| file.is_event())) {
        let row = ranges.iter().find(|row| row["path"] == json!(file.path)).unwrap_or(row);
        let times: Vec<i64> = file.rows().iter().map(|row| row["ts"].as_i64().unwrap()).collect();
        assert_eq!(range(row), [*times.iter().min().unwrap(), *times.iter().max().unwrap()]);
    }
    assert!(ranges.iter().any(|row| row["sorted"] == json!(false)), "{ranges:?}");
}

#[test]
fn classes_with_equal_directories_stay_apart() {
    let class = |name: &str| EventRecordClass::new(name, [Member::new("i", FieldClass::unsigned(8))]);
    let trace = made(nanoseconds(), ["_", "", "a b", "a:b"].map(class), |number, record| {
        begin(number, record);
        record.set_class(usize::try_from(number % 4).unwrap());
        record.values.push(FieldValue::Unsigned(number));
        number < 4
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, _) = write(&trace, &directory.path().join("d"));
    let paths = files.iter().filter(|file| file.is_event());
    let mut paths: Vec<&str> = paths.map(|file| file.path.split('/').next().unwrap()).collect();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), 4, "{paths:?}");
}

#[test]
fn equal_hashes_do_not_mix_columns() {
    // Names with equal hashes (64-bit FNV-1a).
    let class = |field: &str| EventRecordClass::new("e", [Member::new(field, FieldClass::unsigned(8))]);
    let names = ["8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"];
    let trace = made(nanoseconds(), names.map(class), |number, record| {
        record.set_class(usize::try_from(number % 2).unwrap());
        begin(number, record);
        record.values.push(FieldValue::Unsigned(number));
        number < 4
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, _) = write(&trace, &directory.path().join("d"));
    let rows = events(&files);
    for (row, number) in [(0, 0), (1, 2), (2, 1), (3, 3)] {
        let found = rows.iter().find(|row| row["ts"] == json!(number)).unwrap();
        let field = names[number % 2];
        assert_eq!(found.get(field), Some(&json!(number)), "{row}: {rows:?}");
    }
    assert_eq!(files.iter().filter(|file| file.is_event()).count(), 2);
}

const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; };
stream { packet.context := struct { u64 packet_size; u64 content_size; u64 packet_seq_num; }; };
event { name = "e"; loglevel = 6; fields := struct { u8 v; }; };
"#;

/// Writes a trace with one event in a packet of this number.
fn ctf(directory: &Path, packet: u64) {
    std::fs::create_dir(directory).unwrap();
    std::fs::write(directory.join("metadata"), METADATA).unwrap();
    let mut bytes: Vec<u8> = [200, 200, packet].into_iter().flat_map(u64::to_le_bytes).collect();
    bytes.push(7);
    std::fs::write(directory.join("stream"), bytes).unwrap();
}

#[test]
fn long_numbers_of_packets_are_losses() {
    let directory = tempfile::tempdir().unwrap();
    for (number, packet) in [7, u64::MAX].into_iter().enumerate() {
        let input = directory.path().join(format!("trace{number}"));
        ctf(&input, packet);
        let output = directory.path().join(format!("d{number}"));
        let report = convert(&input, &ParquetWriter, &output);
        let rows = events(&crate::dataset::read(&output));
        assert_eq!((rows.len(), &rows[0]["v"]), (1, &json!(7)));
        assert_eq!(rows[0].get("packet").cloned(), i64::try_from(packet).ok().map(|packet| json!(packet)));
        let lost = losses(&report, LossKind::Dropped);
        let lost: Vec<_> = lost.iter().filter(|(what, _)| what.starts_with("packet:")).collect();
        assert_eq!(lost.len(), number, "{lost:?}");
        // All events of a class have its log level.
        assert_eq!(side(&crate::dataset::read(&output), "_classes/")[0]["log_level"], json!(6));
        assert_eq!(rows[0]["severity"], json!(6));
    }
}

#[test]
fn losses_are_those_of_the_dataset() {
    let clock = ClockClass { frequency: 3, ..nanoseconds() };
    let maybe = FieldClass::optional(FieldClass::structure([]));
    let mut class = EventRecordClass::new("e", [Member::new("maybe", maybe)]);
    class.meanings.insert(Scope::PacketContext, 0, Meaning::Processor);
    let mut stream = DataStreamClass::new(Some(0), [class]);
    let context = ["cpu", "further"].map(|name| Member::new(name, FieldClass::unsigned(16)));
    stream.packet_context = Some(Arc::new(FieldClass::structure(context)));
    let trace = made_of(clock, stream, |number, record| {
        begin(number, record);
        record.values.push_optional(false);
        number < 1
    });
    let directory = tempfile::tempdir().unwrap();
    let (_, report) = write(&trace, &directory.path().join("e"));
    let rounded = losses(&report, LossKind::Rounded);
    assert_eq!(rounded.len(), 1);
    assert!(rounded[0].0.starts_with("clock.clock: clock cycles"), "{rounded:?}");
    // The processor number has a column.
    let expected = [
        "packet.context.further: data outside events",
        "payload.maybe: no column for the presence of fields without columns",
    ];
    assert_eq!(losses(&report, LossKind::Dropped), expected.map(|loss| (loss.to_owned(), 1)));
}
