//! `ichnos task list`.

use super::{read, warn_of_uncorrected_clocks, warn_of_unknown_machines};
use crate::args::{Global, TaskListArgs};
use crate::exit::{Exit, Failure};
use crate::json::{JsonObject, document};
use crate::output;
use crate::report::Report;
use crate::style::{line_width, safe};
use crate::{interrupt, time};
use ichnos::export::text::{Paint, count, grouped, seconds};
use ichnos::export::{TaskSummary, duration};

pub(super) fn run(args: &TaskListArgs, global: &Global, report: Report) -> Result<Exit, Failure> {
    let found = match read(&args.input, &[], None, false, global, report)? {
        Ok(found) => found,
        Err(exit) => return Ok(exit),
    };
    let tasks = &found.tasks;
    let uncertain = (0..tasks.len()).filter(|task| tasks.is_uncertain(*task)).count();
    if uncertain > 0 && !args.all {
        let tasks = count(uncertain as u64, "task");
        report.notice(&format!(
            "not listed: {tasks} only mentioned in texts, perhaps by chance; `--all` lists them"
        ));
    }
    // There can be millions: rows are created while printing.
    let order = tasks.in_order(args.all, interrupt::is_requested);
    let summaries = || {
        let order = order.iter().take_while(|_| !interrupt::is_requested());
        order.filter_map(|task| tasks.summary(*task)).filter(|task| task.nodes >= args.min_nodes)
    };
    let cells = |task: &TaskSummary| cells(task, tasks.has_dates(), args.input.selecting.clock_gmt);
    let mut widths = TITLES.map(str::len);
    let (mut backward, mut listed, mut not_corrected) = ((0, 0), 0, 0);
    for task in summaries() {
        listed += 1;
        not_corrected += u64::from(task.clocks.correction_incomplete);
        if task.clocks.backward_without_machine > 0 {
            backward = (backward.0 + 1, backward.1 + task.clocks.backward_without_machine);
        }
        if !args.report.json {
            for (width, cell) in widths.iter_mut().zip(cells(&task)) {
                *width = cell.chars().count().max(*width);
            }
        }
    }
    if interrupt::is_requested() {
        return Ok(interrupt::exit());
    }
    warn_of_unknown_machines(&found, backward.0, backward.1, report);
    if not_corrected > 0 {
        warn_of_uncorrected_clocks(&count(not_corrected, "task"), report);
    }
    if args.report.json {
        let elements = summaries().map(|task| json(&task).json());
        output::print_json_list(document("task-list"), "tasks", elements, args.report.integers.into())?;
        return Ok(if interrupt::is_requested() { interrupt::exit() } else { found.exit() });
    }
    print(summaries().map(|task| (cells(&task), task.title)), widths, listed, global.color.stdout())?;
    Ok(if interrupt::is_requested() { interrupt::exit() } else { found.exit() })
}

/// Prints the table of tasks: the cells and the title of each.
fn print(
    rows: impl Iterator<Item = ([String; 8], String)>,
    widths: [usize; 8],
    listed: u64,
    paint: Paint,
) -> Result<(), Failure> {
    let line = |row: [String; 8]| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 1 | 7 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    let before_title = 2 * widths.len() + widths.iter().sum::<usize>();
    let title = |title: &str| line_width().cut_after(&safe(title), before_title).into_owned();
    let head = paint.faint(&format!("{}  {}", line(TITLES.map(str::to_owned)), title("title")));
    let rows = rows.map(|(cells, name)| format!("{}  {}", line(cells), paint.name(&title(&name))));
    let lines = std::iter::once(head.to_string()).chain(rows).map(|line| format!("{}\n", line.trim_end()));
    let last = format!("{}\n", paint.faint(&count(listed, "task")));
    Ok(output::print_lines(lines.chain([last]), paint)?)
}

const TITLES: [&str; 8] = ["task", "begin", "duration", "nodes", "edges", "depth", "events", "problems"];

/// Returns the cells of a task's row.
fn cells(task: &TaskSummary, has_dates: bool, gmt: bool) -> [String; 8] {
    let begin = match task.begin {
        Some(begin) if has_dates => time::show(begin, gmt),
        Some(begin) => seconds(begin),
        None => String::new(),
    };
    [
        task.id.to_string(),
        begin,
        task.begin.zip(task.end).map_or(String::new(), |(begin, end)| duration(end - begin)),
        grouped(task.nodes),
        grouped(task.edges),
        grouped(task.depth),
        grouped(task.events + task.mentions),
        problems(task, true),
    ]
}

/// Describes the problems of a task in a few words.
pub(super) fn problems(task: &TaskSummary, with_corrections: bool) -> String {
    let mut all = Vec::new();
    let mut add = |number: u64, what: &str| {
        if number > 0 {
            all.push(format!("{} {what}", grouped(number)));
        }
    };
    add(task.missing.dangling - task.missing.of_other_tasks.min(task.missing.dangling), "dangling");
    add(task.missing.of_other_tasks, "from other tasks");
    add(if task.roots > 1 { task.roots } else { 0 }, "roots");
    add(task.cycles, "in cycles");
    add(task.copies, if task.copies == 1 { "copy" } else { "copies" });
    add(task.clocks.backward, "back in time");
    if with_corrections && task.clocks.correction_incomplete {
        all.push("clocks not corrected".to_owned());
    }
    if with_corrections && task.clocks.corrected > 0 {
        let clocks = count(task.clocks.corrected, "clock");
        all.push(format!("{clocks} corrected by up to {}", duration(task.clocks.most_corrected.into())));
    }
    all.join(", ")
}

/// Returns a task as JSON.
fn json(task: &TaskSummary) -> JsonObject {
    let mut object = JsonObject::default();
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
        ("unreported", task.missing.unreported),
        ("dangling", task.missing.dangling),
        ("of_other_tasks", task.missing.of_other_tasks),
        ("cycles", task.cycles),
        ("events", task.events),
        ("mentions", task.mentions),
        ("copies", task.copies),
        ("backward", task.clocks.backward),
        ("most_backward_ns", task.clocks.most_backward),
        ("backward_without_machine", task.clocks.backward_without_machine),
        ("corrected_clocks", task.clocks.corrected),
        ("most_corrected_ns", task.clocks.most_corrected),
    ] {
        object.put(name, number);
    }
    object.put("correction_incomplete", task.clocks.correction_incomplete);
    object
}
