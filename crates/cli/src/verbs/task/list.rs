//! `ichnos task list`.

use std::cmp::Reverse;

use ichnos::analysis::{TaskSummary, TaskTable, Tasks};
use ichnos::export::text::count;

use super::read_tasks::{read, text_options, warn_of_uncorrected_clocks, warn_of_unknown_machines};
use crate::args::{TaskListArgs, TaskSortBy};
use crate::exit::{Exit, Failure};
use crate::output::{self, json_document};
use crate::progress::{Console, interrupt};

/// Maximum number of summaries in memory. Without its title, each takes a few hundred bytes.
const KEPT: usize = 1 << 12;

/// Maximum size of the titles of all summaries in memory, in bytes.
const KEPT_TITLES: usize = 1 << 20;

pub(super) fn run(args: &TaskListArgs, console: Console) -> Result<Exit, Failure> {
    let found = read(&args.input, &[], None, false, console)?;
    let tasks = &found.tasks;
    let uncertain = (0..tasks.len()).filter(|task| tasks.is_uncertain(*task)).count();
    if uncertain > 0 && !args.all {
        let tasks = count(uncertain as u64, "task");
        console.notice(&format!(
            "not listed: {tasks} only mentioned in texts, perhaps by chance; `--all` lists them"
        ));
    }
    // Rows are created while printing, because there can be millions.
    let mut order = tasks.in_order(args.all, interrupt::is_requested);
    if args.sort != TaskSortBy::Begin {
        sort(&mut order, tasks, args.sort);
    }
    let kept = first_summaries(&order, tasks);
    let summaries = || {
        let order = order.iter().enumerate().take_while(|_| !interrupt::is_requested());
        let summary =
            |(at, task): (usize, &usize)| kept.get(at).cloned().unwrap_or_else(|| tasks.summary(*task));
        order.filter_map(summary).filter(|task| task.nodes >= args.min_nodes)
    };
    let paint = console.paint();
    let mut table = TaskTable::new(text_options(&found, args.input.selecting.clock_gmt, paint));
    let (mut backward, mut listed, mut not_corrected) = ((0, 0), 0, 0);
    for task in summaries() {
        listed += 1;
        not_corrected += u64::from(task.clocks.correction_incomplete);
        if task.clocks.backward_without_machine > 0 {
            backward = (backward.0 + 1, backward.1 + task.clocks.backward_without_machine);
        }
        if !args.report.json {
            table.measure(&task);
        }
    }
    if interrupt::is_requested() {
        return Ok(interrupt::exit());
    }
    warn_of_unknown_machines(&found, backward.0, backward.1, console);
    if not_corrected > 0 {
        warn_of_uncorrected_clocks(&count(not_corrected, "task"), console);
    }
    if args.report.json {
        output::print_long_document("task-list", args.report.integers, |object, out| {
            let mut list = object.member("tasks").array();
            for task in summaries() {
                let mut entry = list.element().object();
                task.write_json(&mut entry);
                entry.end();
                json_document::write_out(list.buffer(), out)?;
            }
            list.end();
            Ok(())
        })?;
    } else {
        let last = format!("{}\n", paint.faint(&count(listed, "task")));
        let rows = summaries().map(|task| table.row(&task));
        output::print_lines([table.head()].into_iter().chain(rows).chain([last]), paint)?;
    }
    Ok(if interrupt::is_requested() { interrupt::exit() } else { found.exit })
}

/// Returns a limited number of summaries, to print them without making them again. The graph of a task can be large.
fn first_summaries(order: &[usize], tasks: &Tasks) -> Vec<Option<TaskSummary>> {
    let mut left = KEPT_TITLES;
    let first = order.iter().take(KEPT).take_while(|_| !interrupt::is_requested());
    let kept = first.map_while(|task| {
        let summary = tasks.summary(*task);
        left = left.checked_sub(summary.as_ref().map_or(0, |summary| summary.title.len()))?;
        Some(summary)
    });
    kept.collect()
}

/// Sorts tasks by a property, greatest first.
fn sort(order: &mut [usize], tasks: &Tasks, by: TaskSortBy) {
    order.sort_by_cached_key(|task| {
        let summary = if interrupt::is_requested() { None } else { tasks.summary(*task) };
        Reverse(summary.and_then(|summary| match by {
            TaskSortBy::Begin => None,
            TaskSortBy::Duration => Some(summary.end? - summary.begin?),
            TaskSortBy::Operations => Some(i128::from(summary.nodes)),
        }))
    });
}
