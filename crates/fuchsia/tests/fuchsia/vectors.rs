//! Byte vectors with the results of Fuchsia's own readers.

use ichnos_fuchsia::log::{
    LogError, Meaning, Message, Packet, Record, Role, Rule, Severity, SeverityScale, Value,
};
use serde_json::{Value as Json, json};

use crate::support::{unhex, vectors};

fn value(value: Value<'_>) -> (&'static str, Json) {
    match value {
        Value::Signed(value) => ("i64", json!(value)),
        Value::Unsigned(value) => ("u64", json!(value)),
        Value::Float(value) => ("f64", json!(value)),
        Value::Bool(value) => ("bool", json!(value)),
        Value::Text(value) => ("str", json!(value.to_string())),
        other => panic!("{other:?}"),
    }
}

/// Returns the reference's error for a broken rule.
fn error_name(error: &LogError) -> &'static str {
    match error.rule {
        Rule::ArgumentTypeReserved | Rule::NameRefReserved | Rule::ValueRefReserved => "Unsupported",
        Rule::RecordHeaderTruncated => "InvalidHeader",
        Rule::TimestampTruncated => "InvalidTimestamp",
        Rule::RecordType | Rule::RecordSizeMinimum | Rule::RecordTruncated => "ValueOutOfValidRange",
        Rule::ArgumentTypeUnknown => "ValueOutOfValidRange",
        Rule::LegacyTooShort => "ShortRead",
        Rule::LegacyNotTerminated => "NotNullTerminated",
        Rule::LegacyTooManyTags => "TooManyTags",
        Rule::LegacyTagTooLong => "TagTooLong",
        Rule::LegacyOutOfBounds => "OutOfBounds",
        other => panic!("the vectors have nothing for {other}"),
    }
}

/// Returns the value for a key of an expected record.
fn record_fact(key: &str, bytes: &[u8]) -> Json {
    let message = Message::read(bytes, 0).unwrap();
    let Message::Record { record, .. } = message else { panic!("no record") };
    let attribution = message.attribution();
    let (known, control) = (record.known(), record.control());
    let text = |text: Option<ichnos_fuchsia::log::Text<'_>>| json!(text.map(|text| text.to_string()));
    let pairs = || record.roles().filter(|(role, _)| *role == Role::Pair).map(|(_, argument)| argument);
    match key {
        "sev" | "severity" => json!(record.severity().name()),
        "raw_severity" => json!(record.raw_severity()),
        "ts" => json!(record.timestamp()),
        "args" => record
            .arguments()
            .map(|argument| {
                let argument = argument.unwrap();
                let (kind, value) = value(argument.value);
                json!([argument.name.as_str(), kind, value])
            })
            .collect(),
        "file" => text(known.file),
        "line" => json!(known.line),
        "pid" => json!(known.pid),
        "tid" => json!(known.tid),
        "dropped" => json!(known.dropped),
        "message" | "fmt" => text(known.message),
        "tags" => record
            .roles()
            .filter(|(role, _)| *role == Role::Known(Meaning::Tag))
            .map(|(_, argument)| value(argument.value).1)
            .collect(),
        "kvs" => {
            Json::Object(pairs().map(|pair| (pair.name.as_str().to_owned(), value(pair.value).1)).collect())
        }
        "pargs" => record
            .roles()
            .filter(|(role, _)| *role == Role::Positional)
            .map(|(_, argument)| value(argument.value).1)
            .collect(),
        "printf" => json!(record.is_printf()),
        "rendered" => json!(format!("[{}({})] {}", known.file.unwrap(), known.line.unwrap(), record.text())),
        "control" => json!(record.is_control()),
        "tag" => json!(record.tag()),
        "moniker" => text(attribution.map_or_else(|| control.unwrap().moniker, |found| found.moniker)),
        "url" => text(attribution.map_or_else(|| control.unwrap().url, |found| found.url)),
        "rolled_out" => json!(attribution.unwrap().rolled_out),
        other => panic!("the test does not know {other}"),
    }
}

fn packet_fact(key: &str, packet: &Packet<'_>) -> Json {
    match key {
        "pid" => json!(packet.pid()),
        "tid" => json!(packet.tid()),
        "ts" => json!(packet.timestamp()),
        "sev" => json!(packet.severity(SeverityScale::Current).name()),
        "dropped" => json!(packet.dropped()),
        "tags" => packet.tags().map(|tag| json!(tag.to_string())).collect(),
        "message" => json!(packet.message().to_string()),
        "size_bytes" => json!(packet.size()),
        other => panic!("the test does not know {other}"),
    }
}

/// Notes on vectors that need an explanation.
fn note(name: &str, bytes: &[u8]) {
    let (record, _) = Record::read(bytes, 0).unwrap();
    match name {
        "log_cpp_dropped" => {
            assert_eq!(record.known().dropped, 7);
            assert_eq!(record.known().line, Some(3));
        }
        // The reference reads it as an unsigned 1, but it is a reserved type without a value.
        "log_unknown_arg_type_0" => {
            let argument = record.arguments().next().unwrap().unwrap();
            assert_eq!((argument.name.as_str(), argument.value), ("n", Value::Null));
        }
        other => panic!("the test does not know the note of {other}"),
    }
}

#[test]
fn conformance_of_logs() {
    let Some(path) = vectors() else { return };
    let vectors: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let (mut checked, mut others) = (0, Vec::new());
    for vector in vectors.as_array().unwrap() {
        let name = vector["name"].as_str().unwrap();
        let bytes = unhex(vector["hex"].as_str().unwrap());
        let error = vector["error"].as_str();
        let is_legacy = name.starts_with("legacy_");
        if !is_legacy && !name.starts_with("log_") {
            others.push(name);
            continue;
        }
        checked += 1;
        if let Some(expected) = error {
            let found = if is_legacy {
                Packet::read(&bytes, 0).unwrap_err()
            } else {
                let read = Record::read(&bytes, 0).and_then(|(record, _)| record.validate());
                read.unwrap_err()
            };
            assert!(expected.starts_with(error_name(&found)), "{name}: {expected}, but {found}");
            continue;
        }
        for (key, expected) in vector["expect"].as_object().unwrap() {
            if key == "note" {
                note(name, &bytes);
                continue;
            }
            let found = if is_legacy {
                let Ok(Message::Legacy(packet)) = Message::read(&bytes, 0) else { panic!("{name}") };
                packet_fact(key, &packet)
            } else {
                record_fact(key, &bytes)
            };
            assert_eq!(&found, expected, "{name}: {key}");
        }
    }
    assert_eq!(checked, 34);
    eprintln!("    {checked} vectors as the reference has them; not of logs: {}", others.join(" "));
}

/// Explains the details in some reference errors.
#[test]
fn details_of_legacy_errors() {
    let Some(path) = vectors() else { return };
    let read = |name: &str| std::fs::read(path.with_file_name(format!("{name}.bin"))).unwrap();
    let details = |name: &str| {
        let error = Packet::read(&read(name), 0).unwrap_err();
        (error.rule, error.at, error.expected, error.found)
    };
    assert_eq!(details("legacy_32"), (Rule::LegacyTooShort, 0, 33, 32));
    assert_eq!(details("legacy_unterminated"), (Rule::LegacyNotTerminated, 35, 0, 1));
    assert_eq!(details("legacy_tag_64"), (Rule::LegacyTagTooLong, 32, 63, 64));
    assert_eq!(details("legacy_6_tags"), (Rule::LegacyTooManyTags, 42, 5, 6));
    assert_eq!(details("legacy_tags_no_msg"), (Rule::LegacyOutOfBounds, 45, 46, 45));
    assert_eq!(Severity::from_raw(0x2e), Severity::Debug);
}
