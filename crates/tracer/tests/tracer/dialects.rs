//! Metadata in other dialects for the same data.

use std::path::Path;

use ichnos::ctf::metadata::{Dialect, MetadataOptions, parse, write_metadata};
use ichnos::model::trace::Limits;
use ichnos_tracer::{
    ClockDescription, EventSet, Platform, StreamOptions, TraceDescription, TraceEvent, TraceField, Tracer,
};
use serde_json::json;

use crate::family::{Family, State};
use crate::{output_of, read};

#[derive(Clone, Copy, TraceField)]
struct Pair {
    first: u8,
    #[trace(align = 32)]
    second: f32,
}

#[derive(TraceField)]
struct Word<'a> {
    text: &'a str,
    places: &'a [u16],
}

#[derive(TraceEvent)]
#[trace(level = "notice")]
struct Simple<'a> {
    #[trace(base = 16)]
    number: u32,
    #[trace(big_endian, align = 64)]
    load: f64,
    state: State,
    name: &'a str,
    pairs: [Pair; 2],
    words: Vec<Word<'a>>,
}

ichnos_tracer::event_set! { struct Simples { Simple<'_> } }

#[derive(Default)]
struct Memory(Vec<u8>);

impl Platform for Memory {
    fn now(&mut self) -> u64 {
        self.0.len() as u64
    }

    fn take(&mut self, packet: &[u8]) -> bool {
        self.0.extend_from_slice(packet);
        true
    }
}

/// Returns the metadata of a set in a dialect, or what the dialect cannot express.
fn metadata<S: EventSet>(dialect: Dialect) -> Result<String, Vec<String>> {
    let mut text = String::new();
    let mut trace = TraceDescription::new(ClockDescription::new("c", 1000));
    if dialect == Dialect::Ctf18 {
        trace = trace.without_annotations();
    }
    trace.write::<S>(&mut text).unwrap();
    let read = parse(text.as_bytes(), &MetadataOptions::default()).unwrap();
    let written = write_metadata(&read.trace, dialect, &Limits::default());
    let written =
        written.map_err(|unsupported| unsupported.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    assert!(dialect == Dialect::Prop2 || written.aux_streams.is_empty());
    Ok(written.text)
}

fn write(directory: &Path, data: &[u8], text: &str) {
    std::fs::create_dir(directory).unwrap();
    std::fs::write(directory.join("metadata"), text).unwrap();
    std::fs::write(directory.join("stream"), data).unwrap();
}

fn remove_lengths(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(members) => {
            members.retain(|name, _| !name.ends_with("_length"));
            members.values_mut().for_each(remove_lengths);
        }
        serde_json::Value::Array(elements) => elements.iter_mut().for_each(remove_lengths),
        _ => {}
    }
}

#[test]
fn all_dialects_describe_the_same_data() {
    let mut buffer = [0; 4096];
    let mut tracer = Tracer::<_, Simples>::new(Memory::default(), &mut buffer, 1024, StreamOptions::new(0));
    let pairs = [Pair { first: 1, second: 0.5 }, Pair { first: 2, second: 1.5 }];
    let words = vec![Word { text: "one", places: &[] }, Word { text: "two", places: &[7, 8] }];
    assert!(tracer.record(&Simple {
        number: 0xf0,
        load: 2.5,
        state: State::Running,
        name: "x",
        pairs,
        words
    }));
    assert!(tracer.flush());
    let expected = json!({
        "number": 0xf0, "load": 2.5, "state": { "value": 0, "labels": ["Running"] }, "name": "x",
        "pairs": [{ "first": 1, "second": 0.5 }, { "first": 2, "second": 1.5 }],
        "words": [{ "text": "one", "places": [] }, { "text": "two", "places": [7, 8] }],
    });
    let directory = tempfile::tempdir().unwrap();
    for dialect in [Dialect::Spec2, Dialect::Prop2, Dialect::Prop1, Dialect::Ctf18] {
        let path = directory.path().join(dialect.name());
        write(
            &path,
            &tracer.platform().0,
            &metadata::<Simples>(dialect).unwrap_or_else(|refused| panic!("{refused:#?}")),
        );
        // Only annotations hide lengths.
        let mut payload = read(&path, false)[0]["payload"].take();
        remove_lengths(&mut payload);
        assert_eq!(payload, expected, "{dialect:?}");
        if dialect == Dialect::Ctf18
            && let Some(text) = output_of("babeltrace2", &path)
        {
            assert!(text.contains("number = 0xF0, load = 2.5"), "{text}");
            assert!(text.contains("text = \"two\", "), "{text}");
        }
    }
}

#[test]
fn a_dialect_names_what_it_cannot_express() {
    let refused = metadata::<Family>(Dialect::Ctf18).unwrap_err();
    for part in ["is_set", "second", "image", "flags"] {
        assert!(refused.iter().any(|line| line.contains(part)), "{part}: {refused:#?}");
    }
}
