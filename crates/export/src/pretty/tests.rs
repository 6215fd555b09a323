use std::sync::Arc;

use ichnos_model::class::{
    Attributes, DisplayBase, FieldClass, FieldKind, FieldLocation, IntegerProperties, IntegerRange, Length,
    Mappings, Member, RangeSet, StringLength, VariableLengthValue, VariantOption,
};
use ichnos_model::clock::ClockValue;
use ichnos_model::event::EventValues;
use ichnos_model::field::StringEncoding;
use ichnos_model::message::{Damage, DamageKind, Discarded};
use ichnos_model::{Message, Scope};

use super::*;
use crate::testing::{
    Fixture, SharedBytes, bits, class, guid_dates_characters, integer, send, structure, u8_class,
};

fn mappings(names: &[(&str, i128, i128)]) -> Mappings {
    let set = |lower, upper| RangeSet(vec![IntegerRange { lower, upper }]);
    names.iter().map(|(name, lower, upper)| (*name, set(*lower, *upper))).collect()
}

fn gmt() -> PrettyOptions {
    PrettyOptions { clock_gmt: true, ..PrettyOptions::default() }
}

fn print(fixture: &Fixture, options: PrettyOptions, payloads: &[&[u8]]) -> String {
    let out = SharedBytes::default();
    let mut sink = Pretty::new(out.clone(), options);
    for (i, payload) in payloads.iter().enumerate() {
        fixture.event(&mut sink, 1_000_000_000 + 11 * i as i64, payload);
    }
    fixture.end(&mut sink);
    out.text()
}

/// Returns the displayed payload of the only event.
fn payload(members: Vec<(&str, Arc<FieldClass>)>, bytes: &[u8], flags: bool) -> String {
    let options = PrettyOptions { enum_flags: flags, ..gmt() };
    let text = print(&Fixture::new(structure(members)), options, &[bytes]);
    text.split_once("}, ").unwrap().1.trim_end().to_owned()
}

#[test]
fn lines_and_deltas() {
    let fixture = Fixture::new(structure(vec![("a", u8_class())]));
    assert_eq!(
        print(&fixture, gmt(), &[&[1], &[2]]),
        "[00:00:01.000000000] (+?.?????????) host:(7) ev: { cpu = 2 }, { a = 1 }\n\
         [00:00:01.000000011] (+0.000000011) host:(7) ev: { cpu = 2 }, { a = 2 }\n"
    );
    let options = PrettyOptions { clock_cycles: true, fields: PrettyFields::NONE, ..gmt() };
    assert_eq!(
        print(&fixture, options, &[&[1], &[2]]),
        "[00000000001000000000] (+????????????) ev: { cpu = 2 }, { a = 1 }\n\
         [00000000001000000011] (+000000000011) ev: { cpu = 2 }, { a = 2 }\n"
    );
    let options = PrettyOptions { names: PrettyNames::NONE, clock_seconds: true, no_delta: true, ..gmt() };
    assert_eq!(print(&fixture, options, &[&[1]]), "[1.000000000] host:(7) ev: { 2 }, { 1 }\n");
}

#[test]
fn times_since_a_later_event() {
    let text = |delta: i128, cycles, unsigned| {
        let mut out = Vec::new();
        push_delta(&mut out, Some(delta), DeltaForm { cycles, unsigned });
        String::from_utf8(out).unwrap()
    };
    let cases = [
        (7, true, true, "+000000000007"),
        (-32, true, false, "-000000000032"),
        (-32, true, true, "+18446744073709551584"),
        (-1, true, true, "+????????????"),
        (-1, false, true, "+?.?????????"),
        (-1_500_000_000, false, false, "-1.500000000"),
        (-1_500_000_000, false, true, "+18446744072.209551616"),
    ];
    for (delta, cycles, unsigned, expected) in cases {
        assert_eq!(text(delta, cycles, unsigned), expected, "{delta} {cycles} {unsigned}");
    }
}

#[test]
fn all_names_and_fields() {
    let fixture = Fixture::new(structure(vec![("a", u8_class())]));
    let options = PrettyOptions { names: PrettyNames::ALL, fields: PrettyFields::ALL, ..gmt() };
    assert_eq!(
        print(&fixture, options, &[&[1]]),
        "timestamp = 00:00:01.000000000, delta = +?.?????????, trace = trace, , trace:hostname = host, \
         trace:vpid = (7), loglevel = TRACE_WARNING (4), name = ev, \
         stream.packet.context = { cpu = 2 }, event.fields = { a = 1 }\n"
    );
    let options = PrettyOptions { fields: PrettyFields::ALL, no_delta: true, ..gmt() };
    assert_eq!(
        print(&fixture, options, &[&[1]]),
        "[00:00:01.000000000] tracehost:(7):TRACE_WARNING (4) ev: { cpu = 2 }, { a = 1 }\n"
    );
}

#[test]
fn without_clock() {
    let fixture = Fixture::with(structure(vec![]), |trace| trace.data_streams[0].default_clock = None);
    assert_eq!(print(&fixture, gmt(), &[&[]]), "host:(7) ev: { cpu = 2 }, { }\n");
}

#[test]
fn colors() {
    let fixture = Fixture::new(structure(vec![("a", u8_class())]));
    let options = PrettyOptions { color: true, fields: PrettyFields::NONE, ..gmt() };
    assert_eq!(
        print(&fixture, options, &[&[1]]),
        "[\x1b[1m\x1b[1m\x1b[33m00:00:01.000000000\x1b[0m] (+?.?????????) \x1b[1m\x1b[1m\x1b[35mev\x1b[0m: \
         { \x1b[36mcpu\x1b[0m = \x1b[1m2\x1b[0m }, { \x1b[36ma\x1b[0m = \x1b[1m1\x1b[0m }\n"
    );
}

#[test]
fn packet_contexts_are_kept_for_the_packet_only() {
    let fixture = Fixture::new(structure(vec![]));
    let out = SharedBytes::default();
    let mut sink = Pretty::new(out.clone(), gmt());
    fixture.packet(&mut sink, 0, true);
    fixture.event(&mut sink, 0, &[]);
    fixture.event(&mut sink, 1, &[]);
    fixture.packet(&mut sink, 1, false);
    fixture.event(&mut sink, 2, &[]);
    fixture.end(&mut sink);
    assert_eq!(out.text().matches("ev: { cpu = 2 }, { }\n").count(), 3);
}

#[test]
fn integers() {
    let base = |length, signed, preferred_base| {
        integer(length, IntegerProperties { signed, preferred_base, ..IntegerProperties::default() })
    };
    let members = vec![
        ("hex", base(8, true, DisplayBase::Hexadecimal)),
        ("oct", base(8, true, DisplayBase::Octal)),
        ("bin", base(8, false, DisplayBase::Binary)),
        ("dec", base(16, true, DisplayBase::Decimal)),
        ("wide", base(128, false, DisplayBase::Decimal)),
    ];
    let mut bytes = vec![0xff, 0xfe, 5, 0xff, 0xff];
    bytes.extend_from_slice(&(u128::from(u64::MAX) + 2).to_le_bytes());
    assert_eq!(
        payload(members, &bytes, false),
        "{ hex = 0xFF, oct = 0776, bin = 0b00000101, dec = -1, wide = 18446744073709551617 }"
    );
}

/// Values that are not in the record can have more bits than their class.
#[test]
fn hexadecimal_integers_with_too_many_bits() {
    let of = |length| {
        let preferred_base = DisplayBase::Hexadecimal;
        integer(length, IntegerProperties { preferred_base, ..IntegerProperties::default() })
    };
    let fixture = Fixture::new(structure(vec![("a", of(8)), ("b", of(5)), ("c", of(64))]));
    let mut values = EventValues::default();
    values.begin(Scope::Payload);
    (0..3).for_each(|_| values.push(0x1234_5678_9abc_def7_u64));
    let out = SharedBytes::default();
    let mut sink = Pretty::new(out.clone(), gmt());
    fixture.event_with(&mut sink, &[], &values);
    fixture.end(&mut sink);
    let expected = "{ cpu = 2 }, { a = 0xF7, b = 0xF7, c = 0x123456789ABCDEF7 }\n";
    assert_eq!(out.text().split_once("ev: ").unwrap().1, expected);
}

#[test]
fn enumerations() {
    let of = |names: &[(&str, i128, i128)]| {
        integer(8, IntegerProperties { mappings: Some(mappings(names)), ..IntegerProperties::default() })
    };
    let members = vec![
        ("one", of(&[("A", 1, 1)])),
        ("two", of(&[("Z", 0, 9), ("A", 2, 2)])),
        ("none", of(&[])),
        ("flags", of(&[("X", 1, 1), ("Y", 4, 4)])),
    ];
    let bytes = [1, 2, 3, 5];
    assert_eq!(
        payload(members.clone(), &bytes, false),
        "{ one = ( \"A\" : container = 1 ), two = ( { \"A\", \"Z\" } : container = 2 ), \
         none = ( <unknown> : container = 3 ), flags = ( <unknown> : container = 5 ) }"
    );
    assert!(
        payload(members, &bytes, true)
            .ends_with("none = ( <unknown> : container = 3 ), flags = ( \"X\" | \"Y\" : container = 5 ) }")
    );
}

#[test]
fn bits_and_booleans() {
    let flags = mappings(&[("SALUT", 1, 3), ("MEOW", 2, 5), ("MIX", 7, 7)]);
    let members = vec![
        ("map", class(FieldKind::BitMap { bits: bits(8), flags: flags.clone() })),
        ("clear", class(FieldKind::BitMap { bits: bits(8), flags })),
        ("array", class(FieldKind::BitArray(bits(8)))),
        ("yes", class(FieldKind::Boolean(bits(8)))),
    ];
    assert_eq!(
        payload(members, &[0xff, 0, 0xab, 2], false),
        "{ map = 0xFF { \"MEOW\", \"MIX\", \"SALUT\" }, clear = 0x0, array = 0xAB, yes = true }"
    );
}

#[test]
fn strings_and_reals() {
    let string = class(FieldKind::String {
        encoding: StringEncoding::Utf8,
        length: StringLength::NullTerminated,
        alignment: 8,
    });
    let utf16 = class(FieldKind::String {
        encoding: StringEncoding::Utf16Le,
        length: StringLength::Static(4),
        alignment: 8,
    });
    let members = vec![
        ("s", string),
        ("u", utf16),
        ("f", class(FieldKind::Float(bits(32)))),
        ("d", class(FieldKind::Float(bits(64)))),
    ];
    let mut bytes = b"a\"\\?'\n\x01\x7f\x1b\xc3\xa9\0".to_vec();
    bytes.extend_from_slice(&[0xe9, 0, b'b', 0]);
    bytes.extend_from_slice(&0.1f32.to_le_bytes());
    bytes.extend_from_slice(&1e300f64.to_le_bytes());
    assert_eq!(
        payload(members, &bytes, false),
        "{ s = \"a\\\"\\\\\\?\\'\\n\\x01\\x7f\\e\u{e9}\", u = \"\u{e9}b\", f = 0.1, d = 1e+300 }"
    );
}

#[test]
fn guids_dates_and_characters() {
    let (members, bytes) = guid_dates_characters();
    assert_eq!(
        payload(members, &bytes, false),
        "{ id = 6b29fc40-ca47-1067-b31d-00dd010662da, filetime = 2019-08-16T12:08:20.948091100Z, \
         ticks = 2019-08-16T12:08:20.948091100Z, var = 2019-08-16T12:08:20.000000000Z, \
         none = -9223372036854775808, c = \"\u{e9}\", half = \"\u{fffd}\" }"
    );
}

#[test]
fn compound_fields() {
    let element =
        |length| FieldKind::Array { element: u8_class(), length, minimum_alignment: 1, element_aligns: true };
    let location = |name: &str| FieldLocation::absolute(Scope::Payload, [name]);
    let range = |value| RangeSet(vec![IntegerRange::single(value)]);
    let option = |name: &str, value, class| VariantOption {
        name: Some(name.to_owned()),
        class,
        ranges: range(value),
        attributes: Attributes::default(),
    };
    let variant = FieldKind::Variant {
        options: vec![option("x", 2, structure(vec![("in", u8_class())])), option("y", 3, u8_class())],
        selector: Box::new(location("n")),
        alignment: 1,
    };
    let optional = |ranges| FieldKind::Optional {
        field: u8_class(),
        selector: Box::new(location("n")),
        ranges: Some(ranges),
    };
    let variable = FieldKind::VariableLength {
        value: VariableLengthValue::Integer(IntegerProperties::default()),
        alignment: 8,
    };
    let blob = FieldKind::Blob { length: Length::Static(2), media_type: "x/y".to_owned(), alignment: 8 };
    let members = vec![
        ("n", u8_class()),
        ("dyn", class(element(Length::Dynamic(Box::new(location("n")))))),
        ("empty", class(element(Length::Static(0)))),
        ("v", class(variant)),
        ("some", class(optional(range(2)))),
        ("none", class(optional(range(3)))),
        ("s", structure(vec![])),
        ("var", class(variable)),
        ("blob", class(blob)),
    ];
    assert_eq!(
        payload(members, &[2, 10, 11, 12, 13, 0x80, 1, 0xab, 1], false),
        "{ n = 2, dyn = [ [0] = 10, [1] = 11 ], empty = [ ], v = { { in = 12 } }, some = { 13 }, \
         none = <none>, s = { }, var = 128, blob = { ab 01 } }"
    );
}

#[test]
fn commas_between_members_that_can_be_absent() {
    let member = |name, class| Member::new(name, class);
    let members = ["a", "b", "c", "d"].map(|name| match name {
        "c" => member(name, u8_class()),
        _ => member(name, Arc::new(FieldClass::optional(u8_class()))),
    });
    for last in [3, 4] {
        let members = members.iter().take(last).filter(|member| last == 4 || &*member.name != "c").cloned();
        let names: Vec<String> = members.clone().map(|member| member.name.to_string()).collect();
        let context = Arc::new(FieldClass::structure(members));
        let fixture = Fixture::with(structure(vec![]), |trace| {
            trace.data_streams[0].common_context = Some(context);
        });
        for present in 0..16u32 {
            let mut values = EventValues::default();
            values.begin(Scope::CommonContext);
            let mut expected = Vec::new();
            for (i, name) in names.iter().enumerate() {
                let is_present = name == "c" || present >> i & 1 == 1;
                if name != "c" {
                    values.push_optional(is_present);
                }
                if is_present {
                    values.push(i as u64);
                    expected.push(format!("{name} = {i}"));
                }
            }
            let out = SharedBytes::default();
            let mut sink = Pretty::new(out.clone(), gmt());
            fixture.event_with(&mut sink, &[], &values);
            fixture.end(&mut sink);
            let space = if expected.is_empty() { "" } else { " " };
            let expected = format!("{{ cpu = 2 }}, {{{space}{} }}, {{ }}\n", expected.join(", "));
            assert_eq!(out.text().split_once("ev: ").unwrap().1, expected);
        }
    }
}

/// The text before the first field is part of its label, but is also written without the field.
#[test]
fn scopes_without_their_first_field() {
    let fixture = Fixture::new(structure(vec![("a", integer(64, IntegerProperties::default()))]));
    let out = SharedBytes::default();
    let mut sink = Pretty::new(out.clone(), gmt());
    fixture.event(&mut sink, 0, &[1, 2, 3]);
    assert!(sink.finish().is_err());
    assert_eq!(out.text(), "[00:00:00.000000000] (+?.?????????) host:(7) ev: { cpu = 2 }, {\n");
}

/// A scope that is an absent field still has the text before it.
#[test]
fn scopes_that_can_be_absent() {
    let fixture = Fixture::new(Arc::new(FieldClass::optional(u8_class())));
    for (is_present, expected) in [(false, ""), (true, "5")] {
        let mut values = EventValues::default();
        values.begin(Scope::Payload);
        values.push_optional(is_present);
        if is_present {
            values.push(5u64);
        }
        let out = SharedBytes::default();
        let mut sink = Pretty::new(out.clone(), gmt());
        fixture.event_with(&mut sink, &[], &values);
        fixture.end(&mut sink);
        assert_eq!(out.text().split_once("ev: ").unwrap().1, format!("{{ cpu = 2 }}, {expected}\n"));
    }
}

#[test]
fn warnings() {
    let fixture = Fixture::new(structure(vec![]));
    let warnings = SharedBytes::default();
    let mut sink = Pretty::new(Vec::new(), gmt()).warnings_to(warnings.clone());
    send(&mut sink, &Message::DiscardedEvents(fixture.discarded(Some(5))));
    send(&mut sink, &Message::DiscardedPackets(fixture.discarded(Some(1))));
    let unknown = Discarded { begin: None::<ClockValue>, ..fixture.discarded(None) };
    send(&mut sink, &Message::DiscardedEvents(unknown));
    let damage = Damage {
        file: "f".to_owned(),
        stream: None,
        bit: 80,
        kind: DamageKind::EmptyEventRecord,
        skipped: 8,
    };
    send(&mut sink, &Message::Damage(&damage));
    let place = "in trace \"trace\" (no UUID) within stream \"stream\" (stream class ID: 0, stream ID: 1).\n";
    let times = "between [00:00:01.000000000] and [00:00:02.000000000]";
    assert_eq!(
        warnings.text(),
        format!(
            "WARNING: Tracer discarded 5 events {times} {place}\
             WARNING: Tracer discarded 1 packet {times} {place}\
             WARNING: Tracer may have discarded events (unknown time range) {place}\
             WARNING: f: byte 10: an event record of size zero; skipped 1 bytes\n"
        )
    );
}

#[test]
fn option_names() {
    let mut fields = PrettyFields::NONE;
    assert!(fields.insert("trace:vpid") && fields.vpid && !fields.hostname);
    assert!(!fields.insert("nothing"));
    let mut names = PrettyNames::NONE;
    assert!(names.insert("args") && names.payload && names.context && !names.scope);
}
