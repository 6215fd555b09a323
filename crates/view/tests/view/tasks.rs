//! Tasks and task graphs.

use std::collections::BTreeSet;

use ichnos::Selection;
use ichnos::analysis::{TaskCollector, TaskGraph, TaskOptions, Tasks};
use ichnos::json::write::ValueWriter;
use ichnos::model::Window;
use serde_json::{Value, json};

use crate::client::{Server, example};

/// Collects the tasks in a trace as `ichnos task` does.
fn tasks(server: &Server) -> Tasks {
    let mut options = TaskOptions::default();
    options.find_mentions = ichnos::formats().filter_map(|format| format.find_mentions).collect();
    options.correct_clocks = true;
    options.with_events = true;
    let mut collector = TaskCollector::new(options);
    let reader = Selection::default().reader(&server.session, Window::default()).unwrap();
    reader.pass().run(&mut collector).unwrap();
    collector.finish()
}

fn list(server: &Server, (begin, end): (u64, u64), more: &str) -> Value {
    server.json(&format!("api/tasks?begin={begin}&end={end}{more}"))
}

#[test]
fn tasks_equal_those_of_the_command() {
    for name in ["hello-xtrace", "hello-fxt", "hello-dotnet"] {
        let server = Server::of(&example(name));
        let tasks = tasks(&server);
        let answer = list(&server, server.range(), "");
        assert_eq!(answer["complete"], true, "{name}");
        let rows = answer["tasks"].as_array().unwrap();
        let order = tasks.in_order(false, || false);
        assert_eq!(
            (answer["total"].as_u64().unwrap(), rows.len()),
            (order.len() as u64, order.len()),
            "{name}"
        );
        assert!(!rows.is_empty(), "{name}");
        for (row, task) in rows.iter().zip(order).take(20) {
            let summary = tasks.summary(task).unwrap();
            assert_eq!(row["id"], summary.id.to_string(), "{name}");
            assert_eq!(
                (&row["name"], &row["operations"]),
                (&summary.title.into(), &summary.nodes.into()),
                "{name}"
            );
            let begin = summary.begin.map(|time| time.to_string());
            assert_eq!(row["begin"].as_str().map(str::to_owned), begin, "{name}");
            graph_is_that_of_the_command(&server, &tasks, task, row);
        }
    }
}

fn graph_is_that_of_the_command(server: &Server, tasks: &Tasks, task: usize, row: &Value) {
    let (id, begin) = (row["id"].as_str().unwrap(), row["begin"].as_str().unwrap_or_default());
    let answer = server.json(&format!("api/task?id={id}&begin={begin}"));
    let graph = tasks.graph(task);
    let nodes = answer["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), graph.len() as usize);
    let mut known = 0;
    for (number, node) in (0_u32..).zip(nodes) {
        let member = graph.member(number).unwrap();
        assert_eq!(node["label"], String::from_utf8_lossy(member.label).into_owned());
        assert_eq!(node["events"], member.events);
        if let Some(event) = node["event"].as_str() {
            known += 1;
            let details = server.json(&format!("api/event?id={event}"));
            assert_eq!((&details["time"], &details["track"]), (&node["eventTime"], &node["track"]));
            if graph.clock_corrections().is_empty() {
                assert_eq!(details["time"], node["begin"]);
            }
        }
    }
    // Reported operations have a first event.
    let expected =
        (0..graph.len()).filter(|node| graph.member(*node).is_some_and(|member| member.events > 0));
    assert_eq!(known, expected.count(), "{id}");
    let edges: usize = (0..graph.len()).map(|node| graph.causes(node).len()).sum();
    assert_eq!(answer["edges"].as_array().unwrap().len(), edges + graph.cycles().len());
    joined_events_are_those_of_the_command(server, &graph, &answer);
    assert_eq!(answer["clocks"].as_array().unwrap().len(), graph.clock_corrections().len());
    let path = graph.critical_path();
    assert_eq!(answer["path"], Value::from(path.clone()));
    let mut text = Vec::new();
    let mut object = ValueWriter::new(&mut text).object();
    graph.write_path_json(&path, &mut object);
    object.end();
    assert_eq!(answer["criticalPath"], serde_json::from_slice::<Value>(&text).unwrap());
}

/// Each joined event leads to its own event in the trace.
fn joined_events_are_those_of_the_command(server: &Server, graph: &TaskGraph<'_>, answer: &Value) {
    let found = answer["joined"].as_array().unwrap();
    let joined = graph.joined_events().into_iter().zip(found).map(|((node, event), found)| {
        let [label, place] =
            [event.label, event.place].map(|text| String::from_utf8_lossy(text).into_owned());
        let time = event.time.map(|time| time.to_string());
        let (id, track, own) = (&found["event"], &found["track"], &found["eventTime"]);
        json!({
            "node": node, "label": label, "place": place, "time": time,
            "event": id, "track": track, "eventTime": own,
        })
    });
    assert_eq!((found.len(), found), (graph.joined_events().len(), &joined.collect::<Vec<_>>()));
    let mut known = BTreeSet::new();
    for event in found.iter().chain(answer["nodes"].as_array().unwrap()) {
        assert!(event["event"].is_null() || known.insert(event["event"].as_str()), "{event} is another one");
    }
    for event in found {
        let details = server.json(&format!("api/event?id={}", event["event"].as_str().unwrap()));
        assert_eq!((&details["time"], &details["track"]), (&event["eventTime"], &event["track"]));
        if graph.clock_corrections().is_empty() {
            assert_eq!(details["time"], event["time"]);
        }
    }
}

/// The start and end events of a span are one operation, and the end event joins it.
#[test]
fn joined_events_are_found() {
    let server = Server::of(&example("hello-dotnet"));
    let rows = list(&server, server.range(), "");
    let id = rows["tasks"][0]["id"].as_str().unwrap();
    let task = server.json(&format!("api/task?id={id}"));
    assert_eq!((&task["nodes"][0]["events"], task["joined"].as_array().unwrap().len()), (&2.into(), 1));
    let name = |event: &Value| {
        let event = server.json(&format!("api/event?id={}", event["event"].as_str().unwrap()));
        (event["name"].clone(), event["time"].clone())
    };
    let (node, joined) = (&task["nodes"][0], &task["joined"][0]);
    assert!(node["track"].is_u64() && joined["track"].is_u64(), "{node} {joined}");
    assert_eq!(name(node), (node["label"].clone(), node["begin"].clone()));
    assert_eq!(name(joined), (joined["label"].clone(), joined["time"].clone()));
}

#[test]
fn tasks_are_selected_by_time_and_filter() {
    let server = Server::of(&example("hello-xtrace"));
    let (begin, end) = server.range();
    assert_eq!(list(&server, (end + 1, end + 2), "")["total"], 0);
    assert_eq!(list(&server, (0, begin - 1), "")["total"], 0);
    assert_eq!(list(&server, (begin, end), "&filter=event%20%3D%3D%20%22no_such_*%22")["total"], 0);
    assert_eq!(list(&server, (begin, end), "&limit=0")["tasks"].as_array().unwrap().len(), 0);
    assert_eq!(server.ask("api/task?id=00").0, 404);
    assert_eq!(server.ask("api/task").0, 400);
    let command = list(&server, (begin, end), "")["command"].clone();
    assert!(command.as_str().unwrap().starts_with("ichnos task list "));
}

#[test]
fn traces_without_operations_have_no_tasks() {
    let server = Server::of(&example("hello-lttng"));
    assert_eq!(list(&server, server.range(), "")["total"], 0);
}
