//! Trace classes as text and JSON.

mod json;
mod text;

use ichnos_model::TraceClass;
use ichnos_model::class::{IntegerProperties, IntegerRange, Mapping, WideRange};

pub use json::{write_clocks, write_trace_class};
pub use text::{attributes_tree, clock_text, trace_tree, value_text};

/// Returns the id of a trace clock.
fn clock_id(index: u16, trace: &TraceClass) -> Option<&str> {
    trace.clocks.get(usize::from(index)).map(|clock| clock.id.as_str())
}

/// Returns the exact ranges of a mapping, and the ranges beyond 128 bits.
fn ranges_of<'i>(
    integer: &'i IntegerProperties,
    index: usize,
    mapping: Mapping<'i>,
) -> (Vec<IntegerRange>, Vec<&'i WideRange>) {
    let wide: Vec<&WideRange> = integer.wide_ranges().iter().filter(|range| range.mapping == index).collect();
    let is_clamped = |range: &IntegerRange| {
        wide.iter()
            .any(|wide| *range == IntegerRange { lower: wide.lower.clamped(), upper: wide.upper.clamped() })
    };
    (mapping.ranges.iter().filter(|range| !is_clamped(range)).collect(), wide)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ichnos_json::write::ValueWriter;
    use ichnos_model::Scope;
    use ichnos_model::class::{
        Attributes, BitField, ByteOrder, DataStreamClass, DisplayBase, EventRecordClass, FieldClass,
        FieldKind, FieldLocation, Length, LocationStep, Mappings, Member, RangeSet, Role, Roles,
        StringLength, Value, VariableLengthValue, VariantOption,
    };
    use ichnos_model::clock::{ClockClass, WallClock};
    use ichnos_model::field::StringEncoding;
    use ichnos_model::meaning::EventRole;
    use ichnos_model::trace::DeclaredAt;
    use serde_json::Value as Json;

    use super::*;
    use ichnos_export::text::Paint;

    fn every_class() -> TraceClass {
        let bits = BitField::new(32, ByteOrder::LittleEndian, 8);
        let integer = IntegerProperties {
            signed: true,
            preferred_base: DisplayBase::Hexadecimal,
            mappings: Some(Mappings::from_iter([(
                "run\x1b",
                RangeSet(vec![IntegerRange { lower: -1, upper: i128::from(u64::MAX) }]),
            )])),
            wide_ranges: None,
            wall_clock: None,
        };
        let location = FieldLocation {
            origin: Some(Scope::Payload),
            path: vec![LocationStep::Parent, LocationStep::Member("len".into())],
            any_option: false,
            declared_at: DeclaredAt::default(),
        };
        let plain = Arc::new(FieldClass::new(FieldKind::Boolean(bits)));
        let kinds = vec![
            FieldKind::BitArray(bits),
            FieldKind::BitMap { bits, flags: Mappings::default() },
            FieldKind::Boolean(bits),
            FieldKind::Integer { bits, integer: integer.clone() },
            FieldClass::float(32).kind,
            FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), alignment: 8 },
            FieldKind::String {
                encoding: StringEncoding::Utf16Le,
                length: StringLength::Dynamic(Box::new(location.clone())),
                alignment: 8,
            },
            FieldKind::Blob { length: Length::Static(3), media_type: "image/png".into(), alignment: 8 },
            FieldKind::Array {
                element: Arc::clone(&plain),
                length: Length::Dynamic(Box::new(location.clone())),
                minimum_alignment: 64,
                element_aligns: true,
            },
            FieldKind::Optional {
                field: Arc::clone(&plain),
                selector: Box::new(location.clone()),
                ranges: None,
            },
            FieldKind::Variant {
                options: vec![VariantOption {
                    name: None,
                    class: Arc::clone(&plain),
                    ranges: RangeSet(vec![IntegerRange::single(1)]),
                    attributes: Attributes::default(),
                }],
                selector: Box::new(location),
                alignment: 1,
            },
            FieldKind::Union { members: vec![Member::new("u", plain)], alignment: 8 },
            FieldKind::Null { alignment: 1 },
            FieldClass::guid().kind,
            FieldClass::wall_clock(false, WallClock::FILETIME).kind,
        ];
        let mut members = Vec::new();
        for (index, kind) in kinds.into_iter().enumerate() {
            let mut class = FieldClass::new(kind);
            class.roles = Roles::only(Role::Timestamp);
            class.roles.clock = Some(0);
            class.attributes.set("ns", Value::Map(vec![("a".into(), Value::Null)]));
            members.push(Member::new(format!("m{index}"), Arc::new(class)));
        }
        let payload = FieldClass::new(FieldKind::Structure { members, minimum_alignment: 1 });
        TraceClass {
            dialect: "CTF 2".into(),
            environment: vec![("host".into(), Value::Text("a\nb".into()))],
            clocks: vec![ClockClass::new("mono", 1_000_000_000)],
            data_streams: vec![DataStreamClass {
                default_clock: Some(0),
                event_records: vec![Arc::new(EventRecordClass {
                    name: Some("ev".into()),
                    role: EventRole::Sample,
                    payload: Some(Arc::new(payload)),
                    ..EventRecordClass::default()
                })],
                ..DataStreamClass::default()
            }],
            ..TraceClass::default()
        }
    }

    #[test]
    fn json_has_everything() {
        let mut out = Vec::new();
        let mut object = ValueWriter::new(&mut out).object();
        write_trace_class(&mut object, &every_class());
        object.end();
        let json: Json = serde_json::from_slice(&out).unwrap();
        let payload = &json["data_stream_classes"][0]["event_record_classes"][0]["payload"];
        let types: Vec<&str> = payload["members"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["class"]["type"].as_str().unwrap())
            .collect();
        assert_eq!(
            types,
            [
                "bit-array",
                "bit-map",
                "boolean",
                "integer",
                "float",
                "variable-length-integer",
                "string",
                "blob",
                "array",
                "optional",
                "variant",
                "union",
                "null",
                "guid",
                "integer"
            ]
        );
        let integer = &payload["members"][3]["class"];
        assert_eq!(integer["mappings"][0]["ranges"].to_string(), "[[-1,18446744073709551615]]");
        assert_eq!(integer["roles"][0], "default-clock-timestamp");
        assert_eq!(integer["clock"], "mono");
        assert_eq!(
            payload["members"][14]["class"]["wall_clock"].to_string(),
            r#"{"epoch_seconds":-11644473600,"frequency":10000000}"#
        );
        assert_eq!(json["data_stream_classes"][0]["event_record_classes"][0]["role"], "sample");
        assert_eq!(payload["members"][6]["class"]["length"]["path"].to_string(), "[null,\"len\"]");
    }

    #[test]
    fn tree_is_safe_and_complete() {
        let mut out = String::new();
        trace_tree(&every_class(), "t", Paint::PLAIN).render(&mut out);
        assert!(!out.contains('\x1b'));
        for part in [
            "host = \"a\\nb\"",
            "clock class mono",
            "1,000,000,000 Hz",
            "m3: 32-bit signed enumeration, little-endian, aligned to 8 bits, base 16 \
             <default-clock-timestamp of clock mono>",
            "length from event-record-payload/../len",
            "option 0 [1]: 32-bit boolean",
            "event record class 0 ev, sample",
            "m13: GUID <",
            "m14: 64-bit unsigned integer, little-endian, aligned to 8 bits, \
             date at 10,000,000 Hz from 1601-01-01T00:00:00Z <",
        ] {
            assert!(out.contains(part), "{part} not in\n{out}");
        }
    }
}
