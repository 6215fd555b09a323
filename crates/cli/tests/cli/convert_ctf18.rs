//! CTF 1.8 converted from other formats: requirements for other readers.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Directory, ichnos, recorded, root, text};

/// Converts to CTF 1.8, and returns the loss list.
#[track_caller]
fn convert(input: &Path, out: &Path) -> String {
    let words = ["convert", "--losses", "--to-dialect", "ctf1.8", text(input), "-o", text(out)];
    let losses = ichnos(words).expect(0, &[]).out;
    ichnos(["check", "--strict", text(out)]).expect(0, &[]);
    losses
}

/// Returns event names in the order in which `babeltrace2` prints them, and checks that `ichnos` prints the same.
/// `None` if `babeltrace2` is not installed.
#[track_caller]
fn names(trace: &Path) -> Option<[Vec<String>; 2]> {
    let words = ["--no-delta", "--clock-cycles", "--names", "none"];
    let output = Command::new("babeltrace2").args(words).arg(trace).stdin(Stdio::null()).output();
    let Ok(output) = output else {
        eprintln!("skipped: `babeltrace2` is not installed");
        return None;
    };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", trace.display());
    let ours = ichnos(["cat", "-q"].into_iter().chain(words).chain([text(trace)])).expect(0, &[]).out;
    let name = |line: &str| line.split(": {").next().unwrap_or_default().to_owned();
    let names = |text: &str| text.lines().map(name).collect();
    Some([names(&String::from_utf8_lossy(&output.stdout)), names(&ours)])
}

/// Checks that other readers find the same events.
#[track_caller]
fn babeltrace2_finds_all(trace: &Path) {
    if let Some([theirs, ours]) = names(trace) {
        assert_eq!(theirs, ours, "{}", trace.display());
        assert!(!ours.is_empty());
    }
}

/// Returns the event record class ids in metadata.
fn ids(trace: &Path) -> Vec<u64> {
    let metadata = fs::read_to_string(trace.join("metadata")).unwrap();
    let events = metadata.split("\nevent {").skip(1);
    events.filter_map(|event| event.split("\tid = ").nth(1)?.split(';').next()?.parse().ok()).collect()
}

#[test]
fn events_without_a_name_get_one() {
    let directory = Directory::new("ctf18-names");
    let lines = directory.join("lines.jsonl");
    let text_of = r#"{"ts":1,"id":7,"payload":{"a":1}}
{"ts":2,"id":8,"payload":{"b":"x"}}
{"ts":3,"id":7,"payload":{"a":2}}
"#;
    fs::write(&lines, text_of).unwrap();
    let out = directory.join("out");
    let losses = convert(&lines, &out);
    assert!(losses.contains("no name -> `event_7`") && losses.contains("no name -> `event_8`"), "{losses}");
    if let Some([theirs, _]) = names(&out) {
        assert_eq!(theirs.len(), 3);
        assert!(theirs[0].ends_with("event_7") && theirs[1].ends_with("event_8"), "{theirs:?}");
    }
    // Names that the source lacks do not come back.
    let cat = |path: &Path| ichnos(["cat", "-q", text(path)]).expect(0, &[]).out;
    assert_eq!(cat(&out), cat(&lines));
    // The same holds after the trace is edited.
    let edited = directory.join("edited");
    ichnos(["filter", "a >= 0", text(&out), "-o", text(&edited)]).expect(0, &[]);
    if let Some([theirs, _]) = names(&edited) {
        assert_eq!(theirs.len(), 2);
    }
    assert!(!cat(&edited).contains("event_7"));
}

#[test]
fn metadata_without_names_of_events_is_reported() {
    let directory = Directory::new("ctf18-unnamed");
    let metadata = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\n\
                    event { fields := struct { integer { size = 8; } x; }; };\n";
    fs::write(directory.join("metadata"), metadata).unwrap();
    fs::write(directory.join("s"), [1, 2, 3]).unwrap();
    ichnos(["check", "--strict", text(&directory)]).expect(1, &[]).prints(&["lacks a name"]);
    // The trace can be read, and its conversion has names.
    ichnos(["check", text(&directory)]).expect(0, &[]);
    let others = Directory::new("ctf18-unnamed-out");
    let out = others.join("out");
    convert(&directory, &out);
    babeltrace2_finds_all(&out);
}

/// Other readers use only 32 bits of a class id.
#[test]
fn ids_of_classes_are_numbers() {
    let directory = Directory::new("ctf18-ids");
    let mut inputs = vec![root().join("examples/hello-dotnet/hello.nettrace.zst")];
    let files = ["net10.0-custom-only-norundown.nettrace", "net10.0-nostacks.nettrace"];
    inputs.extend(files.iter().filter_map(|name| recorded(format!("nettrace/runtime/{name}"))));
    for (number, input) in inputs.iter().enumerate() {
        let out = directory.join(number.to_string());
        let losses = convert(input, &out);
        let ids = ids(&out);
        assert!(!ids.is_empty() && ids.iter().copied().eq(0..ids.len() as u64), "{ids:?}");
        assert_eq!(losses.contains("id 4294967"), number > 0, "{losses}");
        // So the ids fit in a byte.
        let metadata = fs::read_to_string(out.join("metadata")).unwrap();
        let header = metadata.split("event.header := struct {").nth(1).unwrap();
        assert!(header.trim_start().starts_with("integer { size = 8;"), "{header}");
        babeltrace2_finds_all(&out);
    }
}

/// Dynamic class ids differ in these bits.
#[test]
fn ids_of_dynamic_classes_differ() {
    let directory = Directory::new("ctf18-later-ids");
    let lines = directory.join("lines.jsonl");
    let wide = 1u64 << 40;
    let line = |time: u32, id: u64, member: &str| {
        format!(r#"{{"ts":{time},"id":{id},"name":"{member}","payload":{{"{member}":{time}}}}}"#) + "\n"
    };
    let text_of = [line(1, 3, "a"), line(2, wide + 3, "b"), line(3, wide + 4, "c"), line(4, 3, "a")].concat();
    fs::write(&lines, text_of).unwrap();
    let out = directory.join("out");
    let losses = convert(&lines, &out);
    assert!(losses.contains(&format!("id {} -> 0", wide + 3)), "{losses}");
    let bits: Vec<u32> = ids(&out).iter().map(|id| *id as u32).collect();
    assert_eq!(bits.iter().collect::<HashSet<_>>().len(), 3, "{bits:?}");
    babeltrace2_finds_all(&out);
    let cat = |path: &Path| ichnos(["cat", "-q", text(path)]).expect(0, &[]).out;
    assert_eq!(cat(&out), cat(&lines));
}

/// Other readers crash if a field depends on a field in the specific context.
#[test]
fn specific_contexts_with_lengths_and_tags_become_a_part_of_the_payload() {
    let directory = Directory::new("ctf18-contexts");
    let mut inputs = vec![root().join("examples/hello-xtrace/proxy.reports")];
    inputs.extend(recorded("xtrace/brown/text/small.txt"));
    for (number, input) in inputs.iter().enumerate() {
        let out = directory.join(number.to_string());
        let losses = convert(input, &out);
        assert!(losses.contains("specific context -> payload"), "{losses}");
        let metadata = fs::read_to_string(out.join("metadata")).unwrap();
        assert!(!metadata.contains("\n\tcontext := "), "{metadata}");
        babeltrace2_finds_all(&out);
        // Member meanings are kept at the new places.
        let log = |path: &Path| ichnos(["cat", "-q", "--format", "log", text(path)]).expect(0, &[]).out;
        assert_eq!(log(&out), log(input));
        // Dialects with better readers keep the context.
        let spec2 = directory.join(format!("{number}-spec2"));
        let words = ["convert", "--losses", text(input), "-o", text(&spec2)];
        let losses = ichnos(words).expect(0, &[]).out;
        assert!(!losses.contains("specific context"), "{losses}");
        // So does CTF 1.8 after a round trip.
        let again = directory.join(format!("{number}-again"));
        assert!(convert(&spec2, &again).contains("specific context -> payload"));
        babeltrace2_finds_all(&again);
        assert_eq!(log(&again), log(input));
    }
}

/// Scopes of OpenTelemetry have the same members after a round trip, with their names. A list needs a length, so the
/// scope moves, and this is listed.
#[test]
fn scopes_of_opentelemetry_come_back() {
    let directory = Directory::new("ctf18-scopes");
    let request = |more: &str| {
        let attribute = |key: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":"{key}"}}}}"#);
        let scope = ["a.b", "a_b", "_u", "struct", "9x", "scope.name", ""].map(attribute).join(",");
        let own = ["a.b", "_u"].map(attribute).join(",");
        format!(
            r#"{{"resourceLogs":[{{"resource":{{"attributes":[{own}]}},"scopeLogs":[{{"schemaUrl":"https://s/1",
            "scope":{{"name":"lib","version":"1.2","attributes":[{scope}{more}],"droppedAttributesCount":2}},
            "logRecords":[{{"timeUnixNano":"1795252932300000000","severityNumber":9,
            "body":{{"stringValue":"hello"}},"attributes":[{own}]}}]}}]}}]}}"#
        )
        .replace('\n', "")
    };
    let list = r#",{"key":"list","value":{"arrayValue":{"values":[{"intValue":"1"}]}}}"#;
    for (name, more, is_moved) in [("same", "", false), ("moved", list, true)] {
        let input = directory.join(format!("{name}.otlp.jsonl"));
        fs::write(&input, format!("{}\n", request(more))).unwrap();
        let out = directory.join(name);
        let losses = convert(&input, &out);
        assert_eq!(losses.contains("log: ctx  specific context -> payload"), is_moved, "{losses}");
        let requests = |input: &Path, to: &str| {
            let to = directory.join(to);
            ichnos(["convert", "--force", text(input), "-o", text(&to)]).expect(0, &[]);
            fs::read_to_string(to).unwrap()
        };
        let [direct, back] = [(&input, "direct"), (&out, "back")]
            .map(|(input, name)| requests(input, &format!("{name}.otlp.jsonl")));
        assert_eq!(direct == back, !is_moved, "{direct}\n{back}");
        assert!(back.contains(r#""lib""#) && back.contains(r#""9x""#), "{back}");
    }
}

/// A UUID that became an array of bytes in PROP-1.0 has an annotation. CTF 1.8 cannot store it in packet headers.
#[test]
fn annotations_in_packet_headers_are_dropped() {
    let directory = Directory::new("ctf18-packet-header");
    let source = directory.join("source");
    fs::create_dir(&source).unwrap();
    let metadata = r#"{"type":"preamble","version":2,"uuid":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}
{"type":"trace-class","packet-header-field-class":{"type":"structure","member-classes":[
    {"name":"uuid","field-class":{"type":"static-length-blob","length":16,"roles":["metadata-stream-uuid"]}}]}}
{"type":"data-stream-class"}
{"type":"event-record-class","name":"e","payload-field-class":{"type":"structure","member-classes":[
    {"name":"x","field-class":{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian"}}]}}
"#;
    let separated: String = metadata.split_inclusive("}\n").map(|line| format!("\u{1e}{line}")).collect();
    fs::write(source.join("metadata"), separated).unwrap();
    fs::write(source.join("s"), [0; 17]).unwrap();
    let [prop1, out] = ["prop1", "out"].map(|name| directory.join(name));
    ichnos(["convert", "-q", "--to-dialect", "prop1", text(&source), "-o", text(&prop1)]).expect(0, &[]);
    let losses = convert(&prop1, &out);
    assert!(losses.contains("packet.header.uuid  attributes"), "{losses}");
}
