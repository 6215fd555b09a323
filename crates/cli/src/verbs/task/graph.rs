//! `ichnos task graph`.

use ichnos::analysis::GraphFormat;
use ichnos::export::TerminalText;

use super::read_tasks::{find, graph, read};
use crate::args::{TaskGraphArgs, TaskGraphFormat};
use crate::exit::{Exit, Failure};
use crate::output::{Destination, OutputPath};
use crate::progress::Console;

pub(super) fn run(args: &TaskGraphArgs, console: Console) -> Result<Exit, Failure> {
    let output = OutputPath::for_file(&args.output);
    output.check_new()?;
    let with_events = args.format() == TaskGraphFormat::Svg;
    let found = read(&args.choice.input, &[], Some(output), with_events, console)?;
    if found.tasks.is_empty() {
        return Ok(found.exit);
    }
    let graph = graph(&found, find(&found.tasks, &args.choice.id)?, console);
    let format = match args.format() {
        TaskGraphFormat::Dot => GraphFormat::Dot,
        TaskGraphFormat::Svg => GraphFormat::Svg(args.width.map(usize::from)),
        TaskGraphFormat::Json => GraphFormat::Json,
    };
    let output = Destination::new(output.create()?, TerminalText::Lines { colors: false });
    output.write_buffered(|output| graph.write(format, output))?;
    Ok(found.exit)
}
