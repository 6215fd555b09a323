//! Files from other programs: recognized, and rejected or read with all fields.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Directory, Run, command, ichnos, root};

/// One line per common logger, and its time in nanoseconds.
const LOG_LINES: &[(&str, i128)] = &[
    (
        r#"{"v":0,"name":"shop","msg":"a","level":30,"hostname":"box","pid":77,"time":"2026-11-20T20:19:47.250Z","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"level":30,"time":1795205987250,"pid":77,"hostname":"box","msg":"a","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"timestamp":"2026-11-20T20:19:47.250Z","level":"INFO","fields":{"message":"a","field":"kept"},"target":"b"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"time":"2026-11-20T20:19:47.25Z","level":"INFO","msg":"a","name":"x","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"level":"info","ts":1795205987.25,"caller":"a.go:7","msg":"a","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (r#"{"ts":1795205987250.5,"caller":"a.go:7","msg":"a","field":"kept"}"#, 1_795_205_987_250_500_000),
    (r#"{"level":"debug","time":1795205987,"message":"a","id":7,"field":"kept"}"#, 1_795_205_987_000_000_000),
    (
        r#"{"event":"a","level":"info","timestamp":"2026-11-20T20:19:47.250000Z","name":"x","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"asctime":"2026-11-20 20:19:47,250","name":"b","levelname":"INFO","message":"a","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"level":"info","message":"a","timestamp":"2026-11-20T20:19:47.250Z","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"instant":{"epochSecond":1795205987,"nanoOfSecond":50000007},"level":"INFO","loggerName":"b","field":"kept"}"#,
        1_795_205_987_050_000_007,
    ),
    (
        r#"{"timeMillis":1795205987250,"level":"INFO","loggerName":"b","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"@timestamp":"2026-11-20T20:19:47.250Z","@version":"1","logger_name":"b","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"@timestamp":"2026-11-20T20:19:47.250Z","log.level":"INFO","ecs.version":"1.2.0","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"@level":"info","@message":"a","@timestamp":"2026-11-20T20:19:47.250000Z","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (r#"{"@t":"2026-11-20T20:19:47.2500007Z","@mt":"a","field":"kept"}"#, 1_795_205_987_250_000_700),
    (
        r#"{"Timestamp":"2026-11-20T20:19:47.2500007Z","Level":"Error","MessageTemplate":"a","Properties":{"field":"kept"}}"#,
        1_795_205_987_250_000_700,
    ),
    (
        r#"{ "time": "2026-11-20 20:19:47.2500", "level": "INFO", "message": "a", "field": "kept" }"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"version":"1.1","host":"box","short_message":"a","timestamp":1795205987.25,"_field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1795205987250007","MESSAGE":"a","FIELD":"kept"}"#,
        1_795_205_987_250_007_000,
    ),
    (
        r#"{"log":"kept\n","stream":"stdout","time":"2026-11-20T20:19:47.250000007Z"}"#,
        1_795_205_987_250_000_007,
    ),
    (
        r#"{"message":"a","context":{"field":"kept"},"channel":"b","datetime":"2026-11-20T20:19:47.250000+00:00"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"t":{"$date":"2026-11-20T20:19:47.250+00:00"},"s":"I","c":"NETWORK","id":2,"ctx":"a","msg":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"timestamp":"2026-11-20T20:19:47.250000+0000","flow_id":7,"event_type":"alert","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"specversion":"1.0","type":"b","source":"/a","id":"7","time":"2026-11-20T20:19:47Z","data":"kept"}"#,
        1_795_205_987_000_000_000,
    ),
    (
        r#"{"application":"a","timestamp":"2026-11-20T20:19:47.250Z","level":"info","name":"b","field":"kept"}"#,
        1_795_205_987_250_000_000,
    ),
    (
        r#"{"severity":"INFO","message":"kept","timestamp":"2026-11-20T20:19:47.250Z"}"#,
        1_795_205_987_250_000_000,
    ),
];

/// Returns the output of jq, or `None` if it is not installed.
fn jq(program: &str, input: &Path) -> Option<String> {
    let mut command = Command::new("jq");
    let output = command.args(["-c", program]).arg(input).stderr(Stdio::inherit()).output().ok()?;
    assert!(output.status.success(), "{program}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Every verb rejects a logger's line. The message names the logger, and a command that converts the line to a readable
/// one, with its time and all fields.
#[test]
fn lines_of_loggers() {
    let directory = Directory::new("lines-of-loggers");
    let (log, lines) = (directory.join("a.log"), directory.join("b.jsonl"));
    for (line, time) in LOG_LINES {
        fs::write(&log, format!("{line}\n{line}\n")).unwrap();
        let Run { out, err: error, code } = ichnos(["cat", log.to_str().unwrap()]);
        assert_eq!((&*out, code), ("", 2), "{line}");
        assert!(error.contains("which ichnos does not read; `jq -c '"), "{line}: {error}");
        let (_, program) = error.split_once("`jq -c '").unwrap();
        let (program, _) = program.split_once("' FILE").unwrap();
        let Some(made) = jq(program, &log) else { return println!("skipped: jq is not installed") };
        fs::write(&lines, made).unwrap();
        let Run { out, err: error, code } =
            ichnos(["cat", "--format", "csv", "--fields", "ts", lines.to_str().unwrap()]);
        assert_eq!((&*error, code), ("", 0), "{line}");
        assert_eq!(out, format!("ts\n{time}\n{time}\n"), "{line}");
        let Run { out, .. } = ichnos(["cat", lines.to_str().unwrap()]);
        assert!(out.contains("kept"), "{line}: {out}");
    }
}

/// Unknown event members are a warning in every verb, and a loss in every conversion.
#[test]
fn unknown_members() {
    let directory = Directory::new("unknown-members");
    let path = directory.join("a.jsonl");
    // In ichnos' form, and in a different form.
    let text = "{\"type\":\"event\",\"stream\":0,\"ts\":1,\"name\":\"a\",\"payload\":{\"x\":1},\"extra\":[1]}\n\
        {\"ts\":2,\"name\":\"a\",\"payload\":{\"x\":2},\"extra\":7,\"more\":\"b\"}\n\
        {\"ts\":3,\"name\":\"a\",\"payload\":{\"x\":3}}\n";
    fs::write(&path, text).unwrap();
    let input = path.to_str().unwrap();
    let out = directory.join("out");
    let warnings = ["unknown member `extra`", "unknown member `more`"];
    for verb in [
        &["cat"][..],
        &["info", "--count"],
        &["stats"],
        &["cat", "-f", "jsonl"],
        &["convert", "-o", out.to_str().unwrap(), "--force", "--losses"],
        &["convert", "--to", "jsonl", "-o", out.to_str().unwrap(), "--force", "--losses", "--verify"],
        &["convert", "--to", "perfetto", "--dry-run", "--losses"],
        &["convert", "--to", "fxt", "-o", out.to_str().unwrap(), "--force", "--losses"],
        &["repair", "-o", out.to_str().unwrap(), "--force", "--losses"],
    ] {
        let Run { out: text, err: error, code } = ichnos([verb, &[input]].concat());
        // A repair drops members that it cannot keep.
        assert_eq!(code, if verb[0] == "repair" { 0 } else { 3 }, "{verb:?}: {error}");
        for warning in warnings {
            assert!(error.contains(warning) || text.contains(warning), "{verb:?}: {error}{text}");
        }
        if verb.contains(&"--losses") {
            let losses = text.lines().filter(|line| line.contains("unknown member"));
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            let losses: Vec<String> = losses.map(words).collect();
            let loss = |count: u32, member: &str| {
                format!(
                    "dropped {count} trace damaged data: unknown member `{member}` of an event: it is not read"
                )
            };
            assert_eq!(losses, [loss(2, "extra"), loss(1, "more")], "{verb:?}: {text}");
            let _ = fs::remove_dir_all(&out);
            let _ = fs::remove_file(&out);
        }
    }
    let Run { out: text, code, .. } = ichnos(["check", input]);
    assert!(text.contains("warning: unknown member `extra`") && code == 0, "{text}");
    let Run { err: error, code, .. } =
        ichnos(["convert", "--strict", "-o", directory.join("strict").to_str().unwrap(), input]);
    assert!(error.contains("some data would be lost") && code == 2, "{error}");
}

/// Unknown members in descriptions are also a warning and a loss.
#[test]
fn unknown_members_of_descriptions() {
    let directory = Directory::new("unknown-members");
    let path = directory.join("a.jsonl");
    let text = "{\"type\":\"stream-begin\",\"stream\":0,\"name\":\"s\",\"trace\":{\"path\":\"t\",\"hostname\":\"b\"},\
        \"clock\":{\"freq\":1000}}\n\
        {\"type\":\"event-class\",\"stream\":0,\"id\":1,\"name\":\"a\",\"severity\":3,\"fields\":{}}\n\
        {\"type\":\"event\",\"stream\":0,\"ts\":3,\"id\":1}\n";
    fs::write(&path, text).unwrap();
    let input = path.to_str().unwrap();
    let out = directory.join("out");
    let members = [
        "unknown member `hostname` of `trace`: it is not read",
        "unknown member `freq` of `clock`: it is not read",
        "unknown member `severity` of a line `event-class`: it is not read",
    ];
    let Run { out: text, err: error, code } = ichnos(["cat", input]);
    assert_eq!((text.lines().count(), code), (1, 3), "{error}");
    members.iter().for_each(|member| assert!(error.contains(member), "{error}"));
    for to in [&[][..], &["--to", "jsonl"], &["--to", "fxt"]] {
        let words = [&["convert", "-o", out.to_str().unwrap(), "--losses", input], to].concat();
        let Run { out: text, .. } = ichnos(words);
        members.iter().for_each(|member| assert!(text.contains(member), "{to:?}: {text}"));
        let _ = fs::remove_dir_all(&out);
        let _ = fs::remove_file(&out);
    }
    let Run { out: text, code, .. } = ichnos(["check", input]);
    assert!(text.contains("warning: unknown member `freq`") && code == 0, "{text}");
}

/// Lines with fields next to `name` are rejected. With `--from`, they are read, and every loss is reported.
#[test]
fn fields_at_the_wrong_place() {
    let directory = Directory::new("fields-at-the-wrong-place");
    let path = directory.join("a.jsonl");
    fs::write(&path, "{\"ts\":1,\"name\":\"a\",\"x\":1}\n{\"ts\":2,\"name\":\"a\",\"x\":2}\n").unwrap();
    let input = path.to_str().unwrap();
    let Run { err: error, code, .. } = ichnos(["cat", input]);
    assert!(error.contains("JSON Lines from another program") && code == 2, "{error}");
    assert!(error.contains("payload: ."), "{error}");
    let Run { out, err: error, code } = ichnos(["cat", "--from", "jsonl", input]);
    assert_eq!((out.lines().count(), code), (2, 3), "{error}");
    assert!(error.contains("unknown member `x` of an event: it is not read"), "{error}");
}

/// Every file that ichnos writes for other programs is recognized as input.
#[test]
fn files_written_for_other_programs() {
    let directory = Directory::new("files-for-others");
    let trace = root().join("examples/hello-dotnet/hello.nettrace.zst");
    for (arguments, name, expected) in [
        (&["convert"][..], "a.pftrace", "a Perfetto trace"),
        (&["convert"], "a.json", "a trace in Chrome's JSON format"),
        (&["convert"], "a.profile.json", "a Firefox profile"),
        (&["stacks", "--format", "speedscope"], "a.speedscope.json", "a speedscope profile"),
        (&["stacks", "--format", "pprof"], "a.pb.gz", "a pprof profile"),
        (&["stacks", "--format", "folded"], "a.folded", "folded call stacks"),
    ] {
        let path = directory.join(name);
        // Without verification, because the output cannot be read again.
        let output = command().args(arguments).arg("-q").arg("-o").args([&path, &trace]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(path.exists(), "{name}: {error}");
        let Run { err: error, code, .. } = ichnos(["cat", path.to_str().unwrap()]);
        assert!(error.contains(&format!("this is {expected}")) && code == 2, "{name}: {error}");
    }
}

/// A truncated trace in each format is still recognized, wherever it is cut.
#[test]
fn traces_that_end_anywhere() {
    let directory = Directory::new("traces-that-end-anywhere");
    let examples = root().join("examples");
    let mut samples = Vec::new();
    for (name, format) in [
        ("hello-dotnet/hello.nettrace.zst", "fxt"),
        ("hello-xtrace/proxy.reports", "xtrace"),
        ("hello-jsonl/requests.jsonl", "jsonl"),
        ("hello-fuchsia/boot.log", "fuchsia-log"),
        ("hello-dotnet/hello.nettrace.zst", "nettrace"),
    ] {
        let path = directory.join(format);
        let arguments = ["convert", "-q", "--to", format, "-o", path.to_str().unwrap()];
        let input = examples.join(name);
        let Run { err: error, code, .. } = ichnos([&arguments[..], &[input.to_str().unwrap()]].concat());
        assert_eq!(code, 0, "{name}: {error}");
        let once = fs::read(&path).unwrap();
        // Records in these formats can be repeated. Other formats start with a header.
        let is_repeated = matches!(format, "xtrace" | "jsonl" | "fuchsia-log");
        samples.push((format, if is_repeated { once.repeat(70_000 / once.len() + 1) } else { once }));
    }
    let path = directory.join("cut");
    for (format, bytes) in samples {
        for size in [4096, 65_536] {
            for end in (size - 12..=size + 12).filter(|end| *end < bytes.len()) {
                fs::write(&path, &bytes[..end]).unwrap();
                let session = ichnos::open([&path], &ichnos::OpenOptions::default());
                let session = session.unwrap_or_else(|error| panic!("{format}: {end} bytes: {error}"));
                assert_eq!(session.traces()[0].format(), format, "{end} bytes");
            }
        }
    }
}
