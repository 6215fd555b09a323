//! Shortcuts must give the same results as running each plan, for random structures and bytes: skipping to the end of a
//! structure, visiting joined scopes at once, decoding one field.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, Length, Member, StringLength, Uuid,
};
use ichnos_model::decode::{DecodeLimits, PacketBits, Position, UNKNOWN, decode_all};
use ichnos_model::event::Scopes;
use ichnos_model::field::{Field, FieldRef, FieldValue, Real, Skip, StringEncoding, Text, Wide};
use ichnos_model::plan::Plan;
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Event, Scope, Trace, TraceClass, Visitor};
use ichnos_testing::{Random, cases};

/// All reported fields except structure starts and ends.
#[derive(Debug, Default, PartialEq)]
struct Flat(Vec<String>);

impl Flat {
    fn push(&mut self, field: Field<'_>, what: &str, value: impl Debug) {
        let (name, index, offset, length) = (field.name(), field.index(), field.offset, field.length);
        self.0.push(format!("{what} {name:?} {index} {offset} {length}: {value:?}"));
    }
}

macro_rules! flat {
    ($($method:ident: $type:ty),*) => {
        impl Visitor for Flat {
            $(fn $method(&mut self, field: Field<'_>, value: $type) {
                self.push(field, stringify!($method), value);
            })*
            fn boolean(&mut self, field: Field<'_>, value: bool, bits: u64) {
                self.push(field, "boolean", (value, bits));
            }
            fn end_array(&mut self, field: Field<'_>) {
                self.push(field, "end_array", ());
            }
        }
    };
}

flat!(unsigned: u64, signed: i64, wide: Wide<'_>, bit_array: u64, bit_map: u64, real: Real<'_>,
    text: Text<'_>, blob: &[u8], guid: Uuid, begin_array: u64);

/// Reported values by field node.
#[derive(Debug, Default)]
struct ByNode(BTreeMap<usize, String>);

impl ByNode {
    fn insert(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        self.0.insert(field.index(), format!("{value:?}"));
    }
}

impl Visitor for ByNode {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.insert(field, FieldValue::Unsigned(value));
    }
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.insert(field, FieldValue::Signed(value));
    }
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.insert(field, FieldValue::Text(value.bytes));
    }
    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.insert(field, FieldValue::Blob(bytes));
    }
    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        self.insert(field, FieldValue::Guid(value));
    }
}

fn class(kind: FieldKind) -> Arc<FieldClass> {
    Arc::new(FieldClass::new(kind))
}

fn integer(bits: BitField, signed: bool) -> Arc<FieldClass> {
    class(FieldKind::Integer { bits, integer: IntegerProperties { signed, ..Default::default() } })
}

fn text(length: StringLength, alignment: u64) -> Arc<FieldClass> {
    text_in(StringEncoding::Utf8, length, alignment)
}

fn text_in(encoding: StringEncoding, length: StringLength, alignment: u64) -> Arc<FieldClass> {
    class(FieldKind::String { encoding, length, alignment })
}

/// Random class generator.
struct Maker<'a> {
    random: &'a mut Random,
    /// Use both byte orders.
    is_mixed: bool,
    /// Use mostly whole bytes.
    is_plain: bool,
}

impl Maker<'_> {
    fn bytes(&mut self) -> Arc<FieldClass> {
        let length = self.random.pick(&[8, 16, 32]);
        integer(BitField::new(length, ByteOrder::LittleEndian, 8), false)
    }

    fn bits(&mut self, signed: bool) -> Arc<FieldClass> {
        let random = &mut *self.random;
        let length = match random.below(6) {
            0 => random.below(64) + 1,
            1 => random.below(9) + 1,
            2 => 4,
            _ => random.pick(&[8, 8, 16, 32, 64]),
        };
        let is_big = self.is_mixed && random.is_one_in(2);
        let order = if is_big { ByteOrder::BigEndian } else { ByteOrder::LittleEndian };
        let alignment = if length % 8 == 0 && !random.is_one_in(4) {
            random.pick(&[8, 8, 8, 8, 16, 32, 64])
        } else {
            random.pick(&[1, 1, 1, 2, 4, 8, 16])
        };
        integer(BitField::new(length, order, alignment), signed)
    }

    /// A length in an earlier member, if any.
    fn dynamic(&mut self, scope: Option<Scope>, members: &[Member]) -> Option<FieldLocation> {
        let is_length = |member: &&Member| matches!(&member.class.kind, FieldKind::Integer { integer, .. } if !integer.signed);
        let lengths: Vec<&Member> = members.iter().filter(is_length).collect();
        let chosen = lengths.get(self.random.below(lengths.len().max(1) as u64) as usize)?;
        Some(FieldLocation::absolute(scope?, [chosen.name.to_string()]))
    }

    fn structure(&mut self, scope: Option<Scope>, depth: u32) -> Arc<FieldClass> {
        let mut members = Vec::new();
        for i in 0..self.random.below(6) {
            let member = self.member(scope, &members, depth);
            members.push(Member::new(format!("m{i}"), member));
        }
        let minimum_alignment = self.random.pick(&[1, 8, 8, 16, 32, 64]);
        class(FieldKind::Structure { members, minimum_alignment })
    }

    fn member(&mut self, scope: Option<Scope>, members: &[Member], depth: u32) -> Arc<FieldClass> {
        match self.random.below(17) {
            0..=3 if !self.is_plain => self.bits(false),
            4 => self.bits(true),
            5 => text(StringLength::NullTerminated, 8),
            6 => text(StringLength::Static(self.random.below(4)), 8),
            7 => {
                let length = BitField::new(self.random.pick(&[8, 16, 3]), ByteOrder::LittleEndian, 1);
                let gap = self.random.pick(&[0, 5, 8]);
                text(StringLength::Prefixed { length, gap }, self.random.pick(&[8, 32]))
            }
            8 if depth > 0 => self.structure(None, depth - 1),
            9 => {
                let element = if self.is_plain { self.bytes() } else { self.bits(false) };
                class(FieldKind::Array {
                    element,
                    length: Length::Static(self.random.below(4)),
                    minimum_alignment: self.random.pick(&[1, 8, 32]),
                    element_aligns: !self.random.is_one_in(3),
                })
            }
            10 => {
                let length = Length::Static(self.random.below(3));
                class(FieldKind::Blob { length, media_type: Default::default(), alignment: 8 })
            }
            11 | 12 => match self.dynamic(scope, members) {
                Some(length) if self.random.is_one_in(2) => text(StringLength::Dynamic(Box::new(length)), 8),
                Some(length) => class(FieldKind::Array {
                    element: self.bytes(),
                    length: Length::Dynamic(Box::new(length)),
                    minimum_alignment: 8,
                    element_aligns: true,
                }),
                None => self.bytes(),
            },
            13 => class(FieldKind::Guid { alignment: self.random.pick(&[1, 8, 8, 8, 32]) }),
            14 => {
                let length = match self.random.below(3) {
                    0 => StringLength::Static(self.random.below(5)),
                    _ => StringLength::NullTerminated,
                };
                let encoding = self.random.pick(&[StringEncoding::Utf16Le, StringEncoding::Utf16Be]);
                text_in(encoding, length, self.random.pick(&[8, 8, 16]))
            }
            _ => self.bytes(),
        }
    }

    fn scope(&mut self, scope: Scope) -> Option<Arc<FieldClass>> {
        (!self.random.is_one_in(3)).then(|| self.structure(Some(scope), 2))
    }

    fn stream(&mut self) -> DataStream {
        let common_context = self.scope(Scope::CommonContext);
        let specific_context = self.scope(Scope::SpecificContext);
        let payload = self.scope(Scope::Payload);
        let event = EventRecordClass { specific_context, payload, ..EventRecordClass::default() };
        let stream = DataStreamClass {
            common_context,
            event_records: vec![Arc::new(event)],
            ..DataStreamClass::default()
        };
        let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
        let trace = Trace::new(trace, "t", &Limits::default()).unwrap();
        DataStream::new(Arc::new(trace), 0, None, "s").unwrap()
    }

    /// Random bytes. Half are small numbers, for lengths.
    fn data(&mut self) -> Vec<u8> {
        let random = &mut *self.random;
        let byte = |random: &mut Random| {
            let bound = random.pick(&[4, 256]);
            random.below(bound) as u8
        };
        (0..random.below(70)).map(|_| byte(random)).collect()
    }
}

/// Number of comparisons that used the shortcuts.
#[derive(Default)]
struct Counts {
    whole: u32,
    skips: u32,
    fields: u32,
}

fn compare(stream: &DataStream, bits: PacketBits<'_>, begin: Position, counts: &mut Counts) {
    let plans = &stream.plans().event_records[0];
    let common = stream.plans().common_context.as_ref();
    let all: [Option<&Plan>; 3] = [common, plans.specific_context.as_ref(), plans.payload.as_ref()];
    let limits = DecodeLimits::from(&Limits::default());
    let slots = vec![Cell::new(UNKNOWN); stream.trace.plans.slots()];
    let (mut flat, mut at, mut begins) = (Flat::default(), begin, [Position::default(); 6]);
    let mut result = Ok(());
    for (i, plan) in all.iter().enumerate() {
        begins[3 + i] = at;
        let Some(plan) = plan else { continue };
        let (before, own) = (at, slots.clone());
        result = plan.decode(bits, &mut at, &slots, limits, &mut flat);
        if let Some(end) = plan.end(bits.bytes(), before.bit, &own) {
            counts.skips += 1;
            assert_eq!((before.at_byte(end), Ok(()), &own), (at, result, &slots));
        }
        if result.is_err() {
            break;
        }
    }
    let (own, mut skipped, mut scopes) = (slots.clone(), begin, [Position::default(); 6]);
    own.iter().for_each(|slot| slot.set(UNKNOWN));
    let note = |i: usize, at: Position| scopes[3 + i] = at;
    assert_eq!(decode_all(all, bits, &mut skipped, &own, limits, &mut Skip, note), result);
    if result.is_err() {
        return;
    }
    counts.whole += 1;
    assert_eq!((skipped, &own, scopes), (at, &slots, begins));
    let event = Event::new(stream, plans, None, Scopes::new(bits, &begins, &slots, &limits));
    let mut at_once = Flat::default();
    assert_eq!(event.visit_all(&mut at_once), Ok(()));
    assert_eq!(at_once, flat);
    for scope in [Scope::CommonContext, Scope::SpecificContext, Scope::Payload] {
        let mut all = ByNode::default();
        assert_eq!(event.visit(scope, &mut all), Ok(()));
        let Some(plan) = event.plan(scope) else { continue };
        let members = (0..).map_while(|index| Some((plan.member_name(index)?, plan.member(index)?)));
        for (name, node) in members {
            let field = FieldRef::within(&event, scope, name).unwrap();
            let value = event.get(&field).map(|value| format!("{value:?}"));
            assert_eq!(value.as_ref(), all.0.get(&node), "{scope} {name}");
            counts.fields += u32::from(value.is_some());
        }
    }
}

#[test]
fn what_is_quick_gives_the_same() {
    let mut counts = Counts::default();
    let cases = cases(40_000, |random| {
        let (is_mixed, is_plain) = (random.is_one_in(3), random.is_one_in(2));
        let mut maker = Maker { random, is_mixed, is_plain };
        let stream = maker.stream();
        for _ in 0..3 {
            let data = maker.data();
            let all = data.len() as u64 * 8;
            let random = &mut *maker.random;
            let content = match random.below(3) {
                0 => all,
                1 => random.below(all + 1),
                _ => all + random.below(100),
            };
            let bits = PacketBits { data: &data, content };
            let begin = if random.is_one_in(3) { random.below(40) } else { random.below(5) * 8 };
            let begin = Position::at(begin.min(bits.end()));
            compare(&stream, bits, begin, &mut counts);
        }
    });
    let Counts { whole, skips, fields } = counts;
    assert!(
        cases < 40_000 || whole > 10_000 && skips > 10_000 && fields > 10_000,
        "{whole} {skips} {fields}"
    );
}

/// A node and its descendants, found through [`Plan::children`].
fn within(plan: &Plan, node: usize) -> Vec<usize> {
    let mut all = vec![node];
    plan.children(node).for_each(|child| all.extend(within(plan, child)));
    all
}

#[test]
fn what_is_within_a_field_comes_right_behind_it() {
    let mut compared = 0;
    let cases = cases(2_000, |random| {
        let mut maker = Maker { random, is_mixed: false, is_plain: false };
        let stream = maker.stream();
        let plans = stream.plans();
        let roots = plans.event_records.iter().flat_map(|event| [&event.specific_context, &event.payload]);
        for plan in roots.chain([&plans.common_context]).flatten() {
            let count = plan.nodes().count();
            for node in 0..count {
                assert_eq!(plan.within(node).collect::<Vec<_>>(), within(plan, node));
                compared += 1;
            }
            assert!(plan.within(count).is_empty());
        }
    });
    assert!(cases < 2_000 || compared > 2_000, "{compared}");
}
