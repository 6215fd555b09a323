//! Test vectors and golden files from Fuchsia.

use serde_json::Value as Json;

use ichnos_fuchsia::fxt::{
    ArgumentValue, EventKind, LargeBlob, MetadataRecord, Record, Records, Rule, StringRef, ThreadRef,
    recognize,
};

use super::dump::{open, read};
use crate::support::{unhex, vectors};

fn records(bytes: &[u8]) -> Vec<Record<'_>> {
    Records::new(bytes).map(|record| record.unwrap().record).collect()
}

#[test]
fn vectors_have_their_expected_values() {
    let Some(path) = vectors() else { return };
    let all: Vec<Json> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut count = 0;
    for vector in all {
        let name = vector["name"].as_str().unwrap();
        if !name.starts_with("fxt_") {
            continue;
        }
        count += 1;
        let bytes = unhex(vector["hex"].as_str().unwrap());
        let expected = &vector["expect"];
        assert!(recognize(&bytes), "{name}");
        match name {
            "fxt_magic" => assert_eq!(records(&bytes), [Record::Metadata(MetadataRecord::Magic)]),
            "fxt_init_abcd" | "fxt_init_4words" => {
                let Record::Initialization(clock) = records(&bytes)[1] else { panic!("{name}") };
                assert_eq!(clock.ticks_per_second, expected["ticks_per_second"]);
                assert_eq!(clock.base.is_some(), name == "fxt_init_4words");
            }
            "fxt_event_13_args" => {
                let Record::Event(event) = records(&bytes)[1] else { panic!("{name}") };
                assert_eq!(event.arguments.count() as u64, expected["nargs"]);
                assert_eq!(event.kind, EventKind::Instant { scope: None });
                assert_eq!(event.thread, ThreadRef::Index(1));
                let kinds: Vec<_> = event.arguments.map(|argument| argument.unwrap().value.kind()).collect();
                assert_eq!(kinds, [0, 9, 1, 2, 3, 4, 5, 7, 8, 6, 6, 6, 10]);
                let last = event.arguments.last().unwrap().unwrap().value;
                assert_eq!(last, ArgumentValue::Blob(&[1, 2, 3, 4, 5]));
            }
            "fxt_log_record" => {
                let Record::Log(log) = records(&bytes)[2] else { panic!("{name}") };
                assert_eq!(log.ticks, expected["ts"]);
                let ThreadRef::Inline { process, thread } = log.thread else { panic!("{name}") };
                assert_eq!(
                    (process, thread),
                    (expected["pid"].as_u64().unwrap(), expected["tid"].as_u64().unwrap())
                );
                assert_eq!(log.message, expected["message"].as_str().unwrap().as_bytes());
            }
            "fxt_zero_size" => {
                let damage = Records::new(&bytes).nth(1).unwrap().unwrap_err();
                assert_eq!((damage.offset, damage.skipped), (8, 8));
                assert_eq!(damage.error.rule, Rule::RecordSizeMinimum);
                assert_eq!(read(&bytes).len(), 1);
            }
            "fxt_unknown_type14" => {
                let Record::Unknown(unknown) = records(&bytes)[1] else { panic!("{name}") };
                assert_eq!((unknown.kind(), unknown.bytes.len()), (14, 40));
                // Reading continues.
                assert!(matches!(records(&bytes)[2], Record::Initialization(_)));
            }
            "fxt_kobj_nonutf8" => {
                let Record::KernelObject(object) = records(&bytes)[1] else { panic!("{name}") };
                assert_eq!(object.koid, expected["kobj"]);
                let name = unhex(expected["name_bytes"].as_str().unwrap());
                assert_eq!(object.name, StringRef::Inline(&name));
                assert_eq!(read(&bytes), ["- kernel_object |  | koid=1234 type=1(process) name='he\\xfflo'"]);
            }
            "fxt_large_blob_fmt1" => {
                let Record::LargeBlob(LargeBlob { category, name, data, metadata, .. }) = records(&bytes)[1]
                else {
                    panic!("{vector}")
                };
                assert_eq!((category, name), (StringRef::Inline(b"cat"), StringRef::Inline(b"name")));
                assert_eq!((data, metadata), (expected["blob"].as_str().unwrap().as_bytes(), None));
            }
            other => panic!("the test does not know the vector {other}"),
        }
    }
    assert_eq!(count, 9);
}

/// Compares with the output of Fuchsia's exporter for the same trace.
#[test]
fn the_golden_trace_has_the_exporter_events() {
    let Some(path) = vectors() else { return };
    let goldens = path.parent().unwrap().parent().unwrap().join("goldens");
    let bytes = std::fs::read(goldens.join("simple_trace_reconstructed.fxt")).unwrap();
    let expected = std::fs::read(goldens.join("simple_trace_expected.json")).unwrap();
    let expected: Json = serde_json::from_slice(&expected).unwrap();
    // One microsecond has 24 ticks.
    let ticks = |value: &Json| (value.as_f64().unwrap() * 24.0).round() as u64;
    let mut lines: Vec<(u64, String)> = Vec::new();
    for event in expected["traceEvents"].as_array().unwrap() {
        let (category, name) = (event["cat"].as_str().unwrap(), event["name"].as_str().unwrap());
        let (end, context) = match event["ph"].as_str().unwrap() {
            "B" => (":begin", String::new()),
            "E" => (":end", String::new()),
            "X" => ("", format!(" | duration=+{}", ticks(&event["dur"]))),
            "b" => (":async_begin", format!(" | async_id={}", event["id"])),
            "e" => (":async_end", format!(" | async_id={}", event["id"])),
            other => panic!("{other}"),
        };
        let time = ticks(&event["ts"]);
        let thread = format!("pid={} tid={}", event["pid"], event["tid"]);
        lines.push((time, format!("{time} {category}:{name}{end} | {thread}{context}")));
    }
    for event in expected["systemTraceEvents"]["events"].as_array().unwrap() {
        let (time, outgoing, incoming) = (ticks(&event["ts"]), &event["out"], &event["in"]);
        lines.push((
            time,
            format!(
                "{time} legacy_context_switch | pid={} tid={} |  | cpu={} outgoing_pid={} outgoing_tid={} outgoing_state={}(suspended) outgoing_priority={} incoming_priority={}",
                incoming["pid"], incoming["tid"], event["cpu"], outgoing["pid"], outgoing["tid"], outgoing["state"], outgoing["prio"], incoming["prio"],
            ),
        ));
    }
    lines.sort();
    let expected: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    assert_eq!(super::dump::messages(&open(&bytes)), expected);
}
