//! Cost of writing a file again, with every event encoded anew or as a copy; reading all events is a part of both.
//!
//! `ICHNOS_NETTRACE=FILE cargo bench -p ichnos-nettrace --bench writer`; without a file, one of 1,000,000 small events
//! is generated.
#![allow(missing_docs, clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ichnos_flow::Merge;
use ichnos_io::{Bytes, IoLimits, Lane, TraceWriter as _, Tree, WriteOptions, WriteSource, WriteTarget};
use ichnos_model::{TraceInput as _, Window};
use ichnos_nettrace::{NettraceFile, NettraceWriter, OpenOptions};

#[allow(dead_code)]
#[path = "../tests/nettrace/builder.rs"]
mod builder;

use builder::{Event, File, Form, Metadata, field};

/// Events of four threads, which take turns of 25 events.
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
            let number = builder::Bytes::new().u64(number.into());
            Event { stack: 1 + block, is_sorted: place == 0, ..event.with(number) }
        };
        file.events(true, &(0..500).map(event).collect::<Vec<_>>());
    }
    file.end()
}

/// The file to measure.
fn file() -> NettraceFile {
    let bytes: Bytes = match std::env::var_os("ICHNOS_NETTRACE").map(PathBuf::from) {
        Some(path) => Tree::open(&path, &IoLimits::default()).unwrap().entries[0].read().unwrap(),
        None => generated().into(),
    };
    NettraceFile::open("file", bytes, &OpenOptions::default()).unwrap()
}

/// Writes the file to nowhere, in a dialect or as a copy; returns the number of events.
fn rewrite(file: &NettraceFile, dialect: Option<&str>) -> u64 {
    let source = WriteSource {
        trace: Arc::clone(file.trace()),
        format: "nettrace",
        has_dynamic_classes: true,
        streams: file.data_streams(),
    };
    let mut options = WriteOptions::default();
    options.dialect = dialect.map(str::to_owned);
    // As if events were dropped: all others are encoded anew.
    options.leaves_out = dialect.is_some();
    let output = NettraceWriter.create(WriteTarget::Nowhere, vec![source], &options).unwrap();
    let mut worker = output.worker(Lane::All);
    let mut events = 0;
    Merge::new(file.cursors(Window::default())).drain_all(&mut |message| {
        worker.message(message).unwrap();
        while let Some(block) = worker.take() {
            events += block.events;
            output.join(block).unwrap();
        }
        ControlFlow::Continue(())
    });
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
    group.sample_size(10).throughput(Throughput::Elements(rewrite(&file, None)));
    for (name, dialect) in [("version-4", Some("4")), ("version-6", Some("6")), ("copy", None)] {
        group.bench_function(name, |bencher| bencher.iter(|| rewrite(&file, dialect)));
    }
    group.finish();
}

criterion_group!(benches, write);
criterion_main!(benches);
