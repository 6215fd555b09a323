//! Cost of reading and writing log records with three arguments (pid, tid, and a 16-byte message), 96 bytes in total.
//!
//! `cargo bench -p ichnos-fuchsia`
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ichnos_fuchsia::log::{
    Encoder, Event, Framing, Meaning, Message, Messages, Packet, Record, SeverityScale, Value,
};

/// Number of records to read at once.
const RECORDS: u64 = 1_000;

fn encode(buffer: &mut [u8]) -> usize {
    let mut encoder = Encoder::new(buffer);
    for index in 0..RECORDS {
        let mut record = encoder.begin(index as i64, 0x30).unwrap();
        record.argument("pid", black_box(1_234u64)).unwrap();
        record.argument("tid", black_box(5_678u64)).unwrap();
        record.argument("message", black_box("sixteen letters!")).unwrap();
        record.finish();
    }
    encoder.written().len()
}

/// Computes a value that depends on every argument.
fn visit(record: &Record<'_>) -> u64 {
    let mut sum = record.timestamp() as u64 ^ u64::from(record.raw_severity());
    for argument in record.arguments() {
        let Ok(argument) = argument else { break };
        sum ^= match (argument.meaning(), argument.value) {
            (Meaning::Pid, Value::Unsigned(pid)) => pid,
            (Meaning::Tid, Value::Unsigned(tid)) => tid << 8,
            (Meaning::Message, Value::Text(message)) => message.len() as u64,
            (_, Value::Unsigned(value)) => value ^ 1,
            _ => argument.name.len() as u64,
        };
    }
    sum
}

fn decode(bytes: &[u8]) -> u64 {
    let (mut left, mut sum) = (bytes, 0u64);
    while let Ok((record, rest)) = Record::read(left, 0) {
        sum = sum.wrapping_add(visit(&record));
        left = rest;
    }
    sum
}

fn messages(bytes: &[u8]) -> u64 {
    let mut sum = 0u64;
    for message in Messages::new(bytes, Framing::Records) {
        if let Ok(Message::Record { record, .. }) = message {
            sum = sum.wrapping_add(visit(&record));
        }
    }
    sum
}

fn log(criterion: &mut Criterion) {
    let mut buffer = vec![0; 96 * RECORDS as usize];
    assert_eq!(encode(&mut buffer), buffer.len());
    let mut group = criterion.benchmark_group("log");
    group.throughput(Throughput::Elements(RECORDS));
    group.bench_function("decode", |bencher| bencher.iter(|| decode(black_box(&buffer))));
    group.bench_function("decode, with resynchronization", |bencher| {
        bencher.iter(|| messages(black_box(&buffer)));
    });
    let mut out = buffer.clone();
    group.bench_function("encode", |bencher| bencher.iter(|| encode(black_box(&mut out))));
    group.bench_function("encode, whole events", |bencher| {
        bencher.iter(|| {
            let mut encoder = Encoder::new(black_box(&mut out));
            for timestamp in 0..RECORDS as i64 {
                let message = Some(black_box("sixteen letters!"));
                let event =
                    Event { timestamp, severity: 0x30, pid: 1_234, tid: 5_678, message, ..Event::default() };
                encoder.event(&event).unwrap();
            }
        });
    });
    group.bench_function("copy", |bencher| {
        bencher.iter(|| {
            let mut encoder = Encoder::new(&mut out);
            let mut left = black_box(&buffer[..]);
            while let Ok((record, rest)) = Record::read(left, 0) {
                encoder.record(&record).unwrap();
                left = rest;
            }
        });
    });
    let mut packet = vec![0; 32];
    packet.extend(b"\x03tag\0sixteen letters!\0");
    group.throughput(Throughput::Elements(1));
    group.bench_function("legacy packet", |bencher| {
        bencher.iter(|| {
            Packet::read(black_box(&packet), 0).map(|packet| packet.severity(SeverityScale::Current))
        });
    });
    group.finish();
}

criterion_group!(benches, log);
criterion_main!(benches);
