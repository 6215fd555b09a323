//! Padding, length fields, GUIDs, and UTF-16 strings at any offset.

use std::cell::Cell;
use std::sync::Arc;

use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, Length, Member, StringLength, Uuid,
};
use ichnos_model::decode::{DecodeErrorKind, DecodeLimits, PacketBits, Position, UNKNOWN};
use ichnos_model::field::{Field, Skip, StringEncoding, Text};
use ichnos_model::plan::{Plan, TracePlans};
use ichnos_model::trace::Limits;
use ichnos_model::{Scope, TraceClass, Visitor};

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
        self.0.push(format!("{}={:?}", field.name().unwrap_or("?"), value.to_str_lossy()));
    }
    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.0.push(format!("{}={bytes:?}", field.name().unwrap()));
    }
    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        self.0.push(format!("{}={value}", field.name().unwrap_or("?")));
    }
}

/// Decodes a payload to its values and its end in bits, or the position and the kind of an error. Checks that a visitor
/// without values gets the same result.
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
    // An empty text has no bytes.
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
    // The text starts within a byte, if it is empty.
    let odd = prefixed(BitField::new(3, LITTLE, 1), 1, StringEncoding::Utf8, 8);
    assert_eq!(
        decode(&[("t", &odd), ("a", &unsigned(4, 1))], b"\x50"),
        Ok((vec!["t=\"\"".to_owned(), "a=5".to_owned()], 8))
    );
    assert!(matches!(decode(&[("t", &odd)], b"\x51x"), Err((4, DecodeErrorKind::TextWithinByte))));
    let huge = prefixed(BitField::new(64, LITTLE, 1), u64::MAX, StringEncoding::Utf8, 8);
    assert!(decode(&[("t", &huge)], &[0xff; 32]).is_err());
}

/// UTF-16 text with a terminating zero.
fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn utf16_class() -> Arc<FieldClass> {
    let (encoding, length) = (StringEncoding::Utf16Le, StringLength::NullTerminated);
    class(FieldKind::String { encoding, length, alignment: 8 })
}

/// Code units are counted from the start of the text, at any address.
#[test]
fn utf16_texts_at_any_byte() {
    let long = "0123456789\u{100}\u{1}\u{ff00}".repeat(9);
    for before in 0..9 {
        let gap = padding(8 * before + 8, 8);
        let members = [
            ("gap", &gap),
            ("a", &utf16_class()),
            ("b", &unsigned(8, 8)),
            ("none", &utf16_class()),
            ("c", &utf16_class()),
            ("last", &unsigned(16, 8)),
        ];
        for text in ["", "x", "\u{100}\u{1}", "\u{1f600}é", &long] {
            let mut data = vec![0xff; before as usize + 1];
            data.extend(utf16(text));
            data.push(7);
            data.extend(utf16(""));
            data.extend(utf16(&long));
            data.extend([1, 2]);
            let values = [
                format!("a={text:?}"),
                "b=7".to_owned(),
                "none=\"\"".to_owned(),
                format!("c={long:?}"),
                "last=513".to_owned(),
            ];
            assert_eq!(decode(&members, &data), Ok((values.to_vec(), 8 * data.len() as u64)));
            for length in 0..data.len() {
                assert!(decode(&members, &data[..length]).is_err(), "{length}");
            }
        }
    }
    // Half a code unit does not terminate the text.
    assert_eq!(decode(&[("a", &utf16_class())], b"a\0\0"), Err((0, DecodeErrorKind::EndlessString)));
}

#[test]
fn guids_at_any_byte() {
    let guid = Arc::new(FieldClass::guid());
    let bytes: Vec<u8> = (0..16).collect();
    let shown = "03020100-0504-0706-0809-0a0b0c0d0e0f";
    for before in 0..9 {
        let gap = padding(8 * before + 8, 8);
        let members =
            [("gap", &gap), ("g", &guid), ("n", &unsigned(8, 8)), ("t", &utf16_class()), ("h", &guid)];
        let mut data = vec![0xff; before as usize + 1];
        data.extend([&bytes[..], &[9], &utf16("t"), &bytes].concat());
        let values = [format!("g={shown}"), "n=9".to_owned(), "t=\"t\"".to_owned(), format!("h={shown}")];
        assert_eq!(decode(&members, &data), Ok((values.to_vec(), 8 * data.len() as u64)));
        for length in 0..data.len() {
            assert!(decode(&members, &data[..length]).is_err(), "{length}");
        }
    }
    // The GUID starts at the next byte.
    let members = [("n", &unsigned(4, 1)), ("g", &guid)];
    let data = [&[3], &bytes[..]].concat();
    assert_eq!(decode(&members, &data), Ok((vec!["n=3".to_owned(), format!("g={shown}")], 17 * 8)));
    let plans = plans(&[("n", &unsigned(8, 8)), ("g", &guid)]);
    let plan = plans.data_streams[0].event_records[0].payload.as_ref().unwrap();
    assert_eq!(plan.fixed_size(), Some(17 * 8));
}

/// Arrays of structures, texts and GUIDs, and BLOBs, with lengths in hidden or other integers.
#[test]
fn lengths_before_arrays_and_blobs() {
    let guid = Arc::new(FieldClass::guid());
    let array = |element: &Arc<FieldClass>, length: &str| {
        let location = FieldLocation { origin: None, ..FieldLocation::absolute(Scope::Payload, [length]) };
        class(FieldKind::Array {
            element: Arc::clone(element),
            length: Length::Dynamic(Box::new(location)),
            minimum_alignment: 8,
            element_aligns: true,
        })
    };
    let pair = [Member::new("key", utf16_class()), Member::new("value", utf16_class())];
    let pair = Arc::new(FieldClass::structure(pair));
    let blob = class(FieldKind::Blob {
        length: Length::Dynamic(Box::new(FieldLocation::absolute(Scope::Payload, ["size"]))),
        media_type: String::new(),
        alignment: 8,
    });
    // An array within the elements of another one, with its own length.
    let inner = Arc::new(FieldClass::structure([
        Member::new("m", unsigned(16, 8)),
        Member::new("names", array(&utf16_class(), "m")),
    ]));
    for length in [padding(16, 8), unsigned(16, 8)] {
        let members = [
            ("count", &length),
            ("pairs", &array(&pair, "count")),
            ("size", &length),
            ("blob", &blob),
            ("n", &length),
            ("guids", &array(&guid, "n")),
            ("lists", &array(&inner, "n")),
            ("last", &unsigned(8, 8)),
        ];
        let mut data = vec![2, 0];
        ["a", "", "key", "\u{1f600}"].iter().for_each(|text| data.extend(utf16(text)));
        data.extend(b"\x03\0xyz\x02\0");
        data.extend(0..32);
        data.extend([1, 0]);
        data.extend(utf16("one"));
        data.extend([0, 0, 8]);
        let expected = [
            ("count=2", true),
            ("key=\"a\"", false),
            ("value=\"\"", false),
            ("key=\"key\"", false),
            ("value=\"\u{1f600}\"", false),
            ("size=3", true),
            ("blob=[120, 121, 122]", false),
            ("n=2", true),
            ("?=03020100-0504-0706-0809-0a0b0c0d0e0f", false),
            ("?=13121110-1514-1716-1819-1a1b1c1d1e1f", false),
            ("m=1", false),
            ("?=\"one\"", false),
            ("m=0", false),
            ("last=8", false),
        ];
        let is_hidden = matches!(length.kind, FieldKind::Padding(_));
        let shown = expected.iter().filter(|(_, is_length)| !(is_hidden && *is_length));
        let values = shown.map(|(value, _)| (*value).to_owned()).collect();
        assert_eq!(decode(&members, &data), Ok((values, 8 * data.len() as u64)));
        for length in 0..data.len() {
            assert!(decode(&members, &data[..length]).is_err(), "{length}");
        }
    }
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

#[test]
fn bytes_determine_the_values_without_lengths_and_large_alignments() {
    let is_determined = |members: &[(&str, &Arc<FieldClass>)], alignment| {
        let plans = plans(members);
        plans.data_streams[0].event_records[0].payload.as_ref().unwrap().is_determined_by_bytes(alignment)
    };
    let (word, length, text) = (unsigned(32, 32), unsigned(8, 8), dynamic("length"));
    let own_length = prefixed(BitField::new(8, LITTLE, 8), 0, StringEncoding::Utf8, 8);
    assert!(is_determined(&[("length", &length), ("word", &word), ("text", &own_length)], 4));
    assert!(!is_determined(&[("word", &word)], 2));
    assert!(!is_determined(&[("length", &length), ("text", &text)], 64));
}
