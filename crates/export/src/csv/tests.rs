use std::sync::Arc;
use std::time::Duration;

use ichnos_model::Message;
use ichnos_model::class::{
    DataStreamClass, EventRecordClass, FieldClass, FieldKind, IntegerProperties, IntegerRange, Length,
    Mappings, RangeSet, StringLength, Value,
};
use ichnos_model::field::StringEncoding;
use ichnos_testing::{Random, cases};

use super::*;
use crate::JsonTime;
use crate::testing::{Fixture, SharedBytes, bits, class, compare_chunks, integer, structure, u8_class};

fn range(lower: i128, upper: i128) -> RangeSet {
    RangeSet(vec![IntegerRange { lower, upper }])
}

fn string() -> Arc<FieldClass> {
    let (encoding, length) = (StringEncoding::Utf8, StringLength::NullTerminated);
    class(FieldKind::String { encoding, length, alignment: 8 })
}

fn array(element: Arc<FieldClass>, length: u64) -> Arc<FieldClass> {
    class(FieldKind::Array {
        element,
        length: Length::Static(length),
        minimum_alignment: 1,
        element_aligns: true,
    })
}

fn enumeration() -> Arc<FieldClass> {
    let mappings = Mappings::from_iter([("low", range(0, 3)), ("even", range(2, 2))]);
    integer(8, IntegerProperties { mappings: Some(mappings), ..IntegerProperties::default() })
}

fn flags() -> Arc<FieldClass> {
    let flags = Mappings::from_iter([("a", range(0, 0)), ("b", range(1, 1))]);
    class(FieldKind::BitMap { bits: bits(8), flags })
}

/// Returns a payload with most kinds of fields.
fn payload() -> Arc<FieldClass> {
    structure(vec![
        ("text", string()),
        ("state", enumeration()),
        ("flags", flags()),
        ("in", structure(vec![("x", u8_class()), ("y", string())])),
        ("list", array(structure(vec![("v", u8_class()), ("w", array(u8_class(), 2))]), 2)),
        ("event", u8_class()),
    ])
}

const BYTES: &[u8] = b"say \"a,b\"\n\0\x02\x03\x07y\\\t\0\x01\x02\x03\x04\x05\x06\x09";

fn columns(names: &[&str]) -> Arc<[CsvColumn]> {
    names.iter().map(|name| CsvColumn::new(name)).collect()
}

fn default_columns(fixture: &Fixture, time: JsonTime) -> Arc<[CsvColumn]> {
    let mut columns = CsvColumns::new(time);
    let class = fixture.stream.class();
    // The second iteration adds nothing.
    for _ in 0..2 {
        columns.add_stream(class);
        columns.add(&class.event_records[0]);
    }
    columns.columns().unwrap().into()
}

fn written(fixture: &Fixture, options: CsvOptions, bytes: &[u8]) -> String {
    let out = SharedBytes::default();
    let mut sink = Csv::new(out.clone(), options);
    fixture.begin(&mut sink);
    fixture.event(&mut sink, 1_000_000_001, bytes);
    fixture.end(&mut sink);
    out.text()
}

#[test]
fn all_fields_are_columns() {
    let fixture = Fixture::new(payload());
    let options =
        CsvOptions { columns: default_columns(&fixture, JsonTime::Nanoseconds), ..CsvOptions::default() };
    assert_eq!(
        written(&fixture, options, BYTES),
        "time,event,host,stream,packet.cpu,text,state,state.labels,flags,flags.flags,in.x,in.y,list,payload.event\n\
         1000000001,ev,host,stream,2,\"say \"\"a,b\"\"\n\",2,low|even,3,a|b,7,y\\\t,\
         \"[{\"\"v\"\":1,\"\"w\"\":[2,3]},{\"\"v\"\":4,\"\"w\"\":[5,6]}]\",9\n"
    );
    let (columns, time) = (default_columns(&fixture, JsonTime::Both), JsonTime::Both);
    let options = CsvOptions { columns, time, form: CsvForm::Tab, ..CsvOptions::default() };
    assert_eq!(
        written(&fixture, options, BYTES),
        "time\tts\tevent\thost\tstream\tpacket.cpu\ttext\tstate\tstate.labels\tflags\tflags.flags\tin.x\tin.y\tlist\t\
         payload.event\n\
         1970-01-01T00:00:01.000000001Z\t1000000001\tev\thost\tstream\t2\tsay \"a,b\"\\n\t2\tlow|even\t3\ta|b\t7\t\
         y\\\\\\t\t[{\"v\":1,\"w\":[2,3]},{\"v\":4,\"w\":[5,6]}]\t9\n"
    );
}

#[test]
fn columns_that_are_named() {
    let fixture = Fixture::new(payload());
    let show = |names: &[&str]| {
        let options = CsvOptions { columns: columns(names), ..CsvOptions::default() };
        written(&fixture, options, BYTES).split_once('\n').unwrap().1.to_owned()
    };
    // In any order, repeated, and nested.
    assert_eq!(show(&["list.1.w.0", "in.x", "list.0.v", "in.x", "list.1.w"]), "5,7,1,7,\"[5,6]\"\n");
    assert_eq!(show(&["in", "in.x", "in.y"]), "\"{\"\"x\"\":7,\"\"y\"\":\"\"y\\\\\\t\"\"}\",7,y\\\t\n");
    assert_eq!(
        show(&["event", "payload.event", "id", "log_level", "cycles", "trace"]),
        "ev,9,3,warning,1000000001,path/trace\n"
    );
    // Missing elements, other scopes, unknown fields, and value names without names.
    assert_eq!(
        show(&["list.2.v", "ctx.in.x", "nothing", "in.x.labels", "state.flags", "cpu"]),
        ",,,,low|even,2\n"
    );
    // A line is never empty.
    assert_eq!(show(&["nothing"]), "\"\"\n");
    // An empty text is present.
    let options = CsvOptions { columns: columns(&["text", "nothing"]), ..CsvOptions::default() };
    assert!(written(&fixture, options, &[&[0], &BYTES[11..]].concat()).ends_with("\n\"\",\n"));
    for (path, expected) in
        [("list.1.w", true), ("list.7", true), ("in.z", false), ("in.x.labels", false), ("time", true)]
    {
        let class = fixture.stream.class();
        let column = CsvColumn::new(path);
        let mut unknown = vec![&column];
        CsvColumn::remove_known(&mut unknown, class, &class.event_records[0]);
        assert_eq!(unknown.is_empty(), expected, "{path}");
    }
}

#[test]
fn the_number_of_columns_is_limited() {
    let names: Vec<String> = (0..=CsvColumns::MOST).map(|i| format!("f{i}")).collect();
    let fixture = Fixture::new(structure(names.iter().map(|name| (name.as_str(), u8_class())).collect()));
    let class = fixture.stream.class();
    let mut columns = CsvColumns::new(JsonTime::Nanoseconds);
    columns.add(&class.event_records[0]);
    assert!(columns.columns().is_none());
}

/// Few of very many fields.
#[test]
fn few_of_many_fields() {
    let names: Vec<String> = (0..5_000).map(|i| format!("f{i}")).collect();
    let fixture = Fixture::new(structure(names.iter().map(|name| (name.as_str(), u8_class())).collect()));
    let options =
        CsvOptions { columns: columns(&["f4999", "f0", "f2500", "f5000"]), ..CsvOptions::default() };
    let bytes: Vec<u8> = (0..5_000).map(|i| (i % 251) as u8).collect();
    assert_eq!(written(&fixture, options, &bytes), "f4999,f0,f2500,f5000\n230,0,241,\n");
}

/// Computes the class state of each event again, this many times.
struct Classes(Arc<[CsvColumn]>, u32);

impl Sink for Classes {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        let options = CsvOptions { columns: Arc::clone(&self.0), ..CsvOptions::default() };
        if let Message::Event(event) = message {
            for _ in 0..self.1 {
                assert!(
                    CsvClassState::new(event, &options, &mut CommonKeys::default(), &mut Vec::new())
                        .is_in_order
                );
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The search time for columns must grow with the number of fields, not with its square. Quadratic time takes a
/// hundred times as long.
#[test]
fn classes_of_very_many_fields() {
    let numbered: Vec<&str> = vec!["a"; 1_900];
    let names: Vec<String> = (0..1_900).map(|i| format!("a.field{i}")).collect();
    let named = names.iter().map(String::as_str).collect();
    for names in [numbered, named] {
        let fixture = Fixture::new(structure(names.into_iter().map(|name| (name, u8_class())).collect()));
        let columns = default_columns(&fixture, JsonTime::Nanoseconds);
        assert_eq!(columns.len(), 1_905);
        ichnos_testing::in_cpu_time(Duration::from_secs(3), "finding columns", || {
            fixture.event(&mut Classes(columns, 10), 0, &[0; 1_900]);
        });
    }
}

/// Members with the same name, and members without a name, have separate columns.
#[test]
fn members_of_the_same_name() {
    let inner = || structure(vec![("b", u8_class()), ("b", u8_class())]);
    let fields =
        vec![("a", u8_class()), ("", u8_class()), ("a", u8_class()), ("", u8_class()), ("in", inner())];
    let fixture = Fixture::new(structure(fields));
    let names = ["a", "#1", "a#2", "#2", "in.b", "in.b#2"];
    let options = CsvOptions { columns: columns(&names), ..CsvOptions::default() };
    assert_eq!(written(&fixture, options, &[1, 2, 3, 4, 5, 6]), "a,#1,a#2,#2,in.b,in.b#2\n1,2,3,4,5,6\n");
    let options = CsvOptions { columns: columns(&["a#1", "a#3", "in.b#0", "#"]), ..CsvOptions::default() };
    assert_eq!(written(&fixture, options, &[1, 2, 3, 4, 5, 6]), "a#1,a#3,in.b#0,#\n,,,\n");
    let class = EventRecordClass {
        payload: Some(structure(vec![("a", u8_class()), ("a", u8_class())])),
        ..EventRecordClass::default()
    };
    let names_found = CsvColumn::names_in(&DataStreamClass::default(), &class);
    assert_eq!(names_found[names_found.len() - 2..], ["a", "a#2"]);
}

/// Repeated context cells must equal the cells of a first event. This includes a payload field that is a context
/// field in other classes.
#[test]
fn contexts_that_repeat() {
    let fixture = Fixture::with(structure(vec![("p", u8_class())]), |trace| {
        let stream = &mut trace.data_streams[0];
        stream.common_context = Some(structure(vec![("a", enumeration()), ("b", u8_class())]));
        let of = |id, name| EventRecordClass {
            id,
            name: Some(format!("with {name}")),
            payload: Some(structure(vec![(name, u8_class())])),
            ..EventRecordClass::default()
        };
        stream.event_records.extend([of(4, "a"), of(5, "b"), of(6, "cpu")].map(Arc::new));
    });
    // The payload has the place of the context.
    let events: Vec<(usize, [u8; 2])> =
        (0..64).map(|i| (i % 4, [[2, 7][i / 4 % 2], [2, 9][i / 16 % 2]])).collect();
    for names in [
        &["event", "cpu", "a", "a.labels", "b", "p"][..],
        &["cpu", "event", "a", "b", "stream"],
        &["a", "cpu", "p", "b"],
        &["a", "b", "a", "a.labels"],
        &["a", "stream", "b", "none", "p"],
        &["a", "a.labels"],
    ] {
        let write = |events: &[(usize, [u8; 2])]| {
            let out = SharedBytes::default();
            let mut sink =
                Csv::new(out.clone(), CsvOptions { columns: columns(names), ..CsvOptions::default() });
            events.iter().for_each(|(class, bytes)| fixture.event_of(&mut sink, *class, bytes));
            fixture.end(&mut sink);
            out.text().split_once('\n').unwrap().1.to_owned()
        };
        let alone: String = events.chunks(1).map(write).collect();
        assert_eq!(write(&events), alone, "{names:?}");
        assert!(alone.lines().collect::<std::collections::HashSet<_>>().len() >= 2, "{alone}");
    }
}

/// Separators are a constant text if they are few, and a number if they are many.
#[test]
fn wide_tables() {
    let fixture = Fixture::new(structure(vec![("a", u8_class())]));
    for gap in [1, 38, 39, 40, 41, 300] {
        let none = vec!["none"; gap];
        let gaps =
            [vec!["event"], none.clone(), vec!["stream", "a"], none.clone(), vec!["id"], none].concat();
        let options = CsvOptions { columns: columns(&gaps), ..CsvOptions::default() };
        let text = written(&fixture, options, &[5]);
        let commas = ",".repeat(gap);
        let expected = format!("ev,{commas}stream,5,{commas}3{commas}");
        assert_eq!(text.lines().nth(1), Some(&*expected), "{gap}");
    }
}

/// Chunks lack the line of column names.
#[test]
fn chunks() {
    let fixture = Fixture::new(structure(vec![("a", u8_class())]));
    let make = |out| Csv::new(out, CsvOptions { columns: columns(&["time", "a"]), ..CsvOptions::default() });
    compare_chunks(&fixture, 3, make, |chunk, sink| {
        fixture.event(sink, chunk as i64, &[chunk as u8]);
    });
}

/// Parses a text by RFC 4180.
fn read_commas(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let mut is_quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => line.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                line.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut line));
            }
            c => cell.push(c),
        }
    }
    assert!(line.is_empty() && cell.is_empty() && !is_quoted, "{text:?}");
    lines
}

fn read_tabs(text: &str) -> Vec<Vec<String>> {
    let cell = |cell: &str| {
        let (mut out, mut chars) = (String::new(), cell.chars());
        while let Some(c) = chars.next() {
            out.push(match c {
                '\\' => match chars.next().unwrap() {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    c => c,
                },
                c => c,
            });
        }
        out
    };
    text.strip_suffix('\n').unwrap().split('\n').map(|line| line.split('\t').map(cell).collect()).collect()
}

fn random_text(random: &mut Random) -> String {
    let pieces = ["a", "\"", ",", "\t", "\n", "\r", "\\", "é", "\u{202e}", " ", "\\n", "\"\"", "\r\n"];
    (0..random.index(6)).map(|_| pieces[random.index(pieces.len())]).collect()
}

/// Tries the whole path as a field name first.
#[test]
fn readers_find_all_texts() {
    cases(300, |random| {
        let names: Vec<String> =
            (0..1 + random.index(4)).map(|i| format!("{}{i}", random_text(random))).collect();
        let fixture = Fixture::new(structure(names.iter().map(|name| (name.as_str(), string())).collect()));
        let rows: Vec<Vec<String>> =
            (0..3).map(|_| names.iter().map(|_| random_text(random)).collect()).collect();
        for form in [CsvForm::Comma, CsvForm::Tab] {
            let paths: Vec<String> = names.iter().map(|name| format!("payload.{name}")).collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let out = SharedBytes::default();
            let options = CsvOptions { columns: columns(&paths), form, ..CsvOptions::default() };
            let mut sink = Csv::new(out.clone(), options);
            for row in &rows {
                let bytes: Vec<u8> = row.iter().flat_map(|text| [text.as_bytes(), &[0]].concat()).collect();
                fixture.event(&mut sink, 0, &bytes);
            }
            fixture.end(&mut sink);
            let text = out.text();
            let read = if form == CsvForm::Comma { read_commas(&text) } else { read_tabs(&text) };
            assert_eq!(read[0], paths);
            assert_eq!(read[1..], rows, "{text:?}");
        }
    });
}

/// A terminal receives nothing unprintable except line ends and tabs between cells.
#[test]
fn terminals() {
    let fixture = Fixture::with(payload(), |trace| {
        trace.environment = vec![("hostname".to_owned(), Value::Text("\x1b[2Jh\tx".to_owned()))];
    });
    for form in [CsvForm::Comma, CsvForm::Tab] {
        let columns = columns(&["host", "text", "in.y", "list"]);
        let options = CsvOptions { columns, form, printable_only: true, ..CsvOptions::default() };
        let text = written(
            &fixture,
            options,
            b"\x1b]0;t\x07\n\0\x02\x03\x07\xe2\x80\xae\0\x01\x02\x03\x04\x05\x06\x09",
        );
        assert_eq!(text.lines().count(), 2, "{text:?}");
        let is_shown = |c: char| c == '\n' || (c == '\t' && form == CsvForm::Tab) || crate::is_printable(c);
        assert!(text.chars().all(is_shown), "{text:?}");
        assert_eq!(text.matches('\t').count(), if form == CsvForm::Tab { 6 } else { 0 });
    }
}

/// Losses are not written.
#[test]
fn losses_are_left_out() {
    let fixture = Fixture::new(payload());
    let out = SharedBytes::default();
    let mut sink = Csv::new(out.clone(), CsvOptions::default());
    crate::testing::send(&mut sink, &Message::DiscardedEvents(fixture.discarded(Some(3))));
    fixture.end(&mut sink);
    assert_eq!(out.text(), "time,event,host,stream\n");
}
