//! Cost of propagation: the next operation with a random identifier and its edge, and the whole report.
//!
//! `cargo bench -p ichnos-xtrace --bench propagation`
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ichnos_xtrace::option::{Registry, Severity};
use ichnos_xtrace::propagation::random_op_id;
use ichnos_xtrace::{Context, EdgeKind, Metadata, Tracer};

fn contexts() -> [(&'static str, Context); 2] {
    let with_options = "1DCAFEBABECAFEBABE010203040506070807CE0105C102F8E6";
    let mut plain = Context::start();
    plain.event(&Tracer::new(()), "begin").send().unwrap();
    [
        ("17 bytes", plain),
        (
            "25 bytes with options",
            Context::from_metadata(Metadata::parse(with_options).unwrap().validate().unwrap()),
        ),
    ]
}

fn propagation(criterion: &mut Criterion) {
    let tracer = Tracer::new(()).with_host("a-host").with_agent("an-agent");
    for (name, mut context) in contexts() {
        let mut group = criterion.benchmark_group(name);
        // Everything that section 4 requires: a new identifier, the edge from the last identifier, options by their
        // rules.
        let mut metadata = context.metadata().clone();
        let registry = Registry::standard();
        group.bench_function("step", |bencher| {
            bencher.iter(|| metadata.advance(random_op_id(), EdgeKind::Next, black_box(&registry)).unwrap());
        });
        group.bench_function("event that is reported", |bencher| {
            bencher.iter(|| context.event(black_box(&tracer), "Something happens").send().unwrap());
        });
        group.bench_function("event with two lines that is reported", |bencher| {
            bencher.iter(|| {
                let event = context.event(black_box(&tracer), "Something happens").text("Class", "Benchmark");
                event.field("Number", black_box(12345)).send().unwrap()
            });
        });
        group.bench_function("event that is not important", |bencher| {
            bencher.iter(|| context.event_of(black_box(&tracer), Severity::DEBUG, "nothing").send().unwrap());
        });
        group.bench_function("fork", |bencher| bencher.iter(|| black_box(&context).fork()));
        group.bench_function("current context", |bencher| {
            let entered = context.clone().enter();
            bencher.iter(|| Context::with_current(|context| context.reports(&tracer, Severity::INFO)));
            drop(entered);
        });
        group.finish();
    }
}

criterion_group!(benches, propagation);
criterion_main!(benches);
