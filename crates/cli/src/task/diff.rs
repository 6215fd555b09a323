//! `ichnos task diff`.

use ichnos::export::text::{Paint, count, grouped};
use ichnos::export::{StepDifference, TaskDiff, TaskGraph, duration};
use serde_json::{Value as Json, json};

use super::{clock_corrections, find, graph, read, text};
use crate::args::{Global, TaskDiffArgs};
use crate::exit::{Exit, Failure};
use crate::json::{document, integer};
use crate::output;
use crate::report::Report;

pub(super) fn run(args: &TaskDiffArgs, global: &Global, report: Report) -> Result<Exit, Failure> {
    let found = match read(&args.input, &[&args.first, &args.second], None, false, global, report)? {
        Ok(found) => found,
        Err(exit) => return Ok(exit),
    };
    if found.tasks.is_empty() {
        return Ok(found.exit());
    }
    let [first, second] = [&args.first, &args.second].map(|id| find(&found.tasks, id));
    let [first, second] = [first?, second?].map(|task| graph(&found, task, report));
    let diff = TaskDiff::new(&first, &second);
    if args.report.json {
        print_json(args, &first, &second, &diff)?;
    } else {
        print(args, global, [&first, &second], &diff)?;
    }
    Ok(found.exit())
}

/// Returns the clock corrections as JSON.
pub(super) fn corrections_json(graph: &TaskGraph<'_>) -> Json {
    let corrections = graph.clock_corrections().into_iter();
    let corrections = corrections.map(|(machine, offset)| {
        json!({ "machine": String::from_utf8_lossy(machine), "offset_ns": integer(offset) })
    });
    corrections.collect()
}

/// Returns the duration of a task.
fn time(graph: &TaskGraph<'_>) -> Option<i128> {
    let nodes = || 0..graph.len();
    let begin = nodes().filter_map(|node| graph.begin(node)).min()?;
    Some(nodes().filter_map(|node| graph.end(node)).max()? - begin)
}

fn print(
    args: &TaskDiffArgs,
    global: &Global,
    graphs: [&TaskGraph<'_>; 2],
    diff: &TaskDiff,
) -> Result<(), Failure> {
    let paint = global.color.stdout();
    let mut out = String::new();
    let times = graphs.map(time);
    if let [Some(first), Some(second)] = times {
        let change = if first > 0 {
            format!(" ({:+.1} %)", 100.0 * (second - first) as f64 / first as f64)
        } else {
            String::new()
        };
        out.push_str(&format!("time: {} and {}{change}\n", duration(first), duration(second)));
    }
    for (which, graph) in ["first", "second"].into_iter().zip(graphs) {
        if let Some(corrections) = clock_corrections(graph) {
            out.push_str(&format!("{}\n", paint.warning(&format!("{which}: {corrections}"))));
        }
    }
    let [both, removed, added] = diff.edges;
    out.push_str(&format!(
        "operations: {} in both ({} with the same history), {} only in the first, {} only in the second\n",
        grouped(diff.matched.len() as u64),
        grouped(diff.same_history as u64),
        grouped(diff.removed.len() as u64),
        grouped(diff.added.len() as u64)
    ));
    out.push_str(&format!(
        "edges: {} in both, {} only in the first, {} only in the second\n",
        grouped(both as u64),
        grouped(removed as u64),
        grouped(added as u64)
    ));
    for (title, sign, graph, nodes) in [
        ("only in the first", '-', graphs[0], &diff.removed),
        ("only in the second", '+', graphs[1], &diff.added),
    ] {
        if !nodes.is_empty() {
            out.push_str(&format!("\n{}\n", paint.title(title)));
            push_operations(&mut out, sign, graph, nodes, args.top, paint);
        }
    }
    let steps: Vec<&StepDifference> = diff.steps.iter().filter(|step| step.change() != 0).collect();
    if !steps.is_empty() {
        out.push_str(&format!("\n{}\n", paint.title("times from the latest cause on, by operation")));
        steps.iter().take(args.top).for_each(|step| push_step(&mut out, step, paint));
    }
    Ok(output::print(&out, paint)?)
}

/// Appends the first `most` operations that only one of the tasks has.
fn push_operations(
    out: &mut String,
    sign: char,
    graph: &TaskGraph<'_>,
    nodes: &[u32],
    most: usize,
    paint: Paint,
) {
    for node in nodes.iter().take(most) {
        let Some(member) = graph.member(*node) else { continue };
        let name = graph.operation_name(*node);
        let place = paint.faint(&text(member.place));
        out.push_str(&format!("  {sign} {}  {place}  {name}\n", paint.name(&text(member.label))));
    }
    if let Some(more) = nodes.len().checked_sub(most).filter(|more| *more > 0) {
        out.push_str(&paint.faint(&format!("  {} more\n", grouped(more as u64))));
    }
}

/// Appends the times of a step in both tasks.
fn push_step(out: &mut String, step: &StepDifference, paint: Paint) {
    let [first, second] = step.times.map(duration);
    let sign = if step.change() > 0 { "+" } else { "" };
    let change = format!("{sign}{}", duration(step.change()));
    let counts = match step.counts {
        [first, second] if first == second => count(first, "time"),
        [first, second] => format!("{} and {}", grouped(first), count(second, "time")),
    };
    out.push_str(&format!(
        "{change:>14}  {first:>12} {second:>12}  {}  {}\n",
        paint.name(&text(&step.label)),
        paint.faint(&counts)
    ));
}

fn print_json(
    args: &TaskDiffArgs,
    first: &TaskGraph<'_>,
    second: &TaskGraph<'_>,
    diff: &TaskDiff,
) -> Result<(), Failure> {
    let mut document = document("task-diff");
    let [both, removed, added] = diff.edges;
    document.put("clock_corrections", json!([corrections_json(first), corrections_json(second)]));
    let are_incomplete = [first, second].map(TaskGraph::is_correction_incomplete);
    document.put("correction_incomplete", json!(are_incomplete));
    let ids = |graph: &TaskGraph<'_>, nodes: &[u32]| -> Vec<String> {
        nodes.iter().map(|node| graph.operation_name(*node)).collect()
    };
    document.put("times_ns", json!([time(first).map(integer), time(second).map(integer)]));
    document.put(
        "nodes",
        json!({ "both": diff.matched.len(), "same_history": diff.same_history, "first": ids(first, &diff.removed), "second": ids(second, &diff.added) }),
    );
    document.put("edges", json!({ "both": both, "first": removed, "second": added }));
    let steps = diff.steps.iter().take(args.top).map(|step| {
        json!({
            "label": String::from_utf8_lossy(&step.label),
            "counts": step.counts,
            "times_ns": step.times.map(integer),
        })
    });
    document.put("steps", steps.collect::<Vec<Json>>());
    Ok(output::print_json(&document.json(), args.report.integers.into())?)
}
