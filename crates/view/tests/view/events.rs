//! Single events.

use std::ops::ControlFlow;
use std::path::Path;

use ichnos::export::{Csv, CsvOptions};
use ichnos::flow::pump;
use ichnos::fuchsia::fxt::{EventKind, Initialization, RecordWriter, StringRef, ThreadRecord, ThreadRef};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::model::{Sink as _, Window};
use ichnos::{OpenOptions, Selection};
use serde_json::Value;

use crate::client::{Server, example, recorded};

/// Returns the event lines that `cat --format jsonl --stacks` writes.
pub(crate) fn lines(server: &Server) -> Vec<Value> {
    let mut options = JsonLinesOptions::default();
    options.stacks = true;
    let mut lines = JsonLines::new(Vec::new(), options);
    let reader = Selection::default().reader(&server.session, Window::default()).unwrap();
    reader.pass().run(&mut lines).unwrap();
    let text = String::from_utf8(lines.writer().clone()).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] == "event").collect()
}

/// Returns all rows, in requests of `limit` rows.
pub(crate) fn rows(server: &Server, limit: usize, more: &str) -> Vec<Value> {
    let (begin, end) = server.range();
    let mut rows = Vec::new();
    let mut after = String::new();
    loop {
        let page = server.json(&format!("api/events?begin={begin}&end={end}&limit={limit}{after}{more}"));
        rows.extend(page["rows"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return rows,
        }
    }
}

#[test]
fn rows_and_details_equal_those_of_cat() {
    for name in ["hello-lttng", "hello-fxt", "hello-dotnet", "hello-xtrace"] {
        let server = Server::of(&example(name));
        let lines = lines(&server);
        let rows = rows(&server, 7, "");
        assert_eq!(rows.len(), lines.len(), "{name}");
        let has_stacks = matches!(name, "hello-dotnet" | "hello-fxt");
        assert_eq!(lines.iter().any(|line| line["stacks"].is_object()), has_stacks, "{name}");
        for (row, line) in rows.iter().zip(&lines).step_by(1 + lines.len() / 30) {
            let event = server.json(&format!("api/event?id={}", row["id"].as_str().unwrap()));
            assert_eq!(&event["line"], line, "{name}");
            assert_eq!(event["name"], line["name"], "{name}");
            // Reports have labels.
            let is_named = name == "hello-xtrace";
            assert_eq!(&row["name"], if is_named { &event["label"] } else { &line["name"] }, "{name}");
            assert!(event["text"].as_str().unwrap().contains(line["name"].as_str().unwrap()));
            assert_eq!((&event["track"], &event["id"]), (&row["track"], &row["id"]), "{name}");
        }
    }
}

#[test]
fn events_of_tracks_are_found_around_times() {
    let server = Server::of(&example("hello-lttng"));
    let rows = rows(&server, 10_000, "");
    let time = |row: &Value| row["time"].as_str().unwrap().parse::<u64>().unwrap();
    for (index, row) in rows.iter().enumerate().step_by(3) {
        let near = |direction: &str| {
            server.json(&format!("api/near?track={}&time={}&direction={direction}", row["track"], time(row)))
        };
        let of_track = |other: &&Value| other["track"] == row["track"];
        let next = rows[index..].iter().filter(of_track).find(|other| time(other) > time(row));
        assert_eq!(near("next")["id"], next.map_or(Value::Null, |next| next["id"].clone()));
        let previous = rows[..index].iter().rev().filter(of_track).find(|other| time(other) < time(row));
        assert_eq!(near("previous")["id"], previous.map_or(Value::Null, |previous| previous["id"].clone()));
        assert_eq!(near("at")["time"], row["time"]);
    }
}

#[test]
fn events_at_equal_times_are_found_singly() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("equal.jsonl");
    let times = [5, 7, 7, 7, 9, 9];
    let line =
        |(index, time): (usize, &u64)| format!("{{\"ts\":{time},\"name\":\"e{index}\",\"payload\":{{}}}}\n");
    std::fs::write(&path, times.iter().enumerate().map(line).collect::<String>()).unwrap();
    let server = Server::of(path.to_str().unwrap());
    let rows = rows(&server, 10, "");
    assert_eq!(rows.len(), times.len());
    let track = &rows[0]["track"];
    for (earlier, later) in rows.iter().zip(&rows[1..]) {
        let near = |from: &Value, direction: &str| {
            let (time, id) = (from["time"].as_str().unwrap(), from["id"].as_str().unwrap());
            server.json(&format!("api/near?track={track}&time={time}&direction={direction}&event={id}"))
        };
        assert_eq!(near(earlier, "next")["name"], later["name"]);
        assert_eq!(near(later, "previous")["name"], earlier["name"]);
        assert!(near(&rows[0], "previous").is_null() && near(&rows[5], "next").is_null());
    }
    // Without an event, the search skips all events at the time.
    assert_eq!(server.json(&format!("api/near?track={track}&time=7&direction=next"))["name"], "e4");
    assert_eq!(server.json(&format!("api/near?track={track}&time=7&direction=previous"))["name"], "e0");
}

#[test]
fn fields_of_any_trace_are_completed() {
    for (name, field) in [("hello-lttng", "number"), ("hello-fxt", "module_id"), ("hello-jsonl", "path")] {
        let server = Server::of(&example(name));
        let items = |text: &str| {
            let answer = server.json(&format!("api/completions?filter={text}&at={}", text.len()));
            let items = answer["items"].as_array().unwrap().iter();
            items.map(|item| item["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert!(items("ev").contains(&"event".to_owned()), "{name}");
        assert!(
            items(&field[..2]).iter().any(|item| item.ends_with(field)),
            "{name}: {:?}",
            items(&field[..2])
        );
    }
}

#[test]
fn searches_and_statistics_count_events() {
    let server = Server::of(&example("hello-lttng"));
    let lines = lines(&server);
    let (begin, end) = server.range();
    let stats = server.json(&format!("api/stats?begin={begin}&end={end}"));
    assert_eq!(stats["events"], lines.len());
    for class in stats["classes"].as_array().unwrap() {
        assert_eq!(class["count"], lines.iter().filter(|line| line["name"] == class["name"]).count());
    }
    let name = lines[0]["name"].as_str().unwrap();
    let found = server.json(&format!("api/search?q={}", name.to_uppercase().replace(':', "%3A")));
    let expected = lines.iter().filter(|line| line["name"] == name).count() as u64;
    assert!(found["total"].as_u64().unwrap() >= expected && found["complete"] == true);
    let bins = found["bins"].as_array().unwrap();
    assert_eq!(bins.iter().map(|bin| bin.as_u64().unwrap()).sum::<u64>(), found["total"].as_u64().unwrap());
    assert_eq!(server.json("api/search?q=nothing%20like%20this")["total"], 0);
}

/// Lists, search and statistics name events as the timeline does.
#[test]
fn events_with_labels_are_listed_by_label() {
    let server = Server::of(&example("hello-xtrace"));
    let lines = lines(&server);
    let label = |line: &Value| line["payload"]["Label"].as_str().unwrap().to_owned();
    let labels: Vec<String> = lines.iter().map(label).collect();
    let found: Vec<String> =
        rows(&server, 10, "").iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(found, labels);
    let (begin, end) = server.range();
    let stats = server.json(&format!("api/stats?begin={begin}&end={end}"));
    assert_eq!(stats["events"], labels.len());
    let classes = stats["classes"].as_array().unwrap();
    let total: u64 = classes.iter().map(|class| class["count"].as_u64().unwrap()).sum();
    assert_eq!(total, labels.len() as u64);
    for class in classes {
        assert_eq!(class["count"], labels.iter().filter(|label| class["name"] == **label).count());
    }
    let hits = server.json(&format!("api/search?q={}", labels[0].replace(' ', "%20")));
    assert_eq!(hits["hits"][0]["name"], labels[0]);
}

#[test]
fn call_stacks_are_a_tree() {
    let server = Server::of(&example("hello-dotnet"));
    let (begin, end) = server.range();
    let stacks = server.json(&format!("api/stacks?begin={begin}&end={end}"));
    let sum = |node: &Value| {
        node["children"].as_array().unwrap().iter().map(|child| child["value"].as_u64().unwrap()).sum::<u64>()
    };
    assert!(stacks["root"]["value"].as_u64().unwrap() >= sum(&stacks["root"]));
}

/// Spans without samples also form a tree. It counts nanoseconds, and each is in exactly one span.
#[test]
fn spans_are_a_tree_of_nanoseconds() {
    let Some(path) = recorded("ctf/real/tracecompass/many-threads") else { return };
    let server = Server::of(&path);
    let (begin, end) = server.range();
    let stacks = server.json(&format!("api/stacks?begin={begin}&end={end}"));
    assert_eq!((&stacks["samples"], &stacks["unit"]), (&0.into(), &"ns".into()));
    assert!(stacks["spans"].as_u64().unwrap() > 10, "{stacks}");
    let mut found = 0;
    let mut nodes = vec![&stacks["root"]];
    while let Some(node) = nodes.pop() {
        let children = node["children"].as_array().unwrap();
        let sum = children.iter().map(|child| child["value"].as_u64().unwrap()).sum::<u64>();
        assert!(sum <= node["value"].as_u64().unwrap(), "{node}");
        found += children.len();
        nodes.extend(children);
    }
    assert!(found > 10, "{found}");
}

/// Writes a trace with a span and an instant after it, without samples and thread states.
fn write_span(path: &Path) {
    let mut buffer = vec![0; 4 << 10];
    let mut writer = RecordWriter::new(&mut buffer);
    writer.magic().unwrap();
    writer.initialization(&Initialization { ticks_per_second: 1_000_000_000, base: None }).unwrap();
    writer.thread(&ThreadRecord { index: 1, process: 100, thread: 1_000 }).unwrap();
    let kinds = [EventKind::DurationBegin, EventKind::DurationEnd, EventKind::Instant { scope: None }];
    for (kind, time) in kinds.into_iter().zip([1_000, 5_000, 9_000]) {
        let names = [StringRef::Inline(b"made"), StringRef::Inline(b"work")];
        writer.begin_event(kind, time, ThreadRef::Index(1), names).unwrap().finish();
    }
    std::fs::write(path, writer.written()).unwrap();
}

/// Without samples, the shown command is for spans, even if the trace lacks spans and running threads.
#[test]
fn the_stacks_command_is_for_samples_or_spans() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("span.fxt");
    write_span(&path);
    let starts = |server: &Server, (begin, end): (u64, u64), more: &str, options: &str| {
        let answer = server.json(&format!("api/stacks?begin={begin}&end={end}{more}"));
        let start = format!("ichnos stacks{options} --begin @");
        assert!(answer["command"].as_str().unwrap().starts_with(&start), "{more}: {answer}");
        answer["spans"].as_u64().unwrap()
    };
    let server = Server::of(path.to_str().unwrap());
    for (range, spans) in [((1_000, 9_000), 1), ((8_000, 9_000), 0)] {
        assert_eq!(starts(&server, range, "", " --spans"), spans);
        assert_eq!(starts(&server, range, "&inverted=1", " --spans --inverted"), spans);
        assert_eq!(starts(&server, range, "&running=1", " --spans --running"), 0);
        let all = " --spans --running --inverted --stack-roots thread";
        assert_eq!(starts(&server, range, "&running=1&inverted=1&threads=1", all), 0);
    }
    for name in ["hello-fxt", "hello-lttng"] {
        let server = Server::of(&example(name));
        assert_eq!(starts(&server, server.range(), "", ""), 0, "{name}");
        assert_eq!(starts(&server, server.range(), "&running=1", " --cpu"), 0, "{name}");
    }
}

/// A table has the same columns as from `cat`, in any format.
#[test]
fn tables_have_the_columns_of_cat() {
    const COLUMNS: &str = "time,event,host,stream,packet.cpu_id,ctx.vpid,ctx.vtid,ctx.procname,number,balance,hash,\
port,text,load,half_load,mood,mood.labels,first_two,_samples_length,samples,_initials_length,initials";
    for (name, columns) in [
        ("hello-lttng", Some(COLUMNS)),
        ("hello-ctf2", None),
        ("hello-fuchsia", None),
        ("hello-xtrace", None),
        ("hello-jsonl", None),
        ("hello-dotnet", None),
        ("hello-fxt", None),
    ] {
        let server = Server::of(&example(name));
        let (begin, end) = server.range();
        let (status, _, body) = server.get(&format!("api/export?kind=csv&begin={begin}&end={end}"));
        assert_eq!(status, 200);
        let table = String::from_utf8(body).unwrap();
        let header = table.lines().next().unwrap();
        assert!(header.split(',').count() > 4, "{name}: {header}");
        assert_eq!(header, columns.unwrap_or(header), "{name}");
        let options = {
            let mut options = CsvOptions::default();
            let session = ichnos::open([example(name)], &OpenOptions::default()).unwrap();
            // All classes are known after all events were read.
            session.stream_reader().for_each_head(|_, _| ControlFlow::Continue(()));
            options.columns = Selection::default().csv_columns(&session, options.time).unwrap().into();
            options
        };
        let mut wanted = Csv::new(Vec::new(), options);
        pump(&mut server.session.cursor(Window::default()).unwrap(), &mut wanted).unwrap();
        wanted.finish().unwrap();
        let wanted = String::from_utf8(wanted.writer().clone()).unwrap();
        assert_eq!(table, wanted, "{name}");
    }
}
