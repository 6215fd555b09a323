//! `ichnos task path`.

use ichnos::export::text::count;
use ichnos::export::{TaskGraph, duration};

use super::diff::corrections_json;
use super::show::{label, push_corrections, push_heading, push_place};
use super::{ReadTasks, find, graph, read};
use crate::args::{Global, TaskPathArgs};
use crate::exit::{Exit, Failure};
use crate::json::{JsonObject, document, integer};
use crate::output;
use crate::report::Report;
use crate::style::safe;
use crate::suggest::list as list_of;

pub(super) fn run(args: &TaskPathArgs, global: &Global, report: Report) -> Result<Exit, Failure> {
    let found = match read(&args.choice.input, &[&args.choice.id], None, false, global, report)? {
        Ok(found) => found,
        Err(exit) => return Ok(exit),
    };
    if found.tasks.is_empty() {
        return Ok(found.exit());
    }
    let task = find(&found.tasks, &args.choice.id)?;
    let graph = graph(&found, task, report);
    let path = match &args.to {
        Some(operation) => graph.path_to(find_operation(&graph, operation)?),
        None => graph.critical_path(),
    };
    match args.report.json {
        true => print_json(args, &graph, &path)?,
        false => print(args, global, &found, &graph, &path)?,
    }
    Ok(found.exit())
}

/// Returns the time from the beginning of the step before to that of a step.
fn step_time(graph: &TaskGraph<'_>, path: &[u32], index: usize) -> Option<i128> {
    let (node, before) = (*path.get(index)?, *path.get(index.checked_sub(1)?)?);
    Some(graph.begin(node)? - graph.begin(before)?)
}

/// Returns the time from the beginning of a path to its end.
fn whole_time(graph: &TaskGraph<'_>, path: &[u32]) -> Option<i128> {
    Some(graph.end(*path.last()?)? - graph.begin(*path.first()?)?)
}

fn print_json(args: &TaskPathArgs, graph: &TaskGraph<'_>, path: &[u32]) -> Result<(), Failure> {
    let mut document = document("task-path");
    document.put_integer("time_ns", whole_time(graph, path));
    let steps = path.iter().enumerate().filter_map(|(index, node)| {
        let member = graph.member(*node)?;
        let mut step = JsonObject::default();
        step.put("id", member.id.to_string());
        step.put_some("chain", member.chain);
        step.put("label", String::from_utf8_lossy(member.label));
        step.put("place", String::from_utf8_lossy(member.place));
        step.put("begin_ns", graph.begin(*node).map(integer));
        step.put("time_ns", step_time(graph, path, index).map(integer));
        Some(step.json())
    });
    document.put("clock_corrections", corrections_json(graph));
    document.put("correction_incomplete", graph.is_correction_incomplete());
    Ok(output::print_json_list(document, "steps", steps, args.report.integers.into())?)
}

fn print(
    args: &TaskPathArgs,
    global: &Global,
    found: &ReadTasks,
    graph: &TaskGraph<'_>,
    path: &[u32],
) -> Result<(), Failure> {
    let paint = global.color.stdout();
    let mut out = String::new();
    if let Some(summary) = graph.summary() {
        push_heading(
            &mut out,
            &summary,
            found.tasks.has_dates(),
            args.choice.input.selecting.clock_gmt,
            paint,
        );
        push_corrections(&mut out, graph, paint);
    }
    let whole = whole_time(graph, path);
    let steps = path.iter().enumerate().filter_map(|(index, node)| {
        let member = graph.member(*node)?;
        let time = step_time(graph, path, index);
        let part = time.zip(whole.filter(|whole| *whole > 0));
        let part = part.map(|(time, whole)| 100.0 * time as f64 / whole as f64);
        let mut line = format!(
            "{:>12}  {:>7}  {}",
            time.map_or(String::new(), duration),
            part.map_or(String::new(), |part| format!("{part:.1} %")),
            paint.name(&label(&member)),
        );
        push_place(&mut line, &member, &graph.operation_name(*node), paint);
        line.push('\n');
        Some(line)
    });
    let whole = whole.map_or(String::new(), |whole| format!(", {}", duration(whole)));
    let last = paint.faint(&format!("{}{whole}\n", count(path.len() as u64, "operation"))).to_string();
    Ok(output::print_lines(std::iter::once(out).chain(steps).chain([last]), paint)?)
}

/// Returns the operation for an identifier on the command line.
fn find_operation(graph: &TaskGraph<'_>, name: &str) -> Result<u32, Failure> {
    match &graph.find(name)[..] {
        [node] => Ok(*node),
        [] => Err(Failure::new(format!("the task has no operation `{}`", safe(name)))
            .help("`ichnos task show ID PATH...` lists its operations")),
        several => {
            let names: Vec<String> = several.iter().take(4).map(|node| graph.operation_name(*node)).collect();
            let number = count(several.len() as u64, "operation");
            let failure = Failure::new(format!("{number} have identifiers that begin with `{}`", safe(name)));
            Err(failure.help(format!("give more digits: {}", list_of(names.iter().map(String::as_str)))))
        }
    }
}
