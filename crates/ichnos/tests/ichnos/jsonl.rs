//! JSON Lines are read back as what they were written of, and lines of any program as a trace.

use ichnos::FORMATS;
use ichnos::export::{
    Integers, JsonLines, JsonLinesOptions, JsonTime, Log, LogOptions, Pretty, PrettyOptions,
};
use ichnos::flow::{Merge, pump};
use ichnos::io::{Entry, Format, OpenedTraces, ReadOptions, Tree};
use ichnos::model::{BoxedCursor, Sink, Window};
use ichnos_testing::cases;

fn format() -> &'static dyn Format {
    *FORMATS.iter().find(|format| format.name() == "jsonl").unwrap()
}

/// The trace of a text.
fn open(text: &[u8]) -> OpenedTraces {
    let entries = vec![Entry::of_bytes("a.jsonl", text.to_vec())];
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

/// What is written of the lines of a text.
pub(crate) fn written_again(text: &str) -> String {
    jsonl(&open(text.as_bytes()), JsonLinesOptions::default())
}

/// All forms of integers and times, with packets and without.
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
        "one-request",
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

/// The example of the document, and what it shows of it.
#[test]
fn the_example_of_the_document_is_a_trace() {
    let document =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/jsonl.md")).unwrap();
    let block = |begin: &str| {
        let (_, from) = document.split_once(begin).unwrap();
        from.split_once("```").unwrap().0.to_owned()
    };
    let (lines, shown) = (block("```jsonl\n"), block("$ ichnos cat --clock-gmt app.jsonl\n"));
    assert!((3..=10).contains(&lines.lines().count()));
    let entry = Entry::of_bytes("app.jsonl", lines.clone().into_bytes());
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
            "c: { mixed = [ [0] = \"1\", [1] = \"two\", [2] = \"{\\\"three\\\":3}\" ], \
             some = [ [0] = { k = 1 }, [1] = { } ], nan = nan }",
        ]
    );
    let again = jsonl(&opened, JsonLinesOptions::default());
    assert_eq!(written_again(&again), again);
    assert!(again.contains("\"log_level\":\"info\"") && again.contains("\"id\":7"));
}

/// A line that cannot be read is damage, and all others are read.
#[test]
fn a_line_that_cannot_be_read_is_damage() {
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
        // What was reported once is reported in what is written of it.
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

/// Bytes of lines are changed: whatever comes of it is read to its end, and what is written of it is read as what it
/// is.
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
            entries: vec![Entry::of_bytes("a.jsonl", text)],
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
