//! Tests for each lowering rule: the lowered class, the moved values, and the loss table.

use std::sync::Arc;

use super::*;
use crate::class::{
    Attributes, BitField, BitOrder, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind,
    FieldLocation, IntegerProperties, IntegerRange, Length, Mappings, Member, RangeSet, Scope, StringLength,
    TraceClass, Uuid, Value, VariableLengthValue, VariantOption,
};
use crate::clock::WallClock;
use crate::event::{Event, EventValues, Scopes};
use crate::field::{Field, FieldValue, Real, StringEncoding, Text, Visitor, Wide};
use crate::trace::{DataStream, Limits, Trace};

/// Records visited fields: member names, kinds and values.
#[derive(Default)]
struct Notes(String);

impl Notes {
    fn note(&mut self, field: Field<'_>, value: impl std::fmt::Display) {
        if !self.0.is_empty() && !self.0.ends_with(['{', '[', '(', '<']) {
            self.0.push(' ');
        }
        if let Some(name) = field.name() {
            self.0.push_str(name);
            self.0.push('=');
        }
        self.0.push_str(&value.to_string());
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Visitor for Notes {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.note(field, format!("u{value}"));
    }
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.note(field, format!("s{value}"));
    }
    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        self.note(field, format!("w{:x?}", value.words));
    }
    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        self.note(field, value);
    }
    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        self.note(field, format!("b{bits:x}"));
    }
    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        self.note(field, format!("m{bits:x}"));
    }
    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        self.note(field, format!("{value:?}"));
    }
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.note(field, format!("{:?}", String::from_utf8_lossy(value.bytes)));
    }
    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.note(field, format!("x{}", hex(bytes)));
    }
    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        self.note(field, format!("g{value}"));
    }
    fn null(&mut self, field: Field<'_>) {
        self.note(field, "null");
    }
    fn begin_structure(&mut self, field: Field<'_>) {
        self.note(field, "{");
    }
    fn end_structure(&mut self, _: Field<'_>) {
        self.0.push('}');
    }
    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.note(field, "[");
    }
    fn end_array(&mut self, _: Field<'_>) {
        self.0.push(']');
    }
    fn begin_optional(&mut self, field: Field<'_>, present: bool, selector: i128) {
        self.note(field, format!("?{present},{selector}("));
    }
    fn end_optional(&mut self, _: Field<'_>) {
        self.0.push(')');
    }
    fn begin_variant(&mut self, field: Field<'_>, option: usize, selector: i128) {
        self.note(field, format!("|{option},{selector}<"));
    }
    fn end_variant(&mut self, _: Field<'_>) {
        self.0.push('>');
    }
}

const ALL: Capabilities = Capabilities::all("test");

fn class(kind: FieldKind) -> Arc<FieldClass> {
    Arc::new(FieldClass::new(kind))
}

fn bits(length: u64) -> BitField {
    BitField::new(length, ByteOrder::LittleEndian, 8)
}

fn nowhere() -> Box<FieldLocation> {
    Box::new(FieldLocation::by_values())
}

fn byte() -> Arc<FieldClass> {
    Arc::new(FieldClass::unsigned(8))
}

fn mappings() -> Mappings {
    let range = |lower, upper| RangeSet(vec![IntegerRange { lower, upper }]);
    Mappings::from_iter([("low", range(0, 3)), ("high", range(4, 7))])
}

/// Writes a value.
type PushValue = fn(&mut EventValues);

/// Lowers the payload member `m`. Returns its class, the visited value and the loss table lines.
fn lower(
    capabilities: Capabilities,
    member: Arc<FieldClass>,
    push: impl FnOnce(&mut EventValues),
) -> (Arc<FieldClass>, String, Vec<String>) {
    lower_named("m", capabilities, member, push)
}

fn lower_named(
    name: &str,
    capabilities: Capabilities,
    member: Arc<FieldClass>,
    push: impl FnOnce(&mut EventValues),
) -> (Arc<FieldClass>, String, Vec<String>) {
    let payload = Arc::new(FieldClass::structure([Member::new(name, member)]));
    let record = EventRecordClass { payload: Some(payload), ..EventRecordClass::default() };
    let stream = DataStreamClass { event_records: vec![Arc::new(record)], ..DataStreamClass::default() };
    let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
    let trace = Arc::new(Trace::new(trace, "trace", &Limits::default()).unwrap());
    let lowered = LoweredTrace::new(&trace, &capabilities, LowerOptions::default(), &[], |_| {}).unwrap();
    let stream = DataStream::new(trace, 0, None, "stream").unwrap();
    let mut values = EventValues::default();
    values.begin(Scope::Payload);
    push(&mut values);
    let event = Event::new(&stream, &stream.plans().event_records[0], None, Scopes::from_values(&values));
    let moved = lowered.event(&event).unwrap().unwrap();
    let (mut notes, mut losses) = (Notes::default(), EventLosses::default());
    lowered.visit(&moved, &event, Scope::Payload, &mut notes, &mut losses).unwrap();
    lowered.add_losses(&moved, 0, &losses);
    let table = lowered.losses();
    let lines =
        table.iter().map(|(loss, count)| format!("{} {}: {} ({count})", loss.kind, loss.field, loss.what));
    (Arc::clone(moved.class().payload.as_ref().unwrap()), notes.0, lines.collect())
}

fn member(payload: &FieldClass, index: usize) -> (&str, &FieldKind) {
    let FieldKind::Structure { members, .. } = &payload.kind else { panic!("{payload:?}") };
    (&members[index].name, &members[index].class.kind)
}

#[test]
fn nothing_is_lowered_without_need() {
    let kinds: [(FieldKind, PushValue); 4] = [
        (FieldKind::Boolean(bits(8)), |values| values.push(true)),
        (FieldKind::Guid { alignment: 8 }, |values| values.push(Uuid::from_u128(7))),
        (FieldKind::Null { alignment: 1 }, |values| values.push(FieldValue::Null)),
        (FieldKind::BitMap { bits: bits(8), flags: mappings() }, |values| values.push(FieldValue::Bits(5))),
    ];
    for (kind, push) in kinds {
        let source = class(kind);
        let (payload, _, losses) = lower(ALL, Arc::clone(&source), push);
        assert_eq!(member(&payload, 0), ("m", &source.kind));
        assert_eq!(losses, [""; 0]);
    }
}

#[test]
fn bits_become_unsigned_integers() {
    let without = ALL.without(&[Feature::BitArrays, Feature::BitMaps, Feature::Booleans]);
    let sources: [(FieldKind, PushValue, &str); 3] = [
        (FieldKind::BitArray(bits(16)), |values| values.push(FieldValue::Bits(300)), "{m=u300}"),
        (
            FieldKind::BitMap { bits: bits(16), flags: mappings() },
            |values| values.push(FieldValue::Bits(6)),
            "{m=u6}",
        ),
        (FieldKind::Boolean(bits(16)), |values| values.push(true), "{m=u1}"),
    ];
    for (kind, push, expected) in sources {
        let (payload, moved, losses) = lower(without, class(kind), push);
        let FieldKind::Integer { bits, integer } = member(&payload, 0).1 else { panic!("{payload:?}") };
        assert!(bits.length == 16 && !integer.signed);
        assert_eq!(moved, expected);
        assert!(losses.len() == 1 && losses[0].ends_with("-> unsigned integer (1)"), "{losses:?}");
    }
    // If the format has bit arrays, a bit map becomes one.
    let (payload, moved, _) = lower(
        ALL.without(&[Feature::EmptyBitMaps]),
        class(FieldKind::BitMap { bits: bits(16), flags: Mappings::default() }),
        |values| values.push(FieldValue::Bits(6)),
    );
    assert!(matches!(member(&payload, 0).1, FieldKind::BitArray(_)));
    assert_eq!(moved, "{m=b6}");
}

#[test]
fn the_order_of_bits_is_that_of_the_bytes() {
    let reversed = BitField { bit_order: BitOrder::LastToFirst, ..bits(16) };
    let source = class(FieldKind::Integer { bits: reversed, integer: IntegerProperties::default() });
    let (payload, moved, losses) =
        lower(ALL.without(&[Feature::BitOrders]), source, |values| values.push(9u64));
    assert!(matches!(member(&payload, 0).1, FieldKind::Integer { bits, .. } if !bits.is_reversed()));
    assert_eq!(moved, "{m=u9}");
    assert_eq!(losses.len(), 1, "{losses:?}");
}

#[test]
fn variable_lengths_become_fixed_ones() {
    let without = ALL.without(&[
        Feature::VariableLengthIntegers,
        Feature::VariableLengthBitArrays,
        Feature::VariableLengthBooleans,
    ]);
    let of = |value| class(FieldKind::VariableLength { value, alignment: 8 });
    let signed = IntegerProperties { signed: true, ..IntegerProperties::default() };
    let (payload, moved, _) =
        lower(without, of(VariableLengthValue::Integer(signed)), |values| values.push(-5i64));
    assert!(matches!(member(&payload, 0).1, FieldKind::Integer { bits, integer }
        if bits.length == 64 && integer.signed));
    assert_eq!(moved, "{m=s-5}");
    let (payload, _, _) = lower(without, of(VariableLengthValue::Boolean), |values| values.push(true));
    assert!(matches!(member(&payload, 0).1, FieldKind::Boolean(bits) if bits.length == 8));
    // A number that does not fit becomes the nearest one, and is counted.
    let unsigned = || VariableLengthValue::Integer(IntegerProperties::default());
    let (_, moved, losses) = lower(without, of(unsigned()), |values| {
        values.push(FieldValue::Wide(Wide { words: &[1, 1], length: 70, signed: false }));
    });
    assert_eq!(moved, format!("{{m=u{}}}", u64::MAX));
    assert!(losses.iter().any(|line| line.starts_with("rounded") && line.ends_with("(1)")), "{losses:?}");
}

#[test]
fn texts_in_other_encodings_become_utf8() {
    let without = Capabilities { encodings: &[StringEncoding::Utf8], ..ALL };
    let text = |length| class(FieldKind::String { encoding: StringEncoding::Utf16Le, length, alignment: 8 });
    let bytes: Vec<u8> = "häß".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (payload, moved, losses) =
        lower(without, text(StringLength::NullTerminated), |values| values.push(FieldValue::Text(&bytes)));
    let expected = FieldKind::String {
        encoding: StringEncoding::Utf8,
        length: StringLength::NullTerminated,
        alignment: 8,
    };
    assert_eq!(member(&payload, 0).1, &expected);
    assert_eq!(moved, "{m=\"häß\"}");
    assert!(losses.len() == 1 && losses[0].starts_with("lowered"), "{losses:?}");
    // Half of a surrogate pair is invalid: it becomes U+FFFD, and is counted.
    let (_, moved, losses) = lower(without, text(StringLength::NullTerminated), |values| {
        values.push(FieldValue::Text(&[0x41, 0, 0, 0xd8]));
    });
    assert_eq!(moved, "{m=\"A\u{fffd}\"}");
    assert!(losses.iter().any(|line| line.starts_with("rounded payload.m")), "{losses:?}");
}

#[test]
fn what_only_values_say_is_said_before() {
    let array = FieldKind::Array {
        element: byte(),
        length: Length::Dynamic(nowhere()),
        minimum_alignment: 1,
        element_aligns: true,
    };
    let (payload, moved, losses) = lower(ALL, class(array), |values| {
        values.begin_array();
        values.push(7u64);
        values.push(8u64);
        values.end();
    });
    assert_eq!(member(&payload, 0).0, "m_length");
    assert_eq!(moved, "{m_length=u2 m=[u7 u8]}");
    assert_eq!(losses, ["lowered payload.m.m_length: added: the length of the next member (1)"]);
    let optional = FieldKind::Optional { field: byte(), selector: nowhere(), ranges: None };
    for (present, expected) in
        [(true, "{m_present=u1 m=?true,1(u7)}"), (false, "{m_present=u0 m=?false,0()}")]
    {
        let (_, moved, _) = lower(ALL, class(optional.clone()), |values| {
            values.push_optional(present);
            if present {
                values.push(7u64);
            }
        });
        assert_eq!(moved, expected);
    }
    let option = |value| VariantOption {
        name: None,
        class: byte(),
        ranges: RangeSet(vec![IntegerRange::single(value)]),
        attributes: Default::default(),
    };
    let variant =
        FieldKind::Variant { options: vec![option(10), option(20)], selector: nowhere(), alignment: 1 };
    let (payload, moved, _) = lower(ALL, class(variant), |values| {
        values.push_variant(1);
        values.push(7u64);
    });
    assert_eq!(moved, "{m_tag=u1 m=|1,1<option1=u7>}");
    let FieldKind::Integer { integer, .. } = member(&payload, 0).1 else { panic!("{payload:?}") };
    assert_eq!(integer.mappings.as_ref().unwrap().iter().count(), 2);
}

#[test]
fn optionals_become_variants() {
    let without = ALL.without(&[Feature::Optionals]);
    let optional = FieldKind::Optional { field: byte(), selector: nowhere(), ranges: None };
    let (payload, moved, losses) = lower(without, class(optional.clone()), |values| {
        values.push_optional(true);
        values.push(7u64);
    });
    assert_eq!(moved, "{m_present=u1 m=|1,1<some=u7>}");
    let FieldKind::Variant { options, .. } = member(&payload, 1).1 else { panic!("{payload:?}") };
    assert_eq!(
        options.iter().map(|option| option.name.as_deref()).collect::<Vec<_>>(),
        [Some("none"), Some("some")]
    );
    assert!(losses.contains(&"lowered payload.m: optional -> variant (1)".to_owned()), "{losses:?}");
    let (_, moved, _) = lower(without, class(optional), |values| values.push_optional(false));
    assert_eq!(moved, "{m_present=u0 m=|0,0<none={}>}");
}

#[test]
fn what_has_no_class_becomes_bytes() {
    let without = ALL.without(&[Feature::Guids, Feature::Nulls, Feature::Blobs]);
    let guid = Uuid::from_bytes_le([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    let (_, moved, _) = lower(without, class(FieldKind::Guid { alignment: 8 }), |values| values.push(guid));
    let all: Vec<String> = (1..17).map(|byte| format!("u{byte}")).collect();
    assert_eq!(moved, format!("{{m=[{}]}}", all.join(" ")));
    let (payload, moved, _) =
        lower(ALL.without(&[Feature::Guids]), class(FieldKind::Guid { alignment: 8 }), |values| {
            values.push(guid)
        });
    assert!(matches!(member(&payload, 0).1, FieldKind::Blob { length: Length::Static(16), .. }));
    assert_eq!(moved, "{m=x0102030405060708090a0b0c0d0e0f10}");
    let (_, moved, losses) =
        lower(without, class(FieldKind::Null { alignment: 1 }), |values| values.push(FieldValue::Null));
    assert_eq!(moved, "{m={}}");
    assert!(losses[0].ends_with("-> structure without members (1)"), "{losses:?}");
    let blob = FieldKind::Blob { length: Length::Static(2), media_type: String::new(), alignment: 8 };
    let (_, moved, _) = lower(without, class(blob), |values| values.push(FieldValue::Blob(&[1, 255])));
    assert_eq!(moved, "{m=[u1 u255]}");
}

#[test]
fn dates_become_integers() {
    let date = FieldClass::wall_clock(true, WallClock::FILETIME);
    let without = ALL.without(&[Feature::WallClocks]);
    let (payload, moved, losses) = lower(without, Arc::new(date), |values| values.push(-3i64));
    let FieldKind::Integer { integer, .. } = member(&payload, 0).1 else { panic!("{payload:?}") };
    assert!(integer.wall_clock.is_none());
    assert_eq!(moved, "{m=s-3}");
    assert_eq!(losses, ["lowered payload.m: date -> integer (1)"]);
}

#[test]
fn names_become_identifiers() {
    let only = ALL.without(&[Feature::AnyNames]);
    for (name, expected) in [("a-b", "a_b"), ("9", "_9"), ("", "_"), ("fine", "fine")] {
        let (payload, _, losses) = lower_named(name, only, byte(), |values| values.push(1u64));
        assert_eq!(member(&payload, 0).0, expected);
        assert_eq!(losses.len(), usize::from(name != expected), "{losses:?}");
    }
}

#[test]
fn alignments_are_kept_by_empty_structures() {
    let without = Capabilities {
        integer_bits: 64,
        ..ALL.without(&[
            Feature::StringAlignments,
            Feature::VariantAlignments,
            Feature::ArrayAlignments,
            Feature::Guids,
            Feature::Unions,
        ])
    };
    let (length, alignment) = (Length::Static(2), 32);
    let string = StringLength::NullTerminated;
    let option = |value| VariantOption {
        name: Some(format!("option{value}")),
        class: byte(),
        ranges: RangeSet(vec![IntegerRange { lower: value, upper: value }]),
        attributes: Attributes::default(),
    };
    let two = |values: &mut EventValues| {
        values.begin_array();
        values.push(1u64);
        values.push(2u64);
        values.end();
    };
    let wide = BitField::new(128, ByteOrder::LittleEndian, alignment);
    let integer = VariableLengthValue::Integer(IntegerProperties::default());
    let cases: [(FieldKind, PushValue); 7] = [
        (FieldKind::String { encoding: StringEncoding::Utf8, length: string, alignment }, |values| {
            values.push("text");
        }),
        (FieldKind::Blob { length: length.clone(), media_type: String::new(), alignment }, |values| {
            values.push(FieldValue::Blob(&[1, 2]));
        }),
        (FieldKind::VariableLength { value: integer, alignment }, |values| values.push(7u64)),
        (
            FieldKind::Array { element: byte(), length, minimum_alignment: alignment, element_aligns: true },
            two,
        ),
        (
            FieldKind::Variant { options: vec![option(0), option(1)], selector: nowhere(), alignment },
            |values| {
                values.push_variant(1);
                values.push(5u64);
            },
        ),
        (FieldKind::Guid { alignment }, |values| values.push(Uuid::from_u128(7))),
        (FieldKind::Integer { bits: wide, integer: IntegerProperties::default() }, |values| {
            values.push(FieldValue::Wide(Wide { words: &[9, 1], length: 128, signed: false }))
        }),
    ];
    for (kind, push) in cases {
        let source = class(kind);
        let (payload, moved, losses) = lower(without, Arc::clone(&source), push);
        let FieldKind::Structure { members, .. } = &payload.kind else { panic!("{payload:?}") };
        let at = members.iter().position(|member| member.name == "m_alignment").unwrap();
        let FieldKind::Structure { members: none, minimum_alignment } = &members[at].class.kind else {
            panic!("{payload:?}")
        };
        assert!(none.is_empty() && *minimum_alignment == alignment && at + 2 == members.len(), "{payload:?}");
        assert!(members[at + 1].class.alignment() <= 8, "{payload:?}");
        assert!(moved.contains("m_alignment={} m="), "{moved}");
        let added = "lowered payload.m.m_alignment: added: the alignment of the next member (1)";
        assert!(losses.iter().any(|loss| loss == added), "{losses:?}");
        assert!(losses.iter().all(|loss| !loss.contains("alignment 32")), "{losses:?}");
        // When it is read, it is no longer a member.
        let record = EventRecordClass { payload: Some(payload), ..EventRecordClass::default() };
        let stream = DataStreamClass { event_records: vec![Arc::new(record)], ..DataStreamClass::default() };
        let mut trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
        apply_annotations(&mut trace);
        let payload = trace.data_streams[0].event_records[0].payload.clone().unwrap();
        let FieldKind::Structure { members, .. } = &payload.kind else { panic!("{payload:?}") };
        let own = members.last().unwrap();
        assert_eq!(own.class.alignment(), alignment, "{payload:?}");
        assert_eq!(
            std::mem::discriminant(&own.class.kind),
            std::mem::discriminant(&source.kind),
            "{payload:?}"
        );
        assert!(members.iter().all(|member| member.name != "m_alignment"), "{payload:?}");
    }
}

/// An alias is copied once, however many members have an alignment added before them.
#[test]
fn aliases_are_aligned_once() {
    let text = class(FieldKind::String {
        encoding: StringEncoding::Utf8,
        length: StringLength::NullTerminated,
        alignment: 8,
    });
    let mut pad = FieldClass::new(FieldKind::Structure { members: Vec::new(), minimum_alignment: 64 });
    let added = ("added".to_owned(), Value::Text("alignment".to_owned()));
    pad.attributes.set(NAMESPACE, Value::Map(vec![added]));
    let pad = Arc::new(pad);
    let member = |class: &Arc<FieldClass>| {
        let mut member = Member::new("m", FieldClass::unsigned(8));
        member.class = Arc::clone(class);
        member
    };
    let members = (0..100_000).flat_map(|_| [member(&pad), member(&text)]).chain([member(&pad)]);
    let payload = Arc::new(FieldClass::structure(members));
    let record = EventRecordClass { payload: Some(payload), ..EventRecordClass::default() };
    let stream = DataStreamClass { event_records: vec![Arc::new(record)], ..DataStreamClass::default() };
    let mut trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
    apply_annotations(&mut trace);
    let payload = trace.data_streams[0].event_records[0].payload.clone().unwrap();
    let FieldKind::Structure { members, .. } = &payload.kind else { panic!() };
    // An alignment at the end stays.
    assert_eq!(members.len(), 100_001);
    let first = &members[0].class;
    assert_eq!(first.alignment(), 64);
    assert!(members[..100_000].iter().all(|member| Arc::ptr_eq(&member.class, first)));
}

/// Packets and events are copied if the compiled layouts agree, whatever was changed after lowering.
#[test]
fn layouts_decide_about_copies() {
    let byte = |name: &str| Member::new(name, FieldClass::unsigned(8));
    let array = FieldClass::new(FieldKind::Array {
        element: Arc::new(FieldClass::unsigned(8)),
        length: Length::Dynamic(Box::new(FieldLocation::absolute(Scope::EventRecordHeader, ["n"]))),
        minimum_alignment: 1,
        element_aligns: true,
    });
    let structure = |members: Vec<Member>| Some(Arc::new(FieldClass::structure(members)));
    let record = |payload| Arc::new(EventRecordClass { payload, ..EventRecordClass::default() });
    let stream = DataStreamClass {
        packet_context: structure(vec![byte("c")]),
        event_record_header: structure(vec![byte("n"), byte("m")]),
        event_records: vec![record(structure(vec![Member::new("a", array)]))],
        ..DataStreamClass::default()
    };
    let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
    let trace = Arc::new(Trace::new(trace, "trace", &Limits::default()).unwrap());
    let copies = |change: &dyn Fn(&mut DataStreamClass)| {
        let options = LowerOptions::default();
        let change = |class: &mut TraceClass| change(&mut class.data_streams[0]);
        let lowered = LoweredTrace::new(&trace, &ALL, options, &[], change).unwrap();
        let event = lowered.stream(0).unwrap().declared_conversion(0);
        (lowered.keeps_packets(0), lowered.keeps_events(0), event <= ScopeConversion::SameBits)
    };
    assert_eq!(copies(&|_| {}), (true, true, true));
    let added = |class: &mut Option<Arc<FieldClass>>| {
        let class = Arc::make_mut(class.as_mut().unwrap());
        let FieldKind::Structure { members, .. } = &mut class.kind else { panic!() };
        members.push(byte("added"));
    };
    assert_eq!(copies(&|stream| added(&mut stream.packet_context)), (false, true, true));
    assert_eq!(copies(&|stream| added(&mut stream.event_record_header)), (false, false, false));
    assert_eq!(copies(&|stream| stream.common_context = structure(vec![byte("x")])), (false, false, true));
    // The same layout, but the length is in the other field.
    let other_length = |stream: &mut DataStreamClass| {
        let mut class = (*stream.event_records[0]).clone();
        let payload = Arc::make_mut(class.payload.as_mut().unwrap());
        let FieldKind::Structure { members, .. } = &mut payload.kind else { panic!() };
        let FieldKind::Array { length, .. } = &mut Arc::make_mut(&mut members[0].class).kind else {
            panic!()
        };
        *length = Length::Dynamic(Box::new(FieldLocation::absolute(Scope::EventRecordHeader, ["m"])));
        stream.event_records[0] = Arc::new(class);
    };
    assert_eq!(copies(&other_length), (false, true, false));
}

/// Attributes from a reader are kept in the annotations of a format without attributes, even if that is converted
/// again.
#[test]
fn attributes_are_kept_in_annotations() {
    let own = Value::Map(vec![("kind".to_owned(), Value::Integer(4))]);
    let mut field = FieldClass::unsigned(8);
    field.attributes.set("reader", own.clone());
    let mut record = EventRecordClass::new("e", [Member::new("m", field)]);
    record.attributes.set("reader", own.clone());
    let stream = DataStreamClass { event_records: vec![Arc::new(record)], ..DataStreamClass::default() };
    let mut class = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
    let without = ALL.without(&[Feature::Attributes]);
    let lower = |class: &TraceClass, annotates| {
        let trace = Arc::new(Trace::new(class.clone(), "trace", &Limits::default()).unwrap());
        let options = LowerOptions { annotates, ..LowerOptions::default() };
        let lowered = LoweredTrace::new(&trace, &without, options, &[], |_| {}).unwrap();
        (lowered.trace().class.clone(), lowered.losses().count(LossKind::Dropped))
    };
    assert_eq!(lower(&class, false).1, 2);
    let mut texts = Vec::new();
    for annotates in [true, false] {
        let (mut written, lost) = lower(&class, annotates);
        assert_eq!(lost, 0);
        let annotations = take_annotations(&mut written).unwrap();
        let record = &written.data_streams[0].event_records[0];
        assert!(record.attributes.is_empty(), "{record:?}");
        texts.push(annotations.to_string());
        put_annotations(&mut written, &annotations);
        apply_annotations(&mut written);
        let record = &written.data_streams[0].event_records[0];
        let members = record.payload.as_deref().and_then(FieldClass::members).unwrap();
        let found = [&record.attributes, &members[0].class.attributes].map(|all| all.get("reader"));
        assert_eq!(found, [Some(&own); 2]);
        class = written;
    }
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn large_ids_of_data_stream_classes_become_free_ones() {
    let stream = |id| DataStreamClass { id, ..DataStreamClass::default() };
    let data_streams = [0, 1 << 70, 2, u128::MAX].map(stream).to_vec();
    let class = TraceClass { data_streams, ..TraceClass::default() };
    let trace = Arc::new(Trace::new(class, "trace", &Limits::default()).unwrap());
    for (numbers_streams, expected) in [(false, [0, 1 << 70, 2, u128::MAX]), (true, [0, 1, 2, 3])] {
        let options = LowerOptions { numbers_streams, ..LowerOptions::default() };
        let lowered = LoweredTrace::new(&trace, &ALL, options, &[], |_| {}).unwrap();
        let ids: Vec<u128> = lowered.trace().class.data_streams.iter().map(|stream| stream.id).collect();
        assert_eq!(ids, expected);
        assert_eq!(lowered.losses().count(LossKind::Renamed), if numbers_streams { 2 } else { 0 });
    }
}
