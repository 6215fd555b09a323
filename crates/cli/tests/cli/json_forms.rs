//! `--integers` and `--time`: JSON for readers that round numbers, and for people.

use serde_json::Value;

use crate::support::{OFFSET, ichnos, root, trace};

/// Returns all numbers in a document.
fn numbers(json: &Value) -> Vec<String> {
    match json {
        Value::Number(number) => vec![number.to_string()],
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        Value::Object(members) => members.values().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

/// Returns the document with integers as strings.
fn as_strings(json: &Value, is_quoted: &dyn Fn(i128) -> bool) -> Value {
    match json {
        Value::Number(number) => match number.to_string().parse() {
            Ok(integer) if is_quoted(integer) => Value::String(number.to_string()),
            _ => json.clone(),
        },
        Value::Array(values) => values.iter().map(|value| as_strings(value, is_quoted)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), as_strings(value, is_quoted))).collect()
        }
        _ => json.clone(),
    }
}

#[test]
fn integers_are_strings_on_request() {
    let directory = trace("integers");
    let path = directory.to_str().unwrap();
    let commands: [&[&str]; 8] = [
        &["cat", "--format", "jsonl", "--packets", path],
        &["cat", "--format", "log-json", path],
        &["cat", "--format", "log-json", "--threads", "3", "--chunk-size", "64", path],
        &["info", "--json", "--count", path],
        &["check", "--json", path],
        &["schema", "--json", path],
        &["formats", "--json"],
        &["convert", "--json", "--dry-run", "--to-dialect", "ctf1.8", path],
    ];
    for arguments in commands {
        let run = |form: &[&str]| ichnos([arguments, form].concat()).expect(0, &[]).out;
        let usual = run(&[]);
        assert_eq!(run(&["--integers", "number"]), usual);
        let documents = |text: &str| -> Vec<Value> {
            serde_json::Deserializer::from_str(text).into_iter().map(Result::unwrap).collect()
        };
        let expected = |is_quoted: &dyn Fn(i128) -> bool| -> Vec<Value> {
            documents(&usual).iter().map(|json| as_strings(json, is_quoted)).collect()
        };
        let auto = documents(&run(&["--integers", "auto"]));
        assert_eq!(auto, expected(&|integer| integer.unsigned_abs() >= 1 << 53), "{arguments:?}");
        let string = documents(&run(&["--integers", "string"]));
        assert_eq!(string, expected(&|_| true), "{arguments:?}");
        assert!(string.iter().flat_map(numbers).all(|number| number.contains('.')), "{arguments:?}");
    }
    for verb in ["info", "check", "schema", "formats"] {
        let run =
            ichnos([&[verb, "--integers", "string"], &[path][..usize::from(verb != "formats")]].concat());
        run.expect(2, &["--json"]);
    }
}

#[test]
fn times_have_dates_on_request() {
    let directory = trace("dates");
    let path = directory.to_str().unwrap();
    let first = |arguments: &[&str]| {
        let run = ichnos([&["cat", path], arguments].concat()).expect(0, &[]);
        let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let event = lines.into_iter().find(|line| line["type"] == "event" || line.get("metadata").is_some());
        (event.unwrap(), run.out)
    };
    let (date, time) = ("2001-09-09T01:46:40.000001000Z", OFFSET + 1_000);
    for threads in ["1", "3"] {
        let jsonl = ["--format", "jsonl", "--threads", threads];
        assert_eq!(first(&[&jsonl[..], &["--time", "ns"]].concat()).1, first(&jsonl).1);
        let (event, _) = first(&[&jsonl[..], &["--time", "iso"]].concat());
        assert_eq!((&event["ts"], event.get("time")), (&date.into(), None));
        let (event, _) = first(&[&jsonl[..], &["--time", "both", "--integers", "auto"]].concat());
        assert_eq!((&event["ts"], &event["time"]), (&time.to_string().into(), &date.into()));
        let log = ["--format", "log-json", "--threads", threads];
        assert_eq!(first(&[&log[..], &["--time", "ns"]].concat()).1, first(&log).1);
        let (event, _) = first(&[&log[..], &["--time", "iso"]].concat());
        assert_eq!(event["metadata"]["timestamp"], date);
        let (event, _) = first(&[&log[..], &["--time", "both"]].concat());
        assert_eq!(
            (&event["metadata"]["timestamp"], &event["metadata"]["time"]),
            (&time.into(), &date.into())
        );
    }
    let info = |form: &str| ichnos(["info", "--json", path, "--time", form]).expect(0, &[]).json();
    assert_eq!(ichnos(["info", "--json", path]).json(), info("ns"));
    let (iso, both) = (info("iso"), info("both"));
    let places = ["", "/traces/0", "/traces/0/data_streams/0"];
    for (iso, both) in places.map(|place| (iso.pointer(place).unwrap(), both.pointer(place).unwrap())) {
        assert_eq!((&iso["begin"], iso.get("begin_ns"), iso.get("end_ns")), (&date.into(), None, None));
        assert_eq!(iso["end"], "2001-09-09T01:46:43.000000000Z");
        assert_eq!((&both["begin"], &both["begin_ns"]), (&date.into(), &time.into()));
        assert_eq!(iso["duration_ns"], both["duration_ns"]);
    }
    // The clock in Fuchsia logs counts from the system start, so dates are unknown.
    let fuchsia = root().join("examples/hello-fuchsia");
    let fuchsia = fuchsia.to_str().unwrap();
    for arguments in [
        &["cat", "--format", "jsonl", fuchsia][..],
        &["cat", "--format", "log-json", fuchsia],
        &["info", "--json", "--count", fuchsia],
    ] {
        let run = |form: &[&str]| ichnos([arguments, form].concat()).expect(0, &[]).out;
        assert_eq!(run(&["--time", "iso"]), run(&[]));
        assert_eq!(run(&["--time", "both"]), run(&[]));
    }
}
