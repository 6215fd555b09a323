//! Cost of logging an event with three fields through `tracing`, with this layer and with the `fmt` layer from
//! `tracing-subscriber`, to the same sink.
//!
//! `cargo bench -p ichnos-fuchsia --bench layer`
#![allow(missing_docs, clippy::unwrap_used)]

use std::fs::File;
use std::hint::black_box;
use std::io::{Sink, Write, sink};
use std::sync::Mutex;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ichnos_fuchsia::logger::{Logger, LoggerOptions};
use tracing::{Dispatch, dispatcher, info};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{fmt, registry};

fn event() {
    info!(unit = black_box("oven"), celsius = black_box(95.5), count = black_box(17u64), "too hot");
}

fn measure<W: Write + Send + 'static>(criterion: &mut Criterion, name: &str, mut writer: impl FnMut() -> W) {
    let logger = Logger::new(Mutex::new(writer()), LoggerOptions::default());
    let records = Dispatch::new(registry().with(logger));
    let lines = fmt::layer().with_ansi(false).with_writer(Mutex::new(writer()));
    let lines = Dispatch::new(registry().with(lines));
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(1));
    for (name, dispatch) in [("records", records), ("fmt", lines)] {
        dispatcher::with_default(&dispatch, || group.bench_function(name, |bencher| bencher.iter(event)));
    }
    group.finish();
}

fn layer(criterion: &mut Criterion) {
    measure::<Sink>(criterion, "to nowhere", sink);
    measure::<File>(criterion, "to /dev/null", || File::create("/dev/null").unwrap());
}

criterion_group!(benches, layer);
criterion_main!(benches);
