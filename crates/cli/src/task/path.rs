//! `ichnos task path`.

use ichnos::export::duration;
use serde_json::{Value as Json, json};

use super::show::{label, push_corrections, push_heading, push_place};
use super::{find, graph, read};
use crate::args::{Global, TaskOne};
use crate::exit::{Exit, Failure};
use crate::json::{document, integer};
use crate::output;
use crate::report::Report;
use crate::style::{Paint, count};

pub(super) fn run(args: &TaskOne, global: &Global, report: Report) -> Result<Exit, Failure> {
    let found = match read(&args.choice.input, None, false, global, report)? {
        Ok(found) => found,
        Err(exit) => return Ok(exit),
    };
    if found.tasks.is_empty() {
        return Ok(found.exit());
    }
    let task = find(&found.tasks, &args.choice.id)?;
    let graph = graph(&found, task, report);
    let path = graph.critical_path();
    let step = |index: usize| {
        let (node, before) = (*path.get(index)?, *path.get(index.checked_sub(1)?)?);
        Some(graph.begin(node)? - graph.begin(before)?)
    };
    let ends = path.first().zip(path.last());
    let whole = ends.and_then(|(first, last)| Some(graph.end(*last)? - graph.begin(*first)?));
    if args.report.json {
        let mut document = document("task-path");
        document.put_integer("time_ns", whole);
        let steps = path.iter().enumerate().filter_map(|(index, node)| {
            let member = graph.member(*node)?;
            Some(json!({
                "id": member.id.to_string(),
                "chain": member.chain,
                "label": String::from_utf8_lossy(member.label),
                "place": String::from_utf8_lossy(member.place),
                "begin_ns": graph.begin(*node).map(integer),
                "time_ns": step(index).map(integer),
            }))
        });
        document.put("steps", steps.collect::<Vec<Json>>());
        output::print_json(&document.json(), args.report.integers.into())?;
        return Ok(found.exit());
    }
    let paint = Paint::stdout(global.color);
    let mut out = String::new();
    if let Some(summary) = graph.summary() {
        push_heading(
            &mut out,
            &summary,
            found.tasks.has_dates(),
            args.choice.input.selecting.clock_gmt,
            paint,
        );
        push_corrections(&mut out, &graph, paint);
    }
    for (index, node) in path.iter().enumerate() {
        let Some(member) = graph.member(*node) else { continue };
        let time = step(index);
        let part = time
            .zip(whole.filter(|whole| *whole > 0))
            .map(|(time, whole)| 100.0 * time as f64 / whole as f64);
        out.push_str(&format!(
            "{:>12}  {:>7}  {}",
            time.map_or(String::new(), duration),
            part.map_or(String::new(), |part| format!("{part:.1} %")),
            paint.name(&label(&member)),
        ));
        push_place(&mut out, &member, &graph.operation_name(*node), paint);
        out.push('\n');
    }
    let whole = whole.map_or(String::new(), |whole| format!(", {}", duration(whole)));
    out.push_str(&paint.faint(&format!("{}{whole}\n", count(path.len() as u64, "operation"))));
    output::print(&out, paint)?;
    Ok(found.exit())
}
