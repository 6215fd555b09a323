//! Benchmarks: events to batches, and to a dataset.
//!
//! `cargo bench -p ichnos-table`. Reads the trace in `ICHNOS_BENCH_TRACE`, or else the LTTng example, which is only
//! long enough for comparisons.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::path::PathBuf;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ichnos::convert::ConvertOptions;
use ichnos::prelude::*;
use ichnos_table::{BatchOutput, ParquetWriter, Projection, TableOptions};

fn tables(criterion: &mut Criterion) {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello-lttng/trace");
    let path = std::env::var_os("ICHNOS_BENCH_TRACE").map_or_else(|| example.into(), PathBuf::from);
    let session = ichnos::open([path], &OpenOptions::default()).unwrap();
    let reader = session.reader().unwrap();
    let streams: Vec<_> = session.traces().iter().flat_map(|trace| trace.data_streams()).collect();
    let batches = |columns: &Projection| {
        let take = |batch| {
            black_box(batch);
            Ok(())
        };
        let output = BatchOutput::new(&streams, TableOptions::default().with_columns(columns.clone()), take);
        reader.pass().write(&output).unwrap().counts.events
    };
    let mut group = criterion.benchmark_group("table");
    group.throughput(Throughput::Elements(batches(&Projection::All))).sample_size(10);
    group.bench_function("batches", |bench| bench.iter(|| batches(&Projection::All)));
    let times = Projection::named(["ts"]);
    group.bench_function("batches of ts", |bench| bench.iter(|| batches(&times)));
    group.bench_function("parquet", |bench| {
        bench.iter_batched(
            || tempfile::tempdir().unwrap(),
            |directory| {
                let path = Some(directory.path().join("dataset"));
                let report = reader.convert(&ParquetWriter, path, &ConvertOptions::default()).unwrap();
                (report, directory)
            },
            BatchSize::PerIteration,
        );
    });
}

criterion_group!(benches, tables);
criterion_main!(benches);
