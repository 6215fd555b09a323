//! Events that return from another format.

use std::sync::Arc;

use ichnos_io::{
    Format as _, IoLimits, Lane, ReadOptions, Tree, WriteSource, WriteTarget, WriterFactory as _,
};
use ichnos_jsonl::JsonLinesFormat;
use ichnos_model::Window;
use ichnos_model::lower::LossKind;
use ichnos_nettrace::{NettraceOptions, NettraceWriter};
use serde_json::{Value, json};

use crate::builder::{Bytes, Event, File, Form, Metadata, field, kind};
use crate::reading::{lines, read, read_with};
use crate::writing::encoding;

/// File written from JSON Lines, and its losses.
pub(crate) struct Converted {
    pub(crate) bytes: Vec<u8>,
    /// Kind, description and number of each loss.
    pub(crate) losses: Vec<(LossKind, String, u64)>,
}

impl Converted {
    pub(crate) fn of(lines: &str, dialect: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines.jsonl");
        std::fs::write(&path, lines).unwrap();
        let tree = Tree::open(&path, &IoLimits::default()).unwrap();
        let read = JsonLinesFormat.open(&[&tree], &ReadOptions::default());
        let [source] = &read.traces[..] else { panic!("{:?}", read.refused) };
        let sources = vec![WriteSource {
            trace: Arc::clone(source.trace()),
            format: "jsonl",
            has_dynamic_classes: true,
            streams: source.data_streams(),
        }];
        let path = directory.path().join("out.nettrace");
        let target = WriteTarget::Complete(path.clone());
        let output = NettraceWriter.create(target, sources, &encoding(Some(dialect))).unwrap();
        let mut worker = output.worker(Lane::All);
        for mut cursor in source.cursors(Window::default()) {
            while cursor.advance() {
                worker.message(&cursor.current().unwrap()).unwrap();
            }
        }
        worker.finish().unwrap();
        while let Some(block) = worker.take() {
            output.join(block).unwrap();
        }
        drop(worker);
        let report = output.finish().unwrap();
        let losses =
            report.losses.iter().map(|(loss, count)| (loss.kind, loss.what.clone(), count)).collect();
        Self { bytes: std::fs::read(path).unwrap(), losses }
    }

    /// Returns the number of losses whose description starts with a text.
    pub(crate) fn count(&self, what: &str) -> u64 {
        self.losses.iter().filter(|(_, loss, _)| loss.starts_with(what)).map(|(.., count)| count).sum()
    }
}

/// Creates a file with one event with labels. Some keys in its metadata are names of properties.
fn labelled() -> Vec<u8> {
    let mut file = File::new(Form::V6);
    let properties = [
        ("key", "value"),
        ("description", "own description"),
        ("provider-guid", "00000000-0000-0000-0000-000000000001"),
        ("property-task", "own task"),
    ];
    let tags = properties.iter().fold(Bytes::new(), |tags, (key, value)| tags.u8(6).text(key).text(value));
    let number = Metadata::new(1, "Number", [field(Form::V6, 9, "number")]);
    file.metadata(&[Metadata { tags, ..number }]).threads(&[(1, 11, "first")]);
    let labels = Bytes::new().u8(3).raw(&[7; 16]).u8(4).u64(5).u8(5).text("name").text("text");
    let labels = labels.u8(0x86).text("count").var(3);
    file.block(kind::LABEL_LIST, &Bytes::new().u32(1).u32(1).raw(&labels.0).0);
    let event = Event::new(1, 1, 1, 1).with(Bytes::new().u32(5));
    file.events(true, &[Event { labels: 1, ..event }]);
    file.end()
}

#[test]
fn properties_and_labels_come_back() {
    let source = labelled();
    let before = read(&source);
    let properties = |read: &crate::reading::Read| read.classes[0]["attributes"]["nettrace"].clone();
    let shown = properties(&before);
    assert_eq!((&shown["description"], &shown["provider-guid"]), (&Value::Null, &Value::Null), "{shown}");
    let own = ["key", "property-description", "property-property-task"].map(|name| shown[name].clone());
    assert_eq!(own, ["value", "own description", "own task"].map(|text| json!(text)), "{shown}");
    let text = lines(&source);
    let converted = Converted::of(&text, "6");
    let after = read(&converted.bytes);
    assert_eq!(properties(&after), shown, "{:?}", converted.losses);
    for name in ["trace_id", "span_id", "labels", "numeric_labels"] {
        assert!(!before.context(name)[0].is_null(), "{name}");
        assert_eq!(before.context(name), after.context(name), "{name}");
    }
    assert_eq!(after.payload("trace_id"), [Value::Null]);
    // Version 4 cannot store these labels.
    let converted = Converted::of(&text, "4");
    assert_eq!(converted.count("property `"), 4, "{:?}", converted.losses);
    assert_eq!(converted.count("property `description`"), 1, "{:?}", converted.losses);
    let after = read(&converted.bytes);
    // An optional value becomes an array.
    assert_eq!(after.payload("span_id"), [json!([before.context("span_id")[0]])]);
}

/// Members with the name of a label, but another class, are fields.
#[test]
fn other_members_with_names_of_labels_are_fields() {
    let integer = r#"{"type":"integer","length":32}"#;
    let text = r#"{"type":"string"}"#;
    let context = [("trace_id", integer), ("span_id", text), ("labels", integer), ("numeric_labels", text)];
    let members: Vec<String> =
        context.iter().map(|(name, class)| format!(r#"{{"name":"{name}","class":{class}}}"#)).collect();
    let class = r#"{"type":"event-class","stream":0,"id":1,"name":"Tests/event","attributes":{"nettrace":{"provider":"Tests","event-id":1,"count":3}}}"#;
    let text = format!(
        r#"{{"type":"stream-begin","stream":0,"fields":{{"common_context":{{"type":"structure","members":[{}]}}}}}}
{class}
{{"type":"event","stream":0,"ts":1,"id":1,"common_context":{{"trace_id":1,"span_id":"two","labels":3,"numeric_labels":"four"}}}}
"#,
        members.join(",")
    );
    let converted = Converted::of(&text, "6");
    let read = read_with(&converted.bytes, &NettraceOptions::default());
    let payload =
        ["trace_id", "span_id", "labels", "numeric_labels"].map(|name| read.payload(name).remove(0));
    assert_eq!(payload, [json!(1), json!("two"), json!(3), json!("four")]);
    assert_eq!(converted.count("property `count`"), 1, "{:?}", converted.losses);
}

/// Version 4 stores no texts except names, which end at U+0000.
#[test]
fn metadata_without_a_place_are_listed() {
    let lines = |attributes: &str, name: &str| {
        format!(
            r#"{{"type":"stream-begin","stream":0}}
{{"type":"event-class","stream":0,"id":1,"name":"Tests/{name}","attributes":{{"nettrace":{{"provider":"Tests","event-id":1{attributes}}}}},"fields":{{"payload":{{"type":"structure","members":[{{"name":"{name}","class":{{"type":"integer","length":32}}}}]}}}}}}
{{"type":"event","stream":0,"ts":1,"id":1,"payload":{{"{name}":1}}}}
"#
        )
    };
    let listed = |lines: &str, dialect| {
        let converted = Converted::of(lines, dialect);
        [
            "metadata that the version",
            "provider or name -> its text before U+0000",
            "field names -> their text before U+0000",
        ]
        .map(|what| converted.count(what))
    };
    let description = r#","description":"text""#;
    assert_eq!(listed(&lines("", "name"), "4"), [0, 0, 0]);
    assert_eq!(listed(&lines(description, "name"), "4"), [1, 0, 0]);
    assert_eq!(listed(&lines(description, "name"), "6"), [0, 0, 0]);
    assert_eq!(listed(&lines("", "na\\u0000me"), "4"), [0, 1, 1]);
}
