//! Cost of an expression per event, compared with visiting all fields of the event.
//!
//! `cargo bench -p ichnos-filter`
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use ichnos_filter::{Filter, FilterScope};
use ichnos_model::class::{DataStreamClass, EventRecordClass, FieldClass, FieldKind, Length, Member};
use ichnos_model::clock::{ClockClass, ClockValue};
use ichnos_model::decode::{DecodeLimits, PacketBits, Position};
use ichnos_model::event::Scopes;
use ichnos_model::field::{Field, Real, Text};
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Event, Trace, TraceClass, Visitor};

/// Visitor that folds all values, like the format `null`.
struct Fold(u64);

impl Visitor for Fold {
    fn unsigned(&mut self, _: Field<'_>, value: u64) {
        self.0 = self.0.rotate_left(23).wrapping_add(value);
    }

    fn signed(&mut self, _: Field<'_>, value: i64) {
        self.0 = self.0.rotate_left(23).wrapping_add(value as u64);
    }

    fn real(&mut self, _: Field<'_>, value: Real<'_>) {
        self.0 = self.0.rotate_left(23).wrapping_add(value.to_f64().to_bits());
    }

    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        for byte in value.bytes {
            self.0 = self.0.rotate_left(5).wrapping_add(u64::from(*byte));
        }
    }
}

fn benchmark(criterion: &mut Criterion) {
    let element = Arc::new(FieldClass::unsigned(32));
    let array =
        FieldKind::Array { element, length: Length::Static(3), minimum_alignment: 8, element_aligns: true };
    let class = EventRecordClass::new(
        "bench:rich",
        [
            Member::new("i", FieldClass::signed(32)),
            Member::new("h", FieldClass::unsigned(64)),
            Member::new("s", FieldClass::string()),
            Member::new("d", FieldClass::float(64)),
            Member::new("fixed3", FieldClass::new(array)),
            Member::new("txt", FieldClass::string()),
        ],
    );
    let clock = ClockClass::since_unix_epoch("wall");
    let trace = TraceClass::new("bench", [clock], [DataStreamClass::new(Some(0), [class])]);
    let trace = Arc::new(Trace::new(trace, "", &Limits::default()).unwrap());
    let stream = DataStream::new(Arc::clone(&trace), 0, None, "chan_0").unwrap();
    let mut data = [&7u32.to_le_bytes()[..], &9u64.to_le_bytes(), b"hello from thread 3\0"].concat();
    data.extend([&1.5f64.to_le_bytes()[..], &[0; 12], b"a text of some length\0"].concat());
    let begins = [Position::at(0); 6];
    let limits = DecodeLimits { integer_bits: 64, zero_size_elements: 0 };
    let scopes = Scopes::new(PacketBits::whole(&data), &begins, &[], &limits);
    let plans = &stream.plans().event_records[0];
    let clock = ClockValue { nanoseconds: 1_000, cycles: 1_000 };
    let event = Event::new(&stream, plans, Some(&clock), scopes);
    let mut group = criterion.benchmark_group("filter");
    group.bench_function("visit all", |bencher| {
        bencher.iter(|| {
            let mut fold = Fold(0);
            black_box(&event).visit_all(&mut fold).unwrap();
            fold.0
        });
    });
    for text in [
        "event == \"other\"",
        "time > @5000",
        "i == 8",
        "i + 1 in [7, 9] && h < 5",
        "fixed3[1] == 5",
        "s == \"hello from thread 4\"",
        "s == \"*thread 4\"",
        "txt =~ \"some (size|width)\"",
        "d > 2.5 && s == \"x\"",
    ] {
        let resolve = |text: &str| text.trim_start_matches('@').parse().map_err(|_| String::new());
        let scope = FilterScope { traces: &[Arc::clone(&trace)], has_dynamic_classes: false };
        let filter = Filter::new(&text.parse().unwrap(), scope, &resolve).unwrap();
        let mut selector = filter.selector();
        group.bench_function(text, |bencher| bencher.iter(|| selector.selects(black_box(&event))));
    }
    group.finish();
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
