//! `ichnos task diff`.

use ichnos::analysis::TaskDiff;

use super::read_tasks::{find, graph, read_some};
use crate::args::TaskDiffArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Console;

pub(super) fn run(args: &TaskDiffArgs, console: Console) -> Result<Exit, Failure> {
    let found = read_some(&args.input, &[&args.first, &args.second], false, console)?;
    let [first, second] = [&args.first, &args.second].map(|id| find(&found.tasks, id));
    let [first, second] = [first?, second?].map(|task| graph(&found, task, console));
    let diff = TaskDiff::new(&first, &second);
    let graphs = [&first, &second];
    if args.report.json {
        let integers = args.report.integers;
        output::print_document("task-diff", integers, |object| diff.write_json(graphs, args.top, object))?;
    } else {
        let paint = console.paint();
        output::print(&diff.to_text(graphs, args.top, paint), paint)?;
    }
    Ok(found.exit)
}
