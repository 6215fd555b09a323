//! `ichnos task show`, `ichnos task graph` and `ichnos task diff`.

use ichnos::analysis::{GraphFormat, TaskDiff};
use ichnos::export::TerminalText;

use super::read_tasks::{find, graph, read, read_some, text_options};
use crate::args::{TaskDiffArgs, TaskGraphArgs, TaskShowArgs};
use crate::exit::{Exit, Failure};
use crate::output::{self, Destination, OutputPath, json_document};
use crate::progress::Console;

pub(super) fn show(args: &TaskShowArgs, console: Console) -> Result<Exit, Failure> {
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

pub(super) fn write(args: &TaskGraphArgs, console: Console) -> Result<Exit, Failure> {
    let output = OutputPath::for_file(&args.output);
    output.check_new()?;
    let format = args.format();
    let with_events = matches!(format, GraphFormat::Svg(_));
    let found = read(&args.choice.input, &[], Some(output), with_events, console)?;
    if found.tasks.is_empty() {
        return Ok(found.exit);
    }
    let graph = graph(&found, find(&found.tasks, &args.choice.id)?, console);
    let output = Destination::new(output.create()?, TerminalText::Lines { colors: false });
    output.write_buffered(|output| graph.write(format, output))?;
    Ok(found.exit)
}

pub(super) fn diff(args: &TaskDiffArgs, console: Console) -> Result<Exit, Failure> {
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
