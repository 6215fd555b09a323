use std::sync::Arc;

use std::fmt;

use ichnos_model::TraceClass;
use ichnos_model::class::{
    EventRecordClass, FieldClass, FieldKind, IntegerProperties, IntegerRange, Mappings, Member, RangeSet,
    StringLength,
};
use ichnos_model::event::EventValues;
use ichnos_model::field::StringEncoding;
use ichnos_model::log::{LevelScale, LevelStep, LogText};
use ichnos_model::meaning::Meanings;
use ichnos_model::message::{Damage, DamageKind};

use super::*;
use crate::testing::{
    Fixture, SharedBytes, bits, class, compare_chunks, guid_dates_characters, integer, send, structure,
    u8_class,
};
use ichnos_model::log::LogRole;

const SCALE: LevelScale = LevelScale(&[
    LevelStep::new(10, LogLevel::Trace),
    LevelStep::new(20, LogLevel::Debug),
    LevelStep { up_to: 39, level: LogLevel::Info, exact: Some(30) },
    LevelStep::new(40, LogLevel::Warn),
    LevelStep::new(50, LogLevel::Error),
    LevelStep::new(60, LogLevel::Fatal),
]);

fn text_class() -> Arc<FieldClass> {
    class(FieldKind::String {
        encoding: StringEncoding::Utf8,
        length: StringLength::NullTerminated,
        alignment: 8,
    })
}

/// Creates a trace whose events have these payload members with these meanings.
fn fixture_of(
    members: Vec<(&str, Arc<FieldClass>, Option<Meaning>)>,
    change: impl FnOnce(&mut LogRole),
) -> Fixture {
    let has_severity = members.iter().any(|(_, _, meaning)| *meaning == Some(Meaning::Severity));
    let mut role =
        LogRole::new(if has_severity { LogSeverity::Member } else { LogSeverity::Constant(30) }, SCALE);
    let mut meanings = Meanings::default();
    for (index, (_, _, meaning)) in members.iter().enumerate() {
        if let Some(meaning) = meaning {
            meanings.insert(Scope::Payload, index, *meaning);
        }
    }
    change(&mut role);
    let payload = structure(members.into_iter().map(|(name, class, _)| (name, class)).collect());
    Fixture::with(payload, |trace| {
        trace.environment.clear();
        let class = Arc::make_mut(&mut trace.data_streams[0].event_records[0]);
        class.log = Some(Arc::new(role));
        class.meanings = meanings;
    })
}

fn sink(form: LogForm) -> (SharedBytes, Log<SharedBytes>) {
    let out = SharedBytes::default();
    let options = LogOptions { form, ..LogOptions::default() };
    (out.clone(), Log::new(out, options))
}

/// Returns the lines of an event at this time, as text and as JSON.
fn lines(fixture: &Fixture, time: i64, payload: &[u8]) -> [String; 2] {
    [LogForm::Text, LogForm::Json].map(|form| {
        let (out, mut sink) = sink(form);
        fixture.begin(&mut sink);
        fixture.event(&mut sink, time, payload);
        fixture.end(&mut sink);
        out.text().strip_suffix('\n').unwrap().to_owned()
    })
}

#[test]
fn times_are_dates_if_wanted() {
    let fixture = fixture_of(vec![("message", text_class(), Some(Meaning::Message))], |_| {});
    let mut options = LogOptions::default();
    (options.clock_date, options.clock_gmt) = (true, true);
    let out = SharedBytes::default();
    let mut sink = Log::new(out.clone(), options);
    fixture.begin(&mut sink);
    fixture.event(&mut sink, -1, b"before\0");
    fixture.event(&mut sink, 1_780_000_000_123_456_789, b"hello\0");
    fixture.end(&mut sink);
    let expected = "[1969-12-31 23:59:59.999999][][][] INFO: before
[2026-05-28 20:26:40.123456][][][] INFO: hello\n";
    assert_eq!(out.text(), expected);
}

/// Returns the lines without the text before the message.
fn log_lines(fixture: &Fixture, payload: &[u8]) -> [String; 2] {
    let [text, json] = lines(fixture, 0, payload);
    let text = text.strip_prefix("[00000.000000][][][] INFO: ").unwrap_or(&text).to_owned();
    [text, json.split_once("\"root\":").unwrap().1.strip_suffix("}}").unwrap().to_owned()]
}

#[test]
fn a_line_has_everything() {
    use Meaning::*;
    let members = vec![
        ("message", text_class(), Some(Message)),
        ("key", text_class(), None),
        ("severity", u8_class(), Some(Severity)),
        ("tag", text_class(), Some(Tag)),
        ("tag", text_class(), Some(Tag)),
        ("rolled", u8_class(), Some(RolledOut)),
        ("dropped", u8_class(), Some(Dropped)),
        ("dropped_too", u8_class(), Some(Dropped)),
        ("line", u8_class(), Some(Line)),
        ("file", text_class(), Some(File)),
        ("url", text_class(), Some(ComponentUrl)),
        ("moniker", text_class(), Some(Component)),
        ("thread", u8_class(), Some(Thread)),
        ("process", u8_class(), Some(Process)),
        ("function", text_class(), Some(Function)),
        ("hidden", u8_class(), Some(Hidden)),
    ];
    let fixture = fixture_of(members, |_| {});
    let payload =
        b"some message\0value\0\x28core/a\0foo\0\x05\x02\x01\x2af.cc\0fuchsia-pkg://x\0core/a\0\x07\x06main\0\x09";
    let [text, json] = lines(&fixture, 12_345_678_999, payload);
    assert_eq!(
        text,
        "[00012.345678][6][7][core/a][foo] WARN: [f.cc(42)] some message key=value function=main \
         [dropped=3] [rolled=5]"
    );
    assert_eq!(
        json,
        r#"{"moniker":"core/a","version":1,"data_source":"Logs","metadata":{"timestamp":12345678999,"severity":"WARN","component_url":"fuchsia-pkg://x","file":"f.cc","line":42,"pid":6,"tid":7,"tags":["core/a","foo"],"errors":[{"dropped_logs":{"count":3}},{"rolled_out_logs":{"count":5}}]},"payload":{"root":{"message":{"value":"some message"},"keys":{"key":"value","function":"main"}}}}"#
    );
}

#[test]
fn what_is_not_there_is_empty() {
    let fixture = fixture_of(vec![("severity", u8_class(), Some(Meaning::Severity))], |_| {});
    let [text, json] = lines(&fixture, -1_500_000_000, &[35]);
    assert_eq!(text, "[-00001.500000][][][] INFO: <missing message>");
    assert_eq!(
        json,
        r#"{"moniker":"","version":1,"data_source":"Logs","metadata":{"timestamp":-1500000000,"severity":"INFO","raw_severity":35,"tags":[]},"payload":{"root":{"message":{}}}}"#
    );
}

/// The component of the resource is used if the event does not name one.
#[test]
fn what_is_known_of_a_resource_is_in_the_line() {
    let fixture = fixture_of(vec![("own", text_class(), Some(Meaning::Component))], |_| {});
    let mut class = TraceClass::clone(&fixture.stream.trace.class);
    let stream = &mut class.data_streams[0];
    let text = || FieldClass::optional(text_class());
    let members = ["url", "moniker", "zone"].map(|name| Member::new(name, text()));
    stream.resource = Some(Arc::new(FieldClass::structure(members)));
    let fixture = |names_itself: bool| {
        let mut class = class.clone();
        let event = Arc::make_mut(&mut class.data_streams[0].event_records[0]);
        event.meanings.insert(Scope::Resource, 0, Meaning::ComponentUrl);
        event.meanings.insert(Scope::Resource, 1, Meaning::Component);
        if !names_itself {
            event.payload = Some(structure(Vec::new()));
        }
        let trace =
            ichnos_model::Trace::new(class, "trace", &ichnos_model::trace::Limits::default()).unwrap();
        Fixture { stream: DataStream::new(Arc::new(trace), 0, Some(1), "stream").unwrap() }
    };
    let log_lines = |fixture: &Fixture, payload: &[u8], resource: [Option<&str>; 3]| {
        let mut values = EventValues::default();
        values.begin(Scope::Resource);
        for text in resource {
            values.push_optional(text.is_some());
            text.into_iter().for_each(|text| values.push(text));
        }
        [LogForm::Text, LogForm::Json].map(|form| {
            let (out, mut sink) = sink(form);
            fixture.begin(&mut sink);
            fixture.event_with(&mut sink, payload, &values);
            fixture.event(&mut sink, 0, payload);
            fixture.end(&mut sink);
            out.text()
        })
    };
    let [text, json] = log_lines(&fixture(false), b"", [Some("u"), Some("core/a"), Some("zone")]);
    let line = |component: &str| format!("[00000.000000][][][{component}] INFO: <missing message>\n");
    assert_eq!(text, line("core/a") + &line(""));
    let (first, second) = json.split_once('\n').unwrap();
    assert!(first.contains(r#""moniker":"core/a""#) && first.contains(r#""component_url":"u""#), "{first}");
    assert!(second.contains(r#""moniker":"""#) && !second.contains("component_url"), "{second}");
    assert!(!json.contains("zone"));
    assert_eq!(
        log_lines(&fixture(true), b"own\0", [None, Some("core/a"), None])[0],
        line("own") + &line("own")
    );
    assert_eq!(log_lines(&fixture(false), b"", [None; 3])[0], line("") + &line(""));
}

#[test]
fn severities() {
    let fixture = fixture_of(vec![("severity", u8_class(), Some(Meaning::Severity))], |_| {});
    for (number, level) in
        [(10, "TRACE"), (20, "DEBUG"), (30, "INFO"), (40, "WARN"), (50, "ERROR"), (60, "FATAL")]
    {
        let [text, json] = lines(&fixture, 0, &[number]);
        assert_eq!(text, format!("[00000.000000][][][] {level}: <missing message>"));
        assert!(json.contains(&format!("\"severity\":\"{level}\",\"tags\"")), "{json}");
        assert!(!json.contains("raw"));
    }
    let unknown = fixture_of(Vec::new(), |role| role.severity = LogSeverity::Unknown);
    assert_eq!(lines(&unknown, 0, &[])[0], "[00000.000000][][][] <missing message>");
}

#[test]
fn text_is_made_by_the_format() {
    fn write(event: &Event<'_>, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "{} of", event.class.id)?;
        Err(fmt::Error)
    }
    let members = vec![("message", text_class(), Some(Meaning::Rendered)), ("k", u8_class(), None)];
    let fixture = fixture_of(members, |role| role.text = Some(LogText { write }));
    let expected = ["3 of k=7", r#"{"message":{"value":"3 of"},"keys":{"k":7}}"#];
    assert_eq!(log_lines(&fixture, b"x\0\x07"), expected);
}

#[test]
fn what_has_the_wrong_type_is_a_pair() {
    let array = |element| {
        class(FieldKind::Array {
            element,
            length: ichnos_model::class::Length::Static(2),
            minimum_alignment: 1,
            element_aligns: true,
        })
    };
    let members = vec![
        ("message", u8_class(), Some(Meaning::Message)),
        ("pid", text_class(), Some(Meaning::Process)),
        ("tag", array(u8_class()), Some(Meaning::Tag)),
        // Without a file, the line number is a pair.
        ("line", u8_class(), Some(Meaning::Line)),
    ];
    let [text, json] = lines(&fixture_of(members, |_| {}), 0, b"\x01x\0\x02\x03\x04");
    assert_eq!(text, "[00000.000000][][][] INFO: <missing message> message=1 pid=x tag=[2, 3] line=4");
    assert!(json.contains(r#""line":4,"tags":[]"#), "{json}");
    assert!(json.ends_with(r#"{"message":{},"keys":{"message":1,"pid":"x","tag":[2,3]}}}}"#), "{json}");
}

#[test]
fn threads_may_have_names() {
    let fixture = fixture_of(vec![("thread", text_class(), Some(Meaning::Thread))], |_| {});
    let [text, json] = lines(&fixture, 0, b"main\0");
    assert_eq!(text, "[00000.000000][][main][] INFO: <missing message>");
    assert!(
        json.ends_with(r#""tags":[]},"payload":{"root":{"message":{},"keys":{"thread":"main"}}}}"#),
        "{json}"
    );
}

#[test]
fn optional_members() {
    let optional = |field| {
        class(FieldKind::Optional {
            field,
            selector: Box::new(ichnos_model::class::FieldLocation {
                origin: None,
                ..ichnos_model::class::FieldLocation::absolute(Scope::Payload, ["is".to_owned()])
            }),
            ranges: None,
        })
    };
    let is = class(FieldKind::Boolean(bits(8)));
    let members = vec![
        ("is", is, Some(Meaning::Hidden)),
        ("message", optional(text_class()), Some(Meaning::Message)),
        ("k", optional(u8_class()), None),
    ];
    let fixture = fixture_of(members, |_| {});
    assert_eq!(
        log_lines(&fixture, b"\x01hi\0\x07"),
        ["hi k=7", r#"{"message":{"value":"hi"},"keys":{"k":7}}"#]
    );
    let expected = ["<missing message>", r#"{"message":{},"keys":{"k":null}}"#];
    assert_eq!(log_lines(&fixture, b"\0"), expected);
}

#[test]
fn values() {
    let one = || RangeSet(vec![IntegerRange::single(1)]);
    let mappings = Mappings::from_iter([("ON", one()), ("FIRST", one())]);
    let state = IntegerProperties { mappings: Some(mappings), ..IntegerProperties::default() };
    let nested = structure(vec![("a", u8_class()), ("b", structure(vec![("c", text_class())]))]);
    let members = vec![
        ("on", integer(8, state.clone()), None),
        ("off", integer(8, state), None),
        ("signed", integer(8, IntegerProperties { signed: true, ..IntegerProperties::default() }), None),
        ("wide", integer(72, IntegerProperties::default()), None),
        ("bits", class(FieldKind::BitArray(bits(8))), None),
        ("bool", class(FieldKind::Boolean(bits(8))), None),
        ("float", class(FieldKind::Float(bits(64))), None),
        ("single", class(FieldKind::Float(bits(32))), None),
        ("nested", nested, None),
    ];
    let mut payload = vec![1, 2, 0xfe, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0x1f, 1];
    payload.extend(3.25f64.to_le_bytes());
    payload.extend(0.1f32.to_le_bytes());
    payload.extend(b"\x05x y\0");
    let [text, _] = log_lines(&fixture_of(members, |_| {}), &payload);
    assert_eq!(
        text,
        "<missing message> on=ON|FIRST off=2 signed=-2 wide=18446744073709551617 bits=0x1f bool=true \
         float=3.25 single=0.1 nested={a=5, b={c=x y}}"
    );
}

#[test]
fn guids_dates_and_characters() {
    let (members, bytes) = guid_dates_characters();
    let mut members: Vec<_> = members.into_iter().map(|(name, class)| (name, class, None)).collect();
    members[0].2 = Some(Meaning::OperationId);
    let [text, json] = log_lines(&fixture_of(members, |_| {}), &bytes);
    assert_eq!(
        text,
        "<missing message> id=6b29fc40-ca47-1067-b31d-00dd010662da filetime=2019-08-16T12:08:20.948091100Z \
         ticks=2019-08-16T12:08:20.948091100Z var=2019-08-16T12:08:20.000000000Z none=-9223372036854775808 \
         c=\u{e9} half=\u{fffd}"
    );
    assert!(
        json.contains(r#""id":"6b29fc40-ca47-1067-b31d-00dd010662da","filetime":"2019-08-16T"#),
        "{json}"
    );
}

/// Each event is one line, and its text must not contain terminal codes.
#[test]
fn control_characters() {
    let members = vec![
        ("message", text_class(), Some(Meaning::Message)),
        ("tag", text_class(), Some(Meaning::Tag)),
        ("k\n", text_class(), None),
        ("bad", text_class(), None),
    ];
    let fixture = fixture_of(members, |_| {});
    let [text, json] =
        lines(&fixture, 0, b"one\n\ttwo\x1b[31m\x7f\0a\nb\0c\r\nd\0\xff\xc3\xa4\xc2\x9b\xe2\x80\xae\0");
    assert_eq!(
        text,
        "[00000.000000][][][][a\\nb] INFO: one\\n\\ttwo\\x1b[31m\\x7f k\\n=c\\r\\nd bad=\u{fffd}ä\\u{9b}\u{202e}"
    );
    assert!(json.contains(r#""value":"one\n\ttwo\u001b[31m"#), "{json}");
}

#[test]
fn events_that_are_none_of_a_log() {
    let fixture =
        Fixture::with(structure(vec![("a", u8_class()), ("b", u8_class())]), |trace: &mut TraceClass| {
            trace.data_streams[0].common_context = Some(structure(Vec::new()));
        });
    let [text, json] = lines(&fixture, 1_000, &[1, 2]);
    assert_eq!(text, "[00000.000001][][][] ev a=1 b=2");
    assert!(json.contains(r#""severity":"INFO","tags":[]"#), "{json}");
    assert!(json.ends_with(r#"{"message":{"value":"ev"},"keys":{"a":1,"b":2}}}}"#), "{json}");
}

#[test]
fn the_environment_knows_the_process() {
    let fixture = Fixture::with(structure(Vec::new()), |trace| {
        trace.environment.push(("procname".to_owned(), Value::Text("app".to_owned())));
        let class: &mut EventRecordClass = Arc::make_mut(&mut trace.data_streams[0].event_records[0]);
        class.log = Some(Arc::new(LogRole::new(LogSeverity::Constant(40), SCALE)));
    });
    assert_eq!(lines(&fixture, 0, &[])[0], "[00000.000000][7][][][app] WARN: <missing message>");
}

#[test]
fn losses_and_damage_are_lines() {
    let fixture = fixture_of(vec![("dropped", u8_class(), Some(Meaning::Dropped))], |_| {});
    let print = |form| {
        let (out, mut sink) = sink(form);
        for count in [Some(5), Some(1), None] {
            send(&mut sink, &Message::DiscardedEvents(fixture.discarded(count)));
        }
        send(&mut sink, &Message::DiscardedPackets(fixture.discarded(Some(3))));
        let kind = DamageKind::CutOff { total: 64, available: 8 };
        let damage = Damage { file: "f".to_owned(), stream: None, bit: 80, kind, skipped: 0 };
        send(&mut sink, &Message::Damage(&damage));
        send(&mut sink, &Message::DiscardedEvents(fixture.discarded(Some(7))));
        fixture.end(&mut sink);
        out.text()
    };
    let text = print(LogForm::Text);
    let warn = "[00002.000000][][][] WARN: the tracer discarded";
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], format!("{warn} 5 events in the data stream stream [dropped=5]"));
    assert_eq!(lines[1], format!("{warn} 1 event in the data stream stream [dropped=1]"));
    assert_eq!(lines[2], format!("{warn} an unknown number of events in the data stream stream"));
    assert_eq!(lines[3], format!("{warn} 3 packets in the data stream stream"));
    assert!(lines[4].starts_with("[][][][] ERROR: f: byte 10: "), "{text}");
    assert_eq!(lines[5], format!("{warn} 7 events in the data stream stream [dropped=7]"));
    assert_eq!(lines.len(), 6);
    let json = print(LogForm::Json);
    assert_eq!(
        json.lines().next().unwrap(),
        r#"{"moniker":"","version":1,"data_source":"Logs","metadata":{"timestamp":2000000000,"severity":"WARN","tags":[],"errors":[{"dropped_logs":{"count":5}}]},"payload":{"root":{"message":{"value":"the tracer discarded 5 events in the data stream stream"}}}}"#
    );
    assert!(json.contains(r#""errors":[{"parse_record":"f: byte 10: "#), "{json}");
}

/// If an event reports the earlier drops, the loss has no line.
#[test]
fn a_loss_that_an_event_tells_is_told_once() {
    let fixture = fixture_of(vec![("dropped", u8_class(), Some(Meaning::Dropped))], |_| {});
    let (out, mut sink) = sink(LogForm::Text);
    send(&mut sink, &Message::DiscardedEvents(fixture.discarded(Some(5))));
    fixture.event(&mut sink, 2_000_000_000, &[5]);
    send(&mut sink, &Message::DiscardedEvents(fixture.discarded(Some(6))));
    fixture.event(&mut sink, 2_000_000_000, &[5]);
    fixture.end(&mut sink);
    assert_eq!(
        out.text(),
        "[00002.000000][][][] INFO: <missing message> [dropped=5]\n\
         [00002.000000][][][] WARN: the tracer discarded 6 events in the data stream stream [dropped=6]\n\
         [00002.000000][][][] INFO: <missing message> [dropped=5]\n"
    );
}

#[test]
fn colors_are_those_of_the_severity() {
    let fixture = fixture_of(vec![("severity", u8_class(), Some(Meaning::Severity))], |_| {});
    let out = SharedBytes::default();
    let options = LogOptions { color: true, ..LogOptions::default() };
    let mut sink = Log::new(out.clone(), options);
    fixture.event(&mut sink, 0, &[40]);
    fixture.end(&mut sink);
    assert_eq!(out.text(), "\x1b[33m[00000.000000][][][] WARN: <missing message>\x1b[0m\n");
}

#[test]
fn json_with_dates_and_integers_as_strings() {
    let fixture = fixture_of(vec![("n", u8_class(), None)], |_| {});
    let show = |time, integers| {
        let out = SharedBytes::default();
        let options = LogOptions { form: LogForm::Json, time, integers, ..LogOptions::default() };
        let mut sink = Log::new(out.clone(), options);
        fixture.event(&mut sink, 1_565_957_300_948_091_100, &[7]);
        send(&mut sink, &Message::DiscardedPackets(fixture.discarded(Some(3))));
        fixture.end(&mut sink);
        let text = out.text();
        let metadata = |line: &str| {
            let begin = line.find("\"timestamp\":").unwrap();
            line[begin..line.find(",\"severity\"").unwrap()].to_owned()
        };
        assert_eq!(text.contains(r#""version":"1""#), integers == Integers::String, "{text}");
        assert_eq!(text.contains(r#""keys":{"n":"7"}"#), integers == Integers::String, "{text}");
        text.lines().map(metadata).collect::<Vec<_>>()
    };
    assert_eq!(
        show(JsonTime::Iso, Integers::Number),
        [
            r#""timestamp":"2019-08-16T12:08:20.948091100Z""#,
            r#""timestamp":"1970-01-01T00:00:02.000000000Z""#
        ]
    );
    assert_eq!(
        show(JsonTime::Both, Integers::Auto),
        [
            r#""timestamp":"1565957300948091100","time":"2019-08-16T12:08:20.948091100Z""#,
            r#""timestamp":2000000000,"time":"1970-01-01T00:00:02.000000000Z""#
        ]
    );
    assert_eq!(show(JsonTime::Nanoseconds, Integers::String)[1], r#""timestamp":"2000000000""#);
}

/// A loss at the end of a chunk can be reported by the first event of the next chunk.
#[test]
fn chunks() {
    let fixture = fixture_of(vec![("dropped", u8_class(), Some(Meaning::Dropped))], |_| {});
    let lose = |sink: &mut Log<SharedBytes>, count| {
        send(sink, &Message::DiscardedEvents(fixture.discarded(Some(count))));
    };
    let resolved = compare_chunks(
        &fixture,
        6,
        |out| Log::new(out, LogOptions::default()),
        |chunk, sink| match chunk {
            0 | 1 => {
                fixture.event(sink, 1, &[if chunk == 1 { 5 } else { 0 }]);
                lose(sink, 5);
            }
            3 => {
                fixture.event(sink, 2, &[0]);
                fixture.event(sink, 2, &[0]);
                lose(sink, 7);
            }
            _ => {}
        },
    );
    assert_eq!(resolved, 3);
}
