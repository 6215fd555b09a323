//! `ichnos task show`.

use std::io::Write;

use ichnos::export::text::{Paint, count, seconds};
use ichnos::export::{GraphFormat, JoinedEvent, LaneRow, TaskGraph, TaskMember, TaskSummary, duration};

use super::list::problems;
use super::{clock_corrections, find, graph, read, text};
use crate::args::{Global, TaskOne};
use crate::exit::{Exit, Failure};
use crate::json::document;
use crate::output;
use crate::report::Report;
use crate::time;

pub(super) fn run(args: &TaskOne, global: &Global, report: Report) -> Result<Exit, Failure> {
    let found = match read(&args.choice.input, &[&args.choice.id], None, true, global, report)? {
        Ok(found) => found,
        Err(exit) => return Ok(exit),
    };
    if found.tasks.is_empty() {
        return Ok(found.exit());
    }
    let task = find(&found.tasks, &args.choice.id)?;
    let graph = graph(&found, task, report);
    if args.report.json {
        let mut document = document("task-show");
        document.put_some("id", found.tasks.id(task).map(|id| id.to_string()));
        let write = |out: &mut dyn Write| graph.write(GraphFormat::Json, out);
        output::print_json_member(document, "graph", write, args.report.integers.into())?;
        return Ok(found.exit());
    }
    let paint = global.color.stdout();
    let summary = graph.summary();
    let mut out = String::new();
    if let Some(summary) = &summary {
        let gmt = args.choice.input.selecting.clock_gmt;
        push_heading(&mut out, summary, found.tasks.has_dates(), gmt, paint);
        push_corrections(&mut out, &graph, paint);
    }
    let first = summary.as_ref().and_then(|summary| summary.begin);
    let since = |time: Option<i128>| match time.zip(first) {
        Some((time, first)) => format!("{:>12}", duration(time - first)),
        None => " ".repeat(12),
    };
    let blank = " ".repeat(12);
    let mut events = graph.joined_events().into_iter().peekable();
    for (row, node) in graph.lanes().iter().zip(0..) {
        let Some(member) = graph.member(node) else { continue };
        if let Some(line) = row.join_line() {
            out.push_str(&format!("{blank}  {}\n", paint.faint(&line)));
        }
        let time = paint.faint(&since(graph.begin(node))).to_string();
        push_operation(&mut out, &graph, (node, &member), row, &time, paint);
        if let Some(line) = row.fork_line() {
            out.push_str(&format!("{blank}  {}\n", paint.faint(&line)));
        }
        while let Some((_, event)) = events.next_if(|(of, _)| *of <= node) {
            let JoinedEvent { time, label, place, .. } = event;
            // To the right of the operation, even if no lane continues.
            let (lanes, width) = (row.passing_line(), 2 * row.lane + 1);
            out.push_str(&format!(
                "{}  {lanes:<width$} · {}  {}\n",
                paint.faint(&since(time)),
                text(label),
                paint.faint(&text(place))
            ));
        }
    }
    for (_, event) in events {
        out.push_str(&format!("{}  · {}  {}\n", since(event.time), text(event.label), text(event.place)));
    }
    output::print(&out, paint)?;
    Ok(found.exit())
}

/// Appends the line of an operation.
fn push_operation(
    out: &mut String,
    graph: &TaskGraph<'_>,
    (node, member): (u32, &TaskMember<'_>),
    row: &LaneRow,
    time: &str,
    paint: Paint,
) {
    let mark = match graph.causes(node).len() {
        _ if member.events == 0 => '○',
        0 => '◆',
        _ => '●',
    };
    out.push_str(&format!("{time}  {} {}", row.node_line(mark), paint.name(&label(member))));
    push_place(out, member, &graph.operation_name(node), paint);
    if !row.undrawn_causes.is_empty() {
        let ids = row.undrawn_causes.iter().map(|node| graph.operation_name(*node));
        out.push_str(&format!("  after {}", ids.collect::<Vec<_>>().join(", ")));
    }
    for edge in graph.dangling_to(node) {
        let whose = if edge.is_of_other_task { "of another task" } else { "not reported" };
        out.push_str(&paint.warning(&format!("  after {}, which is {whose}", edge.from)));
    }
    for (from, _) in graph.cycles_to(node) {
        let from = graph.operation_name(*from);
        out.push_str(&paint.warning(&format!("  an edge from {from} closes a cycle")));
    }
    out.push('\n');
}

/// Returns the name of an operation.
pub(super) fn label(member: &TaskMember<'_>) -> String {
    if member.events == 0 { "(not reported)".to_owned() } else { text(member.label) }
}

/// Appends the origin of an operation, and its name.
pub(super) fn push_place(out: &mut String, member: &TaskMember<'_>, name: &str, paint: Paint) {
    for part in [&*text(member.place), name] {
        if !part.is_empty() {
            out.push_str(&format!("  {}", paint.faint(part)));
        }
    }
}

/// Appends the line about corrected clocks.
pub(super) fn push_corrections(out: &mut String, graph: &TaskGraph<'_>, paint: Paint) {
    if let Some(corrections) = clock_corrections(graph) {
        out.push_str(&format!("{}\n", paint.warning(&corrections)));
    }
}

/// Appends the lines about the whole task.
pub(super) fn push_heading(out: &mut String, task: &TaskSummary, has_dates: bool, gmt: bool, paint: Paint) {
    out.push_str(&paint.title(&format!("task {}", task.id)));
    // All except the first one of each operation.
    let joined = (task.events + task.mentions).saturating_sub(task.nodes - task.missing.unreported);
    let numbers = [(task.nodes, "operation"), (task.edges, "edge"), (joined, "joined event")];
    for (number, noun) in numbers.into_iter().filter(|(number, noun)| *number > 0 || *noun != "joined event")
    {
        out.push_str(&format!(", {}", count(number, noun)));
    }
    out.push_str(&format!(", depth {}", task.depth));
    if let Some((begin, end)) = task.begin.zip(task.end) {
        let since = if has_dates { time::show(begin, gmt) } else { seconds(begin) };
        out.push_str(&format!(", {} from {since} on", duration(end - begin)));
    }
    out.push('\n');
    let problems = problems(task, false);
    if !problems.is_empty() {
        out.push_str(&format!("{}\n", paint.warning(&problems)));
    }
}
