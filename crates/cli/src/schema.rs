//! `ichnos schema`: describes the event classes of a trace.

mod json;
mod text;

use std::borrow::Cow;

use ichnos::model::*;

use crate::args::{self, Arithmetic, Global};
use crate::classes;
use crate::exit::{Exit, Failure};
use crate::json::{self as js, JsonObject};
use crate::report::Report;
use crate::selected::Selected;
use crate::selection::Selection;
use crate::{input, no_match_help, output, scan, written_schema};
use json::trace_json;
use text::trace_tree;

pub(crate) use json::clock_json;
pub(crate) use text::{clock_text, value_text};

pub(crate) fn run(args: &args::Schema, global: &Global, report: Report) -> Result<Exit, Failure> {
    let selection = Selection::new(&args.selecting, None)?;
    let session =
        input::open(&args.reading, Arithmetic::Exact, scan::progress(global.progress, report), report)?;
    let damaged = input::report_problems(&session, report);
    let selected = Selected::new(&session, selection, report)?;
    let classes: Vec<Cow<'_, TraceClass>> = match selected.selection.is_some() {
        true => classes::selected(&session, &selected, global, report),
        false => {
            classes::meet(&session, global, report);
            session.traces().iter().map(|trace| trace.trace().class_with_dynamic()).collect()
        }
    };
    let mut records =
        classes.iter().flat_map(|class| &class.data_streams).map(|class| class.event_records.len());
    let is_nothing = selected.selection.is_some() && records.all(|count| count == 0);
    no_match_help::explain(&session, &selected.selection, selected.window, u64::from(!is_nothing), report);
    if let Some(language) = &args.language {
        written_schema::print(language, &session, &classes, args.reading.limits().model, report)?;
    } else if args.report.json {
        let mut object = js::document("schema");
        let traces = session.traces().iter().zip(&classes).map(|(trace, class)| {
            let mut object = JsonObject::default();
            object.put("path", trace.path());
            object.put("format", trace.format());
            object.append(&mut trace_json(class));
            object.json()
        });
        object.put("traces", traces.collect::<Vec<_>>());
        output::print_json(&object.json(), args.report.integers.into())?;
    } else {
        let paint = global.color.stdout();
        let traces = session.traces().iter().zip(&classes);
        let trees = traces.map(|(trace, class)| trace_tree(class, trace.path(), paint));
        output::print_trees(trees, paint)?;
    }
    Ok(if damaged {
        Exit::Damaged
    } else if is_nothing {
        Exit::Nothing
    } else {
        Exit::Success
    })
}

/// Returns the id of a trace's clock.
fn clock_id(index: u16, trace: &TraceClass) -> Option<&str> {
    trace.clocks.get(usize::from(index)).map(|clock| clock.id.as_str())
}

/// Clamps a range to `i128`; the exact one is among the wide ranges.
fn clamped(range: &WideRange) -> IntegerRange {
    IntegerRange { lower: range.lower.clamped(), upper: range.upper.clamped() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ichnos::export::text::Paint;
    use serde_json::Value as Json;

    use super::*;

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
        let json = trace_json(&every_class()).json();
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
        assert!(serde_json::from_str::<Json>(&js::text(&json, ichnos::export::Integers::Number)).is_ok());
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
