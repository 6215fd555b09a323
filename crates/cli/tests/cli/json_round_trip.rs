//! JSON Lines converted to CTF have the same events.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ichnos_testing::is_turn;
use serde_json::Value;

use crate::support::{Directory, Run, ichnos, recorded, root, text};

const DIALECTS: [&str; 5] = ["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"];

/// Returns the lines of one type, without data stream numbers and class numbers.
fn lines(text: &str, kind: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut lines: Vec<Value> = lines.filter(|line| line["type"] == kind).collect();
    for line in &mut lines {
        let object = line.as_object_mut().unwrap();
        ["stream", "id"].iter().for_each(|name| drop(object.remove(*name)));
    }
    lines
}

/// Replaces names that are invalid in a dialect.
fn with_identifiers(line: &Value) -> String {
    line.to_string().replace("X-Trace", "X_Trace")
}

/// Moves specific context members to the payload. In CTF 1.8, fields that others depend on are moved there, because
/// other readers cannot read them elsewhere.
fn without_specific_context(line: &Value) -> Value {
    let mut line = line.clone();
    let object = line.as_object_mut().unwrap();
    let mut members = BTreeMap::new();
    for scope in ["specific_context", "payload"] {
        if let Some(Value::Object(scope)) = object.remove(scope) {
            members.extend(scope);
        }
    }
    object.insert("payload".to_owned(), serde_json::to_value(members).unwrap());
    serde_json::to_value(object.iter().collect::<BTreeMap<_, _>>()).unwrap()
}

/// Converts a file to CTF.
fn to_ctf(file: &Path, dialect: &str, out: &Path) -> Run {
    let to = format!("--to-dialect={dialect}");
    ichnos(["convert", "--losses", "--to=ctf", &to, text(file), "-o", text(out)])
}

/// Compares a trace's events, printed by `cat` with some options, with those after conversion from its lines.
fn events_come_back(trace: &Path, options: &[&str], dialects: &[&str]) {
    let directory = Directory::new("lines-to-ctf");
    let file = directory.join("lines.jsonl");
    let cat = |path: &Path| ichnos([&["cat", "-q", "-fjsonl", text(path)], options].concat());
    let written = cat(trace).expect(0, &[]).out;
    fs::write(&file, &written).unwrap();
    let plain = |path: &Path| ichnos(["cat", "-q", "-fjsonl", text(path)]).expect(0, &[]).out;
    let source = if options.is_empty() { lines(&written, "event") } else { lines(&plain(trace), "event") };
    assert!(!source.is_empty(), "{}", trace.display());
    for dialect in dialects {
        let what = format!("{} {options:?} {dialect}", trace.display());
        let out = directory.join(dialect);
        let convert = to_ctf(&file, dialect, &out);
        assert_eq!(convert.code, 0, "{what}: {}", convert.err);
        assert!(!convert.out.contains("event that cannot be written"), "{what}: {}", convert.out);
        ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
        let found = lines(&plain(&out), "event");
        assert_eq!(source.len(), found.len(), "{what}");
        for (source, found) in source.iter().zip(&found) {
            let [source, found] = [source, found].map(|line| match dialect.starts_with("ctf1.8") {
                true => with_identifiers(&without_specific_context(line)),
                false => with_identifiers(line),
            });
            assert_eq!(source, found, "{what}");
        }
    }
}

const EXAMPLES: [&str; 4] = ["hello-ctf2", "hello-lttng", "one-request/trace/stock", "hello-xtrace"];

#[test]
fn examples_in_all_dialects() {
    for example in EXAMPLES {
        let trace = root().join("examples").join(example);
        for options in [&[][..], &["--packets"]] {
            events_come_back(&trace, options, &DIALECTS);
        }
    }
}

/// Call stacks, and the forms of times and integers, make no difference.
#[test]
fn all_options_of_lines() {
    let all: [&[&str]; 5] = [
        &["--integers=string", "--packets"],
        &["--integers=auto", "--stacks"],
        &["--time=iso"],
        &["--time=both", "--packets"],
        &["--stacks"],
    ];
    for example in ["hello-ctf2", "hello-lttng"] {
        for options in all {
            events_come_back(&root().join("examples").join(example), options, &["spec2", "ctf1.8"]);
        }
    }
}

/// Packets are the same as in the source, with the same fields.
#[test]
fn packets_come_back() {
    let directory = Directory::new("packets-of-lines");
    for example in ["hello-ctf2", "hello-lttng"] {
        let trace = root().join("examples").join(example);
        let cat = |path: &Path| ichnos(["cat", "-q", "-fjsonl", "--packets", text(path)]).expect(0, &[]).out;
        let (file, out) = (directory.join("lines.jsonl"), directory.join(example));
        fs::write(&file, cat(&trace)).unwrap();
        ichnos(["convert", "-q", "--to-dialect=ctf1.8", text(&file), "-o", text(&out)]).expect(0, &[]);
        // Sizes differ because events have another header. The packet header differs if the source lacks one.
        let packets = |text: &str| -> Vec<Value> {
            let mut packets = [lines(text, "packet-begin"), lines(text, "packet-end")].concat();
            for packet in &mut packets {
                let object = packet.as_object_mut().unwrap();
                ["header", "content_bits", "total_bits"].iter().for_each(|name| drop(object.remove(*name)));
                let Some(context) = object.get_mut("context").and_then(Value::as_object_mut) else {
                    continue;
                };
                let sizes = ["content_size", "packet_size", "total"];
                sizes.iter().for_each(|name| drop(context.remove(*name)));
                // In CTF 1.8, these names define the role.
                for (name, renamed) in [("begin", "timestamp_begin"), ("end", "timestamp_end")] {
                    if let Some(value) = context.remove(name) {
                        context.insert(renamed.to_owned(), value);
                    }
                }
            }
            packets
        };
        assert_eq!(packets(&cat(&trace)), packets(&cat(&out)), "{example}");
    }
}

fn directories_with_metadata(below: &Path, found: &mut Vec<PathBuf>) {
    if below.join("metadata").is_file() {
        found.push(below.to_owned());
    }
    let items = fs::read_dir(below).unwrap().map(|item| item.unwrap().path());
    items.filter(|path| path.is_dir()).for_each(|path| directories_with_metadata(&path, found));
}

/// Size, time and id fields as in small tracers, variants and their selectors, and texts whose length is in another
/// field. Every second trace is written with packets, and each in one dialect. Of the traces with a single construct,
/// which other tests convert to JSON Lines and back, every second is read. A complete sweep writes all traces each way.
#[test]
fn recorded_traces() {
    let Some(real) = recorded("ctf/real") else { return };
    let mut traces: Vec<PathBuf> = Vec::new();
    for below in ["babeltrace", "barectf"] {
        directories_with_metadata(&real.join(below), &mut traces);
    }
    traces.sort();
    assert!(traces.len() > 40, "{}", traces.len());
    for (number, trace) in traces.into_iter().enumerate() {
        if trace.starts_with(real.join("barectf")) && !is_turn(number, 0, 2) {
            continue;
        }
        let cat = ichnos(["cat", "-q", "-fjsonl", text(&trace)]);
        let is_clean = cat.code == 0 && ichnos(["check", "--strict", text(&trace)]).code == 0;
        if !is_clean || lines(&cat.out, "event").is_empty() || cat.out.len() > 20_000 {
            continue;
        }
        // The numbers of the barectf traces are even here.
        let number = number / 2;
        for (turn, options) in [&[][..], &["--packets"]].into_iter().enumerate() {
            for (dialect_turn, dialect) in ["ctf1.8", "spec2"].into_iter().enumerate() {
                if is_turn(number, turn, 2) && is_turn(number / 2, dialect_turn, 2) {
                    events_come_back(&trace, options, &[dialect]);
                }
            }
        }
    }
}

/// Returns lines with an event class and one event.
fn class_and_event(begin: &str, class: &str, event: &str) -> String {
    format!(
        "{{\"type\":\"stream-begin\",\"stream\":0,\"class\":{{\"id\":0{begin}}}}}\n\
         {{\"type\":\"event-class\",\"stream\":0,\"id\":0,\"name\":\"e\",{class}}}\n\
         {{\"type\":\"event\",\"stream\":0,\"ts\":5,\"id\":0,{event}}}\n"
    )
}

const VARIANT: &str = r#""fields":{"payload":{"type":"structure","members":[
    {"name":"bit","class":{"type":"integer","length":3,"alignment":1}},
    {"name":"a","class":{"type":"string","length":2,"alignment":1}},
    {"name":"b","class":{"type":"string","alignment":32}},
    {"name":"s","class":{"type":"structure","members":[
        {"name":"tag","class":{"type":"integer","length":8,"mappings":[
            {"name":"A","ranges":[[0,0]]},{"name":"B","ranges":[[1,1]]}]}},
        {"name":"count","class":{"type":"integer","length":8}}]}},
    {"name":"v","class":{"type":"variant","selector":{"path":["s","tag"]},"options":[
        {"ranges":[[0,0]],"name":"A","class":{"type":"integer","length":8}},
        {"ranges":[[1,1]],"name":"B","class":{"type":"integer","length":16}}]}},
    {"name":"list","class":{"type":"array","length_field":{"path":["s","count"]},
        "element":{"type":"integer","length":8}}}]}}"#;

/// Returns the line for a trace's only class as in JSON Lines, without attributes.
fn class_of(trace: &Path) -> Value {
    let out = ichnos(["cat", "-q", "-fjsonl", text(trace)]).expect(0, &[]).out;
    let mut class = lines(&out, "event-class").remove(0);
    drop(class.as_object_mut().unwrap().remove("attributes"));
    class
}

/// Text alignment, variant selectors and length fields come back.
#[test]
fn classes_come_back() {
    let directory = Directory::new("classes-of-lines");
    let (file, out) = (directory.join("lines.jsonl"), directory.join("out"));
    let class = VARIANT.replace('\n', "");
    let event = |tag: u8, list: &str| {
        format!(
            "\"payload\":{{\"bit\":5,\"a\":\"xy\",\"b\":\"z\",\"s\":{{\"tag\":{{\"value\":{tag},\"labels\":[]}},\
             \"count\":2}},\"v\":7,\"list\":{list}}}"
        )
    };
    fs::write(&file, class_and_event("", &class, &event(1, "[1,2]"))).unwrap();
    let convert = |dialect: &str| {
        let out = out.with_extension(dialect);
        let run = to_ctf(&file, dialect, &out);
        ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
        (run, out)
    };
    let (run, written) = convert("prop1");
    assert!(!run.out.contains("payload"), "{}", run.out);
    // Locations and arrays as in PROP-1.0.
    let own = [
        r#","origin":"event-record-payload","any_option":true"#,
        r#""minimum_alignment":8,"element_aligns":false,"#,
    ];
    let shown = own.iter().fold(class_of(&written).to_string(), |shown, part| shown.replace(part, ""));
    assert_eq!(shown, class_of(&file).to_string());
    for dialect in DIALECTS {
        let losses = convert(dialect).0.out;
        let (alignments, others): (Vec<&str>, Vec<&str>) = losses
            .lines()
            .filter(|line| line.contains("added: "))
            .partition(|line| line.contains("added: the alignment of the next member"));
        // In CTF 1.8, Babeltrace 2 rejects selectors within other structures.
        assert_eq!(!others.is_empty(), dialect.starts_with("ctf1.8"), "{dialect}: {others:?}");
        assert_eq!(!alignments.is_empty(), dialect != "prop1", "{dialect}: {alignments:?}");
        fs::remove_dir_all(out.with_extension(dialect)).unwrap();
    }
    // A contradictory event is not written.
    for (tag, list) in [(0, "[1]"), (1, "[1,2,3]")] {
        fs::write(&file, class_and_event("", &class, &event(tag, list))).unwrap();
        let (run, written) = convert("spec2");
        assert!(run.out.contains("event that cannot be written"), "{}", run.out);
        assert_eq!(ichnos(["cat", "-q", text(&written)]).out, "");
        fs::remove_dir_all(written).unwrap();
    }
}

/// Attributes that name a log level must not cause an error.
#[test]
fn log_levels_come_back() {
    let directory = Directory::new("log-levels-of-lines");
    let attributes = r#""attributes":{"lttng.org,2009":{"log-level":"warning"}},"fields":{}"#;
    for (number, level) in ["\"log_level\":\"warning\",", ""].iter().enumerate() {
        let file = directory.join(format!("{number}.jsonl"));
        fs::write(&file, class_and_event("", &format!("{level}{attributes}"), "\"name\":\"e\"")).unwrap();
        for dialect in DIALECTS {
            let out = directory.join(format!("{number}-{dialect}"));
            ichnos(["convert", "-q", "--to=ctf", "--to-dialect", dialect, text(&file), "-o", text(&out)])
                .expect(0, &[]);
            assert_eq!(class_of(&out)["log_level"], "warning", "{dialect}");
        }
    }
}

/// Extra fields in event record headers are kept, with or without packets.
#[test]
fn headers_come_back() {
    let directory = Directory::new("headers-of-lines");
    let header = r#","fields":{"header":{"type":"structure","members":[
        {"name":"id","class":{"type":"integer","length":8,"roles":["event-record-class-id"]}},
        {"name":"low","class":{"type":"integer","length":8,"roles":["default-clock-timestamp"]}},
        {"name":"own","class":{"type":"integer","length":16}}]}}"#;
    let class = r#""fields":{"payload":{"type":"structure","members":[]}}"#;
    let event = |id: u8| format!(r#""header":{{"id":{id},"low":5,"own":700}},"payload":{{}}"#);
    let file = directory.join("lines.jsonl");
    let mut all = class_and_event(&header.replace('\n', ""), class, &event(0));
    // So much later that the 8-bit field cannot represent the difference.
    all += "{\"type\":\"event\",\"stream\":0,\"ts\":65541,\"id\":0,\"header\":{\"id\":0,\"low\":5,\"own\":1},\"payload\":{}}\n";
    fs::write(&file, &all).unwrap();
    for dialect in DIALECTS {
        let out = directory.join(dialect);
        ichnos(["convert", "-q", "--to=ctf", "--to-dialect", dialect, text(&file), "-o", text(&out)])
            .expect(0, &[]);
        let printed = ichnos(["cat", "-q", "-fjsonl", text(&out)]).expect(0, &[]).out;
        let events = lines(&printed, "event");
        let times: Vec<_> = events.iter().map(|event| event["ts"].as_u64().unwrap()).collect();
        // In CTF 2, header fields without a role move to contexts.
        let own = |event: &Value| event["header"]["own"].as_u64().or(event["common_context"]["own"].as_u64());
        let own: Vec<_> = events.iter().map(|event| own(event).unwrap()).collect();
        assert_eq!((times, own), (vec![5, 65_541], vec![700, 1]), "{dialect}");
    }
    // A header whose class differs from its line's class.
    fs::write(&file, all.replace("\"id\":0,\"low\":5,\"own\":1}", "\"id\":9,\"low\":5,\"own\":1}")).unwrap();
    let out = directory.join("contradiction");
    let run = ichnos(["convert", "--losses", text(&file), "-o", text(&out)]);
    assert!(run.out.contains("its header has the class id 9, but its class is 0"), "{}", run.out);
    ichnos(["check", "--strict", text(&out)]);
    assert_eq!(ichnos(["cat", "-q", text(&out)]).expect(0, &[]).out.lines().count(), 1);
}
