//! Constructs that PROP-1.0 and PROP-2.0 allow or forbid, each in a small trace.

use ichnos_ctf::metadata::{self, MetadataOptions};
use ichnos_ctf::rule::Rule;
use ichnos_ctf::trace::{CtfOptions, open};
use ichnos_model::OpenedTrace;
use ichnos_model::class::FieldKind;
use ichnos_model::field::Wide;
use ichnos_model::message::DamageKind;
use ichnos_model::trace::Severity;

use crate::reading::{MessageReport, ObservedEvent, damage, events, observed, packets, refusal, trace, tree};

/// Returns a little-endian PROP-1.0 metadata stream with these fragments.
fn prop1(fragments: &[&str]) -> String {
    format!("[\"CTF 2\", {}]", fragments.join(", "))
}

/// Returns a little-endian PROP-2.0 metadata stream with these fragments.
fn prop2(fragments: &[&str]) -> String {
    format!("[{{\"type\": \"preamble\", \"version\": 2}}, {}]", fragments.join(", "))
}

const TRACE: &str = r#"{"fragment": "trace-class", "default-byte-order": "le"}"#;
const STREAM: &str = r#"{"fragment": "data-stream-class"}"#;

/// Returns a PROP-1.0 structure.
fn fields(fields: &[(&str, &str)]) -> String {
    let field = |(name, class): &(&str, &str)| format!("{{\"name\": \"{name}\", \"field-type\": {class}}}");
    let fields: Vec<String> = fields.iter().map(field).collect();
    format!("{{\"field-type\": \"struct\", \"fields\": [{}]}}", fields.join(", "))
}

fn int(size: u32) -> String {
    format!("{{\"field-type\": \"int\", \"size\": {size}}}")
}

fn enumeration(size: u32, labels: &str) -> String {
    format!("{{\"field-type\": \"enum\", \"size\": {size}, \"members\": {{{labels}}}}}")
}

/// Returns an event record class with this payload.
fn event(members: &[(&str, &str)]) -> String {
    format!("{{\"fragment\": \"event-record-class\", \"payload-field-type\": {}}}", fields(members))
}

fn clock(name: &str) -> String {
    format!("{{\"fragment\": \"data-stream-clock-class\", \"name\": \"{name}\", \"freq\": 1000000000}}")
}

fn tag(name: &str, more: &str, scope: &str, field: &str) -> String {
    format!("{{\"tag\": \"{name}\"{more}, \"path\": {{\"scope\": \"{scope}\", \"path\": [\"{field}\"]}}}}")
}

fn clock_tag(when: &str, clock: &str, scope: &str, field: &str) -> String {
    let more = format!(", \"data-stream-clock-class-name\": \"{clock}\"");
    tag(&format!("update-data-stream-clock-{when}"), &more, scope, field)
}

const HEADER: &str = "trace-packet-header";
const CONTEXT: &str = "data-stream-packet-context";
const EVENT_HEADER: &str = "data-stream-event-record-header";

/// Returns a PROP-2.0 structure.
fn members(members: &[(&str, &str)]) -> String {
    let member = |(name, class): &(&str, &str)| format!("{{\"name\": \"{name}\", \"field-class\": {class}}}");
    let members: Vec<String> = members.iter().map(member).collect();
    format!("{{\"type\": \"structure\", \"members\": [{}]}}", members.join(", "))
}

fn unsigned(length: u32, more: &str) -> String {
    format!(
        "{{\"type\": \"fixed-length-unsigned-integer\", \"length\": {length}, \"byte-order\": \"little-endian\"{more}}}"
    )
}

/// Reads a trace without faults.
fn read(metadata: &str, data: &[u8]) -> Vec<MessageReport> {
    let observed = observed(&trace(metadata.as_bytes(), &[("stream", data)]));
    assert!(damage(&observed).is_empty(), "{observed:#?}");
    observed
}

fn values(event: &ObservedEvent) -> Vec<&str> {
    event.fields.iter().map(|(_, value)| value.as_str()).collect()
}

/// Returns all field values of all events.
fn all_values(observed: &[MessageReport]) -> Vec<Vec<&str>> {
    events(observed).into_iter().map(values).collect()
}

fn cycles(observed: &[MessageReport]) -> Vec<Option<u64>> {
    events(observed).iter().map(|event| event.cycles).collect()
}

/// Returns the values of clocks other than the default clock.
fn others(observed: &[MessageReport]) -> Vec<Vec<(u16, u64)>> {
    events(observed).iter().map(|event| event.others.clone()).collect()
}

/// Returns strict reading's reasons to refuse metadata. Other reading accepts them.
fn warnings(metadata: &str) -> Vec<String> {
    let read = metadata::parse(metadata.as_bytes(), &MetadataOptions::default());
    let warnings: Vec<String> = read
        .unwrap_or_else(|error| panic!("{:#?}", error.diagnostics))
        .diagnostics
        .iter()
        .filter(|problem| problem.severity == Severity::Warning)
        .map(ToString::to_string)
        .collect();
    let mut options = MetadataOptions::default();
    options.strict = true;
    assert_eq!(
        metadata::parse(metadata.as_bytes(), &options).is_err(),
        !warnings.is_empty(),
        "{warnings:#?}"
    );
    warnings
}

fn is_one_warning(metadata: &str, expected: &str) {
    let warnings = warnings(metadata);
    assert!(matches!(warnings.as_slice(), [one] if one.contains(expected)), "{warnings:#?}");
}

#[test]
fn ids_may_be_wider_than_64_bits() {
    let header = members(&[
        ("c", &unsigned(72, ", \"roles\": [\"data-stream-class-id\"]")),
        ("s", &unsigned(72, ", \"roles\": [\"data-stream-id\"]")),
    ]);
    let class = |id: &str, length| {
        let payload = members(&[("a", &unsigned(length, ""))]);
        format!(
            "{{\"type\": \"data-stream-class\", \"id\": {id}}}, \
             {{\"type\": \"event-record-class\", \"data-stream-class-id\": {id}, \"payload-field-class\": {payload}}}"
        )
    };
    let metadata = |other: &str| {
        let header = format!("{{\"type\": \"trace-class\", \"packet-header-field-class\": {header}}}");
        prop2(&[&header, &class("3", 8), &class(other, 16)])
    };
    // A small id, and an id that uses all bits.
    let small = [3, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0x42];
    let observed = read(&metadata("4"), &small);
    assert_eq!(observed[0], MessageReport::StreamBegin(Some(7)));
    assert_eq!(all_values(&observed), [["u:65"], ["u:66"]]);
    let mut large = [0xff; 20];
    large[9] = 5;
    let id = (1u128 << 72) - 1;
    let observed = read(&metadata(&id.to_string()), &large);
    assert_eq!(observed[0], MessageReport::StreamBegin(Some(id - 0xfa)));
    assert_eq!(all_values(&observed), [["u:65535"]]);
    assert_eq!(warnings(&metadata(&id.to_string())), Vec::<String>::new());
    // The largest id, and a larger id.
    assert!(
        metadata::parse(metadata(&u128::MAX.to_string()).as_bytes(), &MetadataOptions::default()).is_ok()
    );
    let error = refusal(metadata("340282366920938463463374607431768211456").as_bytes());
    assert!(error.contains("expected an unsigned integer of at most 128 bits"), "{error}");
}

#[test]
fn event_record_class_ids_may_be_wider_than_64_bits() {
    let header = fields(&[("id", &int(72))]);
    let tags = tag("event-record-class-id", "", EVENT_HEADER, "id");
    let stream = format!(
        "{{\"fragment\": \"data-stream-class\", \"event-record-header-field-type\": {header}, \"tags\": [{tags}]}}"
    );
    let with_id = |id: &str| event(&[("a", &int(8))]).replacen(", ", &format!(", \"id\": {id}, "), 1);
    let large = with_id(r#"{"base": 16, "value": "10000000000000000"}"#);
    let metadata = prop1(&[TRACE, &stream, &large, &with_id("5")]);
    let data = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0x41, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0x42];
    let observed = read(&metadata, &data);
    assert_eq!(events(&observed).iter().map(|event| event.id).collect::<Vec<_>>(), [1 << 64, 5]);
    assert_eq!(all_values(&observed), [["u:18446744073709551616", "u:65"], ["u:5", "u:66"]]);
    // An id without a class.
    let observed =
        crate::reading::observed(&trace(metadata.as_bytes(), &[("stream", &[0, 0, 0, 0, 0, 0, 0, 0, 2, 0])]));
    let expected = Rule::EventRecordClass { data_stream_class: 0, id: 2 << 64 }.into();
    assert_eq!(damage(&observed)[0].kind, expected);
    // In fields above 128 bits, only the value matters.
    let wide = metadata.replace("\"size\": 72", "\"size\": 136");
    let mut data = [0; 18];
    (data[0], data[17]) = (5, 0x43);
    assert_eq!(all_values(&read(&wide, &data)), [["u:5", "u:67"]]);
    data[16] = 1;
    let observed = crate::reading::observed(&trace(wide.as_bytes(), &[("stream", &data)]));
    assert_eq!(damage(&observed)[0].kind, Rule::WideId(136).into());
}

#[test]
fn a_packet_without_a_total_size_is_the_only_one() {
    let stream = format!(
        "{{\"fragment\": \"data-stream-class\", \"packet-context-field-type\": {}, \"tags\": [{}]}}",
        fields(&[("c", &int(16))]),
        tag("packet-content-size", "", CONTEXT, "c")
    );
    let metadata = prop1(&[TRACE, &stream, &event(&[("a", &int(8))])]);
    let observed = read(&metadata, &[24, 0, 0x41, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(all_values(&observed), [["u:65"]]);
    let packets = packets(&observed);
    assert_eq!(packets.len(), 1);
    assert_eq!((packets[0].total, packets[0].content), (56, 24));
    // Content beyond the data is missing.
    let observed = crate::reading::observed(&trace(metadata.as_bytes(), &[("stream", &[32, 0, 0x41])]));
    assert_eq!(all_values(&observed), [["u:65"]]);
    assert_eq!(damage(&observed)[0].kind, DamageKind::CutOff { total: 32, available: 24 });
    // This is different in PROP-2.0.
    let context = members(&[("c", &unsigned(16, ", \"roles\": [\"packet-content-size\"]"))]);
    let metadata = prop2(&[
        &format!("{{\"type\": \"data-stream-class\", \"packet-context-field-class\": {context}}}"),
        &format!(
            "{{\"type\": \"event-record-class\", \"payload-field-class\": {}}}",
            members(&[("a", &unsigned(8, ""))])
        ),
    ]);
    let observed = read(&metadata, &[24, 0, 0x41, 24, 0, 0x42]);
    assert_eq!(crate::reading::packets(&observed).len(), 2);
}

/// Returns a trace class whose packet header is a single field.
fn trace_with_header(name: &str, class: &str, tags: &str) -> String {
    format!(
        "{{\"fragment\": \"trace-class\", \"default-byte-order\": \"le\", \
         \"packet-header-field-type\": {}, \"tags\": [{tags}]}}",
        fields(&[(name, class)])
    )
}

/// Returns a data stream class with these times in its event record headers.
fn timed_stream(times: &[&str], tags: &[String]) -> String {
    let byte = int(8);
    let header: Vec<(&str, &str)> = times.iter().map(|name| (*name, byte.as_str())).collect();
    format!(
        "{{\"fragment\": \"data-stream-class\", \"event-record-header-field-type\": {}, \"tags\": [{}]}}",
        fields(&header),
        tags.join(", ")
    )
}

#[test]
fn packet_headers_bring_clocks_up_to_date() {
    let header = trace_with_header("t", &int(16), &clock_tag("now", "ck", HEADER, "t"));
    let stream = timed_stream(&["ts"], &[clock_tag("now", "ck", EVENT_HEADER, "ts")]);
    let metadata = prop1(&[&clock("ck"), &header, &stream, &event(&[("a", &int(8))])]);
    let observed = read(&metadata, &[0, 0x10, 5, 0x41, 6, 0x42]);
    assert_eq!(cycles(&observed), [Some(4101), Some(4102)]);
    assert_eq!(packets(&observed)[0].begin, Some(4096));
    assert_eq!(warnings(&metadata), Vec::<String>::new());
}

#[test]
fn clocks_that_are_not_the_default_one_are_brought_up_to_date_after_the_packet() {
    let context = fields(&[("n", &int(16)), ("e", &int(16))]);
    let tags = [
        tag("packet-total-size", "", CONTEXT, "n"),
        clock_tag("after-packet", "c2", CONTEXT, "e"),
        clock_tag("now", "c1", EVENT_HEADER, "t1"),
        clock_tag("now", "c2", EVENT_HEADER, "t2"),
    ];
    let stream = timed_stream(&["t1", "t2"], &tags).replacen(
        ", ",
        &format!(", \"packet-context-field-type\": {context}, "),
        1,
    );
    let metadata =
        prop1(&[&clock("c1"), &clock("c2"), TRACE, &stream, r#"{"fragment": "event-record-class"}"#]);
    let data = [64, 0, 0, 0x20, 1, 5, 2, 6, 64, 0, 0, 0x30, 3, 1, 4, 2];
    let observed = read(&metadata, &data);
    assert_eq!(others(&observed), [[(1, 5)], [(1, 6)], [(1, 8193)], [(1, 8194)]]);
    assert_eq!(cycles(&observed), [Some(1), Some(2), Some(3), Some(4)]);
}

#[test]
fn a_field_can_bring_several_clocks_up_to_date() {
    let tags = [clock_tag("now", "c1", EVENT_HEADER, "t"), clock_tag("now", "c2", EVENT_HEADER, "t")];
    let stream = timed_stream(&["t"], &tags);
    let fragments = [&clock("c1"), &clock("c2"), TRACE, &stream, r#"{"fragment": "event-record-class"}"#];
    let metadata = prop1(&fragments.map(|it: &str| it));
    let observed = read(&metadata, &[5, 6]);
    assert_eq!(
        (cycles(&observed), others(&observed)),
        (vec![Some(5), Some(6)], vec![vec![(1, 5)], vec![(1, 6)]])
    );
    assert_eq!(warnings(&metadata), Vec::<String>::new());
    // The same field updates one clock now, and another clock when the packet ends.
    let context = fields(&[("n", &int(8)), ("e", &int(16))]);
    let tags = [
        tag("packet-total-size", "", CONTEXT, "n"),
        clock_tag("now", "c1", CONTEXT, "e"),
        clock_tag("after-packet", "c2", CONTEXT, "e"),
        clock_tag("now", "c2", EVENT_HEADER, "t"),
    ];
    let stream = timed_stream(&["t"], &tags).replacen(
        ", ",
        &format!(", \"packet-context-field-type\": {context}, "),
        1,
    );
    let metadata =
        prop1(&[&clock("c1"), &clock("c2"), TRACE, &stream, r#"{"fragment": "event-record-class"}"#]);
    let observed = read(&metadata, &[32, 0, 1, 7, 32, 0, 2, 8]);
    // The default clock is the event record header's clock.
    assert_eq!(cycles(&observed), [Some(7), Some(256 + 8)]);
    assert_eq!(others(&observed), [[(0, 256)], [(0, 512)]]);
}

#[test]
fn packet_headers_count_discarded_event_records() {
    let tags = tag("discarded-event-record-count", ", \"reason\": \"legacy\"", HEADER, "d");
    let header = trace_with_header("d", &int(8), &tags);
    let metadata = prop1(&[&header, STREAM, &event(&[("a", &int(8))])]);
    let observed = read(&metadata, &[0, 0x41, 0x42]);
    assert_eq!(all_values(&observed), [["u:65"], ["u:66"]]);
    assert_eq!(packets(&observed)[0].discarded, Some(0));
    assert_eq!(warnings(&metadata), Vec::<String>::new());
    let observed = read(&metadata, &[3, 0x41]);
    assert!(
        observed.iter().any(|observed| matches!(observed, MessageReport::DiscardedEvents(_))),
        "{observed:#?}"
    );
}

#[test]
fn lengths_may_be_signed() {
    let signed = r#"{"field-type": "int", "size": 8, "signed": true}"#;
    let sequence = |kind: &str| {
        let element = if kind == "sequence" { r#", "element-field-type": "byte""# } else { "" };
        format!("{{\"field-type\": \"{kind}\", \"length\": [\"n\"]{element}}}")
    };
    let byte =
        format!("{{\"fragment\": \"field-type-alias\", \"name\": \"byte\", \"field-type\": {}}}", int(8));
    let metadata = |kind| prop1(&[&byte, TRACE, STREAM, &event(&[("n", signed), ("q", &sequence(kind))])]);
    let observed = read(&metadata("sequence"), &[2, 0x41, 0x42]);
    assert_eq!(all_values(&observed), [["s:2", "#2", "u:65", "u:66"]]);
    assert_eq!(warnings(&metadata("sequence")), Vec::<String>::new());
    let observed = read(&metadata("textsequence"), &[2, 0x41, 0x42]);
    assert!(events(&observed)[0].fields[1].1.contains("AB"), "{observed:#?}");
    // Lengths must not be below 0.
    for kind in ["sequence", "textsequence"] {
        let observed =
            crate::reading::observed(&trace(metadata(kind).as_bytes(), &[("stream", &[0xff, 0x41])]));
        assert_eq!(damage(&observed)[0].kind.to_string(), "invalid length -1");
    }
    // In PROP-2.0 they are unsigned.
    let metadata = prop2(&[
        r#"{"type": "data-stream-class"}"#,
        &format!(
            "{{\"type\": \"event-record-class\", \"payload-field-class\": {}}}",
            members(&[
                ("n", &unsigned(8, "").replace("unsigned", "signed")),
                (
                    "t",
                    r#"{"type": "dynamic-length-string", "length-field-location": ["event-record-payload", "n"]}"#
                ),
            ])
        ),
    ]);
    assert!(refusal(metadata.as_bytes()).contains("the length field is not an unsigned integer"));
}

#[test]
fn offsets_of_clocks_may_be_negative() {
    let clock = |cycles: &str| {
        clock("ck")
            .replace("\"freq\"", &format!("\"offset-seconds\": 1, \"offset-cycles\": {cycles}, \"freq\""))
    };
    let stream = timed_stream(&["t"], &[clock_tag("now", "ck", EVENT_HEADER, "t")]);
    let nanoseconds = |cycles: &str| {
        let metadata = prop1(&[&clock(cycles), TRACE, &stream, r#"{"fragment": "event-record-class"}"#]);
        events(&read(&metadata, &[100]))[0].nanoseconds.unwrap()
    };
    assert_eq!(nanoseconds("-50"), 1_000_000_050);
    assert_eq!(nanoseconds("-3000000000"), -1_999_999_900);
    assert_eq!(nanoseconds("50"), 1_000_000_150);
    assert_eq!(nanoseconds(r#"{"base": 16, "value": "-32"}"#), 1_000_000_050);
    let metadata = prop1(&[&clock(&format!("-{}", "9".repeat(30))), TRACE, &stream]);
    assert!(refusal(metadata.as_bytes()).contains("an offset of at most 64 bits of seconds"));
}

#[test]
fn the_tag_of_a_variant_may_be_the_current_field_of_another_one() {
    let choices = |names: [&str; 2], classes: [&str; 2]| {
        let choice = |i: usize| format!("{{\"name\": \"{}\", \"field-type\": {}}}", names[i], classes[i]);
        format!("[{}, {}]", choice(0), choice(1))
    };
    let variant = |tag: &str, names: [&str; 2], classes: [&str; 2]| {
        format!("{{\"field-type\": \"variant\", \"tag\": {tag}, \"choices\": {}}}", choices(names, classes))
    };
    let e = enumeration(8, r#""p": [0], "q": [1]"#);
    let (xy, yx) = (enumeration(8, r#""x": [0], "y": [1]"#), enumeration(8, r#""x": [1], "y": [0]"#));
    let t = variant(r#"["e"]"#, ["p", "q"], [&xy, &yx]);
    let w = variant(r#"["t"]"#, ["x", "y"], [&int(8), &int(16)]);
    let metadata = prop1(&[TRACE, STREAM, &event(&[("e", &e), ("t", &t), ("w", &w)])]);
    let data = [0, 0, 0xaa, 0, 1, 0xbb, 0xcc, 1, 1, 0xdd, 1, 0, 0xee, 0xff];
    let observed = read(&metadata, &data);
    let w: Vec<&str> =
        events(&observed).iter().map(|event| event.fields.last().unwrap().1.as_str()).collect();
    assert_eq!(w, ["u:170", "u:52411", "u:221", "u:65518"]);
    assert_eq!(warnings(&metadata), Vec::<String>::new());
    // A label in only one enumeration selects if this enumeration is the current field.
    let z = enumeration(8, r#""y": [7]"#);
    let t = variant(r#"["e"]"#, ["p", "q"], [&xy, &z]);
    let w = variant(r#"["t"]"#, ["x", "y"], [&int(8), &int(16)]);
    let metadata = prop1(&[TRACE, STREAM, &event(&[("e", &e), ("t", &t), ("w", &w)])]);
    let observed = read(&metadata, &[0, 0, 0xaa, 1, 7, 0xbb, 0xcc]);
    assert_eq!(
        all_values(&observed).iter().map(|all| *all.last().unwrap()).collect::<Vec<_>>(),
        ["u:170", "u:52411"]
    );
    let observed = crate::reading::observed(&trace(metadata.as_bytes(), &[("stream", &[1, 0, 0xaa])]));
    assert_eq!(damage(&observed)[0].kind.to_string(), "0 selects no option of the variant");
    // In the choice being decoded, only this choice's tag counts.
    for tag in [r#"["t"]"#, r#"{"scope": "event-record-payload", "path": ["v", "t"]}"#] {
        let inner = variant(tag, ["x", "y"], [&int(8), &int(16)]);
        let p = fields(&[("t", &xy), ("w", &inner)]);
        let q = fields(&[("t", &enumeration(8, r#""x": [5], "y": [6]"#))]);
        let v = variant(r#"["e"]"#, ["p", "q"], [&p, &q]);
        let metadata = prop1(&[TRACE, STREAM, &event(&[("e", &e), ("v", &v)])]);
        let observed = read(&metadata, &[0, 0, 0xaa, 0, 1, 0xbb, 0xcc, 1, 5]);
        let last: Vec<&str> = all_values(&observed).iter().map(|all| *all.last().unwrap()).collect();
        assert_eq!(last, ["u:170", "u:52411", "u:5"], "{tag}");
    }
}

#[test]
fn bounds_may_have_any_size() {
    let most = u128::MAX.to_string();
    let mappings = format!(
        "\"mappings\": {{\"max\": [[{most}, {most}]], \"large\": [[1, {most}]], \"zero\": [[0, 0]], \"huge\": [[{most}0, {most}00]]}}"
    );
    let class = |length| {
        unsigned(length, &format!(", {mappings}")).replace("unsigned-integer", "unsigned-enumeration")
    };
    let metadata_of = |class: &str| {
        let payload = members(&[("e", class)]);
        let event = format!("{{\"type\": \"event-record-class\", \"payload-field-class\": {payload}}}");
        prop2(&[r#"{"type": "data-stream-class"}"#, &event])
    };
    let metadata = |length| metadata_of(&class(length));
    let observed = read(&metadata(128), &[0xff; 16]);
    assert_eq!(all_values(&observed), [[format!("u:{most}")]]);
    assert_eq!(warnings(&metadata(128)), Vec::<String>::new());
    let parsed = metadata::parse(metadata(192).as_bytes(), &MetadataOptions::default()).unwrap();
    let payload = parsed.trace.data_streams[0].event_records[0].payload.clone().unwrap();
    let FieldKind::Structure { members, .. } = &payload.kind else { panic!("no structure") };
    let integer = members[0].class.integer().unwrap();
    let names = |words: &[u64]| integer.names_of_wide(Wide { words, length: 192, signed: false }).join(" ");
    assert_eq!(names(&[u64::MAX, u64::MAX, 0]), "max large");
    assert_eq!(names(&[u64::MAX - 1, u64::MAX, 0]), "large");
    assert_eq!(names(&[1, 0, 0]), "large");
    assert_eq!(names(&[0, 0, 0]), "zero");
    assert_eq!(names(&[0, 0, 1]), "");
    assert_eq!(names(&[u64::MAX - 9, u64::MAX, 9]), "huge");
    let names: Vec<&str> = integer.mappings.as_ref().unwrap().names_of(7).collect();
    assert_eq!(names, ["large"]);
    // A range that starts with the last value, or ends with the first value, that does not need wide bounds.
    let (last, first) = (i128::MAX, i128::MIN);
    let edges = format!("\"mappings\": {{\"up\": [[{last}, {most}]], \"down\": [[-{most}, {first}]]}}");
    let class = unsigned(192, &format!(", {edges}")).replace("unsigned-integer", "signed-enumeration");
    let parsed = metadata::parse(metadata_of(&class).as_bytes(), &MetadataOptions::default()).unwrap();
    let payload = parsed.trace.data_streams[0].event_records[0].payload.clone().unwrap();
    let FieldKind::Structure { members, .. } = &payload.kind else { panic!("no structure") };
    let integer = members[0].class.integer().unwrap();
    let names = |words: &[u64]| integer.names_of_wide(Wide { words, length: 192, signed: true }).join(" ");
    assert_eq!(names(&[u64::MAX, u64::MAX >> 1, 0]), "up");
    assert_eq!(names(&[u64::MAX - 1, u64::MAX >> 1, 0]), "");
    assert_eq!(names(&[0, 1 << 63, u64::MAX]), "down");
    assert_eq!(names(&[1, 1 << 63, u64::MAX]), "");
    // PROP-1.0 spells them in any base.
    let spelled = format!("{{\"base\": 16, \"value\": \"{}\"}}", "f".repeat(32));
    let of_prop1 =
        prop1(&[TRACE, STREAM, &event(&[("e", &enumeration(128, &format!("\"max\": [{spelled}]")))])]);
    assert_eq!(all_values(&read(&of_prop1, &[0xff; 16])), [[format!("u:{most}")]]);
    // The maximum number of integer bits, and one more.
    let mut options = MetadataOptions::default();
    options.limits.integer_bits = 130;
    let error = metadata::parse(metadata(128).as_bytes(), &options).unwrap_err();
    assert!(error.diagnostics[0].to_string().contains("expected an integer of at most 130 bits"));
    // Selectors have 128 bits including their sign.
    let choice = format!("[{{\"name\": \"max\", \"field-type\": {}}}]", int(8));
    let variant = format!("{{\"field-type\": \"variant\", \"tag\": [\"e\"], \"choices\": {choice}}}");
    let e = enumeration(128, &format!("\"max\": [{spelled}]"));
    let selecting = prop1(&[TRACE, STREAM, &event(&[("e", &e), ("v", &variant)])]);
    assert!(
        refusal(selecting.as_bytes()).contains("with more than 128 bits including their sign, the limit")
    );
}

#[test]
fn texts_may_begin_within_a_byte() {
    let text = r#"{"field-type": "textarray", "length": 2}"#;
    let metadata = prop1(&[TRACE, STREAM, &event(&[("a", &int(3)), ("t", text), ("b", &int(5))])]);
    let observed = read(&metadata, &[0x0a, 0x12, 0x2a]);
    let found = all_values(&observed);
    assert_eq!((found[0][0], found[0][2]), ("u:2", "u:5"));
    assert!(found[0][1].contains("AB"), "{found:?}");
    // Big-endian, and with a length field.
    let dynamic = r#"{"field-type": "textsequence", "length": ["a"]}"#;
    let big = TRACE.replace("\"le\"", "\"be\"");
    let metadata = prop1(&[&big, STREAM, &event(&[("a", &int(3)), ("t", dynamic), ("b", &int(5))])]);
    let observed = read(&metadata, &[0b0100_1000, 0b0010_1000, 0b0100_0101]);
    let found = all_values(&observed);
    assert_eq!((found[0][0], found[0][2]), ("u:2", "u:5"));
    assert!(found[0][1].contains("AB"), "{found:?}");
    // An id that does not fit.
    let observed = crate::reading::observed(&trace(metadata.as_bytes(), &[("stream", &[0xff, 0xff])]));
    assert_eq!(damage(&observed)[0].kind.to_string(), "a length of 7 bytes does not fit in the 13 bits left");
}

#[test]
fn the_magic_number_is_a_plain_integer() {
    let header = |class: &str| trace_with_header("m", class, &tag("magic", "", HEADER, "m"));
    let metadata = |class: &str| prop1(&[&header(class), STREAM, &event(&[("a", &int(8))])]);
    assert_eq!(warnings(&metadata(&int(32))), Vec::<String>::new());
    let other = metadata(&enumeration(32, r#""x": [0]"#));
    is_one_warning(&other, "the magic number must be a plain integer");
    assert_eq!(all_values(&read(&other, &[0xc1, 0x1f, 0xfc, 0xc1, 0x41])), [["u:65"]]);
}

#[test]
fn fields_are_located_by_the_rules_of_prop2() {
    let located = |scope: &str, path: &str| {
        format!("{{\"type\": \"dynamic-length-string\", \"length-field-location\": [\"{scope}\", {path}]}}")
    };
    let event =
        |payload: &str| format!("{{\"type\": \"event-record-class\", \"payload-field-class\": {payload}}}");
    let flag = r#"{"type": "fixed-length-boolean", "length": 8, "byte-order": "little-endian"}"#;
    let optional = |scope: &str, inner: &str| {
        format!(
            "{{\"type\": \"optional\", \"selector-field-location\": [\"{scope}\", \"s\"], \"field-class\": {inner}}}"
        )
    };
    // A field in another root field is inside an optional.
    let common = members(&[
        ("s", flag),
        ("o", &optional("event-record-common-context", &members(&[("n", &unsigned(8, ""))]))),
    ]);
    let stream =
        format!("{{\"type\": \"data-stream-class\", \"event-record-common-context-field-class\": {common}}}");
    let text = located("event-record-common-context", "\"o\", \"n\"");
    let metadata = prop2(&[&stream, &event(&members(&[("t", &text)]))]);
    is_one_warning(&metadata, "a field of another root field must not be in an optional");
    assert_eq!(events(&read(&metadata, &[1, 2, 0x41, 0x42])).len(), 1);
    // A field in an array needs a field outside the element.
    let plain = r#"{"type": "data-stream-class"}"#;
    let element = located("event-record-payload", "\"n\"");
    let array =
        format!("{{\"type\": \"static-length-array\", \"length\": 2, \"element-field-class\": {element}}}");
    let metadata = prop2(&[plain, &event(&members(&[("n", &unsigned(8, "")), ("q", &array)]))]);
    is_one_warning(&metadata, "a field within an array needs a field outside its element");
    assert_eq!(events(&read(&metadata, &[2, 0x41, 0x42, 0x43, 0x44])).len(), 1);
    // The same for optionals.
    let inner = optional("event-record-payload", &members(&[("t", &element)]));
    let metadata = prop2(&[plain, &event(&members(&[("s", flag), ("n", &unsigned(8, "")), ("o", &inner)]))]);
    is_one_warning(&metadata, "a field within an optional needs a field outside this optional");
    // All fields in the same element are allowed.
    let pair = members(&[("n", &unsigned(8, "")), ("t", &located("event-record-payload", "\"q\", \"n\""))]);
    let array =
        format!("{{\"type\": \"static-length-array\", \"length\": 2, \"element-field-class\": {pair}}}");
    let metadata = prop2(&[plain, &event(&members(&[("q", &array)]))]);
    assert_eq!(warnings(&metadata), Vec::<String>::new());
}

#[test]
fn members_of_unions_are_of_one_size() {
    let union = |x: &str, y: &str| {
        let members = fields(&[("x", x), ("y", y)]).replacen("struct", "union", 1);
        prop1(&[TRACE, STREAM, &event(&[("u", &members)])])
    };
    is_one_warning(&union(&int(8), &int(16)), "different numbers of bits: `x` 8, `y` 16");
    assert_eq!(warnings(&union(&int(16), &int(16))), Vec::<String>::new());
    let two = fields(&[("a", &int(3)), ("b", &int(5))]);
    assert_eq!(warnings(&union(&two, &int(8))), Vec::<String>::new());
    is_one_warning(&union(&two, &int(9)), "`x` 8, `y` 9");
    let array = |length| {
        format!("{{\"field-type\": \"array\", \"length\": {length}, \"element-field-type\": {}}}", int(3))
    };
    is_one_warning(&union(&array(3), &int(8)), "`x` 9, `y` 8");
    // If a size varies, only reading data can find the fault.
    let text = r#"{"field-type": "string"}"#;
    assert_eq!(
        warnings(&union(text, r#"{"field-type": "int", "size": 16, "alignment": 8}"#)),
        Vec::<String>::new()
    );
}

#[test]
fn event_records_have_bits() {
    let none = r#"{"field-type": "array", "length": 0, "element-field-type": {"field-type": "string"}}"#;
    let empty = event(&[("a", r#"{"field-type": "null"}"#), ("b", none)]);
    let metadata = format!("[\"CTF 2\",\n{TRACE},\n{STREAM},\n  {empty}]");
    let found = warnings(&metadata);
    assert_eq!(
        found,
        ["4:3: warning: in data stream class 0, event record class 0: its event records would be empty"]
    );
    let some = event(&[("a", r#"{"field-type": "string"}"#)]);
    assert_eq!(warnings(&prop1(&[TRACE, STREAM, &some])), Vec::<String>::new());
}

/// Returns the messages about a trace with these files, except about its data.
fn reported(metadata: &str, files: &[(&str, &[u8])], strict: bool) -> Vec<String> {
    let mut all = vec![("metadata", metadata.as_bytes())];
    all.extend(files);
    let mut options = CtfOptions::default();
    options.strict = strict;
    let opened = open(&[&tree(&all)], &options);
    opened.traces[0].diagnostics().iter().map(ToString::to_string).collect()
}

#[test]
fn packets_have_more_than_8_bits() {
    let metadata = prop1(&[TRACE, STREAM, &event(&[("a", &int(8))])]);
    assert_eq!(reported(&metadata, &[("s", &[0x41])], false), Vec::<String>::new());
    let found = reported(&metadata, &[("s", &[0x41])], true);
    assert!(
        matches!(found.as_slice(), [one] if one.contains("the packet at byte 0 has 8 bits")),
        "{found:?}"
    );
    assert_eq!(reported(&metadata, &[("s", &[0x41, 0x42])], true), Vec::<String>::new());
}

#[test]
fn data_streams_have_a_packet() {
    let payload = members(&[("a", &unsigned(8, ""))]);
    let event = format!(r#"{{"type": "event-record-class", "payload-field-class": {payload}}}"#);
    let of_prop2 = prop2(&[r#"{"type": "data-stream-class"}"#, &event]);
    let files: [(&str, &[u8]); 3] = [("a", &[]), ("b", &[0x41, 0x42]), ("c", &[])];
    let found = reported(&of_prop2, &files, true);
    let expected = "the data stream is empty, but must have at least one packet; so is another file";
    assert!(matches!(found.as_slice(), [one] if one.contains(expected)), "{found:?}");
    assert_eq!(reported(&of_prop2, &files, false), Vec::<String>::new());
    // PROP-1.0, "Layer 2": a sequence of zero or more packets.
    let of_prop1 = prop1(&[TRACE, STREAM, &self::event(&[("a", &int(8))])]);
    assert_eq!(reported(&of_prop1, &files, true), Vec::<String>::new());
}

#[test]
fn data_streams_of_prop2_have_no_clock_but_the_default_one() {
    let clock = |name| format!("{{\"type\": \"clock-class\", \"name\": \"{name}\", \"frequency\": 1}}");
    let header = members(&[("t", &unsigned(8, ", \"roles\": [\"default-clock-timestamp\"]"))]);
    let stream = format!(
        "{{\"type\": \"data-stream-class\", \"default-clock-class-name\": \"b\", \"event-record-header-field-class\": {header}}}"
    );
    let metadata = prop2(&[&clock("a"), &clock("b"), &stream, r#"{"type": "event-record-class"}"#]);
    let observed = read(&metadata, &[7]);
    assert_eq!((cycles(&observed), others(&observed)), (vec![Some(7)], vec![Vec::new()]));
}
