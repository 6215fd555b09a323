//! Identifiers that are unique in a scope or for a time, and their conversions.

use std::fs;

use serde_json::Value as Json;

use crate::support::{Directory, Run, ichnos};

/// Process and thread, event type and name, and flow id.
type FlowEvent = ([u64; 2], &'static str, u64, Option<u64>);

/// FXT event types.
const BEGIN: u64 = 2;
const END: u64 = 3;
const FLOW_BEGIN: u64 = 8;
const FLOW_END: u64 = 10;

/// Creates an FXT file with events at these times, with inline names.
fn fxt(events: &[(u64, FlowEvent)]) -> Vec<u8> {
    let text = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    };
    let inline = |text: &str| 0x8000 | text.len() as u64;
    let mut file = 0x0016_5478_4604_0010u64.to_le_bytes().to_vec();
    for (ticks, (thread, name, kind, id)) in events {
        let words = [*ticks, thread[0], thread[1]];
        let mut body: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        body.extend([text("cat"), text(name)].concat());
        body.extend(id.map_or(Vec::new(), |id| id.to_le_bytes().to_vec()));
        let size = 1 + body.len() as u64 / 8;
        let header = 4 | size << 4 | kind << 16 | inline("cat") << 32 | inline(name) << 48;
        file.extend(header.to_le_bytes());
        file.extend(body);
    }
    file
}

/// Three consecutive flows with the same id, from one thread to another.
fn reused() -> Vec<u8> {
    let (sender, receiver) = ([1, 2], [1, 3]);
    let round = |begin: u64, names: [&'static str; 2]| {
        [
            (begin, (sender, names[0], BEGIN, None)),
            (begin + 1, (sender, "F", FLOW_BEGIN, Some(7))),
            (begin + 3, (sender, names[0], END, None)),
            (begin + 10, (receiver, names[1], BEGIN, None)),
            (begin + 12, (receiver, "F", FLOW_END, Some(7))),
            (begin + 13, (receiver, names[1], END, None)),
        ]
    };
    fxt(&[round(10, ["S0", "R0"]), round(110, ["S1", "R1"]), round(210, ["S2", "R2"])].concat())
}

/// Checks that a trace has three tasks with two operations each.
#[track_caller]
fn has_three_tasks(path: &str) {
    let list = ichnos(["task", "list", "--json", path]).expect(0, &[]).json();
    let tasks = list["tasks"].as_array().unwrap();
    let shown = |task: &Json| (task["nodes"].clone(), task["edges"].clone(), task["dangling"].clone());
    assert_eq!(tasks.len(), 3, "{path}: {list}");
    assert!(tasks.iter().all(|task| shown(task) == (2.into(), 1.into(), 0.into())), "{path}: {list}");
    for task in tasks {
        let id = task["id"].as_str().unwrap();
        ichnos(["task", "show", id, path]).expect(0, &[]).prints(&[&format!("task {id}, 2 operations")]);
    }
}

#[test]
fn flows_with_the_same_id() {
    let directory = Directory::new("flows");
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let input = path("reused.fxt");
    fs::write(&input, reused()).unwrap();
    ichnos(["cat", &input]).expect(0, &[]).prints(&["flow_id = 7, flow_number = 3"]);
    has_three_tasks(&input);
    for (name, more) in [
        ("again.fxt", &[][..]),
        ("lines.jsonl", &[]),
        ("spec2", &["--to-dialect", "spec2"]),
        ("ctf18", &["--to-dialect", "ctf1.8"]),
        ("flows.xtrace", &[]),
    ] {
        let output = path(name);
        ichnos([&["convert", "-q", "--verify", &input, "-o", &output], more].concat()).expect(0, &[]);
        has_three_tasks(&output);
    }
    let json = ichnos(["convert", "-q", &input, "--to", "chrome", "-o", "-"]).expect(0, &[]).json();
    let events = json["traceEvents"].as_array().unwrap();
    let of = |phase: &str| {
        let found = events.iter().filter(|event| event["ph"] == phase);
        found.map(|event| (event["id"].clone(), event["ts"].as_f64().unwrap())).collect::<Vec<_>>()
    };
    let (begins, ends) = (of("s"), of("f"));
    let arrows: Vec<_> = ends
        .iter()
        .map(|(id, end)| (begins.iter().find(|(begin, _)| begin == id).unwrap().1, *end))
        .collect();
    assert_eq!(arrows, [(0.011, 0.022), (0.111, 0.122), (0.211, 0.222)]);
}

#[test]
fn flows_of_several_processes() {
    let directory = Directory::new("flows");
    let input = directory.join("processes.fxt");
    let (one, two, server) = ([1, 1], [2, 2], [3, 3]);
    // Both use the id 1, and the server receives both.
    let events = [
        (1, (one, "F", FLOW_BEGIN, Some(1))),
        (2, (two, "F", FLOW_BEGIN, Some(1))),
        (3, (two, "G", FLOW_BEGIN, Some(1))),
        (4, (server, "G", FLOW_END, Some(1))),
        (5, (server, "F", FLOW_END, Some(1))),
        (6, (server, "F", FLOW_END, Some(1))),
        // The start of this flow is not recorded.
        (7, (server, "F", FLOW_END, Some(1))),
    ];
    fs::write(&input, fxt(&events)).unwrap();
    let run = ichnos(["cat", "-f", "jsonl", input.to_str().unwrap()]).expect(0, &[]);
    let numbers: Vec<_> = run
        .out
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap())
        .filter(|line| line["type"] == "event")
        .map(|event| event["specific_context"]["flow_number"].as_u64().unwrap_or(1))
        .collect();
    assert_eq!(numbers, [1, 2, 3, 3, 1, 2, 4]);
}

/// Converts lines. Returns the losses and the output as read.
fn converted(lines: &str, more: &[&str]) -> (String, Run) {
    let directory = Directory::new("kept");
    let [input, output] = ["in.jsonl", "out"].map(|name| directory.join(name).to_str().unwrap().to_owned());
    fs::write(&input, lines).unwrap();
    let run = ichnos([&["convert", "--losses", &input, "-o", &output], more].concat());
    (run.expect(0, &[]).out, ichnos(["cat", "-f", "jsonl", &output]).expect(0, &[]))
}

#[test]
fn keys_of_messages_are_arguments() {
    let lines = r#"{"type":"event-class","id":1,"name":"take","role":"receive","meanings":{"payload":{"key":"pair-key"}}}
{"type":"event","ts":1795205987000000000,"id":1,"name":"take","payload":{"key":7,"x":1}}
"#;
    converted(lines, &["--to", "fxt"]).1.prints(&[r#""key":7"#, r#""x":1"#]);
}

#[test]
fn times_at_the_limits_are_listed() {
    let event = |time: &str| format!("{{\"ts\":{time},\"name\":\"a\",\"payload\":{{\"x\":1}}}}\n");
    let lines = event("-9223372036854775808") + &event("5");
    let (losses, read) = converted(&lines, &["--to", "fxt"]);
    assert!(
        losses.contains(
            "rounded         1  a  time before the origin, or more than 63 bits of nanoseconds after it"
        ),
        "{losses}"
    );
    read.prints(&["\"ts\":5,"]);
    // Google's trace processor does not support 64-bit times.
    for late in ["18446744073709551615", "9223372036854775808"] {
        let (losses, read) = converted(&event(late), &["--to", "fxt"]);
        assert!(
            losses.contains("rounded         1  a  ") && losses.contains("more than 63 bits of nanoseconds"),
            "{losses}"
        );
        read.prints(&["\"ts\":9223372036854775807,"]);
    }
    let (losses, read) = converted(&event("9223372036854775807"), &["--to", "fxt"]);
    assert!(!losses.contains("rounded"), "{losses}");
    read.prints(&["\"ts\":9223372036854775807,"]);
}

#[test]
fn rounded_numbers_are_listed() {
    let lines = r#"{"type":"event-class","id":1,"name":"a","fields":{"payload":{"type":"structure","members":[{"name":"x","class":{"type":"float","length":128}}]}}}
{"type":"event","ts":1,"id":1,"payload":{"x":{"$float128":"3fff0000000000000000000000000001"}}}
"#;
    for more in [&["--to", "fxt"][..], &["--to", "xtrace", "--orphans", "chain"]] {
        let (losses, _) = converted(lines, more);
        assert!(losses.contains("rounded         1  a  number of more than 64 bits"), "{more:?}: {losses}");
    }
    let lines = r#"{"type":"event-class","id":1,"name":"l","meanings":{"payload":{"level":"severity"}},"log":{"severity":"member","scale":[{"up-to":16,"level":"info","exact":10},{"up-to":99,"level":"error","exact":20}]}}
{"type":"event","ts":1,"id":1,"name":"l","payload":{"level":15}}
"#;
    let (losses, _) = converted(lines, &["--to", "xtrace", "--orphans", "chain"]);
    assert!(losses.contains("severity number -> syslog level"), "{losses}");
}

#[test]
fn metadata_in_bytes_join_a_task() {
    let directory = Directory::new("metadata");
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let report =
        "X-Trace Report ver 1.0\nX-Trace: 14CAFEBABE0202020204C1020007\nLabel: child\nTimestamp: 2\n\n";
    fs::write(path("r.reports"), report).unwrap();
    ichnos(["cat", &path("r.reports")])
        .expect(0, &[])
        .prints(&[r#"metadata_options = [ [0] = "ChainId 0x0007" ]"#]);
    let lines = r#"{"type":"event-class","stream":0,"id":1,"name":"pkt","fields":{"payload":{"type":"structure","members":[{"name":"ip_option","class":{"type":"blob"}}]}}}
{"type":"event","ts":1500000000,"stream":0,"id":1,"payload":{"ip_option":{"$blob":"14cafebabe0202020204c1020007","media_type":"application/octet-stream"}}}
"#;
    fs::write(path("a.jsonl"), lines).unwrap();
    fs::write(path("m.toml"), "[[event]]\nmatch = \"pkt\"\nfields = { task-context = \"ip_option\" }\n")
        .unwrap();
    let events = |more: &[&str]| {
        let run = ichnos([&["task", "list", "--json", &path("r.reports"), &path("a.jsonl")], more].concat());
        run.expect(0, &[]).json()["tasks"][0]["mentions"].clone()
    };
    assert_eq!((events(&[]), events(&["--map", &path("m.toml")])), (0.into(), 1.into()));
    ichnos(["task", "decode", "14CAFEBABE0202020204C1020007"]).expect(0, &[]).prints(&["ChainId 0x0007"]);
    ichnos(["task", "decode", "14CAFE"]).expect(2, &["`14CAFE` cannot be explained: "]);
}

#[test]
fn dates_are_listed() {
    let lines = r#"{"type":"event-class","id":1,"name":"l","fields":{"payload":{"type":"structure","members":[{"name":"d","class":{"type":"integer","length":64,"wall_clock":{"epoch_seconds":0,"frequency":1}}}]}}}
{"type":"event","ts":1,"id":1,"payload":{"d":1700000000}}
"#;
    for more in [&["--to", "fxt"][..], &["--to", "xtrace", "--orphans", "chain"]] {
        let (losses, _) = converted(lines, more);
        assert!(losses.contains("lowered         1  l: payload.d  date -> integer"), "{more:?}: {losses}");
    }
}
