//! Task list and task graphs.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ichnos::analysis::{JoinedEvent, TaskCollector, TaskGraph, TaskOptions};
use ichnos::json::write::{ObjectWriter, ValueWriter};
use ichnos::model::meaning::Meaning;
use ichnos::viewers::{EventId, since_origin};

use super::command::command;
use super::overview::write_time;
use super::scan::{self, RangeScan};
use crate::app_state::AppState;
use crate::query::Query;
use crate::response::ApiError;
use crate::task_list::{TaskList, TaskRow};

/// Maximum number of events that are read for tasks.
const MOST_EVENTS: u64 = 50_000_000;

/// Maximum number of events in traces whose timeline shows the events that joined operations.
const MOST_EVENTS_FOR_JOINS: u64 = 1_000_000;

/// Maximum number of operations and joined events of all tasks.
const MOST_OPERATIONS: usize = 2_000_000;

/// Maximum and default number of tasks in an answer.
const MOST_TASKS: u64 = 10_000;
const TASKS: u64 = 1_000;

/// Maximum number of operations and of edges in a graph.
const MOST_NODES: u32 = 10_000;
const MOST_EDGES: usize = 50_000;

/// Maximum number of joined events in an answer.
const MOST_JOINED: usize = 10_000;

/// Returns the tasks for the filter of a request.
fn list(shared: &AppState, query: &Query) -> Result<Arc<TaskList>, ApiError> {
    let filter = query.text("filter");
    let events = shared.build.status().events;
    shared.tasks.get(filter.unwrap_or_default(), events, || collect(shared, filter))
}

/// Collects tasks as `ichnos task` does.
fn collect(shared: &AppState, filter: Option<&str>) -> Result<TaskList, ApiError> {
    let mut options = TaskOptions::default();
    options.find_mentions = ichnos::formats().filter_map(|format| format.find_mentions).collect();
    options.correct_clocks = true;
    options.with_events = true;
    options.most = Some(MOST_OPERATIONS);
    let mut collector = TaskCollector::new(options);
    let range = shared.build.timeline().range();
    let mut is_complete = shared.build.status().is_complete;
    if let Some((begin, end)) = range {
        let scan = RangeScan { begin, end, filter, most: MOST_EVENTS, time: scan::LONG };
        let scanned = scan.run(shared, |found| {
            collector.event_at(found.event, &found.place);
            ControlFlow::Continue(())
        })?;
        is_complete &= scanned.is_complete;
    }
    let tasks = collector.finish();
    is_complete &= tasks.left_out() == 0;
    let is_stopped = || shared.options.stop.load(Ordering::Relaxed);
    let summary = |task: usize| {
        let summary = tasks.summary(task)?;
        let (title, operations) = (summary.title, summary.nodes);
        Some(TaskRow { task, id: summary.id, title, begin: summary.begin, end: summary.end, operations })
    };
    let mut rows: Vec<_> = tasks.in_order(false, is_stopped).into_iter().filter_map(summary).collect();
    rows.sort_by_key(|row| row.begin);
    Ok(TaskList::new(tasks, rows, is_complete))
}

/// Returns the tasks whose [joins](TaskList::joins) the timeline shows. `None` while events arrive, and for traces
/// without operations or with very many events: all events are read for the joins.
pub(super) fn joined(shared: &AppState, query: &Query) -> Result<Option<Arc<TaskList>>, ApiError> {
    let status = shared.build.status();
    let is_read = status.is_complete && status.events <= MOST_EVENTS_FOR_JOINS && !shared.session.is_live();
    let has_operations = is_read && shared.build.timeline().has_operations();
    has_operations.then(|| list(shared, query)).transpose()
}

fn write_text_time(object: &mut ObjectWriter<'_>, name: &'static str, time: Option<i128>) {
    object.member(name).or_null(time, ValueWriter::display);
}

/// Writes the id of an event, with its track and time on the timeline. The time is without clock corrections.
fn write_event(object: &mut ObjectWriter<'_>, event: Option<EventId>, track: Option<u32>) {
    object.member("event").or_null(event, ValueWriter::display);
    object.member("track").or_null(track.map(u64::from), ValueWriter::unsigned);
    write_time(object.member("eventTime"), event.map(|event| event.time));
}

/// Lists the tasks with events in a range.
pub(super) fn tasks(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let (begin, end) = query.range()?;
    let limit = query.bounded("limit", MOST_TASKS, TASKS)? as usize;
    let list = list(shared, query)?;
    let is_in = |row: &&TaskRow| {
        row.begin.is_none_or(|time| time <= i128::from(since_origin(end)))
            && row.end.is_none_or(|time| time >= i128::from(since_origin(begin)))
    };
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("command").string(&command(shared, "task list", query, None));
    object.member("complete").boolean(list.is_complete);
    object.member("total").unsigned(list.rows.iter().filter(is_in).count() as u64);
    let mut tasks = object.member("tasks").array();
    for row in list.rows.iter().filter(is_in).take(limit) {
        let mut task = tasks.element().object();
        task.member("id").display(row.id);
        task.member("name").string(&row.title);
        write_text_time(&mut task, "begin", row.begin);
        task.integer("length", row.begin.zip(row.end).map(|(begin, end)| end - begin));
        task.member("operations").unsigned(row.operations);
        task.member("command").string(&command(shared, &format!("task show {}", row.id), query, None));
        task.end();
    }
    tasks.end();
    object.end();
    Ok(out)
}

/// Describes a task with its critical path.
pub(super) fn task(shared: &AppState, query: &Query) -> Result<Vec<u8>, ApiError> {
    let id = query.text("id").ok_or_else(|| ApiError::bad("missing `id`"))?;
    let list = list(shared, query)?;
    let begin = query.time("begin")?.map(|time| i128::from(since_origin(time)));
    // Operations of several traces can have the same identifier.
    let found = || list.rows.iter().filter(|row| row.id.to_string() == id);
    let row = found().find(|row| begin.is_some() && row.begin == begin).or_else(|| found().next());
    let row = row.ok_or_else(|| ApiError::missing(format!("unknown task `{id}`")))?;
    let graph = list.tasks.graph(row.task);
    let path = graph.critical_path();
    let mut out = Vec::new();
    let mut object = ValueWriter::new(&mut out).object();
    object.member("id").display(row.id);
    object.member("command").string(&command(shared, &format!("task show {id}"), query, None));
    object.member("total").unsigned(graph.len().into());
    write_nodes(&mut object, &graph);
    write_edges(&mut object, &graph);
    write_joined(&mut object, &graph);
    let mut nodes = object.member("path").array();
    path.iter().filter(|node| **node < MOST_NODES).for_each(|node| nodes.element().unsigned((*node).into()));
    nodes.end();
    let mut member = object.member("criticalPath").object();
    graph.write_path_json(&path, &mut member);
    member.end();
    object.end();
    Ok(out)
}

fn write_nodes(object: &mut ObjectWriter<'_>, graph: &TaskGraph<'_>) {
    let mut nodes = object.member("nodes").array();
    for node in 0..graph.len().min(MOST_NODES) {
        let Some(member) = graph.member(node) else { continue };
        let mut entry = nodes.element().object();
        entry.member("id").string(&graph.operation_name(node));
        entry.member("label").string(&String::from_utf8_lossy(member.label));
        entry.member("place").string(&String::from_utf8_lossy(member.place));
        write_text_time(&mut entry, "begin", graph.begin(node));
        write_text_time(&mut entry, "end", graph.end(node));
        entry.member("events").unsigned(member.events.into());
        write_event(&mut entry, member.event, member.track);
        entry.end();
    }
    nodes.end();
}

/// Writes the joined events, each with the number of its operation, and the clock corrections.
fn write_joined(object: &mut ObjectWriter<'_>, graph: &TaskGraph<'_>) {
    let mut joined = object.member("joined").array();
    let is_shown = |(node, _): &(u32, JoinedEvent<'_>)| *node < MOST_NODES;
    for (node, event) in graph.joined_events().into_iter().filter(is_shown).take(MOST_JOINED) {
        let mut entry = joined.element().object();
        entry.member("node").unsigned(node.into());
        entry.member("label").string(&String::from_utf8_lossy(event.label));
        entry.member("place").string(&String::from_utf8_lossy(event.place));
        write_text_time(&mut entry, "time", event.time);
        write_event(&mut entry, event.event, event.track);
        entry.end();
    }
    joined.end();
    let mut clocks = object.member("clocks").array();
    for (machine, offset) in graph.clock_corrections() {
        let mut entry = clocks.element().object();
        entry.member("machine").string(&String::from_utf8_lossy(machine));
        entry.integer("offset", Some(offset));
        entry.end();
    }
    clocks.end();
}

/// Writes edges as the numbers of both nodes and the kind. Edges that close a cycle have the kind `cycle`.
fn write_edges(object: &mut ObjectWriter<'_>, graph: &TaskGraph<'_>) {
    let causes = (0..graph.len()).flat_map(|node| graph.causes(node).iter().map(move |edge| (*edge, node)));
    let known = causes.map(|(edge, to)| (edge.node, to, Meaning::Cause(edge.kind).name()));
    let cycles = graph.cycles().iter().map(|(from, to)| (*from, *to, "cycle"));
    let is_shown = |(from, to, _): &(u32, u32, &str)| *from < MOST_NODES && *to < MOST_NODES;
    let mut edges = object.member("edges").array();
    for (from, to, kind) in known.chain(cycles).filter(is_shown).take(MOST_EDGES) {
        let mut edge = edges.element().array();
        edge.element().unsigned(from.into());
        edge.element().unsigned(to.into());
        edge.element().string(kind);
        edge.end();
    }
    edges.end();
    object.member("dangling").unsigned(graph.dangling().len() as u64);
}
