//! A small metadata stream for each construct in the proposals, with expected results.
//!
//! The files are in `tests/fixtures/prop1` and `tests/fixtures/prop2`. Next to them, `expected.txt` contains the class
//! of the payload member `example` and the problems with their positions, by file name.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use ichnos_ctf::metadata::json::{apply_aux_streams, parse_aux_stream, parse_prop1, parse_prop2, recognize};
use ichnos_ctf::metadata::{Dialect, Problems};
use ichnos_model::class::{
    ByteOrder, FieldClass, FieldKind, Length, LocationStep, Role, StringLength, Value,
};
use ichnos_model::clock::ClockOrigin;
use ichnos_model::trace::Limits;
use ichnos_model::{OpenedTrace as _, Scope, TraceClass};

use crate::reading::opened;

type Parse = fn(&[u8], &Limits, &mut Problems) -> Option<TraceClass>;

fn directory(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn fixture(dialect: &str, name: &str) -> TraceClass {
    let parse: Parse = if dialect == "prop1" { parse_prop1 } else { parse_prop2 };
    let text = fs::read(directory(dialect).join(format!("{name}.json"))).unwrap();
    let limits = Limits::default();
    let mut problems = Problems::new(&limits);
    let trace = parse(&text, &limits, &mut problems);
    trace.unwrap_or_else(|| panic!("{name}: {:?}", problems.into_diagnostics()))
}

/// Returns the class of a structure member.
fn member<'c>(class: &'c FieldClass, name: &str) -> &'c FieldClass {
    let FieldKind::Structure { members, .. } = &class.kind else { panic!("no structure") };
    &members.iter().find(|member| member.name == name).unwrap().class
}

fn payload(trace: &TraceClass) -> &FieldClass {
    trace.data_streams[0].event_records[0].payload.as_ref().unwrap()
}

/// Returns the part of `expected.txt` for a file.
fn say(dialect: &str, parse: Parse, name: &str) -> String {
    let text = fs::read(directory(dialect).join(format!("{name}.json"))).unwrap();
    let limits = Limits::default();
    let mut problems = Problems::new(&limits);
    let mut listing = format!("{name}:");
    if name.starts_with("aux-") {
        let stream = parse_aux_stream(&text, &limits, &mut problems);
        write!(listing, " namespace {}", stream.unwrap().0).unwrap();
    } else {
        let right = if dialect == "prop1" { Dialect::Prop1 } else { Dialect::Prop2 };
        assert_eq!(recognize(&text), Some(right), "{name}");
        let trace = parse(&text, &limits, &mut problems);
        assert_eq!(trace.is_none(), name.starts_with("error-"), "{name}");
        if let Some(record) = trace.as_ref().and_then(|trace| trace.data_streams[0].event_records.first())
            && let Some(FieldKind::Structure { members, .. }) =
                record.payload.as_ref().map(|class| &class.kind)
            && let Some(example) = members.iter().find(|member| member.name == "example")
        {
            write!(listing, " {}", example.class.describe()).unwrap();
        }
    }
    listing.push('\n');
    for problem in problems.into_diagnostics() {
        writeln!(listing, "    {problem}").unwrap();
    }
    listing
}

fn check(dialect: &str, parse: Parse, least: usize) {
    let mut names: Vec<String> = fs::read_dir(directory(dialect))
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".json")?.to_owned()))
        .collect();
    names.sort();
    assert!(names.len() >= least, "{}", names.len());
    let actual: String = names.iter().map(|name| say(dialect, parse, name)).collect();
    let expected = directory(dialect).join("expected.txt");
    if std::env::var_os("ICHNOS_BLESS").is_some() {
        fs::write(&expected, &actual).unwrap();
    }
    let expected = fs::read_to_string(expected).unwrap();
    for (actual, expected) in actual.lines().zip(expected.lines()) {
        assert_eq!(actual, expected);
    }
    assert_eq!(actual, expected);
}

#[test]
fn all_constructs_of_prop1() {
    check("prop1", parse_prop1, 76);
}

#[test]
fn all_constructs_of_prop2() {
    check("prop2", parse_prop2, 90);
}

#[test]
fn prop1_tags_become_roles() {
    let trace = fixture("prop1", "data-stream-class");
    let stream = &trace.data_streams[0];
    assert_eq!(stream.default_clock, Some(0));
    let context = stream.packet_context.as_ref().unwrap();
    for (name, role) in [
        ("whole", Role::PacketTotalLength),
        ("used", Role::PacketContentLength),
        ("lost", Role::DiscardedEventCounter),
        ("number", Role::PacketSequenceNumber),
        ("from", Role::Timestamp),
        ("to", Role::PacketEndTimestamp),
    ] {
        assert_eq!(member(context, name).roles.iter().collect::<Vec<_>>(), [role], "{name}");
    }
    assert!(member(context, "core").roles.is_empty());
    assert_eq!(member(context, "from").roles.clock, Some(0));
    let header = stream.event_record_header.as_ref().unwrap();
    assert!(member(header, "which").roles.has(Role::EventRecordClassId));
    let FieldKind::Variant { options, selector, .. } = &member(header, "rest").kind else {
        panic!("no variant")
    };
    assert_eq!(selector.to_string(), "event-record-header/which");
    let values: Vec<String> = options.iter().map(|option| option.ranges.to_string()).collect();
    assert_eq!(values, ["0..30", "31"]);
    // The path through the variant leads to a field in each choice that has a field with this name.
    for option in options {
        assert!(member(&option.class, "time").roles.has(Role::Timestamp));
    }
    assert!(member(&options[1].class, "which").roles.has(Role::EventRecordClassId));
}

#[test]
fn prop1_roles_belong_to_one_use_of_an_alias() {
    let trace = fixture("prop1", "warning-whole-stream");
    let context = trace.data_streams[0].packet_context.as_ref().unwrap();
    assert_eq!(member(context, "from").roles.iter().collect::<Vec<_>>(), [Role::Timestamp]);
    assert!(member(payload(&trace), "value").roles.is_empty());
    let header = trace.packet_header.as_ref().unwrap();
    let uuid = member(header, "trace");
    assert!(uuid.roles.has(Role::MetadataStreamUuid));
    assert!(matches!(uuid.kind, FieldKind::Array { length: Length::Static(16), .. }));
    assert!(member(member(header, "ids"), "stream").roles.has(Role::DataStreamId));
    assert_eq!(trace.clocks[0].origin, ClockOrigin::UnixEpoch);
}

#[test]
fn prop1_relative_paths_become_absolute() {
    let trace = fixture("prop1", "path-relative");
    let class = member(member(member(payload(&trace), "y"), "i"), "k");
    let FieldKind::String { length: StringLength::Dynamic(location), .. } = &class.kind else {
        panic!("no dynamic string")
    };
    assert_eq!(location.to_string(), "event-record-payload/y/b/e/f");
    assert_eq!((location.origin, location.path.len()), (Some(Scope::Payload), 4));
    assert!(matches!(&location.path[0], LocationStep::Member(name) if name == "y"));
}

#[test]
fn prop1_names_come_from_attributes() {
    let trace = fixture("prop1", "event-record-class");
    let record = &trace.data_streams[0].event_records[0];
    assert_eq!((record.name.as_deref(), record.namespace.as_deref()), (Some("switch"), Some("example.com")));
    assert_eq!((record.id, trace.data_streams[0].id), (45, 3));
}

#[test]
fn prop1_streams_may_have_several_clocks() {
    let trace = fixture("prop1", "two-clocks");
    let stream = &trace.data_streams[0];
    let context = stream.packet_context.as_ref().unwrap();
    assert_eq!(member(context, "from").roles.clock, Some(1));
    assert_eq!(member(context, "number").roles.clock, Some(0));
    assert_eq!(stream.default_clock, Some(1));
    let clock = &trace.clocks[1];
    assert_eq!((clock.offset_seconds, clock.offset_cycles, clock.precision), (-12, 345, Some(40)));
}

#[test]
fn prop1_explicit_byte_orders_win() {
    let trace = fixture("prop1", "integer");
    let FieldKind::Integer { bits, integer } = &member(payload(&trace), "example").kind else {
        panic!("no integer")
    };
    assert_eq!((bits.byte_order, bits.alignment, integer.signed), (ByteOrder::BigEndian, 4, true));
    let trace = fixture("prop1", "integer-minimal");
    let FieldKind::Integer { bits, .. } = &member(payload(&trace), "example").kind else {
        panic!("no integer")
    };
    assert_eq!((bits.byte_order, bits.alignment), (ByteOrder::LittleEndian, 1));
}

#[test]
fn prop2_classes_have_their_properties() {
    let trace = fixture("prop2", "data-stream-class");
    let stream = &trace.data_streams[0];
    assert_eq!((stream.id, stream.name.as_deref(), stream.default_clock), (4, Some("ring"), Some(0)));
    let context = stream.packet_context.as_ref().unwrap();
    assert!(member(context, "from").roles.has(Role::Timestamp));
    assert!(member(context, "whole").roles.has(Role::PacketTotalLength));
    assert_eq!(stream.event_records[0].id, 9);
    let header = fixture("prop2", "warning-trace-type-uuid").packet_header.unwrap();
    assert!(member(&header, "trace").roles.has(Role::MetadataStreamUuid));
    assert_eq!(fixture("prop2", "clock-class-minimal").clocks[0].origin, ClockOrigin::UnixEpoch);
    assert_eq!(fixture("prop2", "clock-class-minimal").clocks[0].precision, Some(0));
    assert_eq!(fixture("prop2", "clock-class-unknown-origin").clocks[0].origin, ClockOrigin::Unknown);
    assert_eq!(fixture("prop2", "clock-class-offset-negative").clocks[0].offset_seconds, -18);
}

#[test]
fn auxiliary_streams_tell_the_environment() {
    let limits = Limits::default();
    let mut problems = Problems::new(&limits);
    let streams: Vec<(String, Value)> = ["aux-environment", "aux-number", "aux-number"]
        .into_iter()
        .map(|name| fs::read(directory("prop2").join(format!("{name}.json"))).unwrap())
        .filter_map(|text| parse_aux_stream(&text, &limits, &mut problems))
        .collect();
    let mut trace = TraceClass::default();
    apply_aux_streams(&mut trace, streams, &mut problems);
    assert_eq!(trace.environment("tracer_major"), Some(&Value::Integer(2)));
    assert_eq!(trace.environment.len(), 3);
    assert_eq!(trace.attributes.get("d4c1a1f2"), Some(&Value::Integer(42)));
    let problems: Vec<String> = problems.into_diagnostics().iter().map(ToString::to_string).collect();
    assert_eq!(problems, ["error: there are two auxiliary streams with the namespace `d4c1a1f2`"]);
}

/// Only the auxiliary stream names the tracer.
#[test]
fn a_tracer_that_auxiliary_streams_name_has_its_known_bugs() {
    let metadata = fs::read(directory("prop2").join("clock-class-minimal.json")).unwrap();
    let environment =
        r#"{"std":{"environment":{"tracer_name":"lttng-ust","tracer_major":2,"tracer_minor":10}}}"#;
    let quirks = |files: &[(&str, &[u8])]| -> Vec<&'static str> {
        let opened = opened(&metadata, files);
        assert!(opened.errors.is_empty());
        opened.traces[0].quirks().iter().map(|quirk| quirk.name).collect()
    };
    let both = ["lttng-event-after-packet", "lttng-crash-packet-end"];
    assert_eq!(quirks(&[("env.json", environment.as_bytes())]), both);
    assert!(quirks(&[]).is_empty());
}

#[test]
fn no_bytes_make_the_readers_panic() {
    let limits = Limits::default();
    for (dialect, name) in [("prop1", "warning-whole-stream"), ("prop2", "data-stream-class")] {
        let parse: Parse = if dialect == "prop1" { parse_prop1 } else { parse_prop2 };
        let text = fs::read(directory(dialect).join(format!("{name}.json"))).unwrap();
        for at in (0..text.len()).step_by(2) {
            parse(&text[..at], &limits, &mut Problems::new(&limits));
            for byte in [b'"', b'{', b']', b',', b'9', 0xff, 0] {
                let mut changed = text.clone();
                changed[at] = byte;
                parse(&changed, &limits, &mut Problems::new(&limits));
            }
        }
    }
}
