//! `ichnos task show`.

use ichnos::analysis::GraphFormat;

use super::read_tasks::{find, graph, read_some, text_options};
use crate::args::TaskShowArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, json_document};
use crate::progress::Console;

pub(super) fn run(args: &TaskShowArgs, console: Console) -> Result<Exit, Failure> {
    let found = read_some(&args.choice.input, &[&args.choice.id], true, console)?;
    let task = find(&found.tasks, &args.choice.id)?;
    let graph = graph(&found, task, console);
    if args.report.json {
        output::print_long_document("task-show", args.report.integers, |object, out| {
            if let Some(id) = found.tasks.id(task) {
                object.member("id").display(id);
            }
            json_document::write_out(object.member("graph").raw(), out)?;
            graph.write(GraphFormat::Json, out)
        })?;
    } else {
        let paint = console.paint();
        let options = text_options(&found, args.choice.input.selecting.clock_gmt, paint);
        output::print(&graph.to_text(&options), paint)?;
    }
    Ok(found.exit)
}
