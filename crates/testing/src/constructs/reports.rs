//! X-Trace reports with each key and option, and JSON Lines.

use super::{Construct, Datum, EncodedEvent, Origin};

/// Returns the report constructs.
pub(super) fn xtrace() -> Vec<Construct> {
    let mut all = Vec::new();
    let mut add = |name: &str, metadata: &str, lines: &[(&str, &str)], values: &[(&str, Datum)]| {
        let mut text = format!("X-Trace Report ver 1.0\nX-Trace: {metadata}\nTimestamp: 1175000000.019\n");
        for (key, value) in lines {
            text += &format!("{key}: {value}\n");
        }
        let payload = Datum::structure(values.iter().cloned());
        let event = EncodedEvent {
            name: Some("report".to_owned()),
            nanoseconds: Some(1_175_000_000_019_000_000),
            scopes: vec![("payload", payload)],
        };
        all.push(Construct {
            name: format!("xtrace: {name}"),
            origin: Origin::XTrace,
            files: vec![("trace.xtrace".to_owned(), text.into_bytes())],
            events: vec![event],
            lost: Vec::new(),
        });
    };
    let plain = "100ACADE2001020304";
    add("only metadata", plain, &[], &[]);
    for (name, metadata) in [
        ("task of 4 bytes", "100ACADE2001020304"),
        ("task of 8 bytes", "110ACADE200ACADE2001020304"),
        ("task of 12 bytes", "120ACADE200ACADE200ACADE2001020304"),
        ("task of 20 bytes", "130ACADE200ACADE200ACADE200ACADE200ACADE2001020304"),
        ("operation of 8 bytes", "180ACADE200102030405060708"),
        ("version 0", "000ACADE2001020304"),
        ("option Severity", "140ACADE200102030403CE0103"),
        ("option ChainId", "140ACADE200102030404C102F8E6"),
        ("option of an unknown type", "140ACADE2001020304030501AB"),
        ("option without bytes", "140ACADE2001020304020500"),
        ("padding", "140ACADE2001020304020000"),
        ("version 2", "2B0ACADE200ACADE200ACADE200ACADE200ACADE20010203040506070801"),
    ] {
        add(name, metadata, &[("Label", "e")], &[("Label", Datum::text("e"))]);
    }
    for (key, value) in [
        ("Host", "h"),
        ("Agent", "a"),
        ("Title", "t"),
        ("Tag", "g"),
        ("Severity", "3"),
        ("ChainId", "0xF8E6"),
        ("ProcessID", "77@h"),
        ("ThreadID", "9"),
        ("ThreadName", "main"),
        ("Class", "c"),
        ("HRT", "123"),
        ("My Key", "v: w"),
    ] {
        let datum = match key {
            "Tag" => Datum::array([Datum::text(value)]),
            _ => Datum::text(value),
        };
        add(&format!("key {key}"), plain, &[(key, value), ("Label", "e")], &[(key, datum)]);
    }
    add("edge", plain, &[("Edge", "05060708"), ("Label", "e")], &[]);
    add("edge down", plain, &[("Edge", "05060708, down"), ("Label", "e")], &[]);
    add("edge with a chain", plain, &[("Edge", "05060708, 0xCCCC"), ("Label", "e")], &[]);
    add("key that occurs twice", plain, &[("Tag", "a"), ("Tag", "b"), ("Label", "e")], &[]);
    all
}

/// Returns the JSON Lines constructs.
pub(super) fn json_lines() -> Vec<Construct> {
    let mut all = Vec::new();
    let mut add = |name: &str, lines: &[&str], events: Vec<(Option<i128>, Datum)>| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let events = events.into_iter().map(|(nanoseconds, payload)| EncodedEvent {
            name: Some("e".to_owned()),
            nanoseconds,
            scopes: vec![("payload", payload)],
        });
        all.push(Construct {
            name: format!("jsonl: {name}"),
            origin: Origin::JsonLines,
            files: vec![("trace.jsonl".to_owned(), text.into_bytes())],
            events: events.collect(),
            lost: Vec::new(),
        });
    };
    let x = |value: Datum| Datum::structure([("x", value)]);
    let values: Vec<(&str, &str, Datum)> = vec![
        ("integer", "5", Datum::integer(5)),
        ("least integer", "-9223372036854775808", Datum::integer(i64::MIN)),
        ("greatest integer", "18446744073709551615", Datum::integer(u64::MAX)),
        ("wide integer", r#"{"$int":"36893488147419103232"}"#, Datum::integer(1u128 << 65)),
        ("number with a fraction", "1.5", Datum::double(1.5)),
        ("number that is not finite", r#"{"$float":"Infinity"}"#, Datum::double(f64::INFINITY)),
        ("text", r#""a\u20ac""#, Datum::text("a\u{20ac}")),
        ("empty text", r#""""#, Datum::text("")),
        ("true", "true", Datum::Boolean(true)),
        ("null", "null", Datum::Absent),
        ("bytes", r#"{"$blob":"0102","media_type":"application/octet-stream"}"#, Datum::Bytes(vec![1, 2])),
        ("array", "[1,2]", Datum::array([1, 2].map(Datum::integer))),
        ("empty array", "[]", Datum::Array(Vec::new())),
        (
            "array of arrays",
            "[[1],[]]",
            Datum::array([Datum::array([Datum::integer(1)]), Datum::Array(Vec::new())]),
        ),
        ("object", r#"{"a":1}"#, Datum::structure([("a", Datum::integer(1))])),
        ("empty object", "{}", Datum::Structure(Vec::new())),
    ];
    for (name, json, value) in values {
        let line = format!(r#"{{"ts":1700000000000000005,"name":"e","payload":{{"x":{json},"y":1}}}}"#);
        let mut payload = x(value);
        payload.add("y", Datum::integer(1));
        add(name, &[&line], vec![(Some(1_700_000_000_000_000_005), payload)]);
    }
    let one = || x(Datum::integer(1));
    add(
        "time as a date",
        &[r#"{"time":"2026-11-20T20:19:47.000900Z","name":"e","payload":{"x":1}}"#],
        vec![(Some(1_795_205_987_000_900_000), one())],
    );
    add("time before 1970", &[r#"{"ts":-5,"name":"e","payload":{"x":1}}"#], vec![(Some(-5), one())]);
    add("event without a time", &[r#"{"type":"event","name":"e","payload":{"x":1}}"#], vec![(None, one())]);
    add(
        "integers and texts",
        &[r#"{"ts":1,"name":"e","payload":{"x":1}}"#, r#"{"ts":2,"name":"e","payload":{"x":"a"}}"#],
        vec![(Some(1), one()), (Some(2), x(Datum::text("a")))],
    );
    all
}
