//! Cost of reading and writing metadata, of the next operation, and of finding identifiers.
//!
//! `cargo bench -p ichnos-xtrace --bench metadata`
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ichnos_xtrace::metadata::{MAX_LENGTH, MAX_TEXT_LENGTH};
use ichnos_xtrace::option::Registry;
use ichnos_xtrace::{EdgeKind, Metadata, MetadataRef, OpId, find_identifiers};

/// The shortest, typical, and longest metadata without options, and metadata with two options.
const TEXTS: [(&str, &str); 4] = [
    ("9 bytes", "10CAFEBABE01020304"),
    ("17 bytes", "19CAFEBABECAFEBABE0102030405060708"),
    ("29 bytes", "1BCAFEBABECAFEBABECAFEBABECAFEBABECAFEBABE0102030405060708"),
    ("25 bytes with options", "1DCAFEBABECAFEBABE010203040506070807CE0107C102F8E6"),
];

fn metadata(criterion: &mut Criterion) {
    for (name, text) in TEXTS {
        let metadata = Metadata::parse(text).unwrap();
        let bytes = metadata.as_bytes();
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(1));
        group.bench_function("parse text", |bencher| {
            bencher
                .iter(|| Metadata::parse(black_box(text)).as_ref().is_ok_and(|metadata| metadata.is_valid()));
        });
        let mut buffer = [0; MAX_LENGTH];
        group.bench_function("parse text into a buffer", |bencher| {
            bencher.iter(|| {
                MetadataRef::parse_text(black_box(text.as_bytes()), &mut buffer)
                    .is_ok_and(|metadata| metadata.is_valid())
            });
        });
        group.bench_function("parse binary, borrowed", |bencher| {
            bencher.iter(|| {
                MetadataRef::parse_bytes(black_box(bytes)).as_ref().is_ok_and(|metadata| metadata.is_valid())
            });
        });
        group.bench_function("parse binary, owned", |bencher| {
            bencher.iter(|| {
                Metadata::parse_bytes(black_box(bytes)).as_ref().is_ok_and(|metadata| metadata.is_valid())
            });
        });
        let mut buffer = [0; MAX_TEXT_LENGTH];
        group.bench_function("write text", |bencher| {
            bencher.iter(|| black_box(&metadata).write_text(black_box(&mut buffer)).len());
        });
        let mut buffer = Vec::with_capacity(64);
        group.bench_function("write binary", |bencher| {
            bencher.iter(|| {
                buffer.clear();
                buffer.extend_from_slice(black_box(&metadata).as_bytes());
                black_box(&buffer).len()
            });
        });
        let mut valid = metadata.clone().validate().unwrap();
        let registry = Registry::standard();
        let mut count = 0u64;
        group.bench_function("next operation", |bencher| {
            bencher.iter(|| {
                count += 1;
                valid.advance(OpId::from(count.to_be_bytes()), EdgeKind::Next, &registry).unwrap()
            });
        });
        group.finish();
    }
}

fn find(criterion: &mut Criterion) {
    let plain =
        "GET /index.html HTTP/1.1\" 200 1043 \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\" 0.003 deadbeef\n";
    let text = plain.repeat(1 << 20 >> 6);
    let ids = format!("{plain}x-trace: {}\n", TEXTS[1].1).repeat(1 << 20 >> 7);
    let digits = "0123456789abcdef ".repeat(1 << 16);
    let mut group = criterion.benchmark_group("find identifiers");
    for (name, text) in
        [("text", text), ("text with one in each 2nd line", ids), ("16 digits in a row", digits)]
    {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| find_identifiers(black_box(text.as_bytes())).count());
        });
    }
    group.finish();
}

criterion_group!(benches, metadata, find);
criterion_main!(benches);
