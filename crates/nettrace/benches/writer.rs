//! Cost of writing a file again: with each event read and encoded anew, as a copy, and partly, with copied segments.
//!
//! `ICHNOS_NETTRACE=FILE cargo bench -p ichnos-nettrace --bench writer`. Without a file, generates a file with
//! 1,000,000 small events.
#![allow(missing_docs, clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ichnos_io::{
    Bytes, IoLimits, Lane, MessageOrder, Tree, WorkerFlow, WriteOptions, WriteSource, WriteTarget,
    WriterFactory as _,
};
use ichnos_model::{Message, OpenedTrace as _, Window};
use ichnos_nettrace::{NettraceFile, NettraceOptions, NettraceWriter};
use ichnos_testing::nettrace_file::{
    File, FileEvent as Event, FileMetadata as Metadata, FileVersion as Form, field,
};

/// Generates events of four threads, which take turns of 25 events.
fn generated() -> Vec<u8> {
    let mut file = File::new(Form::V4);
    file.metadata(&[Metadata::new(1, "Number", [field(Form::V4, 12, "number")])]);
    for block in 0..2_000u32 {
        let addresses: Vec<u64> = (0..20).map(|frame| 0x1000 * frame + u64::from(block % 100)).collect();
        file.stacks(1 + block, &[&addresses]);
        let event = |number: u32| {
            let (thread, place) = (u64::from(number / 25 % 4), number % 25);
            let sequence = block * 125 + number / 100 * 25 + place + 1;
            let event = Event::new(1, thread, sequence, u64::from(block * 500 + number));
            let number = ichnos_testing::nettrace_file::Bytes::new().u64(number.into());
            Event { stack: 1 + block, is_sorted: place == 0, ..event.with(number) }
        };
        file.events(true, &(0..500).map(event).collect::<Vec<_>>());
        if block % 25 == 24 {
            let counts: Vec<(u64, u32)> = (0..4).map(|thread| (thread, 125 * (block + 1))).collect();
            file.sequence_point(u64::from(500 * (block + 1)), 0, &counts);
        }
    }
    file.end()
}

/// Returns the file to measure.
fn file() -> NettraceFile {
    let bytes: Bytes = match std::env::var_os("ICHNOS_NETTRACE").map(PathBuf::from) {
        Some(path) => Tree::open(&path, &IoLimits::default()).unwrap().entries[0].read().unwrap(),
        None => generated().into(),
    };
    NettraceFile::open("file", bytes, &NettraceOptions::default()).unwrap()
}

/// Options that encode all events anew in a dialect, as a filter would.
fn encoding(dialect: &str) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.dialect = Some(dialect.to_owned());
    options.leaves_out = true;
    options
}

/// Selects the events after the first tenth of the file's time.
fn part(file: &NettraceFile) -> WriteOptions {
    let mut options = WriteOptions::default();
    let times = file.streams().first().and_then(|stream| stream.time_range);
    options.cut = times.map(|(begin, end)| Window { begin: Some(begin + (end - begin) / 10), end: None });
    options.leaves_out = true;
    options
}

/// Writes the file and discards the output. Returns the number of events.
fn rewrite(file: &NettraceFile, options: &WriteOptions) -> u64 {
    let source = WriteSource {
        trace: Arc::clone(file.trace()),
        format: "nettrace",
        has_dynamic_classes: true,
        streams: file.data_streams(),
    };
    let output = NettraceWriter.create(WriteTarget::Nowhere, vec![source], options).unwrap();
    let mut worker = output.worker(Lane::All);
    let begin = options.cut.and_then(|window| window.begin);
    let takes_segments = output.order() == MessageOrder::Segments;
    let segments = takes_segments.then(|| file.segment_cursor(0, Window::default())).flatten();
    let mut cursor = segments.or_else(|| file.cursor(0, Window::default())).unwrap();
    let mut events = 0;
    let mut has_message = cursor.next_head().is_some();
    while has_message {
        let is_copied = match cursor.current() {
            Some(Message::PacketBegin(packet)) => worker.copy_packet(&packet).unwrap(),
            _ => false,
        };
        if is_copied {
            cursor.skip_packet();
            has_message = cursor.next_head().is_some();
        } else {
            let mut is_first = true;
            has_message = cursor.drain_all(&mut |message| {
                if matches!(message, Message::PacketBegin(_)) && !std::mem::take(&mut is_first) {
                    return ControlFlow::Break(());
                }
                is_first = false;
                let is_early = matches!(message, Message::Event(event) if event.nanoseconds() < begin);
                if !is_early && worker.message(message).unwrap() == WorkerFlow::Block {
                    while let Some(block) = worker.take() {
                        events += block.events;
                        output.join(block).unwrap();
                    }
                }
                ControlFlow::Continue(())
            });
        }
        while let Some(block) = worker.take() {
            events += block.events;
            output.join(block).unwrap();
        }
    }
    worker.finish().unwrap();
    while let Some(block) = worker.take() {
        events += block.events;
        output.join(block).unwrap();
    }
    drop(worker);
    output.finish().unwrap();
    events
}

fn write(criterion: &mut Criterion) {
    let file = file();
    let mut group = criterion.benchmark_group("write");
    group.sample_size(10);
    let ways = [
        ("version-4", encoding("4")),
        ("version-6", encoding("6")),
        ("copy", WriteOptions::default()),
        ("part", part(&file)),
    ];
    for (name, options) in ways {
        group.throughput(Throughput::Elements(rewrite(&file, &options)));
        group.bench_function(name, |bencher| bencher.iter(|| rewrite(&file, &options)));
    }
    group.finish();
}

criterion_group!(benches, write);
criterion_main!(benches);
