//! Constructs from the proposals, one per trace, in conversions: values and times stay, and every change is in the loss
//! table.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::oracles::{self, Judges};
use crate::support::{Directory, ichnos};

const DIALECTS: [&str; 4] = ["spec2", "prop2", "prop1", "ctf1.8"];

/// PROP-1.0 scope names.
const CONTEXT: &str = "data-stream-packet-context";
const HEADER: &str = "data-stream-event-record-header";

fn int(bits: u32) -> Value {
    json!({"field-type": "int", "size": bits, "alignment": 8})
}

fn structure(fields: &[(&str, Value)]) -> Value {
    let fields = fields.iter().map(|(name, class)| json!({"name": name, "field-type": class}));
    json!({"field-type": "struct", "fields": fields.collect::<Vec<_>>()})
}

/// Returns a PROP-1.0 tag. `clock` is empty for tags without a clock.
fn tag(name: &str, scope: &str, field: &str, clock: &str) -> Value {
    let mut tag = json!({"tag": name, "path": {"scope": scope, "path": [field]}});
    if !clock.is_empty() {
        tag["data-stream-clock-class-name"] = clock.into();
    }
    if name.starts_with("discarded") {
        tag["reason"] = "legacy".into();
    }
    tag
}

const NOW: &str = "update-data-stream-clock-now";
const AFTER: &str = "update-data-stream-clock-after-packet";

/// PROP-1.0 trace with the clocks `c` and `d`. Packets have 32-bit sizes, and events have an 8-bit id and a 32-bit time
/// `ts` of the clock `c`.
struct Trace {
    header: Vec<(&'static str, Value)>,
    header_tags: Vec<Value>,
    context: Vec<(&'static str, Value)>,
    event_header: Vec<(&'static str, Value)>,
    event_context: Option<Value>,
    tags: Vec<Value>,
    event: Value,
    event_tags: Vec<Value>,
    trace: Value,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            header: Vec::new(),
            header_tags: Vec::new(),
            context: Vec::new(),
            event_header: Vec::new(),
            event_context: None,
            tags: Vec::new(),
            event: json!({"payload-field-type": structure(&[("z", int(8))])}),
            event_tags: Vec::new(),
            trace: json!({}),
        }
    }
}

impl Trace {
    /// Writes the trace. A packet consists of the header, the context after the sizes, and the events.
    fn write(self, path: &Path, packets: &[(&[u8], &[u8], &[u8])]) -> String {
        let mut trace = json!({"fragment": "trace-class", "default-byte-order": "le"});
        let merge = |to: &mut Value, from: &Value| {
            to.as_object_mut().unwrap().extend(from.as_object().unwrap().clone());
        };
        merge(&mut trace, &self.trace);
        if !self.header.is_empty() {
            trace["packet-header-field-type"] = structure(&self.header);
            trace["tags"] = self.header_tags.into();
        }
        let mut tags = vec![
            tag("event-record-class-id", HEADER, "id", ""),
            tag(NOW, HEADER, "ts", "c"),
            tag("packet-total-size", CONTEXT, "total", ""),
            tag("packet-content-size", CONTEXT, "content", ""),
        ];
        tags.extend(self.tags);
        let sizes = [("total", int(32)), ("content", int(32))];
        let ids = [("id", int(8)), ("ts", int(32))];
        let mut stream = json!({
            "fragment": "data-stream-class",
            "packet-context-field-type": structure(&[&sizes[..], &self.context].concat()),
            "event-record-header-field-type": structure(&[&ids[..], &self.event_header].concat()),
            "tags": tags,
        });
        if let Some(context) = self.event_context {
            stream["event-record-context-field-type"] = context;
        }
        let mut event = json!({
            "fragment": "event-record-class",
            "tags": self.event_tags,
            "user-attrs": {"diamon.org/ctf/ns/std": {"name": "ev"}},
        });
        merge(&mut event, &self.event);
        let clock =
            |name: &str| json!({"fragment": "data-stream-clock-class", "name": name, "freq": 1_000_000_000});
        let metadata = json!(["CTF 2", clock("c"), clock("d"), trace, stream, event]);
        fs::create_dir(path).unwrap();
        fs::write(path.join("metadata"), metadata.to_string()).unwrap();
        let mut bytes = Vec::new();
        for (header, context, events) in packets {
            let bits = 8 * (header.len() + 8 + context.len() + events.len()) as u32;
            bytes.extend([header, &bits.to_le_bytes()[..], &bits.to_le_bytes(), context, events].concat());
        }
        fs::write(path.join("s"), bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// Returns an event with the id 0 at a time, with further bytes.
fn event(time: u32, more: &[u8]) -> Vec<u8> {
    [&[0], &time.to_le_bytes()[..], more].concat()
}

fn lines(path: &str) -> Vec<Value> {
    let run = ichnos(["cat", "-q", "-f", "jsonl", "--packets", "--assume-correlated", path]);
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns default clock cycles and values of `z` for all events.
fn events(path: &str) -> Vec<(u64, u64)> {
    let lines = lines(path);
    let events = lines.iter().filter(|line| line["type"] == "event");
    events.map(|line| (line["cycles"].as_u64().unwrap(), line["payload"]["z"].as_u64().unwrap())).collect()
}

/// Converts to a dialect, with further options. Returns the path and the loss table.
fn convert(directory: &Directory, source: &str, dialect: &str, options: &[&str]) -> (String, String) {
    let path = directory.join(format!("{dialect}{}", options.concat().replace('/', "_")));
    let to = path.to_str().unwrap().to_owned();
    let words = [
        "convert",
        "-q",
        "--losses",
        "--verify",
        "--assume-correlated",
        "--to-dialect",
        dialect,
        source,
        "-o",
        &to,
    ];
    let run = ichnos(words.iter().chain(options)).expect(0, &[]);
    let checked = ichnos(["check", "--strict", "--assume-correlated", &to]);
    assert_eq!(checked.code, 0, "{to}: {}{}", checked.out, checked.err);
    (to, run.out + &run.err)
}

/// Checks that conversions to all dialects, with the same and with other packets, keep times and values, also for other
/// readers.
fn check_events(directory: &Directory, source: &str, expected: &[(u64, u64)]) {
    assert_eq!(events(source), expected);
    for dialect in DIALECTS {
        for options in [&[][..], &["--packet-size", "40"]] {
            let (to, _) = convert(directory, source, dialect, options);
            assert_eq!(events(&to), expected, "{dialect} {options:?}");
            let difference = oracles::difference(Path::new(&to), dialect, Judges::Best);
            assert!(difference.is_none(), "{dialect} {options:?}: {difference:?}");
        }
    }
}

/// Fields after the event record header update the clock. Dialects without such updates need an additional field, so no
/// record can be copied.
#[test]
fn clocks_of_fields_after_the_header() {
    let fields = structure(&[("k", int(8)), ("z", int(8))]);
    let only = structure(&[("k", int(8))]);
    let traces = [
        Trace {
            event: json!({"payload-field-type": fields}),
            event_tags: vec![tag(NOW, "event-record-payload", "k", "c")],
            ..Trace::default()
        },
        Trace {
            event: json!({
                "context-field-type": only, "payload-field-type": structure(&[("z", int(8))]),
            }),
            event_tags: vec![tag(NOW, "event-record-context", "k", "c")],
            ..Trace::default()
        },
        Trace {
            event_context: Some(only),
            tags: vec![tag(NOW, "data-stream-event-record-context", "k", "c")],
            ..Trace::default()
        },
    ];
    for trace in traces {
        let directory = Directory::new("header-clocks");
        let records = [event(10, &[12, 1]), event(20, &[28, 2]), event(300, &[45, 3])].concat();
        let source =
            trace.write(&directory.join("source"), &[(&[], &[], &records), (&[], &[], &event(400, &[1, 4]))]);
        check_events(&directory, &source, &[(10, 1), (20, 2), (300, 3), (400, 4)]);
    }
}

/// Start and end times with few bits get all bits of the time. In CTF 1.8, another field with a clock would define the
/// start time of the packet.
#[test]
fn packet_times_of_few_bits() {
    for bits in [8, 16, 32] {
        let directory = Directory::new("short-packet-times");
        let trace = Trace {
            context: vec![("b", int(bits)), ("e", int(bits))],
            tags: vec![tag(NOW, CONTEXT, "b", "c"), tag(AFTER, CONTEXT, "e", "c")],
            ..Trace::default()
        };
        let context = |begin: u32, end: u32| {
            let bytes = bits as usize / 8;
            [&begin.to_le_bytes()[..bytes], &end.to_le_bytes()[..bytes]].concat()
        };
        let first = [event(10, &[1]), event(20, &[2])].concat();
        let second = [event(50, &[3]), event(60, &[4])].concat();
        let packets = [(&[][..], &*context(1, 30), &*first), (&[], &context(40, 70), &second)];
        let source = trace.write(&directory.join("source"), &packets);
        check_events(&directory, &source, &[(10, 1), (20, 2), (50, 3), (60, 4)]);
        for dialect in DIALECTS {
            let (to, losses) = convert(&directory, &source, dialect, &["--threads", "1"]);
            let times = |kind: &str| -> Vec<u64> {
                let lines = lines(&to);
                lines
                    .iter()
                    .filter(|line| line["type"] == kind)
                    .map(|line| line["cycles"].as_u64().unwrap())
                    .collect()
            };
            assert_eq!(
                (times("packet-begin"), times("packet-end")),
                (vec![1, 40], vec![30, 70]),
                "{dialect}"
            );
            let is_listed = losses.contains("full 64-bit time");
            assert_eq!(is_listed, dialect != "prop1", "{dialect}: {losses}");
        }
    }
}

/// Tags with several clocks for one field, in any order.
#[test]
fn fields_of_several_clocks() {
    let directory = Directory::new("several-clocks");
    let both = || vec![tag(NOW, HEADER, "us", "d"), tag(NOW, HEADER, "us", "c")];
    let trace = Trace { event_header: vec![("us", int(8))], tags: both(), ..Trace::default() };
    let first = [event(10, &[15, 1]), event(200, &[5, 2])].concat();
    let second = [event(300, &[3, 3]), event(1000, &[40, 4])].concat();
    let source = trace.write(&directory.join("source"), &[(&[], &[], &first), (&[], &[], &second)]);
    let expected = [(15, 1), (261, 2), (515, 3), (1064, 4)];
    check_events(&directory, &source, &expected);
    for dialect in ["spec2", "prop2", "ctf1.8"] {
        let (_, losses) = convert(&directory, &source, dialect, &["--threads", "1"]);
        assert!(losses.contains("updates of further clocks"), "{losses}");
    }
    let cut = directory.join("cut").to_str().unwrap().to_owned();
    let run = ichnos(["cut", "-q", "--losses", "--begin", "0.000000261", &source, "-o", &cut]).expect(0, &[]);
    assert_eq!(events(&cut), expected[1..]);
    assert!((run.out + &run.err).contains("times from clocks other than the default clock"));
    let file = directory.join("lines.jsonl").to_str().unwrap().to_owned();
    ichnos(["convert", "-q", &source, "-o", &file]).expect(0, &[]);
    let (to, losses) = convert(&directory, &file, "prop1", &["--threads", "1"]);
    assert_eq!(events(&to), expected);
    assert!(losses.contains("no field stores them"), "{losses}");
}

/// A start time of two clocks stays the start time of both if only one of them starts later.
#[test]
fn start_times_of_several_clocks() {
    let directory = Directory::new("several-begins");
    let trace = Trace {
        context: vec![("b", int(64))],
        event_header: vec![("us", int(8))],
        tags: vec![tag(NOW, CONTEXT, "b", "c"), tag(NOW, CONTEXT, "b", "d"), tag(NOW, HEADER, "us", "d")],
        ..Trace::default()
    };
    let records = [event(1010, &[1, 1]), event(1200, &[5, 2])].concat();
    let source = trace.write(&directory.join("source"), &[(&[], &1000u64.to_le_bytes(), &records)]);
    check_events(&directory, &source, &[(1010, 1), (1200, 2)]);
    let cut = directory.join("cut").to_str().unwrap().to_owned();
    ichnos(["cut", "-q", "--begin", "0.000001100", "--assume-correlated", &source, "-o", &cut])
        .expect(0, &[]);
    assert_eq!(events(&cut), [(1200, 2)]);
    let other = |path: &str| {
        lines(path).iter().rfind(|line| line["type"] == "event").unwrap()["other_clocks"].clone()
    };
    assert_eq!(other(&cut), other(&source));
}

/// PROP-1.0 allows the discarded event counter in packet headers.
#[test]
fn discarded_events_in_packet_headers() {
    let directory = Directory::new("header-counters");
    let trace = Trace {
        header: vec![("d", int(8))],
        header_tags: vec![tag("discarded-event-record-count", "trace-packet-header", "d", "")],
        ..Trace::default()
    };
    let (a, b, c) = (event(10, &[1]), event(20, &[2]), event(30, &[3]));
    let source =
        trace.write(&directory.join("source"), &[(&[250], &[], &a), (&[255], &[], &b), (&[2], &[], &c)]);
    let discarded = |path: &str| -> Vec<Value> {
        let lines = lines(path);
        lines
            .iter()
            .filter(|line| line["type"] == "discarded-events")
            .map(|line| line["count"].clone())
            .collect()
    };
    assert_eq!(discarded(&source), [Value::Null, 5.into(), 3.into()]);
    for dialect in DIALECTS {
        let (to, _) = convert(&directory, &source, dialect, &[]);
        assert_eq!(events(&to), [(10, 1), (20, 2), (30, 3)], "{dialect}");
        assert_eq!(discarded(&to), discarded(&source), "{dialect}");
    }
}

/// Root fields that are not structures, as PROP-1.0 allows.
#[test]
fn roots_that_are_not_structures() {
    let text = json!({"field-type": "string"});
    let array = json!({"field-type": "array", "length": 2, "element-field-type": int(8)});
    let union = json!({"field-type": "union", "fields": [{"name": "u", "field-type": int(8)}]});
    let roots = [
        (text, &b"seven\0"[..], "seven"),
        (int(8), b"\x07", "7"),
        (array, b"\x07\x08", "8"),
        (union, b"\x07", "7"),
    ];
    for (class, bytes, expected) in roots {
        let directory = Directory::new("roots");
        for scope in ["payload-field-type", "context-field-type"] {
            let mut event_class = json!({});
            event_class[scope] = class.clone();
            let trace = Trace { event: event_class, ..Trace::default() };
            let source = trace.write(&directory.join(scope), &[(&[], &[], &event(10, bytes))]);
            for format in ["jsonl", "nettrace", "fuchsia-log", "xtrace", "fxt", "ctf"] {
                let to = directory.join(format!("{scope}.{format}")).to_str().unwrap().to_owned();
                let mut words = vec!["convert", "-q", "--to", format, &source, "-o", &to];
                if format == "xtrace" {
                    words.extend(["--orphans", "chain"]);
                }
                ichnos(words).expect(0, &[]);
                let read = ichnos(["cat", "-q", "-f", "jsonl", "--from", format, &to]).expect(0, &[]).out;
                let event = read.lines().rfind(|line| line.contains("\"type\":\"event\"")).unwrap();
                // After the time and the name.
                let fields = event.split_once("\"name\"").unwrap_or(("", event)).1;
                assert!(fields.contains(expected), "{class} {scope} -> {format}: {event}");
            }
            for format in ["pretty", "log", "log-json", "jsonl", "csv", "tsv"] {
                let out = ichnos(["cat", "-q", "-f", format, &source]).expect(0, &[]).out;
                assert!(out.contains(expected), "{class} {scope} as {format}: {out}");
            }
        }
    }
}

/// Babeltrace recognizes a packet's end time only as a member of the packet context, so a member is added.
#[test]
fn end_times_within_other_fields() {
    let directory = Directory::new("nested-end");
    let end = json!({
        "tag": AFTER, "path": {"scope": CONTEXT, "path": ["s", "end"]}, "data-stream-clock-class-name": "c",
    });
    let context = vec![("s", structure(&[("end", int(64))]))];
    let trace = Trace { context, tags: vec![end], ..Trace::default() };
    let packets = [(20_u64, [10, 15]), (40, [30, 35])]
        .map(|(end, times)| (end.to_le_bytes(), times.map(|time| event(time, &[1])).concat()));
    let packets: Vec<(&[u8], &[u8], &[u8])> =
        packets.iter().map(|(end, events)| (&[][..], &end[..], &events[..])).collect();
    let source = trace.write(&directory.join("source"), &packets);
    let (to, losses) = convert(&directory, &source, "ctf1.8", &[]);
    assert!(losses.contains("-> an added field"), "{losses}");
    assert_eq!(events(&to), events(&source));
    let difference = oracles::difference(Path::new(&to), "ctf1.8", Judges::All);
    assert!(difference.is_none(), "{}", difference.unwrap_or_default());
}

/// Such columns are named after their scopes.
#[test]
fn columns_of_roots_that_are_not_structures() {
    let directory = Directory::new("root-columns");
    let state = json!({"field-type": "enum", "size": 8, "alignment": 8, "members": {"on": [1]}});
    let class = json!({"payload-field-type": state, "context-field-type": {"field-type": "string"}});
    let trace = Trace { event: class, ..Trace::default() };
    let source = trace.write(&directory.join("source"), &[(&[], &[], &event(10, b"hi\0\x01"))]);
    let cat = |options: &[&str]| {
        ichnos(["cat", "-f", "csv", &source].iter().chain(options).copied()).expect(0, &[]).out
    };
    let stream = format!("{source}/s");
    let expected = format!("time,event,host,stream,ctx,payload,payload.labels\n10,ev,,{stream},hi,1,on\n");
    assert_eq!(cat(&[]), expected);
    assert_eq!(cat(&["--fields", "payload.labels,ctx"]), "payload.labels,ctx\non,hi\n");
}

/// Only PROP-1.0 allows a name without values. The field keeps its value, and a variant its option.
#[test]
fn names_without_values() {
    let enumeration =
        |members: Value| json!({"field-type": "enum", "size": 8, "alignment": 8, "members": members});
    let tag = json!({"scope": "event-record-payload", "path": ["z"]});
    let choice = |name: &str| json!({"name": name, "field-type": int(8)});
    let variant = json!({"field-type": "variant", "tag": tag, "choices": [choice("A"), choice("B")]});
    let cases = [
        structure(&[("z", enumeration(json!({"A": []})))]),
        structure(&[("z", enumeration(json!({"A": [], "B": [1], "C": []})))]),
        structure(&[("z", enumeration(json!({"A": [], "B": [1]}))), ("v", variant)]),
    ];
    for (number, payload) in cases.into_iter().enumerate() {
        let directory = Directory::new("unused-names");
        let bytes: &[u8] = if number == 2 { &[1, 7] } else { &[1] };
        let trace = Trace { event: json!({"payload-field-type": payload}), ..Trace::default() };
        let source = trace.write(&directory.join("source"), &[(&[], &[], &event(10, bytes))]);
        let value = |path: &str| {
            let line = lines(path).into_iter().find(|line| line["type"] == "event").unwrap();
            let z = &line["payload"]["z"];
            let v = &line["payload"]["v"];
            (z.get("value").unwrap_or(z).clone(), v.clone())
        };
        for dialect in DIALECTS {
            let (to, losses) = convert(&directory, &source, dialect, &[]);
            assert_eq!(value(&to), value(&source), "{dialect} {number}: {losses}");
            let is_kept = dialect == "prop1";
            assert_eq!(losses.contains("name `A` without a value"), !is_kept, "{dialect}: {losses}");
        }
    }
}

/// Writes a PROP-2.0 trace with an event `e` at 10 cycles, a trace class and further files.
fn second_proposal(path: &Path, trace_class: &Value, files: &[(&str, &str)]) -> String {
    let uint = |bits: u32, roles: &[&str]| {
        json!({
            "type": "fixed-length-unsigned-integer", "length": bits, "byte-order": "little-endian", "alignment": 8,
            "roles": roles,
        })
    };
    let members = |name: &str, class: Value| json!({"type": "structure", "members": [{"name": name, "field-class": class}]});
    let metadata = json!([
        {"type": "preamble", "version": 2},
        trace_class,
        {"type": "clock-class", "name": "c", "frequency": 1_000_000_000},
        {
            "type": "data-stream-class", "default-clock-class-name": "c",
            "event-record-header-field-class": members("ts", uint(32, &["default-clock-timestamp"])),
        },
        {"type": "event-record-class", "name": "e", "payload-field-class": members("x", uint(8, &[]))},
    ]);
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("metadata"), metadata.to_string()).unwrap();
    fs::write(path.join("s"), [10, 0, 0, 0, 1]).unwrap();
    files.iter().for_each(|(name, text)| fs::write(path.join(name), text).unwrap());
    path.to_str().unwrap().to_owned()
}

/// Traces can share a metadata stream and its UUID. Their environments distinguish them (PROP-2.0, "Trace").
#[test]
fn traces_that_share_their_metadata() {
    let directory = Directory::new("shared-metadata");
    let class = json!({"type": "trace-class", "uuid": "1255cddc-5afe-4b4a-92b2-17aa5dde2ea6"});
    let host = |name: &str| format!(r#"{{"std": {{"environment": {{"hostname": "{name}"}}}}}}"#);
    for (name, environment) in [("a", "one"), ("b", "two"), ("c", "two")] {
        second_proposal(&directory.join("all").join(name), &class, &[("env.json", &host(environment))]);
    }
    let cat = |words: &[&str]| {
        let out =
            ichnos(["cat", "-q", "--no-delta", "--clock-cycles"].iter().chain(words)).expect(0, &[]).out;
        let mut hosts: Vec<String> =
            out.lines().map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect();
        hosts.sort();
        hosts
    };
    let root = directory.join("all").to_str().unwrap().to_owned();
    let root = root.as_str();
    assert_eq!(cat(&[root]), ["one", "two", "two"]);
    let count = ichnos(["info", "--json", root]).expect(0, &[]).json()["traces"].as_array().unwrap().len();
    // Equal in everything: parts of one trace.
    assert_eq!(count, 2);
    // Conversions stay two traces.
    for dialect in DIALECTS {
        let to = directory.join(format!("out-{dialect}")).to_str().unwrap().to_owned();
        ichnos(["convert", "-q", "--to-dialect", dialect, root, "-o", &to, "--verify"]).expect(0, &[]);
        assert_eq!(cat(&[&to]), ["one", "two", "two"], "{dialect}");
    }
    let metadata: PathBuf = directory.join("shared");
    fs::rename(directory.join("all/a/metadata"), &metadata).unwrap();
    fs::remove_file(directory.join("all/b/metadata")).unwrap();
    let [a, b] = ["a", "b"].map(|name| directory.join("all").join(name).to_str().unwrap().to_owned());
    assert_eq!(cat(&["--metadata", metadata.to_str().unwrap(), &a, &b]), ["one", "two"]);
}

/// Environment values of all kinds. Dialects that support only some of them get the others as JSON.
#[test]
fn environments_of_any_values() {
    let directory = Directory::new("environments");
    let environment = json!({
        "hostname": "h", "small": -3, "large": 123_456_789_012_345_678_901_u128.to_string().parse::<serde_json::Number>().unwrap(),
        "yes": true, "nothing": null, "list": [1, "a"], "map": {"k": 1.5},
    });
    let stream = json!({"std": {"environment": environment}}).to_string();
    let class = json!({"type": "trace-class"});
    let source = second_proposal(&directory.join("source"), &class, &[("env.json", &stream)]);
    let read = |path: &str| {
        ichnos(["info", "--json", path]).expect(0, &[]).json()["traces"][0]["environment"].clone()
    };
    let original = read(&source);
    assert_eq!(original["list"], environment["list"]);
    for dialect in DIALECTS {
        let (to, losses) = convert(&directory, &source, dialect, &[]);
        let mut written = read(&to);
        let has_any = dialect.starts_with("prop");
        assert_eq!(losses.contains("its JSON as text"), !has_any, "{losses}");
        if !has_any {
            for (name, value) in written.as_object_mut().unwrap() {
                if !original[name].is_string() && value.is_string() {
                    *value = serde_json::from_str(value.as_str().unwrap()).unwrap();
                }
            }
        }
        assert_eq!(written, original, "{dialect}");
        let (again, _) = convert(&directory, &to, "prop1", &["--threads", "1", "--force"]);
        assert_eq!(read(&again)["hostname"], "h");
    }
}

/// The loss table of a conversion within a dialect.
#[test]
fn losses_outside_the_trace_class() {
    let directory = Directory::new("unmodeled");
    // An alias with attributes, and a name for another tool.
    let path = directory.join("aliases");
    let source = Trace::default().write(&path, &[(&[], &[], &event(10, &[1]))]);
    let text = fs::read_to_string(path.join("metadata")).unwrap();
    let mut metadata: Value = serde_json::from_str(&text).unwrap();
    let alias = json!({
        "fragment": "field-type-alias", "name": "u8", "field-type": int(8), "user-attrs": {"ns": {"a": 1}},
    });
    metadata.as_array_mut().unwrap().insert(1, alias);
    fs::write(path.join("metadata"), metadata.to_string()).unwrap();
    let (to, losses) = convert(&directory, &source, "prop1", &[]);
    assert!(
        losses.contains("attributes of a field class alias")
            && losses.contains(
                "another \
                name"
            ),
        "{losses}"
    );
    let (_, losses) = convert(&directory, &to, "prop1", &["--threads", "1"]);
    assert!(!losses.contains("alias"), "{losses}");
    // An auxiliary stream, and attributes in its namespace.
    let class = json!({"type": "trace-class", "user-attributes": {"ns": {"a": 1, "b": 2}, "other": 3}});
    let files = [("x.json", r#"{"ns": {"b": 3, "c": 4}}"#), ("y.json", r#"{"tracer": 42}"#)];
    let source = second_proposal(&directory.join("aux"), &class, &files);
    assert!(ichnos(["check", &source]).out.contains("the metadata attributes are used"));
    let written = directory.join("out");
    let words = ["convert", "--losses", "--to-dialect", "prop2", &source, "-o", written.to_str().unwrap()];
    let run = ichnos(words);
    let losses = run.out + &run.err;
    let metadata: Value =
        serde_json::from_str(&fs::read_to_string(written.join("metadata")).unwrap()).unwrap();
    let attributes = json!({"ns": {"a": 1, "b": 2}, "other": 3});
    assert_eq!(metadata[1]["user-attributes"], attributes);
    assert!(!losses.contains("-> attributes of the trace"), "{losses}");
    let stream = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(written.join(name)).unwrap()).unwrap()
    };
    assert_eq!(stream("ns.json"), json!({"ns": {"b": 3, "c": 4}}));
    assert_eq!(stream("tracer.json"), json!({"tracer": 42}));
    // Both are written again, next to the environment, and replaced by `--force`.
    let words = ["convert", "-q", "--to-dialect", "prop2", "--force", "--verify", &source, "-o"];
    ichnos(words.into_iter().chain([written.to_str().unwrap()])).expect(0, &[]);
    for dialect in ["prop1", "spec2"] {
        let (to, losses) = convert(&directory, written.to_str().unwrap(), dialect, &["--force"]);
        assert!(losses.contains("auxiliary stream `tracer` -> attributes of the trace"), "{losses}");
        let shown = ichnos(["info", &to]).expect(0, &[]).out;
        assert!(shown.contains("tracer: 42") && shown.contains("\"c\":4"), "{shown}");
    }
}

/// Log level, EMF URI and base are CTF 1.8 properties: without the attributes that contain them, nothing is lost.
#[test]
fn attributes_for_properties() {
    let directory = Directory::new("repeated-attributes");
    let shown = json!({"field-type": "int", "size": 8, "alignment": 8, "user-attrs": {"diamon.org/ctf/ns/std": {"base": 16}}});
    let attributes = json!({
        "diamon.org/ctf/ns/std": {"name": "ev"},
        "lttng.org,2009": {"log-level": "warning", "emf-uri": "http://example.com/"},
    });
    let class = |more: Value| {
        let mut attributes = attributes.clone();
        attributes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"payload-field-type": structure(&[("z", shown.clone())]), "user-attrs": attributes})
    };
    let records = event(10, &[1]);
    let trace = Trace { event: class(json!({})), ..Trace::default() };
    let source = trace.write(&directory.join("source"), &[(&[], &[], &records)]);
    let (to, losses) = convert(&directory, &source, "ctf1.8", &[]);
    assert!(!losses.contains("attributes"), "{losses}");
    let written = fs::read_to_string(Path::new(&to).join("metadata")).unwrap();
    for part in ["loglevel = 4;", "model.emf.uri = \"http://example.com/\";", "base = 16;"] {
        assert!(written.contains(part), "{part}: {written}");
    }
    let trace = Trace { event: class(json!({"mine": 1})), ..Trace::default() };
    let source = trace.write(&directory.join("others"), &[(&[], &[], &records)]);
    let (_, losses) = convert(&directory, &source, "ctf1.8", &["--threads", "1"]);
    assert!(losses.contains("attributes of the event record class"), "{losses}");
}
