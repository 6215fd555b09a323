//! Time of an event: with 24 bytes, with text, through `tracing`, and without a recording.
//!
//! `benches/tracer/run.sh` measures LTTng-UST beside it.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ichnos_tracer::{ClockSource, Recording, RecordingOptions, SizeLimit, TraceEvent, TraceLayer, record};
use tracing_subscriber::layer::SubscriberExt as _;

/// Twenty-four bytes.
#[derive(TraceEvent)]
struct Tick {
    number: u64,
    a: u32,
    b: u32,
    load: f64,
}

#[derive(TraceEvent)]
struct Request<'a> {
    id: u64,
    path: &'a str,
}

fn recording(directory: &tempfile::TempDir, name: &str, clock: ClockSource) -> Recording {
    let mut options = RecordingOptions::new(directory.path().join(name));
    options.clock = clock;
    options.limit = SizeLimit::Last(8 << 20);
    Recording::start(options).unwrap()
}

fn benches(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().unwrap();
    let tick = |number| Tick { number, a: 1, b: 2, load: 0.5 };
    criterion.bench_function("off", |bencher| bencher.iter(|| record(black_box(&tick(1)))));
    for (name, clock) in [("monotonic", ClockSource::Monotonic), ("fastest", ClockSource::Fastest)] {
        let recording = recording(&directory, name, clock);
        criterion.bench_function(&format!("24 bytes, {name}"), |bencher| {
            let mut number = 0;
            bencher.iter(|| {
                number += 1;
                record(black_box(&tick(number)));
            });
        });
        criterion.bench_function(&format!("text, {name}"), |bencher| {
            bencher.iter(|| record(black_box(&Request { id: 1, path: "/index.html" })));
        });
        let subscriber = tracing_subscriber::registry().with(TraceLayer::new());
        tracing::subscriber::with_default(subscriber, || {
            criterion.bench_function(&format!("layer, {name}"), |bencher| {
                bencher.iter(|| tracing::info!(id = black_box(7), path = "/index.html", "answered"));
            });
        });
        recording.finish();
    }
}

criterion_group!(record_benches, benches);
criterion_main!(record_benches);
