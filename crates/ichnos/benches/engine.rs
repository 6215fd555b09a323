//! Path of events from bytes in memory to a sink: cost of merging by the number of data streams, cost of printing,
//! and cost of a handwritten loop.
//!
//! `cargo bench -p ichnos`
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::io::{self, Write};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ichnos::export::{Log, LogOptions, Null, Pretty, PrettyOptions, ResumableSink as _};
use ichnos::flow::{Merge, pump};
use ichnos::fuchsia::log::{Encoder, Record, Value};
use ichnos::io::{Entry, Tree};
use ichnos::model::{Cursor, OpenedTrace, Sink, Window};
use ichnos_jsonl::{JsonLines, JsonLinesOptions};

const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = "clock"; freq = 1000000000; offset_s = 1700000000; absolute = true; };
typealias integer { size = 64; align = 8; signed = false; map = clock.clock.value; } := time;
stream {
    id = 0;
    packet.context := struct { time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size; };
    event.header := struct { u8 id; time timestamp; };
};
event { id = 0; name = "count"; stream_id = 0; fields := struct { u32 a; u32 b; u64 c; }; };
event { id = 1; name = "talk"; stream_id = 0; fields := struct { u32 number; string text; string more; }; };
"#;

const EVENTS: usize = 100_000;

/// Creates a trace whose events alternate between `streams` data streams.
fn trace(streams: usize) -> ichnos::ctf::trace::CtfTrace {
    let mut entries = vec![Entry::from_bytes("metadata", METADATA.as_bytes().to_vec())];
    for stream in 0..streams {
        let mut events = Vec::new();
        let times: Vec<u64> = (0..EVENTS / streams).map(|i| ((i * streams + stream) * 100) as u64).collect();
        for (i, time) in times.iter().enumerate() {
            let is_text = i % 4 == 3;
            events.push(u8::from(is_text));
            events.extend(time.to_le_bytes());
            events.extend((i as u32).to_le_bytes());
            if is_text {
                events.extend(b"a text as tracepoints have it\0and \"another\"\0");
            } else {
                events.extend([7; 12]);
            }
        }
        let size = 8 * (8 + 4 * 8 + events.len()) as u64;
        let mut packet = [0xc1fc_1fc1u32.to_le_bytes(), 0u32.to_le_bytes()].concat();
        for number in [times[0], times[times.len() - 1], size, size] {
            packet.extend(number.to_le_bytes());
        }
        packet.extend(events);
        entries.push(Entry::from_bytes(format!("stream-{stream:04}"), packet));
    }
    let tree = Tree { name: "bench".to_owned(), entries, problems: Vec::new() };
    ichnos::ctf::trace::open(&[&tree], &Default::default()).traces.pop().unwrap()
}

/// Writer that counts bytes, so that nothing is optimized away.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn merge(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("merge");
    group.throughput(Throughput::Elements(EVENTS as u64)).sample_size(20);
    for streams in [1, 2, 1000] {
        let trace = trace(streams);
        group.bench_function(format!("{streams} cursors"), |bench| {
            bench.iter_batched(
                || Merge::new(trace.cursors(Window::default())),
                |mut merge| while merge.advance() {},
                BatchSize::LargeInput,
            );
        });
    }
}

fn sink<S: Sink>(criterion: &mut Criterion, trace: &impl OpenedTrace, name: &str, make: impl Fn() -> S) {
    let mut group = criterion.benchmark_group("sink");
    group.throughput(Throughput::Elements(EVENTS as u64)).sample_size(20);
    group.bench_function(name, |bench| {
        bench.iter_batched(
            || (Merge::new(trace.cursors(Window::default())), make()),
            |(mut merge, mut sink)| pump(&mut merge, &mut sink).unwrap(),
            BatchSize::LargeInput,
        );
    });
}

fn sinks(criterion: &mut Criterion) {
    let trace = trace(2);
    sink(criterion, &trace, "null", Null::new);
    sink(criterion, &trace, "pretty", || Pretty::new(Count(0), PrettyOptions::default()));
    sink(criterion, &trace, "jsonl", || JsonLines::new(Count(0), JsonLinesOptions::default()));
    sink(criterion, &trace, "log", || Log::new(Count(0), LogOptions::default()));
}

/// Returns log records of 96 bytes with three arguments.
fn records() -> Vec<u8> {
    let mut buffer = vec![0; 96 * EVENTS];
    let mut encoder = Encoder::new(&mut buffer);
    for index in 0..EVENTS as u64 {
        let mut record = encoder.begin(index as i64 * 100, 0x30).unwrap();
        record.argument("pid", 1_234u64).unwrap();
        record.argument("tid", index).unwrap();
        record.argument("message", "sixteen letters!").unwrap();
        record.finish();
    }
    assert_eq!(encoder.written().len(), 96 * EVENTS);
    buffer
}

/// Folds all values of all records into one number, like the sink `null` but handwritten. Also returns the number of
/// records.
fn fold(bytes: &[u8]) -> (u64, usize) {
    let add =
        |hash: u64, value: u64| hash.rotate_left(23).wrapping_add(value.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut left, mut sum, mut count) = (bytes, 0u64, 0);
    while let Ok((record, rest)) = Record::read(left, 0) {
        let mut hash = add(record.timestamp() as u64, record.raw_severity().into());
        for argument in record.arguments().flatten() {
            hash = match argument.value {
                Value::Unsigned(value) => add(hash, value),
                Value::Signed(value) => add(hash, value as u64),
                Value::Text(text) => {
                    let (words, rest) = text.as_bytes().as_chunks::<8>();
                    let hash = words.iter().fold(hash, |hash, word| add(hash, u64::from_le_bytes(*word)));
                    rest.iter().fold(hash, |hash, byte| add(hash, (*byte).into()))
                }
                _ => hash,
            };
        }
        sum = sum.wrapping_add(hash);
        count += 1;
        left = rest;
    }
    (sum, count)
}

fn logs(criterion: &mut Criterion) {
    let bytes = records();
    assert_eq!(fold(&bytes).1, EVENTS);
    let tree = Tree {
        name: "bench".to_owned(),
        entries: vec![Entry::from_bytes("log", bytes.clone())],
        problems: Vec::new(),
    };
    let trace = ichnos::fuchsia::log_reader::LogTrace::open(&tree, &Default::default()).unwrap();
    let mut group = criterion.benchmark_group("logs");
    group.throughput(Throughput::Elements(EVENTS as u64)).sample_size(20);
    group.bench_function("a loop by hand", |bench| bench.iter(|| fold(black_box(&bytes))));
    group.bench_function("through the model", |bench| {
        bench.iter_batched(
            || (Merge::new(trace.cursors(Window::default())), Null::new()),
            |(mut merge, mut sink)| {
                pump(&mut merge, &mut sink).unwrap();
                assert_eq!(sink.statistics().unwrap().events, EVENTS as u64);
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, merge, sinks, logs);
criterion_main!(benches);
