//! Reports as text and JSON: recorded reports, random reports, and any bytes.

use std::collections::BTreeSet;
use std::fs;

use ichnos_testing::{Random, cases};
use ichnos_xtrace::report::{JsonReports, LineBuffer, Part, ReportRule, ReportWriter, Reports};
use ichnos_xtrace::{Edge, Metadata, OpId};

/// Keys and values.
pub(crate) type Lines = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns the reports in a text, without other parts.
pub(crate) fn of_text(text: &[u8]) -> Vec<Lines> {
    let mut reports = Vec::new();
    let mut buffer = LineBuffer::default();
    for part in Reports::new(text) {
        let Part::Report(report) = part else { continue };
        let lines: Lines = report
            .lines()
            .map(|line| (line.unescaped_key().into_owned(), line.unescaped_value().into_owned()))
            .collect();
        buffer.read(&report);
        assert_eq!(of_buffer(&buffer), lines);
        reports.push(lines);
    }
    reports
}

fn of_buffer(buffer: &LineBuffer) -> Lines {
    buffer.lines().map(|line| (line.key.to_vec(), line.value.to_vec())).collect()
}

/// Returns the reports in JSON, and the error offsets.
fn of_json(json: &[u8]) -> (Vec<Lines>, Vec<usize>) {
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    let (mut reports, mut buffer) = (JsonReports::new(), LineBuffer::default());
    let mut before = 0;
    while let Some(result) = reports.next(json, &mut buffer) {
        // Each step makes progress and never goes back.
        assert!(reports.offset() > before || reports.offset() == json.len());
        match result {
            Ok(()) => all.push(of_buffer(&buffer)),
            Err(fault) => {
                assert!(fault.rule == ReportRule::JsonSyntax && fault.offset + fault.skipped <= json.len());
                faults.push(fault.offset);
            }
        }
        before = reports.offset();
        assert!(before <= json.len());
    }
    assert_eq!(reports.next(json, &mut buffer), None);
    (all, faults)
}

/// Returns graph counts: nodes, edges between them, edges to unknown nodes, root edges.
fn figures(reports: &[Lines]) -> [usize; 4] {
    let values = |report: &'_ Lines, name: &str| -> Vec<String> {
        let values = report.iter().filter(|(key, _)| key == name.as_bytes());
        values.map(|(_, value)| String::from_utf8(value.clone()).unwrap()).collect()
    };
    let mut nodes: BTreeSet<OpId> = BTreeSet::new();
    let mut edges: Vec<Edge> = Vec::new();
    for report in reports {
        let metadata = values(report, "X-Trace");
        nodes.extend(metadata.iter().map(|metadata| Metadata::parse(metadata).unwrap().op_id()));
        edges.extend(values(report, "Edge").iter().map(|edge| edge.parse::<Edge>().unwrap()));
    }
    let count = |wanted: &dyn Fn(&Edge) -> bool| edges.iter().filter(|edge| wanted(edge)).count();
    [
        nodes.len(),
        count(&|edge| nodes.contains(&edge.op)),
        count(&|edge| !edge.is_root() && !nodes.contains(&edge.op)),
        count(&Edge::is_root),
    ]
}

#[test]
fn recorded_reports_are_the_same_as_text_and_as_json() {
    let Some(traces) = ichnos_testing::recorded("xtrace") else { return };
    // In total, there are 218, 1009 and 888 edges.
    for (name, expected) in
        [("small", [166, 218, 0, 0]), ("medium", [849, 1009, 0, 0]), ("download", [839, 884, 3, 1])]
    {
        let text = fs::read(traces.join(format!("brown/text/{name}.txt"))).unwrap();
        let json = fs::read(traces.join(format!("brown/{name}.json"))).unwrap();
        assert!(Reports::recognize(&text) && !Reports::recognize(&json));
        assert!(JsonReports::recognize(&json) && !JsonReports::recognize(&text));
        assert!(Reports::new(&text).all(|part| matches!(part, Part::Report(_))));
        let reports = of_text(&text);
        assert_eq!(figures(&reports), expected, "{name}");
        assert_eq!(reports.len(), expected[0]);
        assert!(of_json(&json) == (reports.clone(), Vec::new()), "{name}");

        // With other line ends, without empty lines between reports, and with more of them.
        let crlf = String::from_utf8(text.clone()).unwrap().replace('\n', "\r\n");
        assert!(of_text(crlf.as_bytes()) == reports, "{name}");
        let crowded = crlf.replace("\r\n\r\n", "\r\n");
        assert!(crowded.len() < crlf.len() && of_text(crowded.as_bytes()) == reports, "{name}");
        assert!(of_text(crlf.replace("\r\n\r\n", "\n\n\r\n\n").as_bytes()) == reports, "{name}");
    }
}

/// Returns a text that is difficult to write.
fn random_text(random: &mut Random) -> Vec<u8> {
    const PIECES: &[&[u8]] = &[
        b"a",
        b"\n",
        b"\r",
        b":",
        b" ",
        b"\t",
        b"\\",
        b"n",
        b"x3A",
        b"\0",
        b"\xFF",
        "\u{20AC}".as_bytes(),
        b"Escaped",
        b"X-Trace Report ver 1.0",
        b"1",
        b"\n\n",
        b"{",
        b"\"",
        b"]",
        b"\x7F",
    ];
    let pieces = random.index(6);
    (0..pieces).flat_map(|_| random.pick(PIECES).to_vec()).collect()
}

fn random_lines(random: &mut Random) -> Lines {
    let lines = random.index(8);
    (0..lines)
        .map(|_| match random.index(3) {
            0 => (random.pick(&[&b"Label"[..], b"Tag", b"Edge", b"Escaped"]).to_vec(), b"1".to_vec()),
            _ => (random_text(random), random_text(random)),
        })
        .collect()
}

#[test]
fn what_is_written_is_what_was_meant() {
    cases(5_000, |random| {
        let reports: Vec<Lines> = (0..random.index(4)).map(|_| random_lines(random)).collect();
        let mut text = Vec::new();
        for lines in &reports {
            let mut report = ReportWriter::from_lines(&mut text);
            for (key, value) in lines {
                report.line(key, value);
            }
            text.extend_from_slice(random.pick(&[&b""[..], b"\n", b"\r\n\n", b" \n"]));
        }
        assert_eq!(of_text(&text), reports, "{:?}", String::from_utf8_lossy(&text));
        assert_eq!(Reports::recognize(&text), !reports.is_empty());
    });
}

/// Returns JSON for reports, in one of the known forms.
pub(crate) fn random_json(random: &mut Random, reports: &[Lines]) -> String {
    let string = |text: &[u8]| serde_json::Value::from(String::from_utf8_lossy(text).into_owned());
    let object = |lines: &Lines, random: &mut Random| {
        let mut members: Vec<(String, serde_json::Value)> = Vec::new();
        for (key, value) in lines {
            let key = String::from_utf8_lossy(key).into_owned();
            // Repeated keys form a list, and a single value can form a list.
            match members.iter_mut().find(|(name, _)| *name == key) {
                Some((_, serde_json::Value::Array(list))) => list.push(string(value)),
                Some((_, single)) => *single = vec![single.take(), string(value)].into(),
                None if random.below(2) == 0 => members.push((key, string(value))),
                None => members.push((key, vec![string(value)].into())),
            }
        }
        if random.below(2) == 0 {
            members.push(("Empty".to_owned(), serde_json::Value::Array(Vec::new())));
            members.push(("Nothing".to_owned(), serde_json::Value::Null));
        }
        let place = random.index(members.len() + 1);
        members.insert(place, ("version".to_owned(), "X-Trace Report ver 1.0".into()));
        serde_json::Value::Object(members.into_iter().collect())
    };
    let objects: Vec<serde_json::Value> = reports.iter().map(|lines| object(lines, random)).collect();
    let write = |value: &serde_json::Value, random: &mut Random| match random.below(2) {
        0 => value.to_string(),
        _ => serde_json::to_string_pretty(value).unwrap(),
    };
    match random.index(4) {
        0 => write(&objects.into(), random),
        1 => objects.iter().map(|object| write(object, random) + "\n").collect(),
        2 => write(&serde_json::json!({"id": "a", "x": [{}], "reports": objects, "y": [1]}), random),
        _ => {
            let (first, rest) = objects.split_at(objects.len() / 2);
            let tasks = serde_json::json!([{"reports": first}, {"id": ["\"reports\":["], "reports": rest, "z": "]}"}]);
            write(&tasks, random)
        }
    }
}

#[test]
fn json_in_any_form_has_the_same_reports() {
    cases(3_000, |random| {
        let mut reports: Vec<Lines> = (0..random.index(4)).map(|_| random_lines(random)).collect();
        for lines in &mut reports {
            for (key, value) in lines.iter_mut() {
                // A list of reports would be read as reports.
                for text in [key, value] {
                    *text = String::from_utf8_lossy(text).into_owned().into_bytes();
                }
            }
            // Lines with the same key are adjacent.
            let keys: Vec<Vec<u8>> = lines.iter().map(|(key, _)| key.clone()).collect();
            lines.sort_by_key(|(key, _)| keys.iter().position(|other| other == key));
        }
        let json = random_json(random, &reports);
        assert_eq!(of_json(json.as_bytes()), (reports, Vec::new()), "{json}");
    });
}

#[test]
fn any_bytes_are_read() {
    let text = {
        let mut text = Vec::new();
        let mut report = ReportWriter::from_lines(&mut text);
        report.line("X-Trace", "10CAFEBABE01020304");
        report.line("Label", "a\nb");
        text
    };
    let json =
        br#"[{"id":"a","reports":[{"X-Trace":["10CAFEBABE01020304"],"Label":"a\u00e4\ud83d\ude00\n"}]}]"#;
    cases(5_000, |random| {
        let mut bytes = match random.index(3) {
            0 => [&text[..], b"\n", &text].concat(),
            1 => json.repeat(2),
            _ => random_text(random),
        };
        for _ in 0..random.index(4) {
            if !bytes.is_empty() {
                let at = random.index(bytes.len());
                match random.index(3) {
                    0 => bytes[at] = random.number() as u8,
                    1 => bytes.truncate(at),
                    _ => drop(bytes.splice(at..at, random_text(random))),
                }
            }
        }
        // The whole text is in a part or between two parts.
        let mut end = 0;
        for part in Reports::new(&bytes) {
            let (begin, text) = match part {
                Part::Report(report) => (report.offset(), report.as_bytes()),
                Part::Stray(begin, lines) => (begin, lines),
            };
            assert!(begin >= end && &bytes[begin..begin + text.len()] == text && !text.is_empty());
            let skipped = bytes[end..begin].strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes[end..begin]);
            assert!(skipped.iter().all(|byte| *byte <= b' '));
            end = begin + text.len();
        }
        of_text(&bytes);
        of_json(&bytes);
    });
}

#[test]
fn json_that_is_damaged() {
    let report = r#"{"X-Trace":["10CAFEBABE01020304"],"Label":"a"}"#;
    let lines = |json: &str| {
        let (reports, faults) = of_json(json.as_bytes());
        (reports.len(), faults)
    };
    // One report is lost, but all following reports are found.
    let all = format!("[{report},{report},{report}]");
    assert_eq!(lines(&all), (3, vec![]));
    for damaged in [
        report.replace("[\"", "[["),
        report.replace("\"Label\"", "Label"),
        report.replace(':', ""),
        report.replace('a', "\\q"),
        report.replace('a', "\\ud"),
        report.replace('}', "]"),
        report.replace('"', ""),
        report.replace("\"a\"", "a"),
    ] {
        let (reports, faults) = lines(&format!("[{report},{damaged},{report}]"));
        assert!(reports >= 2 && !faults.is_empty(), "{damaged}: {reports} {faults:?}");
        assert!(faults[0] >= report.len() + 2, "{damaged}: {faults:?}");
    }
    // The text ends early.
    assert_eq!(lines(&all[..all.len() - 1]), (3, vec![all.len() - 1]));
    assert_eq!(lines(&all[..all.len() - 2]).0, 2);
    assert_eq!(lines(&format!("{report} {report}")), (2, vec![]));
    assert_eq!(lines(&format!("\u{FEFF}{report}")), (1, vec![]));
    assert_eq!(lines(""), (0, vec![]));
    assert_eq!(lines("nothing"), (0, vec![0]));
    assert_eq!(lines("[1, 2]"), (0, vec![1]));
    // At any nesting depth.
    for open in ["[", "{\"a\":", "{\"a\":[", "{\"reports\":[", "[{\"reports\":[{\"a\":"] {
        let (reports, faults) = lines(&open.repeat(20_000));
        assert!(reports == 0 && !faults.is_empty(), "{open}");
    }
}

#[test]
fn values_in_json() {
    let json = br#"{"TaskID":"0a","EventID":-1,"a":[true,1.5,{"b":[1, "]"]},[2]],"c":null,"d":"\ud83d\ude00\ud83d","version":5}"#;
    let (mut reports, mut buffer) = (JsonReports::new(), LineBuffer::default());
    assert_eq!(reports.next(json, &mut buffer), Some(Ok(())));
    let lines: Vec<_> = buffer.lines().map(|line| String::from_utf8_lossy(line.value).into_owned()).collect();
    assert_eq!(lines, ["0a", "-1", "true", "1.5", "{\"b\":[1, \"]\"]}", "[2]", "\u{1F600}\u{FFFD}", "5"]);
    assert!(reports.odd_value().is_some_and(|at| json[at..].starts_with(b"true")));
    assert!(JsonReports::recognize(json));
    assert!(
        !JsonReports::recognize(b"{\"a\": 1}")
            && JsonReports::recognize(b"[]")
            && !JsonReports::recognize(b"")
    );
    // The start of a file suffices.
    let whole = br#"  [{"id": "x", "reports": [{"Host": ["a"], "X-Trace": ["10CAFEBABE01020304"], "Label": ["a"]}]}]"#;
    assert!(JsonReports::recognize(whole) && JsonReports::recognize(&whole[..80]));
}

/// The example output equals the file generated with it.
#[path = "../../examples/hello_reports.rs"]
#[allow(unreachable_pub)]
mod hello_reports;

#[test]
fn the_example_is_what_made_the_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello-xtrace/proxy.reports");
    let text = hello_reports::reports();
    assert_eq!(String::from_utf8(fs::read(path).unwrap()).unwrap(), String::from_utf8(text.clone()).unwrap());
    let reports = of_text(&text);
    assert_eq!(figures(&reports), [9, 10, 0, 0]);
    let is_written = |line: &(Vec<u8>, Vec<u8>)| line.1 == b"forward\nGET http://example.com/";
    assert!(reports.iter().flatten().any(is_written));
}
