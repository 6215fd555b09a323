//! PROP-2.0 and SPEC-2.0: field roles and root fields.

use ichnos_model::OpenedTrace;
use ichnos_model::class::Value;

use crate::prop2_values::{BOTH, JsonDialect, member, uint};
use crate::reading::{MessageReport, damage, events, observed, packets, trace, tree};
use ichnos_testing::encoder::{Encoder, Order};

/// Roles, also in nested fields and duplicated. All root fields, each depending on an earlier root field.
#[test]
fn roles_and_root_fields() {
    for dialect in BOTH {
        let role = |name: &'static str| format!(r#","alignment":8,"roles":["{}"]"#, dialect.role(name));
        let number = |name: &str, length: u64, of: &'static str| member(name, &uint(length, &role(of)));
        let plain = |name: &str| member(name, &uint(8, r#","alignment":8"#));
        let uuid_role = match dialect {
            JsonDialect::Prop2 => "trace-class-uuid",
            JsonDialect::Spec2 => "metadata-stream-uuid",
        };
        let header = dialect.structure(
            1,
            &[
                number("magic", 32, "packet-magic-number"),
                member(
                    "uuid",
                    &format!(r#"{{"type":"static-length-blob","length":16,"roles":["{uuid_role}"]}}"#),
                ),
                member(
                    "ids",
                    &dialect.structure(
                        1,
                        &[
                            number("first", 8, "data-stream-class-id"),
                            number("class", 8, "data-stream-class-id"),
                            number("stream", 8, "data-stream-id"),
                        ],
                    ),
                ),
            ],
        );
        let located = |origin: &str, path: &str| match dialect {
            JsonDialect::Prop2 => format!(r#"["{origin}",{path}]"#),
            JsonDialect::Spec2 => format!(r#"{{"origin":"{origin}","path":[{path}]}}"#),
        };
        let array = |name: &str, origin: &str, path: &str| {
            member(
                name,
                &format!(
                    r#"{{"type":"dynamic-length-array","length-field-location":{},
                    "element-field-class":{}}}"#,
                    located(origin, path),
                    uint(8, r#","alignment":8"#)
                ),
            )
        };
        let context = dialect.structure(
            1,
            &[
                number("total", 32, "packet-total-length"),
                number("content", 32, "packet-content-length"),
                member("times", &dialect.structure(1, &[number("begin", 64, "begin")])),
                number("end", 64, "packet-end-default-clock-timestamp"),
                number("lost", 16, "discarded-event-record-counter-snapshot"),
                number("number", 8, "packet-sequence-number"),
                plain("n"),
                array("by header", "packet-header", r#""ids","stream""#),
            ],
        );
        let event_header = dialect.structure(
            1,
            &[
                number("first id", 8, "event-record-class-id"),
                member(
                    "id",
                    r#"{"type":"variable-length-unsigned-integer","roles":["event-record-class-id"]}"#,
                ),
                number("time", 8, "default-clock-timestamp"),
            ],
        );
        let common = dialect.structure(1, &[plain("m"), array("by context", "packet-context", r#""n""#)]);
        let specific =
            dialect.structure(1, &[plain("k"), array("by common", "event-record-common-context", r#""m""#)]);
        let payload = dialect.structure(
            1,
            &[
                array("by specific", "event-record-specific-context", r#""k""#),
                array("by header", "packet-header", r#""ids","stream""#),
                array("by event header", "event-record-header", r#""time""#),
            ],
        );
        let (uuid_preamble, trace_class, clock, default) = match dialect {
            JsonDialect::Prop2 => (
                String::new(),
                r#"{"type":"trace-class","uuid":"00010203-0405-0607-0809-0a0b0c0d0e0f","#,
                r#"{"type":"clock-class","name":"c","frequency":1000,"offset":{"seconds":-3,"cycles":999}}"#,
                r#""default-clock-class-name":"c""#,
            ),
            JsonDialect::Spec2 => (
                r#","uuid":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"#.to_owned(),
                r#"{"type":"trace-class","environment":{"hostname":"h","n":-1},"#,
                r#"{"type":"clock-class","id":"c","frequency":1000,"origin":"unix-epoch",
                    "offset-from-origin":{"seconds":-3,"cycles":999}}"#,
                r#""default-clock-class-id":"c""#,
            ),
        };
        let metadata = dialect
            .metadata(&[
                format!(r#"{trace_class}"packet-header-field-class":{header}}}"#),
                clock.to_owned(),
                format!(
                    r#"{{"type":"data-stream-class","id":2,{default},"packet-context-field-class":{context},
                    "event-record-header-field-class":{event_header},
                    "event-record-common-context-field-class":{common}}}"#
                ),
                format!(
                    r#"{{"type":"event-record-class","id":300,"data-stream-class-id":2,
                    "specific-context-field-class":{specific},"payload-field-class":{payload}}}"#
                ),
            ])
            .replacen(r#""version":2"#, &format!(r#""version":2{uuid_preamble}"#), 1);
        let packet = |lost: i128, number: i128, begin: i128, end: i128, events: &[i128]| {
            let mut e = Encoder::default();
            e.int(0xc1fc_1fc1, 32, Order::Le).raw(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
            e.raw(&[77, 2, 1]);
            let sizes = e.at;
            e.int(0, 64, Order::Le).int(begin, 64, Order::Le).int(end, 64, Order::Le);
            e.int(lost, 16, Order::Le).int(number, 8, Order::Le).raw(&[2, 0xaa]);
            for time in events {
                e.raw(&[9]).uleb(300).raw(&[*time as u8]);
                e.raw(&[1, 0xb0, 0xb1]);
                e.raw(&[3, 0xc0]);
                e.raw(&[0xd0, 0xd1, 0xd2, 0xe0]).raw(&vec![0xf0; *time as usize]);
            }
            let content = e.at;
            e.raw(&[0; 3]);
            let total = e.at;
            e.patch(sizes, total, 32, Order::Le);
            e.patch(sizes + 32, content, 32, Order::Le);
            e.bytes
        };
        let mut stream = packet(5, 254, 1000, 1300, &[250, 0, 3]);
        stream.extend(packet(3, 2, 2000, 2001, &[]));
        let mut files = vec![("metadata", metadata.as_bytes()), ("stream", stream.as_slice())];
        if dialect == JsonDialect::Prop2 {
            files.push(("env.json", br#"{"std":{"environment":{"hostname":"h","n":-1}}}"#));
            files.push(("other.json", br#"{"my.tracer":{"version":[1,3,2]}}"#));
        }
        let opened = ichnos_ctf::trace::open(&[&tree(&files)], &Default::default());
        assert!(opened.errors.is_empty(), "{}", opened.errors[0]);
        let trace = &opened.traces[0];
        assert_eq!(trace.diagnostics().len(), 0);
        let class = &trace.trace().class;
        assert_eq!(class.environment("hostname"), Some(&Value::Text("h".into())));
        assert_eq!(class.environment("n"), Some(&Value::Integer(-1)));
        assert_eq!(class.attributes.get("my.tracer").is_some(), dialect == JsonDialect::Prop2);
        let observed = observed(trace);
        assert_eq!(damage(&observed).len(), 0, "{:#?}", damage(&observed));
        assert_eq!(observed[0], MessageReport::StreamBegin(Some(1)));
        let ns = |cycles: i128| -3_000_000_000 + (cycles + 999) * 1_000_000;
        let facts: Vec<_> =
            packets(&observed).iter().map(|p| (p.begin, p.end, p.sequence, p.discarded)).collect();
        assert_eq!(
            facts,
            [
                (Some(ns(1000)), Some(ns(1300)), Some(254), Some(5)),
                (Some(ns(2000)), Some(ns(2001)), Some(2), Some(3)),
            ]
        );
        assert_eq!(packets(&observed)[0].total - packets(&observed)[0].content, 24);
        assert!(packets(&observed)[0].fields.contains(&("context.by header[0]".into(), "u:170".into())));
        // 1000 = 3 * 256 + 232.
        let times: Vec<_> = events(&observed).iter().map(|event| event.nanoseconds.unwrap()).collect();
        assert_eq!(times, [ns(3 * 256 + 250), ns(4 * 256), ns(4 * 256 + 3)]);
        let event = events(&observed)[2];
        let fields: Vec<(&str, &str)> =
            event.fields.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
        assert_eq!(
            fields,
            [
                ("event.first id", "u:9"),
                ("event.id", "u:300"),
                ("event.time", "u:3"),
                ("common.m", "u:1"),
                ("common.by context", "#2"),
                ("common.by context[0]", "u:176"),
                ("common.by context[1]", "u:177"),
                ("specific.k", "u:3"),
                ("specific.by common", "#1"),
                ("specific.by common[0]", "u:192"),
                ("payload.by specific", "#3"),
                ("payload.by specific[0]", "u:208"),
                ("payload.by specific[1]", "u:209"),
                ("payload.by specific[2]", "u:210"),
                ("payload.by header", "#1"),
                ("payload.by header[0]", "u:224"),
                ("payload.by event header", "#3"),
                ("payload.by event header[0]", "u:240"),
                ("payload.by event header[1]", "u:240"),
                ("payload.by event header[2]", "u:240"),
            ]
        );
        let lost: Vec<_> = observed
            .iter()
            .filter(|observed| {
                matches!(observed, MessageReport::DiscardedEvents(_) | MessageReport::DiscardedPackets(_))
            })
            .collect();
        assert_eq!(
            lost,
            [
                &MessageReport::DiscardedEvents(None),
                &MessageReport::DiscardedEvents(Some(65_534)),
                &MessageReport::DiscardedPackets(Some(3))
            ]
        );
    }
}

/// A clock is 0 before each packet.
#[test]
fn a_clock_begins_again_with_each_packet() {
    for dialect in BOTH {
        let (clock, default) = match dialect {
            JsonDialect::Prop2 => (r#""name":"c""#, "default-clock-class-name"),
            JsonDialect::Spec2 => (r#""id":"c""#, "default-clock-class-id"),
        };
        let total = uint(8, &format!(r#","roles":["{}"]"#, dialect.role("packet-total-length")));
        let time = uint(8, r#","roles":["default-clock-timestamp"]"#);
        let metadata = dialect.metadata(&[
            r#"{"type":"trace-class"}"#.to_owned(),
            format!(r#"{{"type":"clock-class",{clock},"frequency":1000000000}}"#),
            format!(
                r#"{{"type":"data-stream-class","{default}":"c","packet-context-field-class":{},
                "event-record-header-field-class":{}}}"#,
                dialect.structure(1, &[member("total", &total)]),
                dialect.structure(1, &[member("time", &time)])
            ),
            r#"{"type":"event-record-class"}"#.to_owned(),
        ]);
        let observed = observed(&trace(metadata.as_bytes(), &[("stream", &[24, 9, 3, 16, 1])]));
        let times: Vec<_> = events(&observed).iter().map(|event| event.nanoseconds.unwrap()).collect();
        assert_eq!(times, [9, 256 + 3, 1]);
        // A clock that goes backwards is reported.
        assert_eq!(damage(&observed).len(), 1);
    }
}
