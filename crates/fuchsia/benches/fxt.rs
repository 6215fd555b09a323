//! Cost of reading and writing traces (FXT).
//!
//! Uses a magic-trace capture, repeated to 100 MB, if the directory in `ICHNOS_TRACES` contains it. Otherwise uses
//! generated span events with two similar arguments.
//!
//! `cargo bench -p ichnos-fuchsia --bench fxt`
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ichnos_fuchsia::fxt::{Argument, ArgumentValue, Record, RecordWriter, Records, StringRef, ThreadRef};
use ichnos_fuchsia::fxt_reader::{FxtOptions, FxtTrace};
use ichnos_fuchsia::fxt_writer::FxtWriter;
use ichnos_io::{Lane, WriteOptions, WriteSource, WriteTarget, WriterFactory};
use ichnos_model::field::{Field, Text};
use ichnos_model::{Cursor, Message, OpenedTrace, Scope, Visitor, Window};

/// Approximate size of the trace in bytes.
const SIZE: usize = 100_000_000;

fn trace() -> Vec<u8> {
    let one = one();
    one.repeat(SIZE.div_ceil(one.len()))
}

/// One repetition of the trace.
fn one() -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let traces =
        std::env::var_os("ICHNOS_TRACES").map_or_else(|| root.join("../shared/traces"), PathBuf::from);
    std::fs::read(traces.join("fuchsia/magic-trace/trace.fxt")).unwrap_or_else(|_| made())
}

/// Spans for 500 functions, each with its address and name.
fn made() -> Vec<u8> {
    let mut words = vec![0x0016_5478_4604_0010, 0x21, 1_000_000_000];
    words.extend([0x33 | 1 << 16, 1, 2]);
    for index in 1..=500u64 {
        words.extend([0x22 | index << 16 | 8 << 32, u64::from_le_bytes(*b"function")]);
    }
    for ticks in 0..20_000u64 {
        let name = 1 + ticks % 500;
        words.extend([0x54 | 2 << 16 | 2 << 20 | 1 << 24 | name << 48, 2 * ticks]);
        words.extend([0x27 | 1 << 16, name << 4, 0x16 | 2 << 16 | name << 32]);
        words.extend([0x24 | 3 << 16 | 1 << 24 | name << 48, 2 * ticks + 1]);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Reads all records with the codec, resolving strings and threads and visiting every argument.
fn decode(bytes: &[u8]) -> u64 {
    let mut strings: Vec<&[u8]> = vec![b""; 1 << 15];
    let mut threads = vec![(0, 0); 1 << 8];
    let mut sum = 0u64;
    let mut add = |value: u64| sum = sum.wrapping_add(value);
    for found in Records::new(bytes) {
        let Ok(found) = found else { continue };
        match found.record {
            Record::String(record) => strings[usize::from(record.index)] = record.string,
            Record::Thread(record) => threads[usize::from(record.index)] = (record.process, record.thread),
            Record::Event(event) => {
                let length = |string: StringRef<'_>| match string {
                    StringRef::Inline(text) => text.len() as u64,
                    StringRef::Index(index) => strings[usize::from(index)].len() as u64,
                };
                let (process, thread) = match event.thread {
                    ThreadRef::Index(index) => threads[usize::from(index)],
                    ThreadRef::Inline { process, thread } => (process, thread),
                };
                add(event.ticks ^ process ^ thread ^ length(event.category) ^ length(event.name));
                for argument in event.arguments.map_while(Result::ok) {
                    add(length(argument.name));
                    add(match argument.value {
                        ArgumentValue::String(text) => length(text),
                        ArgumentValue::Uint64(value) | ArgumentValue::Pointer(value) => value,
                        value => value.kind().into(),
                    });
                }
            }
            _ => {}
        }
    }
    sum
}

/// A record to write, with its argument range if it is an event.
type Decoded<'a> = (Record<'a>, std::ops::Range<usize>);

/// Reads the records of one repetition of the trace, with all arguments.
fn decoded(bytes: &[u8]) -> (Vec<Decoded<'_>>, Vec<Argument<'_>>) {
    let (mut records, mut all) = (Vec::new(), Vec::new());
    for found in Records::new(bytes).map_while(Result::ok) {
        let begin = all.len();
        if let Record::Event(event) = found.record {
            all.extend(event.arguments.map_while(Result::ok));
        }
        records.push((found.record, begin..all.len()));
    }
    (records, all)
}

/// Writes records into a buffer, which is cleared for each repetition. Strings and threads are in tables.
fn encode(records: &[Decoded<'_>], arguments: &[Argument<'_>], times: usize, buffer: &mut [u8]) -> u64 {
    let mut writer = RecordWriter::new(buffer);
    let mut written = 0;
    for _ in 0..times {
        writer.clear();
        for (record, range) in records {
            match record {
                Record::Event(event) => {
                    let names = [event.category, event.name];
                    let mut new = writer.begin_event(event.kind, event.ticks, event.thread, names).unwrap();
                    for Argument { name, value } in &arguments[range.clone()] {
                        new.argument(*name, *value).unwrap();
                    }
                    new.finish();
                }
                Record::String(record) => writer.string(record).unwrap(),
                Record::Thread(record) => writer.thread(record).unwrap(),
                Record::Initialization(clock) => writer.initialization(clock).unwrap(),
                _ => {}
            }
        }
        written += black_box(writer.written()).len() as u64;
    }
    written
}

/// Adds up all values.
#[derive(Default)]
struct Sum(u64);

impl Visitor for Sum {
    fn unsigned(&mut self, _: Field<'_>, value: u64) {
        self.0 = self.0.wrapping_add(value);
    }
    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        self.0 += value.bytes.len() as u64;
    }
}

/// Reads all events and visits all fields.
fn read(trace: &FxtTrace) -> u64 {
    let mut sum = Sum::default();
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            if let Some(Message::Event(event)) = cursor.current() {
                for scope in [Scope::CommonContext, Scope::SpecificContext, Scope::Payload] {
                    let _ = event.visit(scope, &mut sum);
                }
            }
        }
    }
    sum.0
}

/// Encodes all events. Returns the number of bytes.
fn write(trace: &FxtTrace) -> u64 {
    let source = WriteSource {
        trace: trace.trace().clone(),
        format: trace.format(),
        has_dynamic_classes: true,
        streams: trace.data_streams(),
    };
    let output = FxtWriter.create(WriteTarget::Nowhere, vec![source], &WriteOptions::default()).unwrap();
    let mut worker = output.worker(Lane::All);
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            worker.message(&cursor.current().unwrap()).unwrap();
            while let Some(block) = worker.take() {
                output.join(block).unwrap();
            }
        }
    }
    worker.finish().unwrap();
    while let Some(block) = worker.take() {
        output.join(block).unwrap();
    }
    drop(worker);
    output.finish().unwrap().bytes
}

fn bench(criterion: &mut Criterion) {
    let bytes = trace();
    let mut group = criterion.benchmark_group("fxt");
    group.sample_size(10).throughput(Throughput::Bytes(bytes.len() as u64));
    group
        .bench_function("codec: strings and arguments", |bencher| bencher.iter(|| decode(black_box(&bytes))));
    let one = one();
    let (records, arguments) = decoded(&one);
    let mut buffer = vec![0; one.len()];
    let times = bytes.len() / one.len();
    group.bench_function("codec: written", |bencher| {
        bencher.iter(|| encode(black_box(&records), &arguments, times, &mut buffer));
    });
    // Each repetition starts with the same times again, so sorting would make the trace unrealistic.
    let mut options = FxtOptions::default();
    options.unsorted = true;
    let opened = FxtTrace::open("a.fxt", bytes.clone().into(), &options).unwrap();
    group.bench_function("reader: all fields", |bencher| bencher.iter(|| read(black_box(&opened))));
    group.bench_function("reader and writer", |bencher| bencher.iter(|| write(black_box(&opened))));
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
