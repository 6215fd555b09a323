use std::sync::Arc;

use ichnos_model::class::{
    Attributes, EventRecordClass, FieldClass, FieldKind, IntegerProperties, IntegerRange, Mappings, RangeSet,
    StringLength, Value,
};
use ichnos_model::clock::ClockOrigin;
use ichnos_model::field::StringEncoding;
use ichnos_model::log::{LevelScale, LogRole, LogSeverity};
use ichnos_model::meaning::{Meaning, Meanings};
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::{Message, Scope, Sink};

use super::*;
use crate::testing::{Fixture, SharedBytes, bits, class, integer, send, structure};
use crate::{Details, DetailsOptions, Log, LogOptions, Pretty, PrettyFields, PrettyNames, PrettyOptions};

const HOSTILE: &str = "a\x1b[31mé\x1b]0;t\x07\x1b[2J\u{9b}31m\u{202e}\t\u{200b}\r\n\u{e0001}\x7f\x1b[1;2";

fn written(text: &[u8], size: usize, kind: TerminalText) -> String {
    let mut writer = TerminalWriter::new(Vec::new(), kind);
    for chunk in text.chunks(size) {
        writer.write_all(chunk).unwrap();
        writer.flush().unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn only_what_is_printable_passes_however_it_is_cut() {
    let lines = TerminalText::Lines { colors: true };
    let colored =
        "a\x1b[31mé\\x1b]0;t\\x07\\x1b[2J\\u{9b}31m\\u{202e}\\t\\u{200b}\\r\n\\u{e0001}\\x7f\\x1b[1;2";
    let kinds = [
        (lines, colored.to_owned()),
        (TerminalText::Lines { colors: false }, colored.replacen('\x1b', "\\x1b", 1)),
        (
            TerminalText::Json,
            "a\\u001b[31mé\\u001b]0;t\\u0007\\u001b[2J\\u009b31m\\u202e\t\\u200b\\u000d\n\\udb40\\udc01\
             \\u007f\\u001b[1;2"
                .to_owned(),
        ),
    ];
    for (kind, expected) in kinds {
        for size in 1..HOSTILE.len() {
            assert_eq!(written(HOSTILE.as_bytes(), size, kind), expected, "{size}");
        }
        assert_eq!(for_terminal(HOSTILE, kind), expected);
        assert!(matches!(for_terminal("plain\né", kind), Cow::Borrowed("plain\né")));
    }
    let endless = [b"\x1b[", &b"1;"[..].repeat(100)[..], b"m"].concat();
    assert!(written(&endless, 7, lines).starts_with("\\x1b[1;"));
}

#[test]
fn bytes_of_no_character() {
    let bytes = b"\xff\xc3(\xe2\x80\xf0\x9f\xa6\x80\xc0\xaf\xed\xa0\x80\xe2\x80";
    for size in 1..bytes.len() {
        assert_eq!(
            written(bytes, size, TerminalText::Lines { colors: false }),
            "\\xff\\xc3(\\xe2\\x80🦀\\xc0\\xaf\\xed\\xa0\\x80\\xe2\\x80"
        );
    }
    assert_eq!(written(b"\xffa", 1, TerminalText::Json), "\u{fffd}a");
}

/// Hostile names and values, and harmless names of the same length.
const NAMES: [(&str, &str); 6] = [
    ("\x1b[31mred", "escape"),
    ("a\nforged", "line"),
    ("b\u{9b}31m", "csi"),
    ("c\u{202e}d\u{2066}", "turned"),
    ("d\u{200b}\u{feff}\u{ad}", "empty"),
    ("e\x07\x7f\t\r\u{85}\u{2028}", "bell"),
];

/// Creates a trace in which every named item has one of `names`, in turns.
fn fixture(names: &[String]) -> Fixture {
    let mut next = names.iter().cycle();
    let mut name = move || next.next().unwrap().clone();
    let string = |encoding, length| class(FieldKind::String { encoding, length, alignment: 8 });
    let mappings = |name: &mut dyn FnMut() -> String| {
        let ranges = RangeSet(vec![IntegerRange { lower: 0, upper: 9 }]);
        names.iter().map(|_| (name(), ranges.clone())).collect::<Mappings>()
    };
    let enumeration =
        IntegerProperties { mappings: Some(mappings(&mut name)), ..IntegerProperties::default() };
    let flags = FieldKind::BitMap { bits: bits(8), flags: mappings(&mut name) };
    let mut members: Vec<(String, Arc<FieldClass>)> = names
        .iter()
        .map(|name| (name.clone(), string(StringEncoding::Utf8, StringLength::NullTerminated)))
        .collect();
    members.push((name(), string(StringEncoding::Utf16Le, StringLength::Static(2))));
    members.push((name(), integer(8, enumeration)));
    members.push((name(), class(flags)));
    let mut payload =
        structure(members.iter().map(|(name, class)| (name.as_str(), Arc::clone(class))).collect());
    let attributes = |name: &mut dyn FnMut() -> String| {
        let map = names.iter().map(|_| (name(), Value::Text(name()))).collect();
        let list = Value::Array(vec![Value::Number(name())]);
        [(name(), Value::Map(map)), (name(), list)].into_iter().collect::<Attributes>()
    };
    Arc::make_mut(&mut payload).attributes = attributes(&mut name);
    Fixture::with(payload, |trace| {
        let environment = ["hostname", "domain", "procname", "vpid"];
        trace.environment = environment.map(|key| (key.to_owned(), Value::Text(name()))).into();
        trace.environment.push((name(), Value::Text(name())));
        (trace.name, trace.namespace, trace.uid) = (Some(name()), Some(name()), Some(name()));
        trace.attributes = attributes(&mut name);
        let clock = &mut trace.clocks[0];
        (clock.name, clock.description, clock.uid) = (Some(name()), Some(name()), Some(name()));
        clock.origin = ClockOrigin::Named { namespace: Some(name()), name: name(), uid: name() };
        let stream = &mut trace.data_streams[0];
        (stream.name, stream.uid) = (Some(name()), Some(name()));
        let event: &mut EventRecordClass = Arc::make_mut(&mut stream.event_records[0]);
        (event.name, event.emf_uri, event.uid) = (Some(name()), Some(name()), Some(name()));
        event.attributes = attributes(&mut name);
    })
}

/// Returns the complete text of a sink for such a trace.
fn text<S: Sink>(
    names: &[String],
    with_bytes: bool,
    is_log: bool,
    make: impl Fn(SharedBytes) -> S,
) -> String {
    let mut payload: Vec<u8> = names.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect();
    payload.extend(if with_bytes { [0x2e, 0x20] } else { [b'x', 0] });
    payload.extend([3, 3]);
    if with_bytes {
        payload.splice(0..1, *b"\xff");
    }
    let mut fixture = fixture(names);
    if is_log {
        let role = LogRole::new(LogSeverity::Constant(0), LevelScale(&[]));
        let mut meanings = Meanings::default();
        let all = [Meaning::Message, Meaning::Tag, Meaning::File, Meaning::Thread];
        for (index, meaning) in all.into_iter().enumerate() {
            meanings.insert(Scope::Payload, index, meaning);
        }
        fixture = fixture.with_log(role, meanings);
    }
    let out = SharedBytes::default();
    let mut sink = make(out.clone());
    fixture.begin(&mut sink);
    fixture.packet(&mut sink, 0, true);
    fixture.event(&mut sink, 0, &payload);
    send(&mut sink, &Message::DiscardedEvents(fixture.discarded(Some(5))));
    let damage = Damage {
        file: names.concat(),
        stream: None,
        bit: 81,
        kind: DamageKind::EmptyEventRecord,
        skipped: 7,
    };
    send(&mut sink, &Message::Damage(&damage));
    fixture.packet(&mut sink, 0, false);
    fixture.end(&mut sink);
    out.text()
}

/// Checks that all unprintable characters are escaped in terminal output, except the line feeds and colors that
/// harmless names also produce.
fn check<S: Sink>(is_log: bool, make: impl Fn(SharedBytes) -> S) {
    let names =
        |hostile: bool| NAMES.map(|(name, plain)| if hostile { name.to_owned() } else { plain.to_owned() });
    let (hostile, plain) =
        (text(&names(true), true, is_log, &make), text(&names(false), false, is_log, &make));
    for code in ['\x1b', '\n'] {
        assert_eq!(
            hostile.matches(code).count(),
            plain.matches(code).count(),
            "{code:?}\n{hostile}\n{plain}"
        );
    }
    let odd = hostile.chars().find(|c| !matches!(c, '\n' | '\x1b') && !is_printable(*c));
    assert_eq!(odd, None, "{hostile}");
    assert!(hostile.contains("u{202e}") && !hostile.contains("\x1b[31mred"), "{hostile}");
}

#[test]
fn sinks_for_terminals_escape_all_names_and_values() {
    for color in [false, true] {
        let mut pretty = PrettyOptions { color, color_warnings: color, ..PrettyOptions::default() };
        (pretty.printable_only, pretty.fields, pretty.names) = (true, PrettyFields::ALL, PrettyNames::ALL);
        let make = |out: SharedBytes| Pretty::new(out.clone(), pretty.clone()).warnings_to(out);
        check(false, make);
        for compact in [false, true] {
            let mut details = DetailsOptions { color, compact, ..DetailsOptions::default() };
            details.printable_only = true;
            check(false, |out| Details::new(out.clone(), details.clone()).warnings_to(out));
        }
        let mut log = LogOptions { color, ..LogOptions::default() };
        log.printable_only = true;
        check(false, |out| Log::new(out, log.clone()));
        check(true, |out| Log::new(out, log.clone()));
    }
}
