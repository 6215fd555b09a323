//! JSON Lines from any program: read, written again, converted.

use std::fs;

use crate::support::{Directory, ichnos, text};

/// Events with the same id and different members keep them in JSON Lines, in CTF, and with any number of threads.
#[test]
fn events_with_equal_ids_and_different_members() {
    let directory = Directory::new("json-lines");
    let lines = directory.join("lines.jsonl");
    let mut all = String::from("{\"type\":\"event-class\",\"id\":8,\"name\":\"described\"}\n");
    for time in 0..3_000 {
        let payload = ["1", "\"one\"", "[]", "[1]", "[1,2.5]", "{\"y\":true}"][time % 6];
        let (stream, id) = (time % 2, 7 + time % 3 % 2);
        all += &format!(
            "{{\"stream\":{stream},\"ts\":{time},\"id\":{id},\"name\":\"a\",\"payload\":{{\"x\":{payload}}}}}\n"
        );
    }
    fs::write(&lines, all).unwrap();

    let shown = ichnos(["cat", text(&lines)]).expect(0, &[]).out;
    assert_eq!(shown.lines().count(), 3_000);
    let written = ichnos(["cat", "-fjsonl", text(&lines)]).expect(0, &[]).out;
    for threads in ["1", "2", "4"] {
        let run = ichnos(["cat", "-fjsonl", "-j", threads, text(&lines)]).expect(0, &[]);
        assert_eq!(run.out, written);
    }
    let again = directory.join("again.jsonl");
    fs::write(&again, &written).unwrap();
    assert_eq!(ichnos(["cat", text(&again)]).expect(0, &[]).out, shown);
    assert_eq!(ichnos(["cat", "-fjsonl", text(&again)]).expect(0, &[]).out, written);
    // Selected lines are unchanged.
    let from = ichnos(["cat", "-fjsonl", "--begin", "0.000002500", text(&lines)]).expect(0, &[]).out;
    let events = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains("\"type\":\"event\",")).map(str::to_owned).collect()
    };
    assert_eq!(events(&from), events(&written)[2_500..]);

    for dialect in ["ctf1.8", "spec2"] {
        let around = Directory::new("json-lines-out");
        let converted = around.join(dialect);
        ichnos(["convert", "--to-dialect", dialect, "-o", text(&converted), text(&lines)]).expect(0, &[]);
        ichnos(["check", "--strict", text(&converted)]).expect(0, &[]);
        assert_eq!(ichnos(["cat", text(&converted)]).expect(0, &[]).out, shown, "{dialect}");
    }
}

/// Data stream classes without ids, or with equal ids, get new ids.
#[test]
fn data_stream_classes_without_ids() {
    let directory = Directory::new("json-lines-ids");
    let lines = directory.join("lines.jsonl");
    let clock = "\"clock\":{\"id\":\"x\",\"frequency\":1000000000}";
    for class in ["", "\"class\":{\"id\":0},"] {
        let all = format!(
            "{{\"type\":\"stream-begin\",\"stream\":0,\"name\":\"a\",{clock}}}\n\
             {{\"type\":\"stream-begin\",\"stream\":1,{class}\"name\":\"b\"}}\n\
             {{\"type\":\"event\",\"stream\":0,\"ts\":1,\"name\":\"e\",\"payload\":{{\"v\":1}}}}\n\
             {{\"type\":\"event\",\"stream\":1,\"name\":\"f\",\"payload\":{{\"w\":1}}}}\n"
        );
        fs::write(&lines, all).unwrap();
        let shown = ichnos(["cat", "-q", text(&lines)]).expect(0, &[]).out;
        assert_eq!(shown.lines().count(), 2);
        for dialect in ["ctf1.8", "spec2"] {
            let around = Directory::new("json-lines-ids-out");
            let converted = around.join(dialect);
            ichnos(["convert", "-q", "--to-dialect", dialect, "-o", text(&converted), text(&lines)])
                .expect(0, &[]);
            assert_eq!(
                ichnos(["cat", "-q", text(&converted)]).expect(0, &[]).out,
                shown,
                "{class} {dialect}"
            );
        }
    }
}

/// Times that no clock can represent: packet times are listed as losses, and a clock with only such times is rejected.
#[test]
fn times_of_more_than_64_bits() {
    let directory = Directory::new("json-lines-times");
    let (lines, out) = (directory.join("lines.jsonl"), directory.join("out"));
    let time = |name: &str, role: &str| {
        format!(
            "{{\"name\":\"{name}\",\"class\":{{\"type\":\"integer\",\"length\":64,\"roles\":[\"{role}\"]}}}}"
        )
    };
    let members = [
        time("begin", "default-clock-timestamp"),
        time("end", "packet-end-default-clock-timestamp"),
        time("content", "packet-content-length"),
        time("size", "packet-total-length"),
    ];
    let convert = |offset: i64| {
        let all = format!(
            "{{\"type\":\"stream-begin\",\"stream\":0,\"name\":\"a\",\"class\":{{\"id\":0,\"fields\":{{\"context\":\
             {{\"type\":\"structure\",\"members\":[{}]}}}}}},\"clock\":{{\"id\":\"x\",\"frequency\":1000000000,\
             \"offset_seconds\":{offset}}}}}\n\
             {{\"type\":\"packet-begin\",\"stream\":0,\"ts\":-5,\"context\":{{\"begin\":0,\"end\":0,\"content\":0,\"size\":0}}}}\n\
             {{\"type\":\"event\",\"stream\":0,\"ts\":7,\"name\":\"e\",\"payload\":{{\"v\":1}}}}\n\
             {{\"type\":\"packet-end\",\"stream\":0,\"ts\":\"40000000000000000000\"}}\n",
            members.join(",")
        );
        fs::write(&lines, all).unwrap();
        ichnos(["convert", "--losses", "-o", text(&out), text(&lines)])
    };
    let refused = convert(i64::MAX).expect(2, &[]);
    assert!(refused.err.contains("clock `x`: its offset from the origin"), "{}", refused.err);
    assert!(!out.exists());
    let run = convert(0).expect(0, &[]);
    for place in [
        "packet begin time that the clock cannot represent",
        "packet end time that the clock cannot represent",
    ] {
        assert!(run.out.contains(place), "{}", run.out);
    }
}

/// A file is read as lines if the option names the format, whatever its first line is.
#[test]
fn any_file_is_read_as_lines() {
    let directory = Directory::new("json-lines-forced");
    let lines = directory.join("lines.log");
    fs::write(&lines, "started\n{\"ts\":1,\"name\":\"a\"}\n").unwrap();
    ichnos(["cat", text(&lines)]).expect(2, &["no trace found"]);
    let run =
        ichnos(["cat", "--from", "jsonl", text(&lines)]).expect(3, &["byte 0: the line cannot be read"]);
    assert!(run.out.contains(" a: "), "{}", run.out);
    // An empty file is not a trace.
    fs::write(&lines, "").unwrap();
    ichnos(["cat", "--from", "jsonl", text(&lines)]).expect(2, &["no trace found"]);
}

/// Times before the origin keep their sign everywhere, and stay the same in each CTF dialect.
#[test]
fn times_before_the_origin() {
    let directory = Directory::new("json-lines-negative");
    let lines = directory.join("lines.jsonl");
    let clock = "{\"type\":\"stream-begin\",\"clock\":{\"id\":\"c\",\"frequency\":FREQUENCY,\"origin\":\"unix-epoch\"}}\n";
    let times = [-5_000_000_007i64, -5_000_000_004, -1, 7];
    let events: String = times
        .iter()
        .map(|time| format!("{{\"ts\":{time},\"name\":\"a\",\"payload\":{{\"x\":1}}}}\n"))
        .collect();
    for begin in [String::new(), clock.replace("FREQUENCY", "1000000000"), clock.replace("FREQUENCY", "7")] {
        fs::write(&lines, format!("{begin}{events}")).unwrap();
        let run = ichnos(["cat", "--clock-gmt", text(&lines)]).expect(0, &[]);
        let expected = "[-5.000000007] (+?.?????????) a: { x = 1 }\n\
            [-5.000000004] (+0.000000003) a: { x = 1 }\n\
            [-0.000000001] (+5.000000003) a: { x = 1 }\n\
            [00:00:00.000000007] (+0.000000008) a: { x = 1 }\n";
        assert_eq!(run.out, expected);
        for threads in ["1", "2", "4"] {
            let run = ichnos(["cat", "--clock-gmt", "--threads", threads, text(&lines)]).expect(0, &[]);
            assert_eq!(run.out, expected);
        }
        if begin.contains(":7,") {
            continue;
        }
        for dialect in ["spec2", "prop2", "prop1", "ctf1.8"] {
            let out = Directory::new("json-lines-negative-out");
            let out = out.join(dialect);
            let options = ["convert", "--verify", "--to-dialect", dialect, "-o"];
            ichnos([&options[..], &[text(&out), text(&lines)]].concat()).expect(0, &[]);
            let back = ichnos(["cat", "-f", "csv", "--fields", "ts", text(&out)]).expect(0, &[]);
            let shown: Vec<i64> = back.out.lines().skip(1).map(|line| line.parse().unwrap()).collect();
            assert_eq!(shown, times, "{dialect}");
        }
    }
}

/// The time difference is negative if an event is earlier than the previous event.
#[test]
fn a_step_back() {
    let directory = Directory::new("json-lines-step-back");
    let lines = directory.join("lines.jsonl");
    let event = |time: i64| format!("{{\"ts\":{time},\"name\":\"a\",\"payload\":{{}}}}\n");
    fs::write(&lines, [3_000_000_000, 1_999_999_000, 2_000_000_000].map(event).concat()).unwrap();
    let run = ichnos(["cat", "--clock-gmt", text(&lines)]).expect(0, &[]);
    assert_eq!(
        run.out,
        "[00:00:03.000000000] (+?.?????????) a: { }\n\
         [00:00:01.999999000] (-1.000001000) a: { }\n\
         [00:00:02.000000000] (+0.000001000) a: { }\n"
    );
    let run = ichnos(["cat", "--clock-cycles", text(&lines)]).expect(0, &[]);
    assert!(run.out.contains("(-001000001000) a: { }"), "{}", run.out);
}
