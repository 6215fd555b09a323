//! Tasks in the examples: one of them is a request in traces with four formats.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::support::{Directory, ichnos_in, root};
use crate::transcript::transcript;

const TRACE: &str = "examples/one-request/trace";
/// Time at which the log's clock was 0.
const OFFSET: &str = "--offset=*.log=2026-11-23T00:38:18.978261652Z";

/// Runs a verb on all traces of the request.
fn of_request(arguments: &[&str]) {
    let paths =
        ["prices.nettrace.zst", "printer.log", "shop.reports", "stock"].map(|name| format!("{TRACE}/{name}"));
    let paths = paths.iter().map(String::as_str);
    ichnos_in(
        root(),
        ["task"].into_iter().chain(arguments.iter().copied()).chain(["--gmt", OFFSET]).chain(paths),
    );
}

#[test]
fn one_request() {
    let _transcript = transcript!();
    of_request(&["list"]);
    of_request(&["list", "--json"]);
    of_request(&["show", "latest"]);
    of_request(&["show", "44f3"]);
    of_request(&["show", "latest", "--json"]);
    of_request(&["path", "latest"]);
    of_request(&["graph", "latest"]);
    of_request(&["graph", "latest", "--format=svg"]);
    of_request(&["diff", "latest", "latest"]);
    // The programs become separate tasks, or are missing.
    of_request(&["list", "--no-search"]);
    of_request(&["show", "latest", "--no-search"]);
}

/// A part of the traces: some operations are only mentioned in texts.
#[test]
fn parts_of_one_request() {
    let _transcript = transcript!();
    for name in ["shop.reports", "stock", "prices.nettrace.zst", "printer.log"] {
        ichnos_in(root(), ["task", "show", "--gmt", "44f3", &format!("{TRACE}/{name}")]);
    }
    // Operations only mentioned in texts may be accidental, but are listed if no other operations exist.
    for arguments in [&["list"][..], &["list", "--all", "--gmt"], &["show", "latest"]] {
        ichnos_in(root(), [&["task"], arguments, &[&format!("{TRACE}/stock")]].concat());
    }
    // Formats pad identifiers with leading zeros.
    for (id, name) in [("44f3", "prices.nettrace.zst"), ("000000000000000044f31a6cbd1f5451", "shop.reports")]
    {
        ichnos_in(root(), ["task", "path", "--gmt", id, &format!("{TRACE}/{name}")]);
    }
    // The log's clock origin is unknown.
    ichnos_in(root(), ["task", "list", &format!("{TRACE}/stock"), &format!("{TRACE}/printer.log")]);
    ichnos_in(root(), ["task", "show", "none", &format!("{TRACE}/stock")]);
}

#[test]
fn reports() {
    let _transcript = transcript!();
    for verb in ["show", "path", "graph"] {
        ichnos_in(root(), ["task", verb, "--gmt", "latest", "examples/hello-xtrace"]);
    }
    ichnos_in(
        root(),
        ["task", "list", "--gmt", "examples/hello-xtrace", "examples/hello-dotnet/hello.nettrace.zst"],
    );
    ichnos_in(root(), ["task", "list", "examples/hello-lttng"]);
}

/// Writes X-Trace reports from their lines after the first.
fn write_reports(directory: &Path, reports: &[&str]) {
    let text: Vec<String> =
        reports.iter().map(|lines| format!("X-Trace Report ver 1.0\n{lines}\n\n")).collect();
    fs::write(directory.join("a.reports"), text.concat()).unwrap();
}

/// A client, a server whose clock is a second ahead, and a database with a correct clock that the server queries.
const SKEWED: [&str; 6] = [
    "X-Trace: 10CAFEBABE01010101\nHost: client\nLabel: ask\nTimestamp: 100.000",
    "X-Trace: 10CAFEBABE02020202\nHost: server\nLabel: asked\nTimestamp: 101.002\nEdge: 01010101",
    "X-Trace: 10CAFEBABE03030303\nHost: database\nLabel: read\nTimestamp: 100.006\nEdge: 02020202",
    "X-Trace: 10CAFEBABE04040404\nHost: server\nLabel: work\nTimestamp: 101.009\nEdge: 02020202",
    "X-Trace: 10CAFEBABE05050505\nHost: server\nLabel: answer\nTimestamp: 101.030\nEdge: 03030303\nEdge: 04040404",
    "X-Trace: 10CAFEBABE06060606\nHost: client\nLabel: answered\nTimestamp: 100.032\nEdge: 05050505",
];

#[test]
fn clocks() {
    let directory = Directory::new("clocks");
    write_reports(&directory, &SKEWED);
    let of = |arguments: &[&str]| ichnos_in(&directory, [&["task"], arguments, &["a.reports"]].concat());
    let path = |arguments: &[&str]| -> Vec<String> {
        let json = of(&[&["path", "latest", "--json"], arguments].concat()).json();
        let steps = json["steps"].as_array().unwrap().iter();
        steps.map(|step| step["label"].as_str().unwrap().to_owned()).collect()
    };
    let right = ["ask", "asked", "work", "answer", "answered"];
    assert_eq!(path(&[]), right);
    assert_eq!(path(&["--correct-clocks"]), right);
    assert_eq!(path(&["--no-correct-clocks"]).last().unwrap(), "answer");
    // The correction is between 0.998 and 1.002 s.
    let says = "clocks corrected: server -1.000 s";
    let heading = of(&["show", "latest"]).expect(0, &[]).prints(&[says]);
    assert!(!heading.out.contains("back in time"), "{}", heading.out);
    of(&["path", "latest"]).prints(&[says]);
    of(&["list"]).prints(&["1 clock corrected by up to 1.000 s"]);
    of(&["list", "--no-correct-clocks"]).prints(&["2 back in time"]);
    of(&["diff", "latest", "latest"])
        .prints(&["first: clocks corrected: server -1.000 s", "time: 32.000 ms and 32.000 ms"]);
    let list = of(&["list", "--json"]).json();
    assert_eq!(list["tasks"][0]["most_corrected_ns"], 1_000_000_000);
    let graph = of(&["graph", "latest", "--format=json"]).json();
    assert_eq!(graph["clock_corrections"][0]["offset_ns"], -1_000_000_000);
    // Without machine names, nothing can be corrected.
    let alone: Vec<String> = SKEWED.iter().map(|lines| lines.replace("Host", "Agent")).collect();
    write_reports(&directory, &alone.iter().map(String::as_str).collect::<Vec<_>>());
    for verb in [&["list"][..], &["show", "latest"]] {
        let warning = "clocks not corrected: 2 edges go back in time between operations without a machine";
        of(verb).expect(0, &[warning]).prints(&["2 back in time"]);
    }
}

/// If the search for corrections takes too many steps, it is stopped, and every verb reports it.
#[test]
fn clocks_of_too_many_machines() {
    let directory = Directory::new("machines");
    // Machines in a circle, where the time goes back at each step.
    let report = |number: u32| {
        let edge = if number > 0 { format!("\nEdge: {number:08X}") } else { String::new() };
        let (next, host, time) = (number + 1, number % 1_400, 10_000 - number);
        format!("X-Trace: 10CAFEBABE{next:08X}{edge}\nHost: m{host}\nLabel: step\nTimestamp: {time}")
    };
    let reports: Vec<String> = (0..=1_400).map(report).collect();
    write_reports(&directory, &reports.iter().map(String::as_str).collect::<Vec<_>>());
    let of = |arguments: &[&str]| ichnos_in(&directory, [&["task"], arguments, &["a.reports"]].concat());
    let says = |tasks: &str| {
        format!("clocks in {tasks} were not corrected: too many machines with edges between them")
    };
    of(&["list"]).expect(0, &[&says("1 task")]).prints(&["1,400 back in time, clocks not corrected"]);
    // Selected by identifier, because `latest` needs another search.
    for verb in [&["show", "CAFEBABE"][..], &["path", "CAFEBABE"], &["diff", "CAFEBABE", "CAFEBABE"]] {
        let json = of(&[verb, &["--json"]].concat()).expect(0, &[&says("task CAFEBABE")]).json();
        let told = if verb[0] == "show" { &json["graph"] } else { &json }["correction_incomplete"].clone();
        assert!(told == Json::Bool(true) || told == serde_json::json!([true, true]), "{told}");
    }
    let quiet = of(&["list", "--no-correct-clocks", "--json"]).expect(0, &[]).json();
    assert_eq!(quiet["tasks"][0]["correction_incomplete"], false);
}

/// The graph is printed incrementally: it needs no more memory than the path.
#[cfg(target_os = "linux")]
#[test]
fn memory_of_a_long_task() {
    let directory = Directory::new("long");
    let report = |number: u32| {
        let edge = format!("Edge: {number:08X}");
        format!("X-Trace: 10CAFEBABE{:08X}\n{edge}\nLabel: step\nTimestamp: {number}", number + 1)
    };
    let reports: Vec<String> = (0..20_000).map(report).collect();
    write_reports(&directory, &reports.iter().map(String::as_str).collect::<Vec<_>>());
    let path = directory.join("a.reports");
    let peak = |verb: &str| {
        let words = ["task", verb, "latest", "--json"].map(std::ffi::OsStr::new);
        crate::trees::peak_memory(&[&words[..], &[path.as_os_str()]].concat())
    };
    let (show, path) = (peak("show"), peak("path"));
    assert!(show < 2 * path, "{show} kB and {path} kB");
}

/// A task has the title from its reports, otherwise the name of its first operation.
#[test]
fn titles() {
    let directory = Directory::new("titles");
    write_reports(
        &directory,
        &[
            "X-Trace: 10CAFEBABE01010101\nLabel: begin\nTimestamp: 100.000",
            "X-Trace: 10CAFEBABE02020202\nTitle: GET /rolls\nTag: bakery\nLabel: bake\nTimestamp: 100.001\nEdge: 01010101",
            "X-Trace: 10CAFEBABF01010101\nLabel: clean\nTimestamp: 101.000",
        ],
    );
    let list = ichnos_in(&directory, ["task", "list", "--json", "a.reports"]).json();
    let titles: Vec<_> =
        list["tasks"].as_array().unwrap().iter().map(|task| task["title"].as_str()).collect();
    assert_eq!(titles, [Some("GET /rolls"), Some("clean")]);
}

/// Events that came before an operation's start event do not name it, and neither do spans within it.
#[test]
fn merged_operations_are_named_after_their_start() {
    let directory = Directory::new("task-begins");
    let lines = [
        r#"{"ts":1000,"name":"jitting","payload":{"op":"0A0A0A0A"}}"#,
        r#"{"ts":5000,"name":"request_start","payload":{"op":"0A0A0A0A"}}"#,
        r#"{"ts":6000,"name":"load_start","payload":{"op":"0B0B0B0B"}}"#,
        r#"{"ts":7000,"name":"query_start","payload":{"op":"0B0B0B0B","parent":"0A0A0A0A"}}"#,
        r#"{"ts":9000,"name":"request_stop","payload":{"op":"0A0A0A0A"}}"#,
    ];
    fs::write(directory.join("a.jsonl"), lines.join("\n")).unwrap();
    let map = "[[event]]\nmatch = \"*_start\"\nrole = \"begin\"\n\
        [[event]]\nmatch = \"*\"\nfields = { operation-id = \"op\" }\n\
        [[event]]\nmatch = \"query_*\"\nfields = { parent = \"parent\" }\n";
    fs::write(directory.join("map.toml"), map).unwrap();
    let of = |arguments: &[&str]| {
        ichnos_in(&directory, [&["task"], arguments, &["--map", "map.toml", "a.jsonl"]].concat())
    };
    assert_eq!(of(&["list", "--json"]).json()["tasks"][0]["title"], "request_start");
    assert_eq!(of(&["path", "latest", "--json"]).json()["steps"][0]["label"], "request_start");
    let nodes = of(&["show", "latest", "--json"]).json()["graph"]["nodes"].clone();
    let named: Vec<_> =
        nodes.as_array().unwrap().iter().map(|node| (&node["label"], &node["begin_ns"])).collect();
    assert_eq!(named, [(&"request_start".into(), &1000.into()), (&"query_start".into(), &6000.into())]);
    of(&["show", "latest"]).prints(&["◆ request_start", "· jitting", "● query_start", "· load_start"]);
    for arguments in [&["graph", "latest"][..], &["graph", "latest", "--format=svg"]] {
        of(arguments).prints(&["request_start", "query_start"]);
    }
}

/// Operations in two chains with the same identifier stay separate.
#[test]
fn chains() {
    let directory = Directory::new("chains");
    write_reports(
        &directory,
        &[
            "X-Trace: 10CAFEBABE01010101\nLabel: root",
            "X-Trace: 14CAFEBABE0202020204C1020001\nLabel: one\nEdge: 01010101",
            "X-Trace: 14CAFEBABE0202020204C1020002\nLabel: other\nEdge: 01010101",
            "X-Trace: 10CAFEBABE03030303\nLabel: join\nEdge: 02020202, next, 0x0001\nEdge: 02020202, up, 0x0002",
        ],
    );
    let json = ichnos_in(&directory, ["task", "show", "latest", "--json", "a.reports"]).json();
    let nodes = json["graph"]["nodes"].as_array().unwrap();
    let named: Vec<_> = nodes.iter().map(|node| (&node["label"], &node["chain"])).collect();
    assert_eq!(
        named,
        [
            (&"root".into(), &Json::Null),
            (&"one".into(), &1.into()),
            (&"other".into(), &2.into()),
            (&"join".into(), &Json::Null)
        ]
    );
    let edges = json["graph"]["edges"].as_array().unwrap();
    let named: Vec<_> =
        edges.iter().map(|edge| (&edge["from"], &edge["from_chain"], &edge["kind"])).collect();
    let [root, twice] = [&"01010101".into(), &"02020202".into()];
    let [next, up] = [&"predecessor".into(), &"return".into()];
    assert_eq!(
        named,
        [
            (root, &Json::Null, next),
            (root, &Json::Null, next),
            (twice, &1.into(), next),
            (twice, &2.into(), up)
        ]
    );
    ichnos_in(&directory, ["task", "show", "latest", "a.reports"])
        .prints(&["02020202/0001", "02020202/0002"]);
    // JSON Lines contain the same.
    let lines = ichnos_in(&directory, ["cat", "-f", "jsonl", "a.reports"]).out;
    fs::write(directory.join("a.jsonl"), lines).unwrap();
    let again = ichnos_in(&directory, ["task", "show", "latest", "--json", "a.jsonl"]).json();
    assert_eq!(again["graph"], json["graph"]);
}

/// Exemplars name the operations that they measured, but their data point does not belong to these.
#[test]
fn exemplars_do_not_join_tasks() {
    let page = fs::read_to_string(root().join("docs/otlp.md")).unwrap();
    let blocks = page.split("$ ichnos task ").skip(1).map(|block| block.split("\n$ ").next().unwrap());
    let mut checked = 0;
    for block in blocks {
        let (command, output) = block.split_once('\n').unwrap();
        let run = ichnos_in(root(), ["task"].into_iter().chain(command.split(' ')).chain(["--gmt"]));
        let printed = run.out + &run.err;
        for line in output.lines() {
            assert!(printed.lines().any(|found| found == line), "`{line}` is not in:\n{printed}");
            checked += 1;
        }
    }
    assert_eq!(checked, 15);
}

/// Beyond the limits of classes, a data point has exemplars and attributes in the same array.
#[test]
fn attributes_join_tasks_beside_exemplars() {
    let ids = |digit: &str| [16, 8].map(|count| format!("{digit}1").repeat(count));
    let span = |digit: &str| {
        let [trace, span] = ids(digit);
        format!(
            r#"{{"traceId":"{trace}","spanId":"{span}","name":"S{digit}","startTimeUnixNano":"1000","endTimeUnixNano":"3000"}}"#
        )
    };
    let attribute =
        |key: &str, text: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":"{text}"}}}}"#);
    let [trace, operation] = ids("a");
    let mut attributes = vec![attribute("trace_id", &trace), attribute("span_id", &operation)];
    let directory = Directory::new("attributes_beside_exemplars");
    for count in [2, 1_100] {
        attributes.extend((attributes.len()..count).map(|number| attribute(&format!("k{number}"), "x")));
        let [trace, operation] = ids("b");
        let exemplar = format!(
            r#"{{"timeUnixNano":"1500","asInt":"1","traceId":"{trace}","spanId":"{operation}","filteredAttributes":[{}]}}"#,
            attribute("context", &format!("trace_id={trace} span_id={operation}"))
        );
        let attributes = attributes.join(",");
        let point = format!(
            r#"{{"timeUnixNano":"2000","asInt":"1","exemplars":[{exemplar}],"attributes":[{attributes}]}}"#
        );
        let lines = [
            format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{},{}]}}]}}]}}"#, span("a"), span("b")),
            format!(
                r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"name":"m","gauge":{{"dataPoints":[{point}]}}}}]}}]}}]}}"#
            ),
        ];
        fs::write(directory.join("a.otlp.jsonl"), lines.join("\n")).unwrap();
        let json = ichnos_in(&directory, ["task", "list", "--json", "a.otlp.jsonl"]).json();
        let tasks = json["tasks"].as_array().unwrap();
        let mut mentions: Vec<_> =
            tasks.iter().map(|task| (task["title"].clone(), task["mentions"].clone())).collect();
        mentions.sort_by_key(|(title, _)| title.to_string());
        assert_eq!(mentions, [("Sa:begin".into(), 1.into()), ("Sb:begin".into(), 0.into())], "{count}");
    }
}
