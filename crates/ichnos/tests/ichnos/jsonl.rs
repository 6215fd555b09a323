//! JSON Lines: written lines are read back with their original content, and lines from any program can be read as a
//! trace.

use ichnos::FORMATS;
use ichnos::export::{Integers, JsonTime, Log, LogOptions, Pretty, PrettyOptions};
use ichnos::flow::{Merge, pump};
use ichnos::io::{Entry, Format, OpenedTraces, ReadOptions, Tree};
use ichnos::model::cursor::BoxedCursor;
use ichnos::model::{Sink, Window};
use ichnos_jsonl::{JsonLines, JsonLinesOptions};
use ichnos_testing::cases;

fn format() -> &'static dyn Format {
    *FORMATS.iter().find(|format| format.info().name == "jsonl").unwrap()
}

/// Opens a text as a trace.
fn open(text: &[u8]) -> OpenedTraces {
    let entries = vec![Entry::from_bytes("a.jsonl", text.to_vec())];
    let tree = Tree { name: "a.jsonl".to_owned(), entries, problems: Vec::new() };
    let mut options = ReadOptions::default();
    options.force = true;
    let opened = format().open(&[&tree], &options);
    assert!(opened.refused.is_empty(), "{:?}", opened.refused);
    opened
}

fn cursors(opened: &OpenedTraces, window: Window) -> Vec<BoxedCursor> {
    opened.traces.iter().flat_map(|trace| trace.cursors(window)).collect()
}

fn feed(opened: &OpenedTraces, sink: &mut impl Sink) {
    pump(&mut Merge::new(cursors(opened, Window::default())), sink).unwrap();
}

fn jsonl(opened: &OpenedTraces, options: JsonLinesOptions) -> String {
    let mut out = Vec::new();
    feed(opened, &mut JsonLines::new(&mut out, options));
    String::from_utf8(out).unwrap()
}

fn pretty(opened: &OpenedTraces) -> String {
    let mut options = PrettyOptions::default();
    options.clock_gmt = true;
    let mut out = Vec::new();
    feed(opened, &mut Pretty::new(&mut out, options));
    String::from_utf8(out).unwrap()
}

/// Reads the lines of a text and writes them again.
pub(crate) fn written_again(text: &str) -> String {
    jsonl(&open(text.as_bytes()), JsonLinesOptions::default())
}

/// Returns options for every form of integers and times, with and without packets.
fn all_options() -> Vec<JsonLinesOptions> {
    let mut all = Vec::new();
    for integers in [Integers::Number, Integers::Auto, Integers::String] {
        for time in [JsonTime::Nanoseconds, JsonTime::Iso, JsonTime::Both] {
            for packets in [false, true] {
                let mut options = JsonLinesOptions::default();
                (options.integers, options.time, options.packets) = (integers, time, packets);
                all.push(options);
            }
        }
    }
    all
}

#[test]
fn examples_are_read_back_in_all_forms() {
    use ichnos::model::Cursor as _;

    for path in [
        "hello-lttng/trace",
        "hello-ctf2/trace",
        "hello-fuchsia",
        "hello-xtrace",
        "hello-dotnet/hello.nettrace.zst",
        "one-request/trace/stock",
    ] {
        let path = format!("{}/../../examples/{path}", env!("CARGO_MANIFEST_DIR"));
        let session = ichnos::open([&path], &ichnos::OpenOptions::default()).unwrap();
        let write = |sink: &mut dyn Sink| {
            let mut cursor = session.cursor(Window::default()).unwrap();
            while cursor.advance() {
                if let Some(message) = cursor.current() {
                    assert!(sink.message(&message).unwrap().is_continue());
                }
            }
            sink.finish().unwrap();
        };
        for options in all_options() {
            let mut out = Vec::new();
            write(&mut JsonLines::new(&mut out, options.clone()));
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().count() > 10, "{path}");
            let opened = open(text.as_bytes());
            let again = jsonl(&opened, options.clone());
            for (number, (found, expected)) in again.lines().zip(text.lines()).enumerate() {
                assert_eq!(found, expected, "{path}, {options:?}, line {}", number + 1);
            }
            assert_eq!(again.len(), text.len(), "{path}, {options:?}");
            if options.packets {
                let (mut expected, mut log) = (Vec::new(), Vec::new());
                let mut pretty_options = PrettyOptions::default();
                pretty_options.clock_gmt = true;
                write(&mut Pretty::new(&mut expected, pretty_options));
                assert_eq!(pretty(&opened), String::from_utf8(expected).unwrap(), "{path}");
                write(&mut Log::new(&mut log, LogOptions::default()));
                let mut found = Vec::new();
                feed(&opened, &mut Log::new(&mut found, LogOptions::default()));
                assert_eq!(String::from_utf8(found).unwrap(), String::from_utf8(log).unwrap(), "{path}");
            }
        }
    }
}

/// The example in the document, with the output shown there.
#[test]
fn the_example_in_the_document_is_a_trace() {
    let document =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/jsonl.md")).unwrap();
    let block = |begin: &str| {
        let (_, from) = document.split_once(begin).unwrap();
        from.split_once("```").unwrap().0.to_owned()
    };
    let (lines, shown) = (block("```jsonl\n"), block("$ ichnos cat --clock-gmt app.jsonl\n"));
    assert!((3..=10).contains(&lines.lines().count()));
    let entry = Entry::from_bytes("app.jsonl", lines.clone().into_bytes());
    let tree = Tree { name: "app.jsonl".to_owned(), entries: vec![entry], problems: Vec::new() };
    assert!(format().probe(&tree, &ReadOptions::default()));
    assert_eq!(pretty(&open(lines.as_bytes())), shown);
}

#[test]
fn lines_of_a_program_become_events() {
    let text = r#"{"ts":-1500000000,"name":"a","payload":{"x":1,"y":[1,-2,18446744073709551615],"z":null}}
{"ts":"2","name":"a","payload":{"x":1.5}}
{"time":"1970-01-01T00:00:00.000000003Z","name":"b","id":7,"log_level":"info","specific_context":{"t":"\u00e9\n"}}

{"ts":4,"name":"a","payload":{"x":2,"y":[5],"z":null},"color":"red"}
{"ts":5,"name":"d","payload":{"wide":[1,2.5,null,3]}}
{"ts":5,"name":"c","payload":{"mixed":[1,"two",{"three":3}],"some":[{"k":1},{"k":null}],"nan":{"$float":"NaN"}}}
"#;
    let opened = open(text.as_bytes());
    let shown = pretty(&opened);
    let shown: Vec<&str> = shown.lines().map(|line| line.split_once(") ").unwrap().1).collect();
    assert_eq!(
        shown,
        [
            "a: { x = 1, y = [ [0] = 1, [1] = -2, [2] = 18446744073709551615 ], z = <none> }",
            "a: { x = 1.5 }",
            "b: { t = \"\u{e9}\\n\" }",
            "a: { x = 2, y = [ [0] = 5 ], z = <none> }",
            "d: { wide = [ [0] = 1, [1] = 2.5, [2] = <none>, [3] = 3 ] }",
            "c: { mixed = [ [0] = \"1\", [1] = \"two\", [2] = \"{\\\"three\\\":3}\" ], \
             some = [ [0] = { k = 1 }, [1] = { } ], nan = nan }",
        ]
    );
    let again = jsonl(&opened, JsonLinesOptions::default());
    assert_eq!(written_again(&again), again);
    assert!(again.contains("\"log_level\":\"info\"") && again.contains("\"id\":7"));
}

/// An unreadable line is damage, and all other lines are read.
#[test]
fn an_unreadable_line_is_damage() {
    let good = |time: u32| format!("{{\"ts\":{time},\"name\":\"a\",\"payload\":{{\"x\":{time}}}}}\n");
    for bad in [
        "{",
        "nonsense",
        "[1]",
        "{\"ts\":1.5,\"name\":\"a\"}",
        "{\"ts\":1,\"name\":5}",
        "{\"type\":\"other\"}",
        "{\"ts\":1,\"name\":\"a\",\"payload\":5}",
        "{\"ts\":1,\"name\":\"\\ud800\"}",
        "{\"ts\":1,\"name\":\"a\"} x",
        "{\"type\":\"event\",\"stream\":0,\"ts\":1e5}",
    ] {
        let text = format!("{}{bad}\n{}", good(1), good(2));
        let written = written_again(&text);
        let lines: Vec<&str> = written.lines().filter(|line| line.contains("\"damage\"")).collect();
        let [damage] = lines[..] else { panic!("{bad}: {written}") };
        let damage: serde_json::Value = serde_json::from_str(damage).unwrap();
        assert_eq!(damage["bit"], 8 * good(1).len(), "{bad}");
        assert_eq!(damage["skipped_bits"], 8 * bad.len(), "{bad}");
        assert!(damage["message"].as_str().unwrap().contains(", found "), "{bad}: {damage}");
        assert_eq!(written.matches("\"type\":\"event\",").count(), 2, "{bad}");
        // Reported damage is reported again when the output is read.
        assert_eq!(written_again(&written), written, "{bad}");
    }
}

#[test]
fn a_window_is_kept() {
    let text: String = (0..10).map(|time| format!("{{\"ts\":{time},\"name\":\"a\"}}\n")).collect();
    let opened = open(text.as_bytes());
    let mut out = Vec::new();
    let window = Window { begin: Some(3), end: Some(5) };
    let mut options = JsonLinesOptions::default();
    (options.streams, options.cycles) = (false, false);
    pump(&mut Merge::new(cursors(&opened, window)), &mut JsonLines::new(&mut out, options)).unwrap();
    let times: Vec<u64> = String::from_utf8(out)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["ts"].as_u64().unwrap())
        .collect();
    assert_eq!(times, [3, 4, 5]);
}

/// Lines with changed bytes: all lines are read, and the output can be read back.
#[test]
fn changed_lines_are_read_to_their_end() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello-ctf2/trace");
    let session = ichnos::open([path], &ichnos::OpenOptions::default()).unwrap();
    let mut out = Vec::new();
    let mut options = JsonLinesOptions::default();
    options.packets = true;
    let mut sink = JsonLines::new(&mut out, options.clone());
    let mut cursor = session.cursor(Window::default()).unwrap();
    while ichnos::model::Cursor::advance(&mut cursor) {
        if let Some(message) = ichnos::model::Cursor::current(&cursor) {
            assert!(sink.message(&message).unwrap().is_continue());
        }
    }
    sink.finish().unwrap();
    let lines: Vec<&[u8]> = out.split_inclusive(|byte| *byte == b'\n').collect();
    cases(200, |random| {
        let mut text = Vec::new();
        for _ in 0..random.index(40) + 1 {
            let line = lines[if random.is_one_in(2) {
                random.index(8).min(lines.len() - 1)
            } else {
                random.index(lines.len())
            }];
            let begin = text.len();
            text.extend_from_slice(line);
            while random.is_one_in(2) {
                let at = begin + random.index(line.len());
                match random.index(3) {
                    0 => text[at] = b"{}[]\",:0-9\\ntf\n"[random.index(15)],
                    1 => text[at] ^= 1 << random.index(8),
                    _ => {
                        text.remove(at);
                        break;
                    }
                }
            }
        }
        let tree = Tree {
            name: "a.jsonl".to_owned(),
            entries: vec![Entry::from_bytes("a.jsonl", text)],
            problems: Vec::new(),
        };
        let mut read_options = ReadOptions::default();
        (read_options.force, read_options.check) = (true, true);
        let opened = format().open(&[&tree], &read_options);
        if opened.refused.is_empty() {
            jsonl(&opened, options.clone());
        }
    });
}

/// Returns the event lines in a text, each without the part before its id.
fn events_of(text: &str) -> Vec<&str> {
    let events = text.lines().filter(|line| line.starts_with("{\"type\":\"event\","));
    events.map(|line| &line[line.find("\"id\":").unwrap()..]).collect()
}

/// Returns the class lines in a text, by id: each id once per data stream.
fn class_ids(text: &str) -> Vec<(u64, u64)> {
    let of = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let class = line["type"] == "event-class";
        class.then(|| (line["stream"].as_u64().unwrap(), line["id"].as_u64().unwrap()))
    };
    let ids: Vec<_> = text.lines().filter_map(of).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), ids.len(), "{text}");
    ids
}

/// Events with the same id and different members have several classes, each with its own id, and can be read back.
#[test]
fn events_with_different_members_get_different_ids() {
    let lines = [
        r#"{"ts":1,"id":7,"name":"a","payload":{"x":1}}"#,
        r#"{"ts":2,"id":7,"name":"a","payload":{"x":"one"}}"#,
        r#"{"ts":3,"id":7,"name":"b","payload":{"x":2}}"#,
        r#"{"ts":4,"id":7,"name":"a","log_level":"error","payload":{"x":3}}"#,
        r#"{"ts":5,"id":7,"name":"a","payload":{"x":[]}}"#,
        r#"{"ts":6,"id":7,"name":"a","payload":{"x":[4]}}"#,
        r#"{"ts":7,"id":7}"#,
        r#"{"ts":8,"id":7,"name":"a","payload":{"x":5}}"#,
        r#"{"ts":9,"id":7,"name":"a","payload":{"x":"two"}}"#,
        r#"{"ts":10,"id":8,"name":"a","payload":{"x":[6]}}"#,
    ];
    let opened = open(lines.join("\n").as_bytes());
    let once = jsonl(&opened, JsonLinesOptions::default());
    let ids = class_ids(&once);
    assert_eq!(ids.len(), 8, "{once}");
    // The class of the first event with an id keeps it.
    assert_eq!((ids[0], ids[7]), ((0, 7), (0, 8)));
    assert!(ids[1..7].iter().all(|(_, id)| *id > 8));
    let events = events_of(&once);
    for (line, event) in lines.iter().zip(&events) {
        let (line, event): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(line).unwrap(), serde_json::from_str(&format!("{{{event}")).unwrap());
        for member in ["name", "log_level", "payload"] {
            assert_eq!(line[member], event[member], "{event}");
        }
    }
    // Events with the same members have the same id.
    let id = |event: usize| events[event].split(',').next().unwrap();
    assert_eq!((id(0), id(1)), (id(7), id(8)));
    assert_eq!(written_again(&once), once);
    // Ids do not depend on the events read before.
    for begin in 2..=10 {
        let mut out = Vec::new();
        let window = Window { begin: Some(begin), end: None };
        let sink = &mut JsonLines::new(&mut out, JsonLinesOptions::default());
        pump(&mut Merge::new(cursors(&opened, window)), sink).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(events_of(&out), events[usize::try_from(begin).unwrap() - 1..], "{begin}");
        let again = open(lines.join("\n").as_bytes());
        let mut fresh = Vec::new();
        let sink = &mut JsonLines::new(&mut fresh, JsonLinesOptions::default());
        pump(&mut Merge::new(cursors(&again, window)), sink).unwrap();
        assert_eq!(String::from_utf8(fresh).unwrap(), out, "{begin}");
    }
}

/// The same, if a line describes the class without its fields, and in several data streams.
#[test]
fn classes_without_fields_have_separate_ids() {
    let text = r#"{"type":"event-class","stream":0,"id":7,"name":"a","meanings":{"payload":{"pid":"process"}}}
{"type":"event-class","stream":0,"name":"named","role":"sample"}
{"type":"event-class","stream":0,"name":"other","role":"counter"}
{"stream":0,"ts":1,"id":7,"payload":{"pid":1}}
{"stream":1,"ts":2,"id":7,"payload":{"pid":1,"more":2}}
{"stream":0,"ts":3,"id":7,"payload":{"pid":3,"more":4}}
{"stream":1,"ts":4,"name":"a","payload":{"pid":1}}
{"stream":0,"ts":5,"name":"named","payload":{"x":1}}
{"stream":0,"ts":6,"name":"other","payload":{"x":1}}
"#;
    let once = jsonl(&open(text.as_bytes()), JsonLinesOptions::default());
    let ids = class_ids(&once);
    assert_eq!(ids.len(), 6, "{once}");
    assert_eq!((ids[0], ids[3]), ((0, 7), (1, 7)), "{once}");
    assert_eq!((ids[1].1, ids[2].0, ids[2].1 > 7), (ids[2].1, 0, true), "{once}");
    assert_eq!(once.matches(r#""process""#).count(), 4, "{once}");
    assert_eq!(
        (once.matches(r#""role":"sample""#).count(), once.matches(r#""role":"counter""#).count()),
        (1, 1)
    );
    assert_eq!(written_again(&once), once);
}

/// If two lines describe a class with the same id, the first is used, and the second is damage at its position.
#[test]
fn a_class_described_twice_is_damage() {
    let class = |kind: &str| {
        format!(
            r#"{{"type":"event-class","stream":0,"id":7,"name":"a","fields":{{"payload":{{"type":"structure","members":[{{"name":"x","class":{{"type":"{kind}"}}}}]}}}}}}"#
        )
    };
    let event = r#"{"ts":1,"id":7,"payload":{"x":"one"}}"#;
    let same =
        [&*class("string"), event, &class("string").replace("\"stream\":0", "\"stream\":1")].join("\n");
    assert!(!written_again(&same).contains("damage"));
    let other = [&*class("string"), event, &class("guid")].join("\n");
    let written = written_again(&other);
    assert_eq!(events_of(&written).len(), 1);
    let damage = written.lines().find(|line| line.contains("\"type\":\"damage\""));
    assert!(damage.is_none_or(|line| line.contains("id 7")), "{written}");
    let damage = open(other.as_bytes()).traces[0].damage().to_vec();
    let [damage] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!(damage.bit, 8 * other.rfind("{\"type\":\"event-class\"").unwrap() as u64);
    assert_eq!(damage.skipped, 8 * class("guid").len() as u64);
}

/// Each value comes from its own line, independent of earlier lines.
#[test]
fn values_do_not_depend_on_the_line_before() {
    let values = [
        "1",
        "-0",
        "-0.5",
        "1.5",
        "18446744073709551615",
        "18446744073709551616",
        "null",
        "true",
        "\"text\"",
        r#"{"$int":"5"}"#,
        r#"{"$int":""}"#,
        r#"{"$float":"NaN"}"#,
        r#"{"$float":"text"}"#,
        r#"{"$bytes":"ff"}"#,
        r#"{"$blob":"00","media_type":"a"}"#,
        r#"{"$blob":"00","media_type":"b"}"#,
        r#"{"$blob":"00","x":1}"#,
        "[]",
        "[1]",
        "[1,null]",
        "[1,2.5]",
        "[1,18446744073709551616]",
        "[[]]",
        "[[1],[]]",
        "[{}]",
        r#"[{"k":1},{"k":null}]"#,
        r#"[1,"two",{"$bytes":"ff"}]"#,
        r#"["one","two"]"#,
        "{}",
        r#"{"k":[]}"#,
        r#"{"k":[1]}"#,
    ];
    let line = |value: &str| format!("{{\"ts\":1,\"name\":\"a\",\"payload\":{{\"x\":{value}}}}}\n");
    let alone = values.map(|value| {
        let written = written_again(&line(value));
        assert!(!written.contains("damage"), "{value}: {written}");
        let events = events_of(&written);
        let [event] = events[..] else { panic!("{value}: {written}") };
        event.to_owned()
    });
    cases(100, |random| {
        let chosen: Vec<usize> = (0..20).map(|_| random.index(values.len())).collect();
        let text: String = chosen.iter().map(|value| line(values[*value])).collect();
        let written = written_again(&text);
        let expected: Vec<&str> = chosen.iter().map(|value| &*alone[*value]).collect();
        assert_eq!(events_of(&written), expected);
    });
}

/// Unusual lines are read completely, or reported as damage.
#[test]
fn unusual_lines() {
    let long = format!(r#"{{"ts":3,"name":"{}"}}"#, "a".repeat(16 << 20));
    let nested = |depth: usize| {
        format!(r#"{{"ts":4,"name":"c","payload":{{"x":{}{}}}}}"#, "[".repeat(depth), "]".repeat(depth))
    };
    let lines = [
        ("\u{feff}{\"ts\":1,\"name\":\"a\",\"payload\":{\"x\":1,\"x\":2}}\r", Some("a: { x = 1, x = 2 }")),
        ("\r", None),
        ("  ", None),
        (" { \"name\" : \"b\" , \"name\" : \"c\" , \"ts\" : 2 , \"ts\" : 3 } \r", Some("c: ")),
        (r#"{"ts":3,"name":"nul","payload":{"x":"a\u0000b"}}"#, Some("nul: { x = \"a\\0b\" }")),
        ("{\"ts\":3,\"name\":\"nul\0\"}", None),
        ("{\"ts\":3,\"name\":\"a\",\"payload\":{\"x\":NaN}}", None),
        ("{\"ts\":3,\"name\":\"a\",\"payload\":{\"x\":Infinity}}", None),
        ("{\"ts\":3,\"name\":\"a\",\"payload\":{\"x\":1e999,\"y\":-1e-999}}", Some("a: { x = inf, y = -0 }")),
        (
            "{\"ts\":3,\"name\":\"a\",\"payload\":{\"x\":-170141183460469231731687303715884105729}}",
            Some("a: { x = -170141183460469231731687303715884105729 }"),
        ),
        (&long, None),
        (&nested(50), Some("c: ")),
        (&nested(100), None),
        (&nested(100_000), None),
        ("{\"ts\":1e3,\"name\":\"a\"}", None),
        ("{\"ts\":1361129467683753853853498429727072845824,\"name\":\"a\"}", None),
        ("{\"ts\":5,\"name\":\"a\",\"payload\":null}", Some("a: ")),
        ("{\"ts\":6,\"name\":\"the end\"}", Some("the end: ")),
    ];
    let text = lines.map(|(line, _)| line).join("\n");
    let opened = open(text.as_bytes());
    let shown = pretty(&opened);
    let expected: Vec<&str> = lines.iter().filter_map(|(_, expected)| *expected).collect();
    let shown: Vec<&str> = shown.lines().map(|line| line.split_once(") ").unwrap().1).collect();
    assert_eq!(shown.len(), expected.len(), "{shown:?}");
    for (shown, expected) in shown.iter().zip(expected) {
        assert!(shown.starts_with(expected), "{shown}, {expected}");
    }
    let written = jsonl(&opened, JsonLinesOptions::default());
    let damage =
        lines.iter().filter(|(line, expected)| expected.is_none() && !line.trim().is_empty()).count();
    assert_eq!(written.matches("{\"type\":\"damage\"").count(), damage);
    assert_eq!(written_again(&written), written);
}

/// The members of an object are found in any order, even if there are many.
#[test]
fn members_in_any_order() {
    for count in [3, 40] {
        let members = |of: &dyn Fn(usize) -> String, order: &[usize]| -> String {
            order.iter().map(|member| of(*member)).collect::<Vec<_>>().join(",")
        };
        // Two members share a name.
        let name = |member: usize| if member == 1 { 0 } else { member };
        let class = |member: usize| {
            format!(r#"{{"name":"m{}","class":{{"type":"integer","length":8}}}}"#, name(member))
        };
        let value = |member: usize| format!(r#""m{}":{}"#, name(member), member);
        let forth: Vec<usize> = (0..count).collect();
        let mut back: Vec<usize> = (0..count).rev().collect();
        // Members with the same name stay in order.
        back.swap(count - 1, count - 2);
        let text = format!(
            "{{\"type\":\"event-class\",\"id\":1,\"fields\":{{\"payload\":{{\"type\":\"structure\",\"members\":[{}]}}}}}}\n\
             {{\"ts\":1,\"id\":1,\"payload\":{{{}}}}}\n{{\"ts\":1,\"id\":1,\"payload\":{{{}}}}}\n",
            members(&class, &forth),
            members(&value, &forth),
            members(&value, &back),
        );
        let written = written_again(&text);
        let events = events_of(&written);
        assert_eq!((events.len(), events[0]), (2, events[1]), "{written}");
    }
}
