//! Deeply nested field classes, classes doubled by each alias, and arrays of huge length. Time and memory must stay
//! bounded.

use std::sync::Arc;

use ichnos_ctf::trace::{CtfOptions, open};
use ichnos_model::TraceClass;
use ichnos_model::class::{DataStreamClass, EventRecordClass, FieldClass, FieldKind, Member};
use ichnos_model::plan::{PlanError, TracePlans};
use ichnos_model::trace::Limits;

use crate::reading::{damage, events, observed, refusal, trace, tree};
use crate::support::quick;
use ichnos_testing::encoder::{Encoder, Order};

/// Returns SPEC-2.0 metadata with a single event record class with this payload.
pub fn spec2(members: &str) -> String {
    [
        r#"{"type":"preamble","version":2}"#.to_owned(),
        r#"{"type":"trace-class"}"#.to_owned(),
        r#"{"type":"data-stream-class"}"#.to_owned(),
        format!(
            r#"{{"type":"event-record-class","payload-field-class":
            {{"type":"structure","member-classes":[{members}]}}}}"#
        ),
    ]
    .map(|fragment| format!("\u{1e}{fragment}\n"))
    .concat()
}

pub fn fixed(kind: &str, length: u32) -> String {
    format!(r#"{{"type":"fixed-length-{kind}","length":{length},"byte-order":"little-endian"}}"#)
}

#[test]
fn arrays_without_end() {
    let empty = r#"{"type":"structure"}"#.to_owned();
    let absent = format!(
        r#"{{"type":"optional","selector-field-location":{{"path":["no"]}},"field-class":{}}}"#,
        fixed("unsigned-integer", 8)
    );
    let array = |element: &str| {
        format!(
            r#"{{"type":"dynamic-length-array","length-field-location":{{"path":["n"]}},
            "element-field-class":{element}}}"#
        )
    };
    let elements = [
        fixed("unsigned-integer", 8),
        fixed("unsigned-integer", 3),
        empty.clone(),
        absent.clone(),
        // Nested arrays: each may have a few zero-size elements, but all together may not.
        array(&array(&array(&empty))),
        format!(
            r#"{{"type":"static-length-array","length":9223372036854775807,"element-field-class":{empty}}}"#
        ),
        format!(
            r#"{{"type":"static-length-array","length":60000,"element-field-class":
            {{"type":"static-length-array","length":60000,"element-field-class":{absent}}}}}"#
        ),
    ];
    for element in elements {
        let metadata = spec2(&format!(
            r#"{{"name":"n","field-class":{}}},{{"name":"no","field-class":{}}},
            {{"name":"a","field-class":{}}}"#,
            fixed("unsigned-integer", 64),
            fixed("boolean", 8),
            array(&element)
        ));
        for length in [1u64 << 63, u64::MAX, 65_536, 1000] {
            let mut e = Encoder::default();
            e.int(0, 64, Order::Le).raw(&[0]);
            e.int(length.into(), 64, Order::Le).raw(&[0, 1, 2, 3]);
            let observed = quick(&element, || observed(&trace(metadata.as_bytes(), &[("stream", &e.bytes)])));
            assert!(!events(&observed).is_empty());
            assert!(damage(&observed).len() <= 1);
            if length > 1000 {
                assert_eq!(damage(&observed).len(), 1, "{element}");
            }
        }
    }
}

#[test]
fn ten_thousand_levels() {
    let nested = |open: &str, close: &str, inner: &str| {
        format!("{}{inner}{}", open.repeat(10_000), close.repeat(10_000))
    };
    let prop1 = nested(
        r#"{"field-type":"struct","fields":[{"name":"a","field-type":"#,
        "}]}",
        r#"{"field-type":"null"}"#,
    );
    let json = |members: &str| {
        nested(
            &format!(r#"{{"type":"structure","{members}":[{{"name":"a","field-class":"#),
            "}]}",
            r#"{"type":"structure"}"#,
        )
    };
    let texts = [
        format!(
            "/* CTF 1.8 */ trace {{ major = 1; minor = 8; byte_order = le; }}; stream {{ }}; event {{ fields := struct {{ {} }}; }};",
            nested("struct { ", " } a;", "integer { size = 8; } a;")
        ),
        format!(
            r#"["CTF 2",{{"fragment":"trace-class"}},{{"fragment":"data-stream-class"}},
            {{"fragment":"event-record-class","payload-field-type":{prop1}}}]"#
        ),
        format!(
            r#"[{{"type":"preamble","version":2}},{{"type":"trace-class"}},{{"type":"data-stream-class"}},
            {{"type":"event-record-class","payload-field-class":{}}}]"#,
            json("members")
        ),
        spec2(&format!(r#"{{"name":"a","field-class":{}}}"#, json("member-classes"))),
        "[".repeat(10_000),
    ];
    for text in texts {
        let error = quick("nesting", || refusal(text.as_bytes()));
        assert!(error.len() < 10_000 && !error.is_empty());
    }
}

/// Each alias is a structure that contains the previous alias twice.
pub fn doubled_spec2(levels: u32) -> String {
    let mut text = String::from("\u{1e}{\"type\":\"preamble\",\"version\":2}\n");
    text += &format!(
        "\u{1e}{{\"type\":\"field-class-alias\",\"name\":\"a0\",\"field-class\":{}}}\n",
        fixed("unsigned-integer", 8)
    );
    for level in 1..=levels {
        let one = format!(r#""field-class":"a{}""#, level - 1);
        text += &format!(
            "\u{1e}{{\"type\":\"field-class-alias\",\"name\":\"a{level}\",\"field-class\":{{\"type\":\"structure\",\"member-classes\":[{{\"name\":\"x\",{one}}},{{\"name\":\"y\",{one}}}]}}}}\n"
        );
    }
    text += "\u{1e}{\"type\":\"trace-class\"}\n\u{1e}{\"type\":\"data-stream-class\"}\n";
    text += &format!("\u{1e}{{\"type\":\"event-record-class\",\"payload-field-class\":\"a{levels}\"}}\n");
    text
}

pub fn doubled_prop1(levels: u32) -> String {
    let mut fragments = vec![
        r#""CTF 2""#.to_owned(),
        r#"{"fragment":"field-type-alias","name":"a0","field-type":{"field-type":"int","size":8}}"#
            .to_owned(),
    ];
    for level in 1..=levels {
        let one = format!(r#""field-type":"a{}""#, level - 1);
        fragments.push(format!(
            r#"{{"fragment":"field-type-alias","name":"a{level}","field-type":{{"field-type":"struct","fields":[
            {{"name":"x",{one}}},{{"name":"y",{one}}}]}}}}"#
        ));
    }
    fragments.push(r#"{"fragment":"trace-class","default-byte-order":"le"}"#.to_owned());
    fragments.push(r#"{"fragment":"data-stream-class"}"#.to_owned());
    fragments.push(format!(r#"{{"fragment":"event-record-class","payload-field-type":"a{levels}"}}"#));
    format!("[{}]", fragments.join(","))
}

fn doubled_tsdl(levels: u32) -> String {
    let mut text = String::from(
        "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\ntypealias integer { size = 8; } := a0;\n",
    );
    for level in 1..=levels {
        text += &format!("typealias struct {{ a{0} x; a{0} y; }} := a{level};\n", level - 1);
    }
    text + &format!("stream {{ }}; event {{ fields := a{levels}; }};\n")
}

#[test]
fn aliases_that_double() {
    let mut few = CtfOptions::default();
    few.limits.field_classes = 50_000;
    for (levels, options) in [(60, &CtfOptions::default()), (60, &few), (30, &few), (17, &few)] {
        for (name, text) in [
            ("CTF 1.8", doubled_tsdl(levels)),
            ("PROP-1.0", doubled_prop1(levels)),
            ("SPEC-2.0", doubled_spec2(levels)),
        ] {
            let opened = quick(name, || open(&[&tree(&[("metadata", text.as_bytes())])], options));
            let error = opened.errors[0].to_string();
            let expected = ["field classes", "field types", "the limit of 64 levels"];
            assert!(expected.iter().any(|expected| error.contains(expected)), "{name}: {error}");
        }
    }
    // Classes within the limits must be readable.
    for text in [doubled_tsdl(10), doubled_prop1(10), doubled_spec2(10)] {
        let observed = quick("ten levels", || observed(&trace(text.as_bytes(), &[("stream", &[7; 2048])])));
        assert_eq!(events(&observed).len(), 2);
        assert_eq!(events(&observed)[1].fields.len(), 1024);
    }
}

/// Shared classes from other readers, whose tree would be endless.
#[test]
fn shared_classes_that_double() {
    let doubled = |levels: u32| {
        let mut class = Arc::new(FieldClass::new(FieldKind::Null { alignment: 32 }));
        for _ in 0..levels {
            let members = vec![Member::new("x", Arc::clone(&class)), Member::new("y", class)];
            class = Arc::new(FieldClass::new(FieldKind::Structure { members, minimum_alignment: 1 }));
        }
        class
    };
    assert_eq!(quick("alignment", || doubled(60).alignment()), 32);
    let event = EventRecordClass { payload: Some(doubled(60)), ..EventRecordClass::default() };
    let stream = DataStreamClass { event_records: vec![Arc::new(event)], ..DataStreamClass::default() };
    let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
    let mut limits = Limits::default();
    limits.field_classes = 100_000;
    let plans = quick("plans", || TracePlans::compile(&trace, &limits));
    assert!(matches!(plans, Err(PlanError::FieldClasses(100_000))));
}
