//! Cost of skipping records and visiting their fields, by record shape.
//!
//! `cargo bench -p ichnos-model`
#![allow(missing_docs, clippy::unwrap_used)]

use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, IntegerRange, Member, RangeSet, StringLength, VariantOption,
};
use ichnos_model::decode::{DecodeLimits, PacketBits, Position, UNKNOWN};
use ichnos_model::event::Scopes;
use ichnos_model::field::{Field, FieldRef, Real, Skip, StringEncoding, Text};
use ichnos_model::plan::{Plan, TracePlans};
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Event, Scope, Trace, TraceClass, Visitor};

fn structure(members: Vec<(&str, FieldKind)>) -> Arc<FieldClass> {
    let members = members.into_iter().map(|(name, kind)| Member::new(name, Arc::new(FieldClass::new(kind))));
    Arc::new(FieldClass::new(FieldKind::Structure { members: members.collect(), minimum_alignment: 8 }))
}

fn unsigned(length: u64, alignment: u64) -> FieldKind {
    let bits = BitField::new(length, ByteOrder::LittleEndian, alignment);
    FieldKind::Integer { bits, integer: IntegerProperties::default() }
}

fn text() -> FieldKind {
    text_in(StringEncoding::Utf8)
}

fn text_in(encoding: StringEncoding) -> FieldKind {
    FieldKind::String { encoding, length: StringLength::NullTerminated, alignment: 8 }
}

/// Record from a simple tracer: 24 bytes at fixed offsets.
fn plain() -> (Arc<FieldClass>, Vec<u8>) {
    let members = vec![
        ("time", unsigned(64, 8)),
        ("thread", unsigned(32, 8)),
        ("id", unsigned(32, 8)),
        ("value", unsigned(64, 8)),
    ];
    (structure(members), (0..24).collect())
}

/// LTTng compact header: a 5-bit selector, then 27 bits of time.
fn lttng_header() -> (Arc<FieldClass>, Vec<u8>) {
    let option = |name: &str, class, lower, upper| VariantOption {
        name: Some(name.to_owned()),
        class,
        ranges: RangeSet(vec![IntegerRange { lower, upper }]),
        attributes: Default::default(),
    };
    let variant = FieldKind::Variant {
        options: vec![
            option("compact", structure(vec![("timestamp", unsigned(27, 1))]), 0, 30),
            option(
                "extended",
                structure(vec![("id", unsigned(32, 8)), ("timestamp", unsigned(64, 8))]),
                31,
                31,
            ),
        ],
        selector: Box::new(FieldLocation::absolute(Scope::Payload, ["id"])),
        alignment: 1,
    };
    let mut class = (*structure(vec![("id", unsigned(5, 1)), ("v", variant)])).clone();
    if let FieldKind::Structure { members, .. } = &mut class.kind {
        // The option starts in the byte in which the selector ends.
        if let FieldKind::Variant { options, .. } = &mut Arc::make_mut(&mut members[1].class).kind
            && let FieldKind::Structure { minimum_alignment, .. } =
                &mut Arc::make_mut(&mut options[0].class).kind
        {
            *minimum_alignment = 1;
        }
    }
    (Arc::new(class), vec![0x41, 0x32, 0x54, 0x76])
}

/// Four strings between two numbers.
fn strings() -> (Arc<FieldClass>, Vec<u8>) {
    let members = vec![
        ("number", unsigned(32, 8)),
        ("path", text()),
        ("user", text()),
        ("command", text()),
        ("result", text()),
        ("code", unsigned(32, 8)),
    ];
    let mut bytes = 7u32.to_le_bytes().to_vec();
    for text in ["/usr/share/doc/a-package-of-some-length/copyright", "somebody", "open(O_RDONLY)", "ok"] {
        bytes.extend(text.as_bytes());
        bytes.push(0);
    }
    bytes.extend(0u32.to_le_bytes());
    (structure(members), bytes)
}

/// Three UTF-16 strings between numbers, as in .NET method load events.
fn wide_strings() -> (Arc<FieldClass>, Vec<u8>) {
    let text = || text_in(StringEncoding::Utf16Le);
    let members = vec![
        ("method", unsigned(64, 8)),
        ("flags", unsigned(8, 8)),
        ("namespace", text()),
        ("name", text()),
        ("signature", text()),
        ("instance", unsigned(16, 8)),
    ];
    let mut bytes = (1..=9).collect::<Vec<u8>>();
    for text in [
        "System.Collections.Concurrent.ConcurrentQueue`1[System.__Canon]",
        "TryDequeue",
        "instance bool  (!0&)",
    ] {
        bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        bytes.extend([0; 2]);
    }
    bytes.extend(9u16.to_le_bytes());
    (structure(members), bytes)
}

#[derive(Default)]
struct Sum(u64);

impl Visitor for Sum {
    #[inline]
    fn unsigned(&mut self, _: Field<'_>, value: u64) {
        self.0 = self.0.wrapping_add(value);
    }

    fn real(&mut self, _: Field<'_>, value: Real<'_>) {
        self.0 = self.0.wrapping_add(value.to_f64() as u64);
    }

    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        self.0 = self.0.wrapping_add(value.bytes.len() as u64);
    }
}

const RECORDS: usize = 1000;

fn decode<V: Visitor>(plan: &Plan, bytes: &[u8], slots: &[Cell<i128>], visitor: &mut V) {
    let bits = PacketBits::whole(bytes);
    let limits = DecodeLimits::from(&Limits::default());
    let mut position = Position::default();
    for _ in 0..RECORDS {
        plan.decode(bits, &mut position, slots, limits, visitor).unwrap();
    }
}

fn all(criterion: &mut Criterion) {
    for (name, (class, record)) in [
        ("plain", plain()),
        ("lttng-header", lttng_header()),
        ("strings", strings()),
        ("wide-strings", wide_strings()),
    ] {
        let event = EventRecordClass { payload: Some(class), ..EventRecordClass::default() };
        let stream = DataStreamClass { event_records: vec![Arc::new(event)], ..DataStreamClass::default() };
        let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
        let plans = TracePlans::compile(&trace, &Limits::default()).unwrap();
        let plan = plans.data_streams[0].event_records[0].payload.as_ref().unwrap();
        let slots = vec![Cell::new(UNKNOWN); plans.slots()];
        let bytes = record.repeat(RECORDS);
        let mut group = criterion.benchmark_group(format!("decode/{name}"));
        group.throughput(Throughput::Elements(RECORDS as u64));
        group.bench_function("skip", |bench| {
            bench.iter(|| decode(plan, black_box(&bytes), &slots, &mut Skip))
        });
        group.bench_function("visit", |bench| {
            bench.iter(|| {
                let mut sum = Sum::default();
                decode(plan, black_box(&bytes), &slots, &mut sum);
                sum.0
            });
        });
    }
}

/// One field of an event: in the first block of the scope, and after a text.
fn one_field(criterion: &mut Criterion) {
    let (class, record) = strings();
    let event = EventRecordClass { payload: Some(class), ..EventRecordClass::default() };
    let stream = DataStreamClass { event_records: vec![Arc::new(event)], ..DataStreamClass::default() };
    let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
    let trace = Arc::new(Trace::new(trace, "trace", &Limits::default()).unwrap());
    let stream = DataStream::new(trace, 0, None, "stream").unwrap();
    let (begins, limits) = ([Position::default(); 6], DecodeLimits::from(&Limits::default()));
    let scopes = Scopes::new(PacketBits::whole(&record), &begins, &[], &limits);
    let event = Event::new(&stream, &stream.plans().event_records[0], None, scopes);
    let mut group = criterion.benchmark_group("field");
    for name in ["number", "code"] {
        let field = FieldRef::new(&event, name).unwrap();
        group.bench_function(name, |bench| bench.iter(|| black_box(&event).get(&field)));
    }
}

criterion_group!(benches, all, one_field);
criterion_main!(benches);
