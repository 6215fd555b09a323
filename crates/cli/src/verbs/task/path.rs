//! `ichnos task path`.

use ichnos::analysis::TaskGraph;
use ichnos::export::text::count;

use super::read_tasks::{find, graph, read_some, text_options};
use crate::args::TaskPathArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, safe};
use crate::progress::Console;
use crate::suggestions::list as list_of;

pub(super) fn run(args: &TaskPathArgs, console: Console) -> Result<Exit, Failure> {
    let found = read_some(&args.choice.input, &[&args.choice.id], false, console)?;
    let task = find(&found.tasks, &args.choice.id)?;
    let graph = graph(&found, task, console);
    let path = match &args.to {
        Some(operation) => graph.path_to(find_operation(&graph, operation)?),
        None => graph.critical_path(),
    };
    if args.report.json {
        let integers = args.report.integers;
        output::print_document("task-path", integers, |object| graph.write_path_json(&path, object))?;
    } else {
        let paint = console.paint();
        let options = text_options(&found, args.choice.input.selecting.clock_gmt, paint);
        output::print(&graph.path_text(&path, &options), paint)?;
    }
    Ok(found.exit)
}

/// Finds the operation for an identifier from the command line.
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
