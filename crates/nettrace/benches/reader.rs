//! Cost of reading a file: headers sorted by time, and all fields of all events.
//!
//! `ICHNOS_NETTRACE=FILE cargo bench -p ichnos-nettrace`. Without a file, nothing is measured.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ichnos_io::Bytes;
use ichnos_model::class::Uuid;
use ichnos_model::cursor::StreamCursor;
use ichnos_model::event::EventCounts;
use ichnos_model::field::{Field, Real, Text};
use ichnos_model::{Cursor, Message, OpenedTrace, Visitor, Window};
use ichnos_nettrace::{NettraceFile, NettraceOptions};

/// Sum of all fields, so that no field read can be optimized away.
#[derive(Default)]
struct Sum(u64);

impl Visitor for Sum {
    fn unsigned(&mut self, _: Field<'_>, value: u64) {
        self.0 = self.0.rotate_left(1) ^ value;
    }

    fn signed(&mut self, _: Field<'_>, value: i64) {
        self.0 = self.0.rotate_left(1) ^ value as u64;
    }

    fn boolean(&mut self, _: Field<'_>, value: bool, _: u64) {
        self.0 = self.0.rotate_left(1) ^ u64::from(value);
    }

    fn bit_map(&mut self, _: Field<'_>, bits: u64) {
        self.0 = self.0.rotate_left(1) ^ bits;
    }

    fn real(&mut self, _: Field<'_>, value: Real<'_>) {
        self.0 = self.0.rotate_left(1) ^ value.to_f64().to_bits();
    }

    fn guid(&mut self, _: Field<'_>, value: Uuid) {
        self.0 = self.0.rotate_left(1) ^ value.as_u64_pair().0;
    }

    fn text(&mut self, _: Field<'_>, text: Text<'_>) {
        self.0 = self.0.rotate_left(1) ^ text.bytes.len() as u64;
    }
}

/// Number of events.
fn headers(file: &NettraceFile) -> u64 {
    let mut counts = EventCounts::default();
    for mut cursor in file.cursors(Window::default()) {
        while cursor.count_events(1 << 14, &mut counts).is_some() {}
    }
    counts.sum()
}

fn fields(file: &NettraceFile) -> u64 {
    let mut sum = Sum::default();
    for mut cursor in file.cursors(Window::default()) {
        while cursor.advance() {
            if let Some(Message::Event(event)) = cursor.current() {
                event.visit_all(&mut sum).unwrap();
            }
        }
    }
    sum.0
}

fn read(criterion: &mut Criterion) {
    let Some(path) = std::env::var_os("ICHNOS_NETTRACE") else {
        return println!("skipped: the variable ICHNOS_NETTRACE does not name a file");
    };
    let bytes = Bytes::from_file(Path::new(&path)).unwrap();
    let file = NettraceFile::open("file", bytes, &NettraceOptions::default()).unwrap();
    let mut group = criterion.benchmark_group("read");
    group.sample_size(10).throughput(Throughput::Elements(headers(&file)));
    group.bench_function("headers", |bencher| bencher.iter(|| headers(&file)));
    group.bench_function("fields", |bencher| bencher.iter(|| fields(&file)));
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
