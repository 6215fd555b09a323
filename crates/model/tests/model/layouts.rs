//! Padding, and strings that begin with their length.

use std::cell::Cell;
use std::sync::Arc;

use ichnos_model::decode::{DecodeErrorKind, DecodeLimits, PacketBits, Position, UNKNOWN};
use ichnos_model::plan::{Plan, TracePlans};
use ichnos_model::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, Field, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, Limits, Member, Scope, Skip, StringEncoding, StringLength, Text, TraceClass, Visitor,
};

const LITTLE: ByteOrder = ByteOrder::LittleEndian;

fn class(kind: FieldKind) -> Arc<FieldClass> {
    Arc::new(FieldClass::new(kind))
}

fn unsigned(length: u64, alignment: u64) -> Arc<FieldClass> {
    let bits = BitField::new(length, LITTLE, alignment);
    class(FieldKind::Integer { bits, integer: IntegerProperties::default() })
}

fn padding(length: u64, alignment: u64) -> Arc<FieldClass> {
    class(FieldKind::Padding(BitField::new(length, LITTLE, alignment)))
}

fn prefixed(length: BitField, gap: u64, encoding: StringEncoding, alignment: u64) -> Arc<FieldClass> {
    class(FieldKind::String { encoding, length: StringLength::Prefixed { length, gap }, alignment })
}

fn dynamic(length: &str) -> Arc<FieldClass> {
    let length = StringLength::Dynamic(Box::new(FieldLocation::absolute(Scope::Payload, [length])));
    class(FieldKind::String { encoding: StringEncoding::Utf8, length, alignment: 8 })
}

fn plans(members: &[(&str, &Arc<FieldClass>)]) -> TracePlans {
    let members = members.iter().map(|(name, class)| Member::new(*name, Arc::clone(class))).collect();
    let payload = Some(class(FieldKind::Structure { members, minimum_alignment: 8 }));
    let event_records = vec![Arc::new(EventRecordClass { payload, ..EventRecordClass::default() })];
    let stream = DataStreamClass { event_records, ..DataStreamClass::default() };
    let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
    TracePlans::compile(&trace, &Limits::default()).unwrap()
}

#[derive(Default)]
struct Values(Vec<String>);

impl Visitor for Values {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.0.push(format!("{}={value}", field.name().unwrap()));
    }
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.0.push(format!("{}={:?}", field.name().unwrap(), value.to_str_lossy()));
    }
}

/// The values of a payload and where it ends in bits, or what is wrong and where; the same for those who
/// want no values.
fn decode(
    members: &[(&str, &Arc<FieldClass>)],
    data: &[u8],
) -> Result<(Vec<String>, u64), (u64, DecodeErrorKind)> {
    fn walk(
        plan: &Plan,
        slots: usize,
        data: &[u8],
        visitor: &mut impl Visitor,
    ) -> Result<u64, (u64, DecodeErrorKind)> {
        let slots = vec![Cell::new(UNKNOWN); slots];
        let mut at = Position::default();
        let limits = DecodeLimits::from(&Limits::default());
        let result = plan.decode(PacketBits::whole(data), &mut at, &slots, limits, visitor);
        result.map(|()| at.bit).map_err(|error| (error.bit, error.kind))
    }
    let plans = plans(members);
    let plan = plans.data_streams[0].event_records[0].payload.as_ref().unwrap();
    let mut values = Values::default();
    let result = walk(plan, plans.slots(), data, &mut values);
    assert_eq!(result, walk(plan, plans.slots(), data, &mut Skip));
    result.map(|end| (values.0, end))
}

#[test]
fn padding_is_got_past() {
    let members = [
        ("a", &unsigned(8, 8)),
        ("", &padding(12, 1)),
        ("b", &unsigned(4, 1)),
        ("", &padding(70, 32)),
        ("c", &unsigned(2, 1)),
        ("", &padding(8, 8)),
    ];
    let data = [7, 0xff, 0x5f, 0xee, 1, 2, 3, 4, 5, 6, 7, 8, 0b1100_0000, 0xdd];
    let values = ["a=7", "b=5", "c=3"].map(str::to_owned).to_vec();
    assert_eq!(decode(&members, &data), Ok((values, 14 * 8)));
    for length in 0..data.len() {
        assert!(decode(&members, &data[..length]).is_err(), "{length}");
    }
}

#[test]
fn strings_begin_with_their_length() {
    let text = prefixed(BitField::new(15, LITTLE, 1), 17 + 32, StringEncoding::Utf8, 8);
    let members = [("a", &unsigned(8, 8)), ("t", &text), ("b", &unsigned(8, 32))];
    let data = b"\x01\x05\x80......gr\xc3\xbc\0..\x02";
    let values = ["a=1", "t=\"grü\\0\"", "b=2"].map(str::to_owned).to_vec();
    assert_eq!(decode(&members, data), Ok((values, 17 * 8)));
    assert!(matches!(decode(&members, &data[..13]), Err((72, DecodeErrorKind::BeyondContent { .. }))));
    assert!(matches!(decode(&members, &data[..8]), Err((8, DecodeErrorKind::BeyondContent { .. }))));
    // An empty one has no bytes to look at.
    let members = [("t", &text)];
    assert_eq!(decode(&members, b"\0\x80......"), Ok((vec!["t=\"\"".to_owned()], 64)));
}

#[test]
fn lengths_and_texts_of_any_kind() {
    let utf16 = prefixed(BitField::new(16, ByteOrder::BigEndian, 1), 0, StringEncoding::Utf16Be, 16);
    let members = [("a", &unsigned(8, 8)), ("t", &utf16)];
    assert_eq!(
        decode(&members, b"\x01.\0\x04\0h\0i"),
        Ok((vec!["a=1".to_owned(), "t=\"hi\"".to_owned()], 64))
    );
    let half = decode(&members, b"\x01.\0\x03\0h\0i");
    assert!(matches!(half, Err((16, DecodeErrorKind::BrokenCodeUnit(3, 2)))), "{half:?}");
    // Within a byte, if it is empty.
    let odd = prefixed(BitField::new(3, LITTLE, 1), 1, StringEncoding::Utf8, 8);
    assert_eq!(
        decode(&[("t", &odd), ("a", &unsigned(4, 1))], b"\x50"),
        Ok((vec!["t=\"\"".to_owned(), "a=5".to_owned()], 8))
    );
    assert!(matches!(decode(&[("t", &odd)], b"\x51x"), Err((4, DecodeErrorKind::TextWithinByte))));
    let huge = prefixed(BitField::new(64, LITTLE, 1), u64::MAX, StringEncoding::Utf8, 8);
    assert!(decode(&[("t", &huge)], &[0xff; 32]).is_err());
}

#[test]
fn padding_can_say_a_length() {
    let members = [
        ("first", &padding(8, 8)),
        ("second", &padding(8, 8)),
        ("a", &dynamic("first")),
        ("b", &dynamic("second")),
    ];
    let values = ["a=\"xyz\"", "b=\"q\""].map(str::to_owned).to_vec();
    assert_eq!(decode(&members, b"\x03\x01xyzq"), Ok((values, 48)));
    let beyond = DecodeErrorKind::LengthBeyond { length: 2, unit: "bytes", left: 8 };
    assert_eq!(decode(&members, b"\x03\x02xyzq"), Err((40, beyond)));
}
