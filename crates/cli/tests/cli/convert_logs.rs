//! `ichnos convert` to Fuchsia logs and back.

use std::fs;
use std::path::Path;

use ichnos_fuchsia::log::Encoder;
use serde_json::Value;

use crate::support::{Directory, command, ichnos, recorded, root, text};

/// Returns the log lines in a trace.
fn lines(path: &str) -> Vec<String> {
    let run = ichnos(["cat", "--format", "log", path]).expect(0, &[]);
    run.out.lines().map(str::to_owned).collect()
}

#[test]
fn a_log_stays_the_same_and_comes_back_from_ctf() {
    let directory = Directory::new("convert-log");
    let log = root().join("examples/hello-fuchsia/boot.log");
    let log = text(&log);
    let bytes = fs::read(log).unwrap();

    let copy = directory.join("copy.log");
    let run = ichnos(["convert", "--strict", "--json", log, "-o", text(&copy)]).expect(0, &[]).json();
    assert_eq!(fs::read(&copy).unwrap(), bytes);
    assert_eq!((&run["encoded_events"], &run["losses"]), (&8.into(), &serde_json::json!([])));

    let ctf = directory.join("ctf");
    ichnos(["convert", log, "-o", text(&ctf)]).expect(0, &[]);
    ichnos(["check", "--strict", text(&ctf)]).expect(0, &[]);
    let back = directory.join("back.log");
    ichnos(["convert", text(&ctf), "-o", text(&back)]).expect(0, &["not converted exactly"]);
    assert_eq!(lines(text(&ctf)), lines(log));
    assert_eq!(lines(text(&back)), lines(log));
    // All records up to the record with a printf format, whose message is now rendered.
    let found = fs::read(&back).unwrap();
    let same = found.iter().zip(&bytes).take_while(|(a, b)| a == b).count();
    assert!(same > bytes.len() * 3 / 4, "{same} of {}", bytes.len());
}

/// In other formats, clocks start at the earliest time: no time and no order changes.
#[test]
fn negative_times_of_logs() {
    let directory = Directory::new("negative-logs");
    let lines = [-5_000_000_001_i64, -1, 7]
        .map(|time| format!("{{\"ts\":{time},\"name\":\"e\",\"payload\":{{\"msg\":\"m\"}}}}\n"));
    let source = directory.join("source.jsonl");
    fs::write(&source, lines.concat()).unwrap();
    let log = directory.join("source.log");
    ichnos(["convert", "-q", "--verify", text(&source), "--to", "fuchsia-log", "-o", text(&log)])
        .expect(0, &[]);
    let times = |path: &Path| {
        let run = ichnos(["cat", "-q", "-f", "jsonl", text(path)]).expect(0, &[]);
        let lines = run.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines
            .filter(|line| line["type"] == "event")
            .map(|line| line["ts"].as_i64().unwrap())
            .collect::<Vec<_>>()
    };
    let expected = [-5_000_000_001, -1, 7];
    assert_eq!(times(&log), expected);
    let targets = ["fuchsia-log", "jsonl"].map(|format| ("--to", format));
    let dialects = ["spec2", "prop2", "prop1", "ctf1.8"].map(|dialect| ("--to-dialect", dialect));
    for (option, value) in targets.into_iter().chain(dialects) {
        let out = directory.join(value);
        let words = ["convert", "-q", "--verify", "--losses", option, value, text(&log), "-o", text(&out)];
        let losses = ichnos(words).expect(0, &[]).out;
        assert!(!losses.contains("rounded"), "{value}: {losses}");
        assert_eq!(times(&out), expected, "{value}");
        // Also in a time window.
        let window =
            ichnos(["cat", "-q", "--clock-seconds", "--no-delta", "--begin", "-0.000000001", text(&out)]);
        assert_eq!(window.expect(0, &[]).out.lines().count(), 2, "{value}");
    }
    // Only the first records in a file are searched for the earliest time. If a later time is before the clock's start,
    // the start replaces it.
    let mut bytes = vec![0; 1 << 20];
    let mut encoder = Encoder::new(&mut bytes);
    for time in (0..8_000).chain([-5]) {
        let mut record = encoder.begin(time, 0x30).unwrap();
        record.argument("message", "a text that makes the record long enough").unwrap();
        record.finish();
    }
    let late = directory.join("late.log");
    fs::write(&late, encoder.written()).unwrap();
    let out = directory.join("late");
    let losses = ichnos(["convert", "-q", "--losses", text(&late), "-o", text(&out)]).expect(0, &[]).out;
    assert!(losses.contains("rounded"), "{losses}");
    let found = times(&out);
    assert_eq!((found.len(), found.iter().max()), (8_001, Some(&7_999)));
}

/// The standard output contains only the trace.
#[test]
fn messages_about_a_trace_are_not_on_standard_output() {
    let directory = Directory::new("convert-stdout");
    let trace = root().join("examples/hello-lttng");
    let log = directory.join("hello.log");
    ichnos(["convert", text(&trace), "--force", "-o", text(&log)]).expect(0, &[]);
    let log = fs::read(log).unwrap();
    let printed = |more: &[&str]| {
        let words = ["convert", "--to=fuchsia-log", "-q", text(&trace), "-o", "-"];
        let output = command().args(words).args(more).output().unwrap();
        assert!(output.status.success());
        (output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    let (out, err) = printed(&["--losses"]);
    assert!(out == log && err.starts_with("lowered ") && err.lines().count() > 5, "{err}");
    let (out, err) = printed(&["--json"]);
    let json: serde_json::Value = serde_json::from_str(&err).unwrap();
    assert!(out == log && json["losses"].as_array().is_some_and(|losses| !losses.is_empty()), "{json}");
    // Without a trace, the standard output contains the report.
    let (out, err) = printed(&["--losses", "--dry-run"]);
    assert!(out.starts_with(b"lowered ") && err.is_empty(), "{err}");
    ichnos(["convert", text(&trace), "-o", "-", "--to=ctf"])
        .expect(2, &["a ctf trace is a directory: it cannot be written to standard output"]);
    ichnos(["split", "--by=event", "--to=fuchsia-log", text(&trace), "-o", "-"])
        .expect(2, &["several traces cannot be written to standard output"]);
}

#[test]
fn events_with_a_log_level_become_records() {
    let directory = Directory::new("convert-lttng");
    let trace = root().join("examples/hello-lttng");
    let (log, ctf) = (directory.join("hello.log"), directory.join("ctf"));
    let run = ichnos(["convert", text(&trace), "--force", "-o", text(&log), "--losses"]).expect(0, &[]);
    run.prints(&[
        "lowered         1  hello:greeting: payload.mood  enumeration -> integer, without its names",
        "dropped         1  clock.monotonic  origin: the Unix epoch",
        "dropped         9  hello:greeting: payload.samples  array or structure without elements",
    ]);
    ichnos(["check", "--strict", text(&log)]).expect(0, &[]);
    ichnos(["convert", text(&log), "-o", text(&ctf)]).expect(0, &[]);
    let [before, after, back] = [text(&trace), text(&log), text(&ctf)].map(lines);
    assert_eq!(after, back);
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        // Structures and arrays become several pairs, and smaller numbers have more digits.
        let head = |line: &str| line.split(" first_two").next().unwrap().to_owned();
        let head = |line: &str| head(line).split(" half_load").next().unwrap().to_owned();
        assert_eq!(head(before), head(after));
        assert!(before == after || before.contains("hello:greeting"));
    }
    let arrays = after.iter().filter(|line| line.contains("samples[0]=0 samples[1]=4 samples[2]=8 "));
    assert!(arrays.count() > 0);
}

#[test]
fn recorded_traces_show_the_same_lines() {
    let Some(real) = recorded("ctf/real") else { return };
    let directory = Directory::new("convert-recorded");
    for (index, (trace, has_arrays)) in [
        ("babeltrace/1/succeed/lttng-crash", false),
        ("babeltrace/2/succeed/wk-heartbeat-u", false),
        ("ctf2/session-rot/vm/rot-20261120T203341+0000/ust/uid/0/64-bit", true),
    ]
    .into_iter()
    .enumerate()
    {
        let trace = real.join(trace);
        let (log, ctf) = (directory.join(format!("{index}.log")), directory.join(format!("{index}.ctf")));
        ichnos(["convert", text(&trace), "--force", "-o", text(&log)]).expect(0, &[]);
        ichnos(["convert", text(&log), "-o", text(&ctf)]).expect(0, &[]);
        let [before, after, back] = [text(&trace), text(&log), text(&ctf)].map(lines);
        assert_eq!(after, back, "{}", trace.display());
        if has_arrays {
            assert_eq!(before.len(), after.len());
        } else {
            assert_eq!(before, after, "{}", trace.display());
        }
    }
}

#[test]
fn messages_from_logging_libraries_stay() {
    let directory = Directory::new("convert-jul");
    let metadata = r#"/* CTF 1.8 */
        typealias integer { size = 8; align = 8; signed = false; } := u8;
        typealias integer { size = 32; align = 8; signed = false; } := u32;
        trace { major = 1; minor = 8; byte_order = le; };
        env { vpid = 77; procname = "java"; secret = "x"; };
        clock { name = c; freq = 1000; offset_s = 100; };
        stream { event.header := struct {
            u8 id; integer { size = 32; align = 8; map = clock.c.value; } timestamp; }; };
        event { name = "lttng_jul:event"; id = 0; loglevel = 13;
            fields := struct { string msg; string logger_name; u32 int_loglevel; u32 line_number; string filename; }; };
        event { name = "other"; id = 1; fields := struct { u8 x; }; };"#;
    let event = |time: u32, message: &str, level: u32| {
        let mut bytes = vec![0];
        bytes.extend(time.to_le_bytes());
        bytes.extend(message.bytes().chain([0]).chain(*b"com.x\0"));
        bytes.extend(level.to_le_bytes());
        bytes.extend(42u32.to_le_bytes());
        bytes.extend(b"X.java\0");
        bytes
    };
    let mut data = [event(1, "fine", 500), event(2, "bad", 1000)].concat();
    data.extend([1, 3, 0, 0, 0, 9]);
    let trace = directory.join("trace");
    fs::create_dir(&trace).unwrap();
    fs::write(trace.join("metadata"), metadata).unwrap();
    fs::write(trace.join("s"), data).unwrap();
    let log = directory.join("x.log");
    let run =
        ichnos(["convert", text(&trace), "--force", "-o", text(&log), "--losses"]).expect(0, &[]).prints(&[
            "lowered         1  clock.c  cycles of 1000 Hz -> nanoseconds",
            "lowered         1  clock.c  offset -> added to all times",
            "rounded         1  lttng_jul:event: severity  number on another scale -> named severity",
            "dropped         1  environment.secret",
            "lowered         1  other: severity  none -> INFO",
            "moved           1  other  event record class name -> message",
        ]);
    assert!(!run.out.contains("environment.vpid"), "{}", run.out);
    let expected = [
        "[00100.001000][77][][][java,com.x] DEBUG: [X.java(42)] fine",
        "[00100.002000][77][][][java,com.x] ERROR: [X.java(42)] bad",
    ];
    assert_eq!(lines(text(&trace)), [&expected[..], &["[00100.003000][][][] other x=9"]].concat());
    assert_eq!(lines(text(&log)), [&expected[..], &["[00100.003000][][][] INFO: other x=9"]].concat());
}

/// Events without a severity become INFO records with their names and all fields, from any format. Their lines equal
/// those from `cat --format log`.
#[test]
fn events_without_a_severity_become_records() {
    let directory = Directory::new("convert-plain");
    for (index, (example, same)) in
        [("hello-ctf2", 18), ("hello-jsonl", 3), ("hello-xtrace", 0), ("hello-dotnet/hello.nettrace.zst", 0)]
            .into_iter()
            .enumerate()
    {
        let example = root().join("examples").join(example);
        let log = directory.join(format!("{index}.log"));
        ichnos(["convert", text(&example), "--force", "-o", text(&log)]).expect(0, &[]);
        ichnos(["check", "--strict", text(&log)]).expect(0, &[]);
        let [before, after] = [text(&example), text(&log)].map(lines);
        assert_eq!(before.len(), after.len(), "{}", example.display());
        // Structures and arrays become several pairs, and named values become numbers.
        let is_number = |pair: &&str| pair.starts_with("state=") || pair.starts_with("flags=");
        let without_names =
            |line: &str| line.split(' ').filter(|pair| !is_number(pair)).collect::<Vec<_>>().join(" ");
        let expected = before.iter().map(|line| line.replacen("] ", "] INFO: ", 1));
        let is_same = |(expected, found): &(String, &String)| without_names(expected) == without_names(found);
        let found = expected.zip(&after).filter(is_same).count();
        let numbers: Vec<String> =
            after.iter().map(|line| line.split(' ').filter(is_number).collect()).collect();
        assert_eq!(numbers, numbers_with_names(&example));
        assert!(found >= same, "{}: {found}\n{}\n{}", example.display(), before.join("\n"), after.join("\n"));
    }
}

/// Returns the pairs with named numbers in each event.
fn numbers_with_names(trace: &Path) -> Vec<String> {
    let lines = ichnos(["cat", "-q", "-f", "jsonl", text(trace)]).expect(0, &[]).out;
    let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let pairs = |event: Value| {
        let pair = |name: &str| {
            let value = &event["payload"][name];
            let bits = value["bits"].as_u64().map(|bits| format!("{name}=0x{bits:x}"));
            bits.or_else(|| Some(format!("{name}={}", value["value"].as_u64()?)))
        };
        ["state", "flags"].into_iter().filter_map(pair).collect()
    };
    events.filter(|event| event["type"] == "event").map(pairs).collect()
}

#[test]
fn a_log_appears_when_it_is_complete() {
    let directory = Directory::new("convert-complete");
    let log = root().join("examples/hello-fuchsia/boot.log");
    let lttng = root().join("examples/hello-lttng");
    let out = directory.join("out.log");
    fs::write(&out, "old").unwrap();
    ichnos(["convert", "--strict", text(&lttng), "--force", "-o", text(&out)])
        .expect(2, &["some data would be lost"]);
    assert_eq!(fs::read(&out).unwrap(), b"old");
    ichnos(["convert", "--dry-run", text(&lttng), "--force", "-o", text(&out), "--losses"])
        .expect(0, &[])
        .prints(&["hello:greeting"]);
    assert_eq!(fs::read(&out).unwrap(), b"old");
    assert_eq!(fs::read_dir(&*directory).unwrap().count(), 1);

    let missing = directory.join("no/such/out.log");
    let run = ichnos(["convert", text(&log), "-o", text(&missing)]).expect(2, &["no/such/out.log: "]);
    assert_eq!(run.err.matches("no/such/out.log").count(), 1, "{}", run.err);
    ichnos(["convert", text(&log), "-o", text(&directory), "--to", "fuchsia-log"])
        .expect(2, &["the directory exists and is not empty"]);
    ichnos(["convert", text(&log), "--force", "-o", text(&out), "--to-dialect", "spec2"])
        .expect(2, &["names the format fuchsia-log, but the dialect `spec2` belongs to ctf"]);
    assert_eq!(fs::read(&out).unwrap(), b"old");

    // The standard output.
    let output = command().args(["convert", text(&log), "--to", "fuchsia-log", "-o", "-"]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, fs::read(&log).unwrap());
}

#[test]
fn dropped_records_are_counted_in_the_next_record() {
    let directory = Directory::new("convert-part");
    let log = root().join("examples/hello-fuchsia/boot.log");
    let out = directory.join("out.log");
    ichnos(["cut", text(&log), "--begin", "12.4", "--end", "12.4158", "--force", "-o", text(&out)])
        .expect(0, &[]);
    let found = lines(text(&out));
    assert_eq!(found, lines(text(&log))[6..7]);
    // Earlier dropped records are still known.
    assert!(found[0].ends_with("[dropped=4]"), "{found:?}");
}

/// The component of a tag is in a control record, after any round trip. This also holds if the control record in the
/// source was left out.
#[test]
fn components_stay_known() {
    let directory = Directory::new("convert-components");
    let mut buffer = vec![0; 4_000];
    let mut encoder = Encoder::new(&mut buffer);
    for (time, tag, moniker) in [(1_000, 9, "core/oven"), (2_000, 5, "core/lamp")] {
        let mut control = encoder.begin(time, 0x30).unwrap();
        control.set_tag(tag);
        control.set_control(true);
        control.argument("moniker", moniker).unwrap();
        control.argument("url", "fuchsia-pkg://x").unwrap();
        control.finish();
    }
    for (time, tag, message) in
        [(3_000, 5, "bright"), (4_000, 9, "hot"), (5_000, 7, "unknown"), (6_000, 0, "none")]
    {
        let mut record = encoder.begin(time, 0x2e).unwrap();
        record.set_tag(tag);
        record.argument("pid", 1u64).unwrap();
        record.argument("message", message).unwrap();
        record.argument("n", -4i64).unwrap();
        record.finish();
    }
    let mut record = encoder.begin(7_000, 0x40).unwrap();
    record.argument("message", "appended").unwrap();
    record.argument("$__rolled_out", 2u64).unwrap();
    record.argument("$__moniker", "core/fan").unwrap();
    record.finish();
    let (log, ctf, back) = (directory.join("a.log"), directory.join("ctf"), directory.join("back.log"));
    fs::write(&log, encoder.written()).unwrap();
    let expected = lines(text(&log));
    assert_eq!(expected[3], "[00000.000004][1][][core/oven] DEBUG: hot n=-4");
    assert_eq!(expected[6], "[00000.000007][][][core/fan] WARN: appended [rolled=2]");
    for dialect in ["spec2", "ctf1.8"] {
        ichnos(["convert", text(&log), "--force", "-o", text(&ctf), "--to-dialect", dialect]).expect(0, &[]);
        ichnos(["convert", text(&ctf), "--force", "-o", text(&back)]).expect(0, &[]);
        assert_eq!(lines(text(&ctf)), expected, "{dialect}");
        assert_eq!(lines(text(&back)), expected, "{dialect}");
        ichnos(["check", "--strict", text(&back)]).expect(0, &[]);
    }
    // Next to the severity, its number is kept.
    let json = ichnos(["cat", "-flog-json", text(&back)]).expect(0, &[]);
    assert_eq!(json.out, ichnos(["cat", "-flog-json", text(&log)]).expect(0, &[]).out);

    let part = directory.join("part.log");
    ichnos(["cut", "--begin", "0.000003", text(&log), "-o", text(&part)]).expect(0, &[]);
    let found: Vec<String> =
        lines(text(&part)).into_iter().filter(|line| !line.contains("<missing")).collect();
    assert_eq!(found, expected[2..]);
}

#[test]
fn formats_lists_output_formats() {
    ichnos(["formats"]).expect(0, &[]).prints(&["fuchsia-log: Fuchsia logs (reads and writes)"]);
}
