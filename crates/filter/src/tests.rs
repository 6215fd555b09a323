//! Expressions for events with every kind of field.

use std::sync::Arc;

use ichnos_model::class::{
    Attributes, BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, IntegerRange, Length, Mappings, Member, RangeSet, StringLength, Uuid, Value,
    VariantOption,
};
use ichnos_model::clock::{ClockClass, WallClock};
use ichnos_model::decode::{DecodeLimits, PacketBits, Position};
use ichnos_model::event::{EventBuilder, Scopes};
use ichnos_model::field::{FieldValue, StringEncoding};
use ichnos_model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity};
use ichnos_model::meaning::Meaning;
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Event, Scope, Trace, TraceClass, Window};
use ichnos_testing::{Random, cases};

use super::*;

mod operators;

const BYTE: BitField = BitField::new(8, ByteOrder::LittleEndian, 8);
const SCALE: LevelScale =
    LevelScale(&[LevelStep::new(10, LogLevel::Debug), LevelStep::new(20, LogLevel::Error)]);

fn mappings(names: &[(&str, i128, i128)]) -> Mappings {
    let set = |lower, upper| RangeSet(vec![IntegerRange { lower, upper }]);
    names.iter().map(|(name, lower, upper)| (*name, set(*lower, *upper))).collect()
}

fn enumeration() -> FieldClass {
    let names = mappings(&[("RUNNING", 0, 0), ("SLEEPING", 1, 3), ("ODD", 1, 1)]);
    let integer = IntegerProperties { signed: true, mappings: Some(names), ..IntegerProperties::default() };
    FieldClass::new(FieldKind::Integer { bits: BYTE, integer })
}

fn array(element: FieldClass, length: u64) -> FieldClass {
    FieldClass::new(FieldKind::Array {
        element: Arc::new(element),
        length: Length::Static(length),
        minimum_alignment: 8,
        element_aligns: true,
    })
}

fn kinds() -> EventRecordClass {
    let flags = mappings(&[("READ", 0, 0), ("WRITE", 1, 2)]);
    let wide = FieldKind::String {
        encoding: StringEncoding::Utf16Be,
        length: StringLength::NullTerminated,
        alignment: 8,
    };
    let blob = FieldKind::Blob { length: Length::Static(2), media_type: String::new(), alignment: 8 };
    let option = |name: &str, class, value| VariantOption {
        name: Some(name.to_owned()),
        class: Arc::new(class),
        ranges: RangeSet(vec![IntegerRange::single(value)]),
        attributes: Attributes::default(),
    };
    let variant = FieldKind::Variant {
        options: vec![
            option("number", FieldClass::unsigned(32), 0),
            option("text", FieldClass::string(), 1),
            option("state", enumeration(), 2),
        ],
        selector: Box::new(FieldLocation::by_values()),
        alignment: 1,
    };
    let point = || FieldClass::structure([Member::new("x", FieldClass::signed(32))]);
    EventRecordClass::new(
        "kinds",
        [
            Member::new("big", FieldClass::unsigned(64)),
            Member::new("ratio", FieldClass::float(64)),
            Member::new("is_on", FieldClass::new(FieldKind::Boolean(BYTE))),
            Member::new("flags", FieldClass::new(FieldKind::BitMap { bits: BYTE, flags })),
            Member::new("name", FieldClass::new(wide)),
            Member::new("bytes", FieldClass::new(blob)),
            Member::new("id", FieldClass::guid()),
            Member::new("at", FieldClass::wall_clock(false, WallClock::new(0, 1000).unwrap())),
            Member::new("a", array(FieldClass::unsigned(32), 3)),
            Member::new("states", array(enumeration(), 2)),
            Member::new("points", array(point(), 2)),
            Member::new("maybe", FieldClass::optional(FieldClass::unsigned(8))),
            Member::new("any", FieldClass::new(variant)),
            Member::new("point", point()),
            Member::new("http.method", FieldClass::string()),
            Member::new("event", FieldClass::string()),
        ],
    )
}

/// Trace with every kind of class.
pub(super) fn trace() -> Arc<Trace> {
    let switch = EventRecordClass::new(
        "sched_switch",
        [
            Member::new("next_tid", FieldClass::signed(32)),
            Member::new("prev_state", enumeration()),
            Member::new("next_comm", FieldClass::string()),
        ],
    );
    let mut log = EventRecordClass::new(
        "log",
        [
            Member::new("what", FieldClass::string()),
            Member::new("how", FieldClass::unsigned(8)),
            Member::new("next_tid", FieldClass::string()),
        ],
    );
    log.meanings.insert(Scope::Payload, 0, Meaning::Message);
    log.meanings.insert(Scope::Payload, 1, Meaning::Severity);
    log.log = Some(Arc::new(LogRole::new(LogSeverity::Member, SCALE)));
    let mut classes = [switch, log, kinds()];
    for class in &mut classes {
        class.meanings.insert(Scope::CommonContext, 0, Meaning::Process);
    }
    let mut stream = DataStreamClass::new(Some(0), classes);
    let context =
        [Member::new("pid", FieldClass::unsigned(32)), Member::new("procname", FieldClass::string())];
    stream.common_context = Some(Arc::new(FieldClass::structure(context)));
    let mut class = TraceClass::new("test", [ClockClass::since_unix_epoch("wall")], [stream]);
    class.environment = vec![
        ("hostname".to_owned(), Value::Text("box".to_owned())),
        ("tracer_major".to_owned(), Value::Integer(2)),
    ];
    Arc::new(Trace::new(class, "night", &Limits::default()).unwrap())
}

/// Passes events of all classes in order.
pub(super) fn for_each_event(trace: &Arc<Trace>, take: &mut dyn FnMut(&Event<'_>)) {
    let stream = Arc::new(DataStream::new(Arc::clone(trace), 0, Some(7), "chan_0").unwrap());
    let builder = |class: usize| {
        let mut builder = EventBuilder::new(Arc::clone(&stream), class).unwrap();
        builder.set("ctx.pid", 40u64 + class as u64).unwrap();
        builder.set("procname", "firefox").unwrap();
        builder.set_cycles(1_000 * class as u64);
        builder
    };
    let mut switch = builder(0);
    for (tid, state) in [(1i64, 0i64), (2, 1), (-3, 3)] {
        switch.set("next_tid", tid).unwrap();
        switch.set("prev_state", state).unwrap();
        switch.set("next_comm", format!("worker*{tid}").as_str()).unwrap();
        take(&switch.event().unwrap());
    }
    let mut log = builder(1);
    for how in [5u64, 20] {
        log.set("what", "it timed out").unwrap();
        log.set("how", how).unwrap();
        log.set("next_tid", "none").unwrap();
        take(&log.event().unwrap());
    }
    let mut kinds = builder(2);
    for i in 0..3u64 {
        kinds.set("big", u64::MAX - i).unwrap();
        kinds.set("ratio", i as f64 / 2.0).unwrap();
        kinds.set("is_on", i == 1).unwrap();
        kinds.set("flags", FieldValue::Bits(i)).unwrap();
        let name: Vec<u8> = "né".encode_utf16().flat_map(u16::to_be_bytes).collect();
        kinds.set("name", FieldValue::Text(&name)).unwrap();
        kinds.set("bytes", FieldValue::Blob(&[0xca, i as u8])).unwrap();
        kinds.set("id", Uuid::from_u128(i.into())).unwrap();
        kinds.set("at", 5_000 + i).unwrap();
        kinds.set("http.method", "GET").unwrap();
        kinds.set("event", "inner").unwrap();
        let member = |name: &str, kinds: &EventBuilder| kinds.member(name).unwrap();
        let (a, states, points) = (member("a", &kinds), member("states", &kinds), member("points", &kinds));
        let (maybe, any, point) = (member("maybe", &kinds), member("any", &kinds), member("point", &kinds));
        kinds.put_with(a, |values| {
            values.begin_array();
            (0..3).for_each(|k| values.push(10 * i + k));
            values.end();
        });
        kinds.put_with(states, |values| {
            values.begin_array();
            values.push(0i64);
            values.push(i as i64);
            values.end();
        });
        kinds.put_with(points, |values| {
            values.begin_array();
            for x in [i as i64, -1] {
                values.begin_structure();
                values.push(x);
                values.end();
            }
            values.end();
        });
        kinds.put_with(point, |values| {
            values.begin_structure();
            values.push(i as i64);
            values.end();
        });
        kinds.put_with(maybe, |values| {
            values.push_optional(i == 2);
            if i == 2 {
                values.push(9u64);
            }
        });
        kinds.put_with(any, |values| {
            values.push_variant(i as usize);
            match i {
                0 => values.push(17u64),
                1 => values.push("seventeen"),
                _ => values.push(2i64),
            }
        });
        take(&kinds.event().unwrap());
    }
}

fn resolve(text: &str) -> Result<i128, String> {
    match text.strip_prefix(['@', '+', '-']).unwrap_or(text).trim_end_matches("ns").parse::<i128>() {
        Ok(number) if text.starts_with('-') => Ok(10_000 - number),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("`{text}` is not a time")),
    }
}

fn filter(text: &str) -> Result<Filter, FilterError> {
    let scope = FilterScope { traces: &[trace()], has_dynamic_classes: false };
    Filter::new(&Expression::parse(text)?, scope, &resolve)
}

/// Returns `1` for each selected event and `.` for any other event.
fn selected(text: &str) -> String {
    let traces = [trace()];
    let scope = FilterScope { traces: &traces, has_dynamic_classes: false };
    let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let filter = Filter::new(&expression, scope, &resolve).unwrap_or_else(|error| panic!("{text}: {error}"));
    // The printed expression selects the same.
    let again = Expression::parse(&expression.to_string()).unwrap();
    assert_eq!(again, expression, "{expression}");
    let mut selectors = [filter.selector(), Filter::new(&again, scope, &resolve).unwrap().selector()];
    let mut found = String::new();
    let window = filter.window();
    for_each_event(&traces[0], &mut |event| {
        let [one, other] = selectors.each_mut().map(|selector| selector.selects(event));
        assert_eq!(one, other, "{text}: {expression}");
        let time = event.nanoseconds().unwrap();
        let is_in =
            window.begin.is_none_or(|begin| time >= begin) && window.end.is_none_or(|end| time <= end);
        assert!(is_in || !one, "{text}: {window:?}");
        found.push(if one { '1' } else { '.' });
    });
    found
}

#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(selected(text), expected.replace(' ', ""), "{text}");
    }
}

// Three `sched_switch` events, two `log` events, three `kinds` events.

#[test]
fn fields_of_all_kinds() {
    check(&[
        ("next_tid == 1", "1.. .. ..."),
        ("next_tid in [1, -3]", "1.1 .. ..."),
        ("next_tid not in [1, -3]", ".1. .. ..."),
        ("next_tid == \"none\"", "... 11 ..."),
        ("big == 18446744073709551615", "... .. 1.."),
        ("big > 0xffff_ffff_ffff_fffd", "... .. 11."),
        ("ratio >= 0.5", "... .. .11"),
        ("ratio == 1", "... .. ..1"),
        ("ratio < big", "... .. 111"),
        ("is_on", "... .. .1."),
        ("!is_on", "... .. 1.1"),
        ("is_on == false", "... .. 1.1"),
        ("\"READ\" in flags", "... .. .1."),
        ("\"WRITE\" in flags", "... .. ..1"),
        ("\"*R*\" in flags", "... .. .11"),
        ("\"READ\" not in flags", "... .. 1.1"),
        ("flags & 3 == 2", "... .. ..1"),
        ("name == \"né\"", "... .. 111"),
        ("len(name) == 2", "... .. 111"),
        ("name =~ \"^n.$\"", "... .. 111"),
        ("bytes == \"ca01\"", "... .. .1."),
        ("bytes > \"CA00\" && len(bytes) == 2", "... .. .11"),
        ("id == \"00000000-0000-0000-0000-000000000002\"", "... .. ..1"),
        ("at == @5001000000", "... .. .1."),
        ("at > 5001", "... .. ..1"),
        ("a[0] == 10", "... .. .1."),
        ("a[-1] == 12", "... .. .1."),
        ("a[3] == 0 || a[-4] == 0", "... .. ..."),
        ("has(a[2]) && !has(a[3])", "... .. 111"),
        ("len(a) == 3", "... .. 111"),
        ("12 in a", "... .. .1."),
        ("12 not in a", "... .. 1.1"),
        ("\"SLEEPING\" in states", "... .. .11"),
        ("points[0].x == 1", "... .. .1."),
        ("points[-1].x == -1", "... .. 111"),
        ("point.x == 2", "... .. ..1"),
        ("maybe == 9", "... .. ..1"),
        ("maybe != 8", "... .. ..1"),
        ("has(maybe)", "... .. ..1"),
        ("!has(maybe)", "111 11 11."),
        ("any == 17", "... .. 1.."),
        ("any == \"sev*\"", "... .. .1."),
        ("any == \"SLEEPING\"", "... .. ..1"),
        ("any =~ \"ee\"", "... .. .1."),
        ("any in [2, \"seventeen\"]", "... .. .11"),
        ("http.method == \"GET\" && `http.method` == \"G*\"", "... .. 111"),
        ("payload.event == \"inner\"", "... .. 111"),
        ("has(points) && has(point)", "... .. 111"),
    ]);
}

#[test]
fn labels() {
    check(&[
        ("prev_state == \"RUNNING\"", "1.. .. ..."),
        ("prev_state == \"SLEEPING\"", ".11 .. ..."),
        ("prev_state == \"ODD\"", ".1. .. ..."),
        ("prev_state != \"SLEEPING\"", "1.. .. ..."),
        ("prev_state in [\"RUNNING\", \"ODD\"]", "11. .. ..."),
        ("prev_state == \"*ING\"", "111 .. ..."),
        ("prev_state =~ \"^R\"", "1.. .. ..."),
        ("prev_state >= 1", ".11 .. ..."),
        ("prev_state in [0, \"ODD\"]", "11. .. ..."),
        // Columns of tables.
        ("prev_state.label == \"ODD\"", ".1. .. ..."),
        ("payload.prev_state.label in [\"RUNNING\"]", "1.. .. ..."),
        ("\"READ\" in flags.flags", "... .. .1."),
        ("any.label == \"SLEEPING\"", "... .. ..1"),
    ]);
}

#[test]
fn properties() {
    check(&[
        ("event == \"sched_switch\"", "111 .. ..."),
        ("event == \"s*w*\"", "111 .. ..."),
        ("event != \"log\"", "111 .. 111"),
        ("event =~ \"d_\"", "111 .. ..."),
        ("event in [\"log\", \"k*\"]", "... 11 111"),
        ("event.id == 1", "... 11 ..."),
        ("event.name == event", "111 11 111"),
        ("time >= @1000", "... 11 111"),
        ("time > @1000 && time < +3000", "... .. 111"),
        ("time >= \"1000\" and time <= \"1000\"", "... 11 ..."),
        ("time >= -9000ns", "... 11 111"),
        ("time == @1000 || time == @0", "111 11 ..."),
        ("time - @500 == 500ns", "... 11 ..."),
        ("time + 1us > @2000 + 500", "... .. 111"),
        ("@1000 < time", "... .. 111"),
        ("stream == \"chan*\" && stream.id == 7 && stream.class == 0", "111 11 111"),
        ("stream.id == 8", "... .. ..."),
        ("trace == \"night\"", "111 11 111"),
        ("host == \"box\" && env.tracer_major == 2", "111 11 111"),
        ("process == 41", "... 11 ..."),
        ("$process == pid", "111 11 111"),
        ("$ctx.procname == \"fire*\"", "111 11 111"),
        ("ctx.procname =~ 'fox$' && procname < \"g\"", "111 11 111"),
        ("level >= warn", "... .1 ..."),
        ("level == DEBUG", "... 1. ..."),
        ("level < \"error\" && severity == 5", "... 1. ..."),
        ("level in [error, fatal]", "... .1 ..."),
        ("fatal > level && level.number == how", "... 11 ..."),
        ("message =~ \"timed\"", "... 11 ..."),
        ("has(level)", "... 11 ..."),
        ("has(time) && has(event) && !has(trace.uuid)", "111 11 111"),
    ]);
}

#[test]
fn unknown_conditions_select_nothing_alone() {
    check(&[
        ("next_comm == \"x\" || pid == 41", "... 11 ..."),
        ("!(next_comm == \"x\")", "111 .. ..."),
        ("!(next_comm == \"x\" && pid == 41)", "111 .. 111"),
        ("!(next_comm == \"x\" || pid == 41)", "111 .. ..."),
        ("!has(next_comm) || next_comm != \"x\"", "111 11 111"),
        ("big / 0 == 1 || big / 0 != 1", "... .. ..."),
        ("!(big % 0 == 1)", "... .. ..."),
        ("big * big > 0", "... .. ..."),
        ("ratio / 0 > 0 || 1 << 200 == 0", "... .. ..."),
        ("(maybe == 9) == true", "... .. ..1"),
        ("(is_on == true) != (big > 0)", "... .. 1.1"),
        ("true", "111 11 111"),
        ("false", "... .. ..."),
        ("not is_on and big > 0", "... .. 1.1"),
        ("is_on in []", "... .. ..."),
    ]);
}

#[test]
fn arithmetic() {
    check(&[
        ("next_tid + 1 == 2", "1.. .. ..."),
        ("next_tid * 2 - 1 == 3", ".1. .. ..."),
        ("-next_tid == 3", "..1 .. ..."),
        ("~next_tid == 2", "..1 .. ..."),
        ("next_tid / 2 == -1 && next_tid % 2 == -1", "..1 .. ..."),
        ("big & 0xff == 0xfe", "... .. .1."),
        ("big >> 63 == 1 && big + 2 > 1 << 64", "... .. 1.."),
        ("big ^ big | 1 == 1", "... .. 111"),
        ("how * 1.5 == 7.5", "... 1. ..."),
        ("2 + 3 * 4 == 14 && (2 + 3) * 4 == 20 && 10 - 2 - 3 == 5", "111 11 111"),
        ("1.5s == 1500ms && 1h == 60min", "111 11 111"),
    ]);
}

#[test]
fn stars_and_escapes() {
    check(&[
        ("next_comm == \"worker*2\"", ".1. .. ..."),
        ("next_comm == \"worker\\*2\"", ".1. .. ..."),
        ("next_comm == \"wor*r\\**\"", "111 .. ..."),
        ("next_comm == \"wor\\*\"", "... .. ..."),
        ("next_comm =~ \"\\*\\d$\"", "11. .. ..."),
        ("next_comm !~ '^worker.[12]$'", "..1 .. ..."),
    ]);
}

#[test]
fn errors_say_where_and_why() {
    let error = |text: &str| filter(text).unwrap_err();
    let place = |text: &str| {
        let error = error(text);
        (
            text[error.span.clone()].to_owned(),
            error.message.to_string(),
            error.help.unwrap_or_default().to_string(),
        )
    };
    let (at, message, _) = place("big == 1 && nxt_tid == 2");
    assert_eq!((&*at, &*message), ("nxt_tid", "no event has a field `nxt_tid`"));
    let FilterErrorKind::UnknownName { candidates, .. } = error("nxt_tid == 2").kind else { panic!() };
    let known = candidates.iter().find(|known| known.name == "next_tid").unwrap();
    assert_eq!(known.place, "payload of `log`, payload of `sched_switch`");
    assert!(candidates.iter().any(|known| known.name == "points[0].x"), "{candidates:?}");
    let (_, _, help) = place("ctx.next_tid == 2");
    assert!(help.contains("`payload.next_tid`, payload of `sched_switch`"), "{help}");
    let (at, message, help) = place("event == \"log\" && big > 1");
    assert_eq!((&*at, &*help), ("big", "it is in `kinds`"));
    assert_eq!(message, "no event that the rest of the expression selects has `big`");
    let (at, message, _) = place("is_on && ratio == \"x\"");
    assert_eq!(at, "ratio == \"x\"");
    let expected =
        "`ratio` is a floating-point number, but `\"x\"` is a string, in the event record class `kinds`";
    assert_eq!(message, expected);
    for wrong in [
        "big",
        "time == 5",
        "point == 1",
        "a == 1",
        "flags == \"READ\"",
        "prev_state < \"RUNNING\"",
        "id == \"x\"",
        "bytes == \"x\"",
        "level == \"x\"",
        "level == 3",
        "ratio & 1 == 1",
        "1 == \"a\"",
        "-name == 1",
        "len(big) == 1",
        "big =~ \"x\"",
        "big in name",
        "is_on + 1 == 2",
        "time * 2 == time",
        "\"x\" in prev_state",
    ] {
        assert_eq!(error(wrong).kind, FilterErrorKind::Type, "{wrong}");
    }
    assert_eq!(error("time > 09:22").kind, FilterErrorKind::Time);
    let FilterErrorKind::UnknownLabel { candidates, .. } = error("prev_state == \"RUNING\"").kind else {
        panic!()
    };
    assert_eq!(candidates, ["ODD", "RUNNING", "SLEEPING"]);
    assert!(matches!(error("stack == 1").kind, FilterErrorKind::UnknownName { .. }));
    let warnings = filter("event == \"sched\" && next_tid == 1").unwrap().warnings().to_vec();
    assert_eq!(warnings[0].message, "no event record class is called `sched`");
}

/// A range with the bounds in the wrong order would select nothing.
#[test]
fn ranges_that_end_before_they_start() {
    let reversed = |text: &str, at: &str, help: &str| {
        let error = filter(text).unwrap_err();
        // For literal bounds, the parser reports the error.
        let is_literal = Expression::parse(text).is_err();
        let kind = if is_literal { FilterErrorKind::Syntax } else { FilterErrorKind::Range };
        assert_eq!(error.kind, kind, "{text}: {error}");
        assert_eq!(&text[error.span.clone()], at);
        assert_eq!(&*error.message, format!("the range `{at}` ends before it begins"));
        assert_eq!(error.help.as_deref(), Some(&*format!("write `{help}`")));
    };
    reversed("next_tid in [1, 5..1]", "5..1", "1..5");
    reversed("next_tid not in [5..1]", "5..1", "1..5");
    reversed("ratio in [2.5..-1]", "2.5..-1", "-1..2.5");
    reversed("next_tid in [5ms..1us]", "5ms..1us", "1us..5ms");
    reversed("next_tid in [-1ms..-5ms]", "-1ms..-5ms", "-5ms..-1ms");
    reversed("time in [@9..@5]", "@9..@5", "@5..@9");
    reversed("time in [@1, \"@9\"..@5]", "\"@9\"..@5", "@5..\"@9\"");
    reversed("level in [error..warn]", "error..warn", "warn..error");
    reversed("level in [\"error\"..\"warn\"]", "\"error\"..\"warn\"", "\"warn\"..\"error\"");
    reversed("next_comm in [\"b\"..\"a\"]", "\"b\"..\"a\"", "\"a\"..\"b\"");
    for right in
        ["next_tid in [5..5]", "time in [@5..@5]", "level in [warn..warn]", "level in [\"warn\"..\"error\"]"]
    {
        assert!(filter(right).is_ok(), "{right}");
    }
}

/// Ranges may overlap and come in any order. The time grows with the logarithm of their number.
#[test]
fn many_ranges() {
    check(&[
        ("next_tid in [100..200, -5..0, 1..7, 3..5, 2]", "111 .. ..."),
        ("next_tid in [100..200, 2..7, 5]", ".1. .. ..."),
    ]);
    let ranges: Vec<String> = (0..3_000).rev().map(|i| format!("{}..{}", 9 * i + 5, 9 * i + 8)).collect();
    assert_eq!(selected(&format!("next_tid in [{}]", ranges.join(","))), selected("next_tid in [5..8]"));
}

#[test]
fn the_grammar_is_checked() {
    for wrong in [
        "",
        "a ==",
        "a == 1)",
        "(a == 1",
        "a == 1 == 2",
        "a in [1",
        "a in [1 2]",
        "a not 1",
        "a =~ b",
        "a =~ \"(\"",
        "a =~ \"(a{1000}){1000}\"",
        "has(1)",
        "has a",
        "foo(a)",
        "len()",
        "a[b]",
        "a[99999999999999999999]",
        "a.1",
        "a..b",
        "$",
        "a && || b",
        "[1] == a",
        "a == not b",
        "+x",
        "a b",
    ] {
        let error = Expression::parse(wrong).unwrap_err();
        assert_eq!(error.kind, FilterErrorKind::Syntax, "{wrong}: {error}");
        let [line, carets] = error.excerpt();
        assert!(carets.contains('^') && carets.len() <= line.len() + 1, "{line}\n{carets}");
    }
    let [line, carets] = Expression::parse("a == 1 &&\n\tb = 2").unwrap_err().excerpt();
    assert_eq!((&*line, &*carets), (" b = 2", "   ^"));
}

#[test]
fn too_large_traces_are_refused() {
    let deep = |before: &str, middle: &str, after: &str, times: usize| {
        format!("{}{middle}{}", before.repeat(times), after.repeat(times))
    };
    for text in [
        deep("(", "a", ")", 100_000 / 4),
        deep("!", "a", "", 10_000),
        deep("not ", "a", "", 10_000),
        deep("1+", "a", "", 10_000),
        deep("a[0].", "a", "", 1_000),
        deep("", "a", "+1", 10_000),
        "a".repeat(Expression::MOST_BYTES + 1),
    ] {
        assert_eq!(Expression::parse(&text).unwrap_err().kind, FilterErrorKind::Limit);
    }
    assert!(Expression::parse(&deep("a == 1 || ", "a", "", 5_000)).is_ok());
    // The longest allowed expression can be printed and parsed again.
    for text in [
        deep("!", "a", "", 49),
        deep("~", "a", "", 49),
        deep("1+(", "a", ")", 49),
        deep("len(", "a", ")", 49),
    ] {
        let expression = Expression::parse(&text).unwrap();
        assert_eq!(Expression::parse(&expression.to_string()).as_ref(), Ok(&expression), "{text}");
    }
}

#[test]
fn bits_and_values_are_fetched_alike() {
    let class = EventRecordClass::new(
        "bits",
        [
            Member::new("size", FieldClass::unsigned(32)),
            Member::new("delta", FieldClass::signed(16)),
            Member::new("a", array(FieldClass::unsigned(8), 3)),
            Member::new("text", FieldClass::string()),
            Member::new("last", FieldClass::unsigned(8)),
        ],
    );
    let trace = TraceClass::new("test", [], [DataStreamClass::new(None, [class])]);
    let trace = Arc::new(Trace::new(trace, "", &Limits::default()).unwrap());
    let stream = DataStream::new(Arc::clone(&trace), 0, None, "").unwrap();
    let data = b"\x05\0\0\0\xff\xff\x01\x02\x03text\0\x09";
    let mut begins = [Position::at(0); 6];
    begins[5] = Position::at(0);
    let limits = DecodeLimits { integer_bits: 64, zero_size_elements: 0 };
    let scopes = Scopes::new(PacketBits::whole(data), &begins, &[], &limits);
    let plans = &stream.plans().event_records[0];
    let event = Event::new(&stream, plans, None, scopes);
    for (text, expected) in [
        ("size == 5 && delta == -1", true),
        ("size == 5 && a[1] == 2 && a[-1] == 3 && len(a) == 3", true),
        ("3 in a && text == \"t*t\" && last == 9", true),
        ("4 in a", false),
        ("time > @0 || has(time)", false),
    ] {
        let scope = FilterScope { traces: &[Arc::clone(&trace)], has_dynamic_classes: false };
        let filter = Filter::new(&text.parse().unwrap(), scope, &resolve).unwrap();
        let mut selector = filter.selector();
        assert_eq!([selector.selects(&event), selector.clone().selects(&event)], [expected; 2], "{text}");
    }
}

#[test]
fn classes_discovered_while_reading_are_not_errors() {
    let traces = [trace()];
    let scope = FilterScope { traces: &traces, has_dynamic_classes: true };
    let new = |text: &str| Filter::new(&text.parse().unwrap(), scope, &resolve);
    assert!(new("later == 1 && event == \"later\"").unwrap().warnings().is_empty());
    assert_eq!(new("time == 5").unwrap_err().kind, FilterErrorKind::Type);
    // A review gives the same results as classes known in advance.
    let error = |text: &str| new(text).unwrap().review().unwrap_err();
    let unknown = error("later == 1");
    assert_eq!((&*unknown.message, unknown.span), ("no event has a field `later`", 0..5));
    assert_eq!(error("ratio == \"x\"").kind, FilterErrorKind::Type);
    assert!(matches!(error("prev_state == \"RUNING\"").kind, FilterErrorKind::UnknownLabel { .. }));
    // A name from another tool: the trace lacks the thread.
    assert_eq!(error("tid == 1").help.as_deref(), Some("the property is called `thread`"));
    assert_eq!(new("ts >= @5").unwrap().window(), Window::default());
    assert_eq!(new("ts >= @1000").unwrap().review(), Ok(Vec::new()));
    // The name is the field in classes that contain it, and the property in others.
    let filter_of_some = new("name in [\"n\u{e9}\", \"log\"]").unwrap();
    let (mut selector, mut found) = (filter_of_some.selector(), String::new());
    for_each_event(&traces[0], &mut |event| found.push(if selector.selects(event) { '1' } else { '.' }));
    assert_eq!(found, "...11111");
    assert_eq!(
        new("event == \"later\"").unwrap().review().unwrap()[0].message,
        "no event record class is called `later`"
    );
    // A class has a field with this name.
    assert_eq!(new("name == \"later\"").unwrap().review(), Ok(Vec::new()));
    assert_eq!(new("$name == \"later\"").unwrap().review().unwrap().len(), 1);
    assert_eq!(new("next_tid == 1 && time > @5").unwrap().review(), Ok(Vec::new()));
    assert_eq!(filter("big == 1").unwrap().review(), Ok(Vec::new()));
    let scope = FilterScope { traces: &[], has_dynamic_classes: false };
    assert!(Filter::new(&"x == 1".parse().unwrap(), scope, &resolve).is_ok());
}

#[test]
fn windows_are_as_narrow_as_the_conditions_that_all_events_meet() {
    let window = |text: &str| filter(text).unwrap().window();
    let of = |begin, end| Window { begin, end };
    assert_eq!(window("big == 1"), of(None, None));
    assert_eq!(window("time > @5 && (time <= @9 && big == 1)"), of(Some(6), Some(9)));
    assert_eq!(window("@5 > time"), of(None, Some(4)));
    assert_eq!(window("time == @5 || time == +9"), of(Some(5), Some(9)));
    assert_eq!(window("time >= @5 || big == 1"), of(None, None));
    assert_eq!(window("!(time >= @5)"), of(None, None));
    assert_eq!(window("time >= @9 && time <= @5"), of(Some(9), Some(9)));
    assert_eq!(window("time in [@5..@9, @12]"), of(Some(5), Some(12)));
    assert_eq!(window("time in [@5.., @12]"), of(Some(5), None));
    assert_eq!(window("time not in [@5..@9]"), of(None, None));
    assert_eq!(window("ts in [..+9] and $ts >= @5"), of(Some(5), Some(9)));
}

/// Random expression text.
fn random(random: &mut Random, depth: u32) -> String {
    if depth == 0 || random.is_one_in(4) {
        return random
            .pick(&[
                "1",
                "-2",
                "0.5",
                "\"a*b\"",
                "'x\\n'",
                "true",
                "false",
                "5ms",
                "@5",
                "+3s",
                "next_tid",
                "a[1]",
                "level",
                "warn",
                "time",
                "event",
                "payload.name",
                "$process",
                "flags",
                "`x y`",
                "has(maybe)",
                "maybe",
                "is_on",
                "\"READ\"",
                "point.x",
                "states",
                "id",
                "bytes",
                "name",
                "any",
                "ratio",
                "prev_state",
                "$ts",
                "\"ca\"",
            ])
            .to_owned();
    }
    let one = self::random(random, depth - 1);
    let other = self::random(random, depth - 1);
    let operators = [
        "==",
        "!=",
        "<",
        ">=",
        "&&",
        "||",
        "and",
        "or",
        "+",
        "-",
        "*",
        "/",
        "%",
        "&",
        "|",
        "^",
        "<<",
        ">>",
        "in",
        "not in",
        "contains",
        "startswith",
        "endswith",
        "NOT CONTAINS",
        "AND",
        "OR",
    ];
    match random.below(12) {
        10 => format!("({one}) in [..{other}, ({one})..{one}, {other}..]"),
        11 => format!("({one}) matches '[a-z]+\\d'"),
        0 => format!("!({one})"),
        1 => format!("-({one})"),
        2 => format!("not ({one})"),
        3 => format!("({one}) in [{other}, {one}]"),
        4 => format!("({one}) =~ \"[a-z]+\\d\""),
        5 => format!("len({one})"),
        6 => format!("{one} {} {other}", random.pick(&operators)),
        7 => format!("~{one}"),
        _ => format!("({one}) {} ({other})", random.pick(&operators)),
    }
}

#[test]
fn printed_random_expressions_are_the_same() {
    let traces = [trace()];
    let scope = FilterScope { traces: &traces, has_dynamic_classes: false };
    let (mut parsed, mut used) = (0, 0);
    cases(3_000, |numbers| {
        let text = random(numbers, 4);
        let Ok(expression) = Expression::parse(&text) else { return };
        parsed += 1;
        let printed = expression.to_string();
        assert_eq!(Expression::parse(&printed).as_ref(), Ok(&expression), "{text}\n{printed}");
        let Ok(filter) = Filter::new(&expression, scope, &resolve) else { return };
        used += 1;
        // Either a condition and its negation are both unknown, or exactly one of them is true.
        let opposite = Filter::new(&format!("!({text})").parse().unwrap(), scope, &resolve).unwrap();
        let (mut selector, mut opposite) = (filter.selector(), opposite.selector());
        for_each_event(&traces[0], &mut |event| {
            assert!(!(selector.selects(event) && opposite.selects(event)), "{text}");
        });
    });
    assert!(std::env::var_os("ICHNOS_SEED").is_some() || parsed > 1_000 && used > 50, "{parsed} {used}");
}

#[test]
fn any_text_is_an_expression_or_an_error() {
    let words = [
        "a",
        "b.c",
        "==",
        "=~",
        "in",
        "not",
        "(",
        ")",
        "[",
        "]",
        "\"",
        "'",
        "\\",
        "1",
        "1.5",
        "1e9",
        "0x",
        "5s",
        "@",
        "+",
        "-",
        "09:22",
        "2026-01-01",
        " ",
        "\n",
        "$",
        "`",
        "é",
        "*",
        "has(",
        "len(",
        ",",
        "&&",
        "!",
        "~",
        "\u{0}",
        "..",
        " contains ",
        " matches ",
        " NOT ",
        "[1..",
    ];
    cases(5_000, |random| {
        let text: String = (0..random.below(12)).map(|_| random.pick(&words)).collect();
        match Expression::parse(&text) {
            Ok(expression) => {
                let printed = expression.to_string();
                assert_eq!(Expression::parse(&printed).as_ref(), Ok(&expression), "{text:?}\n{printed:?}");
            }
            Err(error) => {
                let _ = error.excerpt();
            }
        }
    });
}
