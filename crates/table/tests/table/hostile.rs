//! Classes and values that do not fit easily into columns.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use ichnos::flow::{Merge, pump};
use ichnos::io::{
    Lane, Output, Worker, WorkerFlow, WriteOptions, WriteReport, WriteSource, WriteTarget, WriterFactory,
};
use ichnos::model::lower::LossKind;
use ichnos::model::{
    BitField, ByteOrder, ClockClass, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldValue,
    IntegerProperties, IntegerRange, Length, Limits, MappingsBuilder, Member, NextRecord, Real, Record,
    RecordTrace, Source, Trace, TraceClass, Uuid,
};
use ichnos::prelude::*;
use ichnos_table::ParquetWriter;
use serde_json::{Value, json};

use crate::dataset::{ReadFile, Row, read, real};

/// Fills the record of an event with this number; `false` at the end.
type Fill = dyn Fn(u64, &mut Record) -> bool + Send + Sync;

/// Events that a function makes.
struct MadeEvents {
    next: u64,
    fill: Arc<Fill>,
}

impl Source for MadeEvents {
    fn next(&mut self, record: &mut Record) -> NextRecord {
        let is_event = (self.fill)(self.next, record);
        self.next += 1;
        if is_event { NextRecord::Event } else { NextRecord::End }
    }
}

/// Makes a trace of events with these classes.
pub(crate) fn made(
    clock: ClockClass,
    classes: impl IntoIterator<Item = EventRecordClass>,
    fill: impl Fn(u64, &mut Record) -> bool + Send + Sync + 'static,
) -> RecordTrace {
    made_of(clock, DataStreamClass::new(Some(0), classes), fill)
}

/// Makes a trace of events of a data stream class.
pub(crate) fn made_of(
    clock: ClockClass,
    stream: DataStreamClass,
    fill: impl Fn(u64, &mut Record) -> bool + Send + Sync + 'static,
) -> RecordTrace {
    let limits = Limits::default();
    let trace = Trace::new(TraceClass::new("made", [clock], [stream]), "made", &limits).unwrap();
    let fill: Arc<Fill> = Arc::new(fill);
    RecordTrace::new("made", trace, &limits)
        .with_stream(0, "stream", 0, move || MadeEvents { next: 0, fill: Arc::clone(&fill) })
}

/// Passes messages to a worker, and its blocks to the output.
struct WorkerSink<'o> {
    output: &'o dyn Output,
    worker: Box<dyn Worker + Send>,
}

impl WorkerSink<'_> {
    fn join(&mut self) -> io::Result<()> {
        while let Some(block) = self.worker.take() {
            self.output.join(block)?;
        }
        Ok(())
    }
}

impl Sink for WorkerSink<'_> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if self.worker.message(message)? == WorkerFlow::Block {
            self.join()?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.worker.finish()?;
        self.join()
    }
}

/// Writes a trace, and returns the files and the report.
pub(crate) fn write(trace: &RecordTrace, path: &Path) -> (Vec<ReadFile>, WriteReport) {
    let report = try_write(trace, path, &WriteOptions::default()).unwrap();
    (read(path), report)
}

/// Writes a trace. The error is that of the program.
pub(crate) fn try_write(
    trace: &RecordTrace,
    path: &Path,
    options: &WriteOptions,
) -> Result<WriteReport, String> {
    let source = WriteSource {
        trace: Arc::clone(trace.trace()),
        format: "made",
        has_dynamic_classes: false,
        streams: trace.data_streams(),
    };
    let target = WriteTarget::Complete(path.to_owned());
    let output = ParquetWriter.create(target, vec![source], options).map_err(|error| error.to_string())?;
    try_pass(trace, output)
}

/// Passes all events of a trace to an output.
pub(crate) fn pass(trace: &RecordTrace, output: Box<dyn Output + '_>) -> WriteReport {
    try_pass(trace, output).unwrap()
}

fn try_pass(trace: &RecordTrace, output: Box<dyn Output + '_>) -> Result<WriteReport, String> {
    let mut sink = WorkerSink { output: &*output, worker: output.worker(Lane::All) };
    let mut merge = Merge::new(trace.cursors(Window::default()));
    let passed = pump(&mut merge, &mut sink).map(drop).and_then(|()| sink.finish());
    passed.map_err(|error| error.to_string())?;
    drop(sink);
    output.finish().map_err(|error| error.to_string())
}

pub(crate) fn events(files: &[ReadFile]) -> Vec<Row> {
    files.iter().filter(|file| file.is_event()).flat_map(ReadFile::rows).collect()
}

pub(crate) fn nanoseconds() -> ClockClass {
    ClockClass::since_unix_epoch("clock")
}

pub(crate) fn losses(report: &WriteReport, kind: LossKind) -> Vec<(String, u64)> {
    let losses = report.losses.iter().filter(|(loss, _)| loss.kind == kind);
    losses.map(|(loss, count)| (format!("{}: {}", loss.field, loss.what), count)).collect()
}

#[test]
fn ten_thousand_columns() {
    let members = (0..10_000).map(|i| Member::new(format!("field_{i}"), FieldClass::unsigned(32)));
    let class = EventRecordClass::new("wide", members);
    let trace = made(nanoseconds(), [class], |number, record| {
        record.set_cycles(number);
        record.values.begin(Scope::Payload);
        (0..10_000).for_each(|i| record.values.push(FieldValue::Unsigned(number * 7 + i)));
        number < 3
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, report) = write(&trace, &directory.path().join("d"));
    assert!(report.losses.is_empty());
    let rows = events(&files);
    assert_eq!(rows.len(), 3);
    assert_eq!((&rows[2]["field_9999"], &rows[2]["seq"]), (&json!(14 + 9_999), &json!(2)));
}

#[test]
fn five_hundred_classes_with_few_events_each() {
    // 20,000 take forty times as long.
    let class =
        |i: u64| EventRecordClass::new(format!("class {i}"), [Member::new("i", FieldClass::unsigned(64))]);
    let trace = made(nanoseconds(), (0..500).map(class), |number, record| {
        record.set_cycles(number);
        record.set_class(usize::try_from(number % 500).unwrap());
        record.values.begin(Scope::Payload);
        record.values.push(FieldValue::Unsigned(number));
        number < 1_500
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, _) = write(&trace, &directory.path().join("d"));
    assert_eq!(files.iter().filter(|file| file.is_event()).count(), 500);
    let mut found: Vec<u64> = events(&files).iter().map(|row| row["i"].as_u64().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, (0..1_500).collect::<Vec<_>>());
}

#[test]
fn strings_of_a_hundred_megabytes() {
    let class = EventRecordClass::new("long", [Member::new("text", FieldClass::string())]);
    let trace = made(nanoseconds(), [class], |number, record| {
        record.set_cycles(number);
        record.values.begin(Scope::Payload);
        let text = vec![b'x'; if number == 1 { 100 << 20 } else { 1 }];
        record.values.push(FieldValue::Text(&text));
        number < 3
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, _) = write(&trace, &directory.path().join("d"));
    let lengths: Vec<usize> = events(&files).iter().map(|row| row["text"].as_str().unwrap().len()).collect();
    assert_eq!(lengths, [1, 100 << 20, 1]);
}

pub(crate) fn array(element: FieldClass, length: u64) -> FieldClass {
    FieldClass::new(FieldKind::Array {
        element: Arc::new(element),
        length: Length::Static(length),
        minimum_alignment: 8,
        element_aligns: true,
    })
}

#[test]
fn arrays_of_arrays_and_of_structures() {
    let inner = FieldClass::structure([
        Member::new("a", FieldClass::unsigned(8)),
        Member::new("b", array(FieldClass::signed(16), 2)),
    ]);
    let members = [
        Member::new("matrix", array(array(FieldClass::unsigned(8), 3), 2)),
        Member::new("list", array(inner, 2)),
        Member::new("empty", array(FieldClass::structure([]), 4)),
    ];
    let trace = made(nanoseconds(), [EventRecordClass::new("arrays", members)], |number, record| {
        record.set_cycles(number);
        let values = &mut record.values;
        values.begin(Scope::Payload);
        values.begin_array();
        for row in 0..2_u64 {
            values.begin_array();
            (0..3).for_each(|column| values.push(FieldValue::Unsigned(row * 3 + column)));
            values.end();
        }
        values.end();
        values.begin_array();
        for item in 0..2_i64 {
            values.begin_structure();
            values.push(FieldValue::Unsigned(item.unsigned_abs()));
            values.begin_array();
            values.push(FieldValue::Signed(-item));
            values.push(FieldValue::Signed(item * 100));
            values.end();
            values.end();
        }
        values.end();
        values.begin_array();
        for _ in 0..4 {
            values.begin_structure();
            values.end();
        }
        values.end();
        number < 1
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, report) = write(&trace, &directory.path().join("d"));
    let row = &events(&files)[0];
    assert_eq!(row["matrix"], json!([[0, 1, 2], [3, 4, 5]]));
    assert_eq!((&row["list.a"], &row["list.b"]), (&json!([0, 1]), &json!([[0, 0], [-1, 100]])));
    let lost = losses(&report, LossKind::Dropped);
    assert_eq!(lost, [("payload.empty: an array of elements without columns has no column".to_owned(), 1)]);
}

#[test]
fn times_before_1970_and_beyond_64_bits() {
    let times = |offset: i64| {
        let clock = ClockClass { offset_seconds: offset, ..nanoseconds() };
        let class = EventRecordClass::new("e", [Member::new("i", FieldClass::unsigned(8))]);
        let trace = made(clock, [class], |number, record| {
            record.set_cycles(number);
            record.values.begin(Scope::Payload);
            record.values.push(FieldValue::Unsigned(number));
            number < 2
        });
        let directory = tempfile::tempdir().unwrap();
        let (files, report) = write(&trace, &directory.path().join("d"));
        let times: Vec<Value> =
            events(&files).iter().map(|row| row.get("ts").cloned().unwrap_or_default()).collect();
        (times, losses(&report, LossKind::Dropped))
    };
    assert_eq!(times(-100), (vec![json!(-100_000_000_000_i64), json!(-99_999_999_999_i64)], vec![]));
    let (missing, lost) = times(i64::MAX);
    assert_eq!(missing, [Value::Null, Value::Null]);
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].1, 2);
}

#[test]
fn names_that_differ_only_in_case_or_are_those_of_properties() {
    let names = ["Fd", "fd", "FD", "ts", "trace", "seq"];
    let class = EventRecordClass::new("e", names.map(|name| Member::new(name, FieldClass::unsigned(8))));
    let trace = made(nanoseconds(), [class], |number, record| {
        record.set_cycles(number);
        record.values.begin(Scope::Payload);
        (0..6).for_each(|i| record.values.push(FieldValue::Unsigned(i)));
        number < 1
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, report) = write(&trace, &directory.path().join("d"));
    let row = &events(&files)[0];
    let columns = ["Fd", "payload.fd", "FD_2", "payload.ts", "payload.trace", "payload.seq"];
    let values: Vec<&Value> = columns.iter().map(|column| &row[*column]).collect();
    assert_eq!(json!(values), json!([0, 1, 2, 3, 4, 5]));
    assert_eq!(losses(&report, LossKind::Renamed).len(), 5);
}

#[test]
fn integers_of_any_width_enumerations_and_flags() {
    let bits = |length| BitField::new(length, ByteOrder::LittleEndian, 8);
    let mut mappings = MappingsBuilder::default();
    for (name, value) in [("idle", 0), ("busy", 1), ("also busy", 1)] {
        mappings.add_name(name);
        mappings.add_range(IntegerRange::single(value));
    }
    let mappings = mappings.finish();
    let enumeration = FieldClass::new(FieldKind::Integer {
        bits: bits(8),
        integer: IntegerProperties { mappings: Some(mappings.clone()), ..IntegerProperties::default() },
    });
    let flags = FieldClass::new(FieldKind::BitMap { bits: bits(8), flags: mappings });
    let members = [
        Member::new("u40", FieldClass::unsigned(40)),
        Member::new("u64", FieldClass::unsigned(64)),
        Member::new("state", enumeration),
        Member::new("flags", flags),
        Member::new("half", FieldClass::float(16)),
        Member::new("maybe", FieldClass::optional(FieldClass::signed(32))),
        Member::new("id", FieldClass::guid()),
    ];
    let trace = made(nanoseconds(), [EventRecordClass::new("e", members)], |number, record| {
        record.set_cycles(number);
        let values = &mut record.values;
        values.begin(Scope::Payload);
        for value in [(1_u64 << 40) - 1, u64::MAX, number] {
            values.push(FieldValue::Unsigned(value));
        }
        values.push(FieldValue::Bits(3));
        values.push(FieldValue::Real(Real::Half(0x3e00)));
        values.push_optional(number == 1);
        if number == 1 {
            values.push(FieldValue::Signed(-5));
        }
        values.push(FieldValue::Guid(Uuid::from_u128(0x6b29_fc40_ca47_1067_b31d_00dd_0106_62da)));
        number < 3
    });
    let directory = tempfile::tempdir().unwrap();
    let (files, report) = write(&trace, &directory.path().join("d"));
    let rows = events(&files);
    assert_eq!(rows[0]["u40"], json!((1_u64 << 40) - 1));
    assert_eq!(rows[0]["u64"], json!(u64::MAX));
    let labels: Vec<Option<&Value>> = rows.iter().map(|row| row.get("state.label")).collect();
    assert_eq!(labels, [Some(&json!("idle")), Some(&json!("busy")), None]);
    assert_eq!(
        (&rows[0]["flags"], &rows[0]["flags.flags"]),
        (&json!(3), &json!(["idle", "busy", "also busy"]))
    );
    assert_eq!(rows[0]["half"], real("1.5"));
    assert_eq!(rows.iter().map(|row| row.get("maybe")).collect::<Vec<_>>(), [None, Some(&json!(-5)), None]);
    assert_eq!(rows[0]["id"], json!("6b29fc40-ca47-1067-b31d-00dd010662da"));
    assert_eq!(
        losses(&report, LossKind::Dropped),
        [("state.label: additional names of a value".to_owned(), 1)]
    );
}

#[test]
fn unfinished_outputs_leave_nothing() {
    let trace = made(nanoseconds(), [], |_, _| false);
    let source = WriteSource {
        trace: Arc::clone(trace.trace()),
        format: "made",
        has_dynamic_classes: false,
        streams: trace.data_streams(),
    };
    let directory = tempfile::tempdir().unwrap();
    let target = WriteTarget::Complete(directory.path().join("d"));
    drop(ParquetWriter.create(target, vec![source], &WriteOptions::default()).unwrap());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
