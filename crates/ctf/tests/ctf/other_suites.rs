//! Cases from other readers' test suites. Some are texts that the other readers refuse and this reader reads with a
//! warning (strict reading also refuses them). Others are texts that they read and this reader used to refuse.

use ichnos_ctf::metadata::{self, Metadata, MetadataOptions};
use ichnos_ctf::rule::Rule;
use ichnos_model::class::Value;
use ichnos_model::message::DamageKind;
use ichnos_model::trace::Severity;

use crate::reading::{damage, events, observed, refusal, trace};

const TRACE: &str = "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };";
const BYTE: &str = "typealias integer { size = 8; } := u8;";

fn tsdl(blocks: &[&str]) -> String {
    format!("{TRACE} {BYTE} {}", blocks.join(" "))
}

fn options(strict: bool) -> MetadataOptions {
    let mut options = MetadataOptions::default();
    options.strict = strict;
    options
}

/// Reads metadata that must cause a single warning with this text.
fn read_with_warning(text: &[u8], expected: &str) -> Metadata {
    let read = metadata::parse(text, &options(false)).unwrap_or_else(|error| panic!("{error:#?}"));
    let warnings: Vec<String> = read
        .diagnostics
        .iter()
        .filter(|problem| problem.severity == Severity::Warning)
        .map(ToString::to_string)
        .collect();
    assert!(matches!(warnings.as_slice(), [one] if one.contains(expected)), "{warnings:#?}");
    assert!(metadata::parse(text, &options(true)).is_err(), "strict reading refuses it");
    read
}

/// Reads metadata that must be free of problems.
fn read_strictly(text: &[u8]) -> Metadata {
    metadata::parse(text, &options(true)).unwrap_or_else(|error| panic!("{error:#?}"))
}

fn event(fields: &str) -> String {
    format!("event {{ name = e; fields := struct {{ {fields} }}; }};")
}

/// Returns the values of the only event in a data stream with these bytes.
fn values(text: &str, data: &[u8]) -> Vec<String> {
    let observed = observed(&trace(text.as_bytes(), &[("s", data)]));
    assert!(damage(&observed).is_empty(), "{observed:#?}");
    events(&observed)[0].fields.iter().map(|(_, value)| value.clone()).collect()
}

#[test]
fn a_second_env_block() {
    let text = tsdl(&["env { a = 1; };", "env { b = \"x\"; };", &event("u8 x;")]);
    let read = read_with_warning(text.as_bytes(), "there is more than one `env` block");
    assert_eq!(read.trace.environment("a"), Some(&Value::Integer(1)));
    assert_eq!(read.trace.environment("b"), Some(&Value::Text("x".to_owned())));
}

#[test]
fn an_environment_entry_that_is_neither_integer_nor_string() {
    let text = tsdl(&["env { a = word; };", &event("u8 x;")]);
    let read = read_with_warning(text.as_bytes(), "the value of an environment entry is not quoted");
    assert_eq!(read.trace.environment("a"), Some(&Value::Text("word".to_owned())));
}

#[test]
fn an_event_class_without_a_data_stream_class() {
    let text = tsdl(&["stream { id = 5; };", &event("u8 x;")]);
    read_with_warning(
        text.as_bytes(),
        "does not name a `stream` block, and the id 0 does not exist: it is assumed to belong",
    );
    assert_eq!(values(&text, &[0x41]), ["u:65"]);
    let header =
        "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 stream_id; }; };";
    let other = "event { name = o; stream_id = 6; fields := struct { u8 x; }; };";
    let text = format!(
        "/* CTF 1.8 */ {BYTE} {header} stream {{ id = 5; }}; stream {{ id = 6; }}; {} {other}",
        event("u8 x;")
    );
    read_with_warning(text.as_bytes(), "the id 0 does not exist: its events are not read");
    assert_eq!(values(&text, &[6, 0x41]), ["u:65"]);
    // An event that names a missing data stream class.
    let text = tsdl(&["stream { id = 5; };", "event { name = e; stream_id = 7; };"]);
    assert!(refusal(text.as_bytes()).contains("unknown `stream` block id 7"));
    // The same in JSON.
    let byte = r#"{"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian"}"#;
    let text = format!(
        "\x1e{{\"type\": \"preamble\", \"version\": 2}}\n\x1e{{\"type\": \"data-stream-class\", \"id\": 5}}\n\
         \x1e{{\"type\": \"event-record-class\", \"payload-field-class\": {{\"type\": \"structure\", \
         \"member-classes\": [{{\"name\": \"x\", \"field-class\": {byte}}}]}}}}\n"
    );
    read_with_warning(text.as_bytes(), "does not name a data stream class, and the id 0 does not exist");
    assert_eq!(values(&text, &[0x41]), ["u:65"]);
    let text = r#"["CTF 2", {"fragment": "trace-class", "default-byte-order": "le"},
        {"fragment": "data-stream-class", "id": 5},
        {"fragment": "event-record-class", "payload-field-type": {"field-type": "int", "size": 16}}]"#;
    read_with_warning(text.as_bytes(), "does not name a data stream class, and the id 0 does not exist");
}

#[test]
fn several_data_stream_classes_that_no_packet_tells_apart() {
    let text = tsdl(&["stream { id = 0; };", "stream { id = 1; };", &event("u8 x;")]);
    read_with_warning(text.as_bytes(), "there are several `stream` blocks, but no `stream_id`");
    assert_eq!(values(&text, &[0x41]), ["u:65"]);
    let text = r#"["CTF 2", {"fragment": "trace-class", "default-byte-order": "le"},
        {"fragment": "data-stream-class"}, {"fragment": "data-stream-class", "id": 1},
        {"fragment": "event-record-class", "payload-field-type":
            {"field-type": "struct", "fields": [{"name": "x", "field-type": {"field-type": "int", "size": 16}}]}}]"#;
    read_with_warning(text.as_bytes(), "but no class id in the packet header");
    assert_eq!(values(text, &[0x41, 0]), ["u:65"]);
}

#[test]
fn labels_and_options_that_do_not_fit() {
    let text = |labels: &str, options: &str| {
        tsdl(&[&event(&format!("enum : u8 {{ {labels} }} tag; variant <tag> {{ {options} }} v;"))])
    };
    read_strictly(text("a, b", "u8 a; string b;").as_bytes());
    let lacking = text("a", "u8 a; string b;");
    read_with_warning(lacking.as_bytes(), "the tag of the variant lacks a label for the option `b`");
    assert_eq!(values(&lacking, &[0, 0x41]), ["u:0", "u:65"]);
    let more = text("a, b, c", "u8 a; string b;");
    read_with_warning(more.as_bytes(), "no option of the variant is named after the tag label `c`");
    assert_eq!(values(&more, &[0, 0x41]), ["u:0", "u:65"]);
    let observed = observed(&trace(more.as_bytes(), &[("s", &[2, 0x41])]));
    assert_eq!(damage(&observed)[0].kind.to_string(), "2 selects no option of the variant");
    // In PROP-1.0, each choice must have a label, but a label may lack a choice.
    let prop1 = |labels: &str| {
        format!(
            r#"["CTF 2", {{"fragment": "trace-class", "default-byte-order": "le"}}, {{"fragment": "data-stream-class"}},
            {{"fragment": "event-record-class", "payload-field-type": {{"field-type": "struct", "fields": [
                {{"name": "e", "field-type": {{"field-type": "enum", "size": 8, "members": {{{labels}}}}}}},
                {{"name": "v", "field-type": {{"field-type": "variant", "tag": ["e"], "choices": [
                    {{"name": "a", "field-type": {{"field-type": "int", "size": 8}}}},
                    {{"name": "b", "field-type": {{"field-type": "int", "size": 16}}}}]}}}}]}}}}]"#
        )
    };
    read_strictly(prop1(r#""a": [0], "b": [1], "c": [2]"#).as_bytes());
    let lacking = prop1(r#""a": [0]"#);
    read_with_warning(
        lacking.as_bytes(),
        "the tag enumeration lacks the label `b`: nothing selects this option",
    );
    assert_eq!(values(&lacking, &[0, 0x41]), ["u:0", "u:65"]);
}

#[test]
fn ranges_below_0_of_unsigned_integers() {
    let text = tsdl(&[&event("enum : u8 { a = -1, b = 1 } x;")]);
    read_with_warning(text.as_bytes(), "the value -1 of an unsigned enumeration is below 0");
    assert_eq!(values(&text, &[1]), ["u:1"]);
    let spec2 = |class: &str| {
        format!(
            "\x1e{{\"type\": \"preamble\", \"version\": 2}}\n\x1e{{\"type\": \"data-stream-class\"}}\n\
             \x1e{{\"type\": \"event-record-class\", \"payload-field-class\": {{\"type\": \"structure\", \
             \"member-classes\": [{class}]}}}}\n"
        )
    };
    let integer = |kind: &str, more: &str| {
        format!(
            "{{\"type\": \"fixed-length-{kind}-integer\", \"length\": 8, \"byte-order\": \"little-endian\"{more}}}"
        )
    };
    let named = |name: &str, class: &str| format!("{{\"name\": \"{name}\", \"field-class\": {class}}}");
    let mappings = r#", "mappings": {"a": [[-5, 3]]}"#;
    let text = spec2(&named("x", &integer("unsigned", mappings)));
    read_with_warning(text.as_bytes(), "the range -5..3 of an unsigned integer begins below 0");
    read_strictly(spec2(&named("x", &integer("signed", mappings))).as_bytes());
    // The same for selectors.
    let variant = format!(
        r#"{{"type": "variant", "selector-field-location": {{"path": ["x"]}},
        "options": [{{"selector-field-ranges": [[-1, 5]], "field-class": {}}}]}}"#,
        integer("unsigned", "")
    );
    let text = spec2(&format!("{}, {}", named("x", &integer("unsigned", "")), named("v", &variant)));
    read_with_warning(text.as_bytes(), "a range begins below 0, but the selector field is unsigned");
    assert_eq!(values(&text, &[1, 0x41]), ["u:1", "u:65"]);
    let signed = spec2(&format!("{}, {}", named("x", &integer("signed", "")), named("v", &variant)));
    read_strictly(signed.as_bytes());
}

#[test]
fn an_alias_with_the_lengths_of_arrays() {
    let text = tsdl(&["typealias u8 := allo;", "typealias allo := salut[23];", &event("salut x;")]);
    let read = read_strictly(text.as_bytes());
    assert!(read.diagnostics[0].message.contains("the array lengths after the name `salut`"));
    assert_eq!(values(&text, &[0x41]), ["u:65"]);
}

#[test]
fn a_total_length_within_a_byte() {
    let context = "struct { u8 packet_size; u8 content_size; }";
    let text = tsdl(&[&format!("stream {{ packet.context := {context}; }};"), &event("u8 x;")]);
    for (total, content) in [(27, 24), (9, 8), (27, 32)] {
        let observed = observed(&trace(text.as_bytes(), &[("s", &[total, content, 0x41, 0x42])]));
        let found: Vec<_> = observed.iter().collect();
        assert!(found.is_empty(), "no packet can be read");
        let trace = trace(text.as_bytes(), &[("s", &[total, content, 0x41, 0x42])]);
        let kinds: Vec<DamageKind> =
            ichnos_model::OpenedTrace::damage(&trace).iter().map(|damage| damage.kind.clone()).collect();
        assert_eq!(kinds, [Rule::PartialByte(total.into()).into()]);
    }
}

#[test]
fn an_attribute_of_a_type_that_is_not_known() {
    let text = tsdl(&[&event("integer { size = 8; aa = 5; } x; string { bb = c; } s;")]);
    let read = metadata::parse(text.as_bytes(), &options(false)).unwrap();
    let warnings: Vec<String> = read.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].contains("warning: in `event` block") && warnings[0].contains("unknown attribute `aa`"),
        "{warnings:?}"
    );
    assert_eq!(values(&text, &[7, 0x41, 0])[0], "u:7");
    let refused = metadata::parse(text.as_bytes(), &options(true)).unwrap_err();
    assert!(refused.diagnostics[0].message.contains("unknown attribute `aa`"));
    // A misspelled attribute counts as missing.
    let text = tsdl(&[&event("integer { siz = 8; } x;")]);
    assert!(metadata::parse(text.as_bytes(), &options(false)).is_err());
}

#[test]
fn a_byte_order_mark() {
    let json = r#"["CTF 2", {"fragment": "trace-class", "default-byte-order": "le"}, {"fragment": "data-stream-class"},
        {"fragment": "event-record-class", "payload-field-type": {"field-type": "int", "size": 16}}]"#;
    let spec2 = "\x1e{\"type\": \"preamble\", \"version\": 2}\n\x1e{\"type\": \"data-stream-class\"}\n";
    for text in [tsdl(&[&event("u8 x;")]).as_str(), json, spec2] {
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        let plain = metadata::parse(text.as_bytes(), &options(true)).unwrap();
        let read = metadata::parse(&marked, &options(false)).unwrap();
        assert_eq!(read.trace, plain.trace, "places are those without the mark");
        let notes: Vec<String> = read.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(notes, ["1:1: note: skipped a byte order mark (U+FEFF) before the metadata"]);
        assert!(metadata::parse(&marked, &options(true)).is_err(), "no document has one there");
    }
}

#[test]
fn strings_and_lengths_without_an_end() {
    let text = tsdl(&[&event("string s;")]);
    let kinds = |text: &str, data: &[u8]| {
        let observed = observed(&trace(text.as_bytes(), &[("s", data)]));
        damage(&observed).iter().map(|damage| damage.kind.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&text, b"abc"), ["the string is not terminated within its packet"]);
    // An end after the packet is invalid.
    let context = "stream { packet.context := struct { u8 packet_size; u8 content_size; }; };";
    let text = tsdl(&[context, &event("string s;")]);
    assert_eq!(kinds(&text, b"\x20\x18a\0"), ["the string is not terminated within its packet"]);
    let most = u64::MAX.to_le_bytes();
    let long = "typealias integer { size = 64; } := u64;";
    let text = tsdl(&[long, &event("u64 n; u8 q[n];")]);
    let message = "a length of 18446744073709551615 elements does not fit in the 16 bits left";
    assert_eq!(kinds(&text, &[&most[..], b"ab"].concat()), [message]);
    let text = tsdl(&[long, &event("u64 n; string q[n];")]);
    assert_eq!(kinds(&text, &[&most[..], b"a\0"].concat()), [message]);
    let character = "typealias integer { size = 8; encoding = UTF8; } := text;";
    let text = tsdl(&[long, character, &event("u64 n; text q[n];")]);
    assert_eq!(kinds(&text, &[&most[..], b"ab"].concat()), [message.replace("elements", "bytes")]);
}
