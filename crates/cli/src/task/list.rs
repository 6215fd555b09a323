//! `ichnos task list`.

use ichnos::export::{TaskSummary, duration};
use serde_json::Value as Json;

use super::read;
use crate::args::{Global, TaskListArgs};
use crate::exit::{Exit, Failure};
use crate::json::{Object, document};
use crate::output;
use crate::report::Report;
use crate::style::{Paint, count, grouped, safe};
use crate::{terminal_width, time};

pub(super) fn run(args: &TaskListArgs, global: &Global, report: Report) -> Result<Exit, Failure> {
    let found = match read(&args.input, None, false, global, report)? {
        Ok(found) => found,
        Err(exit) => return Ok(exit),
    };
    let summaries = found.tasks.summaries(args.all).into_iter();
    let summaries: Vec<TaskSummary> = summaries.filter(|task| task.nodes >= args.min_nodes).collect();
    let uncertain = (0..found.tasks.len()).filter(|task| found.tasks.is_uncertain(*task)).count();
    if uncertain > 0 && !args.all {
        let tasks = count(uncertain as u64, "task");
        report.notice(&format!(
            "left out: {tasks} that only texts name, perhaps by chance; `--all` lists them"
        ));
    }
    if args.report.json {
        let mut document = document("task-list");
        document.put("tasks", summaries.iter().map(|task| json(task).json()).collect::<Vec<Json>>());
        output::print_json(&document.json(), args.report.integers.into())?;
        return Ok(found.exit());
    }
    let paint = Paint::stdout(global.color);
    let mut rows = vec![
        ["task", "begin", "duration", "nodes", "edges", "depth", "events", "problems"].map(str::to_owned),
    ];
    for task in &summaries {
        let begin = match task.begin {
            Some(begin) if found.tasks.has_dates() => time::show(begin, args.input.selecting.clock_gmt),
            Some(begin) => time::show_seconds(begin),
            None => String::new(),
        };
        rows.push([
            task.id.to_string(),
            begin,
            task.begin.zip(task.end).map_or(String::new(), |(begin, end)| duration(end - begin)),
            grouped(task.nodes),
            grouped(task.edges),
            grouped(task.depth),
            grouped(task.events + task.mentions),
            problems(task),
        ]);
    }
    let widths: [usize; 8] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    });
    let titles = std::iter::once("title").chain(summaries.iter().map(|task| task.title.as_str()));
    let mut text = String::new();
    for (i, (row, title)) in rows.iter().zip(titles).enumerate() {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 1 | 7 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let cells: Vec<String> = cells.collect();
        let left = 2 * widths.len() + widths.iter().sum::<usize>();
        let title = safe(title);
        let title = terminal_width::cut_after(&title, left);
        let line = match i {
            0 => paint.faint(&format!("{}  {title}", cells.join("  "))),
            _ => format!("{}  {}", cells.join("  "), paint.name(&title)),
        };
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(&paint.faint(&count(summaries.len() as u64, "task")));
    text.push('\n');
    output::print(&text, paint)?;
    Ok(found.exit())
}

/// What is wrong with a task, in a few words.
pub(super) fn problems(task: &TaskSummary) -> String {
    let mut all = Vec::new();
    let mut add = |number: u64, what: &str| {
        if number > 0 {
            all.push(format!("{} {what}", grouped(number)));
        }
    };
    add(task.dangling - task.of_other_tasks.min(task.dangling), "dangling");
    add(task.of_other_tasks, "from other tasks");
    add(if task.roots > 1 { task.roots } else { 0 }, "roots");
    add(task.cycles, "in cycles");
    add(task.copies, if task.copies == 1 { "copy" } else { "copies" });
    add(task.backward, "back in time");
    all.join(", ")
}

/// A task as JSON.
fn json(task: &TaskSummary) -> Object {
    let mut object = Object::default();
    object.put("id", task.id.to_string());
    object.put("title", task.title.clone());
    object.put_integer("begin_ns", task.begin);
    object.put_integer("end_ns", task.end);
    for (name, number) in [
        ("nodes", task.nodes),
        ("edges", task.edges),
        ("depth", task.depth),
        ("roots", task.roots),
        ("joins", task.joins),
        ("unreported", task.unreported),
        ("dangling", task.dangling),
        ("of_other_tasks", task.of_other_tasks),
        ("cycles", task.cycles),
        ("events", task.events),
        ("mentions", task.mentions),
        ("copies", task.copies),
        ("backward", task.backward),
        ("most_backward_ns", task.most_backward),
    ] {
        object.put(name, number);
    }
    object
}
